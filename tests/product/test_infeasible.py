"""What cannot be built has no numbers: on the command line, in reports, slopes and draws."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.cli.main import main
from hwdsl.elaborate.displays import IntRange
from hwdsl.measure.validate import validate, validation_requests
from hwdsl.show.figure_data import displays
from hwdsl.show.int_axis import LeftOut, _chosen
from hwdsl.show.report import pages

TEXT = """edition 2026
#! Boxes.

use std.distributions: uniform

kind box {
    size : real = 1
    require small: size <= 2
        else "a box of {size} is too big"
}
evaluator e {
    param x   : real = 1     in 0 .. 4 ~ uniform(0, 4)
    param n   : int  = 4     in 1 .. 8
    param big : bool = false
    let b = box(size = if big then 3 else 1)
    output y in s = x * b.size * n * 1 s
    output z in s = x^2 * 1 s
    require divides: whole(8 / n) > 0
    require short: x <= 3
    warn long: x <= 2
}
"""


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.hw").write_text(TEXT)


@pytest.fixture
def e() -> hwdsl.Evaluator:
    return hwdsl.load("e.hw", compiled=False).e


def test_a_point_has_no_outputs_but_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "e.hw", "n=3", "x=1.5"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["y", "nan", "s"] in lines
    assert ["not-whole:", "`8", "/", "n`", "must", "be", "a", "whole", "number"] in lines
    assert main(["run", "e.hw", "n=3", "x=1.5", "--raw"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["y", "4.5", "s"] in lines
    assert ["infeasible"] in lines
    assert main(["why", "e.hw", "y", "n=3", "x=1.5"]) == 0
    assert "4.5 s" in capsys.readouterr().out


def test_a_sum_that_nobody_asked_for_is_not_told_of_what_cannot_be_built(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sums = TEXT.replace("    output z in s = x^2 * 1 s\n", "").replace("n * 1 s", "n * 1 s + 2 s")
    Path("e.hw").write_text(sums)
    for more, told in (((), False), (("--raw",), True), (("--tree", "y"), True)):
        assert main(["run", "e.hw", "n=3", *more]) == 0
        assert ("is the sum of" in capsys.readouterr().out) is told


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_has_nan_and_rules(ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    axes = ["n=1..4", "x=1", "big=all"]
    found = []
    for more in ([], ["--raw"]):
        assert main(["sweep", "e.hw", *axes, "-o", f"t.{ending}", *more]) == 0
        found.append(_rows(ending))
    masked, raw = found
    values = [k * (3 if big else 1) for k in (1, 2, 3, 4) for big in (False, True)]
    assert [float(row["y [s]"]) for row in raw] == values
    for row, value in zip(masked, values, strict=True):
        cannot = [*(["not-whole"] if value in (3, 9) and row["n"] in ("3", 3) else [])]
        cannot += ["b.small"] if row["big"] in ("True", True) else []
        assert row["violations"] == " ".join(cannot)
        number = float(row["y [s]"])
        assert math.isnan(number) if cannot else number == value


def _rows(ending: str) -> list[dict[str, Any]]:
    if ending == "csv":
        with Path("t.csv").open(newline="") as file:
            return list(csv.DictReader(file))
    from pyarrow import parquet

    return list(parquet.read_table("t.parquet").to_pylist())


def test_no_comparison_holds_where_there_is_no_output(e: hwdsl.Evaluator) -> None:
    for where, expected in (("y != 2 s", {1.0, 4.0, 8.0}), ("y <= 4 s", {1.0, 2.0, 4.0})):
        assert main(["sweep", "e.hw", "n=1..8", "-o", "t.csv", "--where", where]) == 0
        assert {float(row["y [s]"]) for row in _rows("csv")} == expected
    assert main(["sweep", "e.hw", "n=1..8", "-o", "t.csv", "--raw", "--where", "y > 4 s"]) == 0
    assert [row["n"] for row in _rows("csv")] == ["5", "6", "7", "8"]


def test_slopes_are_those_of_what_can_be_built(e: hwdsl.Evaluator) -> None:
    assert e.gradient("z", x=2) == {"z": {"x": pytest.approx(4)}}
    assert math.isnan(e.gradient("z", x=2, n=3)["z"]["x"])
    assert e.gradient("z", x=2, n=3, raw=True) == {"z": {"x": pytest.approx(4)}}
    text = TEXT.replace("n * 1 s", "n * n * 1 s")
    Path("e.hw").write_text(text)
    e = hwdsl.load("e.hw", compiled=False).e
    # The neighbours of 4 that divide 8 are 2 and 8: (64 - 4) / 6 a step, times 4 / 16.
    assert e.elasticity("y", wrt="n") == {"n": pytest.approx(2.5)}
    assert e.elasticity("y", wrt="n", raw=True) == {"n": pytest.approx(2)}  # (25 - 9) / 2 * 4 / 16
    assert math.isnan(e.elasticity("y", n=3)["x"])


def test_statistics_are_over_what_can_be_built(
    e: hwdsl.Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = e.sample(40_000, keep=True)
    x = drawn.drawn["x"]
    assert drawn.feasible.mean() == pytest.approx(0.75, abs=0.01)  # x below 3 of 4
    assert np.array_equal(np.isnan(drawn["z"]), ~drawn.feasible)
    assert np.array_equal(drawn.raw["z"][: len(x)], x**2)
    # x^2 over 0 .. 3 and over 0 .. 4: means 3 and 16/3, largest 9 and 16.
    assert drawn.mean("z") == pytest.approx(3, rel=0.02)
    assert drawn.raw.mean("z") == pytest.approx(16 / 3, rel=0.02)
    assert drawn.quantile("z", 0.5) == np.median(x[x <= 3] ** 2)
    assert drawn.std("z") == pytest.approx(math.sqrt(81 / 5 - 9), rel=0.02)
    assert drawn.rank_correlation("z") == {"x": pytest.approx(1)}
    share = drawn.violations["long"] / len(drawn)
    assert share == pytest.approx(0.5, abs=0.01)
    none = e.sample(1000, n=3)
    assert math.isnan(none.mean("z"))
    assert math.isnan(none.quantile("z", [0.5])[0])
    assert none.rank_correlation("z") == {}
    assert main(["sample", "e.hw", "-n", "40k", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["violations"] == drawn.violations
    means = {o["name"]: o["mean"]["value"] for o in answer["outputs"]}
    assert means["z"] == drawn.mean("z")
    assert main(["sample", "e.hw", "-n", "1k", "-o", "t.csv"]) == 0
    assert {r["violations"] for r in _rows("csv")} == {"", "long", "short long"}


def test_measured_rows_are_scored_raw(capsys: pytest.CaptureFixture[str]) -> None:
    Path("seen.csv").write_text("n,y\n2,2.2\n3,3.3\n5,5\n")
    table = 'table t { of = e, data = "seen.csv", measured = y, output = y }\n'
    Path("e.hw").write_text(TEXT + table)
    module = hwdsl.load("e.hw", compiled=False)
    (request,) = validation_requests(module)
    found = validate(module, request)
    assert found.predicted.tolist() == [2, 3, 5]
    assert (found.infeasible, found.disagreements) == (2, 0)
    assert main(["validate", "e.hw"]) == 0
    assert "infeasible by these rules: 2 of 3 rows" in capsys.readouterr().out


# --- axes of whole numbers ------------------------------------------------------------------------

AXES = """
evaluator a {
    param batch : int = 128 in 100 .. 65_536
    param tp    : int = 12  in 1 .. 96
    param pp    : int = 1   in 1 .. 4
    param rate  : real = 1  in 0 .. 9
    output t in s = batch / tp * 1 s
    require thirds: whole(batch / 100) > 0
    require divides: whole(96 / tp) > 0
    require enough: tp * pp >= 12
    require slow: rate <= 6
}
"""


@pytest.mark.parametrize(
    ("settings", "expected", "left"),
    [
        ("x = tp, batch = 200", [12, 16, 24, 32, 48, 96], 90),
        ("x = tp, batch = 200, pp = 4, by = pp", [3, 4, 8, 16, 32, 96], 86),
        ("x = tp, batch = 200, tp = 1 .. 48", [12, 16, 24, 32, 48], 43),
        ("x = tp, batch = 200, tp = [11, 12, 13]", [11, 12, 13], None),
        ("x = tp, batch = 200, rate = 7", [1, 2, 4, 8, 16, 32, 64, 96], 96),
    ],
)
def test_an_axis_takes_whole_numbers_that_can_be_built(
    settings: str, expected: list[int], left: int | None
) -> None:
    Path("e.hw").write_text(f"{TEXT}{AXES}figure f {{ of = a, y = t, {settings} }}\n")
    module = hwdsl.load("e.hw", compiled=False)
    (shown,) = displays(module)
    axis = shown.sweep["tp"].ravel()[: len(expected)]
    assert axis.tolist() == expected
    assert {each.param: each.values for each in shown.left_out} == (
        {} if left is None else {"tp": left}
    )
    page = pages(module)["index.html"]
    if "rate = 7" in settings:
        assert "No point can be built:" in page
        assert "<code>slow</code> at 96 of 96 points" in page
    elif left is not None:
        assert shown.sweep.feasible.any(axis=tuple(range(shown.sweep.feasible.ndim - 1))).all()
        assert "values of tp cannot be built and are left out" in page
        assert "<code>not-whole</code>" in page


def test_a_long_range_is_asked_here_and_there() -> None:
    """Of 65,437 batches those of whole hundreds can be built: no power of two is one."""
    Path("e.hw").write_text(
        f"{TEXT}{AXES}figure f {{ of = a, x = batch, y = t, batch = 100 .. 65_536 }}\n"
    )
    (shown,) = displays(hwdsl.load("e.hw", compiled=False))
    batch = shown.sweep["batch"]
    assert len(batch) > 20
    assert (batch % 100 == 0).all()
    assert batch[0] == 100
    assert shown.left_out[0].values + len(batch) == shown.left_out[0].tried < 25_000


@settings(deadline=None, max_examples=60)
@given(
    st.sets(st.integers(1, 5000), min_size=1, max_size=200), st.integers(2, 60), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_chosen_values_are_some_of_those_and_both_ends(
    good: set[int], count: int, ratios: bool, powers: bool
) -> None:
    values = np.array(sorted(good), float)
    found = _chosen(values, IntRange(1, 5000, count, ratios, powers)).tolist()
    assert found == sorted(set(found))
    assert {found[0], found[-1]} == {values[0], values[-1]}
    assert set(found) <= set(values.tolist())
    assert len(found) <= max(count, 15)
    if len(good) <= count and not powers:
        assert found == values.tolist()


def test_what_is_left_out_is_told_below_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("e.hw").write_text(f"{TEXT}{AXES}table t {{ of = a, rows = tp, batch = 200 }}\n")
    (shown,) = displays(hwdsl.load("e.hw", compiled=False))
    assert shown.left_out == (LeftOut("tp", 90, 96),)
    assert main(["report", "e.hw"]) == 0
    out = capsys.readouterr().out
    assert "90 of 96 values of tp cannot be built and are left out." in out
    assert "| 96 | 2.0833 | yes |" in out
