"""Carbon of chiplets against ECO-CHIP's own numbers: all of all dies, and its tables.

Packaging is not compared, but that it draws no power: its floorplan is not described in full.
"""

import math
from typing import Any

import pytest
from reference import agree, cases, document, model

TABLES = document("ecochip").get("parameters", {})
KINDS = ("logic", "analog", "sram")


def shipped(case: dict[str, Any], name: str, **more: object) -> Any:
    """A die of a case's architecture, as the peer's program computes it."""
    given = case["input"]
    dies = {k: v for k, v in given["architecture"].items() if k != "pkg_type"}
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
        "as_shipped": True,
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


@pytest.mark.parametrize("case", cases("ecochip"))
def test_iterations_count_where_they_do_not_for_the_peer(case: dict[str, Any]) -> None:
    name = next(k for k in case["input"]["architecture"] if k != "pkg_type")
    rounds = case["input"]["designC"]["num_iter"]
    right = shipped(case, name, as_shipped=False)
    assert right.design * 1000 == pytest.approx(
        case["output"]["design_g"][name] * rounds / 90, rel=1e-9
    )
    assert right.manufacture != pytest.approx(shipped(case, name).manufacture, rel=1e-6)


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
