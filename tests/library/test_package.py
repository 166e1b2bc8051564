"""Packages: what they cost against a published model, and how assembly, order and tests enter."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hwdsl

TEXT = """edition 2026
#! Questions about packages.
use std.process: process
use std.d2d: d2d_port, d2d_link
use std.die: die, unit_array
use std.memory: memory
use std.package: package, die_stack, substrate, interposer, assembly_order
use vendor.processes: N5, N7, interposer_65
use vendor.substrates: organic_substrate, InFO, RDL_interposer, CoWoS_S
use vendor.memories: HBM3
use vendor.d2d: UCIe_3D

package several {
    substrate = organic_substrate
    test_time = 0 s
    die chip[4] { process = N7, area = 100 mm^2, test_time = 0 s }
}

## Silicon with the defects of the published model.
interposer actuary_silicon : CoWoS_S {
    process = interposer_65 with { defect_density = 0.06 cm^-2, critical_area_fraction = 1 }
}

## Chiplets of one design, as the published model has them.
evaluator assembled {
    param size    : area             = 100 mm^2   in 1 mm^2 .. 2000 mm^2
    param chips   : int              = 4          in 1 .. 64
    param price   : money            = 10 kUSD    in 0 USD .. 100 kUSD
    param defects : defects_per_area = 0.1 cm^-2  in 0 cm^-2 .. 10 cm^-2
    param bonds   : real             = 0.99       in 0 .. 1
    param known   : real             = 1          in 0 .. 1
    param work    : unit_cost        = 0 USD/unit in 0 USD/unit .. 10 USD/unit
    choice on : substrate in [
        organic_substrate,
        InFO,
        RDL_interposer,
        actuary_silicon,
    ] = organic_substrate
    let p = several with {
        substrate = on with {
            bonding_yield                  = bonds
            package_substrate_layer_factor = 1
            bonding_price                  = work / 1 mm^2
        }
        chip.count                  = chips
        chip.area                   = size
        chip.width                  = sqrt(size)
        chip.process.wafer_price    = price
        chip.process.defect_density = defects
        chip.test_coverage          = known
        chip.production_volume      = max(4, chips) * 1 Munit
        chip.process.design_nre     = 300 MUSD
        production_volume           = 1 Munit
    }
    output raw_chips_usd in USD/unit = sum(d.raw_die_cost * d.count for d in p.parts.die)
        + p.microbump_cost
    output chip_defect_usd in USD/unit = sum(d.die_defect_cost * d.count for d in p.parts.die)
    output raw_package_usd in USD/unit = p.raw_substrate_cost + p.package_substrate_cost
    output package_defect_usd in USD/unit = p.substrate_defect_cost
        + p.package_substrate_defect_cost
    output wasted_KGD_usd             in USD/unit = p.wasted_kgd_cost
    output total_RE_usd               in USD/unit = p.cost
    output package_substrate_area_mm2 in mm^2     = p.loaded_substrate.package_substrate_area
    output quality                    = p.kgd_fraction
    output assembly_yield             = p.assembly_yield
    output bonding_cost               in USD/unit = p.bonding_cost
    output kgd_loss                   in USD/unit = p.wasted_kgd_cost
    output terms in USD/unit = p.die_cost
        + p.memory_cost
        + p.microbump_cost
        + p.bonding_cost
        + p.raw_substrate_cost
        + p.package_substrate_cost
        + p.assembly_yield_loss
        + p.test_cost
    output die_share in USD/unit = p.die_nre_per_package
    output full      in USD/unit = p.cost_with_nre
    output design    in USD      = p.loaded_substrate.design_nre
}

die_stack tower {
    bond_pitch     = 9 um
    bond_pitch_min = 6 um
    bonding_yield  = 0.95
    tsv_count      = 100
    thermal_path   = true
    die base { process = N7, area = 200 mm^2, tdp = 0 W, test_time = 0 s }
    die top[2] { process = N5, area = 80 mm^2, tier = 1, tdp = 0 W, test_time = 0 s }
}

package high {
    substrate    = CoWoS_S
    test_time    = 0 s
    memory_sites = 6
    die_stack towers[2] : tower
    memory hbm[4]       : HBM3
}

## All that some makers publish.
package brief {
    tdp = 700 W
    memory hbm[5] : HBM3
}

evaluator published {
    param stacks : int = 5 in 1 .. 8
    let p = brief with { hbm.count = stacks }
    output power     in W    = p.tdp
    output bandwidth in GB/s = p.memory_bandwidth
    output priced    = if known(p.cost) then 1 else 0
}

die_stack tied : tower {
    base { d2d_port up { standard = UCIe_3D, area = 0.1 mm^2 } }
    top { count = 1, d2d_port down { standard = UCIe_3D, area = 0.1 mm^2 } }
    d2d_link l { a = base.up, b = top.down }
}

package bound : high { die_stack towers[2] : tied }

evaluator links {
    param loose : int = 0 in 0 .. 1
    let p = bound with { towers.base.up.tied_off = loose == 1 }
    output stack in W = p.towers.d2d_power
    output all   in W = p.d2d_power
    output tdp   in W = p.tdp
}

evaluator towers {
    param bond : real = 0.95 in 0 .. 1
    let p = high with { towers.bonding_yield = bond }
    output silicon   in mm^2     = p.silicon_area
    output mounted   in mm^2     = p.mounted_area
    output substrate in mm^2     = p.area
    output dies      = p.die_count
    output one_stack in USD/unit = p.towers.cost
    output of_dies   in USD/unit = p.towers.die_cost
    output all_dies  in USD/unit = p.die_cost
    output memory    in USD/unit = p.memory_cost
    output bandwidth in GB/s     = p.memory_bandwidth
    output capacity  in GB       = p.memory_capacity
}
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("packages") / "packages.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


SUBSTRATES = {
    ("OS", True): ("organic_substrate", 0.99),
    ("FO", True): ("RDL_interposer", 0.98),
    ("FO", False): ("InFO", 0.98),
    ("SI", True): ("actuary_silicon", 0.95),
}
COMPARED = [
    "raw_chips_usd",
    "chip_defect_usd",
    "raw_package_usd",
    "package_defect_usd",
    "wasted_KGD_usd",
    "total_RE_usd",
    "package_substrate_area_mm2",
]


def reference() -> dict[str, Any]:
    folder = os.environ.get("HWDSL_REFERENCE_DATA")
    path = Path(folder or "") / "cost_cases" / "chiplet_actuary_package.json"
    if not folder or not path.is_file():
        pytest.skip("HWDSL_REFERENCE_DATA holds no cost_cases/chiplet_actuary_package.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def test_packages_cost_what_chiplet_actuary_says(packages: Any) -> None:
    """But for equal chiplets on an interposer, of which the tool pays the bumps of one only."""
    content = reference()
    compared = 0
    for case in content["cases"]:
        asked, node = case["input"], content["parameters"]["nodes"][case["input"]["node"]]
        alike = asked["chiplets"] > 1 and not asked["distinct_chiplets"]
        if asked["packaging"] != "OS" and alike:
            continue
        name, bonding = SUBSTRATES[asked["packaging"], asked["chip_last"]]
        share = 1 + asked["d2d_overhead_fraction"]
        found = packages.assembled(
            size=asked["functional_area_mm2"] / asked["chiplets"] * share,
            chips=asked["chiplets"],
            price=f"{node['wafer_cost_usd']} USD",
            defects=node["defect_density_per_cm2"],
            bonds=bonding,
            on=name,
        )
        compared += 1
        for output in COMPARED:
            expected = pytest.approx(case["output"][output], rel=1e-9)
            assert getattr(found.raw, output) == expected, (case["id"], output)
    assert compared >= len(content["cases"]) / 2


@pytest.mark.parametrize("on", ["organic_substrate", "InFO", "RDL_interposer", "actuary_silicon"])
def test_the_terms_add_up(packages: Any, on: str) -> None:
    it = packages.assembled(on=on, work=0.1)
    assert it.terms == pytest.approx(it.total_RE_usd, rel=1e-12)


def test_bonding_is_paid_for_whether_it_succeeds_or_not(packages: Any) -> None:
    """A tenth of a dollar on each of 4 x 100 mm^2, for each package that is begun."""
    free, paid = packages.assembled(work=0), packages.assembled(work=0.1)
    assert paid.bonding_cost == pytest.approx(40)
    assert paid.kgd_loss - free.kgd_loss == pytest.approx(40 / free.assembly_yield - 40)
    assert paid.total_RE_usd - free.total_RE_usd == pytest.approx(40 / free.assembly_yield)


def test_the_order_decides_what_is_lost(packages: Any) -> None:
    """Chip-first, bad layers take good dies with them; chip-last, bad bonds do."""
    first = {"on": "InFO", "size": 300, "chips": 4}
    last = first | {"on": "RDL_interposer"}
    assert packages.assembled(**first).wasted_KGD_usd > packages.assembled(**last).wasted_KGD_usd
    steady = [packages.assembled(**first, bonds=b).assembly_yield for b in (0.9, 0.99)]
    falling = [packages.assembled(**last, bonds=b).assembly_yield for b in (0.9, 0.99)]
    assert steady[0] == steady[1]
    assert falling == pytest.approx([0.9**4 * 0.99, 0.99**4 * 0.99])


def test_untested_dies_spoil_packages(packages: Any) -> None:
    """Eight dies that are good with 0.95 each make 0.66 of the packages."""
    it = packages.assembled(chips=8, known=0, defects=0.0514, size=100).raw
    assert it.quality == pytest.approx(0.95**8, rel=2e-3)
    known = packages.assembled(chips=8, known=1, defects=0.0514, size=100)
    assert known.quality == 1
    assert it.assembly_yield == pytest.approx(it.quality * known.assembly_yield)
    assert it.wasted_KGD_usd > known.wasted_KGD_usd


def test_one_off_cost_is_shared_by_volume(packages: Any) -> None:
    """Four dies of a design made four million times bear a millionth of it in each package."""
    it = packages.assembled(size=300, chips=4)
    assert it.die_share == pytest.approx(4 * 300e6 / 4e6)
    assert it.full == pytest.approx(it.total_RE_usd + it.die_share + it.design / 1e6)


def test_stacks(packages: Any) -> None:
    it = packages.towers()
    assert it.silicon == pytest.approx(2 * (200 + 2 * 80))
    assert it.mounted == pytest.approx(2 * 200 + 6 * 110)
    assert it.substrate == pytest.approx(1.1 * it.mounted)
    assert it.dies == 6
    bonds = 2 * 80 * 0.1  # USD/mm^2 of what is bonded
    assert it.one_stack == pytest.approx((it.of_dies + bonds) / 0.95**2)
    assert it.all_dies == pytest.approx(2 * it.one_stack)
    assert (it.memory, it.bandwidth, it.capacity) == pytest.approx((4 * 240, 4 * 819.2, 64))
    assert packages.towers(bond=1).one_stack == pytest.approx(it.of_dies + bonds)


BRIDGED = """edition 2026
#! Packages with bridges below their dies.
use std.die: die
use std.memory: memory
use std.package: package, bridge
use vendor.processes: N5, N20
use vendor.substrates: EMIB, CoWoS_L, silicon_bridge
use vendor.memories: HBM3
die chip { process = N5, area = 400 mm^2, test_time = 0 s }
package alone { substrate = EMIB, test_time = 0 s, die d : chip, memory hbm[2] : HBM3 }
package pair : alone { d.count = 2 }

evaluator bridged {
    param memories : int = 2 in 1 .. 6
    param between  : int = 3 in 1 .. 9
    let one  = alone with { hbm.count = memories }
    let two  = pair with { hbm.count = memories, substrate.die_bridges = between }
    let bare = two with { substrate.die_bridges = 0 }
    let big  = two with { substrate = CoWoS_L }
    output bridge  in USD/unit = silicon_bridge.cost
    output single  in USD/unit = one.loaded_substrate.bridge_cost
    output double  in USD/unit = two.loaded_substrate.bridge_cost
    output wafer   in USD/unit = big.loaded_substrate.bridge_cost
    output added   in USD/unit = two.raw_substrate_cost - bare.raw_substrate_cost
    output good    = two.loaded_substrate.fabrication_yield
    output area    in mm^2     = pair.area
    output counted = if known(pair.cost) then 1 else 0
}
"""


def test_bridges_are_paid_for(tmp_path: Path) -> None:
    """One for each stack and those between dies; how many these are, EMIB itself does not say."""
    path = tmp_path / "bridged.hw"
    path.write_text(BRIDGED, encoding="utf-8")
    it = hwdsl.load(path, compiled=False).bridged(memories=4, between=5)
    # 25 mm^2 on a wafer of 3,677 USD: 2,500 to 2,800 of them, nearly all good.
    assert 3677 / 2800 < it.bridge < 3677 / 2200
    assert it.single == pytest.approx(4 * it.bridge)
    assert it.double == pytest.approx((4 + 5) * it.bridge)
    assert it.added == pytest.approx(5 * it.bridge)
    assert it.wafer == pytest.approx((2 * 4 + 4) * it.bridge)
    assert it.good == pytest.approx(0.999**9)
    assert it.counted == 0
    assert it.area == pytest.approx(4 * (2 * 400 + 2 * 110))


def test_a_package_of_which_little_is_known(packages: Any) -> None:
    it = packages.published(stacks=8)
    assert it.feasible
    assert (it.power, it.bandwidth) == pytest.approx((700, 8 * 819.2))
    assert it.priced == 0, "nobody has said what it is mounted on"


def test_connections_within_stacks_count(packages: Any) -> None:
    """15 TB/s each way at .05 pJ/b are 12 W in each of two stacks; a tied-off port stays free."""
    it = packages.links()
    assert it.feasible
    assert (it.stack, it.all) == pytest.approx((12, 24))
    assert it.tdp == pytest.approx(4 * 819.2e9 * 8 * 2.7e-12 + 24)
    assert packages.links(loose=1).violations == ["p.d2d_ports_connected"]
