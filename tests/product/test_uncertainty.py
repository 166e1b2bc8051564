"""Uncertainty: Sobol points, correlations, indices, tails, decisions, against closed forms."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hwdsl
from hwdsl.cli.main import main
from hwdsl.codegen.runtime import CallError
from hwdsl.measure import fit
from hwdsl.measure.measurements import read_table
from hwdsl.search import Design
from hwdsl.uncertainty import (
    Correlations,
    FittedEvaluator,
    decide,
    quantiles,
    sample,
    sobol_indices,
    sobol_points,
    solve_draws,
)

TEXT = """edition 2026
use std.distributions: uniform, normal

## The sine between -pi and pi, by its series.
fn sine(x: real) -> real {
    let y = x * x
    let far = 1 - y / 210 * (1 - y / 272 * (1 - y / 342 * (1 - y / 420 * (1 - y / 506))))
    let middle = 1 - y / 72 * (1 - y / 110 * (1 - y / 156 * far))
    x * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * middle)))
}

evaluator ishigami {
    param x1 : real = 0 in -4 .. 4 ~ uniform(-3.141592653589793, 3.141592653589793)
    param x2 : real = 0 in -4 .. 4 ~ uniform(-3.141592653589793, 3.141592653589793)
    param x3 : real = 0 in -4 .. 4 ~ uniform(-3.141592653589793, 3.141592653589793)
    param x4 : real = 0 in -4 .. 4 ~ uniform(-3.141592653589793, 3.141592653589793)
    let second = sine(x2)
    let cubed = x3 * x3
    output y = (1 + 0.1 * cubed * cubed) * sine(x1) + 7 * second * second + 0 * x4
    output constant = 4
}

evaluator invest {
    param price : money = 3 USD in -100 USD .. 100 USD ~ normal(1 USD, 2 USD)
    param noise : money = 0 USD in -100 USD .. 100 USD ~ normal(0 USD, 5 USD)
    param other : real = 0 in -9 .. 9 ~ normal(0, 1)
    param take  : real = 1 in 0 .. 1
    output gain in USD = take * (price + noise)
    output nothing in kUSD = 0 USD * other
    output gross in USD = price + noise
    require small: take < 0.9 or other <= 1
}
"""


LINE = """edition 2026
use std.distributions: normal
calibrated offset : length = 1 m source "a guess"
calibrated slope  : length = 1 m source "a guess"
evaluator line {
    param x : real = 7 in 0 .. 20 ~ normal(7, 0.5)
    output y in m = offset + slope * x
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("uncertainty") / "uncertainty.hw"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def module(path: Path) -> hwdsl.Module:
    return hwdsl.load(path, compiled=False)


def test_indices_of_ishigami_are_the_closed_form(module: hwdsl.Module) -> None:
    # source: T. Ishigami and T. Homma, ISUMA 1990; a = 7, b = 0.1
    pi = math.pi
    first = 0.5 * (1 + 0.1 * pi**4 / 5) ** 2, 7**2 / 8, 0.0
    mixed = 0.1**2 * pi**8 * (1 / 18 - 1 / 50)
    whole = sum(first) + mixed
    found = sobol_indices(module.ishigami, points=1 << 14)
    by = {index.param: index for index in found.outputs["y"]}
    closed = {"x1": (first[0], first[0] + mixed), "x2": (first[1],) * 2, "x3": (0.0, mixed)}
    for param, parts in closed.items():
        estimates = by[param].first_order, by[param].total_order
        for estimate, part in zip(estimates, parts, strict=True):
            assert estimate.value == pytest.approx(part / whole, abs=0.01)
            assert estimate.standard_error < 0.005
            assert abs(estimate.value - part / whole) <= 4 * estimate.standard_error
    assert (by["x4"].first_order.value, by["x4"].total_order.value) == (0, 0)
    assert [index.param for index in found.outputs["y"]][:3] == ["x1", "x2", "x3"]
    assert found.deviations["y"] == pytest.approx(math.sqrt(whole), rel=0.01)
    assert all(index.total_order.value == 0 for index in found.outputs["constant"])
    assert found.draws == 6 * (1 << 14)


def test_sobol_points_are_nearer_than_random_ones(module: hwdsl.Module) -> None:
    e, n = module.ishigami, 1 << 12
    exact = 3.5  # 7 / 2
    points = sobol_points(e.spec.drawn, n, seed=5)
    even = abs(e.sample(points.points, even=points).mean("y") - exact)
    random = [abs(e.sample(n, seed=seed).mean("y") - exact) for seed in range(8)]
    assert even < np.median(random) / 5
    again = e.sample(points.points, even=points, threads=2)
    assert np.array_equal(again["y"], e.sample(points.points, even=points, threads=1)["y"])
    other = sobol_points(e.spec.drawn, n, seed=6)
    assert not np.array_equal(again["y"], e.sample(n, even=other)["y"])


def test_quantiles_have_errors_that_hold(module: hwdsl.Module) -> None:
    drawn = module.invest.sample(1 << 15, {"take": 0.5}, seed=2)
    shares = [0.001, 0.05, 0.5, 0.99]
    found = quantiles(drawn, "gross", shares)
    exact = stats.norm(1, math.sqrt(29)).ppf(shares)
    assert math.isnan(found[0].standard_error)  # two draws of a replicate lie beyond
    for estimate, value in zip(found[1:], exact[1:], strict=True):
        assert abs(estimate.value - value) <= 4 * estimate.standard_error
        # the error of a quantile of independent draws: sqrt(p (1 - p) / n) over the density
    density = stats.norm(1, math.sqrt(29)).pdf(exact[2])
    assert found[2].standard_error == pytest.approx(math.sqrt(0.25 / (1 << 15)) / density, rel=0.5)


def test_draws_have_the_rank_correlations_asked_for(module: hwdsl.Module) -> None:
    pairs = {("price", "noise"): 0.7, ("noise", "other"): -0.3}
    points = sobol_points(
        module.invest.spec.drawn, 1 << 14, correlations=Correlations.of_pairs(pairs)
    )
    drawn = module.invest.sample(points.points, {"take": 0.5}, even=points, keep=True).drawn
    for (a, b), wanted in {**pairs, ("price", "other"): 0.0}.items():
        assert stats.spearmanr(drawn[a], drawn[b]).statistic == pytest.approx(wanted, abs=0.01)
    # The distribution of each stays what it is.
    assert drawn["price"].std() == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({("a", "b"): 1.5}, "between -1 and 1: a,b has 1.5"),
        ({("a", "a"): 0.5}, "of a with itself"),
        ({("a", "b"): 0.9, ("b", "c"): 0.9, ("a", "c"): -0.9}, "not positive semidefinite"),
    ],
)
def test_correlations_that_cannot_be_are_refused(
    pairs: dict[tuple[str, str], float], said: str
) -> None:
    with pytest.raises(CallError, match=said):
        Correlations.of_pairs(pairs)


def test_correlated_params_are_drawn(module: hwdsl.Module) -> None:
    with pytest.raises(CallError, match="take is correlated, but not drawn"):
        sobol_points(["price"], 16, correlations=Correlations.of_pairs({("take", "price"): 0.5}))


def partial(mean: float, deviation: float) -> float:
    """The expected gain of a choice whose mean given what is known is normal, beside 0."""
    z = mean / deviation
    whole = mean * stats.norm.cdf(z) + deviation * stats.norm.pdf(z)
    return float(whole - max(mean, 0.0))


def test_a_linear_choice_has_the_closed_forms(module: hwdsl.Module) -> None:
    take, leave = Design(module.invest, "gain"), Design(module.invest, "gain", {"take": 0})
    found = decide(take, leave, points=1 << 15, raw=True)
    chance = stats.norm.cdf(1 / math.sqrt(29))
    assert found.first_better.value == pytest.approx(chance, abs=0.003)
    assert found.first_better.value + found.second_better.value == pytest.approx(1)
    assert found.advantage.value == pytest.approx(1, abs=0.01)
    information = found.perfect_information
    assert information.value == pytest.approx(partial(1, math.sqrt(29)), rel=0.01)
    by = {known.param: known.value for known in found.partial}
    assert by["price"].value == pytest.approx(partial(1, 2), rel=0.02)
    assert by["noise"].value == pytest.approx(partial(1, 5), rel=0.02)
    assert by["other"].value == 0  # decides nothing
    assert [known.param for known in found.partial] == ["noise", "price", "other"]


def test_correlated_information_tells_of_both(module: hwdsl.Module) -> None:
    # Given the price, the noise has the mean r 5 (price - 1) / 2: the gain's is normal again.
    pairs = Correlations.of_pairs({("price", "noise"): 0.5})
    r = 2 * math.sin(math.pi * 0.5 / 6)
    take, leave = Design(module.invest, "gain"), Design(module.invest, "gain", {"take": 0})
    found = decide(take, leave, points=1 << 15, raw=True, correlations=pairs)
    by = {known.param: known.value.value for known in found.partial}
    assert by["price"] == pytest.approx(partial(1, 2 + 5 * r), rel=0.02)
    assert by["noise"] == pytest.approx(partial(1, 5 + 2 * r), rel=0.02)
    assert by["other"] == pytest.approx(0, abs=1e-12)


def test_equal_designs_tie(module: hwdsl.Module) -> None:
    found = decide(
        Design(module.invest, "gain", {"take": 0}), Design(module.invest, "nothing", {"take": 0}),
        minimize=True, points=1 << 8,
    )  # fmt: skip
    assert (found.first_better.value, found.second_better.value) == (0, 0)
    assert found.perfect_information.value == 0
    assert all(known.value.value == 0 for known in found.partial)


def test_infeasible_draws_do_not_count(module: hwdsl.Module) -> None:
    take, leave = Design(module.invest, "gain"), Design(module.invest, "gain", {"take": 0})
    found = decide(take, leave, points=1 << 13)
    assert found.feasible_share == pytest.approx(stats.norm.cdf(1), abs=0.002)
    both = sobol_indices(module.invest, points=1 << 13)
    # Of a comparison's five points four, two for each of two independent draws of `other`, decide.
    assert both.feasible_share == pytest.approx(stats.norm.cdf(1) ** 2, abs=0.005)
    raw = sobol_indices(module.invest, points=1 << 13, raw=True)
    by = {index.param: index.total_order.value for index in raw.outputs["gross"]}
    assert by == pytest.approx({"price": 4 / 29, "noise": 25 / 29, "other": 0}, abs=0.01)


def test_roots_at_draws_have_the_distribution_of_the_closed_form(module: hwdsl.Module) -> None:
    # take (price + noise) = 2: the root 2 / gross lies in 0 .. 1 where gross is at least 2.
    found = solve_draws(module.invest, "take", "gain", "2 USD", points=1 << 12, raw=True)
    gross = stats.norm(1, math.sqrt(29))
    assert found.share == pytest.approx(gross.sf(2), abs=0.005)
    assert found.below.mean() == pytest.approx(gross.cdf(2), abs=0.005)
    assert not found.above.any()
    assert not found.several.any()
    for share, root in zip([0.2, 0.7], found.quantiles([0.2, 0.7]), strict=True):
        exact = 2 / gross.isf(share * gross.sf(2))  # the least roots are of the largest values
        assert abs(root.value - exact) <= 4 * root.standard_error + 1e-9
    never = solve_draws(module.invest, "take", "gain", "2 kUSD", points=64, raw=True)
    assert (never.share, never.below.all()) == (0, True)
    with pytest.raises(CallError, match="no param but price is uncertain"):
        solve_draws(module.invest, "price", "gross", "2 USD", {"noise": "0 USD", "other": 0})


def test_fitted_coefficients_carry_their_covariance(tmp_path: Path) -> None:
    (tmp_path / "line.hw").write_text(LINE)
    rng, x = np.random.default_rng(3), np.linspace(1, 10, 40)
    y = 2 + 3 * x + rng.normal(0, 0.5, len(x))
    rows = "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True))
    (tmp_path / "line.csv").write_text(f"x,y [m]\n{rows}")
    module = hwdsl.load(tmp_path / "line.hw", compiled=False)
    table = read_table(tmp_path / "line.csv")
    found = fit.fit(fit.prepare(module, "line", table, relative=False))
    fitted = FittedEvaluator(found)
    # Ordinary least squares by the normal equations.
    design = np.stack([np.ones_like(x), x], axis=1)
    (offset, slope), (squares,), *_ = np.linalg.lstsq(design, y)
    covariance = squares / (len(x) - 2) * np.linalg.inv(design.T @ design)
    assert fitted(x=7).y == pytest.approx(offset + 7 * slope)
    drawn = sample(fitted, 1 << 13, {"x": 7}, keep=True)
    assert drawn.mean("y") == pytest.approx(offset + 7 * slope, rel=1e-4)
    both = np.array([1, 7])
    assert drawn.std("y") == pytest.approx(math.sqrt(both @ covariance @ both), rel=0.01)
    seen = np.cov([drawn.drawn["offset"], drawn.drawn["slope"]])
    assert seen == pytest.approx(covariance, rel=0.03)
    # A param with a spread of its own is drawn beside them: y's variance is a sum, nearly.
    whole = sample(fitted, 1 << 13).std("y")
    assert whole == pytest.approx(math.hypot(slope * 0.5, drawn.std("y")), rel=0.02)


def test_the_commands_say_what_was_found(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        command, *rest = words
        assert main([command, f"{path}:invest", *rest]) == 0
        return capsys.readouterr().out

    shown = printed("uncertainty", "--raw", "-n", "4k", "--output", "gross")
    assert [line.split()[0] for line in shown.splitlines()[3:5]] == ["noise", "price"]
    assert "below 0.01: other" in shown
    shown = printed("uncertainty", "-n", "4k", "--maximize", "gain", "--against", "take=0")
    assert "chance that the first is better        5" in shown
    assert "84.1" in shown.splitlines()[1]  # the normal distribution at 1
    words = ("-n", "4k", "--method", "sobol", "--errors", "--quantiles", "50,99.99")
    shown = printed("sample", "take=0.5", *words, "--correlation", "price,noise=0.9")
    line = next(line.split() for line in shown.splitlines() if line.startswith("gross"))
    assert float(line[3]) == pytest.approx(
        math.sqrt(29 + 20 * 2 * math.sin(math.pi * 0.15)), rel=0.02
    )
    error = next(line for line in shown.splitlines() if "standard error" in line)
    assert error.split()[-1] == "?"


@pytest.mark.parametrize(
    "words",
    [
        "uncertainty --against take=0",
        "uncertainty --minimize gain",
        "uncertainty --correlation price,noise=0.5",
        "uncertainty --output gains",
        "uncertainty price=1USD",
        "sample --correlation price=0.5",
        "sample --correlation price,take=0.5",
        "sample --quantiles 0,50",
    ],
)
def test_what_does_not_fit_is_a_wrong_call(words: str, path: Path) -> None:
    command, *rest = words.split()
    assert main([command, f"{path}:invest", *rest]) == 2
