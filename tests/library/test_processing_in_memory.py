"""Kernels of memories that compute: command by command, and what must always hold."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

MODEL = """
edition 2026
#! Kernels on published memories, and on one with other registers.
use std.number_formats: number_format, FP32, MX9, MX6, MX4
use std.processing_in_memory
use vendor.processing_in_memory: HBM2_PIM, GDDR6_AiM, HBM3_PIM_bank, HBM3_PIM_bank_group

evaluator kernels {
    param registers : real = 8 in 1 .. 64
    param banks_per_unit : int = 2 in 1 .. 2
    param reuse : real = 8 in 1 .. 64
    choice format : number_format in [MX9, MX6, MX4] = MX9
    let memory = HBM2_PIM with {
        registers      = registers
        banks_per_unit = banks_per_unit
        has_maximum = true
        has_shift = true
    }
    let gemv = gemv_kernel(memory, reuse)
    let add  = elementwise_kernel(memory, 2)
    let quantization = quantization_kernel(memory, FP32, format, 0)
    output gemv_time in ns = gemv.tile_time
    output add_time  in ns = add.tile_time
    output quantization_time in ns = quantization.tile_time
    output gemv_efficiency = gemv.efficiency
    output add_efficiency = add.efficiency
    output quantization_efficiency = quantization.efficiency
    output rate in GB/s = quantization.rate
}

evaluator devices {
    choice memory : pim_memory in [HBM2_PIM, GDDR6_AiM, HBM3_PIM_bank, HBM3_PIM_bank_group]
    output gain      = memory.bandwidth_gain
    output bandwidth in GB/s = memory.bandwidth
    output quantizes = if memory.quantizes then 1 else 0
}

evaluator limited {
    param budget : power = 20 W in 1 W .. 1000 W
    let memory = HBM3_PIM_bank with { power_budget = budget }
    output power in W = memory.pim_bandwidth * memory.pim_energy
    output interval in ns = memory.pim_interval
}
"""
CHANGE, WRITE_CHANGE = 14 + 14 + 5 - 4, 14 + 10 + 5 - 4
"""From a read to a read, or a write, of another row of HBM2-PIM, beyond a command: nanoseconds."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path: Path = tmp_path_factory.mktemp("pim") / "pim.hw"
    path.write_text(MODEL, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


def test_tiles_command_by_command(model: Module) -> None:
    found = model.kernels()
    # Eight words into registers and back to reads, then 64 products in two rows of 32 words.
    assert found["gemv_time"] == pytest.approx(72 * 4 + (15 + 19) + 2 * CHANGE)
    # Three rows of eight words; the first was opened behind the other bank, which wrote last.
    assert found["add_time"] == pytest.approx(24 * 4 + (19 - 4) + CHANGE + WRITE_CHANGE)
    # Eight words twice, then 9/32 of them to another row.
    words = 16 + 8 * 9 / 32
    assert found["quantization_time"] == pytest.approx(words * 4 + 15 + WRITE_CHANGE)
    units, refresh = 128, 1 - 350 / 3900
    per_tile = found["quantization_time"]
    assert found["rate"] == pytest.approx(units * 8 * 32 / per_tile * refresh)


def test_a_bank_with_a_unit_of_its_own_hides_no_row(model: Module) -> None:
    found = model.kernels(banks_per_unit=1)
    assert found["add_time"] == pytest.approx(24 * 4 + (26 - 4 + 28) + CHANGE + WRITE_CHANGE)


@pytest.mark.parametrize(
    ("memory", "gain", "bandwidth"),
    [
        ("HBM2_PIM", 4, 256),
        ("GDDR6_AiM", 16, 64),
        ("HBM3_PIM_bank", 16, 665.6),
        ("HBM3_PIM_bank_group", 8, 665.6),
    ],
)
def test_published_gains(model: Module, memory: str, gain: float, bandwidth: float) -> None:
    found = model.devices(memory=memory)
    assert found["gain"] == pytest.approx(gain, rel=1e-3)
    assert found["bandwidth"] == pytest.approx(bandwidth, rel=1e-9)
    assert found["quantizes"] == 0


@settings(max_examples=30, deadline=None)
@given(
    registers=st.floats(1, 32),
    more=st.floats(1, 2),
    reuse=st.floats(1, 64),
    banks=st.integers(1, 2),
)
def test_registers_never_hurt_and_no_kernel_beats_the_peak(
    model: Module, registers: float, more: float, reuse: float, banks: int
) -> None:
    """Up to a row of 32 words: beyond it a tile opens rows that the other bank no longer hides."""
    few = model.kernels(registers=registers, reuse=reuse, banks_per_unit=banks)
    many = model.kernels(registers=min(32.0, registers * more), reuse=reuse, banks_per_unit=banks)
    for kernel in ("gemv", "add", "quantization"):
        name = f"{kernel}_efficiency"
        assert 0 < few[name] < 1
        assert many[name] >= few[name] * (1 - 1e-9)


@settings(max_examples=20, deadline=None)
@given(budget=st.floats(1, 1000))
def test_units_stay_within_timing_and_power(model: Module, budget: float) -> None:
    found = model.limited(budget=f"{budget} W")
    least = 4 / 1.3
    assert found["power"] <= budget * (1 + 1e-9)
    assert found["interval"] >= least * (1 - 1e-9)
    assert found["power"] == pytest.approx(budget) or found["interval"] == pytest.approx(least)
