"""Computation vs. communication of future transformers, and the search for a degree, by hand."""

from itertools import pairwise, product
from math import inf, isfinite
from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Module

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "library" / "studies"
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


def test_peak_rates_beside_overlapped_communication(study: Module) -> None:
    """A ring sends 2 bytes of each gradient; backward has 48 H^2 SL B (1 + SL / 6H) operations."""
    h, sl, tp, dp = 4096, 1024, 8, 4
    one = study.overlapped_communication(hidden_size=h, seq_length=sl, tensor=tp, data=dp)
    computation = 48 * h**2 * sl * (1 + sl / (6 * h)) / tp / MI210_PEAK
    communication = 2 * 12 * h**2 / tp * 2 * (dp - 1) / dp / MI210_LINKS
    assert one.peak_rate_over_computation == pytest.approx(
        100 * communication / computation, rel=0.002
    )


def test_a_model_that_no_degree_holds_says_so(study: Module) -> None:
    one = study.required_tensor_parallelism(model="PaLM_shape", capacity_growth=0.5, batch=16)
    assert list(one.violations) == ["spread.fits"]


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


def test_a_hidden_size_keeps_the_proportions(degrees: Module) -> None:
    names = degrees.training_at_degree(hidden_size=5000).violations
    assert "job.proportions" in names


def test_a_domain_helps_where_its_size_divides(degrees: Module) -> None:
    """Of 8,192 GPUs, 72 in a domain are worth no more than 8; 64 are, and 72 of 9,216."""

    def gpu_time(domain: int, gpus: int) -> float:
        node = f"NVLink_domain_of_{domain}"
        one = degrees.training_at_degree(node=node, tensor=8, gpus=gpus, global_batch=gpus // 4)
        return one.gpu_time

    assert gpu_time(72, 8192) == pytest.approx(gpu_time(8, 8192), rel=0.01)
    assert gpu_time(64, 8192) < 0.85 * gpu_time(72, 8192)
    assert gpu_time(72, 9216) < 0.85 * gpu_time(8, 9216)


def test_the_table_of_best_degrees_follows_from_what_is_printed() -> None:
    """Another test holds what the page prints; this one the table that is written from it."""
    page = (ROOT / "docs" / "studies" / "comp_vs_comm.md").read_text("utf-8")
    blocks = [block.split("```")[0].splitlines() for block in page.split("```text\n")[1:]]

    def rows(options: str) -> list[list[str]]:
        command = (
            f"$ hwdsl sweep library/studies/tensor_parallelism.hw:training_at_degree {options}"
        )
        (found,) = (block for block in blocks if block[0].startswith(command))
        return [line.split() for line in found[2:]]

    nodes = ("NVLink_domain_of_8", "NVLink_domain_of_72", "PCIe_node_of_8", "Ethernet_only")
    alone = {(r[0], r[1]): float(r[3]) for r in rows(f"node={','.join(nodes)} ")}
    cells: dict[str, list[str]] = {}
    for node in nodes:
        for hidden_size, degree, _, gpu_time, *_ in rows(f"node={node} hidden_size=4096,"):
            without = alone.get((node, hidden_size))
            if without is None:
                saved = ", needed"
            else:
                saved = f", {100 * (1 - float(gpu_time) / without):.0f} %" if degree != "1" else ""
            cells.setdefault(f"{int(hidden_size):,}", []).append(degree + saved)
    table = [line for line in page.splitlines() if "illion (" in line and line.startswith("|")]
    assert len(table) == len(cells) == 5
    for line, (hidden_size, expected) in zip(table, cells.items(), strict=True):
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        assert f"{hidden_size})" in first
        assert others == expected
