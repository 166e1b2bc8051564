"""Laws of pipelines, memory footprints and communication between data-parallel replicas."""

import csv
import itertools
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
TEXT = """edition 2026
use std.parallelism

evaluator line {
    param stages : int = 8  in 1 .. 64
    param count  : int = 32 in 1 .. 4096
    param chunks : int = 1  in 1 .. 16
    choice order : pipeline_schedule in [gpipe, one_f_one_b, zb_h1, zb_h2] = one_f_one_b
    let p = pipeline(
        stages = stages,
        microbatches = count,
        virtual_pipeline = chunks,
        schedule = order,
        forward = 1 ms,
        backward = 2 ms,
        wgrad = 1 ms,
    )
    output time   in ms = p.time
    output bubble in ms = p.bubble
    output held   = p.in_flight_microbatches
}

evaluator held {
    param data              : int  = 8 in 1 .. 1024
    param optimizer_offload : real = 0 in 0 .. 1
    choice sharding : sharding in [zero_0, zero_1, zero_2, zero_3] = zero_0
    let cut = plan(
        data = data,
        global_batch = data,
        sharding = sharding,
        optimizer_offload_fraction = optimizer_offload,
    )
    let f = memory_footprint(plan = cut, parameters = 1e9, layer_parameters = 0, activations = 3 GB)
    let e = dp_communication_volume(plan = cut, parameters = 1e9)
    output weights   in GB = f.parameter_memory
    output gradients in GB = f.gradient_memory
    output states    in GB = f.optimizer_memory
    output total     in GB = f.reserved
    output away_host in GB = f.offloaded_memory
    output traffic   in GB = e.reduce_scatter_volume + e.all_gather_volume
}

evaluator layer {
    param heads  : int = 96    in 1 .. 1000
    param length : int = 2048  in 1 .. 1_000_000
    param width  : int = 12288 in 1 .. 100_000
    param tensor : int = 8     in 1 .. 64
    choice cut : bool in [false, true] = false
    let stream = length * width * 2 B
    let near   = if cut then stream / tensor else stream
    let scores = heads * length^2 / tensor * 2 B
    output listed  in MB = sum(saved_activations(near, near, stream / tensor, scores))
    output formula in MB = korthikanti_activation_memory(stream, heads, length, width, tensor, cut)
}

evaluator lives {
    param a : data = 1 GB in 0 B .. 10 GB
    param b : data = 2 GB in 0 B .. 10 GB
    param c : data = 4 GB in 0 B .. 10 GB
    output most in GB = max_live_memory(
        [
            live_interval(size = a, start = 0, end = 2),
            live_interval(size = b, start = 1, end = 1),
            live_interval(size = c, start = 2, end = 3),
        ],
        3,
    )
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("parallelism") / "laws.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


def test_pipelines_are_bounded_by_their_slowest_stage(module: Module) -> None:
    for stages, count in itertools.product([1, 2, 8, 64], [1, 8, 512]):
        for order in ["gpipe", "one_f_one_b", "zb_h1", "zb_h2"]:
            answer = module.line(stages=stages, count=count, order=order)
            assert answer.time >= 3 * count
            assert answer.time <= 3 * (count + stages - 1) * (1 + 1e-12)
            assert answer.held <= max(count, 2 * stages)


def test_bubbles_of_the_papers(module: Module) -> None:
    """1F1B: 3 (p - 1) forward passes; interleaved by v: a v-th; ZB-H1: a third; ZB-H2: none."""
    assert module.line(stages=8).bubble == pytest.approx(21)
    assert module.line(stages=8, chunks=3).bubble == pytest.approx(7)
    assert module.line(stages=8, order="zb_h1").bubble == pytest.approx(7)
    assert module.line(stages=8, order="zb_h2").bubble == 0
    assert module.line(stages=8, chunks=3).held == pytest.approx(8 + 7 / 3)
    assert module.line(stages=8, order="gpipe").held == 32


def test_sharding_divides_what_it_says(module: Module) -> None:
    """ZeRO's table of memory for 2 + 2 + 12 bytes a weight, and its traffic of 2 and 3 weights."""
    expected = {
        "zero_0": (2, 2, 12),
        "zero_1": (2, 2, 12 / 64),
        "zero_2": (2, 2 / 64, 12 / 64),
        "zero_3": (2 / 64, 2 / 64, 12 / 64),
    }
    for sharding, sizes in expected.items():
        answer = module.held(data=64, sharding=sharding)
        got = (answer.weights, answer.gradients, answer.states)
        assert got == pytest.approx(sizes), sharding
        assert answer.total == pytest.approx(sum(sizes) + 3)
        assert answer.traffic == pytest.approx(6 if sharding == "zero_3" else 4)


def test_what_leaves_the_accelerator_is_in_the_host(module: Module) -> None:
    for sharding in ["zero_0", "zero_1", "zero_3"]:
        here = module.held(sharding=sharding)
        split = module.held(sharding=sharding, optimizer_offload=0.75)
        assert split.total + split.away_host == pytest.approx(here.total)


def test_a_layer_keeps_what_the_formula_says(module: Module) -> None:
    for heads, length, width, tensor in [
        (96, 2048, 12288, 8),
        (16, 1024, 1024, 1),
        (64, 8192, 8192, 4),
    ]:
        for cut in [False, True]:
            answer = module.layer(heads=heads, length=length, width=width, tensor=tensor, cut=cut)
            assert answer.listed == pytest.approx(answer.formula, rel=1e-12)


def test_only_what_lives_together_counts(module: Module) -> None:
    assert module.lives().most == 5
    assert module.lives(b=9).most == 10


def test_readings_of_memory_are_met() -> None:
    """Median and 90th percentile of the error; the median reading must do worse on both."""
    bloom = hwdsl.load(STUDIES / "bloom.hw", compiled=False).bloom
    lines = (STUDIES / "bloom.csv").read_text(encoding="utf-8").splitlines()
    errors, naive = [], []
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        measured = float(row.pop("measured [GB]"))
        del row["case"]
        bf16 = row.pop("bf16_optimizer") == "true"
        answer = bloom(**{name: int(cell) for name, cell in row.items()}, bf16_optimizer=bf16)
        errors.append(abs(answer.nvidia_smi_memory / measured - 1))
        naive.append(abs(answer.baseline_memory / measured - 1))
    assert median(errors) <= 0.05 < median(naive)
    assert np.quantile(errors, 0.9) <= 0.11 < np.quantile(naive, 0.9)
