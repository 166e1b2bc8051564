"""`hwdsl sweep` keeps the points that Python keeps; an interrupted one goes on where it stopped."""

from __future__ import annotations

import csv
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.cli import sweep_
from hwdsl.cli.main import main
from hwdsl.codegen.runtime.reductions import TopState

TEXT = """edition 2026

enum shape { flat, tall }
evaluator e {
    param  rate  : data / time = 3 TB/s in 1 TB/s .. 10 TB/s
    param  batch : int         = 16     in 1 .. 512
    choice shape : shape       in [flat, tall]
    let whole = (10 GB + batch * 1 GB) / rate
    output time  in ms   = whole
    output speed in 1/s  = batch / whole
    output root          = sqrt(batch - 3)
    output form : shape  = if batch > 20 then tall else shape
    require fits: batch <= 40
    warn few: batch > 5
}
"""
AXES = ["rate=1..10 TB/s:7", "batch=1..60", "shape=all"]


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep_, "CHUNK", 64)
    Path("e.hw").write_text(TEXT)


def rows(name: str) -> list[list[str]]:
    with Path(name).open(newline="") as file:
        return list(csv.reader(file))[1:]


def table_of(sweep: Any) -> list[list[str]]:
    """A sweep of Python as the table has it."""
    names = ["rate", "batch", "shape", "time", "speed", "root", "form"]
    columns = [sweep.column(n).tolist() for n in names] + [sweep.feasible.ravel().tolist()]
    violations = [" ".join(sweep.result(i).violations) for i in range(len(sweep))]
    return [[str(c) for c in row] for row in zip(*columns, violations, strict=True)]


def written(*options: str) -> list[list[str]]:
    assert main(["sweep", "e.hw", *AXES, *options, "-o", "out.csv"]) == 0
    return rows("out.csv")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("e") / "e.hw"
    path.write_text(TEXT)
    e = hwdsl.load(path, compiled=False).e
    return e.sweep(rate="1..10 TB/s:7", batch=range(1, 61), shape="all")


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), lambda s: s),
        (("--threads", "1"), lambda s: s),
        (("--where", "time <= 0.01 s"), lambda s: s.take(s.column("time") <= 10)),
        (("--where", "speed >= 900"), lambda s: s.take(s.column("speed") >= 900)),
        (("--where", "rate == 4 TB/s"), lambda s: s.take(s.column("rate") == 4)),
        (("--where", "form != tall"), lambda s: s.take(s.column("form") == "flat")),
        (("--where", "feasible", "--where", "batch>7"),
         lambda s: s.take(s.feasible.ravel() & (s.column("batch") > 7))),
        (("--best", "speed"), lambda s: s.take([_place(s, s.best("speed"))])),
        (("--best", "speed", "--top", "7"),
         lambda s: s.take(np.lexsort((-s.column("speed"),))[:7])),
        (("--best", "min:time", "--by", "batch", "--where", "form == tall"),
         lambda s: s.take([_place(s, s.take((s.column("batch") == b) & (s.column("form") == "tall"))
                           .best(minimize="time")) for b in range(3, 41)])),
        (("--best", "min:time"), lambda s: s.take([_place(s, s.best(minimize="time"))])),
        (("--pareto", "max:speed,min:time,min:rate"),
         lambda s: s.pareto(maximize="speed", minimize=["time", "rate"])),
        (("--pareto", "speed,min:time", "--where", "shape == tall"),
         lambda s: s.take(s.column("shape") == "tall").pareto(maximize="speed", minimize="time")),
    ],
)  # fmt: skip
def test_what_is_kept_is_what_python_keeps(options: Any, kept: Any, sweep: Any) -> None:
    found = written(*options)
    assert found == table_of(kept(sweep))
    assert found


def _place(sweep: Any, result: Any) -> int:
    return next(i for i in range(len(sweep)) if sweep.result(i) == result)


def test_axes_go_together_with_zip() -> None:
    call = ["sweep", "e.hw", "rate=1,2,3", "batch=7,8,9", "-o", "out.csv"]
    assert main([*call, "--zip", "all"]) == 0
    assert [r[:2] for r in rows("out.csv")] == [["1.0", "7"], ["2.0", "8"], ["3.0", "9"]]
    assert main([*call, "shape=all", "--zip", "rate,batch"]) == 0
    assert [r[1:3] for r in rows("out.csv")][:3] == [["7", "flat"], ["7", "tall"], ["8", "flat"]]
    assert main([*call[:-2], "--zip", "rate,batc"]) == 2


def interrupt_after(
    parts: int, monkeypatch: pytest.MonkeyPatch, number: int = signal.SIGINT
) -> None:
    """Send a signal while a part is written, as a user's ^C comes."""
    columns, left = sweep_.columns, [parts]

    def interrupting(part: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), number)
        return columns(part)

    monkeypatch.setattr(sweep_, "columns", interrupting)


@pytest.mark.parametrize("line", range(9))
def test_an_interrupt_at_any_line_leaves_whole_parts(line: int) -> None:
    """At each of the lines around the first two parts: what is there can be gone on with."""
    code, left = sweep_._Parts._computed.__code__, [line]

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is code and event == "line":
            left[0] -= 1
            if left[0] == -1:
                os.kill(os.getpid(), signal.SIGINT)
        return trace if frame.f_code is code else None

    call = ["sweep", "e.hw", *AXES, "-o", "out.csv"]
    sys.settrace(trace)
    try:
        found = main(call)
    finally:
        sys.settrace(None)
    assert (found, Path("out.csv.resume").exists()) == (130, True)
    assert main([*call, "--resume"]) == 0


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    cuts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    ending=st.sampled_from(["csv", "parquet"]),
    where=st.sampled_from([[], ["--where", "feasible"], ["--where", "time <= 1 ms"]]),
)
def test_a_resumed_sweep_is_the_whole_one(cuts: list[int], ending: str, where: list[str]) -> None:
    call = ["sweep", "e.hw", *AXES, *where, "-o"]
    assert main([*call, f"whole.{ending}"]) == 0
    out = Path(f"cut.{ending}")
    out.unlink(missing_ok=True)
    for parts in cuts:
        with pytest.MonkeyPatch.context() as patch:
            interrupt_after(parts, patch)
            code = main([*call, str(out), "--resume"])
        if code == 0:
            break
        assert code == 130
        assert Path(f"{out}.resume").exists()
    if code:
        assert main([*call, str(out), "--resume"]) == 0
    assert not Path(f"{out}.resume").exists()
    if ending == "csv":
        assert out.read_bytes() == Path("whole.csv").read_bytes()
    else:
        tables = [pyarrow.parquet.read_table(p).to_pydict() for p in (out, "whole.parquet")]
        np.testing.assert_equal(*tables)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: None, ""),
        (lambda: Path("e.hw").write_text(TEXT.replace("10 GB", "11 GB")), "of another sweep"),
        (lambda: Path("out.csv").write_text("x"), "no earlier result"),
        (lambda: os.truncate("out.csv", 200), "was changed after it was interrupted"),
        (lambda: Path("out.csv.resume").unlink(), "not the table of an interrupted sweep"),
        (lambda: Path("out.csv.resume").write_text("{}"), "out.csv.resume is there already"),
    ],
)
def test_only_the_same_sweep_is_resumed(
    change: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["sweep", "e.hw", *AXES, "-o", "out.csv"]
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(2, patch)
        assert main(call) == 130
    assert "the same call with --resume goes on" in capsys.readouterr().err
    before = Path("out.csv").read_bytes()
    change()
    kept = Path("out.csv").read_bytes()
    assert main([*call, "--resume"]) == (2 if said else 0)
    assert said in capsys.readouterr().err
    if said:
        assert Path("out.csv").read_bytes() == kept
    else:
        assert Path("out.csv").read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threads", "0"], "threads is a whole number from 1 on, not 0"),
        (["--threads", "many"], "argument --threads"),
        (["--where", "tim > 3"], "did you mean `time`?"),
        (["--where", "time > 3 GB"], "`3 GB` is data, but time is wanted"),
        (["--where", "time"], "--where time: write feasible, or NAME >= VALUE"),
        (["--where", "form == wide"], "form has no case wide; it has flat, tall"),
        (["--where", "shape == wide"], "e.shape: 'wide' is none of them"),
        (["--best", "form"], "no output or numeric param form"),
        (["--best", "less:time"], "write NAME for the most of it"),
        (["--best", "time", "--pareto", "speed"], "give one of them"),
        (["--resume"], "it needs -o"),
        (["--top", "3"], "--top goes with --best"),
        (["--best", "time", "--by", "rat"], "did you mean `rate`?"),
        (["--best", "time", "--top", "0"], "a number of points is from 1 on, not 0"),
        (["--distribution", "time,form"], "no output or numeric param form"),
        (["--histogram", "time:0"], "write NAME or NAME:BINS"),
        (["--counts", "-o", "out.csv"], "-o is a table of points"),
        (["--counts", "--raw"], "--raw is about rows"),
        (["--show", "form,tim"], "did you mean `time`?"),
        (["--show", "form", "-o", "out.csv"], "a table that is written has all columns"),
    ],
)
def test_options_that_do_not_fit_are_told(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "e.hw", *AXES, *options]) == 2
    assert said in capsys.readouterr().err


def test_progress_says_how_long_it_takes_and_the_end_how_fast(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep_, "MANY", 100)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("hwdsl.codegen.runtime.progress.PAUSE", 0)
    assert main(["sweep", "e.hw", *AXES, "-o", "out.csv"]) == 0
    err = capsys.readouterr().err
    assert "\r8 %, 64 of 840 points, " in err
    assert " left" in err
    assert "wrote 840 of 840 rows to out.csv; computed " in err
    assert " points/s, wrote " in err
    assert "out.parquet is written several times as fast" in err


@pytest.mark.parametrize("options", [["-o", "out.csv"], ["--best", "speed"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_exit_code_names_the_signal(
    number: signal.Signals, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "-o" in options:
        interrupt_after(2, monkeypatch, number)
    else:
        update = TopState.update

        def interrupting(state: TopState, block: Any) -> None:
            os.kill(os.getpid(), number)
            time.sleep(0.3)  # the main thread waits, and is told
            update(state, block)

        monkeypatch.setattr(TopState, "update", interrupting)
    assert main(["sweep", "e.hw", *AXES, *options]) == 128 + number


def test_points_are_counted_whether_they_are_kept_or_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(sweep_, "perf_counter", lambda: float(next(clock)))
    assert main(["sweep", "e.hw", *AXES, "--where", "batch <= 2", "-o", "out.csv"]) == 0
    said = capsys.readouterr().err
    # 14 parts of at most 64 points, a second each.
    assert "wrote 28 rows of 840 points to out.csv; computed 60 points/s" in said


def test_a_table_with_a_long_header_is_known_again() -> None:
    outputs = "".join(f"    output {'long' * 20}_{i} = x + {i}\n" for i in range(60))
    Path("wide.hw").write_text(
        f"edition 2026\nevaluator e {{\n    param x : real = 1\n{outputs}}}\n"
    )
    assert [main(["sweep", "wide.hw", "x=1,2", "-o", "wide.csv"]) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("goal", [[], ["--best", "speed"]])
def test_only_the_columns_that_are_asked_for_are_printed(
    goal: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sweep", "e.hw", "rate=1 TB/s", "batch=10,20", "shape=tall", *goal]
    assert main([*command, "--show", "form,batch"]) == 0
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["form", "batch", "feasible", "violations"]
    assert rows == [["tall", batch, "True"] for batch in (["20"] if goal else ["10", "20"])]


def test_nothing_that_fits_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "e.hw", *AXES, "--where", "time < 1 us"]) == 0
    assert capsys.readouterr().out == "none of the 840 points fits\n"
    assert main(["sweep", "e.hw", "batch=50,60", "--best", "speed"]) == 0
    assert "no point of 2 is feasible" in capsys.readouterr().out


def test_a_sweep_is_summed_up(capsys: pytest.CaptureFixture[str], sweep: Any) -> None:
    asked = ["--distribution", "time,speed", "--histogram", "time:4", "--counts"]
    assert main(["sweep", "e.hw", *AXES, *asked, "--best", "speed", "--show", "batch"]) == 0
    best, spread, bins, counts = capsys.readouterr().out.split("\n\n")
    assert best.splitlines()[1].split()[0] == "40"
    time = sweep.column("time")[sweep.feasible.ravel()]
    cells = next(line for line in spread.splitlines() if line.startswith("time [ms]")).split()
    shares = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]
    assert np.array(cells[2:], float) == pytest.approx(np.quantile(time, shares), rel=2e-3)
    rows = [line.replace("#", "").split() for line in bins.splitlines()[1:]]
    assert [int(row[3]) for row in rows] == np.histogram(time, 4)[0].tolist()
    broken = [line.split()[-1] for line in counts.splitlines()[1:]]
    assert counts.startswith(f"840 points, {len(time)} feasible\n")
    assert sorted(broken) == sorted(str(n) for n in sweep.violations.values())


@pytest.mark.parametrize("asked", [[], ["--best", "speed", "--top", "840"]])
def test_rows_of_a_parquet_file_are_points(asked: list[str]) -> None:
    call = ["sweep", "e.hw"]
    assert main([*call, "rate=1..10 TB/s:7", "batch=1..60", "shape=tall", "-o", "in.parquet"]) == 0
    assert main([*call, "--rows", "in.parquet", *asked, "-o", "again.csv"]) == 0
    assert (
        main([*call, "rate=1..10 TB/s:7", "batch=1..60", "shape=tall", *asked, "-o", "b.csv"]) == 0
    )
    assert Path("again.csv").read_text() == Path("b.csv").read_text()
    assert main([*call, "--rows", "in.parquet", "shape=flat"]) == 2
    assert main([*call, "--rows", "none.parquet"]) == 2
    assert main([*call, "--rows", "in.parquet", "--zip", "all"]) == 2
