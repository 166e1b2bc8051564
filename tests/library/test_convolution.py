"""std.convolution: operations, kernels and times of the algorithms by hand formulas."""

from __future__ import annotations

import math
from pathlib import Path

import measured
import numpy as np
import pytest

import hwdsl

ROOT = Path(__file__).parents[2]
SIZES = {"accelerator", "batch_size", "in_channels", "out_channels", "out_height", "out_width"}
SIZES |= {"kernel_height", "kernel_width", "stride"}

TEXT = """edition 2026

use std.convolution
use std.execution: memory_bound_time, elementwise_efficiency, operator_time
use std.operators: convolution, matmul
use vendor.consumer: GTX_1080_Ti

evaluator algorithms {
    param images : int = 16  in 1 .. 64
    param channels  : int = 512 in 1 .. 4096
    param filters  : int = 512 in 1 .. 4096
    param side   : int = 28  in 1 .. 224
    param kernel : int = 3   in 1 .. 11
    choice algorithm : convolution_algorithm in [
        gemm, implicit_gemm, implicit_precomp_gemm, winograd, winograd_nonfused, fft, fft_tiling,
    ] = implicit_gemm
    let gpu = GTX_1080_Ti with {
        peak_tf32 = GTX_1080_Ti.peak_fp32
        allow dense_tf32 "vector units in FP32"
    }
    let layer = convolution(
        batch_size = images,
        in_channels = channels,
        out_channels = filters,
        out_height = side,
        out_width = side,
        kernel_height = kernel,
        dtype = tf32,
    )
    let kernels = convolution_kernels(layer = layer, algorithm = algorithm)
    let covering = kernels.tiles(6 - kernel + 1, 6 - kernel + 1)
    output time in us = kernels.time(gpu)
    output launches : real = kernels.kernel_launches
    output side_of_fft : real = kernels.fft_side
    output direct_flops   in FLOP = layer.flops
    output filtered_flops in FLOP = kernels.products(kernels.tiles(2, 2), 16).flops
    output six_points_flops in FLOP = kernels.products(covering, 36).flops
    let frequencies = kernels.fft_side * (kernels.fft_side / 2 + 1)
    output complex_flops  in FLOP = kernels.complex_products(1, frequencies).flops
    output column in us = memory_bound_time(
        (side^2 * kernel^2 * channels + side^2 * channels) * 4 B, elementwise_efficiency, gpu
    )
    output image in us = operator_time(
        matmul(m = side^2, n = filters, k = channels * kernel^2, dtype = tf32), gpu
    )
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path: Path = tmp_path_factory.mktemp("convolution") / "convolution_test.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


def test_products_of_minimal_filtering(module: hwdsl.Module) -> None:
    """16 products for 4 outputs of 9 each, and 36 for 16: 2.25 and 4 times fewer, where tiles fit.

    A kernel of 5 x 5 leaves tiles of 2 x 2: 36 for 4 outputs of 25 each."""
    found = module.algorithms()
    assert found.direct_flops == 2 * 16 * 28**2 * 512 * 512 * 9
    assert found.direct_flops / found.filtered_flops == pytest.approx(2.25)
    assert found.direct_flops / found.six_points_flops == pytest.approx(4)
    wide = module.algorithms(kernel=5)
    assert wide.direct_flops / wide.six_points_flops == pytest.approx(100 / 36)
    partial = module.algorithms(side=7)
    assert partial.direct_flops / partial.filtered_flops == pytest.approx(2.25 * 49 / 64)


def test_products_of_fourier_transforms(module: hwdsl.Module) -> None:
    """A padded side of 32 has 32 x 17 frequencies; a product of complex numbers is four real."""
    found = module.algorithms()
    assert found.side_of_fft == 32
    assert found.complex_flops == 2 * 4 * 16 * 512 * 512 * 32 * 17
    assert module.algorithms(side=31).side_of_fft == 64


@pytest.mark.parametrize(("algorithm", "factor"), [("winograd", 2.25), ("winograd_nonfused", 4)])
def test_a_large_layer_gains_by_its_products(
    module: hwdsl.Module, algorithm: str, factor: float
) -> None:
    """Less than the products alone would give, since transforms take time, and more than half."""
    direct, filtered = (
        module.algorithms(images=64, side=56, algorithm=name).time
        for name in ("implicit_gemm", algorithm)
    )
    assert factor / 2 < direct / filtered < factor


def test_an_explicit_gemm_by_hand(module: hwdsl.Module) -> None:
    found = module.algorithms(images=3, algorithm="gemm", side=14, kernel=5)
    assert found.launches == 6
    assert found.time == pytest.approx(3 * (found.column + found.image), rel=0.02)


def test_launches_bound_a_small_layer(module: hwdsl.Module) -> None:
    """LeNet's first layer: each kernel more costs more than all operations."""
    small = {"images": 1, "channels": 1, "filters": 20, "side": 24, "kernel": 5}
    times = [
        module.algorithms(algorithm=name, **small).time
        for name in ("implicit_gemm", "implicit_precomp_gemm", "winograd_nonfused")
    ]
    assert times == sorted(times)
    assert all(math.isfinite(time) for time in times)
    assert times[2] > 2.5 * times[0]


FAMILIES = {
    "implicit_precomp_gemm": "gemm",
    "winograd": "filtering",
    "winograd_nonfused": "filtering",
}
FAMILIES |= {"implicit_gemm": "gemm", "fft": "fourier", "fft_tiling": "fourier"}


def fastest(evaluator: hwdsl.Evaluator, rows: list[measured.Row]) -> list[str]:
    """The family of the algorithm with the least time, of those that compute the convolution."""
    sizes = {name: [row[name] for row in rows] for name in rows[0] if name in SIZES}
    times = []
    for algorithm in FAMILIES:
        swept = evaluator.sweep(zipped=sizes | {"algorithm": [algorithm] * len(rows)})
        times.append(np.where(swept.feasible, swept.raw.column("time"), np.inf))
    return [list(FAMILIES.values())[k] for k in np.argmin(times, axis=0)]


@pytest.mark.skipif(measured.folder() is None, reason="no HWDSL_REFERENCE_DATA/measured")
def test_the_choice_of_the_library() -> None:
    """DeepBench's rows on NVIDIA's cards: the family that cuDNN chose is the fastest here in 345 of
    376. Filtering every kernel of 3 x 3 of stride 1 agrees in 339, GEMMs throughout in 269."""
    (one,) = (s for s in measured.SETS if s.name == "deepbench_conv")
    study = hwdsl.load(ROOT / "library" / "studies" / "deepbench.hw", compiled=False)
    given = one.given(study.convolution_forward).rows
    rows = [row for row in given if row["accelerator"] != "Vega_FE"]
    chosen = [FAMILIES[row["algorithm"]] for row in rows]
    plain = [(r["kernel_height"], r["kernel_width"], r["stride"]) == ("3", "3", "1") for r in rows]
    by_shape = ["filtering" if is_plain else "gemm" for is_plain in plain]

    def agreed(answers: list[str]) -> int:
        return sum(a == b for a, b in zip(answers, chosen, strict=True))

    assert len(rows) == 376
    assert (
        agreed(["gemm"] * 376) < agreed(by_shape) < agreed(fastest(study.convolution_forward, rows))
    )
    assert agreed(fastest(study.convolution_forward, rows)) >= 345
