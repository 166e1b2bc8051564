"""Carbon of making nodes and clusters: from parts, as far as there are figures."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.evaluator import DescriptionError, Result

HEAD = """edition 2026
#! Carbon of a node.
use std.node: node
use std.carbon: Taiwan_5nm, die_carbon
use vendor.nodes: DGX_A100, DGX_H100
use vendor.packages: H100_SXM
node made : DGX_H100 {
    gpu.fab           = Taiwan_5nm
    gpu.memory_carbon = 65 g/GB
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
    output die  in kg/unit = die_carbon(H100_SXM.gpu, Taiwan_5nm)
    output gpu  in kg/unit = made.gpu.embodied
    output node in kg/unit = made.parts_embodied
    output more in kg/unit = (made with { chassis_embodied = 500 kg/unit }).embodied
    output dimm in kg/unit = DGX_A100.parts_embodied
    output bonds           = H100_SXM.assembly_yield""",
    )
    # ACT: the die, 80 GB of memory, 150 g for the package and each of five stacks; all lost with
    # what bonds badly.
    assert found.gpu == pytest.approx((found.die + 80 * 0.065 + 6 * 0.150) / found.bonds, rel=1e-12)
    assert 20 < found.die < 35
    assert found.node == pytest.approx(8 * found.gpu, rel=1e-12)
    assert found.more == pytest.approx(found.node + 500, rel=1e-12)
    assert found.dimm == pytest.approx(32 * 64 * 0.065, rel=1e-12)  # its GPUs are not described


def test_what_has_no_figure_is_not_added_up(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="no figure for this chassis"):
        outputs(tmp_path, "output node in kg/unit = made.embodied")


def test_making_is_spread_over_the_years_of_use() -> None:
    study = Path(__file__).parents[2] / "library" / "studies" / "h100_cluster.hw"
    found = hwdsl.load(study, compiled=False).h100_cluster(lifetime="5 year")
    assert found.making == pytest.approx(1024 * found.embodied, rel=1e-12)
    hours = 5 * 365.25 * 24
    assert found.carbon_in_all == pytest.approx(found.carbon + found.making / hours, rel=1e-9)
