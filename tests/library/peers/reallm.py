"""Descriptions of the machines in reallm's files of hardware, with all that is asked of them."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from reference import document

import hwdsl

DATA = document("reallm")

CHIP = {
    "area": "die.area in mm^2",
    "sram": "die.sram in B",
    "perf": "die.perf in FLOP/s",
    "sram_area": "die.sram * die.sram_area in mm^2",
    "mac_area": "die.perf * die.perf_area in mm^2",
    "io_area": "die.link.ports * die.link.area in mm^2",
    "other_area": "die.other + die.interface in mm^2",
    "die_yield": "die.die_yield",
    "cost": "die.cost in USD",
    "core_tdp": "die.core_tdp in W",
    "tdp": "die.tdp in W",
    "power_density": "die.tdp / die.area in W/mm^2",
    "x": "sqrt(die.area) in mm",
    "y": "sqrt(die.area) in mm",
}
PACKAGE = {
    "num_chips": "pkg.chips",
    "total_die_area": "pkg.silicon in mm^2",
    "area": "pkg.area in mm^2",
    "length": "sqrt(pkg.area) in mm",
    "width": "sqrt(pkg.area) in mm",
    "tdp": "pkg.tdp in W",
    "cost": "pkg.cost in USD",
    "perf": "pkg.chips * die.perf in FLOP/s",
    "sram": "pkg.chips * die.sram in B",
    "dram": "pkg.capacity in B",
    "total_mem": "pkg.capacity + pkg.chips * die.sram in B",
    "dram_bw_per_chip": "pkg.bandwidth / pkg.chips in B/s",
}
SERVER = {
    "num_packages": "box.pkg.count",
    "num_chips": "box.chips",
    "core_tdp": "box.core_tdp in W",
    "other_tdp": "box.other_tdp in W",
    "tdp": "box.tdp in W",
    "cost": "box.cost in USD",
    "cost_dcdc": "box.dcdc in USD",
    "cost_psu": "box.psu in USD",
    "perf": "box.chips * die.perf in FLOP/s",
    "dram": "box.pkg.count * pkg.capacity in B",
}
STACK = {
    "cap": "capacity in B",
    "bandwidth": "bandwidth in B/s",
    "area": "footprint in mm^2",
    "tdp": "tdp in W",
    "cost": "price in USD",
}
OWNED = [
    "dc_amortization", "dc_interest", "dc_opex", "srv_power", "pue_overhead", "srv_amortization",
    "srv_interest", "srv_opex", "fix_part", "power_part", "total",
]  # fmt: skip
PERF = {
    "latency": "run.{p}.latency in s",
    "throughput": "batch * 1 token / run.{p}.pace in token/s",
    "utilization": "run.{p}.utilisation(run.chips)",
    "power": "run.{p}.energy / run.{p}.latency + servers * box.other_tdp in W",
    "energy_J.fma": "run.{p}.compute in J",
    "energy_J.mem": "run.{p}.memory in J",
    "energy_J.comm": "run.{p}.network in J",
    "energy_J.total": "run.{p}.energy in J",
}


def hardware(case: dict[str, Any]) -> dict[str, Any]:
    """The hardware of a case; of a variant, one entry of each list of the original."""
    found = case["inputs"]["hardware"]
    variant = 0
    if isinstance(found, str):
        base, _, number = found.removeprefix("same as ").partition(", variant ")
        variant = int(number)
        origin = (c for c in DATA["cases"] if c["id"].startswith(f"{base}/"))
        found = next((c["inputs"]["hardware"] for c in origin), None)
        if found is None:
            pytest.skip(f"the hardware of {base} is in no case")
    memory = found["Package"].get("hbm")
    if not isinstance(memory, dict):
        return dict(found)
    key = memory["config"][variant]
    chosen = {k: v[key] if isinstance(v, dict) else v for k, v in memory.items()}
    return found | {"Package": found["Package"] | {"hbm": [chosen | {"config": key}]}}


def fields(**values: str | None) -> str:
    return "\n".join(f"{name} = {value}" for name, value in values.items() if value is not None)


def unit(source: dict[str, Any], key: str, unit_name: str, scale: float = 1) -> str | None:
    return f"{source[key] * scale!r} {unit_name}" if key in source else None


def port(io: dict[str, Any]) -> str:
    body = fields(
        ports=str(io["num"]),
        rate=unit(io, "bandwidth_per_io", "B/s"),
        area=unit(io, "area_per_io", "mm^2"),
        tdp=unit(io, "tdp_per_io", "W"),
        energy=unit(io, "pj_per_byte", "pJ/B"),
        start=unit(io, "init_time", "s"),
    )
    return f"port link {{\n{body}\n}}"


def chip(hw: dict[str, Any], dies: int) -> str:
    given = DATA["constants"]["Chip"] | hw["Chip"]
    energy = DATA["constants"]["Energy"]
    sized: dict[str, str | None] = {"perf": unit(given, "perf", "FLOP/s")}
    sized["sram"] = unit(given, "sram", "B")
    interface = f"{given.get('hbm_channels', 0) * given['hbm_phy_ctrl_area_per_channel']!r} mm^2"
    if "area" in hw["Chip"]:
        ratio = given["mac_ratio"]
        sized["area"] = unit(given, "area", "mm^2")
        sized["perf"] = f"{ratio!r} * room / perf_area"
        sized["sram"] = f"{1 - ratio!r} * room / sram_area"
    if given.get("mem_3d_vaults"):
        interface = f"{given['mem_3d_vaults']} * layers_3d.on_chip"
    return (
        fields(
            **sized,
            perf_area=unit(given, "macs_density", "mm^2*s/TFLOP"),
            sram_area=unit(given, "sram_density", "mm^2/MB"),
            perf_energy=unit(given, "w_per_tops", "pJ/FLOP"),
            multiply_add=unit(energy, "fma_fp16", "pJ"),
            sram_energy=unit(energy, "sram_act", "pJ/B"),
            other=unit(given, "other_area", "mm^2"),
            interface=interface,
            fill=repr(given["core_area_ratio"]),
            padring=unit(given, "padring_width", "mm"),
            wafer_price=unit(given, "wafer_cost", "USD"),
            wafer=unit(given, "wafer_diameter", "mm"),
            gap=unit(given, "wafer_dicing_gap", "mm"),
            defects=unit(given, "D0", "mm^-2"),
            clustering=repr(given["alpha"]),
            testing=repr(given["testing_cost_overhead"]),
            dies=str(dies),
        )
        + f"\n{port(hw['Chip']['pkg2pkg_io'])}"
    )


def stack(hw: dict[str, Any]) -> str:
    (given,) = hw["Package"]["hbm"]
    energy = given.get("pj_per_byte", DATA["constants"]["Energy"]["hbm2"])
    return "stack memory : stack {\n" + fields(
        channels=str(given["num_channels"]),
        channel_capacity=unit(given, "channel_bytes", "B"),
        channel_width=str(given["channel_width"]),
        rate=unit(given, "bit_rate", "b/s"),
        energy=f"{energy!r} pJ/B",
        price=unit(given, "stack_cost", "USD"),
    ) + "\n}"  # fmt: skip


def vault(hw: dict[str, Any]) -> str:
    (given,) = hw["Package"]["mem_3d"]
    constants = DATA["constants"]["Chip"]
    return (
        "vault layers_3d {\n"
        + fields(
            layers=str(given["num_layers"]),
            layer_area=unit(given, "layer_area", "mm^2"),
            tsvs=str(given["tsvs"]),
            tsv_area=unit(given, "tsv_area", "mm^2"),
            density=unit(given, "density", "B/mm^2"),
            rate=unit(given, "bit_rate", "b/s"),
            layer_price=unit(given, "layer_cost", "USD"),
            energy=unit(given, "pj_per_bit", "pJ/bit"),
            controller=unit(constants, "mem_3d_ctrl_area_per_vault", "mm^2"),
            testing=unit(constants, "mem_3d_test_area_per_vault", "mm^2"),
        )
        + "\n}"
    )


def memory_of(hw: dict[str, Any]) -> tuple[str, str, int]:
    """Memory: its declaration, its name, how many a package has."""
    chips = hw["Package"]["num_chips"]
    if hw["Chip"].get("mem_3d_vaults"):
        return vault(hw), "vault", hw["Chip"]["mem_3d_vaults"] * chips
    (given,) = hw["Package"]["hbm"]
    count, rest = divmod(hw["Chip"]["hbm_channels"] * chips, given["num_channels"])
    assert rest == 0
    return stack(hw).replace("stack memory : stack", "stack memory"), "stack", count


def package(hw: dict[str, Any], dies: int) -> str:
    given = DATA["constants"]["Package"]
    _, kind, count = memory_of(hw)
    part = "memory" if kind == "stack" else "layers_3d"
    body = fields(
        interposer="true" if kind == "stack" else "false",
        substrate_spread=repr(given["os_area_scale_factor"]),
        substrate_price=unit(given, "os_cost_per_mm2", "USD/mm^2"),
        bump_price=unit(given, "c4_bump_cost_per_mm2", "USD/mm^2"),
        substrate_bonding=repr(given["os_bonding_yield"]),
        spread=repr(given["si_area_scale_factor"]),
        wafer_price=unit(given, "si_wafer_cost", "USD"),
        bonding_yield=repr(given["si_bonding_yield"]),
        defects=unit(given, "si_D0", "mm^-2"),
        clustering=repr(given["si_alpha"]),
    )
    die = f"chip die[{hw['Package']['num_chips']}] {{\n{chip(hw, dies)}\n}}"
    return f"{body}\n{die}\n{kind} dram[{count}] : {part}"


def server(hw: dict[str, Any], dies: int, sink: float) -> str:
    given, own = DATA["constants"]["Server"], hw["Server"]
    assert given["DCDCEfficiency"] == given["PSUEfficiency"]
    body = fields(
        lanes=str(own["num_lanes"]),
        heat_sink=f"{sink!r} USD",
        nic=unit(given, "EthernetCost", "USD"),
        board=f"{given['PCBCost'] + given['PCBPartsCost']!r} USD",
        chassis=unit(given, "ChassisCost", "USD"),
        fan=unit(given, "FanCost", "USD"),
        fan_power=unit(given, "FanPower", "W"),
        host_power=unit(given, "APPPower", "W"),
        efficiency=repr(given["PSUEfficiency"]),
        dcdc_price=unit(given, "DCDCCostPerAmp", "USD/A"),
        psu_price=unit(given, "PSUCostPerW", "USD/W"),
        dcdc_max=unit(given, "MaxDCDCCost", "USD"),
        psu_max=unit(given, "MaxPSUCost", "USD"),
    )
    packages = own["num_lanes"] * own["packages_per_lane"]
    inside = f"package pkg[{packages}] {{\n{package(hw, dies)}\n}}"
    return f"server machine {{\n{body}\n{port(own['io'])}\n{inside}\n}}"


def place() -> str:
    given = DATA["constants"]["TCO"]
    return (
        "site place {\n"
        + fields(
            life=unit(DATA["constants"]["Server"], "SrvLife", "year"),
            electricity=unit(given, "ElectricityCost", "USD/kWh"),
            rate=repr(given["InterestRate"]),
            building=unit(given, "DCCapex", "USD/W"),
            building_life=unit(given, "DCAmortPeriod", "year"),
            running=unit(given, "DCOpex", "USD/W/month"),
            pue=repr(given["PUE"]),
            upkeep=repr(given["SrvOpexRate"]),
        )
        + "\n}"
    )


def language_model(given: dict[str, Any]) -> str:
    return (
        "language_model served {\n"
        + fields(
            layers=str(given["num_layers"]),
            width=str(given["d"]),
            heads=str(given["num_heads"]),
            hidden=str(given["d_ff"]) if "d_ff" in given else None,
            group=str(given["heads_per_kv_cache"]) if "heads_per_kv_cache" in given else None,
            gated="true" if "glu" in given.get("act", "") else None,
            twice="true" if given["d"] == 8192 else "false",
        )
        + "\n}"
    )


def outputs() -> list[tuple[str, str]]:
    """Names of all outputs and what they are: `group__name`."""
    found = [(f"chip__{k}", v) for k, v in CHIP.items()]
    found += [(f"package__{k}", v) for k, v in PACKAGE.items()]
    found += [(f"server__{k}", v) for k, v in SERVER.items()]
    found += [(f"hbm__{k}", f"part.{v}") for k, v in STACK.items()]
    for group, owner in (("tdp", "at_tdp"), ("use", "run.owned")):
        found += [(f"{group}__server_tdp", f"{owner}.power in W")]
        found += [(f"{group}__{k}", f"{owner}.{k} in USD") for k in OWNED]
    for theirs, ours in (("prefill", "prefill"), ("generate", "decode")):
        for key, text in PERF.items():
            name = f"perf__{theirs}_{key}".replace(".", "__")
            found.append((name, text.format(p=ours)))
    found += [
        ("perf__generate_throughput_per_chip",
         "batch * 1 token / run.decode.pace / run.chips in token/s"),
        ("token__cost", "run.cost_per_token in USD/token"),
        ("token__rate", "run.throughput in token/s"),
        ("token__paid", "run.cost_rate in USD/s"),
        ("count__dies", "squares(sqrt(die.area), die.gap, die.wafer, rows = 40)"),
    ]  # fmt: skip
    return found


@cache
def written(hw_text: str, served: str, declared: str, part: str) -> str:
    """The description of a machine and a model, with all that is asked of them."""
    lines = []
    for name, text in outputs():
        if name.startswith("hbm__") and part != "memory":
            continue
        value, _, shown = text.replace("part.", f"{part}.").partition(" in ")
        lines.append(f"output {name}{f' in {shown}' if shown else ''} = {value}")
    return f"""edition 2026
use peers.chiplet_cloud
{declared}
{hw_text}
{place()}
{served}
evaluator ask {{
    param servers : int = 1 in 1 .. 100000
    param tensor : int = 1 in 1 .. 10000000
    param pipeline : int = 1 in 1 .. 10000
    param batch : int = 1 in 1 .. 1000000
    param micro : int = 1 in 1 .. 1000000
    param first_micro : int = 1 in 1 .. 1000000
    param prompt : int = 1 in 1 .. 10000000
    param answer : int = 1 in 1 .. 10000000
    param rings : int = 2 in 1 .. 3
    param as_published : bool = false
    let box = machine
    let pkg = box.pkg
    let die = pkg.die
    let at_tdp = ownership(power = box.tdp, price = box.cost, site = place)
    let run = service(server = machine, servers = servers, model = served, site = place,
        batch = batch, prompt = prompt, answer = answer, tensor = tensor, pipeline = pipeline,
        micro = micro, first_micro = first_micro, rings = rings, as_published = as_published)
    {"".join(line + chr(10) for line in lines)}
}}
"""


_loaded: dict[str, hwdsl.Module] = {}


def heat_sink(case: dict[str, Any]) -> float:
    """What a heat sink costs: what is left of the server's price."""
    given, out = DATA["constants"]["Server"], case["server"]
    known = (
        out["num_packages"] * case["package"]["cost"] + given["EthernetCost"] + given["PCBCost"]
        + given["PCBPartsCost"] + given["ChassisCost"] + out["num_lanes"] * given["FanCost"]
        + out["cost_dcdc"] + out["cost_psu"]
    )  # fmt: skip
    return float((out["cost"] - known) / out["num_packages"])


def asked(case: dict[str, Any], folder: Path) -> hwdsl.Evaluator:
    """The evaluator of a case's machine and model."""
    hw = hardware(case)
    declared, kind, _ = memory_of(hw)
    part = "memory" if kind == "stack" else "layers_3d"
    machine = server(hw, case["chip"]["dpw"], heat_sink(case))
    text = written(machine, language_model(case["inputs"]["model"]), declared, part)
    if text not in _loaded:
        path = folder / f"machine{len(_loaded)}.hw"
        path.write_text(text, encoding="utf-8")
        _loaded[text] = hwdsl.load(path, compiled=False)
    return _loaded[text].ask


RINGS = {"ring": 1, "2d_ring": 2, "3d_ring": 3}


def point(case: dict[str, Any]) -> dict[str, Any]:
    given, cut = case["inputs"], case["inputs"]["mapping"]
    assert cut["c"] == 1
    assert not cut["dynamic"]
    return {
        "servers": given["num_servers"], "tensor": cut["t"], "pipeline": cut["p"],
        "batch": given["batch"], "micro": cut["micro_batch"],
        "first_micro": cut["prefill_micro_batch"],
        "prompt": given["prefill_len"], "answer": given["generate_len"],
        "rings": RINGS[given["allreduce"]],
    }  # fmt: skip
