"""The bill of materials against the public sheet: every sum.

The sheet states no topology and its counts of switches follow no one rule, so a row is given the
topology that comes nearest from below, and spares; where its count is one that three or five
switches for 64 GPUs make, that fabric must have it. Rows of 4,096 and 8,192 GPUs take another price
of a node than the sheet states: they are compared at the price they take.
"""

from typing import Any

import pytest
from reference import agree, cases, model

OUTPUTS = {
    "gpus": "size",
    "switches": "switches",
    "facility_usd": "site",
    "nodes_usd": "machines",
    "switches_usd": "fabric",
    "cables_usd": "cables",
    "total_usd": "total",
}
TOPOLOGIES = ("direct", "star", "two_tiers", "three_tiers", "rails")


def point(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    return {
        "nodes": given["nodes"],
        "gpus": given["gpus_per_node"],
        "radix": given["switch_radix"],
        "node_price": f"{case['check']['node_price_implied']!r} USD",
        "switch_price": f"{given['switch_price_usd']!r} USD",
        "cable_price": f"{given['cable_usd_per_gpu']!r} USD",
        "site_price": f"{given['facility_ops_usd_per_node']!r} USD",
    }


def built(case: dict[str, Any]) -> dict[str, int]:
    """Switches of each topology that can hold the row."""
    bill, given = model("h100_bom").bill, point(case)
    found = {name: bill(join=name, **given) for name in TOPOLOGIES}
    return {name: round(r.needed) for name, r in found.items() if not r.violations}


@pytest.mark.parametrize("case", cases("h100_cluster_bom"))
def test_rows_sum(case: dict[str, Any]) -> None:
    bill, count = model("h100_bom").bill, case["output"]["switches"]
    can = {name: n for name, n in built(case).items() if n <= count} or {"direct": 0}
    nearest = max(can, key=lambda name: can[name])
    result = bill(join=nearest, spare=count - can[nearest], **point(case))
    agree({key: getattr(result, name) for key, name in OUTPUTS.items()}, case["output"])


@pytest.mark.parametrize("case", cases("h100_cluster_bom"))
def test_counts_belong_to_a_fabric_that_can_be_built(case: dict[str, Any]) -> None:
    can, count, check = built(case), case["output"]["switches"], case["check"]
    if count == check["switches_two_tier_3N_over_64"]:
        name = "two_tiers" if case["output"]["gpus"] <= 2048 else "rails"
        assert can.get(name, count) == count
    if count == check["switches_three_tier_5N_over_64"]:
        assert can["three_tiers"] == count
    assert ("two_tiers" in can) == (
        case["output"]["gpus"] <= check["two_tier_max_endpoints_k2_over_2"]
    )
    assert ("rails" in can) == (case["output"]["gpus"] <= check["eight_rail_planes_two_tier_max"])


@pytest.mark.parametrize("case", cases("h100_cluster_bom"))
def test_the_stated_price_of_a_node(case: dict[str, Any]) -> None:
    stated = case["input"]["node_price_usd"]
    given = point(case) | {"node_price": f"{stated!r} USD"}
    result = model("h100_bom").bill(**given)
    differs = case["check"]["node_price_implied"] != stated
    assert (result.raw.machines != pytest.approx(case["output"]["nodes_usd"], rel=1e-9)) == differs


@pytest.mark.parametrize(
    ("nodes", "switches"), [(1, 1), (4, 1), (5, 3), (8, 3), (9, 5), (12, 5), (256, 96)]
)
def test_switches_are_whole(nodes: int, switches: int) -> None:
    """Leaves of 32 ports down, and half as many above; one switch where 32 ports are enough."""
    assert model("h100_bom").bill(join="two_tiers", nodes=nodes).switches == switches


@pytest.mark.parametrize(("nodes", "switches"), [(5, 5), (8, 5), (9, 8), (12, 8), (8192, 5120)])
def test_three_tiers(nodes: int, switches: int) -> None:
    """As many aggregation switches as leaves, and half as many cores."""
    bill = model("h100_bom").bill(join="three_tiers", nodes=nodes)
    assert (bill.switches, list(bill.violations)) == (switches, [])


@pytest.mark.parametrize(
    ("join", "nodes"), [("direct", 2), ("star", 8), ("two_tiers", 256), ("three_tiers", 8192),
                        ("rails", 2048)],
)  # fmt: skip
def test_a_fabric_ends(join: str, nodes: int) -> None:
    bill = model("h100_bom").bill
    assert not bill(join=join, nodes=nodes).violations
    assert list(bill(join=join, nodes=nodes + 1).violations) == ["fits"]
