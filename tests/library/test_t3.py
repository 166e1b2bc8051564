"""The study of T3 against arithmetic on its inputs, and what must hold at any point."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
MODELS = {"Mega_GPT_2": (3072, 16384), "T_NLG": (4256, 8192), "GPT_3": (12288, 2048)}
DEPTH = {"OP": 1, "FC_2": 4, "FC_1": 4, "IP": 3}
"""Inner dimension of a GEMM over the hidden size, before it is split."""


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDIES / "t3.hw", compiled=False)


@pytest.fixture(scope="module")
def projection() -> Module:
    return hwdsl.load(STUDIES / "near_memory_reduction.hw", compiled=False)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_the_ring_by_hand(study: Module, model: str, ranks: int) -> None:
    hidden, tokens = MODELS[model]
    got = study.sliced_gemm(model=model, tensor=ranks, link_bandwidth=100)
    chunk = hidden * tokens * 2 / ranks
    ring = (ranks - 1) * (chunk / 100e9 + 500e-9) * 1e3
    scatter = ring + 3 * chunk / 0.83e12 * 1e3
    assert float(got["reduce_scatter_time"]) == pytest.approx(scatter), "two reads and a write"
    assert float(got["link_traffic"]) == pytest.approx(2 * (ranks - 1) * chunk / 1e6)
    assert float(got["reduction_reads"]) == pytest.approx((2 * ranks - 1) / (ranks - 2))
    assert float(got["write_ratio"]) == pytest.approx((2 * ranks - 2) / (2 * ranks))
    gemm = float(got["gemm_time"])
    whole = gemm + scatter + ring
    assert float(got["sequential_time"]) == pytest.approx(whole)
    assert float(got["ideal"]) == pytest.approx(whole / (max(gemm, scatter) + ring))


@pytest.mark.parametrize("sublayer", DEPTH)
def test_the_gemm_is_near_its_flops(study: Module, sublayer: str) -> None:
    """80 units of 1,024 operations at 1.4 GHz, at an efficiency between a half and one."""
    hidden, tokens = MODELS["T_NLG"]
    flops = 2 * tokens * hidden * DEPTH[sublayer] * hidden / 8
    time = float(study.sliced_gemm(sublayer=sublayer)["gemm_time"]) / 1e3
    assert 0.5 < flops / (80 * 1024 * 1.4e9) / time < 1


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(sorted(DEPTH)),
    st.integers(3, 64),
    st.floats(10, 1000),
    st.floats(0.02, 1),
)
def test_what_always_holds(
    study: Module, model: str, sublayer: str, ranks: int, link: float, rate: float
) -> None:
    point = {"model": model, "sublayer": sublayer, "tensor": ranks, "link_bandwidth": link}
    got = study.sliced_gemm(**point, update_rate=rate)
    assert got["t3"] <= got["t3_mca"] * (1 + 1e-12), "arbitration never loses"
    gather = 1 / float(got["reduction_speedup"])
    most = 1 + 1 / (1 + gather)
    assert got["ideal"] <= most * (1 + 1e-12), "the all-gather stays"
    assert got["t3_traffic"] < got["sequential_traffic"]
    faster = study.sliced_gemm(**point, update_rate=1)
    assert got["t3_mca"] <= faster["t3_mca"] * (1 + 1e-12)


@pytest.mark.parametrize("ranks", [4, 8, 32])
def test_the_break_even_is_where_both_are_as_fast(projection: Module, ranks: int) -> None:
    ask = projection.near_memory_against_copy_engines
    even = float(ask(tensor=ranks)["break_even"])
    assert float(ask(tensor=ranks, update_fraction=even)["speedup"]) == pytest.approx(1, rel=2e-3)
    assert ask(tensor=ranks, update_fraction=even * 0.8)["speedup"] < 1
