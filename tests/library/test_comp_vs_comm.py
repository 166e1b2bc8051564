"""Computation vs. communication of future transformers, and the search for a degree, by hand."""

from itertools import pairwise, product
from math import inf, isfinite
from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
MI210_PEAK, MI210_LINKS, MI210_MEMORY = 181e12, 150e9, 64 * 2**30
# Layers, hidden size, sequence length, parameters, and the required degree on MI210.
MODELS = {
    "Megatron_LM_8B": (72, 3072, 1024, 2),
    "Turing_NLG": (78, 4256, 1024, 8),
    "GPT3_175B": (96, 12288, 2048, 64),
    "MT_NLG": (105, 20480, 2048, 256),
    "PaLM_shape": (118, 18432, 2048, 256),
}


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDIES / "comp_vs_comm.hw", compiled=False)


@pytest.fixture(scope="module")
def degrees() -> Module:
    return hwdsl.load(STUDIES / "tensor_parallelism.hw", compiled=False)


@pytest.mark.parametrize("h", [4096, 16384])
@pytest.mark.parametrize("sl", [1024, 4096])
@pytest.mark.parametrize(("tp", "growth"), [(8, 1), (32, 4)])
def test_the_null_model_by_hand(study: Module, h: int, sl: int, tp: int, growth: int) -> None:
    """72 H^2 SL B (1 + SL / 6H) / TP operations, and four ring all-reduces of 2 H SL B bytes."""
    one = study.serialized_communication(
        hidden_size=h, seq_length=sl, batch=2, tensor=tp, flop_vs_bw=growth
    )
    computation = 72 * h**2 * sl * 2 * (1 + sl / (6 * h)) / tp / (growth * MI210_PEAK)
    communication = 4 * 2 * h * sl * 2 * 2 * (tp - 1) / tp / MI210_LINKS
    assert one.peak_rate_share == pytest.approx(
        100 * communication / (computation + communication), rel=1e-9
    )
    # What is described is slower in both than the peak rates.
    assert one.computation > 1e3 * computation
    assert one.communication > 1e3 * communication
    assert one.share == pytest.approx(
        100 * one.communication / (one.computation + one.communication)
    )


def test_growth_of_compute_leaves_communication(study: Module) -> None:
    """Shares rise with compute, and no more than they would if all of computation became faster."""
    runs = [study.serialized_communication(flop_vs_bw=x) for x in (1, 2, 4, 8)]
    for slow, fast in pairwise(runs):
        assert fast.communication == pytest.approx(slow.communication, rel=0.01)
        assert slow.share < fast.share
        assert slow.computation / 2 < fast.computation < slow.computation
    assert study.serialized_communication(tensor=1).share == 0


@pytest.mark.parametrize("model", MODELS)
def test_the_required_degree_by_hand(study: Module, model: str) -> None:
    """16 bytes of a parameter and the inputs of all layers fit, and not at half of the degree."""
    layers, h, sl, required = MODELS[model]
    parameters = layers * (12 * h**2 + 13 * h) + (51200 + sl) * h

    def needed(degree: float) -> float:
        return 16 * parameters / degree + layers * 2 * sl * h

    one = study.required_tensor_parallelism(model=model)
    assert one.parameters == pytest.approx(parameters, rel=1e-9)
    assert one.required == required
    assert needed(required) < MI210_MEMORY < needed(required / 2)
    assert one.by_rule == pytest.approx(8 * parameters / 8.317e9 / 2, rel=1e-3)


def test_what_the_backward_pass_does_not_hide_is_exposed(study: Module) -> None:
    for growth, tokens in product([1, 4], [1024, 4096]):
        one = study.overlapped_communication(flop_vs_bw=growth, seq_length=tokens)
        assert (one.exposed_share_ideal > 0) == (one.over_computation > 100)
        assert one.exposed_share_ideal <= one.exposed_share < 100
    fast, slow = (study.overlapped_communication(network_bandwidth=b) for b in (150, 18.75))
    assert 6 < slow.over_computation / fast.over_computation < 8


def test_the_lost_share_is_what_scaling_loses(degrees: Module) -> None:
    alone, split = (degrees.bert_iteration(tensor=t, batch=8) for t in (1, 4))
    assert split.lost_share == pytest.approx(100 * (1 - alone.time / (4 * split.time)))
    assert alone.lost_share == pytest.approx(0, abs=1e-9)
    work = 8 * 3 * (24 * (24 * 512 * 1024**2 + 4 * 512**2 * 1024) + 2 * 512 * 1024 * 30592)
    sent = 24 * 4 * 2 * 8 * 512 * 1024 * 2 * 3 / 4
    assert split.peak_time == pytest.approx(1e3 * (work / 4 / 125e12 + sent / 150e9), rel=0.01)


def test_the_search_finds_the_fastest_of_all_plans(degrees: Module, tmp_path: Path) -> None:
    path = tmp_path / "plans.hw"
    path.write_text(
        """edition 2026
use std.parallelism: recompute_granularity
use studies.tensor_parallelism: parallelization, NVLink_domain_of_72
evaluator plans {
    param tensor      : int = 16 in 1 .. 64
    param pipeline    : int = 1  in 1 .. 128
    param micro_batch : int = 1  in 1 .. 4
    choice recompute : recompute_granularity in [selective, full] = full
    let job = parallelization(
        hidden_size = 8192,
        node = NVLink_domain_of_72,
        gpus = 1024,
        global_batch = 2048,
        sharding = zero_1,
    )
    output time in s = job.step_time(tensor, pipeline, micro_batch, recompute)
}
""",
        encoding="utf-8",
    )
    plans = hwdsl.load(path, compiled=False).plans
    times = [
        plans(pipeline=2**p, micro_batch=2**b, recompute=r).time
        for p, b, r in product(range(8), range(3), ("selective", "full"))
    ]
    fastest = min(t for t in times if isfinite(t))
    assert inf in times
    # Of 72 accelerators of a domain, 16 ranks use 64.
    found = degrees.training_at_degree(hidden_size=8192, node="NVLink_domain_of_72", tensor=16)
    assert found.gpu_time == pytest.approx(fastest * 72 / 64 * 1024 / (2048 * 2048) * 1e6, rel=1e-9)
