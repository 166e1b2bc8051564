"""Slices of accelerators: which layouts fit, and what a slice has of the whole."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import shipped

import hwdsl

# Where the driver can place an instance of each profile on A100: first memory slice, and how many
# it occupies (NVIDIA, MIG user guide: placements of `nvidia-smi mig -lgipp`).
PLACEMENTS = {1: (range(7), 1), 2: ((0, 2, 4), 2), 3: ((0, 4), 4), 4: ((0,), 4), 7: ((0,), 8)}


def placed(sizes: list[int], taken: frozenset[int] = frozenset()) -> bool:
    """Whether the driver can place instances with so many compute slices side by side."""
    if not sizes:
        return True
    starts, width = PLACEMENTS[sizes[0]]
    spans = (frozenset(range(start, start + width)) for start in starts)
    return any(placed(sizes[1:], taken | span) for span in spans if not span & taken)


def test_what_fits_is_what_the_driver_can_place() -> None:
    """Two sums decide as placement does, for all 384 layouts of one A100."""
    study = hwdsl.load(shipped.ROOT / "library" / "studies" / "gpu_slices.hw", compiled=False)
    ranges = (range(8), range(4), range(3), range(2), range(2))
    for counts in itertools.product(*ranges):
        sizes = [size for size, n in zip(PLACEMENTS, counts, strict=True) for _ in range(n)]
        names = ("ones", "twos", "threes", "fours", "sevens")
        point = study.layout(**dict(zip(names, counts, strict=True)))
        assert point.feasible == placed(sorted(sizes, reverse=True)), counts


def outputs(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "case.hw"
    uses = "".join(
        f"use {m}\n"
        for m in ("std.accelerator_slice", "vendor.slices", "vendor.nvidia", "vendor.amd")
    )
    path.write_text(f"edition 2026\n{uses}\nevaluator e {{\n{text}\n}}\n", encoding="utf-8")
    return hwdsl.load(path, compiled=False).e()


@pytest.mark.parametrize(
    "field",
    [
        "compute_units",
        "compute_dies",
        "peak_fp16 / 1 FLOP/s",
        "peak_fp32 / 1 FLOP/s",
        "peak_fp64 / 1 FLOP/s",
        "peak_int8 / 1 FLOP/s",
        "llc_capacity / 1 B",
        "memory_capacity / 1 B",
        "memory_bandwidth / 1 B/s",
        "llc_bandwidth / 1 B/s",
        "tdp / 1 W",
    ],
)
def test_half_of_a_module_is_the_die_that_is_described_by_itself(
    tmp_path: Path, field: str
) -> None:
    """MI250X is two accelerators for software; one is described from its datasheet."""
    name, _, unit = field.partition(" ")
    described = "1" if name == "compute_dies" else f"MI250X_die.{name} {unit}"
    found = outputs(
        tmp_path,
        f"output half = slice_of(MI250X, MI250X_half).{name} {unit}\noutput die = {described}\n",
    )
    assert found.half == pytest.approx(found.die, rel=1e-9)


@pytest.mark.parametrize(
    ("gpcs", "memory_gb", "units", "cache_mb", "bus_bits"),
    [(1, 10.2, 14, 5, 640), (2, 20.9, 28, 10, 1280), (3, 42.4, 42, 20, 2560)],
)
def test_slices_have_what_the_driver_reports(
    tmp_path: Path, gpcs: int, memory_gb: float, units: int, cache_mb: float, bus_bits: int
) -> None:
    """A100 of 80 GB by deviceQuery on the Wulver cluster; the whole has a bus of 5,120 bits."""
    found = outputs(
        tmp_path,
        f"let s = slice_of(A100_SXM_80GB, A100_{gpcs}g)\n"
        "output memory in GB = s.usable_memory\n"
        "output units = s.compute_units\n"
        "output cache in MB = s.llc_capacity\n"
        "output share = s.memory_bandwidth / A100_SXM_80GB.memory_bandwidth\n",
    )
    assert found.memory == pytest.approx(memory_gb, rel=0.06)  # the driver keeps some of each
    assert (found.units, found.cache) == (units, pytest.approx(cache_mb))
    assert found.share == pytest.approx(bus_bits / 5120)
