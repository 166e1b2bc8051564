"""Memory, steps and prices of cached embedding tables by hand from the rows of the tables."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import hwdsl

STUDY = Path(__file__).parents[2] / "library" / "studies" / "embedding_cache.hw"
ROWS = 177_944_275  # Criteo 1TB, as TorchRec's benchmarks list them
LARGEST = [48_937_457, 45_833_188, 40_094_537]
ROW, BATCH, TABLES = 512, 16_384, 26


@pytest.fixture(scope="module")
def study() -> hwdsl.Module:
    return hwdsl.load(STUDY, compiled=False)


@pytest.mark.parametrize("tables", [1, 2, 3])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_unified_memory_takes_what_is_not_cached(
    study: hwdsl.Module, tables: int, share: float
) -> None:
    found = study.unified_memory(tables_in_uvm=tables, cached_share=100 * share)
    in_host = (1 - share) * sum(LARGEST[:tables]) * ROW
    assert found.host_memory == pytest.approx(in_host / 1e9)
    on_gpu = ROWS * ROW - in_host + BATCH * TABLES * ROW
    assert found.gpu_memory == pytest.approx(on_gpu / 2**30)
    assert found.feasible == (on_gpu < 80 * 2**30)


def test_all_tables_do_not_fit_on_the_gpu(study: hwdsl.Module) -> None:
    assert not study.unified_memory(cached_share=90).feasible
    assert study.cached_training(cache_share=90).feasible
    assert study.cache_or_memory(scale=20, cache_share=1).feasible
    assert not study.cache_or_memory(scale=24, cache_share=1).feasible


def test_a_miss_costs_a_row_on_the_link(study: hwdsl.Module) -> None:
    found = study.cached_training(log="Avazu", exponent=0.8, host_bandwidth=0.01)
    missed = BATCH * 13 * (1 - found.hit_ratio / 100)
    assert found.fetch_time == pytest.approx(missed * ROW / 10e9 * 1e3)
    step = 1000 / 111 + found.lookup_time + found.fetch_time
    assert found.rate == pytest.approx(1000 / step)


@pytest.mark.parametrize("rate", [50, 500, 1000])
def test_each_host_of_eight_has_a_copy_of_the_tables(study: hwdsl.Module, rate: float) -> None:
    """The difference of two prices of host memory is that of its copies."""
    cheap = study.cache_or_memory(needed_rate=rate, host_price=2)
    dear = study.cache_or_memory(needed_rate=rate, host_price=7)
    copies = math.ceil(cheap.cached_gpus / 8)
    tables = 8 * ROWS * ROW / 1e9
    assert dear.cached_price - cheap.cached_price == pytest.approx(5 * copies * tables / 1e3)
    assert dear.resident_price == cheap.resident_price


def test_a_rate_that_one_gpu_keeps_is_cheaper_with_a_cache(study: hwdsl.Module) -> None:
    """One GPU and host memory against the nine GPUs that 0.73 TB fill."""
    found = study.cache_or_memory(needed_rate=40, scale=8)
    assert (found.cached_gpus, found.resident_gpus) == (1, math.ceil(8 * ROWS * ROW / 85.7e9))
    assert found.price_ratio < 1 / 5
