"""Processors by hand: rates of the makers, clocks, the roofline of a kernel; EVS and PLSSVM."""

from math import sqrt
from typing import Any

import pytest
import shipped

import hwdsl

TEXT = """edition 2026
use std.execution
use std.operators
use std.processor: cpu
use std.processor_execution
use vendor.processors
use workloads.optical_flow

evaluator rates {
    choice cpu : cpu in [EPYC_7742, Xeon_8480C, Grace, Core_i7_6700]
    output peak_fp64 in GFLOP/s = cpu.peak_fp64
    output peak_fp32 in GFLOP/s = cpu.peak_fp32
    output bandwidth in GB/s    = cpu.memory_bandwidth
}

evaluator ask {
    choice cpu : cpu in [EPYC_7742, Xeon_8480C, Core_i7_6700]
    param threads : int  = 1         in 1 .. 256
    param flops   : operations = 1 TFLOP in 1 MFLOP .. 1000 TFLOP
    param size    : data = 1 MB      in 1 B .. 1 TB
    param loops   : int  = 0         in 0 .. 1000
    let kernel = cpu_kernel(
        flops = flops,
        element = 8 B,
        instruction_width = 128 bit,
        fused = false,
        efficiency = 0.5,
        parallel_loops = loops,
        operands = [operand(size = size)],
    )
    let all = as_accelerator(cpu, 2)
    output peak_fp32 in GFLOP/s = cpu.peak_fp32
    output clock     in GHz     = cpu.clock_of(cpu.busy_cores(threads))
    output time      in ms      = cpu_kernel_time(kernel, threads, cpu, 3 us)
    output units                = all.compute_units
    output as_fp64   in GFLOP/s = all.peak_fp64
    output units_fp32 in GFLOP/s = all.compute_units * all.flops_per_unit_cycle * all.clock
    let product = matmul(m = 8192, n = 8192, k = 8192, dtype = fp64)
    output peak_fp16 in GFLOP/s = all.peak_fp16
    output caches    in MiB     = cpu.cache_capacity
    output gemm      in ms      = operator_time(product, all)
}

evaluator search {
    choice preset : flow_preset in [ultrafast, fast, medium] = fast
    param width  : int = 640 in 64 .. 4096
    param height : int = 480 in 64 .. 4096
    let flow = dense_inverse_search(width = width, height = height, preset = preset)
    output scales  = flow.scales
    output patches = flow.patches_on(2)
    output flops in MFLOP = flow.search_flops(2)
}
"""
STUDIES = shipped.ROOT / "library" / "studies"


@pytest.mark.parametrize(
    ("name", "fp64", "bandwidth"),
    [
        # Cores x GHz x FLOP per cycle: 64 x 2.25 x 16; 56 x 2 x 32; 72 x 3.1 x 16; 4 x 3.7 x 16.
        ("EPYC_7742", 2304, 204.8),
        ("Xeon_8480C", 3584, 307.2),
        ("Grace", 3571.2, 512),
        ("Core_i7_6700", 236.8, 34.1),
    ],
)
def test_peaks_are_those_of_the_datasheets(
    module: hwdsl.Module, name: str, fp64: float, bandwidth: float
) -> None:
    found = module.rates(cpu=name)
    assert found.peak_fp64 == pytest.approx(fp64, rel=1e-12)
    assert found.peak_fp32 == pytest.approx(2 * fp64, rel=1e-12)
    assert found.bandwidth == pytest.approx(bandwidth, rel=2e-3)


@pytest.mark.parametrize("busy", [1, 8, 27, 29, 48, 64, 128])
def test_busy_cores_share_the_power_of_all(module: hwdsl.Module, busy: int) -> None:
    """64 cores at 2.25 GHz: the clock squared times the busy cores never takes more power."""
    clock = module.ask(threads=busy).clock
    cores = min(busy, 64)
    assert cores * clock**2 <= 64 * 2.25**2 * (1 + 1e-12)
    assert clock == pytest.approx(min(3.4, 2.25 * sqrt(64 / cores)), rel=1e-12)


def test_a_kernel_is_bound_by_its_instructions_or_its_memory(module: hwdsl.Module) -> None:
    # 4 cores x 3.7 GHz x 2 units x 2 lanes, one operation each, half reached.
    rate = 4 * 3.7e9 * 2 * 2 * 0.5
    small = module.ask(cpu="Core_i7_6700", threads=4, flops=1, size=1e-6)
    assert small.time == pytest.approx(1e3 * 1e12 / rate, rel=1e-6)
    shared = module.ask(cpu="Core_i7_6700", threads=8, flops=1, size=1e-6)
    assert shared.time == small.time
    large = module.ask(cpu="Core_i7_6700", threads=4, flops=1e-6, size=1e5, loops=100)
    assert large.time == pytest.approx(1e3 * 100e9 / (0.83 * 34.12e9) + 0.6, rel=1e-4)


def test_a_processor_runs_operators(module: hwdsl.Module) -> None:
    """Two sockets of EPYC 7742 multiply matrices in FP64 at 0.82 of 4.6 TFLOP/s at most."""
    found = module.ask()
    assert found.units == 128
    assert found.as_fp64 == pytest.approx(4608, rel=1e-12)
    assert found.units_fp32 == pytest.approx(9216, rel=1e-12)
    at_peak = 1e3 * 2 * 8192**3 / 4608e9
    assert 1.2 * at_peak < found.gemm < 1.5 * at_peak


def test_matrix_units_and_inclusive_caches(module: hwdsl.Module) -> None:
    """AMX does 1,024 operations per cycle; an inclusive cache holds no more than itself."""
    server, desktop = module.ask(cpu="Xeon_8480C"), module.ask(cpu="Core_i7_6700")
    assert server.peak_fp16 == pytest.approx(2 * 56 * 2 * 1024, rel=1e-12)
    assert server.caches == pytest.approx(105 + 56 * 2, rel=1e-12)
    assert desktop.peak_fp16 == pytest.approx(2 * desktop.peak_fp32, rel=1e-12)
    assert desktop.caches == pytest.approx(8, rel=1e-12)


def test_patches_of_optical_flow(module: hwdsl.Module) -> None:
    """160 x 120 pixels on the third scale, a patch of 8 x 8 at each fourth: 39 x 29 of them."""
    found = module.search()
    assert (found.scales, found.patches) == (3, 39 * 29)
    assert found.flops == pytest.approx(39 * 29 * 64 * (16 * 15 + 6 * 11 + 26) / 1e6, rel=1e-12)
    assert module.search(preset="medium", width=1920, height=1080).scales == 6


@pytest.fixture(scope="module")
def evs() -> Any:
    return hwdsl.load(STUDIES / "evs.hw", compiled=False).video_segmentation


@pytest.mark.parametrize("interval", [1, 2, 8, 100])
@pytest.mark.parametrize("scale", [1, 4])
def test_the_period_of_key_frames(evs: Any, interval: int, scale: int) -> None:
    found = {
        schedule: evs(schedule=schedule, interval=interval, flow_scale=scale)
        for schedule in ("in_turn", "frame_by_frame", "buffered")
    }
    one = found["in_turn"]
    key, flow, gpu = one.key_latency, one.flow_time, one.propagation_time
    transfer = one.latency - flow - gpu
    rest = interval - 1
    by_hand = {
        "in_turn": key + rest * (flow + transfer + gpu),
        "frame_by_frame": key + rest * max(flow, gpu),
        "buffered": max(key + rest * gpu, rest * flow),
    }
    for schedule, period in by_hand.items():
        assert found[schedule].frame_rate == pytest.approx(1e3 * interval / period, rel=1e-9)
        assert found[schedule].gpu_utilization <= 100 * (1 + 1e-9)
        assert found[schedule].cpu_utilization <= 100 * (1 + 1e-9)
    rates = [found[schedule].frame_rate for schedule in by_hand]
    assert rates == sorted(rates)


@pytest.fixture(scope="module")
def plssvm() -> hwdsl.Module:
    return hwdsl.load(STUDIES / "plssvm.hw", compiled=False)


def test_a_division_by_features_repeats_the_work_on_entries(plssvm: hwdsl.Module) -> None:
    """Amdahl's law: 8 operations on an entry are repeated beside the divided scalar product, which
    reaches 0.82 of the rate; tiles of few features repeat their start too."""
    few, some, many = (plssvm.gpu_training(dimensions=d).speedup for d in (32, 1024, 16_384))
    ideal = [(2 * d / 0.82 + 8) / (2 * d / 4 / 0.82 + 8) for d in (32, 1024, 16_384)]
    assert 2 < few < ideal[0] < some < ideal[1] < many < ideal[2]
    assert some == pytest.approx(ideal[1], rel=0.01)
    assert plssvm.gpu_training(dimensions=32, divide="rows").speedup > 3.9
    assert plssvm.gpu_training(gpus=1).speedup == 1


def test_memory_of_points_and_matrix(plssvm: hwdsl.Module) -> None:
    """65,536 points of 4,096 features on four GPUs: a quarter of the points, of the triangle."""
    points, vectors = 65_536 * 4096 * 8 / 4, 6 * 65_536 * 8
    assert plssvm.gpu_training().memory == pytest.approx((points + vectors) / 1e9, rel=1e-12)
    stored = plssvm.gpu_training(matrix="stored").memory
    assert stored == pytest.approx((points + vectors + 65_536**2 / 2 * 8 / 4) / 1e9, rel=1e-12)


def test_threads_scale_by_cores_and_clock(plssvm: hwdsl.Module) -> None:
    """128 cores at 2.25 GHz over one at 3.4; threads of the same cores add nothing."""
    found = plssvm.cpu_training()
    assert found.speedup == pytest.approx(128 * 2.25 / 3.4, rel=1e-3)
    assert plssvm.cpu_training(threads=128).speedup == pytest.approx(found.speedup, rel=1e-4)
    assert plssvm.cpu_training(threads=2).speedup == pytest.approx(2, rel=1e-3)
