"""Carbon of making nodes and clusters: from parts, as far as there are figures."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import DescriptionError, Result

HEAD = """edition 2026
#! Carbon of a node.
use std.node: node
use std.carbon:
    Taiwan_5nm, substrate_embodied_carbon, die_embodied_carbon, server_chassis,
    dimm_embodied_carbon, cpu_embodied_carbon
use vendor.nodes: DGX_A100, DGX_H100
use vendor.packages: H100_SXM
node made : DGX_H100 {
    gpu.fab                        = Taiwan_5nm
    gpu.memory_carbon_per_capacity = 65 g/GB
}
evaluator carbon {
    param nodes : int = 2 in 1 .. 9
"""


def outputs(tmp_path: Path, text: str) -> Result:
    path = tmp_path / "case.hw"
    path.write_text(HEAD + text + "\n}\n", encoding="utf-8")
    return hwdsl.load(path, compiled=False).carbon()


def test_a_node_is_at_least_its_accelerators_and_memory(tmp_path: Path) -> None:
    found = outputs(
        tmp_path,
        """
    output die  in kg/unit = die_embodied_carbon(H100_SXM.gpu, Taiwan_5nm)
    output gpu  in kg/unit = made.gpu.embodied_carbon
    output node in kg/unit = made.parts_embodied_carbon
    output more in kg/unit = (made with {
        chassis_embodied_carbon = 500 kg/unit
    }).embodied_carbon
    output dimm in kg/unit = DGX_A100.parts_embodied_carbon
    output bonds           = H100_SXM.assembly_yield
    output good            = H100_SXM.usable_substrate_fraction
    output area in mm^2    = H100_SXM.area
    output substrate in kg/unit = substrate_embodied_carbon(H100_SXM.loaded_substrate)""",
    )
    # An interposer without transistors (ECO-CHIP), on a substrate of four times its area.
    assert found.substrate == pytest.approx(
        found.area * (0.5675 * 8 + 4 * 0.32549) / 1000, rel=1e-9
    )
    # ACT: the die, 80 GB of memory, 150 g for the package and each of five stacks; all lost with
    # what bonds badly, and substrates that were bad before.
    mounted = found.die + 80 * 0.065 + 6 * 0.150 + found.substrate / found.good
    assert found.gpu == pytest.approx(mounted / found.bonds, rel=1e-12)
    assert 20 < found.die < 35
    assert found.node == pytest.approx(8 * found.gpu, rel=1e-12)
    assert found.more == pytest.approx(found.node + 500, rel=1e-12)
    assert found.dimm == pytest.approx(32 * 64 * 0.065, rel=1e-12)  # its GPUs are not described


def test_a_server_adds_up_from_its_parts(tmp_path: Path) -> None:
    """Boavizta's and ACT's factors: boards, coolers, supplies, disks, case; hosts and modules."""
    found = outputs(
        tmp_path,
        """
    let around = server_chassis(
        pcb_area = 0.5 m^2,
        heatsink_mass = 10 kg,
        psu_mass = 6 kg,
        ssd_count = 4,
        ssd_capacity = 2 TB,
    )
    let whole = made with {
        chassis_embodied_carbon = around.embodied_carbon
        cpu.embodied_carbon     = cpu_embodied_carbon(1600 mm^2)
        dimm.embodied_carbon    = dimm_embodied_carbon(64 GB, 1 GB / 33 mm^2)
    }
    output body in kg/unit = around.embodied_carbon
    output gpu  in kg/unit = whole.gpu.embodied_carbon
    output cpu  in kg/unit = whole.cpu.embodied_carbon
    output dimm in kg/unit = whole.dimm.embodied_carbon
    output node in kg/unit = whole.embodied_carbon""",
    )
    heavy = 10 * 5.7412 + 6 * 24.3
    disks = 4 * (2000 * 0.0063 + 6.34)
    boards = 66.1 + 5000 * 0.032549
    assert found.body == pytest.approx(boards + heavy + disks + 150 + 6.68, rel=1e-12)
    assert found.cpu == pytest.approx(16 * 1.97 + 9.14, rel=1e-12)
    assert found.dimm == pytest.approx(64 * 0.33 * 2.2 + 5.22, rel=1e-12)
    assert found.node == pytest.approx(
        8 * found.gpu + 2 * found.cpu + 32 * found.dimm + found.body, rel=1e-12
    )


def test_a_substrate_without_a_figure_leaves_its_package_unknown(tmp_path: Path) -> None:
    study = tmp_path / "plain.hw"
    study.write_text(
        """edition 2026
#! A substrate of which little is known.
use std.carbon: Taiwan_5nm, package_embodied_carbon
use std.package: substrate
use vendor.packages: H100_SXM

substrate plain {
    substrate_area_ratio = 1
    max_area             = 3000 mm^2
    min_bump_pitch       = 40 um
    fine_pitch           = true
    bonding_yield        = 1
}

evaluator carbon {
    param stacks : int = 5 in 1 .. 6
    output gpu in kg/unit = package_embodied_carbon(
        H100_SXM with { substrate = plain, hbm.count = stacks },
        Taiwan_5nm,
        0.3 kg/GB,
    )
}
""",
        encoding="utf-8",
    )
    with pytest.raises(DescriptionError, match="no figure for this substrate"):
        hwdsl.load(study, compiled=False).carbon()


def test_what_has_no_figure_is_not_added_up(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="no figure for this chassis"):
        outputs(tmp_path, "output node in kg/unit = made.embodied_carbon")


def test_making_is_spread_over_the_years_of_use() -> None:
    study = Path(__file__).parents[2] / "library" / "studies" / "h100_cluster.hw"
    found = hwdsl.load(study, compiled=False).h100_cluster(depreciation_period="5 year")
    assert found.embodied_carbon_lower_bound == pytest.approx(
        128 * found.node_embodied_carbon, rel=1e-12
    )
    assert found.node_embodied_carbon > 8 * found.gpu_embodied_carbon
    hours = 5 * 365.25 * 24
    assert found.total_carbon_rate == pytest.approx(
        found.operational_carbon_rate + found.embodied_carbon_lower_bound / hours, rel=1e-9
    )
