"""Link graphs, message passing and the study of interconnects, against hand computation."""

from itertools import combinations
from math import log, sqrt
from pathlib import Path
from random import Random

import pytest

import hwdsl
from hwdsl.api.evaluator import Module

STUDY = Path(__file__).parents[2] / "library" / "studies" / "interconnects.hw"
LINK = 50e9
OCTET = {
    (0, 1): 4, (2, 3): 4, (4, 5): 4, (6, 7): 4, (0, 6): 2, (2, 4): 2,
    (0, 2): 1, (1, 3): 1, (1, 5): 1, (3, 7): 1, (4, 6): 1, (5, 7): 1,
}  # fmt: skip
CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
QUAD = dict.fromkeys(combinations(range(4), 2), 6)


def random_links(seed: int) -> dict[tuple[int, int], int]:
    """A ring of six with random links beside it."""
    draw = Random(seed)
    links = {pair: draw.choice([0, 0, 1, 2]) for pair in combinations(range(6), 2)}
    for i in range(6):
        pair = (min(i, (i + 1) % 6), max(i, (i + 1) % 6))
        links[pair] += 1
    return links


GRAPHS = {
    "octet": OCTET,
    "cube_mesh": CUBE_MESH,
    "quad": QUAD,
    "first": random_links(1),
    "second": random_links(2),
}


def size_of(links: dict[tuple[int, int], int]) -> int:
    return 1 + max(max(pair) for pair in links)


def matrix(links: dict[tuple[int, int], int]) -> list[list[int]]:
    size = size_of(links)
    return [[links.get((min(i, j), max(i, j)), 0) for j in range(size)] for i in range(size)]


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Module:
    text = "edition 2026\n#! Graphs.\nuse std.link_graph\nuse vendor.links: board_copper\n"
    for name, links in GRAPHS.items():
        size = size_of(links)
        text += f"""
link_graph {name} {{ link_counts = {matrix(links)}, endpoint_cable = board_copper }}
evaluator of_{name} {{
    param ranks : int = 2 in 2 .. {size}
    output rings = {name}.ring_count(ranks)
    output exchange = {name}.all_to_all_links(ranks)
    output far = {name}.pair_links(0, {size - 1})
    output diameter = {name}.diameter
    output cables = {name}.endpoint_cables
    output bisection = {name}.bisection_links
}}
"""
    file = tmp_path_factory.mktemp("graphs") / "graphs.hw"
    file.write_text(text, encoding="utf-8")
    return hwdsl.load(file, compiled=False)


def cut(links: dict[tuple[int, int], int], inside: set[int], ranks: int) -> int:
    return sum(
        count
        for (a, b), count in links.items()
        if max(a, b) < ranks and (a in inside) != (b in inside)
    )


def parts(ranks: int) -> list[set[int]]:
    return [
        set(chosen)
        for count in range(1, ranks // 2 + 1)
        for chosen in combinations(range(ranks), count)
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_what_a_collective_can_use_of_a_link_graph_is_set_by_its_cuts(
    graphs: Module, name: str
) -> None:
    links = GRAPHS[name]
    for ranks in range(3, size_of(links) + 1):
        answer = getattr(graphs, f"of_{name}")(ranks=ranks)
        every = parts(ranks)
        rings = min(2 * (cut(links, part, ranks) // 2) for part in every)
        exchange = min(
            (ranks - 1) * cut(links, part, ranks) / (len(part) * (ranks - len(part)))
            for part in every
        )
        # A bound over fewer cuts is no tighter; it is the same for the whole of a machine.
        single = any(
            sum(links.get((min(i, j), max(i, j)), 0) > 0 for j in range(ranks) if j != i) < 2
            for i in range(ranks)
        )
        assert answer.rings == 0 if single else answer.rings >= rings
        assert answer.exchange >= exchange * (1 - 1e-12)
        if ranks == size_of(links) and name in ("octet", "cube_mesh", "quad"):
            assert answer.rings == rings
            assert answer.exchange == pytest.approx(exchange)


@pytest.mark.parametrize("name", GRAPHS)
def test_cables_and_widest_paths_of_a_link_graph_are_counted(graphs: Module, name: str) -> None:
    links = GRAPHS[name]
    rows, size = matrix(links), size_of(links)
    answer = getattr(graphs, f"of_{name}")(ranks=2)
    last = size - 1
    widest = rows[0][last] or max(min(rows[0][k], rows[k][last]) for k in range(size))
    reached = all(rows[i][j] > 0 for i, j in combinations(range(size), 2))
    assert answer.cables == sum(links.values())
    assert answer.far == widest
    assert (answer.diameter == 1) == reached
    halves = [{(i + k) % size for k in range(size // 2)} for i in range(size)]
    assert answer.bisection == min(cut(links, half, size) for half in halves)


def test_eight_dies_of_lumi_have_four_rings_and_a_routed_pair_has_two_links(graphs: Module) -> None:
    # Five links leave the package of dies 0 and 1: two rings, each in two directions.
    assert graphs.of_octet(ranks=8).rings == 4
    # Six links join dies 0 to 3 with the others, for 16 of the messages of each direction.
    assert graphs.of_octet(ranks=8).exchange == pytest.approx(7 * 6 / 16)
    # Die 0 reaches die 7 over two links to die 6 and four from there, or four to die 1 and one.
    assert graphs.of_octet(ranks=8).far == 2


@pytest.mark.parametrize(
    ("gpus", "links", "each", "efficiency"),
    [
        ("GH200_pair", 6, 25e9, 0.88),
        ("A100_pair", 4, 25e9, 0.88),
        ("MI250X_package", 4, LINK, 0.75),
        ("MI250X_two_links", 2, LINK, 0.75),
        ("MI250X_one_link", 1, LINK, 0.75),
        ("MI250X_routed", 2, LINK, 0.75),
    ],
)
def test_a_message_takes_a_launch_and_the_links(
    study: Module, gpus: str, links: int, each: float, efficiency: float
) -> None:
    rate = efficiency * links * each
    large = study.pair(gpus=gpus, size="16 GiB")
    small = study.pair(gpus=gpus, size="64 KiB")
    assert large.nominal == pytest.approx(8 * links * each / 1e9)
    assert large.goodput == pytest.approx(rate / 1e9, rel=1e-3)
    launch = small.time - 65536 / rate * 1e6
    assert launch == pytest.approx(9.33)
    twice = study.pair(gpus=gpus, size="128 KiB")
    assert twice.time - small.time == pytest.approx(65536 / rate * 1e6)


def test_messages_in_flight_share_one_latency(study: Module) -> None:
    one = study.node_pair(machine="Alps", size="64 KiB", window=1).time
    many = study.node_pair(machine="Alps", size="64 KiB", window=64).time
    wire = 65536 / (0.952 * 25e9) * 1e6
    assert one - wire == pytest.approx(3 * 3.2)
    assert many - wire == pytest.approx(3 * 3.2 / 64)


@pytest.mark.parametrize(
    ("machine", "gpus", "ring", "port"),
    [
        ("Alps", 4, 18 * 25e9 * 0.88, 25e9),
        ("Leonardo_booster", 4, 12 * 25e9 * 0.88, 12.5e9),
        ("LUMI_G_dies", 8, 4 * LINK * 0.75, 12.5e9),
    ],
)
def test_a_large_all_reduce_takes_the_rings_of_the_node_and_then_the_ports(
    study: Module, machine: str, gpus: int, ring: float, port: float
) -> None:
    size, nodes = 16 * 2**30, 64
    far = port * 0.85 / (1 + 0.026 * sqrt(2 * log(gpus * nodes)))
    inside = 2 * (gpus - 1) / gpus * size / ring
    outside = 2 * (nodes - 1) / nodes * size / gpus / far
    staged = study.job_collective(
        machine=machine, operation="reduce_all", gpus=gpus * nodes, size="16 GiB"
    )
    # A flat ring through all ranks is the other algorithm: it enters a node over all of its ports.
    ranks = gpus * nodes
    flat = 2 * (ranks - 1) / ranks * size / min(ring, gpus * far)
    assert staged.time == pytest.approx(min(inside + outside, flat) * 1e6, rel=0.04)
    assert staged.time > min(inside + outside, flat) * 1e6


def test_an_all_to_all_between_nodes_is_bound_by_the_uplinks_of_the_leaves(study: Module) -> None:
    size, nodes = 2**30, 512
    answer = study.job_collective(
        machine="Leonardo_booster", operation="exchange_all", gpus=4 * nodes, size="1 GiB"
    )
    remote = size * (1 - 1 / nodes)
    assert answer.time > remote / 12.5e9 * 1e6
    slowest = 1 + 0.026 * sqrt(2 * log(4 * nodes))
    # A leaf has 40 ports to nodes and 18 of twice the rate to spines; 40 GPUs are on it.
    leaf = 18 * 2 / 40 * (4 * nodes - 4) / (4 * nodes - 40)
    rate = 0.85 * 12.5e9 * leaf / slowest
    assert answer.time == pytest.approx(remote / rate * 1e6, rel=0.005)


def test_networks_have_the_published_sizes(tmp_path: Path) -> None:
    file = tmp_path / "networks.hw"
    file.write_text(
        """edition 2026
#! Networks.
use vendor.clusters: Alps, Leonardo_booster, LUMI_G_dies
evaluator ask {
    output leonardo_switches = Leonardo_booster.scale_out.switches
    output leonardo_endpoints = Leonardo_booster.scale_out.endpoints
    output leonardo_ports = Leonardo_booster.scale_out.switch_ports_used
    output leonardo_bisection = Leonardo_booster.scale_out.bisection_fraction
    output lumi_group = LUMI_G_dies.scale_out.endpoints / 24
    output lumi_gpus = LUMI_G_dies.accelerators
    output alps_endpoints = Alps.scale_out.endpoints
}
""",
        encoding="utf-8",
    )
    answer = hwdsl.load(file, compiled=False).ask()
    # 23 cells of 18 leaves and 18 spines; a leaf has 720 / 18 ports of 100 Gb/s.
    assert answer.leonardo_switches == 23 * 36
    assert answer.leonardo_endpoints == 23 * 720
    assert answer.leonardo_ports <= 80
    # 18 links between two cells: 11 cells to 12, against half of the ports at half of the rate.
    assert answer.leonardo_bisection == pytest.approx(11 * 12 * 18 * 2 / (23 * 720 / 2))
    assert answer.lumi_group == 4 * 128
    assert answer.lumi_gpus == 8 * 2978
    assert answer.alps_endpoints == 10752


def test_the_all_to_all_of_a_node_starts_a_copy_for_every_other_die(study: Module) -> None:
    for ranks in range(2, 9):
        answer = study.die_all_to_all(ranks=ranks, message_size="1 MiB")
        rate = answer.usable_links * LINK * 0.75
        wire = (ranks - 1) * 2**20 / rate * 1e6
        launches = (answer.time - wire) / (ranks - 1)
        assert launches == pytest.approx(study.pair(gpus="MI250X_package", size="64 KiB").time
                                         - 65536 / (4 * LINK * 0.75) * 1e6)  # fmt: skip


def test_a_node_with_a_link_graph_communicates_over_its_rings(tmp_path: Path) -> None:
    """All eight V100 of DGX-1 have six links each, all of them in rings: 150 GB/s."""
    file = tmp_path / "dgx1.hw"
    file.write_text(
        """edition 2026
#! All-reduce in a DGX-1.
use std.cluster: cluster
use std.communicator: all_reduce, all_to_all
use std.node: node
use std.placement: process_group
use vendor.nodes: DGX_1
cluster one { node nodes[1] : DGX_1 }
evaluator ask {
    param ranks : int = 8 in 2 .. 8
    output reduce in s = all_reduce(64 GB, process_group(ranks = ranks), one)
    output exchange in s = all_to_all(64 GB, process_group(ranks = ranks), one)
}
""",
        encoding="utf-8",
    )
    ask = hwdsl.load(file, compiled=False).ask
    assert ask(ranks=8).reduce == pytest.approx(2 * 7 / 8 * 64 / (0.958 * 150), rel=0.05)
    # GPUs 0 and 3 alone have two links; 0 and 1, the first two, have one.
    assert ask(ranks=2).reduce == pytest.approx(64 / (0.958 * 25), rel=0.05)
    # Six links lead from GPUs 0 to 3 to the other four, with 16 messages each way.
    assert ask(ranks=8).exchange > 7 / 8 * 64 / (0.958 * 25 * 7 * 6 / 16)
