"""The cluster model against mlsysim 0.3.0's own numbers.

Compared: all outputs. The site's PUE is a given of an economics case, though among its outputs.
"""

from typing import Any

import pytest
from reference import agree, cases, model

# The inputs that make a kind of case: evaluator, its params by input, and its outputs by output.
FORMS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "component_mtbf_h": (
        "reliability",
        {"component_mtbf_h": "part_mtbf [h]", "n": "parts"},
        {"cluster_mtbf_h": "mtbf"},
    ),
    "gpu_mtbf_h": (
        "node_reliability",
        {
            "gpu_mtbf_h": "gpu_mtbf [h]",
            "n_gpus": "gpus",
            "nic_mtbf_h": "nic_mtbf [h]",
            "n_nics": "nics",
            "psu_mtbf_h": "psu_mtbf [h]",
            "n_psus": "psus",
        },
        {"node_mtbf_h": "mtbf"},
    ),
    "checkpoint_s": (
        "reliability",
        {"checkpoint_s": "checkpoint [s]", "mtbf_s": "part_mtbf [s]"},
        {"interval_s": "interval", "waste_at_interval": "waste"},
    ),
    "job_h": (
        "reliability",
        {"mtbf_h": "part_mtbf [h]", "job_h": "job [h]"},
        {"p": "failure"},
    ),
    "availability": (
        "reliability",
        {"availability": "availability", "n": "parts"},
        {"p": "all_up"},
    ),
    "radix": (
        "fabric",
        {"radix": "radix", "tiers": "tiers"},
        {"hosts": "hosts", "switches": "switches", "path_switches": "path"},
    ),
    "crossing_links": (
        "fabric",
        {
            "crossing_links": "crossing_links",
            "link_gbps": "link [Gb/s]",
            "oversub": "oversubscribed",
        },
        {"GBps": "bisection"},
    ),
    "comm_fraction": (
        "fabric",
        {"comm_fraction": "communicating", "ratio": "oversubscribed"},
        {"relative_throughput": "throughput", "lost": "lost"},
    ),
    "side": ("fabric", {"side": "side", "dims": "dimensions"}, {"links": "torus_links"}),
    "mfu": (
        "economics",
        {
            "accelerators": "accelerators",
            "unit_cost_usd": "price [USD]",
            "accelerator_tdp_w": "tdp [W]",
            "duration_days": "period [day]",
            "usd_per_kwh": "electricity [USD/kWh]",
            "mfu": "mfu",
            "amortization_years": "amortisation [365 day]",
            "infrastructure_multiplier": "multiplier",
            "pue": "pue",
        },
        {
            "capex_period_usd": "capex",
            "opex_energy_usd": "energy",
            "opex_maintenance_usd": "upkeep",
            "tco_usd": "total",
            "it_energy_kwh": "it_energy",
            "total_energy_kwh": "total_energy",
        },
    ),
}
DEFAULTS = {"parts": 1, "gpus": 0, "nics": 0, "psus": 0, "oversubscribed": 1}


def quantity(value: float, unit: str) -> object:
    """A number with the unit that the form states for its input."""
    if unit == "365 day":
        return f"{value * 365!r} day"
    return f"{value!r} {unit}" if unit else value


def normal(case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Inputs and outputs of a case; a pair of outputs gets names, the PUE becomes an input."""
    given = {k: v for k, v in case["input"].items() if k != "cluster"}
    wanted = dict(case["output"])
    if "relative_throughput_tuple" in wanted:
        pair = wanted.pop("relative_throughput_tuple")
        wanted |= {"relative_throughput": pair[0], "lost": pair[1]}
    if "pue" in wanted:
        given["pue"] = wanted.pop("pue")
    return given, wanted


@pytest.mark.parametrize("case", cases("mlsysim_cluster"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    given, wanted = normal(case)
    name, params, outputs = next(form for key, form in FORMS.items() if key in given)
    evaluator = getattr(model("mlsysim"), name)
    point = {p.name: DEFAULTS[p.name] for p in evaluator.spec.params if p.name in DEFAULTS}
    for key, value in given.items():
        param, _, unit = params[key].partition(" [")
        point[param] = quantity(value, unit.rstrip("]"))
    result = evaluator(**point)
    # Theirs is 1 - exp(-x), which is rounded at 1.
    rounded = 2.3e-16 if name == "reliability" else 0
    agree({key: getattr(result, outputs[key]) for key in wanted}, wanted, rounded=rounded)


def test_series_of_a_node() -> None:
    node = model("mlsysim").node_reliability
    assert node(psus=0).mtbf == pytest.approx(50000 * 3 / 32, rel=1e-12)
    assert node(nics=0, psus=0).mtbf == pytest.approx(50000 / 8, rel=1e-12)
    assert node(psus=0).mtbf > node().mtbf


def test_checkpoints_longer_than_the_time_between_failures_are_warned_of() -> None:
    result = model("mlsysim").reliability(part_mtbf="100 h", parts=10000, checkpoint="100 s")
    assert list(result.violations) == ["young"]
    assert not model("mlsysim").reliability().violations


def test_young_is_the_best_interval() -> None:
    """Waste at the interval is twice the share of writing: the two losses are equal there."""
    result = model("mlsysim").reliability(checkpoint="2 minute")
    assert result.waste == pytest.approx(2 * 120 / result.interval, rel=1e-12)


def test_an_odd_switch_is_warned_of() -> None:
    fabric = model("mlsysim").fabric
    assert list(fabric(radix=65).violations) == ["even"]
    assert fabric(radix=65).hosts == fabric(radix=64).hosts
    assert not fabric(radix=66).violations
