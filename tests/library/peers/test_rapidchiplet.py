"""Meshes of chiplets against RapidChiplet's own numbers.

Compared: all outputs. The tool's interposer power is always zero: there are no routers on it in
these cases. Its PHYs lie 0.6 mm inside the middle of each edge, as all published lengths say; of
its links' power nothing is in its outputs.
"""

from typing import Any

import pytest
from reference import agree, cases, model


def point_of(given: dict[str, Any]) -> dict[str, object]:
    """The params of a case. Each case has one technology for chiplets and one for interposers."""
    (fab,) = given["technology"].values()
    # Without an interposer its technology does not matter.
    (carrier,) = given.get("interposer_technology", given["technology"]).values()
    held = given["packaging"]
    rows, columns = (int(n) for n in given["mesh"].split("x"))
    return {
        "rows": rows,
        "columns": columns,
        "side": f"{given['chiplet_side_mm']!r} mm",
        "spacing": f"{given['spacing_mm']!r} mm",
        "power": f"{given['chiplet_power_w']!r} W",
        "wafer_radius": f"{fab['wafer_radius']!r} mm",
        "wafer_price": f"{fab['wafer_cost']!r} USD",
        "defects": f"{fab['defect_density']!r} mm^-2",
        "interposer_radius": f"{carrier['wafer_radius']!r} mm",
        "interposer_price": f"{carrier['wafer_cost']!r} USD",
        "interposer_defects": f"{carrier['defect_density']!r} mm^-2",
        "packaging_yield": held["packaging_yield"],
        "bump_pitch": f"{held['bump_pitch']!r} mm",
        "overhead": held["non_data_wires"],
        "power_bumps": given["fraction_power_bumps"],
        "phy_share": given["fraction_bump_area_per_phy"],
        "has_interposer": held["has_interposer"],
    }


def die(found: Any, part: str, parts: str) -> dict[str, float]:
    """What the tool says of a die, by its names."""
    count, share = found[f"{parts}_per_wafer"], found[f"{part}_yield"] / 100
    return {
        "cost": found[f"{part}_cost"],
        "dies_per_wafer": count,
        "manufacturing_yield": share,
        "known_good_dies": count * share,
    }


@pytest.mark.parametrize("case", cases("rapidchiplet"))
def test_reproduces(case: Any) -> None:
    given, wanted = case["input"], case["output"]
    found = model("rapidchiplet").mesh_package(**point_of(given), as_published=True)
    agree({"cost": found.cost}, {"cost": wanted["cost"]["total_cost"]})
    agree(die(found, "interposer", "interposers"), wanted["cost"]["interposer"])
    for chiplet in wanted["cost"]["chiplets"].values():
        agree(die(found, "chiplet", "chiplets"), chiplet)
    area = {
        "chip_width": found.width,
        "chip_height": found.height,
        "total_chiplet_area": found.silicon,
        "total_interposer_area": found.area,
    }
    agree(area, wanted["area"])
    agree(
        {
            "total_power": found.total_power,
            "total_chiplet_power": found.total_power,
            "total_interposer_power": 0,
        },
        wanted["power"],
    )
    width = dict(wanted["link_bandwidth_bits_per_cycle"])
    (links,) = width.pop("histogram").values()
    agree(dict.fromkeys(width, found.link_width) | {"links": found.links}, width | {"links": links})
    length = {k: v for k, v in wanted["link_length_mm"].items() if k != "histogram"}
    agree(dict.fromkeys(length, found.link_length), length)
    for value, count in wanted["link_length_mm"].get("histogram", {}).items():
        assert (round(found.link_length, 3), found.links) == (float(value), count)
    assert set(wanted) == {
        "cost",
        "area",
        "power",
        "link_bandwidth_bits_per_cycle",
        "link_length_mm",
    }


def test_links_take_power() -> None:
    evaluator = model("rapidchiplet").mesh_package
    right = evaluator(rows=4, columns=4, link_power="2 W")
    shipped = evaluator(rows=4, columns=4, link_power="2 W", as_published=True)
    assert right.total_power - shipped.total_power == pytest.approx(48)


def test_a_mesh_too_large_is_refused() -> None:
    evaluator = model("rapidchiplet").mesh_package
    assert evaluator(rows=40, columns=40).violations == ["made.interposer"]
    assert not evaluator(rows=40, columns=40, has_interposer=False).violations
    assert evaluator(phy_share=0.0005).violations == ["made.wires"]
