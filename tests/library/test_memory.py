"""Memory parts hold and move what their makers publish; data wears cells out and outlives them."""

import math
from pathlib import Path
from typing import Any

import pytest

import hwdsl

TEXT = """edition 2026
#! Questions about memories.
use std.memory: memory, managed_retention_memory, data_placement, thermal_retention,
    thermal_stability_for

use vendor.memories

evaluator part {
    choice of : memory in [
        HBM2,
        HBM2E,
        HBM2E_3600,
        HBM3,
        HBM3_12H,
        HBM3E,
        HBM3E_12H,
        HBM3E_16H,
        HBM4,
        HBM4E,
        GDDR6,
        GDDR6X,
        GDDR7,
        DDR5_4800,
        DDR5_6400,
    ] = HBM2
    output capacity  in GB   = of.capacity
    output bandwidth in GB/s = of.bandwidth
    output sweep     in ms   = of.full_read_time
}

evaluator channel {
    choice of : memory in [DDR4_3200, LPDDR5_6400, LPDDR5X_8533] = DDR4_3200
    output bandwidth in GB/s = of.bandwidth
}

evaluator full_rate {
    choice of : memory in [HBM2, HBM2E, HBM3, HBM3E] = HBM2
    output power in W = of.power
}

managed_retention_memory trial {
    capacity     = 500 GB
    bandwidth    = 10 TB/s
    write_pulse  = 100 ns
    retention    = 1 day
    endurance    = 1e12
    read_energy  = 1 pJ/bit
    write_energy = 2 pJ/bit
}

evaluator wear {
    param amount  : data      = 500 GB in 0 B .. 10 TB
    param writing : bandwidth = 0 B/s  in 0 B/s .. 100 TB/s
    param reading : bandwidth = 0 B/s  in 0 B/s .. 100 TB/s
    param lives   : time      = 1 h    in 0 s .. 10 year
    param years   : time      = 5 year in 0 s .. 20 year
    param levels  : real      = 1      in 0 .. 1
    choice again : bool in [false, true] = false
    let r = data_placement(
        memory = trial,
        size = amount,
        write_bandwidth = writing,
        read_bandwidth = reading,
        data_lifetime = lives,
        service_life = years,
        wear_leveling_efficiency = levels,
        software_refresh = again,
    )
    output writes_per_cell = r.max_writes_per_cell
    output rewrites        in GB/s = r.refresh_write_bandwidth
    output fastest         in s    = r.min_rewrite_interval
    output power           in W    = r.access_power
}

evaluator magnetic {
    param stability : real = 40      in 1 .. 100
    param keeps     : time = 10 year in 1 ns .. 100 year
    output retention in s = thermal_retention(stability)
    output needed    = thermal_stability_for(keeps)
}
"""


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("memories") / "memories.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


PARTS = {
    "HBM2": (8, 256),
    "HBM2E": (16, 409.6),
    "HBM2E_3600": (16, 460.8),
    "HBM3": (16, 819.2),
    "HBM3_12H": (24, 819.2),
    "HBM3E": (24, 1177.6),
    "HBM3E_12H": (36, 1177.6),
    "HBM3E_16H": (48, 1177.6),
    "HBM4": (36, 2048),
    "HBM4E": (64, 2560),
    "GDDR6": (1, 56),
    "GDDR6X": (1, 76),
    "GDDR7": (2, 128),
    "DDR5_4800": (64, 38.4),
    "DDR5_6400": (64, 51.2),
}


@pytest.mark.parametrize("name", PARTS)
def test_published_capacity_and_bandwidth(memories: Any, name: str) -> None:
    it = memories.part(of=name)
    assert (it.capacity, it.bandwidth) == pytest.approx(PARTS[name], rel=1e-12)
    assert it.sweep == pytest.approx(1e3 * PARTS[name][0] / PARTS[name][1], rel=1e-12)


def test_channels_of_parts_without_a_capacity(memories: Any) -> None:
    found = [memories.channel(of=n).bandwidth for n in ("DDR4_3200", "LPDDR5_6400", "LPDDR5X_8533")]
    assert found == pytest.approx([25.6, 51.2, 68.264])


def test_power_of_stacks_at_full_rate(memories: Any) -> None:
    """8 to 29 W a stack: what is published for HBM3 is 15 to 20 W, for HBM3E 29 W."""
    found = {n: memories.full_rate(of=n).power for n in ("HBM2", "HBM2E", "HBM3", "HBM3E")}
    assert found["HBM2"] == pytest.approx(256e9 * 8 * 3.97e-12)
    assert found["HBM2E"] == pytest.approx(409.6e9 * 8 * 6e-12)
    assert 15 <= found["HBM3"] <= 20
    assert found["HBM3E"] == pytest.approx(29, rel=0.05)


YEARS = 5 * 365.25 * 86400


@pytest.mark.parametrize(
    ("period", "writes"), [("1 h", 4.4e4), ("1 minute", 2.6e6), ("1 s", 1.6e8)]
)
def test_weights_that_are_overwritten(memories: Any, period: str, writes: float) -> None:
    """Managed-retention memory, figure 1: overwritten every hour to every second for 5 years."""
    seconds = {"1 h": 3600, "1 minute": 60, "1 s": 1}[period]
    found = memories.wear(writing=f"{500 / seconds} GB/s").writes_per_cell
    assert found == pytest.approx(YEARS / seconds, rel=1e-12)
    assert found == pytest.approx(writes, rel=0.02)


def test_key_value_cache(memories: Any) -> None:
    """15,000 tokens/s of 327,680 bytes in 500 GB write each cell 1.6e6 times in 5 years."""
    found = memories.wear(writing=f"{15000 * 327680} B/s").writes_per_cell
    assert found == pytest.approx(1.6e6, rel=0.05)
    assert memories.wear(writing="1 GB/s", levels=0.5).writes_per_cell == pytest.approx(
        2 * memories.wear(writing="1 GB/s").writes_per_cell
    )


def test_rewriting_keeps_data_and_costs_writes(memories: Any) -> None:
    ask = {"amount": "250 GB", "lives": "10 day", "reading": "1 TB/s"}
    plain, kept = memories.wear(**ask), memories.wear(**ask, again=True)
    assert not plain.feasible
    assert plain.violations == ["r.retention"]
    assert kept.feasible
    assert kept.rewrites == pytest.approx(250 / 86400)
    assert kept.writes_per_cell == pytest.approx(YEARS / 86400 / 2)
    assert kept.power - plain.raw.power == pytest.approx(250e9 / 86400 * 8 * 2e-12)
    assert memories.wear(amount="250 GB", lives="1 h", again=True).rewrites == 0


def test_endurance_and_service_bound_the_rewrites(memories: Any) -> None:
    """Five years at 1e12 writes are one rewrite of everything in 158 microseconds."""
    assert memories.wear().fastest == pytest.approx(YEARS / 1e12)
    assert memories.wear(years="1 year").fastest == pytest.approx(YEARS / 5 / 1e12)


def test_retention_of_magnetic_cells(memories: Any) -> None:
    """Ten years need a barrier of 40 kT, a day 32, an hour 29."""
    assert memories.magnetic(stability=40).retention == pytest.approx(1e-9 * math.exp(40))
    for keeps, needed in (("10 year", 40), ("1 day", 32), ("1 h", 29)):
        assert memories.magnetic(keeps=keeps).needed == pytest.approx(needed, abs=0.4)
