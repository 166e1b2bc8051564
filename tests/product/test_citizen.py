"""What Python's own tools and other packages expect of results, sweeps, evaluators and modules."""

import copy
import inspect
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis.vendor.pretty import pretty

import hwdsl
from hwdsl.codegen.runtime import Sweep

TEXT = """edition 2026
#! Moves <data>.

enum way { slow, quick }

evaluator move {
    ## How much is moved, & when.
    param size : data      = 8 GB     in 1 GB .. 1 TB
    param rate : bandwidth = 100 GB/s in 0 GB/s .. 1 TB/s
    choice by  : way in [slow, quick] = quick

    let bytes = size * (match by { slow => 2, quick => 1 })

    ## Time of the move.
    output took in ms = bytes / rate
    output chosen     = by
    output ends in GB = [size, bytes]
    output odd        = (rate / (1 GB/s)) * 0 / (rate / (1 GB/s))

    require soon: bytes <= 10 GB else "moves {bytes in GB}"
}
"""

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {n}": lambda x, n=n: pickle.loads(pickle.dumps(x, protocol=n))
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path = tmp_path_factory.mktemp("citizen") / "move.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


@pytest.fixture(scope="module")
def move(module: hwdsl.Module) -> hwdsl.Evaluator:
    return module.move


def test_a_module_of_a_relative_path_is_equal_to_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.hw").write_text(f"{TEXT}\n# not in the cache: {tmp_path}\n")
    fresh = hwdsl.load("own.hw", compiled=False)
    assert fresh == pickle.loads(pickle.dumps(fresh)) == hwdsl.load("own.hw", compiled=False)


@pytest.mark.parametrize("how", COPIES)
def test_all_a_user_holds_copies_and_compares(module: hwdsl.Module, how: str) -> None:
    move = module.move
    grid = move.sweep(size=[8, 16.5], by=["slow", "quick"], rate=[0, 50])
    kept: list[Any] = [
        move(), move(rate=0), grid, grid.take([1, 3]), move.sweep(mode="zip", size=[1, 2]),
        move, module, next(move.iter_chunks(3, size=[1, 2, 3, 4])),
    ]  # fmt: skip
    for one in kept:
        again = COPIES[how](one)
        assert type(again) is type(one)
        assert again == one
        assert repr(again) == repr(one)
    again = COPIES[how](move)
    assert again(size=2) == move(size=2)
    assert str(again.why("took", size=2)) == str(move.why("took", size=2))
    assert again.violated_rules(size="16 GB") == move.violated_rules(size="16 GB")


def test_what_differs_is_not_equal(move: hwdsl.Evaluator, tmp_path: Path) -> None:
    path = tmp_path / "move.hw"
    path.write_text(TEXT.replace("quick => 1", "quick => 3"))
    other = hwdsl.load(path, compiled=False).move
    assert other != move
    assert move(size=2) != move(size=3)
    assert move(size=2) == move(size="2 GB")
    assert len({move(size=2), move(size="2 GB"), move(rate=0), move(rate=0)}) == 2
    assert move.sweep(size=[1, 2]) != move.sweep(size=[1, 3])
    assert move.sweep(size=[1, 2]) != move.sweep(rate=[1, 2])
    assert move.sweep(rate=[0, 2]) == move.sweep(rate=[0, 2])
    assert (move(), move.sweep(), move) != (1, 2, 3)


def test_evaluators_go_to_other_processes(module: hwdsl.Module) -> None:
    context = multiprocessing.get_context("spawn")
    points = [{"size": float(size)} for size in range(1, 4)]
    with ProcessPoolExecutor(1, context) as pool:
        assert list(pool.map(module.move, points)) == [module.move(point) for point in points]


def test_what_a_compiled_folder_gives_copies_too(tmp_path: Path) -> None:
    (tmp_path / "move.hw").write_text(TEXT)
    made = [sys.executable, "-m", "hwdsl", "compile", "move.hw", "-o", "."]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    program = (
        "import copy, pickle, sys; import move as m;"
        "same = lambda x: pickle.loads(pickle.dumps(x)) == copy.deepcopy(x) == x;"
        "print([same(x) for x in (m.move, m.move(), m.move.sweep(size=[1, 2]))],"
        "'hwdsl' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout == "[True, True, True] False\n"


def test_names_are_offered_for_completion(module: hwdsl.Module) -> None:
    move = module.move
    grid = move.sweep(size=[1, 2])
    assert {"took", "chosen", "ends", "params", "unit"} <= set(dir(move()))
    assert {"took", "size", "by", "best"} <= set(dir(grid))
    assert "move" in dir(module)
    assert set(grid._ipython_key_completions_()) == {
        "took", "chosen", "ends", "odd", "size", "rate", "by",
    }  # fmt: skip
    assert "ends.0" in move()._ipython_key_completions_()
    assert str(inspect.signature(move)) == (
        "(*, size='8 GB', rate='100 GB/s', by='quick') -> hwdsl.codegen.runtime.result.Result"
    )


def test_notebooks_show_tables_with_units_and_no_markup_of_the_file(move: hwdsl.Evaluator) -> None:
    grid = move.sweep(size=[1, 2, 3, 4], rate=[50, 60, 100])
    for shown in (move(size="9 GB", by="slow"), grid, move):
        html = shown._repr_html_()
        assert "<table>" in html
        assert "GB" in html
        assert "<data>" not in html
    assert "feasible" in move()._repr_html_()
    assert "breaks soon" in move(size="9 GB", by="slow")._repr_html_()
    assert "2 more points" in grid._repr_html_()
    assert "How much is moved, &amp; when." in move._repr_html_()


def test_units_stay_with_the_numbers(move: hwdsl.Evaluator) -> None:
    grid = move.sweep(size=[1, 2])
    for of in (move(), grid):
        assert [of.unit(n) for n in ("took", "ends", "ends.0", "rate", "by")] == [
            "ms", "GB", "GB", "GB/s", "",
        ]  # fmt: skip
        with pytest.raises(KeyError, match="did you mean took"):
            of.unit("tok")
    pytest.importorskip("pandas")
    frame = grid.to_pandas()
    assert frame.attrs["units"]["took"] == "ms"
    assert list(frame.attrs["units"]) == list(frame.columns)
    pytest.importorskip("xarray")
    dataset = grid.to_xarray()
    assert dataset["took"].attrs == {"units": "ms", "long_name": "Time of the move."}
    assert dataset["size"].attrs["units"] == "GB"


def test_tables_are_points(move: hwdsl.Evaluator) -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"size": [1.0, 2.0, 3.0], "by": ["slow", "quick", "slow"]}
    whole = move.sweep(mode="zip", **rows)
    tables = [pandas.DataFrame(rows)]
    if polars := pytest.importorskip("polars"):
        tables += [polars.DataFrame(rows), polars.DataFrame(rows).to_arrow()]
    for table in tables:
        assert move.sweep(table) == whole
        assert move.sweep(zipped=table) == whole
        assert next(iter(move.iter_chunks(2, table))) == whole.take([0, 1])
    crossed = move.sweep(tables[0], rate=[50, 100])
    assert crossed.shape == (3, 2)
    back = move.sweep(whole.to_pandas()[["size", "rate", "by"]])
    assert np.array_equal(back.took, whole.took)
    with pytest.raises(ValueError, match="no param took"):
        move.sweep(whole.to_pandas()[["size", "took"]])
    with pytest.raises(ValueError, match="given twice"):
        move.sweep(tables[0], size=[1, 2, 3])
    with pytest.raises(ValueError, match="nan is out of range"):
        move.sweep(pandas.DataFrame({"size": [1.0, math.nan]}))


def test_masked_values_are_no_points(move: hwdsl.Evaluator) -> None:
    with pytest.raises(ValueError, match=r"move\.size: some values are masked"):
        move.sweep(size=np.ma.array([1.0, 5.0, 3.0], mask=[0, 1, 0]))
    none = np.ma.array([1.0, 5.0], mask=[0, 0])
    assert move.sweep(size=none) == move.sweep(size=[1.0, 5.0])


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_its_values(move: hwdsl.Evaluator) -> None:
    assert move.sweep(size=np.matrix([[1.0, 2.0]])) == move.sweep(size=[1.0, 2.0])


@pytest.mark.parametrize("threads", [0, -1, 1.5, "a", True])
def test_threads_are_counted_from_one(move: hwdsl.Evaluator, threads: Any) -> None:
    with pytest.raises(ValueError, match="threads is a whole number from 1 on"):
        move.sweep(size=[1, 2], threads=threads)


def test_a_bar_counts_points(move: hwdsl.Evaluator, capsys: pytest.CaptureFixture[str]) -> None:
    move.sweep(size=np.linspace(1, 1000, 200_000), progress=True, threads=1)
    said = capsys.readouterr().err
    assert said.startswith("\r")
    assert "100 %, 200,000 of 200,000 points" in said.rpartition("\r")[2]
    assert said.endswith("\n")
    seen: list[tuple[int, int]] = []
    move.sweep(size=[1, 2], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 2)]
    move.sweep(size=[1, 2], progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("size", [0, -1])
def test_chunks_have_points(move: hwdsl.Evaluator, size: int) -> None:
    grid: Sweep = move.sweep(size=[1, 2])
    with pytest.raises(ValueError, match="at least one point"):
        list(grid.iter_chunks(size))
    with pytest.raises(ValueError, match="at least one point"):
        list(move.iter_chunks(size))


@pytest.mark.parametrize("loads", [1, 2], ids=["cold", "warm"])
def test_the_working_directory_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: int
) -> None:
    (tmp_path / "move.hw").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    for _ in range(loads):
        move = hwdsl.load("move.hw", compiled=False).move
    os.chdir("/")
    assert move.why("took").value == 0.08
    assert move.violated_rules(size="16 GB") == [("soon", "moves 16 GB", "")]
    assert move.undecided == ()


def test_a_module_prints_as_its_evaluators(tmp_path: Path) -> None:
    """Where all fields of a class are printed too: Hypothesis shows the arguments of what fails."""
    path = tmp_path / "move.hw"
    path.write_text(TEXT)
    module = hwdsl.load(path, compiled=False)
    assert pretty(module) == repr(module)
    assert "evaluators={'move': <evaluator move(" in repr(module)
    assert "Program" not in repr(module)
