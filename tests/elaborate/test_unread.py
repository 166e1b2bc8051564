"""What a file says of its components and no output and no rule depends on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.source import Source

KINDS = """edition 2026
enum grade { cheap, dear }
kind part {
    price  : real = 0
    weight : real = 0 in 0 .. 1000
    label  : text = ""
    grade  : grade = cheap
    spare  : real = unknown "nobody says"
    require light: weight * 2 <= 5000
    let worth = price * 2
}
kind box {
    size  : int  = 1
    inner : part = part(price = 1)
    other : real = 0
    part left
    part right
    require room: left.weight + right.weight <= 5000
    let cost  = sum(p.price * p.count for p in parts.part)
    let heavy = left.weight
    let fixed = first_known(left.spare, right.spare, 0)
    let graded = match left.grade { cheap => left.price, dear => right.price }
}
fn priced(p: part, by: real) -> part = p with { price = by, weight = 3 }
fn never(p: part) -> part = p with { price = 1 }
"""
EVALUATOR = "\nevaluator e {{ param x : real = 1 in 0 .. 9\n output y = x * ({}) }}\n"


def unread(text: str) -> list[str]:
    """The texts at which something unread is told of."""
    found = driver.findings(Source("t.hw", text)).found
    errors = [d.message for d in found.items if d.severity.value == "error"]
    assert not errors, errors
    return [d.span.text for d in found.items if d.span and d.name == "unread-field"]


PLAIN = "box b { part left { price = 2 }, part right { weight = 3 } }"
CASES = [
    # What an output reads, also through others; ranges of one field are no readers.
    ("part a { price = 2, weight = 3 }", "a.price", ["weight"]),
    ("part a { price = 2, weight = 3 }", "a.worth", ["weight"]),
    ("part a { price = 2, weight = 3 }", "a.worth * a.weight", []),
    # A rule of two fields is a reader of both, that of one field and constants is none.
    (PLAIN, "b.cost", []),
    ("box b { part left { price = 2 }, part right { label = \"x\", price = 1 } }",
     "b.heavy", ["price", "price"]),
    # What others replace, a text, and what is said to be unknown.
    ("part a { price = 2, label = \"x\", weight = unknown \"why\" }", "a.price", []),
    ("part a { price = 2 }\npart b : a { price = 3 }", "b.price", []),
    ("part a { price = 2 }", "(a with { price = x }).price", []),
    ("part a { price = 2 }", "(a with { weight = 7 }).price", ["weight"]),
    # Parts, their counts, amendments of them by block and by path.
    ("box b { part left[3] { price = 2 }, part right[5] }", "b.left.price", ["3", "5"]),
    ("box b { left.price = 2, right.price = 3 }", "b.left.price", ["right.price"]),
    ("box b { left { price = 2, grade = dear } }", "b.left.price", ["grade"]),
    ("box b { right { price = 2, grade = dear } }", "b.left.price", ["grade", "price"]),
    ("box b { part third { price = 2 } }\nbox c : b { third { price = 3, grade = dear } }",
     "c.size", ["third", "third"]),
    ("box b { part left : mine, part right }\npart mine { price = 2 }", "b.cost", []),
    ("box b { part left, part right, part third { price = 4 } }", "b.heavy", ["third"]),
    ("box b { part left, part right, part third { price = 4 } }", "b.cost", []),
    # Whole components and variables; what is in what is replaced is not looked at.
    ("part a { price = 2 }\npart c { price = 3 }\nlet z = 3", "a.price", ["c", "z"]),
    ("part a { price = 2 }\nlet z = a", "z.price", []),
    ("box b { inner = part(price = 2, weight = 3) }", "b.inner.price", ["weight"]),
    ("box b { inner = part(price = 2) }", "b.size", ["inner"]),
    # Structure that is decided when the file is compiled.
    ("box b { size = 3 }", "sum(i for i in 1 .. b.size)", []),
    ("box b { left.grade = dear, left.price = 1, right.price = 2 }", "b.graded", ["left.price"]),
    ("part a { price = 2 }\npart b { price = 3 }", "if a.price > 1 then 1 else b.price", ["b"]),
    ("part a { price = 2 }\npart b { price = 3 }", "if a.price > x then 1 else b.price", []),
    ("part a { price = 2 }\npart b { price = 3 }", "min(a.price, b.price)", []),
    ("part a { price = 2 }", "0 * a.price", []),
    ("box b { left.spare = 1, right.spare = 2 }", "b.fixed", ["right.spare"]),
    ("box b { left.spare = unknown \"?\", right.spare = 2 }", "b.fixed", []),
    # In lists and in functions that are called.
    ("part a { price = 2, weight = 1 }",
     "sum(p.price for p in [a, a with { price = 3 }])", ["weight"]),
    ("part a { grade = dear }", "priced(a, 3).price", ["grade", "weight"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "output", "expected"), CASES)
def test_what_is_told_of(text: str, output: str, expected: list[str]) -> None:
    found = unread(KINDS + text + EVALUATOR.format(output))
    assert sorted(found) == sorted(expected)


def test_all_evaluators_together_read() -> None:
    text = KINDS + "part a { price = 2, weight = 3 }" + EVALUATOR.format("a.price")
    second = EVALUATOR.format("a.weight").replace("evaluator e", "evaluator f")
    assert unread(text) == ["weight"]
    assert unread(text + second) == []


def test_rules_of_an_evaluator_and_waived_rules_read() -> None:
    rule = EVALUATOR.format("1").replace("output", "require light: a.weight < 5\n output")
    assert unread(KINDS + "part a { weight = 3 }" + rule) == []
    kinds = KINDS.replace(" in 0 .. 1000", "").replace("require light: weight * 2 <= 5000", "")
    heavy = 'box b { left.weight = 9000, right.weight = 1, allow box.room "huge" }'
    assert unread(kinds + heavy + EVALUATOR.format("b.size")) == []


def test_an_unknown_value_hides_no_reader() -> None:
    rule = "require sum: left.spare + right.price < 9"
    text = KINDS.replace("require room", rule + "\n    require room")
    assert unread(text + "box b { right.price = 2 }" + EVALUATOR.format("b.size")) == []


def test_only_files_with_evaluators_are_asked() -> None:
    assert unread(KINDS + "part a { price = 2 }") == []


def test_claims_read_what_they_name() -> None:
    claim = 'claim c { source "x"\n expect a.weight == 3 }'
    assert (
        unread(KINDS + "part a { price = 2, weight = 3 }\n" + claim + EVALUATOR.format("1")) == []
    )


@pytest.mark.parametrize("place", ["", "part a { "])
def test_allow_keeps_it(place: str) -> None:
    allow = 'allow unread_field "for later"\n'
    text = "part a { price = 2, weight = 3 }"
    text = text.replace(place, place + allow) if place else allow + text
    assert unread(KINDS + text + EVALUATOR.format("a.price")) == []


def test_the_help_names_readers() -> None:
    text = (
        KINDS + "box b { left.weight = 3 }".replace("weight", "price") + EVALUATOR.format("b.size")
    )
    (found,) = driver.findings(Source("t.hw", text)).found.items
    assert found.help is not None
    assert "`part.worth`, `box.cost`, `box.graded`" in found.help


def test_called_evaluators_read(tmp_path: Path) -> None:
    inner = EVALUATOR.format("a.price").replace("evaluator e", "evaluator f")
    outer = "evaluator e { param k : real = 2 in 1 .. 3\n output z = k * f(x = k).y }"
    assert unread(KINDS + "part a { price = 2 }" + inner + outer) == []


def test_what_is_kept_moves_with_the_text(tmp_path: Path) -> None:
    """A changed file takes what its unchanged evaluators read from the cache."""
    file = tmp_path / "t.hw"
    text = KINDS + "part a { price = 2, weight = 3 }" + EVALUATOR.format("a.price")
    second = EVALUATOR.format("a.weight").replace("evaluator e", "evaluator f")

    def told() -> list[tuple[str, int]]:
        items = driver.findings(file).found.items
        return [(d.span.text, d.span.start) for d in items if d.span]

    for change in (
        text,
        text,
        second + text,
        "\n" + second + text,
        second.replace("weight", "price") + text,
    ):
        body = change.replace("edition 2026\n", "")
        file.write_text("edition 2026\n" + body, encoding="utf-8")
        expected = [] if "a.weight)" in body else ["weight"]
        assert [name for name, _ in told()] == expected
        assert all(file.read_text(encoding="utf-8")[at:].startswith("weight") for _, at in told())
