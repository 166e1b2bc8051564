"""Failures, spares and checkpoints of std against simulation and closed forms."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """edition 2026
use std.reliability
use std.economics

kind rack {
    replaceable_unit supply
}

rack six {
    replaceable_unit supply[6] {
        mttf            = 100000 h
        mttr            = 24 h
        redundant_units = 2
    }
}

evaluator ask {
    param n      : int       = 8    in 1 .. 10000
    param needed : int       = 6    in 0 .. 10000
    param a      : real      = 0.9  in 0.001 .. 1
    param rate   : frequency = 0.01 h^-1
    param window : time      = 100 h
    param sure   : real      = 0.95 in 0 .. 0.999999
    param saving : time      = 60 s in 1 s .. 1 day
    param mean   : time      = 3 h  in 1 minute .. 1 year
    param shift  : real      = 1    in 0.1 .. 10
    let job   = checkpointing(mtbf = mean, checkpoint_time = saving, restart_time = 0 s)
    let moved = job with { interval = sqrt(2 * saving * mean) * shift }
    output up       : real  = k_of_n_availability(a, n, needed)
    output stock    : int   = poisson_spares(rate, window, sure)
    output goodput  : real  = job.goodput
    output shifted  : real  = moved.goodput
    output supplies in h^-1 = six.supply.interruption_rate
    param life    : time      = 5 year   in 1 minute .. 100 year
    param rate_of : frequency = 8 %/year in 0.0001 %/year .. 100 %/year
    let owned = ownership(
        depreciation_period = life,
        depreciation_method = annuity,
        interest_rate = rate_of,
    )
    output annuity in year^-1 = owned.depreciation_rate
    choice how : depreciation_method in [
        straight_line,
        annuity,
        exponential,
        exponential_initial,
    ] = straight_line
    let paid = ownership(
        depreciation_period = life,
        depreciation_method = how,
        interest_rate = rate_of,
    )
    output in_all = paid.depreciation_rate * life
}
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path: Path = tmp_path_factory.mktemp("reliability") / "ask.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False).ask


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 300), share=st.floats(0, 1), a=st.floats(0.001, 0.999) | st.sampled_from([1.0])
)
@example(n=8, share=0.75, a=0.9)
@example(n=4, share=1.0, a=0.5)
@example(n=1, share=1.0, a=1.0)
@example(n=1000, share=0.04, a=0.3)
@example(n=1000, share=0.04, a=0.05)
@example(n=1000, share=0.999, a=0.05)
@example(n=1000, share=0.999, a=0.999)
def test_enough_up_is_the_binomial_tail(
    ask: hwdsl.Evaluator, n: int, share: float, a: float
) -> None:
    """Sums of exact fractions; a probability below the smallest number may be 0."""
    needed = round(share * n)
    up, total = Fraction(a), Fraction(0)
    term = up**n
    down = (1 - up) / up
    for k in range(n, needed - 1, -1):
        total += term
        term = term * k / (n - k + 1) * down
    # Each factor, away from the most probable number, rounds four times.
    found = ask(n=n, needed=needed, a=a).up
    assert found == pytest.approx(float(total), rel=n * 1e-15 + 1e-14, abs=1e-300)


def test_more_spares_never_take_availability(ask: hwdsl.Evaluator) -> None:
    """Where 0.3 to the power of the units is below the smallest number, too."""
    found = ask.sweep(n=np.arange(40, 5041, 250), needed=40, a=0.3)["up"]
    assert np.all(np.diff(found) >= -1e-15)
    assert found[-1] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(("rate", "sure"), [(0.01, 0.5), (0.05, 0.95), (0.3, 0.999), (0.0, 0.9)])
def test_spares_are_the_fewest_that_suffice(ask: hwdsl.Evaluator, rate: float, sure: float) -> None:
    mean = rate * 100

    def below(k: int) -> float:
        return sum(math.exp(-mean) * mean**i / math.factorial(i) for i in range(k + 1))

    stock = int(ask(rate=rate, sure=sure).stock)
    assert below(stock) >= sure
    assert stock == 0 or below(stock - 1) < sure


def test_youngs_interval_is_the_best(ask: hwdsl.Evaluator) -> None:
    best = ask(saving=60, mean=3).goodput
    around = ask.sweep(shift=np.linspace(0.2, 5, 97))["shifted"]
    assert best >= around.max() - 1e-12
    assert best == pytest.approx(1 - math.sqrt(2 * 60 / 10800), rel=1e-12)


def test_redundant_supplies_fail_together_as_a_chain_says(ask: hwdsl.Evaluator) -> None:
    """The mean time to the third of six failures, by a Markov chain."""
    fail, mend = 1 / 100_000, 1 / 24
    # time to absorption from k failed: t_k = (1 + up t_{k+1} + down t_{k-1}) / (up + down)
    m, b = np.zeros((3, 3)), np.ones(3)
    for k in range(3):
        up, down = (6 - k) * fail, k * mend
        m[k, k] = up + down
        if k < 2:
            m[k, k + 1] = -up
        if k > 0:
            m[k, k - 1] = -down
    expected = 1 / np.linalg.solve(m, b)[0]
    assert ask().supplies == pytest.approx(expected, rel=0.01)


def test_an_annuity_pays_price_and_interest(ask: hwdsl.Evaluator) -> None:
    """A continuous payment stream discounted at the interest is worth the price."""
    found = ask(life=5, rate_of=8).annuity
    times = np.linspace(0, 5, 200_001)
    paid = found * np.exp(-0.08 * times)
    assert np.trapezoid(paid, times) == pytest.approx(1, rel=1e-8)


LIVES = [0.5, 1, 2, 4, 7, 10, 20]


@pytest.mark.parametrize("how", ["straight_line", "annuity"])
def test_with_interest_more_than_the_price_is_paid(ask: hwdsl.Evaluator, how: str) -> None:
    paid = [ask(how=how, life=life, rate_of=8).in_all for life in LIVES]
    assert paid[0] >= 1
    assert paid == sorted(paid)
    assert ask(how=how, life=4, rate_of=0.001).in_all == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("how", ["straight_line", "annuity", "exponential"])
def test_what_serves_longer_costs_less_a_year(ask: hwdsl.Evaluator, how: str) -> None:
    rates = [ask(how=how, life=life, rate_of=8).in_all / life for life in LIVES]
    assert rates == sorted(rates, reverse=True)


def test_a_falling_price_loses_no_more_than_itself(ask: hwdsl.Evaluator) -> None:
    """What is lost is the price less what is left of it: 0.14 powers of ten a year."""
    for life in LIVES:
        found = ask(how="exponential", life=life).in_all
        assert found == pytest.approx(1 - 10 ** (-0.14 * life), rel=1e-12)
        assert found <= ask(how="exponential_initial", life=life).in_all


def test_equal_parts_bear_interest_on_what_is_left(ask: hwdsl.Evaluator) -> None:
    """Half the price is out on average: the interest is its integral over the years."""
    left = np.linspace(1, 0, 200_001)
    interest = np.trapezoid(0.08 * left, np.linspace(0, 5, 200_001))
    assert ask(how="straight_line", life=5, rate_of=8).in_all == pytest.approx(
        1 + interest, rel=1e-9
    )
