"""Adapters of published tables: their columns are params, their evaluators have what they name."""

from importlib import import_module
from pathlib import Path

import measured
import pytest

import hwdsl

LIBRARY = Path(__file__).parents[2] / "library"
MODULES = [import_module(p.stem) for p in sorted(Path(__file__).parent.glob("measured*.py"))]
SETS: list[measured.Set] = [one for module in MODULES for one in module.SETS]


def test_no_two_sets_have_a_name() -> None:
    assert len({one.name for one in SETS}) == len(SETS)


@pytest.mark.skipif(measured.folder() is None, reason="no HWDSL_REFERENCE_DATA/measured")
@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_a_set_fits_its_evaluator(one: measured.Set) -> None:
    evaluator = getattr(hwdsl.load(LIBRARY / one.file, compiled=False), one.evaluator)
    params = {p.name for p in evaluator.spec.params}
    outputs = {o.name for o in evaluator.spec.outputs}
    rows = one.rows()
    assert rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    names = {title.partition(" [")[0] for title in rows[0]}
    assert names - params <= {"case", "measured", one.group}
    assert one.group in names
    assert {one.output, one.baseline} - {None} <= outputs
    assert {name for name, _ in one.apart} <= params
    assert all(float(row["measured"]) > 0 for row in rows)
