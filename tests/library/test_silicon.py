"""Wafers, yield, spare units and tests of dies, against closed forms and published models."""

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hwdsl

TEXT = """edition 2026
#! Questions about silicon.
use std.process: process, yield_model, dies_per_wafer_model, die_yield, dies_per_wafer
use std.die: die, unit_array
use vendor.processes: N5, N7, foundry_process

process plain : N7 {
    edge_exclusion    = 3 mm
    scribe_line       = 0 mm
    defect_density    = 0.1 cm^-2
    cluster_parameter = 3
    critical_layers   = 10
}

evaluator yields {
    param size     : area             = 100 mm^2  in 0 mm^2 .. 100000 mm^2
    param defects  : defects_per_area = 0.1 cm^-2 in 0 cm^-2 .. 10 cm^-2
    param alpha    : real             = 3         in 0.1 .. 100
    param layers   : int              = 10        in 1 .. 100
    param critical : real             = 1         in 0 .. 1
    choice law : yield_model in [poisson, murphy, seeds, negative_binomial, bose_einstein] = poisson
    output y = die_yield(
        size,
        process = plain with {
            defect_density         = defects
            yield_model            = law
            cluster_parameter      = alpha
            critical_layers        = layers
            critical_area_fraction = critical
        },
    )
}

evaluator counts {
    param width  : length = 10 mm  in 0.1 mm .. 300 mm
    param height : length = 10 mm  in 0.1 mm .. 300 mm
    param wafer  : length = 300 mm in 50 mm .. 450 mm
    param edge   : length = 3 mm   in 0 mm .. 20 mm
    param street : length = 0.1 mm in 0 mm .. 1 mm
    choice how : dies_per_wafer_model in [
        area_ratio,
        edge_loss,
        exponential,
        row_packed,
    ] = area_ratio
    output dies in unit = dies_per_wafer(
        width,
        height,
        process = plain with {
            wafer_diameter       = wafer
            edge_exclusion       = edge
            scribe_line          = street
            dies_per_wafer_model = how
        },
    )
}

die chip {
    process = plain
    area    = 800 mm^2
    unit_array cores { units = 144, required_units = 132, unit_area = 4 mm^2 }
}

evaluator harvest {
    param size     : area = 800 mm^2 in 10 mm^2 .. 858 mm^2
    param built    : int  = 144      in 1 .. 200
    param asked    : int  = 132      in 1 .. 200
    param each     : area = 4 mm^2   in 0.01 mm^2 .. 100 mm^2
    param coverage : real = 1        in 0 .. 1
    param saved    : real = 1        in 0 .. 1
    choice law : yield_model in [poisson, murphy, seeds, negative_binomial] = poisson
    let d = chip with {
        area                      = size
        process.yield_model       = law
        test_coverage             = coverage
        test_time                 = 10 s
        cores.units               = built
        cores.required_units      = asked
        cores.unit_area           = each
        cores.repairable_fraction = saved
    }
    output sold      = d.yield
    output perfect   = d.full_unit_yield
    output harvested = d.harvested_fraction
    output passing   = d.test_yield
    output quality   = d.kgd_fraction
    output raw       in USD/unit = d.raw_die_cost
    output test      in USD/unit = d.test_cost
    output cost      in USD/unit = d.cost
}

evaluator actuary {
    param size    : area             = 100 mm^2  in 1 mm^2 .. 2000 mm^2
    param price   : money            = 10 kUSD   in 0 USD .. 100 kUSD
    param defects : defects_per_area = 0.1 cm^-2 in 0 cm^-2 .. 10 cm^-2
    param design  : money            = 1 GUSD    in 0 USD .. 10 GUSD
    let d = die(process = N7, area = 1 mm^2) with {
        area                   = size
        width                  = sqrt(size)
        process.wafer_price    = price
        process.defect_density = defects
        process.design_nre     = design
        test_time              = 0 s
    }
    output die_yield           = d.yield
    output dies_per_wafer      in unit     = d.gross_dies_per_wafer
    output good_dies_per_wafer in unit     = d.gross_dies_per_wafer * d.yield
    output raw_die_usd         in USD/unit = d.raw_die_cost
    output known_good_die_usd  in USD/unit = d.cost
    output defect_usd          in USD/unit = d.die_defect_cost
    output chip_NRE_usd        in USD      = d.chip_nre
}
"""


@pytest.fixture(scope="module")
def silicon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("silicon") / "silicon.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


LAWS = {
    "poisson": lambda x, a, n: math.exp(-x),
    "murphy": lambda x, a, n: ((1 - math.exp(-x)) / x) ** 2,
    "seeds": lambda x, a, n: 1 / (1 + x),
    "negative_binomial": lambda x, a, n: (1 + x / a) ** -a,
    "bose_einstein": lambda x, a, n: (1 + x) ** -n,
}


@pytest.mark.parametrize("law", LAWS)
def test_yield_models(silicon: Any, law: str) -> None:
    for size, defects, alpha, layers, critical in [(814, 0.1, 3, 10, 1), (50, 0.5, 10, 2, 0.6)]:
        found = silicon.yields(
            size=f"{size} mm^2",
            defects=defects,
            alpha=alpha,
            layers=layers,
            critical=critical,
            law=law,
        ).y
        assert found == pytest.approx(
            LAWS[law](size / 100 * defects * critical, alpha, layers), rel=1e-12
        )
    assert silicon.yields(defects=0, law=law).y == 1


def test_laws_stand_in_their_known_order(silicon: Any) -> None:
    """Poisson is the most pessimistic, Seeds the least; a large alpha approaches Poisson."""
    at = {law: silicon.yields(size="814 mm^2", law=law).y for law in list(LAWS)[:4]}
    assert at["poisson"] < at["murphy"] < at["negative_binomial"] < at["seeds"]
    near = silicon.yields(size="814 mm^2", law="negative_binomial", alpha=100).y
    assert near == pytest.approx(at["poisson"], rel=0.01)


def packed(wide: float, high: float, radius: float) -> int:
    """Whole dies in rows about the middle of a circle, by looking for the longest run that fits."""
    rows = math.floor(2 * radius / high)
    total = 0
    for row in range(rows):
        bottom = row * high - rows * high / 2
        dies = 0
        while all(
            math.hypot((dies + 1) * wide / 2, y) <= radius * (1 + 1e-12)
            for y in (bottom, bottom + high)
        ):
            dies += 1
        total += dies
    return total


@pytest.mark.parametrize(("width", "height"), [(10, 10), (26, 33), (5, 20), (26, 31.3)])
def test_counts_of_dies(silicon: Any, width: float, height: float) -> None:
    sides = {"width": width, "height": height}
    wide, high, radius = width + 0.1, height + 0.1, 147.0
    ratio = math.pi * radius**2 / (wide * high)
    expected = {
        "area_ratio": ratio,
        "edge_loss": ratio - 2 * math.pi * radius / math.sqrt(2 * wide * high),
        "exponential": ratio * math.exp(-math.sqrt(wide * high) / radius),
        "row_packed": packed(wide, high, radius),
    }
    found = {how: silicon.counts(**sides, how=how).dies for how in expected}
    assert found == pytest.approx(expected, rel=1e-12)
    assert found["row_packed"] <= found["area_ratio"]


def test_published_counts_of_800_square_millimetres(silicon: Any) -> None:
    """Two tools' settings of the same formula: Chiplet Actuary says 58.8, ttm-cas 64.8."""
    side = math.sqrt(800)
    ask = {"width": side, "height": side, "how": "edge_loss"}
    assert silicon.counts(**ask, edge=5, street=0.2).dies == pytest.approx(58.8, abs=0.05)
    assert silicon.counts(**ask, edge=0, street=0).dies == pytest.approx(64.8, abs=0.05)


def share_sold(each: float, units: int, needed: int) -> float:
    return sum(
        math.comb(units, k) * each**k * (1 - each) ** (units - k) for k in range(needed, units + 1)
    )


@pytest.mark.parametrize("law", list(LAWS)[:4])
def test_spare_units(silicon: Any, law: str) -> None:
    it = silicon.harvest(law=law, saved=0.9)
    clean = LAWS[law](0.8, 3, 0)
    assert it.perfect == pytest.approx(clean, rel=1e-12)
    each = clean ** (4 * 0.9 / 800)
    rest = clean ** (1 - 144 * 4 * 0.9 / 800)
    assert it.sold == pytest.approx(rest * share_sold(each, 144, 132), rel=1e-9)
    assert it.harvested == pytest.approx(1 - it.perfect / it.sold, rel=1e-9)


@pytest.mark.parametrize("law", list(LAWS)[:4])
def test_without_spare_units_the_law_decides(silicon: Any, law: str) -> None:
    it = silicon.harvest(law=law, asked=144)
    assert it.sold == pytest.approx(it.perfect, rel=1e-12)
    assert it.harvested == pytest.approx(0, abs=1e-12)


def test_every_further_spare_unit_helps_less(silicon: Any) -> None:
    sold = [silicon.harvest(asked=144 - spare).sold for spare in range(6)]
    gains = [b - a for a, b in pairwise(sold)]
    assert all(g > 0 for g in gains)
    assert gains == sorted(gains, reverse=True)


def test_a_test_that_misses_dies_sells_bad_ones(silicon: Any) -> None:
    perfect, blind = silicon.harvest(asked=144), silicon.harvest(asked=144, coverage=0)
    half = silicon.harvest(asked=144, coverage=0.5)
    assert (perfect.quality, blind.quality) == (1, pytest.approx(blind.sold))
    assert half.passing == pytest.approx(1 - (1 - half.sold) * 0.5)
    assert half.quality == pytest.approx(half.sold / half.passing)
    assert blind.cost == pytest.approx(blind["raw"] + 0.06)
    for it in (perfect, half, blind):
        assert it.cost == pytest.approx((it["raw"] + 0.06) / it.passing)


QUARTERS = [("poisson", 1.84, 0.46), ("murphy", 1.75, 0.48), ("negative_binomial", 1.69, 0.50)]


@pytest.mark.parametrize(("law", "gain", "cost"), [*QUARTERS, ("seeds", 1.51, 0.56)])
def test_a_large_die_in_quarters(silicon: Any, law: str, gain: float, cost: float) -> None:
    """814 mm^2 whole and in four at 0.1 defects per cm^2: Lite-GPU's 1.8 times, half the cost."""
    whole = silicon.harvest(law=law, size=814, built=1, asked=1, each=1)
    quarter = silicon.harvest(law=law, size=814 / 4, built=1, asked=1, each=1)
    assert quarter.sold / whole.sold == pytest.approx(gain, abs=0.005)
    ratio = 4 * (quarter.cost - quarter.test) / (whole.cost - whole.test)
    assert ratio == pytest.approx(cost, abs=0.005)


def reference() -> dict[str, Any]:
    folder = os.environ.get("HWDSL_REFERENCE_DATA")
    path = Path(folder or "") / "cost_cases" / "chiplet_actuary_die.json"
    if not folder or not path.is_file():
        pytest.skip("HWDSL_REFERENCE_DATA holds no cost_cases/chiplet_actuary_die.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def test_dies_cost_what_chiplet_actuary_says(silicon: Any) -> None:
    content = reference()
    assert content["cases"]
    for case in content["cases"]:
        node = content["parameters"]["nodes"][case["input"]["node"]]
        found = silicon.actuary(
            size=case["input"]["area_mm2"],
            price=f"{node['wafer_cost_usd']} USD",
            defects=node["defect_density_per_cm2"],
            design=f"{node['NRE_300mm2_usd']} USD",
        )
        for name, value in case["output"].items():
            assert found.raw[name] == pytest.approx(value, rel=1e-9), (case["id"], name)


UNKNOWN = """edition 2026
use std.die: die, logic, sram
use vendor.processes: N3
die thin {
    process   = N3
    test_time = 0 s
    GIVEN
    logic cores { transistor_count = 50 Gtr }
    sram cache { capacity = 50 MB, bitcell_area = 0.021 um^2/b }
}
evaluator ask { output cost in USD/unit = thin.cost }
"""


def test_a_test_is_not_free_because_nobody_mentioned_it(tmp_path: Path) -> None:
    path = tmp_path / "untested.hw"
    text = UNKNOWN.replace("    test_time = 0 s\n", "").replace("GIVEN", "area = 300 mm^2")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(hwdsl.DescriptionError, match="state the test time per die"):
        hwdsl.load(path, compiled=False).ask()


def test_a_block_of_unknown_area_does_not_come_for_nothing(tmp_path: Path) -> None:
    """A die that follows from its blocks is unknown with one of them; a given area is not."""
    path = tmp_path / "thin.hw"
    path.write_text(UNKNOWN.replace("GIVEN", "area = 300 mm^2"))
    assert hwdsl.load(path, compiled=False).ask().cost > 0
    path.write_text(UNKNOWN.replace("GIVEN", ""))
    with pytest.raises(
        hwdsl.DescriptionError, match=r"`thin\.cores\.transistor_density` is not known"
    ):
        hwdsl.load(path, compiled=False).ask()
    path.write_text(UNKNOWN.replace("GIVEN", "area = 10 mm^2"))
    with pytest.raises(
        hwdsl.DescriptionError, match=r"the blocks of thin need 12 mm\^2 with overhead"
    ):
        hwdsl.load(path, compiled=False).ask()


WAFER = """edition 2026
use std.die: die
use vendor.accelerators: WSE_3_wafer
use std.process: dies_per_wafer_model
evaluator one {
    choice how : dies_per_wafer_model in [area_ratio, edge_loss, exponential, row_packed]
        = edge_loss
    param side : length = 215 mm in 100 mm .. 500 mm
    let d = WSE_3_wafer with {
        area                         = side^2
        width                        = side
        cores.unit_area              = side^2 / 970_000
        process.dies_per_wafer_model = how
    }
    output gross = d.gross_dies_per_wafer
    output yield = d.yield
    output cost in USD/unit = d.cost
}
"""


@pytest.mark.parametrize("how", ["area_ratio", "edge_loss", "exponential", "row_packed"])
def test_a_wafer_scale_die_is_one_per_wafer(tmp_path: Path, how: str) -> None:
    """WSE-3 costs its wafer and its test; Cerebras uses 900,000 of 970,000 cores (93 %)."""
    path = tmp_path / "one.hw"
    path.write_text(WAFER, encoding="utf-8")
    found = hwdsl.load(path, compiled=False).one(how=how)
    assert found.gross == 1
    assert found["yield"] == pytest.approx(1, abs=1e-6)
    assert found.cost == pytest.approx(16988 + 3600 * 0.006)


def test_a_die_wider_than_the_wafer_is_refused(tmp_path: Path) -> None:
    """However many fields it stitches: a twentieth from a corner, 0.673 sides reach 147 mm."""
    path = tmp_path / "one.hw"
    path.write_text(WAFER, encoding="utf-8")
    one = hwdsl.load(path, compiled=False).one
    for side, fits in [(200, True), (215, True), (218, True), (219, False), (300, False)]:
        assert one(side=f"{side} mm").feasible == fits, side
    # The square of WSE-3 as published, on N5 as it stands, whose rim is 5 mm.
    plain = WAFER.replace(
        "cores.unit_area ", "process.edge_exclusion = 5 mm\n        cores.unit_area "
    )
    path.write_text(plain, encoding="utf-8")
    assert hwdsl.load(path, compiled=False).one().feasible
    large = "die huge : WSE_3_wafer { area = 160000 mm^2, width = 400 mm, stitched_fields = 190 }\n"
    path.write_text(WAFER + large, encoding="utf-8")
    with pytest.raises(hwdsl.DescriptionError, match=r"die\.wafer"):
        hwdsl.load(path, compiled=False)


@pytest.mark.parametrize(("width", "height", "fit"), [(160, 100, 2), (200, 90, 2), (150, 60, 4)])
def test_large_dies_are_packed(silicon: Any, width: int, height: int, fit: int) -> None:
    """Few dies whose edge exceeds the wafer's radius, counted by hand in rows of one."""
    found = silicon.counts(width=f"{width} mm", height=f"{height} mm", how="edge_loss")
    assert found.dies == fit
