"""`source` clauses: which is nearest to a number, and where they are shown."""

import json
from pathlib import Path

import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.cli.main import main
from hwdsl.explain.cited_numbers import numbers, references
from hwdsl.syntax import parse

TEXT = """\
edition 2026

reference sheet_2024 : datasheet 2024 "A maker, data sheet, 2024"
reference paper_2020 : paper 2020 "Somebody, A paper, 2020"

source paper_2020 confidence high

kind card {
    source sheet_2024 confidence medium
    rate   : real = 3
    width  : real = 8 source paper_2020 "table 2" confidence high
    lanes  : int  = 1
    margin : real = 1.5 assume "between the 1.2 and 2 of others"
    let peak = rate * width * 7
}

card Plain { rate = 1 }
card Fast { source (sheet_2024 "page 3", "a letter" confidence low), rate = 5, lanes = 0 }
kind rack {
    card cards[4] : Fast { rate = 6 } source sheet_2024 "page 4" confidence high
    card spare[2] : Fast source "counted" confidence medium
}

fn half(x: real) -> real = x / 2
fn tenth(x: real) -> real = x / 10

evaluator ask {
    param price : money = 30 USD source "a dealer, 2025" confidence low
    let fast = Fast with { margin = 1.1 source paper_2020 "table 9" }
    output cost in USD = price * fast.peak * fast.margin * ceil(2.5)
}
"""


def declared() -> dict[str, tuple[str, str, str]]:
    diagnostics = Diagnostics()
    tree = parse(Source("t.hw", TEXT), diagnostics)
    assert not diagnostics.items
    return {
        n.path: (n.level, n.confidence, " & ".join(s.text for s in n.sources))
        for n in numbers("t", tree, references([tree]))
    }


def test_the_nearest_source_counts() -> None:
    sheet, paper = "A maker, data sheet, 2024", "Somebody, A paper, 2020"
    assert declared() == {
        "card.rate": ("block", "medium", sheet),
        "card.width": ("own", "high", f"{paper}, table 2"),
        "card.margin": ("own", "low", "between the 1.2 and 2 of others"),
        "card.peak": ("block", "medium", sheet),
        "Plain.rate": ("file", "high", paper),
        "Fast.rate": ("block", "low", f"{sheet}, page 3 & a letter"),
        "Fast.lanes": ("block", "low", f"{sheet}, page 3 & a letter"),
        "rack.cards": ("own", "high", f"{sheet}, page 4"),
        "rack.cards.rate": ("own", "high", f"{sheet}, page 4"),
        "rack.spare": ("own", "medium", "counted"),
        "tenth": ("file", "high", paper),
        "ask.price": ("own", "low", "a dealer, 2025"),
        "ask.fast.margin": ("own", "", f"{paper}, table 9"),
        "ask.cost": ("file", "high", paper),
    }


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "t.hw"
    path.write_text(TEXT, "utf-8")
    return str(path)


def test_numbers_are_counted(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--sources", file]) == 0
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines()]
    assert ["datasheet", "6"] in rows
    assert ["paper", "5"] in rows
    assert ["assumption", "1"] in rows
    assert ["2020", "5"] in rows
    assert ["low", "4"] in rows
    assert text.endswith("14 numbers, 0 of them without a source\n")


def test_numbers_of_a_confidence_are_listed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--confidence", "medium", file]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["number", "value", "source"]
    assert [row.split()[0] for row in rows] == ["t.card.rate", "t.card.peak", "t.rack.spare"]
    assert main(["explain", "--confidence", "none", file]) == 0
    assert capsys.readouterr().out == "no number without a source\n"


def test_a_citation_has_the_year_of_its_reference_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.hw"
    path.write_text(
        'edition 2026\nreference offers : press 2023 "A dealer, Prices of boards"\n'
        'let price = 3 USD source offers "p. 2" confidence low\n'
    )
    assert main(["explain", "--confidence", "low", str(path)]) == 0
    assert capsys.readouterr().out.endswith("  A dealer, Prices of boards, 2023, p. 2\n")
    assert main(["explain", "--sources", str(path)]) == 0
    assert capsys.readouterr().out.endswith("\n1 number, 0 of them without a source\n")


def test_a_name_that_is_neither_file_nor_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--sources", "vendor.nvida"]) == 2
    said = capsys.readouterr().err
    assert "neither a file nor a folder or module" in said
    assert "did you mean `vendor.nvidia`?" in said


@pytest.mark.parametrize(
    "text", ['reference r : paper 2e3 "x"\nlet a = 3 source r', "let a = 3 source nowhere"]
)
def test_numbers_of_a_file_with_wrong_citations_are_not_counted(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "w.hw"
    path.write_text(f"edition 2026\n{text}\n", "utf-8")
    assert main(["explain", "--sources", str(path)]) == 1
    assert f"hwdsl check {path}" in capsys.readouterr().err


def test_why_cites_what_it_shows(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", file, "cost", "--depth", "9"]) == 0
    tree, _, listed = capsys.readouterr().out.partition("\nsources\n")
    lines = {line.split()[0]: line for line in tree.splitlines()}
    cited = dict(line.split(" ", 1) for line in listed.splitlines())
    price, margin = (lines[name].rsplit("[", 1)[1] for name in ("price", "Fast.margin"))
    assert cited[f"[{price}"] == "a dealer, 2025; confidence low"
    assert cited[f"[{margin}"] == "paper: Somebody, A paper, 2020, table 9"
    assert main(["run", file, "--tree", "cost"]) == 0
    out = capsys.readouterr().out
    assert "cost [1] is no sum" in out
    assert "[1] paper: Somebody, A paper, 2020; confidence high" in out
    assert main(["why", file, "cost", "--format", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    (found,) = next(step for step in steps if step["name"] == "price")["sources"]
    assert (found["kind"], found["title"], found["place"]) == ("unnamed", "", "a dealer, 2025")


def test_a_reference_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "bipm_si_2019"]) == 0
    assert "The International System of Units" in capsys.readouterr().out
    assert main(["explain", "little_1961"]) == 0
    text = capsys.readouterr().out
    assert "# reference little_1961" in text
    assert "Cited by: `std." in text


def test_units_cite_what_their_file_cites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "GiB"]) == 0
    assert "iec_80000_13_2008" in capsys.readouterr().out


def test_what_is_given_cites_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", file, "cost", "price=3 USD", "--format", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert next(step for step in steps if step["name"] == "price")["sources"] == []


def test_the_numbers_that_move_an_output(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", file, "cost", "--confidence", "all"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows[1:]] == ["t.ask.price", "t.ask.fast.margin"]
    assert all(abs(float(row[3].strip()) - 1) < 0.01 for row in rows[1:] if row[2] == "USD")
    assert main(["why", file, "cost", "--confidence", "low", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["numbers"]
    assert (found["number"], found["value"]) == ("t.ask.price", "30 USD")
    assert found["sources"][0]["confidence"] == "low"
    assert main(["why", file, "cost", "--confidence", "none"]) == 0
    assert capsys.readouterr().out == "no number without a source moves cost\n"


VARIED = """\
edition 2026
kind card { rate : real = 2.5, gain : real = 4.5 }
kind rack {
    card cards[4] { rate = 3.5 source "measured" confidence low } source "counted" confidence high
}
rack one {}
let lowest = 0.5 source "measured" confidence low
fn scaled(x: real) -> real {
    let scale = 1.75 source "fitted" confidence medium
    3.5 * x / scale
}
let place = 2.5 source "measured" confidence low
let bent = one.cards with { gain = 1.5 source "measured" confidence low }
evaluator ask {
    param p : real = 0.5 in lowest .. 9
    choice q : real in [1.5, 7.5] = 1.5 source "a dealer, 2024" confidence low
    let given = scaled(p) * q
    output y = given * one.cards.rate * bent.gain * [1.25, 2.25][whole(floor(place * 100) - 250)]
}
"""


def test_each_number_is_varied_once_and_as_far_as_there_is_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "v.hw")
    Path(file).write_text(VARIED, "utf-8")
    # One per cent more of `lowest` would exclude the default of `p`; `place` can go neither way.
    assert main(["why", file, "y", "--confidence", "low"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [(row[0], row[2]) for row in rows] == [
        ("v.rack.cards.rate", "+1.000"),
        ("v.bent.gain", "+1.000"),
        ("v.place", "n/a"),
    ]
    assert main(["why", file, "y", "--confidence", "high"]) == 0
    assert capsys.readouterr().out == "no number of confidence high moves y\n"
    assert main(["why", file, "y", "--confidence", "medium"]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert (row[0], row[2]) == ("v.scaled.scale", "-0.990")


def test_choices_and_enums_cite_their_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "v.hw")
    Path(file).write_text(VARIED, "utf-8")
    assert main(["explain", "--confidence", "low", file]) == 0
    assert "v.ask.q            [1.5, 7.5]  a dealer, 2024\n" in capsys.readouterr().out
    assert main(["why", file, "y"]) == 0
    assert "a dealer, 2024; confidence low" in capsys.readouterr().out
    assert main(["explain", "std.parallelism.sharding"]) == 0
    assert "rajbhandari_2020  paper: " in capsys.readouterr().out


def test_an_elasticity_is_that_of_a_finite_difference(tmp_path: Path) -> None:
    text = """\
edition 2026
fn decay(t: real) -> real = exp(-0.5 * t)
kind part { rate : real = 2.5 source "a book" confidence low, pieces : int = 3 }
part One {}
evaluator core {
    param x : real = 1.5
    output y = x^3.5 * One.rate
}
evaluator whole {
    param t : real = 2.5 in 0.5 .. 9.5
    output z = core(x = t).y * decay(t) + One.pieces
}
"""
    path = tmp_path / "t.hw"
    path.write_text(text, "utf-8")
    whole = hwdsl.load(path).evaluators["whole"]
    found = {(s.number.path, s.literal): s for s in whole.sensitivities("z", t=2.0)}
    at = whole(t=2.0)["z"]
    varied = {
        ("One.rate", "2.5"): None,
        ("part.rate", "2.5"): text.replace("= 2.5 source", f"= {2.5 * 1.01!r} source"),
        ("decay", "0.5"): text.replace("-0.5", f"-{0.5 * 1.01!r}"),
        ("core.y", "3.5"): text.replace("3.5", repr(3.5 * 1.01)),
    }
    assert set(found) == {key for key, other in varied.items() if other}
    for key, other in varied.items():
        if other is not None:
            path.write_text(other, "utf-8")
            changed = hwdsl.load(path).evaluators["whole"](t=2.0)["z"]
            assert found[key].elasticity == pytest.approx((changed / at - 1) / 0.01, rel=1e-9)
