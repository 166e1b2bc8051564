"""Laws of collectives: bounds, orders, and what the link graph and the tables say."""

import csv
import random
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import hwdsl
from hwdsl.api.evaluator import Evaluator, Module

STUDY = Path(__file__).parents[2] / "library" / "studies" / "collectives.hw"
OPERATIONS = ["all_reduce", "chain_all_reduce", "one_shot_all_reduce", "best_all_reduce",
              "all_gather", "reduce_scatter", "all_to_all", "send_recv"]  # fmt: skip
PATH_TYPES = ["switched", "point_to_point", "pcie_host_bridge", "pcie_switch", "host_memory",
              "network"]  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


@pytest.fixture(scope="module")
def collective(study: Module) -> Evaluator:
    return study.collective


def points(count: int, seed: int) -> list[dict[str, object]]:
    draw = random.Random(seed)
    result = []
    for _ in range(count):
        wire = 10 ** draw.uniform(0, 3)
        result.append(
            {
                "operation": draw.choice(OPERATIONS),
                "ranks": draw.choice([2, 3, 4, 7, 8, 16, 72, 1000]),
                "size": 10 ** draw.uniform(-3, 4),
                "bandwidth": wire,
                "link_bandwidth": wire,
                "memory_bandwidth": 10 ** draw.uniform(2, 4),
                "path_type": draw.choice(PATH_TYPES),
                "in_network_reduction": draw.choice([False, True]),
                "clock": draw.uniform(500, 3000),
                "compute_dies": draw.choice([1, 2]),
            }
        )
    return result


def test_no_collective_beats_its_wire(collective: Evaluator) -> None:
    for point in points(400, 1):
        answer = collective(**point)
        assert answer.time > answer.min_time, point


def test_more_bandwidth_is_never_slower(collective: Evaluator) -> None:
    for point in points(400, 2):
        before = collective(**point).time
        rate = 2 * float(str(point["bandwidth"]))
        assert collective(**point | {"bandwidth": rate, "link_bandwidth": rate}).time <= before, (
            point
        )
        memory = 2 * float(str(point["memory_bandwidth"]))
        assert collective(**point | {"memory_bandwidth": memory}).time <= before, point


def test_larger_messages_take_longer(collective: Evaluator) -> None:
    for point in points(400, 3):
        larger = 1.5 * float(str(point["size"]))
        assert collective(**point | {"size": larger}).time > collective(**point).time, point


def test_a_switch_that_adds_is_never_slower(collective: Evaluator) -> None:
    for point in points(200, 4):
        point |= {"operation": "all_reduce", "in_network_reduction": False}
        alone = collective(**point).time
        assert collective(**point | {"in_network_reduction": True}).time <= alone


def test_small_messages_go_directly_and_large_ones_in_rings(collective: Evaluator) -> None:
    assert collective(operation="one_shot_all_reduce", size=0.01).time < collective(size=0.01).time
    assert collective(operation="one_shot_all_reduce", size=64).time > collective(size=64).time


@pytest.mark.parametrize(
    ("ranks", "rings"), [(2, 1), (3, 2), (4, 4), (5, 0), (6, 2), (7, 4), (8, 6)]
)
def test_rings_of_the_cube_mesh(study: Module, ranks: int, rings: int) -> None:
    """NCCL's bus rate on V100 jumps with the number of ranks as these rings do."""
    assert study.dgx1_cube_mesh(ranks=ranks).ring_count == rings


@pytest.mark.parametrize(
    ("table", "middle", "tail"), [("switched", 0.062, 0.20), ("elsewhere", 0.066, 0.30)]
)
def test_tables_are_met(collective: Evaluator, table: str, middle: float, tail: float) -> None:
    """Median and 90th percentile of the error; the baseline must do worse on both."""
    lines = STUDY.with_name(f"collectives_{table}.csv").read_text(encoding="utf-8").splitlines()
    errors, naive = [], []
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        names = {title.partition(" ")[0]: cell for title, cell in row.items()}
        measured, _ = float(names.pop("measured")), names.pop("case")
        answer = collective(
            operation=names["operation"],
            path_type=names["path_type"],
            in_network_reduction=names["in_network_reduction"] == "true",
            ranks=int(names["ranks"]),
            size=float(names["size"]) / 1e6,
            compute_dies=int(names["compute_dies"]),
            **{
                k: float(names[k])
                for k in ("bandwidth", "link_bandwidth", "memory_bandwidth", "clock")
            },
        )
        errors.append(abs(answer.time / measured - 1))
        naive.append(abs(answer.baseline / measured - 1))
    assert median(errors) <= middle < median(naive)
    assert np.quantile(errors, 0.9) <= tail < np.quantile(naive, 0.9)


@pytest.mark.parametrize(("processors", "near"), [("", 4), ("[1]", 8), ("[2]", 4), ("[4]", 2)])
def test_a_node_says_how_many_cards_are_near(tmp_path: Path, processors: str, near: int) -> None:
    """By its processors; four cards on each where it states none."""
    stated = f"    cpu cpu{processors} : EPYC_7742\n" if processors else ""
    path = tmp_path / "near.hw"
    path.write_text(
        "edition 2026\nuse std.cluster: cluster\nuse std.communicator: communicator_of\n"
        "use std.placement: process_group\n"
        "use std.node: accelerator, node\nuse std.processor: cpu\nuse std.link: link\n"
        "use vendor.links: HDR200\nuse vendor.nodes: DGX_A100\n"
        "use vendor.processors: EPYC_7742\nuse vendor.nvidia: RTX_PRO_6000\n\n"
        "node host {\n"
        f"{stated}    accelerator gpu[8] : RTX_PRO_6000\n    link nic[1] : HDR200\n}}\n\n"
        "cluster of_them {\n    node nodes[2] : host\n}\n\n"
        "evaluator asked {\n    let eight = process_group(ranks = 8)\n"
        "    let near = communicator_of(eight, of_them).scale_up\n"
        "    output ranks = near.ranks_per_socket\n}\n",
        encoding="utf-8",
    )
    assert hwdsl.load(path, compiled=False).asked().ranks == near
