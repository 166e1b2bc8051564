"""A prefix cache against a simulated one whose prefixes have lengths of their own."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import hwdsl

STUDY = Path(__file__).parents[2] / "library" / "studies" / "prefix_cache.hw"
KV_PER_TOKEN = 2 * 80 * 8 * 128 * 2  # Llama 3 70B: K and V, layers, KV heads, head size, bytes


@pytest.fixture(scope="module")
def prompts() -> hwdsl.Evaluator:
    return hwdsl.load(STUDY, compiled=False).shared_prompts


def simulated(exponent: float, memory: float, prefixes: int = 3000) -> tuple[float, float]:
    """Hit ratio and share of prompt tokens saved by an LRU cache of whole prefixes, once full."""
    rng = np.random.default_rng(23)
    lengths = 1500 * np.exp(np.log(2) * rng.standard_normal(prefixes))
    p = np.arange(1, prefixes + 1) ** -exponent
    requests = rng.choice(prefixes, 120_000, p=p / p.sum()).tolist()
    cache: OrderedDict[int, None] = OrderedDict()
    used, hits, saved, prompted = 0.0, 0, 0.0, 0.0
    for i, item in enumerate(requests):
        hit = item in cache
        cache[item] = None
        cache.move_to_end(item)
        used += 0 if hit else lengths[item] * KV_PER_TOKEN
        while used > memory:
            used -= lengths[cache.popitem(last=False)[0]] * KV_PER_TOKEN
        if i >= len(requests) // 2:
            hits += hit
            saved += hit * lengths[item]
            prompted += lengths[item] + 300
    return hits / (len(requests) // 2), saved / prompted


@pytest.mark.parametrize(("exponent", "memory"), [(0.6, 50e9), (0.9, 200e9), (1.2, 20e9)])
def test_it_hits_and_saves_as_a_simulated_cache(
    prompts: hwdsl.Evaluator, exponent: float, memory: float
) -> None:
    found = prompts(exponent=exponent, memory=memory / 1e9, prefixes=3000)
    hit_ratio, saved = simulated(exponent, memory)
    assert found.hit_ratio == pytest.approx(100 * hit_ratio, abs=2)
    # Lengths of the few most popular prefixes are drawn: the share scatters more than the hits.
    assert found.saved_share == pytest.approx(100 * saved, abs=6)
    assert found.pinned_hit_ratio > found.hit_ratio > found.uniform_hit_ratio


def test_a_cache_of_all_prefixes_computes_only_what_follows_them(prompts: hwdsl.Evaluator) -> None:
    found = prompts(prefixes=1000, memory=100_000)
    assert found.hit_ratio == found.pinned_hit_ratio == 100
    mean = 1500 * np.exp(np.log(2) ** 2 / 2)
    assert found.prefix_length == pytest.approx(mean, rel=2e-3)
    assert found.saved_share == pytest.approx(100 * mean / (mean + 300), rel=1e-3)


def test_without_skew_hits_are_the_share_that_is_held(prompts: hwdsl.Evaluator) -> None:
    found = prompts(exponent=0, prefixes=10_000, memory=1000)
    mean = 1500 * np.exp(np.log(2) ** 2 / 2)
    assert found.hit_ratio == pytest.approx(100 * 1e12 / KV_PER_TOKEN / mean / 10_000, rel=3e-3)
