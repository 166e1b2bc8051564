"""Carbon of chiplets and their packages against ECO-CHIP's own numbers, all of them; its tables."""

import math
from pathlib import Path
from typing import Any

import pytest
from reference import agree, cases, document, model

import hwdsl

TABLES = document("ecochip").get("parameters", {})
KINDS = ("logic", "analog", "sram")


def shipped(case: dict[str, Any], name: str, **more: object) -> Any:
    """A die of a case's architecture, as the peer's program computes it."""
    given = case["input"]
    dies = chiplets(given)
    die, design = dies[name], given["designC"]
    point: dict[str, object] = {
        "node": f"N{die['node']}",
        "holds": die["type"],
        "area": f"{die['area']!r} mm^2",
        "package": f"{sum(d['area'] for d in dies.values())!r} mm^2",
        "power": f"{design['power']!r} W",
        "lifetime": f"{given['operationalC']['lifetime']!r} h",
        "iterations": design["num_iter"],
        "parts": design["num_prt_mfg"],
        "per_gate": design["Transistors_per_gate"],
        "core": f"{design['Power_per_core']!r} W",
        "grid": f"{design['Carbon_per_kWh']!r} g/kWh",
        "as_published": True,
    }
    return model("ecochip").chiplet(**(point | more))


@pytest.mark.parametrize("case", cases("ecochip"))
def test_dies_are_theirs(case: dict[str, Any]) -> None:
    output = case["output"]
    names = [name for name in output["manufacture_g"] if name != "Packaging"]
    assert set(names) == set(case["input"]["architecture"]) - {"pkg_type"}
    for name in names:
        die = shipped(case, name)
        found = {
            "manufacture_g": die.manufacture,
            "design_g": die.design,
            "operational_g": die.use,
            "total_g": die.total,
        }
        agree({k: v * 1000 for k, v in found.items()}, {k: output[k][name] for k in found})
    assert output["operational_g"]["Packaging"] == 0


CARRIERS = {"RDL": "rdl", "EMIB": "emib", "passive": "passive", "active": "active", "3D": "stacked"}


def assembly(given: dict[str, Any]) -> str:
    """A case's package as a user would write it."""
    held, design = given["packageC"], given["designC"]
    pieces = [
        f"""    piece piece{place} {{
        node  = N{die["node"]}
        holds = {die["type"]}
        area  = {die["area"]!r} mm^2
    }}"""
        for place, (_, die) in enumerate(chiplets(given).items())
    ]
    return f"""edition 2026
use peers.ecochip
use peers.ecochip_package
assembly asked_for {{
    carrier     = {CARRIERS[given["architecture"]["pkg_type"]]}
    interposer  = N{held["interposer_node"]}
    layers      = {held["rdl_layers"]!r}
    metals      = {held["num_beol"]!r}
    joint_pitch = {held["emib_pitch"]!r} mm
    via_pitch   = {held["tsv_pitch"]!r} mm
    via_size    = {held["tsv_size"]!r} mm
    iterations  = {design["num_iter"]!r}
    units       = {design["num_prt_mfg"]!r}
    per_gate    = {design["Transistors_per_gate"]!r}
    core        = {design["Power_per_core"]!r} W
    grid        = {design["Carbon_per_kWh"]!r} g/kWh
{chr(10).join(pieces)}
}}
evaluator asked {{
    choice as_published : bool in [false, true] = false
    let made = asked_for with {{ as_published = as_published }}
    output manufacture in g  = made.manufacture
    output design      in g  = made.design
}}
"""


def chiplets(given: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in given["architecture"].items() if k != "pkg_type"}


@pytest.mark.parametrize("case", cases("ecochip"))
def test_packages_are_theirs(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "package.hw"
    path.write_text(assembly(case["input"]), encoding="utf-8")
    asked = hwdsl.load(path, compiled=False).asked
    found = asked(as_published=True)
    assert not set(found.violations) - {"made.roomy"}
    agree(
        {
            "manufacture_g": found.manufacture,
            "design_g": found.design,
            "total_g": found.manufacture + found.design,
        },
        {k: case["output"][k]["Packaging"] for k in ("manufacture_g", "design_g", "total_g")},
    )
    several = len(chiplets(case["input"])) > 1
    if several and case["input"]["architecture"]["pkg_type"] in ("RDL", "passive"):
        assert 0 < asked().manufacture < found.manufacture


@pytest.mark.parametrize("case", cases("ecochip"))
def test_iterations_count_where_they_do_not_for_the_peer(case: dict[str, Any]) -> None:
    name = next(k for k in case["input"]["architecture"] if k != "pkg_type")
    rounds = case["input"]["designC"]["num_iter"]
    right = shipped(case, name, as_published=False)
    assert right.design * 1000 == pytest.approx(
        case["output"]["design_g"][name] * rounds / 90, rel=1e-9
    )
    assert right.manufacture != pytest.approx(shipped(case, name).manufacture, rel=1e-6)


def test_a_floorplan_of_three() -> None:
    """By hand: the smallest and the largest in one half, and the third beside them."""
    package = model("ecochip_package").package
    small, middle, large = 92.03, 58.78 * 1.902779873, 425.01
    low, high = (small / 2) ** 0.5, (large / 2) ** 0.5
    width = 2 * high + 0.5 + (middle / 2) ** 0.5
    height = max(low + 0.5 + high, 2 * (middle / 2) ** 0.5)
    assert package().base == pytest.approx(width * height, rel=1e-12)
    assert package().joints == 2 + 2
    right, theirs = (package(carrier="stacked", as_published=s).manufacture for s in (False, True))
    assert right < theirs
    assert package(carrier="active").design == 0


@pytest.mark.skipif(not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/ecochip.json")
def test_tables_are_theirs() -> None:
    nodes = [f"N{n}" for n in TABLES["node_order"] if isinstance(n, int)]
    ask = model("ecochip").chiplet
    assert set(nodes) == set(ask.param("node").labels)
    for i, node in enumerate(nodes):
        for kind in KINDS:
            at = {"node": node, "holds": kind, "area": "2 mm^2", "package": "2 mm^2"}
            still, moving = ask(**at, activity=1), ask(**at, activity=0)
            scaling = TABLES[f"{kind}_scaling"]
            agree(
                {
                    "area": still.silicon / 2,
                    "power": still.use / (17520 * 0.667 * 0.225 * 0.1 * 0.7),
                    "dynamic": 1 - moving.use / still.use,
                    "good": (still.good**-0.1 - 1) * 10 / still.silicon * 100,
                    "transistors": still.design / still.silicon * 8 / 0.7 * 1e8,
                },
                {
                    "area": scaling["area"][i],
                    "power": scaling["power"][i],
                    "dynamic": TABLES["dyn_pwr_scaling"]["dyn_pwr_ratio"][i],
                    "good": TABLES["defect_density"]["defect_density"][i],
                    "transistors": TABLES["transistors_scaling"]["Transistors_per_mm2"][i]
                    / TABLES["gates_perhr_scaling"]["Gates_per_hr_per_core"][i]
                    * 1e3,
                },
                rel=1e-8,
            )
        made = ask(node=node, holds="logic", area="10 mm^2")
        dies = math.floor(
            math.pi * 150**2 / made.silicon - math.pi * 300 / (2 * made.silicon) ** 0.5
        )
        spent = made.silicon / made.good + math.pi * 150**2 / dies - made.silicon
        carbon = TABLES["cpa_scaling"]["cpa"][i]
        assert made.manufacture * 1000 == pytest.approx(carbon * spent, rel=1e-9)


def test_what_does_not_fit_is_said() -> None:
    result = model("ecochip").chiplet(area="20000 mm^2", node="N28", wafer="100 mm")
    assert "fits" in result.violations
