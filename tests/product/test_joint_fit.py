"""The joint fit of several tables: the least sum of absolute logarithms."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

for folder in ("benchmarks", "benchmarks/adapters"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))

joint_fit = pytest.importorskip("joint_fit", exc_type=ImportError)  # it needs SciPy

Row = tuple[float, float, int]  # where the row is met, its slope, its weight


@given(
    st.lists(
        st.tuples(st.floats(0.1, 0.9), st.sampled_from([-2.0, -0.5, 1.0, 3.0]), st.integers(0, 4)),
        min_size=2,
        max_size=12,
    ).filter(lambda rows: any(weight for *_, weight in rows))
)
def test_a_weighted_median(rows: list[Row]) -> None:
    """With one coefficient the sum is least where some row is met: no other is better."""
    met, slopes, weights = np.array(rows, np.float64).T
    here = joint_fit.Linear(np.array([0.5]), slopes * (0.5 - met), slopes[:, None], weights)
    (found,) = here.least(np.array([0.0]), np.array([1.0]))

    def total(x: float) -> float:
        return float(weights @ np.abs(slopes * (x - met)))

    assert total(found) <= min(map(total, met)) + 1e-7


@frozen
class Power:
    """Rows of a product of powers of two coefficients, one measured wrongly."""

    rows: list[dict[str, Any]]
    powers: np.ndarray[Any, Any]
    measured: np.ndarray[Any, Any]

    def logs(self, values: dict[str, float]) -> np.ndarray[Any, Any]:
        predicted = np.prod([values[n] ** p for n, p in zip("ab", self.powers, strict=True)], 0)
        return np.asarray(np.log(predicted / self.measured))


def test_two_tables_share_their_coefficients() -> None:
    """One table tells a, the other the product with b; a row that is wrong by e moves neither."""
    first = Power([{}] * 5, np.array([[1.0] * 5, [0.0] * 5]), np.full(5, 0.3))
    second = Power([{}] * 4, np.array([[1.0] * 4, [2.0] * 4]), np.full(4, 0.3 * 0.64))
    first.measured[0] *= np.e
    start, low, high = np.array([0.5, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 1.5])
    here = joint_fit.search([first, second], ("a", "b"), start, low, high, False)
    assert here.at == pytest.approx([0.3, 0.8], rel=2e-3)
    groups = ["wrong", *["right"] * 4, *["both"] * 4]
    without, held, drawn = joint_fit.spreads(here, groups, low, high, 20)
    assert without[0] == pytest.approx(here.at, rel=2e-2)  # linear from a point beside the least
    assert held[0] == pytest.approx(-1, abs=2e-2)  # the row is met by no fit to the others
    assert drawn.shape == (20, 2)
