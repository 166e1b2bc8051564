"""Dies, repair and test cost against Google's own numbers. All outputs are compared."""

from typing import Any

import pytest
from reference import agree, cases, model

LAWS = {"Murphy": "murphy", "Bose Einstein": "bose_einstein"}
TEST = {
    "die_yield": ("yield", ""),
    "WSa($/hr)": ("sort_tester", " USD/h"),
    "WSh($/hr)": ("sort_handler", " USD/h"),
    "WSdi": ("sort_time", " s"),
    "WSci": ("sort_count", ""),
    "WSri": ("sort_retests", ""),
    "WSxi": ("sort_pass", ""),
    "FTa($/hr)": ("final_tester", " USD/h"),
    "FTh($/hr)": ("final_handler", " USD/h"),
    "FTdi": ("final_time", " s"),
    "FTci": ("final_count", ""),
    "FTri": ("final_retests", ""),
    "FTxi": ("final_pass", ""),
    "SLTa($/hr)": ("slt_tester", " USD/h"),
    "SLTh($/hr)": ("slt_handler", " USD/h"),
    "SLTdi": ("slt_time", " s"),
}


def die(given: dict[str, Any]) -> dict[str, float]:
    """What the tool says of a die."""
    pairs = zip(given["insertion_s"], given["sites"], strict=True)
    point = {
        "x": f"{given['die_x_mm']!r} mm",
        "y": f"{given['die_y_mm']!r} mm",
        "saw_street": f"{given['saw_street_mm']!r} mm",
        "wafer_diameter": f"{given['wafer_mm']!r} mm",
        "wafer_price": f"{given['wafer_price_usd']!r} USD",
        "defect_density": f"{given['defect_density_per_cm2']!r} cm^-2",
        "critical_layers": given.get("critical_layers_N", 1),
        "prober": f"{given['prober_rate_usd_hr']!r} USD/h",
        "probing": f"{sum(time / sites for time, sites in pairs)!r} s",
        "law": LAWS[given["yield_model"]],
    }
    right = model("google_chiplets").die(**point)
    shipped = model("google_chiplets").die(**point, as_published=True)
    assert right.working == pytest.approx(right.clean, rel=1e-12), "nothing can be repaired"
    assert "share" in shipped.violations, "more than all dies work, and nobody says so"
    return {
        "effective_area_mm2": right.effective_area,
        "gross_dies_per_wafer": right.per_wafer,
        "model_yield": right.clean / 100,
        "wafer_yield_as_coded_with_no_spares": shipped.raw.working / 100,
        "probe_cost_usd": right.probe,
        "unit_price_usd_with_model_yield": right.unit_price,
    }


def repair(given: dict[str, Any]) -> dict[str, float]:
    """The probability that all spares are used up; the die's other numbers do not matter."""
    result = model("google_chiplets").die(
        baseline=given["baseline"],
        spares=given["spares_k"],
        unit=f"{given['unit_area_mm2']!r} mm^2",
        defect_density=f"{given['defect_density_per_cm2']!r} cm^-2",
    )
    return {"rec_yield": result.used_up / 100}


def insertions(given: dict[str, Any]) -> dict[str, float]:
    """What the three tests cost."""
    named = {name: value for name, value in given.items() if name != "kind"}
    point = {TEST[k][0]: f"{v!r}{TEST[k][1]}" if TEST[k][1] else v for k, v in named.items()}
    result = model("google_chiplets").test_cost(**point)
    return {
        "wafer_sort_usd": result.wafer_sort,
        "final_test_usd": result.final_test,
        "slt_usd": result.system_test,
        "total_usd": result.total,
    }


@pytest.mark.parametrize("case", cases("google_chiplets"))
def test_reproduces(case: Any) -> None:
    given = case["input"]
    ask = {"test cost": insertions, "recoverable yield term": repair}.get(
        given.get("kind", ""), die
    )
    found = ask(given)
    assert set(found) == set(case["output"])
    agree(found, case["output"])


# --- the model on its own -----------------------------------------------------------------------


def test_spares_help_and_never_make_more_than_all() -> None:
    ask = model("google_chiplets").die
    units = {"baseline": 8, "unit": "20 mm^2", "x": "20 mm", "y": "20 mm"}
    none, one, many = (ask(**units, spares=k).working for k in (0, 1, 8))
    assert none < one < many < 100
    bare = ask(x="20 mm", y="20 mm")
    core = ask(baseline=8, unit="20 mm^2", spares=64).working
    assert bare.working < core


def test_binomial() -> None:
    """Two spares of four units that fail one time in five: 15 pairs of six, by hand."""
    ask = model("google_chiplets").die
    found = ask(baseline=4, spares=2, unit="20 mm^2", defect_density="1 cm^-2").used_up
    assert found == pytest.approx(100 * 15 * 0.2**2 * 0.8**4, rel=1e-12)


def test_units_must_fit() -> None:
    result = model("google_chiplets").die(baseline=50, unit="20 mm^2")
    assert "units" in result.violations
