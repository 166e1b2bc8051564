"""Topologies of std against graphs that are built edge by edge, and against published sizes."""

from collections import deque
from collections.abc import Iterable
from itertools import combinations, product
from math import ceil, prod
from pathlib import Path

import pytest

import hwdsl

HEAD = """edition 2026
use std.topology

cable wire {
    bandwidth_per_direction = 400 Gb/s
    reach                   = 100 m
    length                  = 2 m
    price                   = 100 USD/unit
    energy_per_bit          = 100 pJ/B
}

switch box {
    radix                   = 64
    bandwidth_per_direction = 400 Gb/s
    latency                 = 300 ns
    power                   = 1 kW
    price                   = 36 kUSD/unit
}
"""
ASKED = [
    "ports_per_endpoint",
    "switches",
    "switch_ports_used",
    "endpoint_cables",
    "switch_cables",
    "bisection_links",
    "diameter",
    "switch_hops",
]


def counts(tmp_path: Path, kind: str, fields: str, radix: int = 64) -> dict[str, int]:
    cables = "cable endpoint_cable : wire\n cable switch_cable : wire\n"
    parts = cables + (
        ""
        if kind in ("ring", "full_mesh", "torus")
        else f"switch switch_part : box {{ radix = {radix} }}\n"
    )
    text = f"{HEAD}{kind} net {{\n {parts} {fields}\n}}\nevaluator ask {{\n"
    text += "".join(f" output {n} : real = net.{n}\n" for n in [*ASKED, "endpoints"])
    path = tmp_path / "net.hw"
    path.write_text(text + "}\n")
    result = hwdsl.load(path, compiled=False).ask()
    return {n: int(result[n]) for n in [*ASKED, "endpoints"]}


Edge = tuple[object, object]


def longest(edges: Iterable[Edge]) -> int:
    """Edges on the longest of the shortest ways, by search from every node of a graph."""
    near: dict[object, list[object]] = {}
    for a, b in edges:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    ends = [n for n in near if not (isinstance(n, tuple) and n[0] == "switch")]
    found = 0
    for start in ends:
        far, todo = {start: 0}, deque([start])
        while todo:
            at = todo.popleft()
            for n in near[at]:
                if n not in far:
                    far[n] = far[at] + 1
                    todo.append(n)
        found = max(found, *(far[n] for n in ends))
    return found


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_ring(tmp_path: Path, n: int) -> None:
    edges = {frozenset((i, (i + 1) % n)) for i in range(n)}
    found = counts(tmp_path, "ring", f"endpoints = {n}")
    assert found["endpoint_cables"] == len(edges)
    assert found["diameter"] == longest([tuple(e) for e in edges])  # type: ignore[misc]
    assert found["bisection_links"] == sum(min(e) < n // 2 <= max(e) for e in edges)
    assert found["switches"] == 0


@pytest.mark.parametrize("n", [2, 5, 8])
def test_full_mesh(tmp_path: Path, n: int) -> None:
    edges = list(combinations(range(n), 2))
    found = counts(tmp_path, "full_mesh", f"endpoints = {n}")
    assert found["endpoint_cables"] == len(edges)
    assert found["ports_per_endpoint"] == n - 1
    assert found["bisection_links"] == sum(a < n // 2 <= b for a, b in edges)


@pytest.mark.parametrize("sides", [(4, 4, 4), (2, 2), (3, 4), (1, 6), (8, 4, 2)])
def test_torus(tmp_path: Path, sides: tuple[int, ...]) -> None:
    nodes = list(product(*(range(s) for s in sides)))
    edges = set()
    for node in nodes:
        for d, side in enumerate(sides):
            other = (*node[:d], (node[d] + 1) % side, *node[d + 1 :])
            if other != node:
                edges.add(frozenset((node, other)))
    long = max(range(len(sides)), key=lambda d: sides[d])
    half = sides[long] // 2
    cut = sum(len({n[long] < half for n in edge}) == 2 for edge in edges)
    found = counts(tmp_path, "torus", f"dimensions = {list(sides)}")
    assert found["endpoints"] == prod(sides)
    assert found["endpoint_cables"] == len(edges)
    assert found["bisection_links"] == cut
    assert found["diameter"] == longest([tuple(e) for e in edges])  # type: ignore[misc]


@pytest.mark.parametrize("endpoints", [2, 64])
def test_star(tmp_path: Path, endpoints: int) -> None:
    found = counts(tmp_path, "star", f"endpoints = {endpoints}")
    assert found["endpoint_cables"] == endpoints
    assert (found["switches"], found["diameter"], found["switch_hops"]) == (1, 2, 1)


@pytest.mark.parametrize(("k", "tiers"), [(8, 2), (4, 3), (6, 3)])
def test_full_fat_tree(tmp_path: Path, k: int, tiers: int) -> None:
    """The k-ary tree of Al-Fares et al., and the leaf and spine one, edge by edge."""
    half = k // 2
    edges: list[Edge] = []
    if tiers == 2:
        for leaf in range(k):
            edges += [((leaf, e), ("switch", "leaf", leaf)) for e in range(half)]
            edges += [(("switch", "leaf", leaf), ("switch", "spine", s)) for s in range(half)]
    else:
        for pod in range(k):
            for leaf in range(half):
                at = ("switch", "leaf", pod, leaf)
                edges += [((pod, leaf, e), at) for e in range(half)]
                edges += [(at, ("switch", "middle", pod, m)) for m in range(half)]
            for m in range(half):
                at = ("switch", "middle", pod, m)
                edges += [(at, ("switch", "top", m, t)) for t in range(half)]
    switches = {n for e in edges for n in e if n[0] == "switch"}  # type: ignore[index]
    below = [e for e in edges if e[0][0] != "switch"]  # type: ignore[index]
    size = 2 * half**tiers
    found = counts(tmp_path, "fat_tree", f"endpoints = {size}\n tiers = {tiers}", radix=k)
    assert found["switches"] == len(switches)
    assert found["endpoint_cables"] == len(below)
    assert found["switch_cables"] == len(edges) - len(below)
    assert found["diameter"] == longest(edges)
    assert found["bisection_links"] == len(below) // 2  # full bisection


def test_rails_of_the_public_h100_sheet(tmp_path: Path) -> None:
    """1,024 endpoints on eight rails of 64-port switches take 48 (public sheet, Aug 2024)."""
    found = counts(
        tmp_path,
        "rail_only",
        "fat_tree rail {\n endpoints = 128\n cable endpoint_cable : wire\n"
        " cable switch_cable : wire\n switch switch_part : box\n}",
    )
    assert found["endpoints"] == 1024
    assert found["switches"] == 48


# NVIDIA, DGX SuperPOD reference architecture, compute fabric by units of 32 nodes of eight GPUs:
# nodes; leaf, spine and core switches; cables node to leaf, leaf to spine, spine to core.
SUPERPODS = [
    (64, 16, 8, 0, 512, 512, 0),
    (128, 32, 16, 0, 1024, 1024, 0),
    (256, 64, 32, 0, 2048, 2048, 0),
    (512, 128, 128, 64, 4096, 4096, 4096),
    (1024, 256, 256, 128, 8192, 8192, 8192),
    (2048, 512, 512, 256, 16384, 16384, 16384),
]


@pytest.mark.parametrize("row", SUPERPODS, ids=lambda row: f"{row[0]} nodes")
def test_rail_optimized_counts_what_nvidia_counts(
    tmp_path: Path, row: tuple[int, int, int, int, int, int, int]
) -> None:
    nodes, leaf, spine, core, *cables = row
    tiers = 3 if core else 2
    found = counts(tmp_path, "rail_optimized", f"nodes = {nodes}\n tiers = {tiers}")
    assert found["endpoints"] == 8 * nodes
    assert found["switches"] == leaf + spine + core
    assert found["endpoint_cables"] == cables[0]
    assert found["switch_cables"] == cables[1] + cables[2]
    assert found["bisection_links"] == 4 * nodes  # full bisection
    assert (found["switch_ports_used"], found["diameter"]) == (64, 2 * tiers)


def test_rail_optimized_edge_by_edge(tmp_path: Path) -> None:
    """Two rails, leaves of four ports down: eight nodes in two groups, two spines."""
    rails, nodes, half = 2, 8, 4
    edges: list[Edge] = []
    for node, rail in product(range(nodes), range(rails)):
        edges.append(((node, rail), ("switch", "leaf", node // half, rail)))
    for leaf in product(range(nodes // half), range(rails)):
        edges += [(("switch", "leaf", *leaf), ("switch", "spine", s % 2)) for s in range(half)]
    switches = {n for e in edges for n in e if n[0] == "switch"}  # type: ignore[index]
    found = counts(tmp_path, "rail_optimized", f"nodes = {nodes}\n rails = {rails}", radix=8)
    assert found["switches"] == len(switches)
    assert found["switch_cables"] == len(edges) - nodes * rails
    assert found["diameter"] == longest(edges)


def test_rails_alone_join_no_other_rail_and_cost_the_same(tmp_path: Path) -> None:
    """1,024 endpoints take 48 switches both ways; what differs is who is joined."""
    path = tmp_path / "rails.hw"
    path.write_text(
        HEAD
        + """
rail_optimized joined {
    nodes = 128
    cable endpoint_cable : wire
    cable switch_cable : wire
    switch switch_part : box
}
rail_only apart {
    fat_tree rail {
        endpoints = 128
        cable endpoint_cable : wire
        cable switch_cable : wire
        switch switch_part : box
    }
}
evaluator ask {
    output together in USD/unit = joined.cost
    output alone    in USD/unit = apart.cost
    output whole    = if joined.any_to_any and not apart.any_to_any then 1 else 0
    output share    = joined.bisection_fraction
    output cut      in Tb/s     = joined.bisection_bandwidth
    output su_nodes = joined.scalable_unit_nodes
}
"""
    )
    found = hwdsl.load(path, compiled=False).ask()
    assert found.together == found.alone == 48 * 36_000 + 2048 * 100
    assert found.whole == 1
    assert (found.share, found.cut) == (1, pytest.approx(512 * 0.4))
    assert found.su_nodes == 32


def test_slingshot_dragonfly(tmp_path: Path) -> None:
    """16 + 31 + 17 ports of 64; 544 groups join 278,528 endpoints (ALCF; glennklockwood.com)."""
    found = counts(
        tmp_path,
        "dragonfly",
        "endpoints_per_switch = 16\n switches_per_group = 32\n"
        " global_links_per_switch = 17\n groups = 544",
    )
    assert found["switch_ports_used"] == 64
    assert found["endpoints"] == 278_528
    assert found["diameter"] == 5


def test_small_dragonfly_edge_by_edge(tmp_path: Path) -> None:
    hosts, group, outward = 2, 4, 2
    groups = group * outward + 1
    edges: list[Edge] = []
    free = {
        g: [("switch", g, a) for a in range(group) for _ in range(outward)] for g in range(groups)
    }
    for g in range(groups):
        edges += [((g, a, h), ("switch", g, a)) for a in range(group) for h in range(hosts)]
        edges += [(("switch", g, a), ("switch", g, b)) for a, b in combinations(range(group), 2)]
    edges += [(free[a].pop(), free[b].pop()) for a, b in combinations(range(groups), 2)]
    found = counts(
        tmp_path,
        "dragonfly",
        f"endpoints_per_switch = {hosts}\n switches_per_group = {group}\n"
        f" global_links_per_switch = {outward}",
    )
    inner = [e for e in edges if e[0][0] == "switch"]  # type: ignore[index]
    assert found["switch_cables"] == len(inner)
    assert found["diameter"] == longest(edges)
    assert found["bisection_links"] == sum(
        len({n[1] < groups // 2 for n in e}) == 2
        for e in inner  # type: ignore[index]
    )


def test_trays_of_a_domain_pay_its_switches_and_thinned_spines_save_some() -> None:
    """The example: 16 domains of nine trays of eight; leaves of 32 down, 64 ports."""
    trays = hwdsl.load(Path(__file__).parents[2] / "docs" / "examples" / "trays.hw").trays
    fabric = 18 * 8000 + 72 * 18 * 30
    assert trays().scale_up_price == pytest.approx(fabric / 9 / 1000)
    assert trays().tray_price == pytest.approx(8 * (40 + 1.5) + 40 + fabric / 9 / 1000)
    dearer = trays(switch_price="18 kUSD/unit").tray_price - trays().tray_price
    assert dearer == pytest.approx(18 / 9 * 10)
    leaves = 8 * ceil(144 / 32)
    for ratio, down in ((1, 32), (2, 42), (4, 51), (8, 56)):
        spines, cores = ceil(leaves * 32 / down), ceil(leaves * 32 / ratio / 64)
        found = trays(spine_oversubscription=ratio)
        assert found.network_switches == leaves + spines + cores
        assert found.bisection_fraction == pytest.approx(100 / ratio)
    times = trays.sweep(spine_oversubscription=[1, 2, 4, 8]).all_to_all_time
    # Behind the cores the time is theirs alone: twice the ratio takes twice as long.
    assert times[3] / times[2] == pytest.approx(2, rel=0.01)
    assert times[0] < times[1] < times[2]
