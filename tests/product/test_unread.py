"""A newcomer's machine: what is warned of changes nothing, and what changes something is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.cli.main import main
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.elaborate import elaborate
from hwdsl.elaborate.literals import VariedLiterals
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

# Eight GPUs on switches of their own, and two such nodes on a network: what the packages, the node
# and the cluster cost. Its author gave the GPUs' switches a price of 5 MUSD and saw no change.
MACHINE = """edition 2026
use std.cluster: cluster
use std.link: link
use std.node: accelerator, node
use std.topology: cable, rail_optimized, star, switch
use vendor.links: NDR400, SR4_400G, board_copper
use vendor.nodes: HGX_H100
use vendor.nvidia: H100_SXM_80GB
use vendor.switches: NVSwitch3, QM9700

accelerator my_gpu : H100_SXM_80GB {
    price     = 25 kUSD/unit
    mttf      = 80_000 h
}

switch nvswitch : NVSwitch3 { price = 5 MUSD/unit }

cable copper : board_copper { price = 20 USD/unit }

node tray : HGX_H100 {
    scale_up = star(
        endpoints = 8,
        planes = 4,
        links_per_plane = 4.5,
        switch_part = nvswitch,
        endpoint_cable = copper,
    )
    price    = 8 * gpu.price + 8 * nic.price + 60 kUSD/unit
    accelerator gpu[8] : my_gpu
    link nic[8]        : NDR400 { price = 1.5 kUSD/unit, mttf = 500_000 h }
}

switch ib : QM9700 { price = 36 kUSD/unit }

cable fibre : SR4_400G { price = 1280 USD/unit }

rail_optimized fabric {
    nodes = 16
    tiers = 2
    cable endpoint_cable : fibre
    cable switch_cable   : fibre
    switch switch_part   : ib
}

cluster big {
    scale_out  = fabric
    other_cost = 100 kUSD/unit
    node nodes[16] : tray
}

## What it costs.
evaluator cost {
    ## Price of a GPU.
    param gpu_price : unit_cost = 25 kUSD/unit in 1 kUSD/unit .. 100 kUSD/unit

    let it = big with { nodes.gpu.price = gpu_price }

    output node_price in kUSD/unit = it.nodes.price
    output network    in kUSD/unit = it.scale_out.cost
    output bandwidth  in GB/s      = it.nodes.network_bandwidth
}
"""


def warned(text: str) -> list[tuple[int, int]]:
    found = driver.findings(Source("machine.hw", text)).found
    assert not found.failed, [d.message for d in found.items]
    return [(d.span.start, d.span.end) for d in found.items if d.span and d.name == "unread-field"]


def literals(node: ast.Node) -> list[ast.Node]:
    if isinstance(node, ast.Number | ast.Quantity):
        return [node]
    return [found for child in children(node) for found in literals(child)]


def settings(node: ast.Node) -> list[ast.Assign]:
    own = [node] if isinstance(node, ast.Assign) else []
    return own + [found for child in children(node) for found in settings(child)]


def test_what_is_warned_of_changes_no_answer_and_the_rest_may() -> None:
    """Every number of the machine is doubled by itself: an independent oracle."""
    checked = driver.check(Source("machine.hw", MACHINE), Diagnostics())
    assert checked is not None
    info = driver.evaluators(checked)["cost"]

    def answers(varied: dict[ast.Node, float]) -> dict[str, float]:
        made = elaborate(checked, info, Diagnostics(), literals=VariedLiterals(varied))
        point = [p.default or 0.0 for p in made.params]
        return {name: float(v) for name, v in interpret(made.graph, point).outputs.items()}

    written = VariedLiterals()
    elaborate(checked, info, Diagnostics(), literals=written)
    before, places = answers({}), warned(MACHINE)
    moving = []
    for each in (s for item in checked.main.tree.items for s in settings(item)):
        numbers = {n: 2 * written.read.get(n, 1.0) for n in literals(each.value)}
        at = (each.path[0].span.start, each.path[-1].span.end)
        if numbers and answers(numbers) != before:
            moving.append(each.span.text.partition(" ")[0])
            assert at not in places, each.span.text
    # A test that varies nothing that matters would show nothing.
    assert {"price", "nodes", "tiers"} <= set(moving)


def test_the_newcomers_numbers_that_reach_nothing_are_told_of_at_their_lines() -> None:
    lines = {MACHINE.count("\n", 0, start) + 1 for start, _ in warned(MACHINE)}
    text = MACHINE.splitlines()
    told = {text[line - 1].split("=")[0].strip() for line in lines}
    assert "other_cost" in told
    assert not {"nodes", "tiers", "scale_out"} & told


def helps(text: str) -> dict[str, str | None]:
    """What is advised about each text that is unread, by its line."""
    lines, found = text.splitlines(), driver.findings(Source("machine.hw", text)).found.items
    return {
        lines[text.count("\n", 0, d.span.start)].strip(): d.help
        for d in found
        if d.span and d.name == "unread-field"
    }


def test_help_names_what_the_file_states_instead_and_what_it_would_have_to_read() -> None:
    switch = "switch nvswitch : NVSwitch3 { price = 5 MUSD/unit }"
    cable = "cable copper : board_copper { price = 20 USD/unit }"
    found = helps(MACHINE)
    for line in (switch, cable):
        assert "counts in `node.price`" in (found[line] or "")
        assert "`tray` states a `price` of its own" in (found[line] or "")
        assert "let it read `scale_up_price`" in (found[line] or "")
    read = MACHINE.replace("+ 60 kUSD/unit", "+ 60 kUSD/unit + scale_up_price")
    assert not {switch, cable} & set(helps(read))


def test_help_of_a_component_names_where_it_could_be_given() -> None:
    ib = "switch ib : QM9700 { price = 36 kUSD/unit }"
    given = "switch switch_part   : ib"
    assert ib not in helps(MACHINE)
    other = MACHINE.replace(given, "switch switch_part   : QM9700 { price = 30 kUSD/unit }")
    assert "give it as `switched.switch_part`" in (helps(other)[ib] or "")


def test_all_that_is_unread_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = "kind part { price : real, weight : real }\npart a { price = 2, weight = 3 }\n"
    allow = 'allow unread_field "for later"\n'
    Path("parts.hw").write_text("edition 2026\n" + parts + "part c { price = 1, weight = 2 }\n")
    Path("study.hw").write_text(
        "edition 2026\nuse parts: a, part\n" + allow + "part b { price = 2, weight = 3 }\n"
        "evaluator e { param x : real = 1 in 0 .. 9\n output y = x * a.price * b.weight }\n"
    )
    assert main(["check", "parts.hw", "study.hw", "--warnings"]) == 0
    assert "no warnings" in capsys.readouterr().out
    assert main(["check", "--unread", "study.hw", "parts.hw"]) == 0
    text = capsys.readouterr().out
    assert text.endswith("2 files: 3 unread\n")
    assert main(["check", "--unread", "study.hw", "parts.hw", "--format", "json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = sorted((f["labels"][0]["file"], f["message"].split("`")[1]) for f in found)
    assert told == [("parts.hw", "c"), ("parts.hw", "weight"), ("study.hw", "price")]
    assert main(["check", "--unread", "study.hw", "--format", "sarif"]) == 2
    Path("study.hw").write_text("edition 2026\nuse parts: gone\n")
    assert main(["check", "--unread", "study.hw"]) == 1
