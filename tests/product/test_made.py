"""The finding's evaluators: a broken rule is told however the component is made, with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hwdsl.cli.main import main

HEAD = """edition 2026
use std.parallelism: plan
use std.die: die
use vendor.processes: N5
fn cut(b: int) -> plan = plan(global_batch = b, data = 2)
die fine {
    process = N5
    area    = 100 mm^2
}
"""
AREA = "    param area : area = 2000 mm^2 in 1 mm^2 .. 5000 mm^2\n"
SAID = {
    "plan.microbatches": "a global batch of 7 sequences is not a multiple of 2 replicas",
    "die.reticle": "is 26 mm x 76.92 mm",
}
FIXED = {
    "let p = plan(global_batch = 7, data = 2)": "p.microbatches",
    "": "cut(7).microbatches",
    "let q = 1": "plan(global_batch = 7, data = 2).microbatches",
    "let huge = fine with { area = 2000 mm^2 }": "huge.yield",
    "let bad = die(process = N5, area = 2000 mm^2)": "bad.yield",
    "let r = 1": "(fine with { area = 2000 mm^2 }).yield",
}
TOLD = {"made here", "`area` is given here"}
PARAMS = {
    "passing": (
        "    param b : int = 7 in 1 .. 10\n    let p3 = cut(b)\n    output y = p3.microbatches\n",
        "",
    ),
    "nested": (AREA + "    let d = fine with { area = area }\n    output y = d.yield\n", ""),
    "nested_inline": (AREA + "    output y = (fine with { area = area }).yield\n", "fine with"),
    "nested_list": (
        AREA + "    let ds = [fine with { area = area }, fine]\n    output y = ds[0].yield\n",
        "",
    ),
    "nested_fn": (AREA + "    output y = yield_of(area)\n", "big(a)"),
}  # fmt: skip


@pytest.mark.parametrize("declared", FIXED)
def test_of_constants_it_is_an_error_of_the_file(
    declared: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lets.hw"
    read = FIXED[declared]
    path.write_text(f"{HEAD}{declared}\nevaluator top {{\n    output y = {read}\n}}\n")
    assert main(["check", str(path)]) != 0
    said = capsys.readouterr().out
    rule = "die.reticle" if "yield" in read else "plan.microbatches"
    assert f"error[{rule}]" in said
    assert SAID[rule] in said
    given = "`area` is given here" if "yield" in read else "`global_batch` is given here"
    assert given in said


@pytest.mark.parametrize("name", PARAMS)
def test_of_params_it_is_told_of_the_point(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members, place = PARAMS[name]
    path = tmp_path / "lets.hw"
    functions = (
        "fn big(a: area) -> die = fine with { area = a }\n"
        "fn yield_of(a: area) -> real = big(a).yield\n"
    )
    path.write_text(f"{HEAD}{functions}evaluator {name} {{\n{members}}}\n")
    main(["run", f"{path}:{name}"])
    said = capsys.readouterr().out
    assert "\ninfeasible" in said
    assert SAID["plan.microbatches" if name == "passing" else "die.reticle"] in said
    if place:
        assert "made here: " in said
        assert place in said
        assert "`area` is given here: " in said
    main(["sweep", f"{path}:{name}"])
    swept = capsys.readouterr().out.partition("violations, each at its first row:\n")[2]
    assert swept
    assert set(swept.splitlines()) <= set(said.splitlines())  # as `run` says it
    main(["run", f"{path}:{name}", "--format", "json"])
    broken = json.loads(capsys.readouterr().out)["violations"]
    places = [p for rule in broken for p in rule["places"]]
    assert {p["text"] for p in places} >= TOLD if place else not places
    lines = path.read_text().splitlines()
    made = [lines[p["line"] - 1][p["column"] - 1 :] for p in places if p["text"] == "made here"]
    assert all(text.startswith("fine with") for text in made)


def test_a_figure_tells_the_place_at_the_first_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.hw").write_text(
        f"{HEAD}evaluator top {{\n{AREA}    output y = (fine with {{ area = area }}).yield\n}}\n"
        "figure of_area { of = top, x = area, y = y }\n"
    )
    assert main(["report", "cut.hw", "-o", "cut.html"]) == 0
    assert (
        "made here: cut.hw:12:17: fine with { area = area }"
        in Path("cut.html/index.html").read_text()
    )
