"""COPA-GPU: the broken variant is found, and its remedy is accepted."""

import json
from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.main import main

SMALL = """edition 2026
#! An L3 of half the size on a die as small as its blocks allow.
use std.die: die, edge
use std.package: package
use vendor.packages: COPA_L3, MSM
die MSM_small : MSM {{
    width       = {width}
    area        = area_overhead * block_area
    l3.capacity = 240 MB
}}
package COPA_small : COPA_L3 {{
    die left : MSM_small
    die right : MSM_small {{
        uhb.edge  = edge.west
        side.edge = edge.east
    }}
}}
"""


def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], width: str) -> list[dict[str, str]]:
    path = tmp_path / "case.hw"
    path.write_text(SMALL.format(width=width), encoding="utf-8")
    main(["check", "--format", "json", str(path)])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [row for row in found if row["severity"] == "error"]


def test_an_l3_die_that_does_not_fit_its_shoreline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """240 MB take 302 mm^2: their 70 mm of edge do not hold five stacks and 28.7 mm of link."""
    found = told(tmp_path, capsys, "17 mm")
    assert found[0]["name"] == "die.shoreline"
    assert "78.71 mm" in found[0]["message"]


def test_a_longer_one_has_the_edge_and_not_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """10 mm wide it is 30 mm long: each edge takes what sits on it."""
    assert told(tmp_path, capsys, "10 mm") == []


def test_depthwise_convolutions_run_at_the_memorys_rate(tmp_path: Path) -> None:
    """3 x 3 windows over single channels: 2 bytes in and out for each number, 3.3 us and 88 %."""
    path = tmp_path / "ask.hw"
    path.write_text(
        """edition 2026
use std.execution
use std.operators
use vendor.nvidia: A100_SXM_80GB

evaluator ask {
    param n : real = 64 in 1 .. 100
    let o = convolution(
        batch_size = n,
        in_channels = 512,
        out_channels = 512,
        out_height = 14,
        out_width = 14,
        kernel_height = 3,
        groups = 512,
    )
    output time in us    = operator_time(o, A100_SXM_80GB)
    output work in MFLOP = o.flops
}
""",
        encoding="utf-8",
    )
    got = hwdsl.load(path, compiled=False).ask()
    moved = 2 * (2 * 64 * 14 * 14 * 512 + 512 * 9)
    assert float(got["time"]) == pytest.approx(3 + moved / (0.88 * 2.039e12) * 1e6, rel=1e-9)
    assert float(got["work"]) == pytest.approx(2 * 9 * 64 * 14 * 14 * 512 / 1e6)
