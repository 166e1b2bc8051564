"""What links leave unsaid is unknown: a link of which little is known does not look quicker."""

from itertools import pairwise
from pathlib import Path

import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse

LINKS = Path(__file__).parents[2] / "library" / "vendor" / "links.hw"
FAMILIES = {
    "NVLink": ["NVLink1", "NVLink2", "NVLink3", "NVLink4", "NVLink5"],
    "xGMI": ["xGMI_MI100", "xGMI_MI250X", "xGMI_MI300X", "xGMI_MI355X"],
    "PCIe": ["PCIe3_x16", "PCIe4_x16", "PCIe5_x16", "PCIe6_x16"],
    "InfiniBand": ["EDR100", "HDR200", "NDR400", "XDR800"],
    "Ethernet": ["Ethernet100", "Ethernet400", "Ethernet800"],
}
# Of these nobody has published a measurement; the file says so for each.
UNMEASURED = {"Gaudi2_RoCE", "Gaudi3_RoCE", "NeuronLink3", "unstated_link"}
# What families have in common, without a rate.
SHARED = {"NVLink", "xGMI", "PCIe_x16", "network_port", "ICI"}


def declared() -> list[str]:
    diagnostics = Diagnostics()
    module = parse(Source(LINKS.name, LINKS.read_text(encoding="utf-8")), diagnostics)
    assert not diagnostics.items
    parts = [item for item in module.items if isinstance(item, ast.Part)]
    return [part.name.name for part in parts if part.kind.name == "link"]


def asked(folder: Path, outputs: str, before: str = "") -> hwdsl.Evaluator:
    path = folder / "ask.hw"
    head = "edition 2026\nuse std.link: link\nuse vendor.links\n"
    path.write_text(f"{head}{before}\nevaluator ask {{\n{outputs}\n}}\n", encoding="utf-8")
    return hwdsl.load(path, compiled=False).ask


def test_a_message_takes_no_longer_on_the_newer_link(tmp_path: Path) -> None:
    outputs = "".join(
        f" output {name}_{size} in us = {name}.message_time({size} B)\n"
        for names in FAMILIES.values()
        for name in names
        for size in (1, 1_000_000_000)
    )
    found = asked(tmp_path, outputs)()
    for names in FAMILIES.values():
        for old, new in pairwise(names):
            assert getattr(found, f"{old}_1") >= getattr(found, f"{new}_1"), (old, new)
            large = getattr(found, f"{old}_1000000000"), getattr(found, f"{new}_1000000000")
            assert large[0] > large[1], (old, new)


def test_every_link_says_what_messages_take_or_that_nobody_knows(tmp_path: Path) -> None:
    names = [name for name in declared() if name not in SHARED]
    assert len(names) >= 25
    outputs = "".join(
        f" output {name}_known = if known({name}.message_time(1 B)) then 1 else 0\n"
        for name in names
    )
    found = asked(tmp_path, outputs)()
    assert {n for n in names if not getattr(found, f"{n}_known")} == UNMEASURED


@pytest.mark.parametrize("name", ["efficiency", "latency", "tdp", "shoreline", "max_domain_size"])
def test_what_is_not_said_of_a_link_is_not_free(name: str, tmp_path: Path) -> None:
    bare = "link bare { bandwidth_per_direction = 1 GB/s }"
    with pytest.raises(hwdsl.DescriptionError, match=f"bare.{name}"):
        asked(tmp_path, f" output it = 1 * bare.{name}", bare)


def test_a_ring_gets_no_more_than_a_message(tmp_path: Path) -> None:
    """xGMI's check sums take a quarter of the wire from collectives too."""
    path = tmp_path / "ask.hw"
    path.write_text(
        """edition 2026
use std.collectives: link_efficiency, path_type
use vendor.links: xGMI_MI300X, NVLink4, unstated_link

evaluator ask {
    output xgmi    = link_efficiency(path_type.point_to_point, xGMI_MI300X)
    output nvlink  = link_efficiency(path_type.switched, NVLink4)
    output neither = link_efficiency(path_type.switched, unstated_link)
}
""",
        encoding="utf-8",
    )
    found = hwdsl.load(path, compiled=False).ask()
    assert found.xgmi == pytest.approx(0.75)
    assert found.nvlink == pytest.approx(found.neither)
    assert 0.75 < found.nvlink < 0.88
