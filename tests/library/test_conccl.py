"""The study of ConCCL: against arithmetic, what must always hold, and what `check` finds."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Module
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.semantics import check, load

STUDY = Path(__file__).parents[2] / "library" / "studies" / "conccl.hw"


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


def findings(text: str, folder: Path) -> list[tuple[str, str]]:
    path = folder / "case.hw"
    path.write_text(
        "edition 2026\nuse studies.conccl: compute_unit_partition\n" + text, encoding="utf-8"
    )
    diagnostics = Diagnostics()
    program = check(load(path, diagnostics), diagnostics)
    # The head serves all texts: each reads some of what it imports.
    diagnostics.items[:] = [d for d in diagnostics.items if d.name != "unused-use"]
    assert not diagnostics.items
    check_rules(program, diagnostics)
    return [(item.name, item.message) for item in diagnostics.items]


def test_a_split_that_leaves_the_gemm_nothing_is_found(tmp_path: Path) -> None:
    found = findings("compute_unit_partition all { collective_units = 304 }\n", tmp_path)
    assert [name for name, _ in found] == ["compute_unit_partition.gemm"]
    assert "all gives 304 of 304 units to the collective: the GEMM has 0" in found[0][1]


def test_a_split_with_one_unit_left_is_not(tmp_path: Path) -> None:
    assert not findings("compute_unit_partition most { collective_units = 303 }\n", tmp_path)


def test_a_split_that_leaves_nothing_is_infeasible(study: Module) -> None:
    assert study.scenario(manual_collective_units=303).feasible
    assert not study.scenario(manual_collective_units=304).feasible


def test_a_split_by_hand_by_hand(study: Module) -> None:
    """A GEMM that fills the compute units, overlapped with an all-gather that gets 32 of them."""
    found = study.scenario(
        ratio=0.5,
        gemm_bound="compute_bound",
        manual_collective_units=32,
        unit_interference=0,
        memory_interference=0,
    )
    # The collective is hidden behind the GEMM, which lacks 32 units throughout.
    assert found["manual_partition_speedup"] == pytest.approx(1.5 * 272 / 304, rel=1e-9)


@pytest.mark.parametrize("gemm_bound", ["compute_bound", "memory_bound"])
@pytest.mark.parametrize("compute_to_link_balance", ["1500 FLOP/B", "2918 FLOP/B", "4000 FLOP/B"])
def test_at_the_tie_both_are_as_quick(
    study: Module, gemm_bound: str, compute_to_link_balance: str
) -> None:
    point = {"gemm_bound": gemm_bound, "compute_to_link_balance": compute_to_link_balance}
    found = study.dma_vs_partitioning(**point)
    assert 0.01 < found["break_even_fraction"] < 1
    rate = f"{found['break_even_bandwidth']} GB/s"
    tied = study.dma_vs_partitioning(**point, dma_bandwidth=rate)
    assert tied["dma_speedup"] == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("gemm_bound", ["compute_bound", "memory_bound"])
def test_slow_links_need_few_units(study: Module, gemm_bound: str) -> None:
    """Where the links are a third as fast for the same compute, a collective's kernel takes so few
    units that the commands of DMA engines cost more, at any bandwidth of theirs."""
    slow = {"gemm_bound": gemm_bound, "compute_to_link_balance": "9000 FLOP/B"}
    assert study.dma_vs_partitioning(**slow, dma_bandwidth="10000 GB/s")["dma_speedup"] < 1
    assert study.dma_vs_partitioning(**slow)["break_even_fraction"] == 1
    free = study.dma_vs_partitioning(**slow, dma_command_latency="0 us")
    assert free["dma_speedup"] > 1


def test_engines_quicker_than_the_links_gain_nothing(study: Module) -> None:
    """Only what the links carry counts, and slower engines are never better."""
    gains = [
        study.dma_vs_partitioning(dma_bandwidth=f"{r} GB/s")["dma_speedup"]
        for r in (112, 224, 448, 449, 2000)
    ]
    assert gains == sorted(gains)
    assert gains[-1] == gains[-2]
