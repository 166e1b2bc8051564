"""Solving for a param: roots, jumps, stretches, ties, and what is said where there is none."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.cli.main import main
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.passes import differentiate
from hwdsl.codegen.runtime import CallError
from hwdsl.search import Design, Solutions, Stretch, solve
from hwdsl.search.crossings import Floats, grid, runs, scan
from hwdsl.search.proof import OutputIntervals, unproven

TEXT = """edition 2026
enum colour { red, green }
evaluator e {
    param x : length = 2 m in 0 m .. 10 m
    param n : int = 3 in 1 .. 1000
    param many : int = 3 in 1 .. 1000000
    param k : real = 1 in 0.1 .. 100
    param a : real = 2
    param b : length = 1 m in 0 m .. 10 m
    choice lanes : int in [1, 2, 4, 8] = 1
    choice paint : colour in [red, green] = red

    let wave = iterate i in 1 .. 40 {
        state v : real = 1
        next v = 0.5 * (v + x / (1 m * v))
        until abs(v - 1) <= 1e-3
    }

    output cubic in m^3 = (x - 1 m) * (x - 2 m) * (x - 3 m)
    output square in m^2 = (x - 3 m) * (x - 3 m)
    output stairs = ceil(x / 1 m)
    output pole = 1 / (k - 3.3)
    output growth = k * n * lanes
    output slow = many * many
    output roof = max(x / 1 m, 12 - x / 1 m) + 4
    output line in cm = a * x + b
    output other in m = 3 * b
    output looped = wave.v
    output hue : colour = paint
    require small: x <= 8 m else "too long"
}
evaluator elsewhere {
    param x : length = 5 m in 4 m .. 10 m
    output line in m = 2 * x - 7 m
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("solve") / "e.hw"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def module(path: Path) -> hwdsl.Module:
    return hwdsl.load(path, compiled=False)


def values(found: Solutions) -> list[float]:
    return [root.value for root in found.roots]


def of(function: Any, target: float) -> Any:
    """A function as it is scanned, beside a target."""

    def rows(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            y = function(x)
        return np.array([y - target, np.maximum(abs(y), abs(target) or 1.0)])

    return rows


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 999), min_size=1, max_size=6, unique=True))
def test_all_roots_of_polynomials_are_found(places: list[int]) -> None:
    # Roots at least 0.01 apart in 0 .. 10: of a sign that changes at each, none is lost.
    roots = sorted(place / 100 for place in places)
    found = scan(
        of(lambda x: np.prod([x - r for r in roots], axis=0), 0.0), grid(0, 10, 4096, False)
    )
    signs = [sign for sign, low, high in runs(found) if sign and high - low > 1e-6]
    assert signs == [(-1) ** (len(roots) - i) for i in range(len(roots) + 1)]
    ends = [high for sign, low, high in runs(found) if sign and high - low > 1e-6][:-1]
    assert ends == pytest.approx(roots, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.floats(-5, 5), st.floats(0.01, 100), st.floats(0.001, 9.999))
def test_a_monotone_function_meets_a_value_of_its_own_once(
    power: float, factor: float, at: float
) -> None:
    def rising(x: Floats) -> Floats:
        return np.asarray(factor * (np.exp(power * x / 10) + x))  # convex, and may fall first

    def monotone(x: Floats) -> Floats:
        return np.asarray(factor * (x**3 + x) * math.exp(power))

    target = float(monotone(np.array([at]))[0])
    found = scan(of(monotone, target), grid(0, 10, 512, False))
    assert [sign for sign, low, high in runs(found) if sign] == [-1, 1]
    assert found.nearest == pytest.approx(at, rel=1e-9)
    least = float(rising(np.linspace(0, 10, 9)).min())
    assert not scan(of(rising, least - 100 * factor), grid(0, 10, 512, False)).changes


def test_the_output_at_a_root_meets_the_target(module: hwdsl.Module) -> None:
    found = solve(module.e, "x", "cubic", "0 m^3")
    assert values(found) == pytest.approx([1, 2, 3], abs=1e-12)
    assert [root.slope for root in found.roots] == pytest.approx([2, -1, 2])  # 3x^2 - 12x + 11
    assert found.at_least == (Stretch(pytest.approx(1), pytest.approx(2)),
                              Stretch(pytest.approx(3), pytest.approx(8)))  # fmt: skip
    (gap,) = found.infeasible
    assert (gap.low, gap.high, gap.rules, gap.hides) == (
        math.nextafter(8, 9),
        10,
        ("small",),
        False,
    )
    for root in solve(module.e, "x", "cubic", "0.2 m^3").roots:
        assert module.e(x=root.value).cubic == pytest.approx(0.2, rel=1e-12)


def test_units_and_elasticities_are_those_of_the_declarations(module: hwdsl.Module) -> None:
    (root,) = solve(module.e, "b", "line", "6 m", {"x": "200 cm"}).roots
    assert (root.value, root.output) == pytest.approx((2, 600))
    assert (root.slope, root.elasticity) == pytest.approx((100, 1 / 3))  # cm per m
    assert values(solve(module.e, "b", "line", 600)) == pytest.approx([2])


def test_a_target_that_is_touched(module: hwdsl.Module) -> None:
    (corner,) = solve(module.e, "x", "roof", 10).roots
    assert (corner.value, corner.output) == (pytest.approx(6), pytest.approx(10))
    assert corner.touches
    assert solve(module.e, "x", "roof", 9.9).roots == ()
    (root,) = solve(module.e, "x", "square", 0).roots
    assert root.touches
    assert root.value == pytest.approx(3, abs=1e-6)
    assert values(solve(module.e, "x", "square", "4 m^2")) == pytest.approx([1, 5])


def test_jumps_are_no_roots(module: hwdsl.Module) -> None:
    found = solve(module.e, "x", "stairs", 2.5)
    assert not found.roots
    (jump,) = found.jumps
    assert (jump.below, jump.above) == (2, math.nextafter(2, 3))
    assert (jump.output_below, jump.output_above) == (2, 3)
    assert solve(module.e, "x", "stairs", 3).met == (Stretch(math.nextafter(2, 3), 3),)
    pole = solve(module.e, "k", "pole", 0.5)
    assert values(pole) == pytest.approx([5.3])
    assert [jump.below for jump in pole.jumps] == pytest.approx([3.3])


def test_whole_numbers_have_a_least_that_meets_the_target(module: hwdsl.Module) -> None:
    found = solve(module.e, "n", "growth", 100.5, {"k": 2})
    assert found.at_least == (Stretch(51, 1000),)
    assert [(j.below, j.above, j.output_above) for j in found.jumps] == [(50, 51, 102)]
    assert values(solve(module.e, "n", "growth", 50)) == [50]
    assert solve(module.e, "many", "slow", 1e11).at_least == (Stretch(316228, 1000000),)
    assert solve(module.e, "lanes", "growth", 10).at_least == (Stretch(4, 8),)


def test_where_nothing_meets_the_target_it_is_said_how_near(module: hwdsl.Module) -> None:
    found = solve(module.e, "x", "line", "100 m")
    assert (found.roots, found.jumps, found.met) == ((), (), ())
    assert found.nearest is not None
    assert (found.nearest.value, found.nearest.output, found.nearest.target) == pytest.approx(
        (8, 1700, 10000)
    )
    hidden = solve(module.e, "x", "line", "18 m")
    assert values(hidden) == []
    assert values(solve(module.e, "x", "line", "18 m", raw=True)) == pytest.approx([8.5])
    nowhere = solve(module.e, "x", "line", "18 m", low="9 m")
    assert nowhere.nearest is None


def test_designs_tie(module: hwdsl.Module) -> None:
    e = module.e
    assert values(solve(e, "b", "line", "other")) == pytest.approx([2])  # 4 + b = 3 b
    against = Design(e, "line", {"a": 3, "x": "1 m"})
    (root,) = solve(e, "x", "line", against=against).roots  # 2 x + 1 = 4, which reads no x
    assert (root.value, root.output, root.slope) == pytest.approx((1.5, 400, 200))
    found = solve(e, "x", "line", at={"a": 1}, against=Design(module.elsewhere, "line"))
    assert values(found) == pytest.approx([8])  # x + 1 = 2 x - 7
    assert found.roots[0].slope == pytest.approx(-100)


@pytest.mark.parametrize(
    ("param", "output", "target", "roots"),
    [
        ("x", "cubic", 0, 3),  # by the derivative around each root, by intervals elsewhere
        ("x", "square", 0, 1),  # touched: all but a millionth of it around
        ("x", "stairs", 2.5, 0),  # down to the two numbers beside the jump
        ("x", "stairs", 3, 0),
        ("x", "stairs", 20, 0),
        ("x", "line", "18 m", 0),  # a root of the formulas, where it is infeasible
        ("k", "pole", 0.5, 1),
        ("b", "line", "other", 1),
        ("n", "growth", 50, 1),
    ],
)
def test_no_other_root_is_proven(
    module: hwdsl.Module, param: str, output: str, target: Any, roots: int
) -> None:
    found = solve(module.e, param, output, target)
    assert (len(found.roots), found.proven) == (roots, True)


def test_what_cannot_be_proven_is_said(module: hwdsl.Module) -> None:
    assert solve(module.e, "x", "looped", 0.7).unproven == (Stretch(0, 10),)
    assert solve(module.e, "many", "slow", 1e11).unproven == (Stretch(1, 1000000),)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.5, 9.5), st.floats(1e-9, 1e-3))
def test_a_pair_of_roots_is_never_proven_away(at: float, apart: float) -> None:
    # (x - at)^2 - apart^2: what is proven to be free of roots holds none of the two.
    builder = GraphBuilder()
    x = builder.param("x", "real", low=0.0, high=10.0)
    away = builder.op("sub", x, builder.const(at))
    graph = builder.finish([("y", builder.op("mul", away, away))])
    side = OutputIntervals(differentiate(graph, "y", ["x"]), 0, [0.0])
    left = unproven([side], apart**2, (0.0, 10.0), [], [])
    for root in (at - apart, at + apart):
        assert any(low - 1e-12 <= root <= high + 1e-12 for low, high in left)
    assert sum(high - low for low, high in left) < 0.1


@pytest.mark.parametrize(
    ("param", "output", "target", "at", "said"),
    [
        ("y", "line", 1, {}, "no param y"),
        ("x", "lines", 1, {}, "no output lines"),
        ("x", "hue", 1, {}, "is no number"),
        ("paint", "line", 1, {}, "paint is a choice"),
        ("a", "line", 1, {}, "a has no ends"),
        ("x", "line", 1, {"x": 2}, "x is given"),
        ("x", "line", "1 s", {}, "`1 s` is time"),
        ("x", "line", None, {}, "say what line is to be"),
        ("x", "line", math.inf, {}, "a target is a finite number"),
        ("x", "line", "growth", {}, "different dimensions"),
    ],
)
def test_what_does_not_fit_is_told(
    module: hwdsl.Module, param: str, output: str, target: Any, at: dict[str, Any], said: str
) -> None:
    with pytest.raises(CallError, match=said):
        solve(module.e, param, output, target, at)


def test_the_command_says_what_was_found(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(*words: str) -> str:
        assert main(["solve", f"{path}:e", *words]) == 0
        return capsys.readouterr().out

    assert "  1.5        400              +200" in lines(
        "x", "for", "line", "--against", "a=3", "x=1 m"
    )
    assert "jumps past it at x = 2 m, from 2 to 3" in lines("x", "for", "stairs=2.5")
    assert "passes it between n = 50 and 51, from 100 to 102" in lines(
        "n", "for", "growth=101", "k=2"
    )
    assert "none; nearest at x = 8 m: 1700 against 10000 cm" in lines("x", "for", "line=100 m")
    assert "infeasible at x 8 .. 10 m: small" in lines("x", "for", "line=100 m")
    assert main(["solve", f"{path}:e", "x", "for", "line"]) == 2
