"""std.math: roots and their derivatives, sums along lists."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import hwdsl

TEXT = """edition 2026

use std.math

kind law : root_finder {
    p : real
    q : real
    fn residual(x: real) -> real = p * x + exp(q * x) - 3
}

evaluator root {
    param p    : real = 2   in 0.01 .. 20
    param q    : real = 0.7 in 0.1 .. 3
    param high : real = 20  in 0 .. 50
    let found = law(p = p, q = q, bracket_low = 0, bracket_high = high)
    output x    : real = found.root
    output left : real = found.residual(found.root)
}

evaluator fixed {
    output x : real = law(p = 2, q = 0.7, bracket_low = 0, bracket_high = 20).root
}

evaluator lists {
    param a : real = 2 in 0 .. 9
    output so_far  : [real] = cumsum([a, 2 * a, 3])
    output apart   : [time] = diff([1 s, 4 s, 2 s])
    output between : [real] = midpoints([a, 4, 8])
    output work    in J     = trapezoid([0 s, 1 s, 3 s], [1 W, 3 W, 3 W])
    output alone   : int    = len(diff([a]))
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path: Path = tmp_path_factory.mktemp("math") / "math_test.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


@pytest.mark.parametrize(("p", "q"), [(2, 0.7), (0.1, 3), (10, 0.1), (1, 1)])
def test_root(module: hwdsl.Module, p: float, q: float) -> None:
    result = module.root(p=p, q=q)
    low, high = 0.0, 20.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if p * middle + math.exp(q * middle) > 3 else (middle, high)
    assert result.feasible
    assert result.x == pytest.approx(low, rel=1e-12)
    assert abs(result.left) < 1e-12


def test_a_known_root_is_the_same(module: hwdsl.Module) -> None:
    assert module.fixed().x == module.root().x


@pytest.mark.parametrize(("p", "q"), [(2, 0.7), (0.1, 3), (10, 0.1)])
def test_the_derivative_is_that_of_the_implicit_function(
    module: hwdsl.Module, p: float, q: float
) -> None:
    gradient = module.root.gradient(p=p, q=q)["x"]
    x = module.root(p=p, q=q).x
    slope = p + q * math.exp(q * x)
    assert gradient["p"] == pytest.approx(-x / slope, rel=1e-6)
    assert gradient["q"] == pytest.approx(-x * math.exp(q * x) / slope, rel=1e-6)
    h = 1e-5
    ahead, behind = module.root(p=p + h, q=q).x, module.root(p=p - h, q=q).x
    assert gradient["p"] == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


def test_no_root_is_nan_and_breaks_a_rule(module: hwdsl.Module) -> None:
    result = module.root(high=0.1)
    assert math.isnan(result.x)
    assert "found.bracket" in result.violations


def test_lists(module: hwdsl.Module) -> None:
    result = module.lists(a=3)
    assert [result[f"so_far.{i}"] for i in range(3)] == [3, 9, 12]
    assert [result[f"apart.{i}"] for i in range(2)] == [3, -2]
    assert [result[f"between.{i}"] for i in range(2)] == [3.5, 6]
    assert result.work == 8
    assert result.alone == 0
