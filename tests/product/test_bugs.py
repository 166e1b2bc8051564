"""A bug ends a command with 70 and a report, whatever it raises; it never looks like a mistake."""

from pathlib import Path

import pytest

from hwdsl.cli.base import commands
from hwdsl.cli.main import main

WHOLE = """edition 2026

use std.chance: uniform

calibrated efficiency : real = 0.8 in 0.1 .. 1 from "a guess"

evaluator step {
    param work : data      = 10 GB   in 1 GB .. 100 GB ~ uniform(8 GB, 12 GB)
    param rate : bandwidth = 1 TB/s  in 0.1 TB/s .. 10 TB/s
    output time in ms = work / (efficiency * rate)
}

claim known {
    source "a book"
    expect step(work = 8 GB, rate = 1 TB/s).time == 10 ms within 1 %
}

figure by_rate {
    of = step
    x  = rate
    y  = time
}

table against {
    of       = step
    data     = "rows.csv"
    measured = took
    output   = time
}
"""
ROWS = "work [GB],rate [TB/s],took [ms]\n10,1,13\n20,1,25\n20,2,12\n"

PLACES = {
    "check whole.hw": "hwdsl.semantics.check",
    "fmt whole.hw": "hwdsl.syntax.format_module",
    "compile whole.hw -o made": "hwdsl.specs.specs_of",
    "compile whole.hw": "hwdsl.codegen.build.ingredients",
    "run whole.hw": "hwdsl.codegen.runtime.evaluator.Result",
    "run whole.hw --tree time": "hwdsl.derive.derive",
    "sweep whole.hw rate=1..2:3": "hwdsl.codegen.runtime.plan._evaluate",
    "sweep whole.hw rate=1..2:3 -o out.csv": "hwdsl.codegen.runtime.plan._evaluate",
    "sample whole.hw -n 10": "hwdsl.codegen.runtime.sample._Run",
    "sample whole.hw -n 10 -o out.csv": "hwdsl.cli.sample_._write",
    "validate whole.hw": "hwdsl.validate._in_unit",
    "validate whole.hw -o out.svg": "hwdsl.figures.validated",
    "fit whole.hw rows.csv --measured time=took": "hwdsl.fit._precision",
    "fit whole.hw rows.csv --measured time=took -o found.hw": "hwdsl.fit.fragment",
    "report whole.hw": "hwdsl.displays._points",
    "report whole.hw -o out": "hwdsl.report.pages",
    "why whole.hw time": "hwdsl.derive.derive",
    "verify whole.hw": "hwdsl.elaborate.verify",
    "explain unit-mismatch": "hwdsl.catalog.page",
    "new fresh.hw": "hwdsl.cli.files.write_text",
    "cache": "hwdsl.codegen.cache.entries",
    "doctor": "hwdsl.codegen.build.compiler",
}
"""A call and a function far below it."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    Path("whole.hw").write_text(WHOLE)
    Path("rows.csv").write_text(ROWS)
    return tmp_path


def test_every_command_is_there() -> None:
    assert {call.split()[0] for call in PLACES} == set(commands())


@pytest.mark.parametrize("error", [ValueError, KeyError])
@pytest.mark.parametrize("call", PLACES)
def test_a_bug_is_reported_as_one(
    call: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def bug(*arguments: object, **named: object) -> None:
        raise error("a bug")

    before = set(Path().iterdir())
    monkeypatch.setattr(PLACES[call], bug)
    code = main(call.split())
    assert (code, "bug of hwdsl" in capsys.readouterr().err) == (70, True)
    assert set(Path().iterdir()) - before <= {Path("made")}, "half a file is left"
