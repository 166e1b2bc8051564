"""Layers and chip trees against CATCH's own numbers.

A system's XML becomes a description as a user would write it: components for its layers, processes
and test flows, and a tree of chips. Compared are all outputs of layers and, of each chip of a tree,
areas, yields, qualities, costs and non-recurring costs. Taken from the output are the cells of
links, the vias, the bonded signals and the area of pads: for dies side by side on one carrier these
follow from the input too, and are compared in a test of their own. Not compared: pads of other
trees.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import frozen
from reference import agree, cases, document

import hwdsl

DATA = document("catch")
TABLES = DATA.get("parameters", {})
LAYERS = [p for p in cases("catch") if p.values[0].get("kind", "layer") == "layer"]
SYSTEMS = [p for p in cases("catch") if p.values[0].get("kind", "system") != "layer"]
BLACK_BOXES = {
    "bb_area": ("area", " mm^2"),
    "bb_cost": ("self_cost", " USD"),
    "bb_quality": ("self_quality", ""),
    "bb_power": ("own_power", " W"),
}


# --- layers -------------------------------------------------------------------------------------


def layer_outcome(given: dict[str, Any], tmp: Path) -> dict[str, float]:
    """What the model says to a layer's input, under the names of its output."""
    layer, process = TABLES["layers"][given["layer"]], given["wafer_process"]
    lines = ["edition 2026", "use peers.catch", *layer_lines("its_layer", layer)]
    lines += wafer_lines("its_wafers", TABLES["wafer_processes"][process])
    lines += ["let rows = its_wafers with { grid = false }", "evaluator asked {"]
    lines += [f"param size : area = {given['area_mm2']!r} mm^2 in 0.01 mm^2 .. 1e6 mm^2"]
    lines += [f"let aspect = {given.get('aspect_ratio', 1)!r}"]
    call = "(size, aspect, of = its_layer, on = its_wafers)"
    shape = "sqrt(size * aspect), sqrt(size / aspect)"
    outputs = {
        "layer_yield": (
            "layer_yield(size, size, of = its_layer, on = its_wafers, uncorrected = true)"
        ),
        "dies_per_wafer_grid": f"dies_per_wafer({shape}, on = its_wafers)",
        "dies_per_wafer_nogrid": f"dies_per_wafer({shape}, on = rows)",
        "cost_per_mm2_used_usd": f"used_price{call} / (1 USD/mm^2)",
        "reticle_utilization": "reticle_use(size, on = its_wafers)",
        "layer_cost_usd": f"layer_cost{call} / 1 USD",
        "reticles": "exposures(size, on = its_wafers)",
        "stitches": "seams(size, on = its_wafers)",
    }
    return run([*lines, *(f"output {name} = {text}" for name, text in outputs.items()), "}"], tmp)


@pytest.mark.parametrize("case", LAYERS)
def test_layers_are_theirs(case: dict[str, Any], tmp_path: Path) -> None:
    agree(layer_outcome(case["input"], tmp_path), case["output"])


# --- descriptions from their tables -------------------------------------------------------------


def run(lines: list[str], tmp: Path) -> dict[str, float]:
    """The outputs of a description's only evaluator, at its defaults."""
    path = tmp / "asked.hw"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = hwdsl.load(path, compiled=False).asked
    found = asked()
    assert found.feasible, found.violations
    return {o.name: float(getattr(found, o.name)) for o in asked.spec.outputs}


def plain(prefix: str, name: str) -> str:
    """A name of theirs as one of the language's: `free_test_0.99` has a dot."""
    return prefix + "".join(c if c.isalnum() else "_" for c in name)


def block(kind: str, name: str, fields: dict[str, str]) -> list[str]:
    """A component as text."""
    return [f"{kind} {name} {{", *(f"    {k} = {v}" for k, v in fields.items()), "}"]


def layer_lines(name: str, layer: dict[str, str]) -> list[str]:
    return block(
        "layer",
        name,
        {
            "price": f"{layer['cost_per_mm2']} USD/mm^2",
            "defect_density": f"{layer['defect_density']} mm^-2",
            "critical_share": layer["critical_area_ratio"],
            "clustering": layer["clustering_factor"],
            "litho_share": layer["litho_percent"],
            "mask_set": f"{layer['nre_mask_cost']} USD",
            "stitching_yield": layer["stitching_yield"],
        },
    )


def wafer_lines(name: str, wafers: dict[str, str]) -> list[str]:
    def design(kind: str) -> str:
        front, back = (wafers[f"nre_{end}_end_cost_per_mm2_{kind}"] for end in ("front", "back"))
        return f"{front} USD/mm^2 + {back} USD/mm^2"

    return block(
        "wafer_process",
        name,
        {
            "diameter": f"{wafers['wafer_diameter']} mm",
            "edge_exclusion": f"{wafers['edge_exclusion']} mm",
            "dicing": f"{wafers['dicing_distance']} mm",
            "reticle_x": f"{wafers['reticle_x']} mm",
            "reticle_y": f"{wafers['reticle_y']} mm",
            "grid": wafers["wafer_fill_grid"].lower(),
            "takes_away": "true",
            "wafer_yield": wafers["wafer_process_yield"],
            "memory_design": design("memory"),
            "logic_design": design("logic"),
            "analog_design": design("analog"),
        },
    )


def machine(process: dict[str, str], of: str) -> str:
    fields = {
        "price": f"{process[f'{of}_machine_cost']} USD",
        "lifetime": process[f"{of}_machine_lifetime"],
        "uptime": process[f"{of}_machine_uptime"],
        "technician": f"{process[f'{of}_technician_yearly_cost']} USD",
        "step": f"{process[f'{of}_time']} s",
        "group": process[f"{of}_group"],
    }
    return f"machine({', '.join(f'{k} = {v}' for k, v in fields.items())})"


def assembly_lines(name: str, process: dict[str, str]) -> list[str]:
    return block(
        "assembly",
        name,
        {
            "materials": f"{process['materials_cost_per_mm2']} USD/mm^2",
            "place": machine(process, "picknplace"),
            "bond": machine(process, "bonding"),
            "separation": f"{process['die_separation']} mm",
            "edge_exclusion": f"{process['edge_exclusion']} mm",
            "pitch": f"{process['bonding_pitch']} mm",
            "current_density": f"{process['max_pad_current_density']} A/mm^2",
            "alignment_yield": process["alignment_yield"],
            "bonding_yield": process["bonding_yield"],
            "dielectric_defect": f"{process['dielectric_bond_defect_density']} mm^-2",
            "tsv_area": f"{process['tsv_area']} mm^2",
            "tsv_yield": process["tsv_yield"],
        },
    )


def pads_of_test(test: dict[str, str], of: str) -> int:
    """Pads of a test: those of each scan chain and some more."""
    if test[f"test_{of}"] != "True":
        return 0
    each, chains = int(test[f"{of}_num_io_per_scan_chain"]), int(test[f"{of}_num_scan_chains"])
    return each * chains + int(test[f"{of}_num_test_io_offset"])


def flow_lines(name: str, test: dict[str, str]) -> list[str]:
    fields = {
        "cycle": f"{test['time_per_test_cycle']} s",
        "samples": test["samples_per_input"],
        "rate": f"{test['cost_per_second']} USD/s",
        "pads": str(pads_of_test(test, "self") + pads_of_test(test, "assembly")),
    }
    for of in ("self", "assembly"):
        fields |= {
            f"tests_{of}": test[f"test_{of}"].lower(),
            f"{of}_patterns": test[f"bb_{of}_pattern_count"] or "0",
            f"{of}_chain": f"{test[f'bb_{of}_scan_chain_length'] or '0'} mm^-2",
            f"{of}_coverage": test[f"{of}_defect_coverage"],
        }
    return block("test_flow", name, fields)


def cell_lines(name: str, io: dict[str, str], area: str) -> list[str]:
    return block(
        "io_cell",
        name,
        {
            "area": area,
            "bandwidth": f"{io['bandwidth']} Gb/s",
            "wires": io["wire_count"],
            "energy": f"{io['energy_per_bit']} J/bit",
            "reach": f"{io['reach']} mm",
        },
    )


def cells_lines(kind: str) -> list[str]:
    """A kind of link: its cell at both ends, or that which sends and that which receives."""
    io, name = TABLES["ios"][kind], plain("io_", kind)
    sends, receives = f"{io['tx_area']} mm^2", f"{io['rx_area']} mm^2"
    both = cell_lines(name, io, f"{sends} + {receives}")
    return [*both, *cell_lines(f"{name}_tx", io, sends), *cell_lines(f"{name}_rx", io, receives)]


# --- trees of chips -----------------------------------------------------------------------------


@frozen
class Chip:
    """A chip of a tree: its attributes, its published numbers, and the chips on it."""

    path: str
    given: dict[str, str]
    published: dict[str, Any]
    on_it: tuple["Chip", ...]

    def tree(self) -> Iterator["Chip"]:
        yield self
        for chip in self.on_it:
            yield from chip.tree()


def chip_of(node: ElementTree.Element, published: dict[str, Any], path: str = "") -> Chip:
    """A tree of chips from their XML and their numbers, which nest alike."""
    own = f"{path}.{node.get('name')}" if path else "whole"
    children = published.get("children", {})
    on_it = tuple(chip_of(n, children[n.get("name")], own) for n in node)
    numbers = {k: v for k, v in published.items() if k != "children"}
    return Chip(own, dict(node.attrib), numbers, on_it)


def is_flat(whole: Chip) -> bool:
    """Dies side by side on one carrier."""
    return whole.given["orientation"] == "face-up" and all(
        not c.on_it
        and c.given["orientation"] == "face-down"
        and c.given.get("stack_side") != "back"
        for c in whole.on_it
    )


def port_lines(name: str, nets: list[dict[str, Any]]) -> list[str]:
    """The ends of links at a chip."""
    lines = []
    for place, net in enumerate(nets):
        if name in (net["block0"], net["block1"]):
            both = TABLES["ios"][net["type"]]["bidirectional"] == "True"
            end = "" if both else "_tx" if name == net["block0"] else "_rx"
            lines += block(
                "port",
                f"link{place}",
                {
                    "cell": plain("io_", net["type"]) + end,
                    "bandwidth": f"{net['bandwidth']!r} Gb/s",
                    "utilisation": repr(net["average_bandwidth_utilization"]),
                }
                | ({"cells": str(net["bb_count"])} if str(net.get("bb_count", "")) else {}),
            )
    return lines


def counted(chip: Chip) -> dict[str, str]:
    """What of a chip is taken from the output."""
    return {
        "vias": repr(chip.published["tsv_count"]),
        "signals": repr(chip.published["signal_count_stack"]),
        "io_area": f"{chip.published['io_area_mm2']!r} mm^2",
        "pad_area": f"{chip.published['pad_area_mm2']!r} mm^2",
    }


def step_of(given: dict[str, str]) -> str:
    """Pitch of a chip's own pads in millimetres."""
    return str(TABLES["assembly_processes"][given["assembly_process"]]["bonding_pitch"])


def chip_lines(
    chip: Chip, nets: list[dict[str, Any]] | None, carrier: str | None = None
) -> list[str]:
    """A chip and those on it as text, with their links or with what the output says of them.

    Its pads are as far apart as those of its carrier, if these are farther.
    """
    given = chip.given
    layers = [text.split(":")[1] for text in given["stackup"].split(",")]
    counts = [int(text.split(":")[0]) for text in given["stackup"].split(",")]
    stack = [plain("layer_", n) for n, k in zip(layers, counts, strict=True) for _ in range(k)]
    fields = {
        "layers": f"[{', '.join(stack)}]",
        "wafers": plain("wafers_", given["wafer_process"]),
        "assembly": plain("assembly_", given["assembly_process"]),
        "test": plain("test_", given["test_process"]),
        "aspect": given.get("aspect_ratio") or "1",
        "backside": str(given.get("stack_side") == "back").lower(),
        "embedded": (given.get("buried") or "False").lower(),
        "core": f"{given['core_area']} mm^2",
        "memory_share": given["fraction_memory"],
        "logic_share": given["fraction_logic"],
        "analog_share": given["fraction_analog"],
        "reticle_share": given.get("reticle_share") or "1",
        "core_power": f"{given['power']} W",
        "voltage": f"{given['core_voltage']} V",
        "quantity": given["quantity"],
        "uncorrected": "true",
    }
    for box, (field, unit) in BLACK_BOXES.items():
        if given.get(box):
            fields[field] = given[box] + unit
    if nets is None:
        fields |= counted(chip)
    elif carrier is None:
        fields |= {"vias": "pads", "step": step_of(given)}
    else:
        below = TABLES["assembly_processes"][carrier]
        pitch = max(step_of(given), below["bonding_pitch"], key=float)
        fields |= {"pitch": f"{pitch} mm", "step": pitch, "gap": f"{below['die_separation']} mm"}
    lines = block("chip", chip.path.split(".")[-1], fields)[:-1]
    lines += port_lines(given["name"], nets or [])
    for inner in chip.on_it:
        lines += chip_lines(inner, nets, given["assembly_process"])
    return [*lines, "}"]


OUTPUTS = {
    "area_mm2": "area / (1 mm^2)",
    "stacked_area_mm2": "stacked / (1 mm^2)",
    "io_area_mm2": "io_area / (1 mm^2)",
    "self_true_yield": "self_yield",
    "self_test_yield": "self_passed",
    "self_quality": "self_quality",
    "self_test_cost_usd": "self_test / 1 USD",
    "self_cost_usd": "self_cost / 1 USD",
    "assembly_true_yield": "assembled_yield",
    "assembly_test_yield": "passed",
    "quality": "quality",
    "assembly_cost_usd": "assembly_cost / 1 USD",
    "assembly_test_cost_usd": "assembly_test / 1 USD",
    "cost_usd": "cost / 1 USD",
    "nre_design_usd": "design / 1 USD",
    "mask_set_usd": "masks / 1 USD",
    "nre_per_unit_usd": "nre / 1 USD",
    "total_cost_usd": "total / 1 USD",
    "total_power_w": "power / 1 W",
    "n_children": "chips",
}
FLAT = {
    "area_mm2": "area / (1 mm^2)",
    "io_area_mm2": "io_area / (1 mm^2)",
    "total_power_w": "power / 1 W",
    "power_pads": "power_pads",
    "test_pads": "test.pads",
    "pad_count": "pads",
    "pad_area_mm2": "pad_area / (1 mm^2)",
    "tsv_count": "vias",
    "signal_count_stack": "signals",
}


def description(
    whole: Chip, nets: list[dict[str, Any]] | None, outputs: dict[str, str]
) -> list[str]:
    """The text that asks for all chips of a tree."""
    lines = ["edition 2026", "use peers.catch"]
    chips = list(whole.tree())
    names = {t.split(":")[1] for c in chips for t in c.given["stackup"].split(",")}
    for name in sorted(names):
        lines += layer_lines(plain("layer_", name), TABLES["layers"][name])
    for name in sorted({c.given["wafer_process"] for c in chips}):
        lines += wafer_lines(plain("wafers_", name), TABLES["wafer_processes"][name])
    for name in sorted({c.given["assembly_process"] for c in chips}):
        lines += assembly_lines(plain("assembly_", name), TABLES["assembly_processes"][name])
    for name in sorted({c.given["test_process"] for c in chips}):
        lines += flow_lines(plain("test_", name), TABLES["tests"][name])
    for name in sorted({net["type"] for net in nets or []}):
        lines += cells_lines(name)
    lines += [*chip_lines(whole, nets), "evaluator asked {"]
    for place, chip in enumerate(chips):
        lines += [f"output o{place}_{n} = {chip.path}.{t}" for n, t in outputs.items()]
    return [*lines, "}"]


def tree_of(case: dict[str, Any]) -> Chip:
    """A case's tree of chips."""
    if "xml" not in case["input"]:
        pytest.skip("its design is not part of the case")
    return chip_of(ElementTree.fromstring(case["input"]["xml"]), case["output"])


def published(whole: Chip, outputs: dict[str, str]) -> dict[str, float]:
    """The published numbers of all chips of a tree, under the names of a description's outputs."""
    return {
        f"o{place}_{name}": chip.published[name]
        for place, chip in enumerate(whole.tree())
        for name in outputs
    }


@pytest.mark.parametrize("case", SYSTEMS)
def test_systems_are_theirs(case: dict[str, Any], tmp_path: Path) -> None:
    whole = tree_of(case)
    agree(run(description(whole, None, OUTPUTS), tmp_path), published(whole, OUTPUTS))


@pytest.mark.parametrize("case", SYSTEMS)
def test_pads_of_flat_systems_are_theirs(case: dict[str, Any], tmp_path: Path) -> None:
    whole, nets = tree_of(case), case["input"].get("netlist", [])
    if not is_flat(whole):
        pytest.skip("the pads of stacked chips are not described")
    agree(run(description(whole, nets, FLAT), tmp_path), published(whole, FLAT))
