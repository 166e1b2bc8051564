"""Embodied and operational carbon against ACT 2.0's own numbers, all of them, and its tables."""

from typing import Any

import pytest
from reference import agree, cases, document, model

TABLES = document("act_carbon").get("parameters", {})
GASES = {"GPA95": "least", "GPA97": "usual", "GPA99": "best"}
NO_TABLES = pytest.mark.skipif(
    not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/act_carbon.json"
)


def node(name: str) -> str:
    """The library's name of a process: 7nm is N7."""
    return "N" + name.removesuffix("nm")


def number(text: str) -> float:
    return float(text.split()[0])


PREFIXES = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P"}
PREFIXES |= {"kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti", "pebi": "Pi"}
WORDS = {f"{word}byte": f"{short}B" for word, short in PREFIXES.items()} | {"byte": "B"}


def capacity(text: str) -> str:
    """A capacity in our unit: `80 GB`, which may read `80 gigabyte`."""
    amount, unit = text.split()
    return f"{amount} {WORDS.get(unit.removesuffix('s'), unit)}"


def outcome(given: dict[str, Any]) -> dict[str, float]:
    """What the model says to a case's input, under the names of its output."""
    act = model("act")
    if given["model"] == "logic":
        made = act.logic(
            process=node(given["process"]),
            fab=given.get("fab_ci", "taiwan"),
            treated=GASES[given.get("abatement", "GPA97")],
            area=f"{given['area_mm2']!r} mm^2",
            fab_yield=given.get("fab_yield", 0.875),
            packages=given.get("n_ics", 0),
        )
        return {"cpa_g_per_cm2": made.per_area, "total_gCO2": made.total * 1000}
    if given["model"] in ("dram", "ssd"):
        held = act.storage_embodied(
            store=given["process"],
            capacity=capacity(given["capacity"]),
            fab_yield=given.get("fab_yield", 0.875),
            packages=given.get("n_ics", 0),
        )
        return {"total_gCO2": held.total * 1000}
    used = act.operational(
        site=given["ci"],
        power=f"{given['power_w']!r} W",
        lifetime=f"{given['lifetime_years']!r} year",
        duty_cycle=given["duty_cycle"],
    )
    return {"total_gCO2": used.total * 1000}


@pytest.mark.parametrize("case", cases("act_carbon"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    agree(outcome(case["input"]), case["output"])


@NO_TABLES
def test_every_process_is_theirs() -> None:
    assert {node(n) for n in TABLES["epa"]} == set(model("act").logic.param("process").labels)
    for name, energy in TABLES["epa"].items():
        for gas, case in GASES.items():
            for fab in ("iceland", "india"):
                made = model("act").logic(
                    process=node(name), treated=case, fab=fab, fab_yield=1, packages=0
                )
                gases = number(TABLES["gpa"][gas][name]) + number(TABLES["mpa"][name])
                whole = number(energy) * number(TABLES["ci"][fab]) + gases
                assert made.per_area == pytest.approx(whole, rel=1e-12), (name, gas, fab)


@NO_TABLES
def test_every_store_and_grid_is_theirs() -> None:
    act, stores = model("act"), TABLES["dram"] | TABLES["ssd"]
    assert set(stores) == set(act.storage_embodied.param("store").labels)
    for name, value in stores.items():
        one = act.storage_embodied(store=name, capacity="1 GB", fab_yield=1, packages=0)
        assert one.total * 1000 == pytest.approx(number(value), rel=1e-12), name
    assert set(TABLES["ci"]) == set(act.operational.param("site").labels)
    for name, value in TABLES["ci"].items():
        used = act.operational(site=name, power="1 kW", lifetime="1 h", duty_cycle=1)
        assert used.total * 1000 == pytest.approx(number(value), rel=1e-12), name


def test_a_package_is_counted_once_for_each() -> None:
    logic = model("act").logic
    assert logic(packages=3).total - logic(packages=0).total == pytest.approx(0.45, rel=1e-9)
