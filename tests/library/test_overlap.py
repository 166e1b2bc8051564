"""Laws of work that runs side by side."""

import random
from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Evaluator, Module
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.cli.main import main
from hwdsl.elaborate import check_rules
from hwdsl.semantics import check, load

TEXT = """edition 2026
use std.contention
use std.overlap

let assumed = assumed_contention

evaluator both {
    param work     : time      = 10 ms   in 1 us .. 10 s
    param size     : data      = 400 MB  in 1 kB .. 1 TB
    param rate     : bandwidth = 50 GB/s in 1 GB/s .. 10 TB/s
    param memory   : bandwidth = 5 TB/s  in 10 GB/s .. 100 TB/s
    param busy     : real      = 0.3     in 0 .. 1
    param units    : real      = 1       in 0 .. 1
    param sends    : real      = 0.1     in 0 .. 1
    param friction : real      = 0       in 0 .. 1
    param engine   : real      = 1       in 1 .. 10
    param room     : real      = 1       in 0 .. 1
    param share    : int       = 8       in 1 .. 63
    choice how : overlap_strategy in [
        serial,
        concurrent,
        prioritized,
        partitioned,
        dma_offload,
        fused,
        prefetched,
    ] = concurrent

    let both = overlap_pair(
        compute = resource_demand(
            isolated_time = work,
            compute_unit_fraction = units,
            memory_bandwidth_fraction = busy,
        ),
        communication = resource_demand(
            isolated_time = size / rate,
            compute_unit_fraction = sends,
            memory_bandwidth_fraction = min(1, 2 * rate / memory),
            link_bandwidth_fraction = 1,
        ),
        contention = assumed with {
            unit_interference = friction, memory_interference = friction, dma_slowdown = engine
        },
        prefetchable_fraction = room,
    )
    let still = both.compute with { compute_unit_fraction = 0 }
    let moved = both.communication with { compute_unit_fraction = 0 }

    output serial     in ms = both.serial_time
    output ideal      in ms = both.ideal_time
    output time       in ms = both.overlapped_time(how)
    output exposed    in ms = both.exposed_communication(how)
    output efficiency = both.overlap_efficiency(how)
    output best       in ms = both.partitioned_time
    output split      in ms = both.partitioned_time_at(share / 64)
    output offloaded  in ms = both.dma_offload_time
    let shared_pair = stream_pair(
        first = still, second = moved, arbitration = proportional, contention = both.contention
    )
    output two        in ms = shared_pair.time
    output many       in ms = processor_sharing_time([still, moved], both.contention)
    output more       in ms = processor_sharing_time([still, moved, moved], both.contention)

    allow both.measured "laws hold for any coefficients"
}
"""
STRATEGIES = [
    "serial",
    "concurrent",
    "prioritized",
    "partitioned",
    "dma_offload",
    "fused",
    "prefetched",
]
Point = dict[str, float]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("overlap") / "both.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path)


@pytest.fixture(scope="module")
def both(module: Module) -> Evaluator:
    return module.both


def points(count: int, seed: int) -> list[Point]:
    draw = random.Random(seed)
    return [
        {
            "work": 10 ** draw.uniform(-1, 2),
            "size": 10 ** draw.uniform(0, 4),
            "rate": 10 ** draw.uniform(1, 3),
            "memory": 10 ** draw.uniform(-0.5, 1),
            "busy": draw.random(),
            "units": draw.random(),
            "sends": draw.random(),
            "friction": draw.choice([0, draw.random()]),
            "engine": 1 + draw.random(),
            "room": draw.random(),
            "share": draw.randint(1, 63),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("how", STRATEGIES)
def test_what_is_realised_lies_between_ideal_and_serial(both: Evaluator, how: str) -> None:
    for point in points(200, 1):
        answer = both(how=how, **point)
        assert answer.ideal * (1 - 1e-12) <= answer.time <= answer.serial * (1 + 1e-12), point
        assert -1e-9 <= answer.efficiency <= 1 + 1e-9, point
        assert answer.exposed == pytest.approx(answer.time - point["work"], abs=1e-9)


def test_the_best_split_is_no_worse_than_any(both: Evaluator) -> None:
    for point in points(300, 2):
        answer = both(**point)
        assert answer.best <= answer.split, point


@pytest.mark.parametrize("how", STRATEGIES)
def test_quicker_links_are_never_slower(both: Evaluator, how: str) -> None:
    for point in points(200, 3):
        point["friction"] = 0
        quick = point | {"rate": 1.5 * point["rate"]}
        before, after = both(how=how, **point), both(how=how, **quick)
        if 2 * quick["rate"] <= 1000 * point["memory"]:
            assert after.time <= before.time * (1 + 1e-12), point


def test_copy_engines_take_no_units(both: Evaluator) -> None:
    for point in points(200, 4):
        other = both(**point | {"sends": 1 - point["sends"], "units": 1})
        assert both(**point).offloaded == other.offloaded, point


def test_two_streams_of_a_fluid_are_two_phases(both: Evaluator) -> None:
    for point in points(200, 5):
        answer = both(**point)
        assert answer.many == pytest.approx(answer.two, rel=1e-9), point
        assert answer.more >= answer.many * (1 - 1e-12), point


def test_a_guess_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "guess.hw"
    path.write_text(
        "edition 2026\nuse std.contention\nuse std.overlap\n"
        "overlap_pair p {\n compute = resource_demand(isolated_time = 1 ms)\n"
        " communication = resource_demand(isolated_time = 1 ms)\n}\n",
        encoding="utf-8",
    )
    found = Diagnostics()
    check_rules(check(load(path, found), found), found)
    assert [d.severity.value for d in found.items] == ["warning"]
    assert "not measured" in found.items[0].message


@pytest.mark.parametrize(
    ("study", "name", "rule"),
    [
        ("gemm_collective_overlap", "gemm_collective_overlap", "overlap_pair.measured"),
        ("gemm_collective_overlap", "gemm_collective_overlap_fp8", "overlap_pair.measured"),
        ("conccl", "mean_over_scenarios", "overlap_pair.measured"),
        ("conccl", "scenario", "overlap_pair.measured"),
        ("fsdp", "fsdp_training", "step.contention"),
        ("llm_training", "dense_training", "training_step.contention"),
        ("llm_training", "moe_training", "training_step.contention"),
        ("llm_training", "mla_moe_training", "training_step.contention"),
        ("maxtext", "tpu_training", "training_step.contention"),
    ],
)
def test_a_study_says_that_contention_is_not_measured(
    study: str, name: str, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[2] / "library" / "studies" / f"{study}.hw"
    assert main(["run", f"{path}:{name}"]) == 0
    said = capsys.readouterr()
    assert rule in said.out + said.err
    assert "not measured" in said.out + said.err


NEEDS = """edition 2026
use std.communicator: communicator_of, hierarchical_all_reduce
use std.placement: process_group
use std.contention
use std.operators: matmul, activation
use vendor.clusters: Llama3_24k
use vendor.nvidia: H100_SXM_80GB

evaluator needs {
    param rows : int  = 8192   in 1 .. 100_000
    param size : data = 256 MB in 1 B .. 1 TB

    let gemm    = compute_demand([matmul(m = rows, n = 8192, k = 8192)], H100_SXM_80GB)
    let passing = compute_demand([activation(elements = rows * 8192)], H100_SXM_80GB)
    let sum = collective_demand(
        size,
        hierarchical_all_reduce(size, communicator_of(process_group(ranks = 8), Llama3_24k)),
        H100_SXM_80GB,
    )

    output alone          in ms = gemm.isolated_time
    output units          = gemm.compute_unit_fraction
    output memory         = gemm.memory_bandwidth_fraction
    output passing_units  = passing.compute_unit_fraction
    output passing_memory = passing.memory_bandwidth_fraction
    output sum_units      = sum.compute_unit_fraction
    output sum_memory     = sum.memory_bandwidth_fraction
}
"""


@pytest.fixture(scope="module")
def needs(tmp_path_factory: pytest.TempPathFactory) -> Evaluator:
    path = tmp_path_factory.mktemp("needs") / "needs.hw"
    path.write_text(NEEDS, encoding="utf-8")
    return hwdsl.load(path).needs


def test_what_operators_need_follows_from_what_they_do(needs: Evaluator) -> None:
    large, small = needs(rows=8192), needs(rows=1)
    assert large.units > 0.9
    assert large.memory < 0.2
    assert small.memory > 0.9  # one row reads the matrix once
    assert 0.7 < small.units < 0.8  # and the memory's rate needs no more units
    assert large.passing_memory > 0.7
    assert large.passing_units < large.units


def test_needs_are_shares(needs: Evaluator) -> None:
    draw = random.Random(6)
    for _ in range(100):
        found = needs(rows=int(10 ** draw.uniform(0, 5)), size=10 ** draw.uniform(0, 6))
        for share in (found.units, found.memory, found.passing_units, found.passing_memory):
            assert 0 <= share <= 1
        assert found.sum_units == pytest.approx(24 / 132)
        assert 0 <= found.sum_memory <= 1


def test_a_last_wave_needs_few_units(needs: Evaluator) -> None:
    """A last wave that leaves units idle needs no more than the others keep busy: 33 x 64 tiles are
    16 waves of 132."""
    full, over = needs(rows=33 * 256), needs(rows=33 * 256 + 1)
    assert over.alone > full.alone
    assert over.units < full.units


STEP = """edition 2026
use std.overlap: overlap_strategy
use std.parallelism: plan
use std.llm_training: llm_training_step
use vendor.clusters: Llama3_24k
use workloads.transformers: Llama3_8B

evaluator whole_step {
    choice dp_overlap : overlap_strategy in [serial, prioritized, dma_offload] = serial
    choice tp_overlap : overlap_strategy in [serial, fused]                    = serial
    param data : int = 16 in 2 .. 500

    let cut = plan(tensor = 4, data = data, global_batch = 8 * data)
    let step = llm_training_step(
        model = Llama3_8B,
        seq_length = 4096,
        plan = cut,
        cluster = Llama3_24k,
        dp_overlap = dp_overlap,
        tp_overlap = tp_overlap,
    )

    output time       in s = step.step_time
    output exposed    in s = step.exposed_communication
    output tensor     in s = step.exposed_tp
    output exchange   in s = step.exposed_dp
    output handing    in s = step.exposed_pp
    output all        in s = step.communication_time
    output work       in s = step.compute_time
    output efficiency = step.overlap_efficiency
    allow step.contention "laws hold for any coefficients"
    allow step.peak_memory "only times are asked for"
}
"""


def test_a_whole_step_counts_all_it_hides(tmp_path: Path) -> None:
    path = tmp_path / "whole_step.hw"
    path.write_text(STEP, encoding="utf-8")
    step = hwdsl.load(path).whole_step
    for data in (2, 16, 200):
        none = step(data=data)
        assert none.efficiency == pytest.approx(0, abs=1e-9)
        assert none.exposed == pytest.approx(none.all)
        assert none.time == pytest.approx(none.work + none.all)
        apart = [
            step(data=data, dp_overlap="prioritized"),
            step(data=data, tp_overlap="fused"),
        ]
        both = step(data=data, dp_overlap="prioritized", tp_overlap="fused")
        assert all(0 < found.efficiency < both.efficiency for found in apart)
        assert both.efficiency <= 1
        for found in (none, both, *apart):
            causes = found.tensor + found.exchange + found.handing
            assert found.exposed == pytest.approx(causes)
            assert found.all == pytest.approx(none.all)
            assert found.work == pytest.approx(none.work)


PORTS = """edition 2026
use std.contention: contention, assumed_contention
use std.parallelism: plan
use std.llm_training: llm_training_step
use vendor.clusters: Llama3_24k
use workloads.transformers: Mixtral_8x7B

contention ideal : assumed_contention {
    unit_interference = 0, memory_interference = 0
    leftover_unit_fraction = 0.05, measured = true
}

evaluator layer {
    param port : bandwidth = 5 GB/s in 0.1 GB/s .. 50 GB/s
    let step = llm_training_step(
        model = Mixtral_8x7B, seq_length = 32768, ep_overlap = prioritized, contention = ideal,
        plan = plan(tensor = 8, context = 4, expert = 8, data = 8, global_batch = 64),
        cluster = Llama3_24k with {
            nodes.nic.lanes = 1, nodes.nic.lane_rate = port, nodes.host_link = unknown "any"
        },
    )
    allow step.peak_memory "asked for its time"
    output layer    in ms = step.layer_forward + step.layer_backward
    output messages in ms = step.layer_network_time
    output experts  in ms = step.layer_exposed_ep
}
"""


def test_exchanges_of_a_layer_share_the_ports(tmp_path: Path) -> None:
    """Ring attention hides behind attention, and the way to experts behind all computation; but
    both pass one port, which is not given twice."""
    path = tmp_path / "ports.hw"
    path.write_text(PORTS, encoding="utf-8")
    layer = hwdsl.load(path).layer
    for port in ("1 GB/s", "5 GB/s", "10 GB/s", "15 GB/s", "20 GB/s", "30 GB/s", "50 GB/s"):
        found = layer(port=port)
        assert found.layer * (1 + 1e-9) >= found.messages, port
