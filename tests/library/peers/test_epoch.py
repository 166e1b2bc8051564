"""The training cost against Epoch's own numbers, all of them. A chip's TDP is found by its name."""

from typing import Any

import pytest
from reference import agree, cases, model

PARAMS = {
    "chips": "chips",
    "hours": "duration [h]",
    "chip_price_usd": "price [USD]",
    "usd_per_kwh": "electricity [USD/kWh]",
    "pue": "pue",
    "tdp_fraction": "in_use",
    "chip_to_server_power": "server_power",
    "server_cost_overhead": "server_price",
    "ooms_per_year": "decades [year^-1]",
    "interconnect_fraction": "network",
}
OUTPUTS = {
    "energy_cost_usd": "energy",
    "power_capacity_kw": "capacity",
    "price_per_chip_hour_usd": "chip_rate",
    "amortised_server_usd": "servers",
    "interconnect_usd": "interconnect",
    "total_usd": "total",
    "usd_per_chip_hour_all_in": "all_in",
}


@pytest.mark.parametrize("case", cases("epoch_tco"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    training = model("epoch").training
    given = case["input"]
    words = given["hardware"].split()
    chips = [c for c in training.param("chip").labels if set(c.split("_")) <= set(words)]
    point: dict[str, object] = {"chip": max(chips, key=len)}
    for key, target in PARAMS.items():
        param, _, unit = target.partition(" [")
        point[param] = f"{given[key]!r} {unit.rstrip(']')}" if unit else given[key]
    result = training(**point)
    agree({key: getattr(result, OUTPUTS[key]) for key in case["output"]}, case["output"])


def test_shares_add_up() -> None:
    result = model("epoch").training(network="25 %", duration="100 h")
    assert result.interconnect == pytest.approx(result.servers / 3, rel=1e-12)
    assert result.total == pytest.approx(
        result.servers + result.interconnect + result.energy, rel=1e-12
    )
    assert result.all_in == pytest.approx(result.total / (16384 * 100), rel=1e-12)
