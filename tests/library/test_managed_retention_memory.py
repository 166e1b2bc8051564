"""The study of managed-retention memory: arithmetic, limits, and what `check` finds."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Module
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.measure.validate import validate, validation_requests
from hwdsl.semantics import check, load

STUDY = Path(__file__).parents[2] / "library" / "studies" / "managed_retention_memory.hw"


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


def test_cells_that_do_not_bear_keys_and_values_are_found(tmp_path: Path) -> None:
    path = tmp_path / "case.hw"
    text = """edition 2026
use std.memory: managed_retention_memory, data_placement
use vendor.memories: RRAM
use workloads.transformers: Llama2_70B

managed_retention_memory array : RRAM {
    capacity        = 500 GB
    bandwidth       = 26.8 TB/s
    write_bandwidth = 1 TB/s
}

data_placement keys_and_values {
    memory          = array
    size            = 500 GB
    write_bandwidth = 15000 token/s * Llama2_70B.kv_cache_per_token / 1 token
    data_lifetime   = 1 h
}
"""
    for endurance, names in (("1e6", ["data_placement.endurance"]), ("1e12", [])):
        path.write_text(text.replace("26.8 TB/s\n", f"26.8 TB/s\n    endurance = {endurance}\n"))
        diagnostics = Diagnostics()
        check_rules(check(load(path, diagnostics), diagnostics), diagnostics)
        assert [item.name for item in diagnostics.items] == names
        assert all("1,551,119 times" in item.message for item in diagnostics.items)


def test_memory_that_is_hbm_in_all_but_name_may_cost_as_much(study: Module) -> None:
    """Stacks that hold, read and write as HBM does, at its energy: nothing is gained. HBM's writes
    are not charged, so those of the stacks take the least."""
    found = study.token_cost(
        mrm_stacks=5,
        capacity_ratio=1,
        read_bandwidth_ratio=1,
        write_read_ratio=1,
        read_energy="2.7 pJ/bit",
        write_energy="0.5 pJ/bit",
    )
    assert found["mrm_batch_size"] == found["hbm_batch_size"]
    assert found["break_even_stack_price_ratio"] == pytest.approx(1, rel=1e-4)
    assert found["cost_ratio"] == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("input_length", [1500, 32768])
def test_at_the_price_that_breaks_even_tokens_cost_the_same(
    study: Module, input_length: int
) -> None:
    price = study.token_cost(input_length=input_length, read_bandwidth_ratio=1.25)[
        "break_even_mrm_price"
    ]
    found = study.token_cost(input_length=input_length, read_bandwidth_ratio=1.25, mrm_price=price)
    assert found["cost_ratio"] == pytest.approx(1, rel=1e-9)


def test_memory_handed_on_weighs_less_than_memory_with_a_margin(study: Module) -> None:
    """The same price of an H100 either way; what a stack adds to a GPU's differs more than four
    times: what is lost of it in assembly has the margin in both."""
    kept = {"memory_pass_through": False, "gross_margin": 92}
    prices = [study.token_cost(**more)["hbm_cost_per_mtoken"] for more in ({}, kept)]
    assert prices[0] == pytest.approx(prices[1], rel=0.01)
    cheap = {"mrm_price": 10}
    saved = [
        study.token_cost(**more)["mrm_cost_per_mtoken"]
        - study.token_cost(**more, **cheap)["mrm_cost_per_mtoken"]
        for more in ({}, kept)
    ]
    assert saved[1] > 4 * saved[0]


def test_a_sequence_more_is_too_slow_or_does_not_fit(study: Module) -> None:
    """The bisection finds the last batch; with time to spare, all that fit."""
    found = study.token_cost(input_length=2000)
    looser = study.token_cost(input_length=2000, tpot_limit="55 ms")
    assert looser["mrm_batch_size"] > found["mrm_batch_size"]
    assert study.token_cost(input_length=32768, tpot_limit="1 s")["mrm_batch_size"] == (
        1024e9 - 137.95e9
    ) // ((32768 + 64.5) * 327680)


@pytest.mark.parametrize("retention", [3, 10, 100])
def test_short_retention_costs_writes_and_wear(study: Module, retention: int) -> None:
    short = study.token_cost(retention=retention, kv_reuse_time="1 day", input_length=8192)
    longer = study.token_cost(retention=10 * retention, kv_reuse_time="1 day", input_length=8192)
    service = 5 * 365.25 * 86400
    assert short["weight_writes"] == pytest.approx(service / retention + 5 * 365.25, rel=1e-6)
    assert short["refresh_time_fraction"] == pytest.approx(
        100 * 1024e9 / retention / (32 * 33.5e9), rel=1e-3
    )
    assert short["break_even_stack_price_ratio"] < longer["break_even_stack_price_ratio"]
    assert short["kv_cache_writes"] > longer["kv_cache_writes"]


def test_products_and_demonstrations(study: Module) -> None:
    def bears(technology: str, cells: str, update: str) -> bool:
        return bool(
            study.endurance(
                technology=technology, maturity=cells, weight_update_interval=update
            ).feasible
        )

    assert not bears("RRAM", "product", "1 h")
    assert bears("PCM", "product", "1 h")
    assert not bears("PCM", "product", "1 s")
    assert all(bears(t, "demonstrated", "1 s") for t in ("RRAM", "PCM", "STT_MRAM", "FeRAM"))


def test_time_between_tokens_against_splitwise(study: Module) -> None:
    """The engine's overheads were fitted to some rows: a change of them must not go unnoticed."""
    (found,) = (validate(study, request) for request in validation_requests(study))
    assert len(found.labels) == 76
    assert found.errors.median < 0.07
    assert found.baseline_errors is not None
    assert found.errors.median < found.baseline_errors.median / 9
