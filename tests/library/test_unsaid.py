"""What a description does not mention is not free, instant or lossless: it is asked for."""

from pathlib import Path

import pytest

import hwdsl

HEAD = """edition 2026
use std.cluster: cluster
use std.d2d: d2d, d2d_port
use std.die
use std.economics: ownership
use std.link: link
use std.memory: memory, data_placement
use std.node: accelerator, node, power_supply
use std.package: package, interposer
use std.datacenter: air
use std.rack: rack
use std.carbon: server_chassis
use std.reliability: checkpointing
use vendor.clusters: LUMI_G, El_Capitan, DGX_A100_pod
use vendor.d2d: AIB2, NV_HBI
use vendor.links: NDR400
use vendor.memories: GDDR6, HBM3, RRAM
use vendor.nodes
use vendor.processes: N7, rdl
use vendor.switches: NVSwitch3

interposer layers {
    process              = rdl
    substrate_area_ratio = 1.2
    max_area             = 1716 mm^2
    min_bump_pitch       = 40 um
    bonding_yield        = 0.98
}

package fan_out {
    substrate = layers
    die chip { process = N7, area = 100 mm^2, test_time = 0 s }
}

rack two { node = DGX_H100, nodes = 2, height = 42 U, cooling = air, price = 0 USD/unit }

cluster pod {
    rack         = two
    network_cost = 0 USD/unit
    node nodes[4] : DGX_H100
}

die bare {
    process = N7
    area    = 100 mm^2
    logic part { area = 10 mm^2 }
    phy edge_of_it
    d2d_port side { standard = NV_HBI }
}

ownership owned { depreciation_period = 4 year }
checkpointing job { mtbf = 3 h, checkpoint_time = 60 s }
server_chassis around

data_placement held {
    memory          = RRAM with { capacity = 64 GB, bandwidth = 1 TB/s }
    size            = 1 GB
    write_bandwidth = 0.1 GB/s
    data_lifetime   = 1 s
}

memory some { capacity = 1 GB, bandwidth = 1 GB/s }
"""
ASKED = {
    "pod.capex in USD": "pod.other_cost",
    "pod.tco_rate in USD/h": "pod.other_cost",
    "(pod with { other_cost = 0 USD/unit, network_power = 0 W }).tco_rate in USD/h": "staff",
    "pod.mtbf in h": "other_failure_rate",
    "DGX_H100.mtbf in h": "DGX_H100.other_failure_rate",
    "(DGX_H100 with { other_failure_rate = 0 h^-1 }).mtbf in h": "cpu.mttf",
    "LUMI_G.mtbf in h": "other_failure_rate",
    "El_Capitan.oversubscription": "oversubscription",
    "El_Capitan.nodes.power in kW": "non_accelerator_power",
    "owned.depreciation_rate in year^-1": "owned.interest_rate",
    "owned.depreciation_and_maintenance_rate in year^-1": "owned.interest_rate",
    "owned.utilization": "owned.utilization",
    "bare.tdp in W": "bare.tdp",
    "bare.cost in USD/unit": "bare.test_time",
    "(fan_out with { test_time = 0 s }).cost in USD/unit": "microbump_price",
    "(fan_out with { test_time = 0 s }).bonding_cost in USD/unit": "bonding_price",
    "fan_out.raw_substrate_cost in USD/unit": "c4_bump_price",
    "fan_out.package_substrate_cost in USD/unit": "package_substrate_area_ratio",
    "fan_out.loaded_substrate.substrate_attach_yield": "substrate_attach_yield",
    "layers.mounted_pieces": "layers.mounted_pieces",
    "job.goodput": "job.restart_time",
    "around.embodied_carbon in kg/unit": "heatsink_mass|psu_mass|ssd_count",
    "held.access_power in W": "held.read_bandwidth",
    "fan_out.test_cost in USD/unit": "fan_out.test_time",
    "two.power in kW": "two.other_power",
    "(NVSwitch3).price in USD/unit": "NVSwitch3.price",
    "bare.block_power in W": "part.power",
    "bare.shoreline in mm": "edge_of_it.shoreline",
    "bare.signal_bumps": "edge_of_it.signal_count",
    "bare.side.shoreline in mm": "module_shoreline",
    "held.max_writes_per_cell": "held.wear_leveling_efficiency",
    "some.shoreline in mm": "some.shoreline",
    "GDDR6.shoreline in mm": "GDDR6.shoreline",
}
KNOWN = {
    "DGX_H100.mtbf_upper_bound in h": 6468.3,
    "pod.mtbf_upper_bound in h": 6468.3 / 4,
    "El_Capitan.mtbf_upper_bound in h": 150_000 / 4 / 11136,
    "held.mean_writes_per_cell": 0.1 * 5 * 365.25 * 86400 / 64,
    "bare.shoreline_lower_bound in mm": 0,
    "two.power_lower_bound in kW": 20.4,
    "two.height_lower_bound in U": 16,
    "DGX_A100_pod.facility_depreciation in USD/h": None,
}


def asked(folder: Path, output: str) -> hwdsl.Evaluator:
    expression, _, unit = output.partition(" in ")
    path = folder / "asked.hw"
    told = f"output it in {unit} = {expression}" if unit else f"output it = {expression}"
    path.write_text(f"{HEAD}evaluator ask {{ {told} }}\n", encoding="utf-8")
    return hwdsl.load(path, compiled=False).ask


@pytest.mark.parametrize("output", ASKED)
def test_it_is_asked_for(output: str, tmp_path: Path) -> None:
    with pytest.raises(hwdsl.DescriptionError, match="is not known") as error:
        asked(tmp_path, output)()
    assert any(name in str(error.value) for name in ASKED[output].split("|")), error.value


@pytest.mark.parametrize("output", KNOWN)
def test_bounds_are_known_and_named(output: str, tmp_path: Path) -> None:
    found = asked(tmp_path, output)().it
    if KNOWN[output] is not None:
        assert found == pytest.approx(KNOWN[output], rel=1e-4)


def test_a_building_that_is_not_known_is_not_free(tmp_path: Path) -> None:
    path = tmp_path / "asked.hw"
    place = 'us_site with { construction = unknown "nobody said" }'
    path.write_text(
        HEAD.replace("std.datacenter: air", "std.datacenter: air, us_site")
        + f"evaluator ask {{ output it in USD/h = (pod with {{ site = {place}, "
        + "network_power = 0 W }).facility_depreciation }\n",
        encoding="utf-8",
    )
    with pytest.raises(hwdsl.DescriptionError, match="construction"):
        hwdsl.load(path, compiled=False).ask()
