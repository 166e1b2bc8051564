"""std.distributions, against the standard library and their own definitions."""

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hwdsl

TEXT = """edition 2026
use std.distributions

evaluator draw {
    param u      : real = 0.5 in 0 .. 1
    param low    : real = 1   in 0.001 .. 1000
    param step   : real = 1   in 0 .. 1000
    param spread : real = 2   in 1 .. 100
    output normal_1 : real = normal_quantile(u)
    output even     : real = uniform(u, low, low + step)
    output log_even : real = log_uniform(u, low, low + step)
    output bell     : real = normal(u, low, step)
    output log_bell : real = lognormal(u, low, spread)
    output tent     : real = triangular(u, low, low + step / 4, low + step)
}
"""


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path: Path = tmp_path_factory.mktemp("distributions") / "distributions.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False).draw


def test_the_normal_quantile_is_that_of_the_standard_library(draw: hwdsl.Evaluator) -> None:
    shares = np.concatenate(
        [
            np.linspace(0.001, 0.999, 999),
            10.0 ** -np.arange(4, 300, 7.0),
            1 - 10.0 ** -np.arange(4, 15.0),
        ]
    )
    expected = np.array([NormalDist().inv_cdf(u) for u in shares])
    found = draw.sweep(u=shares)["normal_1"]
    assert np.allclose(found, expected, rtol=1e-14, atol=1e-16)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.01, 100), st.floats(0.01, 100), st.floats(1.01, 10))
def test_the_share_below_a_value_is_what_was_asked_for(
    draw: hwdsl.Evaluator, u: float, low: float, step: float, spread: float
) -> None:
    r = draw(u=u, low=low, step=step, spread=spread)
    assert math.isclose((r.even - low) / step, u, rel_tol=1e-6, abs_tol=1e-6)
    assert math.isclose(math.log(r.log_even / low) / math.log((low + step) / low), u,
                        rel_tol=1e-6, abs_tol=1e-6)  # fmt: skip
    assert math.isclose(NormalDist(low, step).cdf(r.bell), u, rel_tol=1e-6, abs_tol=1e-6)
    below = NormalDist(math.log(low), math.log(spread)).cdf(math.log(r.log_bell))
    assert math.isclose(below, u, rel_tol=1e-6, abs_tol=1e-6)
    at = (r.tent - low) / step  # the tent peaks at a quarter of its width
    share = at * at / 0.25 if at < 0.25 else 1 - (1 - at) ** 2 / 0.75
    assert math.isclose(share, u, rel_tol=1e-5, abs_tol=1e-5)
