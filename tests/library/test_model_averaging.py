"""std.model_averaging against the recursion of the covariance of learners and central model."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """
edition 2026
#! Elastic averaging on a quadratic.
use std.model_averaging: elastic_averaging
evaluator averaging {
    param learners      : int  = 4    in 2 .. 64
    param step_fraction : real = 0.05 in 1e-4 .. 1
    param pull          : real = 1    in 0.01 .. 1
    let one = elastic_averaging(
        learners = learners,
        step_fraction = step_fraction,
        elasticity = pull / learners,
    )
    output contraction          = one.contraction
    output variance             = one.variance
    output synchronous_variance = one.synchronous_variance
}
"""


@cache
def module() -> hwdsl.Module:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.hw"
        path.write_text(TEXT, encoding="utf-8")
        return hwdsl.load(path, compiled=False)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.floats(0.02, 1), st.floats(0.05, 1))
def test_the_central_model_is_that_of_all_learners(
    learners: int, step_fraction: float, pull: float
) -> None:
    """The update of every learner and of the central model as one matrix: its largest eigenvalue
    on what the learners have in common, and its stationary covariance with independent noise."""
    elasticity = pull / learners
    update = np.eye(learners + 1) * (1 - step_fraction - elasticity)
    update[:learners, learners] = elasticity
    update[learners, :learners] = elasticity
    update[learners, learners] = 1 - pull
    covariance = noise = np.diag([1.0] * learners + [0.0])
    power = update.copy()
    for _ in range(20):  # doubling: the sum over 2^20 steps
        covariance = covariance + power @ covariance @ power.T
        power = power @ power
    got = module().averaging(learners=learners, step_fraction=step_fraction, pull=pull)
    assert got.variance == pytest.approx(covariance[learners, learners], rel=1e-6)
    values, vectors = np.linalg.eig(update)
    common = [abs(v) for v, x in zip(values, vectors.T, strict=True) if abs(x[-1]) > 1e-9]
    assert got.contraction == pytest.approx(max(common), rel=1e-6)
    left = 1 - step_fraction
    assert got.synchronous_variance == pytest.approx(1 / learners / (1 - left**2), rel=1e-6)
    assert noise.sum() == learners


def test_many_learners_behave_as_one_large_batch() -> None:
    got = module().averaging(learners=64, step_fraction=0.01)
    assert got.contraction == pytest.approx(0.99, abs=3e-4)
    assert got.variance == pytest.approx(got.synchronous_variance, rel=0.03)
