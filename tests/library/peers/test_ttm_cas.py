"""Time to market and cost against ttm-cas's own numbers, all of them, and its tables."""

from math import inf
from typing import Any

import pytest
from reference import agree, cases, document, model

import hwdsl

TABLES = document("ttm_cas").get("parameters", {})
NO_TABLES = pytest.mark.skipif(
    not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/ttm_cas.json"
)


def table(name: str, nm: int) -> float:
    """A process's entry of one of their tables."""
    value: float = TABLES[name][TABLES["node_list_nm"].index(nm)]
    return value


def die_numbers(made: Any) -> dict[str, float]:
    return {
        "die_yield": made.working / 100,
        "dies_per_wafer": made.per_wafer,
        "raw_die_cost_usd": made.raw_cost,
        "good_die_cost_usd": made.good_cost,
    }


def outcome(given: dict[str, Any]) -> dict[str, float]:
    """What the model says to a case's input, under the names of its output."""
    ttm, node = model("ttm_cas"), f"N{given['node_nm']}"
    if "total_transistors" not in given:
        size = f"{given['die_area_mm2']!r} mm^2"
        return die_numbers(ttm.die(node=node, area=size, alpha=given.get("alpha", 3)))
    made = ttm.chips(
        node=node,
        total=f"{given['total_transistors']!r} tr",
        unique=f"{given['unique_transistors']!r} tr",
        chips=given["final_chips"],
        dies=given["dies_per_package"],
        engineers=given["engineers"],
        queue=f"{given['expected_fab_queue_weeks']!r} week",
        parallel=given.get("tapeout_parallel_factor", 1),
        wafer_rate=f"{given['wafers_per_hour']!r} h^-1",
        packaging_share=given["pack_test_ratio"],
        alpha=given.get("alpha", 3),
        as_published=True,
    )
    return die_numbers(made) | {
        "die_area_mm2": made.area,
        "tapeout_weeks": made.tapeout,
        "queue_weeks": made.waiting,
        "foundry_weeks": made.foundry,
        "osat_weeks": made.osat,
        "total_cost_usd": made.total_cost,
    }


@pytest.mark.parametrize("case", cases("ttm_cas"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    """Where no wafers are started theirs take 1e20 weeks, ours for ever."""
    wanted = {name: value if value < 1e19 else inf for name, value in case["output"].items()}
    found = outcome(case["input"])
    if case["input"].get("wafers_per_hour") == 0:
        found["queue_weeks"] = inf
    agree(found, wanted)


FIELDS = {
    "wafer_cost": ("wafer_cost_usd", "USD"),
    "density": ("transistor_density_Mtr_per_mm2", "Mtr/mm^2"),
    "defect_density": ("defect_density_per_mm2", "mm^-2"),
    "mask_set": ("mask_cost_usd", "USD"),
    "fab_latency": ("fab_latency_weeks", "week"),
    "blocks": ("ip_cost_usd", "USD"),
    "backend": ("backend_labor_per_gate_usd", "USD"),
    "difficulty": ("node_difficulty", "h/tr"),
    "wafer_rate": ("wafers_per_hour", "h^-1"),
}


@NO_TABLES
def test_every_process_is_theirs(tmp_path: Any) -> None:
    nodes = TABLES["node_list_nm"]
    assert {f"N{nm}" for nm in nodes} == set(model("ttm_cas").die.param("node").labels)
    lines = ["edition 2026", "use peers.ttm_cas", "evaluator asked {"]
    for nm in nodes:
        for name, (_, unit) in FIELDS.items():
            lines.append(f"output {name}_{nm} = N{nm}.{name} / (1 {unit})")
    path = tmp_path / "tables.hw"
    path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")
    found = hwdsl.load(path, compiled=False).asked()
    for nm in nodes:
        for name, (theirs, _) in FIELDS.items():
            value = getattr(found, f"{name}_{nm}")
            assert value == pytest.approx(table(theirs, nm), rel=1e-12), (nm, name)


def test_agility_is_one_over_the_derivative() -> None:
    chips = model("ttm_cas").chips
    slope = chips.gradient("time_to_market", wrt="wafer_rate")["time_to_market"]["wafer_rate"]
    assert chips().agility == pytest.approx(168 / abs(slope), rel=1e-9)  # hours of a week


def test_dies_share_a_package() -> None:
    one, four = model("ttm_cas").chips(), model("ttm_cas").chips(dies=4)
    assert four.foundry - 18 == pytest.approx(4 * (one.foundry - 18), rel=1e-9)
    assert four.osat - 6 == pytest.approx(4 * (one.osat - 6), rel=1e-9)
    assert model("ttm_cas").chips(dies=4, as_published=True).osat == one.osat


def test_engineers_side_by_side() -> None:
    chips = model("ttm_cas").chips
    alone, half, all_of_it = (chips(parallel=p).tapeout for p in (0, 0.5, 1))
    assert alone == pytest.approx(100 * all_of_it, rel=1e-12)
    assert half == pytest.approx((alone + all_of_it) / 2, rel=1e-12)


def test_what_nobody_makes_is_not_feasible() -> None:
    assert not model("ttm_cas").chips(node="N10", wafer_rate="0 h^-1").feasible
    assert model("ttm_cas").chips(node="N10").violations == ["whole"]
