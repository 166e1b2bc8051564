"""Accelerators, links, nodes, clusters as described, against public tables and sums by hand."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "library" / "vendor"
CHIPS = Path(os.environ.get("HWDSL_REFERENCE_DATA", "nowhere")) / "measured" / "epoch_chips.csv"


def described(kind: str) -> list[tuple[str, str]]:
    """Module and name of every component of a kind in the vendor files."""
    found = []
    for path in sorted(VENDOR.glob("*.hw")):
        module = parse(Source(path.name, path.read_text(encoding="utf-8")), Diagnostics())
        found += [
            (path.stem, item.name.name)
            for item in module.items
            if isinstance(item, ast.Part) and item.kind.name == kind
        ]
    return found


def asked(folder: Path, uses: str, outputs: str, before: str = "") -> hwdsl.Evaluator:
    path = folder / "asked.hw"
    path.write_text(f"edition 2026\n{uses}\n{before}\nevaluator ask {{\n{outputs}\n}}\n")
    return hwdsl.load(path, compiled=False).ask


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("accelerator", 33),
        ("link", 30),
        ("cable", 12),
        ("switch", 8),
        ("node", 20),
        ("cluster", 9),
    ],
)
def test_there_are_enough(kind: str, least: int) -> None:
    assert len(described(kind)) >= least


PUBLISHED = {
    "H100_SXM_80GB": "NVIDIA H100 SXM5 80GB",
    "P100_SXM": "NVIDIA Tesla P100 SXM2",
    "GTX_1050": "NVIDIA GeForce GTX 1050",
    "MI250X": "AMD Radeon Instinct MI250X",
}
COLUMNS = {
    "memory_capacity": ("memory_bytes", "B"),
    "memory_bandwidth": ("memory_bw_byte_s", "B/s"),
    "peak_fp32": ("fp32_flop_s", "FLOP/s"),
    "peak_fp16": ("tensor_fp16_flop_s", "FLOP/s"),
    "tdp": ("tdp_w", "W"),
    "price": ("pub_release_price_usd", "USD/unit"),
}
# Epoch has the typical 500 W of MI250X, the library the 560 W it may draw; for H100 a DGX's price.
ELSEWHERE = {("MI250X", "tdp"), ("H100_SXM_80GB", "price")}


@pytest.mark.skipif(not CHIPS.exists(), reason="HWDSL_REFERENCE_DATA is not set")
@pytest.mark.parametrize("name", PUBLISHED)
def test_figures_are_those_of_epochs_table(name: str, tmp_path: Path) -> None:
    with CHIPS.open(newline="", encoding="utf-8") as file:
        row = next(r for r in csv.DictReader(file) if r["hardware"] == PUBLISHED[name])
    module = {n: m for m, n in described("accelerator")}[name]
    stated = {
        f: (float(row[c].strip("$")), unit)
        for f, (c, unit) in COLUMNS.items()
        if row[c] and (name, f) not in ELSEWHERE
    }
    outputs = "".join(f" output {f} in {unit} = {name}.{f}\n" for f, (_, unit) in stated.items())
    found = asked(tmp_path, f"use vendor.{module}: {name}", outputs)()
    assert len(stated) >= 2
    for field, (value, _) in stated.items():
        assert found[field] == pytest.approx(value, rel=0.005), field


def test_a_rate_that_is_stated_is_units_times_clock(tmp_path: Path) -> None:
    """Within a percent where all are stated; the rule lets pass what is too low, this does not."""
    parts = described("accelerator")
    uses = "\n".join(f"use vendor.{m}: {n}" for m, n in parts)
    outputs = "".join(
        f" output of_{n} : real = if known({n}.clock) and known({n}.flops_per_unit_cycle) then"
        f" {n}.compute_units * {n}.flops_per_unit_cycle * {n}.clock / {n}.peak_fp16 else 0\n"
        for _, n in parts
    )
    found = asked(tmp_path, uses, outputs)()
    shares = {n: found[f"of_{n}"] for _, n in parts if found[f"of_{n}"]}
    assert len(shares) >= 18
    assert {n: s for n, s in shares.items() if abs(s - 1) > 0.01} == {}


def test_what_is_unknown_says_why(tmp_path: Path) -> None:
    with pytest.raises(hwdsl.DescriptionError, match="not published"):
        asked(tmp_path, "use vendor.google: TPU_v5e", " output p in W = TPU_v5e.tdp")


def test_redundant_supplies_leave_the_series(tmp_path: Path) -> None:
    """Eight GPUs and ports, six supplies: 3,659 h in series, 4,688 h without supplies (mlsysim)."""
    before = """
node n : DGX_H100 {
    gpu.mttf           = 50_000 h
    nic.mttf           = 150_000 h
    psu.mttf           = 100_000 h
    cpu.mttf           = inf
    other_failure_rate = 0 h^-1
}
node series : n { psu.redundant_units = 0, psu.rating = 2 kW }
"""
    ask = asked(
        tmp_path,
        "use std.node: node\nuse vendor.nodes: DGX_H100",
        " output spare in h = n.mtbf\n output series_all in h = series.mtbf",
        before,
    )()
    assert ask.series_all == pytest.approx(3659, abs=0.5)
    assert ask.spare == pytest.approx(4687.5, rel=1e-5)  # two more failing within a day


# --- the study, from the package on, in plain Python ------------------------------------------

YEAR = 8766.0  # h


def by_hand(v: dict[str, float], package: float, exponential: bool) -> dict[str, float]:
    """What the study computes from the cost of a package on; in USD, kW and h."""
    nodes = v["nodes"]
    gpu = package + v["board_cost"] + v["gpu_profit_after_nre"]
    # Hosts, memory, cards, supplies, and what is not a part of its own.
    around = 5200 + 7860 + 10908 + 1200 + 3456 + 875 + 563 + 463 + 1485
    node = 8 * gpu + around + v["server_gross_profit"]
    leaves = math.ceil(nodes / 32)
    uplinks = 0 if leaves == 1 else leaves * 32
    switches = 8 * (1 if leaves == 1 else leaves + math.ceil(uplinks / 64))
    fabric = switches * v["switch_price"]
    cables = 8 * (nodes + uplinks) * v["cable_price"]
    capex = nodes * node + fabric + cables + nodes * v["colocation_price"]
    wire = 2 * 50e9 * 8 * 21e-12 / 1e3
    network = switches * 64 * 400e9 * 35e-12 / 1e3 + 8 * (nodes + uplinks) * wire
    machines = nodes * 10.2 + network
    # Hours that are not used draw 0.3 of the power of a node, and the network its own.
    used = v["average_power_fraction"] * machines
    idle = min(used, nodes * 0.3 * 10.2 + network)
    average = v["utilization"] * used + (1 - v["utilization"]) * idle
    energy = average * v["pue"] * v["electricity_price"]
    # Half of the price bears interest on average; the price trend bears none.
    owed = 1 + v["interest_rate"] * v["depreciation_period"] / 2
    written = 1 - 10 ** (-0.14 * v["depreciation_period"]) if exponential else owed
    rate = written / (v["depreciation_period"] * YEAR)
    rate += v["maintenance_rate"] / YEAR
    stops = nodes * (8 / 79_000 + 151 / (2048 * 54 * 24))
    # Six supplies of which two are spare: they stop a node if a third fails within a repair.
    stops += nodes * 6 / 1e5 * (5 * 24 / 1e5) * (4 / 2 * 24 / 1e5)
    save, recovery = 60 / 3600, 1 / 6
    interval = math.sqrt(2 * save / stops)
    goodput = 1 - save / interval - interval * stops / 2 - recovery * stops
    hour = (capex * rate + energy) / (8 * nodes * v["utilization"])
    return {
        "gpu_unit_price": gpu,
        "node_price": node,
        "switches": switches,
        "switch_capex": fabric,
        "cable_capex": cables,
        "capex": capex,
        "facility_power": machines * v["pue"],
        "mtbf": 1 / stops,
        "goodput": 100 * goodput,
        "cost_per_gpu_hour": hour,
        "cost_per_goodput_gpu_hour": hour / goodput,
    }


@pytest.mark.parametrize("depreciation_method", ["straight_line", "exponential"])
@pytest.mark.parametrize("seed", range(4))
def test_the_study_is_what_it_is_by_hand(depreciation_method: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    v = {
        "nodes": int(draw.integers(2, 2048)),
        "board_cost": draw.uniform(500, 4000),
        "gpu_profit_after_nre": draw.uniform(1e4, 5e4),
        "server_gross_profit": draw.uniform(1e4, 1e5),
        "switch_price": draw.uniform(1e4, 6e4),
        "cable_price": draw.uniform(100, 2000),
        "colocation_price": draw.uniform(0, 1e5),
        "depreciation_period": draw.uniform(2, 8),
        "maintenance_rate": draw.uniform(0, 0.1),
        "interest_rate": draw.uniform(0, 0.2),
        "electricity_price": draw.uniform(0.03, 0.3),
        "pue": draw.uniform(1.03, 1.6),
        "average_power_fraction": draw.uniform(0.3, 1),
        "utilization": draw.uniform(0.3, 1),
    }
    units = {
        "switch_price": 1e3,
        "maintenance_rate": 0.01,
        "interest_rate": 0.01,
        "colocation_price": 1e3,
    }
    study = hwdsl.load(ROOT / "library/studies/h100_cluster.hw", compiled=False).h100_cluster
    given = {name: value / units.get(name, 1) for name, value in v.items()}
    found = study(depreciation_method=depreciation_method, **given)
    exponential = depreciation_method == "exponential"
    for name, value in by_hand(v, found["package_cost_with_nre"], exponential).items():
        assert found[name] == pytest.approx(value, rel=1e-9), name


def test_carbon_of_a_package_is_that_of_its_parts(tmp_path: Path) -> None:
    """Two dies of 1 cm^2 without defects, two stacks of 16 GB, three packages, nothing lost."""
    before = """
process clean : N5 { defect_density = 0 cm^-2 }
package p {
    substrate = CoWoS_S with { bonding_yield = 1, substrate_attach_yield = 1 }
    die d[2]    : die_of_1
    memory m    : HBM3
    memory more : HBM3
}
die die_of_1 { process = clean, area = 100 mm^2 }
"""
    uses = """use std.carbon
use std.process: process
use std.package: package
use std.die: die
use std.memory: memory
use vendor.processes: N5
use vendor.substrates: CoWoS_S
use vendor.memories: HBM3"""
    found = asked(
        tmp_path,
        uses,
        " output c in kg/unit = package_embodied_carbon(p, Taiwan_5nm, 65 g/GB)"
        "\n output good = p.usable_substrate_fraction",
        before,
    )()
    per_area = 2.75 * 0.583 + 0.43 + 0.5
    area = 1.1 * (2 * 100 + 2 * 110)  # mm^2, on four times as much laminate
    substrate = area * (0.5675 * 8 + 4 * 0.32549) / 1000 / found.good
    assert found.c == pytest.approx(2 * per_area + 32 * 0.065 + 3 * 0.15 + substrate, rel=1e-9)


# --- what is amended is followed --------------------------------------------------------------

SOLD_POWER = {  # datasheets, W
    "DGX_1": 3500,
    "DGX_2": 10_000,
    "DGX_A100": 6500,
    "DGX_H100": 10_200,
    "DGX_B200": 14_300,
    "GB200_NVL72": 132_000,
    "Cray_EX235a": 5000,
}


def test_nodes_draw_what_they_are_sold_with(tmp_path: Path) -> None:
    outputs = "\n".join(f" output of_{n} in W = {n}.power" for n in SOLD_POWER)
    found = asked(tmp_path, f"use vendor.nodes: {', '.join(SOLD_POWER)}", outputs)()
    for name, power in SOLD_POWER.items():
        assert getattr(found, f"of_{name}") == pytest.approx(power)


def test_what_the_package_becomes_reaches_the_node(tmp_path: Path) -> None:
    """A sixth stack and 80 W more: capacity, bandwidth and the node's power follow."""
    before = """
package fat : H100_SXM {
    tdp = 780 W
    memory hbm[6] : HBM3
}
accelerator wide : H100_SXM_80GB { package = fat }
node host : DGX_H100 { accelerator gpu[8] : wide }
"""
    uses = """use std.package: package
use std.memory: memory
use std.node: node, accelerator
use vendor.memories: HBM3
use vendor.packages: H100_SXM
use vendor.nvidia: H100_SXM_80GB
use vendor.nodes: DGX_H100"""
    outputs = """ output capacity in GB = host.gpu.memory_capacity
 output bandwidth in GB/s = host.gpu.memory_bandwidth
 output power in W = host.power"""
    found = asked(tmp_path, uses, outputs, before)()
    assert found.capacity == pytest.approx(96)
    assert found.bandwidth == pytest.approx(6 * 819.2)
    assert found.power == pytest.approx(10_200 + 8 * 80)


def test_a_cpu_of_unknown_power_leaves_the_node_unknown(tmp_path: Path) -> None:
    before = """
node host : DGX_H100 {
    non_accelerator_power = cpu_power
    cpu cpu[2] : EPYC_7A53
}
"""
    uses = (
        "use std.node: node\nuse std.processor: cpu\n"
        "use vendor.nodes: DGX_H100\nuse vendor.processors: EPYC_7A53"
    )
    with pytest.raises(hwdsl.DescriptionError, match="not stated"):
        asked(tmp_path, uses, " output power in W = host.power", before)
