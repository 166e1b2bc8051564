"""Laws of GEMM kernels that run at the same time, and the arithmetic of their waves."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Evaluator

TEXT = """edition 2026
use std.concurrent_kernels
use std.execution: operator_time, achieved_gemm_rate
use std.node: accelerator
use std.operators: matmul
use vendor.amd: MI100
use vendor.nvidia: V100_SXM_32GB, H100_SXM_80GB, B200_SXM_180GB

let large = MI100 with { llc_capacity = 100 GB }

evaluator both {
    choice gpu : accelerator in [MI100, V100_SXM_32GB, H100_SXM_80GB, B200_SXM_180GB] = MI100
    param m      : int = 512  in 1 .. 100_000
    param n      : int = 1024 in 1 .. 100_000
    param k      : int = 1024 in 1 .. 100_000
    param copies : int = 1    in 1 .. 1000
    param number : int = 16   in 1 .. 1000

    let gemm  = matmul(m = m, n = n, k = k, dtype = fp16)
    let wide  = matmul(m = m, n = n, k = 2 * k, dtype = fp16)
    let alone = [
        concurrent_time([concurrent_gemms(gemm = gemm, kernel = x)], gpu)
        for x in tile_kernels
    ]
    let group = [
        concurrent_time([concurrent_gemms(gemm = gemm, kernel = x, copies = copies)], gpu)
        for x in tile_kernels
    ]
    let split = [
        concurrent_time([concurrent_gemms(gemm = gemm, kernel = x)], gpu)
        for x in split_k_kernels
    ]
    let small = concurrent_gemms(gemm = gemm, kernel = tile_kernels[3])
    let deep  = concurrent_gemms(gemm = wide, kernel = tile_kernels[3], copies = copies)
    let many  = independent_gemms(gemm = gemm, number = number, device = gpu)
    let kept = [
        concurrent_time([concurrent_gemms(gemm = gemm, kernel = x, copies = c)], large)
        for x in tile_kernels
        for c in [1, copies]
    ]

    output operator in us = operator_time(gemm, gpu)
    output single   in us = min(alone)
    output together in us = min(group)
    output splits   in us = min(split)
    output kernel_0 in us = group[0]
    output kernel_1 in us = group[1]
    output kernel_2 in us = group[2]
    output kernel_3 in us = group[3]
    output compute_bound in us = copies * gemm.flops / achieved_gemm_rate(fp16, gpu)
    output memory_bound  in us = copies * gemm.memory_traffic
        / (gpu.kernel_efficiency.memory_efficiency * gpu.memory_bandwidth)
    output waves   in us = shared_wave_time([small, deep], gpu)
    output swapped in us = shared_wave_time([deep, small], gpu)
    output short   in us = small.block_time(gpu)
    output long    in us = deep.block_time(gpu)
    output kept_alone in us    = kept[0]
    output kept_together in us = kept[1]
    output again in MB   = small.refetched(1 / copies, copies, gpu)
    output in_turn in us = many.in_turn
    output plain in us   = many.plain
    output tuned in us   = many.tuned.value
    output best in us    = many.best.value
    output degree        = many.best.degree

    allow independent_gemms.beyond_memory "laws hold for any number"
}
"""
GPUS = {"MI100": 120, "V100_SXM_32GB": 80, "H100_SXM_80GB": 132, "B200_SXM_180GB": 148}
SIZES = st.integers(1, 8192)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Evaluator:
    path = tmp_path_factory.mktemp("concurrent") / "ask.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False).both


@settings(max_examples=40, deadline=None)
@given(gpu=st.sampled_from(sorted(GPUS)), m=SIZES, n=SIZES, k=SIZES, copies=st.integers(1, 64))
def test_laws_of_capacity(both: Evaluator, gpu: str, m: int, n: int, k: int, copies: int) -> None:
    """One GEMM is as in `std.execution`; no group beats the units or the memory; in turn bounds."""
    r = both(gpu=gpu, m=m, n=n, k=k, copies=copies, number=copies).raw
    assert r["single"] == pytest.approx(r["operator"], rel=1e-12)
    assert r["splits"] <= r["single"] * (1 + 1e-12)
    assert r["together"] >= max(r["compute_bound"], r["memory_bound"]) * (1 - 1e-12)
    assert r["together"] >= r["single"] * (1 - 1e-12)
    assert r["best"] <= r["tuned"] * (1 + 1e-12)
    assert r["tuned"] <= min(r["in_turn"], r["plain"]) * (1 + 1e-12)
    assert r["in_turn"] == pytest.approx(copies * r["operator"], rel=1e-12)
    # with a cache that keeps all, sharing waves costs nothing
    assert r["kept_together"] <= copies * r["kept_alone"] * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(gpu=st.sampled_from(sorted(GPUS)), m=SIZES, n=SIZES, copies=st.integers(1, 64))
def test_blocks_of_unlike_length_share_waves(
    both: Evaluator, gpu: str, m: int, n: int, copies: int
) -> None:
    """Filled by hand, place by place: long blocks first, and a wave waits for its longest."""
    r = both(gpu=gpu, m=m, n=n, copies=copies).raw
    blocks = math.ceil(m / 64) * math.ceil(n / 64)
    order = [r["long"]] * (copies * blocks) + [r["short"]] * blocks
    waves = [order[i : i + GPUS[gpu]] for i in range(0, len(order), GPUS[gpu])]
    assert r["waves"] == pytest.approx(sum(max(w) for w in waves), rel=1e-9)
    assert r["swapped"] == pytest.approx(r["waves"], rel=1e-12)


def refetched_by_hand(m: int, n: int, k: int, copies: int) -> float:
    """Megabytes that one of several equal GEMMs in tiles of 64 x 64 reads again on MI100."""
    places, rows, columns = 120 / copies, math.ceil(m / 64), math.ceil(n / 64)

    def missed(data: float, passes: int, other: float) -> float:
        distance = copies * (data + other / passes)
        return (passes - 1) * data / (1 + (8e6 / distance) ** 8)

    first, second = 2 * m * k, 2 * k * n
    by_columns = math.ceil(columns / max(1, min(columns, places // rows)))
    by_rows = math.ceil(rows / max(1, min(rows, places // columns)))
    return min(missed(first, by_columns, second), missed(second, by_rows, first)) / 1e6


@pytest.mark.parametrize(
    ("m", "n", "k", "copies"),
    [(512, 512, 512, 1), (1024, 1024, 1024, 1), (1024, 1024, 1024, 16), (4096, 512, 2048, 4)],
)
def test_what_is_read_again_by_hand(both: Evaluator, m: int, n: int, k: int, copies: int) -> None:
    again = both(m=m, n=n, k=k, copies=copies).raw["again"]
    assert again == pytest.approx(refetched_by_hand(m, n, k, copies), rel=1e-9, abs=1e-12)


def test_the_best_degree_and_kernel(both: Evaluator) -> None:
    """GEMMs too small to fill the units gain from any concurrency. Of larger ones the kernels that
    are best alone read so much again that they are better in turn, and larger tiles are better."""
    small = both(m=64, n=1024, k=1024).raw
    assert small["degree"] == 16
    assert small["best"] == pytest.approx(small["plain"])
    large = both(m=1024, n=1024, k=1024).raw
    assert large["plain"] > large["in_turn"] > large["tuned"]
    gains = [both(m=64, n=1024, k=1024, number=c).raw for c in (1, 2, 4, 8, 16)]
    gains = [r["in_turn"] / r["best"] for r in gains]
    assert all(a < b for a, b in pairwise(gains))
    assert gains[0] == 1


@pytest.mark.parametrize(("rows", "columns"), [(256, 128), (128, 128), (128, 64), (64, 64)])
@pytest.mark.parametrize(("size", "copies"), [(1024, 16), (512, 4), (2048, 2)])
def test_square_gemms_on_mi100_by_hand(
    both: Evaluator, rows: int, columns: int, size: int, copies: int
) -> None:
    """Latency once; waves of all blocks beside the operands of all and what is read again."""

    def again(count: int) -> float:
        """Bytes that one of the GEMMs reads again, by columns or rows of the result."""
        down, across, data = size // rows, size // columns, 2 * size**2
        by = [
            math.ceil(a / max(1, min(a, 120 // count // b)))
            for a, b in ((across, down), (down, across))
        ]
        distances = [count * (data + data / passes) for passes in by]
        return min(
            (p - 1) * data / (1 + (8e6 / d) ** 8) for p, d in zip(by, distances, strict=True)
        )

    blocks = copies * (size // rows) * (size // columns)
    block = 2 * rows * columns * size * 120 / (0.68 * 184.6e12) + 1.1e-6
    moved = copies * (3 * 2 * size**2 + max(0, again(copies) - again(1)))
    waves, moving = math.ceil(blocks / 120) * block, moved / (0.77 * 1228.8e9)
    hand = 1e6 * (3.3e-6 + (waves**4 + moving**4) ** 0.25)
    kernel = [(256, 128), (128, 128), (128, 64), (64, 64)].index((rows, columns))
    found = both(m=size, n=size, k=size, copies=copies).raw[f"kernel_{kernel}"]
    assert found == pytest.approx(hand, rel=1e-9)
