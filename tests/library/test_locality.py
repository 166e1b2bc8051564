"""std.locality: popularity against sums and simulated caches, lengths against their densities."""

from __future__ import annotations

import math
from collections import OrderedDict
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """edition 2026
use std.locality

evaluator zipf {
    param exponent : real = 1    in 0 .. 3
    param shift    : real = 0    in 0 .. 1000
    param items    : real = 1000 in 1 .. 1e9
    param held     : real = 10   in 0 .. 2e9
    param requests : real = 1000 in 0 .. 1e30
    let law = zipf_mandelbrot(item_count = items, exponent = exponent, shift = shift)
    output lru           = law.lru_hit_ratio(held)
    output warm_up       = law.characteristic_requests(held)
    output static        = law.top_share(held)
    output distinct      = law.distinct_items(requests)
    output repeated      = law.repeated_share(requests)
    output from_empty    = law.lru_hit_ratio_from_empty(held, requests)
    output refill_static = popularity_law(classes = law.classes).top_share(held)
}

evaluator uniform {
    param items : real = 1000 in 1 .. 1e9
    param held  : real = 10   in 1 .. 1e9
    let law = uniform_popularity(item_count = items)
    output lru    = law.lru_hit_ratio(held)
    output static = law.top_share(held)
}

## Two tables that share a cache, and the same as measured points.
evaluator shared {
    param held : real = 50 in 1 .. 500
    let two = mixed_popularity(
        laws = [uniform_popularity(item_count = 300), uniform_popularity(item_count = 20)],
        weights = [0.4, 0.6],
    )
    let same = measured_popularity(points = [20, 320], shares = [0.6, 1])
    output lru             = two.lru_hit_ratio(held)
    output static          = two.top_share(held)
    output lru_measured    = same.lru_hit_ratio(held)
    output static_measured = same.top_share(held)
}

evaluator lengths {
    param u      : real = 0.5 in 0 .. 1
    param length : real = 20  in 0 .. 1000
    param batch  : real = 8   in 1 .. 10_000
    param spread : real = 2   in 1.1 .. 10
    let bell    = lognormal_lengths(median = 20, geometric_std_dev = spread, from = 1, to = 75)
    let waiting = gamma_lengths(shape = spread, scale = 8, from = 0.001, to = 200)
    let counted = length_law(ends = [0.5, 1.5, 2.5, 4.5], counts = [10, 0, 30])
    output lognormal_quantile = bell.quantile(u)
    output lognormal_below    = bell.share_below(length)
    output back               = bell.share_below(bell.quantile(u))
    output gamma_mean         = waiting.mean
    output gamma_std_dev      = waiting.std_dev
    output counted_quantile   = counted.quantile(u)
    output counted_mean       = counted.mean
    output counted_std_dev    = counted.std_dev
    output longest_quantile   = bell.longest_of(batch).quantile(u)
    output width_shares : [real] = [b.share for b in bell.equal_width_bins(7)]
    output width_means  : [real] = [b.mean for b in bell.equal_width_bins(7)]
    output width_ends   : [real] = [b.high for b in bell.equal_width_bins(7)]
    output even_shares  : [real] = [b.share for b in bell.equal_share_bins(5)]
    output mean = bell.mean
}
"""


def popularity(items: int, exponent: float, shift: float = 0.0) -> np.ndarray:
    weights = (np.arange(1, items + 1) + shift) ** -exponent
    return weights / weights.sum()


def simulated_lru(p: np.ndarray, held: int, requests: int) -> tuple[float, float]:
    """Hit ratio of the last half of the requests, and of all from an empty cache."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = np.zeros(requests, dtype=bool)
    for i, item in enumerate(np.random.default_rng(17).choice(len(p), requests, p=p).tolist()):
        hits[i] = item in cache
        cache[item] = None
        cache.move_to_end(item)
        if len(cache) > held:
            cache.popitem(last=False)
    return hits[requests // 2 :].mean(), hits.mean()


@pytest.mark.parametrize(
    ("items", "exponent", "shift", "held"),
    [(1000, 0.0, 0, 300), (1000, 0.8, 0, 100), (20_000, 1.05, 0, 200), (5000, 1.3, 20, 50)],
)
def test_lru_hits_as_often_as_a_simulated_cache(
    module: hwdsl.Module, items: int, exponent: float, shift: float, held: int
) -> None:
    requests = 60_000
    found = module.zipf(items=items, exponent=exponent, shift=shift, held=held, requests=requests)
    settled, from_empty = simulated_lru(popularity(items, exponent, shift), held, requests)
    assert found.lru == pytest.approx(settled, abs=0.008)
    assert found.from_empty == pytest.approx(from_empty, abs=0.008)
    assert found.static > found.lru or exponent == 0


def test_a_cache_that_counts_requests_comes_to_hold_the_most_popular(module: hwdsl.Module) -> None:
    p = popularity(2000, 1.0)
    stream = np.random.default_rng(3).choice(2000, 400_000, p=p)
    counts = np.bincount(stream[:200_000], minlength=2000)
    held = np.argsort(-counts)[:100]
    hits = np.isin(stream[200_000:], held).mean()
    assert module.zipf(items=2000, exponent=1, held=100).static == pytest.approx(hits, abs=0.004)


@pytest.mark.parametrize(
    ("items", "exponent", "shift"),
    [(10, 1.0, 0), (1000, 0.7, 3), (100_000, 1.0, 0), (100_000, 1.0 + 1e-7, 0), (50_000, 2.1, 7)],
)
def test_shares_are_those_of_the_sums(
    module: hwdsl.Module, items: int, exponent: float, shift: float
) -> None:
    p = popularity(items, exponent, shift)
    for held in sorted({1, 2, 7, items // 3, items - 1}):
        found = module.zipf(items=items, exponent=exponent, shift=shift, held=held, requests=3e4)
        assert found.static == pytest.approx(p[:held].sum(), rel=2e-6)
        # The price of an item within a class is its mean: close to the sum, never above it.
        assert found.refill_static == pytest.approx(p[:held].sum(), abs=4e-3)
        assert found.distinct == pytest.approx(-np.expm1(-p * 3e4).sum(), rel=2e-3)
        assert found.repeated == pytest.approx(-(p * np.expm1(-p * 3e4)).sum(), rel=2e-3)


@given(
    exponent=st.floats(0, 2),
    shift=st.floats(0, 50),
    items=st.integers(20, 10**9),
    share=st.floats(1e-4, 0.99),
)
@settings(max_examples=12, deadline=None)
def test_a_full_cache_holds_the_distinct_items_of_its_time(
    module: hwdsl.Module, exponent: float, shift: float, items: int, share: float
) -> None:
    held = max(1.0, share * items)
    given_law = {"exponent": exponent, "shift": shift, "items": items, "held": held}
    found = module.zipf(**given_law)
    full = module.zipf(**given_law, requests=found.warm_up)
    assert full.distinct == pytest.approx(held, rel=1e-9)
    assert full.repeated == pytest.approx(found.lru, rel=1e-12)
    # No cache hits more often than that of the most popular, and larger ones hit more often.
    assert found.lru <= found.static * (1 + 1e-3)
    assert module.zipf(**given_law | {"held": min(items, 1.1 * held)}).lru >= found.lru
    assert found.lru >= held / items * (1 - 1e-9)


def test_all_fits(module: hwdsl.Module) -> None:
    found = module.zipf(items=1000, held=1000, requests=500)
    assert (found.lru, found.static, found.warm_up) == (1, pytest.approx(1), math.inf)
    assert found.from_empty == pytest.approx(1 - found.distinct / 500)
    assert module.zipf(held=0).lru == module.zipf(held=0).static == 0


@given(items=st.integers(2, 10**9), share=st.floats(1e-6, 1))
@settings(max_examples=12, deadline=None)
def test_without_favourites_a_cache_hits_by_its_share(
    module: hwdsl.Module, items: int, share: float
) -> None:
    held = max(1.0, share * items)
    found = module.uniform(items=items, held=held)
    assert found.lru == pytest.approx(held / items, rel=1e-9)
    assert found.static == pytest.approx(held / items, rel=1e-9)


@pytest.mark.parametrize("held", [5, 20, 100, 319])
def test_tables_that_share_a_cache_are_one_law(module: hwdsl.Module, held: int) -> None:
    found = module.shared(held=held)
    assert found.static == pytest.approx(found.static_measured, rel=1e-9)
    assert found.static == pytest.approx(
        0.03 * min(held, 20) + 0.4 / 300 * max(0, held - 20), rel=1e-9
    )
    assert found.lru == pytest.approx(found.lru_measured, rel=1e-9)


@given(u=st.floats(0.001, 0.999), spread=st.floats(1.3, 4), batch=st.integers(1, 500))
@settings(max_examples=12, deadline=None)
def test_quantiles_are_those_of_the_truncated_density(
    module: hwdsl.Module, u: float, spread: float, batch: int
) -> None:
    found = module.lengths(u=u, spread=spread, batch=batch)
    normal = NormalDist(math.log(20), math.log(spread))
    low, high = normal.cdf(math.log(1)), normal.cdf(math.log(75))

    def share_below(length: float) -> float:
        return (normal.cdf(math.log(length)) - low) / (high - low)

    assert share_below(found.lognormal_quantile) == pytest.approx(u, abs=1e-3)
    assert found.back == pytest.approx(u, abs=1e-9)
    # The longest of a batch is not longer than x if none is.
    longest = found.longest_quantile
    assert share_below(max(1, longest - 0.1)) ** batch <= u <= share_below(longest + 0.1) ** batch


@given(spread=st.floats(1.2, 8))
@settings(max_examples=12, deadline=None)
def test_bins_hold_all_samples_and_keep_their_mean(module: hwdsl.Module, spread: float) -> None:
    found = module.lengths(spread=spread)
    shares, means = (np.array([*x.values()]) for x in (found.width_shares, found.width_means))
    assert shares.sum() == pytest.approx(1)
    assert (shares * means).sum() == pytest.approx(found.mean)
    ends = np.array([1.0, *found.width_ends.values()])
    assert np.diff(ends) == pytest.approx(np.full(7, 74 / 7))
    assert np.all((ends[:-1] <= means) & (means <= ends[1:]))
    assert [*found.even_shares.values()] == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("shape", [1.8, 2.5, 9.0])
def test_gamma_lengths_have_its_moments(module: hwdsl.Module, shape: float) -> None:
    found = module.lengths(spread=shape)
    assert found.gamma_mean == pytest.approx(8 * shape, rel=3e-3)
    assert found.gamma_std_dev == pytest.approx(8 * math.sqrt(shape), rel=3e-3)


def test_a_histogram_is_read_as_it_was_counted(module: hwdsl.Module) -> None:
    found = module.lengths(u=0.25 + 0.75 / 2)
    assert found.counted_quantile == pytest.approx(3.5)
    assert found.counted_mean == pytest.approx(0.25 * 1 + 0.75 * 3.5)
    variance = 0.25 * (1 + 1 / 12) + 0.75 * (3.5**2 + 4 / 12) - found.counted_mean**2
    assert found.counted_std_dev == pytest.approx(math.sqrt(variance))
