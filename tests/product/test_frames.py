"""Other packages' tables and quantities: what leaves a sweep and what comes into a call.

These are the packages themselves, not stand-ins; where one is not installed its test is skipped.
"""

import numpy as np
import pytest

import hwdsl
from hwdsl.codegen.runtime import Sweep

NAN = float("nan")
TEXT = """edition 2026

enum way { slow, quick }

evaluator move {
    param size : data      = 8 GB     in 1 GB .. 1 TB
    param rate : bandwidth = 100 GB/s in 1 GB/s .. 1 TB/s
    param hops : int       = 2        in 1 .. 4
    choice by  : way in [slow, quick] = quick

    output took in ms = hops * size / rate * (match by {
        slow  => 2
        quick => 1
    })
    output chosen = by

    require soon: hops * size <= 30 GB
}
"""


@pytest.fixture(scope="module")
def move(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path = tmp_path_factory.mktemp("frames") / "move.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False).move


@pytest.fixture(scope="module")
def grid(move: hwdsl.Evaluator) -> Sweep:
    return move.sweep(size=[8, 16.5], by=["slow", "quick"], hops=[1, 2, 3])


ROWS = {
    "size": [8.0] * 6 + [16.5] * 6,
    "rate": [100.0] * 12,
    "hops": [1, 2, 3] * 4,
    "by": (["slow"] * 3 + ["quick"] * 3) * 2,
    "took": [160, 320, 480, 80, 160, 240, 330, NAN, NAN, 165, NAN, NAN],
    "chosen": ["slow"] * 3 + ["quick"] * 3 + ["slow", None, None, "quick", None, None],
    "feasible": [True] * 6 + [True, False, False] * 2,
    "violations": [""] * 7 + ["soon"] * 2 + [""] + ["soon"] * 2,
}
"""Half of the 16.5 GB go over two hops or three: `soon` forbids it."""


def same(column: list[object]) -> object:
    """What a column must equal: numbers nearly, NaN where one is wanted."""
    numeric = all(isinstance(cell, float | int) for cell in column)
    return pytest.approx(column, nan_ok=True) if numeric else column


def test_pandas(grid: Sweep) -> None:
    pandas = pytest.importorskip("pandas")
    frame = grid.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(ROWS)
    for name, column in ROWS.items():
        cells = frame[name].astype(object)
        assert cells.where(frame[name].notna() | (name == "took"), None).tolist() == same(column)
    assert pandas.api.types.is_integer_dtype(frame["hops"])
    assert frame.query("feasible and by == 'quick'")["took"].max() == pytest.approx(240)


def test_polars(grid: Sweep) -> None:
    polars = pytest.importorskip("polars")
    frame = grid.to_polars()
    assert frame.columns == list(ROWS)
    for name, column in ROWS.items():
        assert frame[name].to_list() == same(column)
    assert frame.schema["feasible"] == polars.Boolean
    assert frame.schema["by"] == polars.String


def test_xarray(grid: Sweep) -> None:
    xarray = pytest.importorskip("xarray")
    dataset = grid.to_xarray()
    assert isinstance(dataset, xarray.Dataset)
    assert dict(dataset.sizes) == {"size": 2, "by": 2, "hops": 3}
    assert np.isnan(dataset.took.sel(size=16.5, by="slow", hops=2).item())
    assert dataset.violations.sel(size=16.5, by="slow", hops=2).item() == "soon"
    raw = grid.raw.to_xarray()
    assert raw.took.sel(size=16.5, by="slow", hops=2).item() == pytest.approx(660)
    assert dataset.feasible.sel(size=16.5).sum().item() == 2
    assert dataset.chosen.isel(size=0, by=1, hops=0).item() == "quick"
    columns = xarray.Dataset.to_array(dataset[["took"]])
    assert columns.shape == (1, 2, 2, 3)


def test_arrow(grid: Sweep) -> None:
    pytest.importorskip("pyarrow")
    arrow = grid.to_arrow()
    for name, column in ROWS.items():
        assert arrow.column(name).to_pylist() == same(column)
    assert arrow.schema.field("took").metadata == {b"unit": b"ms"}


def test_pint(move: hwdsl.Evaluator) -> None:
    pint = pytest.importorskip("pint")
    of = pint.UnitRegistry().Quantity
    expected = move(size=15, rate=200).took
    assert move(size=of(15, "gigabyte"), rate=of(0.2, "terabyte / second")).took == expected
    assert move(size=of(15e9, "byte"), rate=of(200, "gigabyte / second")).took == expected
    assert move(hops=of(3, "")).params["hops"] == 3
    swept = move.sweep(size=of(np.array([2.0, 16.0]), "gigabyte"), rate=[of(1, "GB/s"), 2]).raw
    assert swept.took.tolist() == [
        move.sweep(size=s, rate=[1, 2]).raw.took.tolist() for s in (2, 16)
    ]
    with pytest.raises(ValueError, match=r"move\.size: `1 s` is time, but data is wanted"):
        move(size=of(1, "second"))
    with pytest.raises(ValueError, match=r"move\.size"):
        move(size=of(16, "megaparsec"))
