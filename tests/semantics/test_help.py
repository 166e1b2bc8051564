"""What the messages advise: units to write, names meant."""

from __future__ import annotations

import pytest

from hwdsl.base.diagnostics import Diagnostic, Diagnostics
from hwdsl.base.source import Source
from hwdsl.semantics import check, load


def findings(text: str) -> list[Diagnostic]:
    diagnostics = Diagnostics()
    check(load(Source("main.hw", "edition 2026\n" + text), diagnostics), diagnostics)
    return diagnostics.items


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("let a = 819 GBps", "did you mean `GB/s`?"),
        ("let a = 100 Gbps", "did you mean `Gb/s`?"),
        ("let a = 40 TFLOPS", "did you mean `TFLOP/s`?"),
        ("let a = 3 GHZ", "did you mean `GHz`?"),
        ("let a = 3 GBn", "did you mean `GB`?"),
        ("let a = 1.5GHz", "write `1.5 GHz`; a product needs `*`"),
        ("let a = 1e-3m", "write `1e-3 m`; a product needs `*`"),
        ("let a = 1.2.3", "write one number, with one point"),
        ("let a = 10 mW/cm2", "a power is written `cm^2`"),
        ("let a = 10 cm2", "a power is written `cm^2`"),
        ("let a : frequency = 3", "write a unit of frequency: `Hz`, `kHz`, `MHz`, `GHz` or `THz`"),
        ("let a : bandwidth = 3 GHz", "write a unit of bandwidth: `GB/s`"),
        ("let a : real = 3 GHz", "leave the unit out"),
        ("let b = 3 GHz\nlet a : bandwidth = b", "multiply by something of dimension data"),
        ("use std.memory: memori", "did you mean `memory`?"),
        ("use std.memory: memori\nlet a = memory", "did you mean `memory`?"),
        ("use std.memory: HBM3E", "write `use vendor.memories: HBM3E`"),
        ("let a = HBM3E.bandwidth", "import it: `use vendor.memories: HBM3E`"),
        ("package p { }", "import it: `use std.package: package`"),
        ("let a : substrate = 3", "import it: `use std.package: substrate`"),
        ("let a = ring_all_reduce(3)", "import it: `use std.collectives: ring_all_reduce`"),
        ("let a : int = 1e3", "an int is written in digits alone: `1000`"),
        ('let a = "80 GB" + 1 GB', "take away the quotes: `80 GB`"),
        ("let a : int = 1.5", "use `whole(x)`, `floor(x)`, `ceil(x)` or `round(x)`"),
        (
            "let a = 3 USD + 4 USD/unit",
            "multiply `4 USD/unit` by something of dimension units (unit), or divide `3 USD` by it",
        ),
        (
            'let a = 3 source ""',
            "say where the number is from; what no source states is an `assume`",
        ),
        ('let a = 3 source note ""', "say where in it, or leave the text out"),
        ('let a = 3 assume " "', "an assumption says what is taken for granted"),
        ('reference q : paper 2024 ""', "a reference says what was published, and where"),
        ('reference q : paper 24 "a"', "write the year of publication in four digits: `2024`"),
        ('let a = 3 source "note"', "write `source note`, without quotes"),
        (
            "let a = 3 source qwertyuiop",
            'declare it, as in `reference qwertyuiop : paper 2024 "…"`, or import it',
        ),
        (
            "let note_1 = 2\nlet a = 3 source note_1",
            "`note_1` is no reference: "
            'declare it, as in `reference note_1 : paper 2024 "…"`, or import it',
        ),
        (
            'let a = 3 source (note, assume "x")',
            'an assumption stands alone, without a source: `assume "why"`',
        ),
        ("kind k { a : real in 3 <.. 1 }", "the lower end comes first: `1 ..< 3`"),
        ("kind k { a : real in 0 <..< 0 }", "its ends are the same: `..` includes both"),
        (
            "kind k { a : real in 0 .. 1, require a: a < 3 }",
            "the range of `a` is a rule of that name: rename the `require`",
        ),
        ("let a = note + 1", "it is cited behind a value: `= 3 source note`"),
        ("let a = 3 source note confidence hihg", "did you mean `high`?"),
        ("let a = 3 source note confidence sure", "write `high`, `medium` or `low`"),
        (
            "evaluator e {\n output a in GB = 1 token / 1 s\n}",
            "write `in token/s`, or change the value",
        ),
    ],
)
def test_help(text: str, help: str) -> None:
    (found,) = findings(f'reference note : paper 2024 "A note"\n{text}')
    assert found.help == help


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("rate = 9 %", "write `9 %/year`"),
        ("rate = 0.09", "write a unit of frequency: `%/year` or `year^-1`"),
        ("rate = 9 GB", "write a unit of frequency: `%/year` or `year^-1`"),
        ("upkeep = 5 %", "write `5 %/year`"),
        ("speed = 800 GB", "write `800 GB/s`"),
        ("speed = 800", "write a unit of bandwidth: `TB/s`"),
        ("pitch = 9", "write a unit of length: `m` or `km`"),
    ],
)
@pytest.mark.parametrize("made", ["kept k { VALUE }", "let k = kept(VALUE)"])
def test_a_missing_unit_is_that_of_the_declaration(value: str, help: str, made: str) -> None:
    kind = """kind kept {
        rate   : frequency = 0 year^-1 in 0 year^-1 .. inf
        upkeep : frequency = 0 in 0 year^-1 .. 1 year^-1
        speed  : bandwidth = 3 TB/s
        pitch  : length = 0
        warn rate_range: rate < 1 year^-1 else "{rate in %/year}, {rate * 1 s}"
    }
    """
    (found,) = findings(kind + made.replace("VALUE", value))
    assert found.help == help


def test_kinds_have_their_article() -> None:
    (found,) = findings("kind a { }\nkind b { }\na x { }\nb y : x { }")
    assert found.message == "`x` is an `a`, not a `b`"


def test_dimensions_have_their_names() -> None:
    (found,) = findings("let b = 3 GHz\nlet a : bandwidth = b")
    assert found.message == "`a` must be bandwidth (B/s), not frequency (Hz)"
    (found,) = findings("let a = 3 GB * 2 GHz / 1 m + 1 J*s")
    assert [label.text for label in found.labels[1:]] == [
        "this is shoreline_bandwidth_density (B/m/s)",
        "this is length^2 * mass/time (J*s)",
    ]


def test_a_missing_field_is_told_at_the_part_that_lacks_it() -> None:
    kinds = "kind m { bw : bandwidth, cap : data }\nkind b { m slot }\n"
    text = kinds + "m one {\n bw = 1 GB/s\n}\nb two {\n slot.bw = 3 GB/s\n m x : one\n}\n"
    assert [(d.span.text if d.span else "", d.message) for d in findings(text)] == [
        ("one", "`one` says nothing of `cap`, which a `m` must have"),
        ("two", "`two.slot` says nothing of `cap`, which a `m` must have"),
        ("x", "`two.x` says nothing of `cap`, which a `m` must have"),
    ]


def test_a_cycle_shows_its_way() -> None:
    (found,) = findings(
        "evaluator e {\n let a = b + 1\n let b = c\n let c = a\n output o : real = a }"
    )
    assert found.message == "`a` is defined by itself: a -> b -> c -> a"
