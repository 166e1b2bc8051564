"""Laws that hold for any coefficients: rates, overlap, scaling, memory, collectives, units.

Points are drawn at random over the whole of what is open; a law is held at each of them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hwdsl.api.evaluator import Evaluator, Module
from hwdsl.codegen.runtime import Floats
from hwdsl.measure.fit import with_free_coefficients

POINTS = 400
CLOSE = 1 + 1e-9
TEXT = """edition 2026
use std.collectives
use std.communicator
use std.execution
use std.memory: memory
use std.contention: assumed_contention
use std.overlap: overlap_strategy
use std.parallelism: plan, memory_footprint, sharding, recompute_granularity
use std.training: gpt_training_step
use std.gpt_model: gpt_model
use std.cluster: cluster
use std.operators
use vendor.clusters: DGX_A100_pod
use vendor.memories: HBM3E
use vendor.nvidia: H100_SXM_80GB

evaluator kernels {
    param m         : real      = 4096        in 1 .. 1_000_000
    param n         : real      = 4096        in 1 .. 1_000_000
    param k         : real      = 4096        in 1 .. 1_000_000
    param sequences : real      = 4           in 1 .. 1000
    param positions : real      = 2048        in 1 .. 100_000
    param near      : data      = 80 MB       in 1 B .. 1 TB
    param rate      : flop_rate = 900 TFLOP/s in 1 TFLOP/s .. 10_000 TFLOP/s
    param vector    : flop_rate = 60 TFLOP/s  in 0.1 TFLOP/s .. 1000 TFLOP/s
    param bandwidth : bandwidth = 3 TB/s      in 0.01 TB/s .. 100 TB/s
    param cache     : data      = 50 MB       in 1 MB .. 10 GB

    let on = H100_SXM_80GB with {
        peak_fp16        = rate
        peak_fp32        = vector
        memory_bandwidth = bandwidth
        llc_capacity     = cache
    }
    let gemm = matmul(m = m, n = n, k = k, a_reuse_distance = near)
    let prefill = attention(
        batch_size = sequences,
        heads = 32,
        kv_heads = 8,
        query_length = positions,
        kv_length = positions,
        kv_reuse_distance = near,
    )
    let decode = decode_attention(
        batch_size = sequences,
        heads = 32,
        kv_heads = 8,
        kv_length = positions,
        kv_reuse_distance = near,
    )
    let norm = normalization(elements = m * n, normalized_size = n, input_reuse_distance = near)

    output gemm_time    in us = operator_time(gemm, on)
    output prefill_time in us = operator_time(prefill, on)
    output decode_time  in us = operator_time(decode, on)
    output norm_time    in us = operator_time(norm, on)
    output listed       in us = device_time([gemm, prefill, decode, norm], on)
}

cluster pod : DGX_A100_pod {
    nodes.gpu.package = unknown "the rate of its memory is a param"
    nodes.host_link   = unknown "the rate of the network ports is a param"
    nodes.scale_up    = unknown "the rate of its links is a param"
}

evaluator step {
    param layers   : int       = 32          in 1 .. 256
    param heads    : int       = 64          in 8 .. 256
    param sequence : int       = 2048        in 64 .. 32768
    param tensor   : int       = 1           in 1 .. 8
    param stages   : int       = 1           in 1 .. 64
    param data     : int       = 1           in 1 .. 512
    param micro    : int       = 1           in 1 .. 16
    param batch    : int       = 512         in 1 .. 100_000
    param matrix   : flop_rate = 312 TFLOP/s in 10 TFLOP/s .. 10_000 TFLOP/s
    param memory   : bandwidth = 2039 GB/s   in 100 GB/s .. 20 TB/s
    param fabric   : bandwidth = 300 GB/s    in 10 GB/s .. 10 TB/s
    param network  : bandwidth = 200 GB/s    in 1 GB/s .. 10 TB/s
    choice recompute : recompute_granularity in [none, selective, full] = full
    choice how : overlap_strategy in [
        serial,
        concurrent,
        prioritized,
        partitioned,
        dma_offload,
    ] = serial

    let machine = pod with {
        nodes.gpu.peak_fp16        = matrix
        nodes.gpu.memory_bandwidth = memory
        nodes.gpu.fabric.lane_rate = fabric / nodes.gpu.fabric.lanes
        nodes.nic.lane_rate        = network / nodes.nic.count / nodes.nic.lanes
    }
    let net = gpt_model(
        layers = layers,
        hidden_size = 128 * heads,
        heads = heads,
        vocab_size = 51200,
        seq_length = sequence,
    )
    let run = gpt_training_step(
        model = net,
        plan = plan(
            tensor = tensor,
            pipeline = stages,
            data = data,
            micro_batch = micro,
            global_batch = batch,
            recompute = recompute,
        ),
        cluster = machine,
        dp_overlap = how,
    )
    output step_time  in s = run.step_time
    output gradients  in s = run.dp_communication_time
    output exposed    in s = run.exposed_dp
    output window     in s = run.overlap_window
    output efficiency = run.overlap_efficiency
    output peak       in s = run.model_flops / run.peak_flops
    allow run.contention "laws hold for any coefficients"
}

evaluator held {
    param weights            : real = 1e9  in 1 .. 1e13
    param activations        : data = 3 GB in 0 B .. 10 TB
    param data               : int  = 8    in 1 .. 1024
    param ranks              : int  = 1    in 1 .. 64
    param optimizer_offload  : real = 0    in 0 .. 1
    param activation_offload : real = 0    in 0 .. 1
    choice sharding : sharding in [zero_0, zero_1, zero_2, zero_3] = zero_0

    let cut = plan(
        data = data,
        context = ranks,
        global_batch = data,
        sharding = sharding,
        optimizer_offload_fraction = optimizer_offload,
        activation_offload_fraction = activation_offload,
    )
    let f = memory_footprint(plan = cut, parameters = weights, activations = activations)
    let placed = [
        f.parameters_in(HBM3E, 1e6, 1 s),
        f.gradients_in(HBM3E, 1e6, 1 s),
        f.optimizer_states_in(HBM3E, 1e6, 1 s),
        f.activations_in(HBM3E, 1e6, 1 s),
    ]
    output here   in GB = f.reserved
    output away   in GB = f.offloaded_memory
    output stored in GB = sum(p.size for p in placed)
    output states in GB = (f.optimizer_memory + f.offloaded_memory) * data * ranks
}

evaluator grouped {
    param inside : real      = 8         in 1 .. 72
    param nodes  : real      = 4         in 2 .. 1024
    param size   : data      = 64 MB     in 1 kB .. 1 TB
    param wire   : bandwidth = 300 GB/s  in 1 GB/s .. 10 TB/s
    param port   : bandwidth = 25 GB/s   in 0.1 GB/s .. 10 TB/s
    param store  : bandwidth = 2039 GB/s in 10 GB/s .. 100 TB/s

    let all = communicator(
        scale_up = interconnect(ranks = inside, bandwidth = wire, memory_bandwidth = store),
        scale_out = interconnect(
            ranks = nodes,
            bandwidth = port,
            memory_bandwidth = store,
            path_type = network,
        ),
    )
    output reduce in us = hierarchical_all_reduce(size, all)
    output gather in us = hierarchical_all_gather(size, all)
    output spread in us = hierarchical_all_to_all(size, all)
    output whole  in us = 2 * (nodes - 1) / nodes * size / (port * inside)
    output parts  in us = (nodes - 1) / nodes * size / (port * inside)
    output apart  in us = (nodes - 1) / nodes * size / port
    output nearby in us = if inside > 1 then (inside - 1) / inside * size / nodes / wire else 0 s
}
"""
RATES = ["matrix", "memory", "fabric", "network"]


def drawn(evaluator: Evaluator, seed: int, **given: object) -> dict[str, Any]:
    """Values of all params: numbers log-uniform over the middle of their ranges, choices all."""
    draw = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for p in evaluator.spec.params:
        if p.name in given:
            found[p.name] = np.array([given[p.name]] * POINTS)
        elif p.kind == "choice":
            found[p.name] = draw.choice(np.array(p.labels), POINTS)
        elif p.low == 0:  # a share
            found[p.name] = draw.uniform(0, float(p.scale.from_base(p.high)), POINTS)
        else:
            low, high = (np.log(float(p.scale.from_base(end))) for end in (p.low, p.high))
            middle = draw.uniform(0.8 * low + 0.2 * high, 0.3 * low + 0.7 * high, POINTS)
            found[p.name] = np.ceil(np.exp(middle)) if p.kind == "int" else np.exp(middle)
    return found


def columns(evaluator: Evaluator, given: dict[str, Any]) -> dict[str, Floats]:
    """The outputs at the points given."""
    sweep = evaluator.sweep(zipped={name: list(column) for name, column in given.items()}).raw
    return {o.name: np.asarray(sweep.column(o.name), float) for o in evaluator.spec.outputs}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["rate", "vector", "bandwidth", "cache"])
def test_more_of_anything_never_slows_a_kernel(module: Module, name: str, seed: int) -> None:
    points = drawn(module.kernels, seed)
    before = columns(module.kernels, points)
    after = columns(module.kernels, points | {name: 1.7 * points[name]})
    for output, times in before.items():
        assert (after[output] <= times * CLOSE).all(), output
    assert any((after[output] < times).any() for output, times in before.items())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", RATES)
def test_more_of_anything_never_slows_a_step(module: Module, name: str, seed: int) -> None:
    """Exactly, but for DMA engines on a faster fabric, to a thousandth of the step.

    Interference by memory takes a transfer to be as sensitive as the part of its own time that it
    spends on the memory. A faster fabric shortens that time and not the traffic, so that the part
    grows, and the transfer is slowed by more even where it is paced to end when it did. Nothing
    of it is left without interference by memory; interference by units has no such part, as it
    counts the units that are held at the rate of the transfer.
    """
    points = drawn(module.step, seed)
    before = columns(module.step, points)["step_time"]
    after = columns(module.step, points | {name: 1.7 * points[name]})["step_time"]
    by_engines = (points["how"] == "dma_offload") & (name == "fabric")
    assert (after <= before * np.where(by_engines, 1.001, CLOSE)).all()
    assert (after < before).any()


@pytest.mark.parametrize("how", ["concurrent", "prioritized", "partitioned", "dma_offload"])
def test_a_step_with_overlap_lies_between_serial_and_ideal(module: Module, how: str) -> None:
    points = drawn(module.step, 5, how=how)
    found = columns(module.step, points)
    serial = columns(module.step, points | {"how": np.array(["serial"] * POINTS)})
    assert (found["step_time"] <= serial["step_time"] * CLOSE).all()
    least = np.maximum(0, found["gradients"] - found["window"])
    assert (found["exposed"] >= least / CLOSE - 1e-15).all()
    assert (found["exposed"] <= found["gradients"] * CLOSE).all()
    assert (found["step_time"] < serial["step_time"]).any()


def test_no_step_is_quicker_than_its_operations_at_the_peak(module: Module) -> None:
    found = columns(module.step, drawn(module.step, 6))
    assert (found["step_time"] > found["peak"]).all()


@pytest.mark.parametrize("axis", ["tensor", "stages", "data"])
def test_perfect_scaling_is_a_bound(module: Module, axis: str) -> None:
    """With n ranks a step is never more than n times as quick."""
    alone = {"tensor": 1, "stages": 1, "data": 1, "how": "serial"}
    points = drawn(module.step, 7, **alone)
    one = columns(module.step, points)["step_time"]
    for ranks in (2, 8):
        many = points | {axis: np.full(POINTS, ranks)}
        taken = columns(module.step, many)["step_time"]
        assert (ranks * taken >= one / CLOSE).all(), ranks
        assert (taken < one).any(), ranks


def test_placement_conserves_bytes(module: Module) -> None:
    """What is in the accelerator and in the host is what there is; all of it is placed."""
    points = drawn(module.held, 8)
    nothing = {"optimizer_offload": np.zeros(POINTS), "activation_offload": np.zeros(POINTS)}
    split, here = columns(module.held, points), columns(module.held, points | nothing)
    assert split["here"] + split["away"] == pytest.approx(here["here"], rel=1e-12)
    assert (here["away"] == 0).all()
    assert split["stored"] == pytest.approx(split["here"], rel=1e-12)


def test_states_sharded_are_held_once(module: Module) -> None:
    """Over all ranks the optimizer states are there once, or once a rank if none shares them."""
    points = drawn(module.held, 9, activation_offload=0.0)
    found = columns(module.held, points)
    times = np.where(points["sharding"] == "zero_0", points["data"] * points["ranks"], 1)
    assert found["states"] == pytest.approx(times * points["weights"] * 12 / 1e9, rel=1e-12)


def test_no_collective_over_nodes_beats_its_ports(module: Module) -> None:
    """A node's ports carry its part of the message, in and out, whatever goes inside."""
    found = columns(module.grouped, drawn(module.grouped, 10))
    assert (found["reduce"] > found["whole"]).all()
    assert (found["gather"] > found["parts"]).all()
    assert (found["spread"] > np.maximum(found["apart"], found["nearby"])).all()


def times_of(evaluator: Evaluator, points: dict[str, Any], clock: float) -> dict[str, Floats]:
    """The outputs where each param and coefficient has `clock` times its power of time.

    Coefficients so leave the ranges that they are fitted in, so they go into the plan as they are.
    """
    plan = evaluator.plan(zipped={name: list(column) for name, column in points.items()})
    axes = list(plan.grid.axes)
    for i, info in enumerate(evaluator.elaboration.params):
        powers = {base.rpartition(".")[2]: float(p) for base, p in info.unit.dim.powers}
        values, stride, count = axes[i]
        axes[i] = (np.asarray(values) * clock ** powers.get("time", 0.0), stride, count)
    sweep = plan.at(replace(plan.grid, axes=tuple(axes))).run(threads=1).raw
    return {o.name: np.asarray(sweep.column(o.name), float) for o in evaluator.spec.outputs}


@pytest.mark.parametrize("name", ["kernels", "grouped"])
def test_twice_as_fast_in_everything_is_twice_as_fast(module: Module, name: str) -> None:
    """Rates doubled, and times of starts, hops and ends halved, all fitted ones too."""
    evaluator, _ = with_free_coefficients(module, name, ())
    points = drawn(getattr(module, name), 11)
    before, after = times_of(evaluator, points, 1), times_of(evaluator, points, 0.5)
    for output, times in before.items():
        assert after[output] == pytest.approx(times / 2, rel=1e-12), output


def test_twice_the_replicas_do_at_most_twice_the_batch(module: Module) -> None:
    """Twice the machines with twice the sequences take as long, but for what replicas exchange.

    Groups of replicas fill their nodes: 9 of them leave one alone in its node, with one port for
    all that the others send through it, and 18 leave two.
    """
    points = drawn(module.step, 12, how="serial")
    points["data"] = 8 * np.ceil(points["data"] / 8)
    double = points | {"data": 2 * points["data"], "batch": 2 * points["batch"]}
    before, after = columns(module.step, points), columns(module.step, double)
    own = before["step_time"] - before["gradients"]
    assert after["step_time"] - after["gradients"] == pytest.approx(own, rel=1e-9)
    assert (after["gradients"] >= before["gradients"] / CLOSE).all()
