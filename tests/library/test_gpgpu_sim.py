"""The studies of GPGPU-Sim and of strided access, by hand formulas and enumerations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shipped

import hwdsl

STUDIES = Path(shipped.ROOT) / "library" / "studies"


@pytest.fixture(scope="module")
def study() -> hwdsl.Module:
    return hwdsl.load(STUDIES / "gpgpu_sim.hw", compiled=False)


@pytest.fixture(scope="module")
def strided() -> hwdsl.Module:
    return hwdsl.load(STUDIES / "strided_access.hw", compiled=False)


@pytest.mark.parametrize(("n", "waves"), [(16, 1), (512, 1), (1024, 2), (2560, 5)])
def test_cycles_of_a_gemm_by_hand(study: hwdsl.Module, n: int, waves: int) -> None:
    """Seven launches of waves of blocks of 128 x 128, at 128 operations a cycle, 82 % of the peak,
    1.1 us for each wave and 3.3 us for each launch; the memory is never in the way."""
    wave = 2 * 128 * 128 * 2560 / 128 / 0.82 + 1.1 * 1132
    by_hand = 7 * (waves * wave + 3.3 * 1132)
    found = study.gemm_on_qv100(n=n)
    assert found.waves == waves
    assert found.cycles == pytest.approx(by_hand, rel=2e-3)


def test_lenet_by_hand(study: hwdsl.Module) -> None:
    """Operations and bytes of the layers at 1.862 TFLOP/s and 112 GB/s."""
    of_pixels, of_weights = 24**2 * (1 + 20), 20 * 25
    sizes = {
        "conv1": of_pixels + of_weights,
        "pool1": 20 * 12**2 * 5,
        "ip1": 800 * 500 + 800 + 500,
        "ip2": 500 * 10 + 510,
    }
    for layer, elements in sizes.items():
        found = study.lenet(layer=layer).layer_roofline
        assert found == pytest.approx(4 * elements / 112e3, rel=1e-3)
    operations = 2 * 8**2 * 50 * 20 * 25
    assert study.lenet(layer="conv2").layer_roofline == pytest.approx(operations / 1.862e6)
    layers = ("conv1", "pool1", "conv2", "pool2", "ip1", "relu1", "ip2", "softmax1")
    whole = study.lenet()
    assert whole.network_time == pytest.approx(sum(study.lenet(layer=x).layer_time for x in layers))
    assert whole.roofline < whole.network_time


def test_a_column_of_16_kib_meets_in_one_slice(strided: hwdsl.Module) -> None:
    """All threads of a matrix of 4,096 columns, at each step, over 64 slices of 256 bytes."""
    rows = np.arange(4096)
    busiest = 0
    for column in range(0, 4096, 64):
        addresses = 4 * (4096 * rows + column)
        busiest += int(np.bincount(addresses // 256 % 64, minlength=64).max())
    found = strided.matrix_vector_on_qv100()
    assert found.cycles == busiest * 64 == 4096**2
    assert strided.matrix_vector_on_qv100(indexing="hashed").cycles == 4096**2 / 64
    odd = strided.matrix_vector_on_qv100(size=4160)
    assert odd.cycles == 4160**2 / 64, "rows of 65 chunks spread"


@pytest.mark.parametrize("stride", [1, 8, 64, 512])
def test_indices_of_the_probe(strided: hwdsl.Module, stride: int) -> None:
    """132 units of 32 blocks of 256 threads walk 2^27 elements in 124 steps."""
    threads, elements = 132 * 32 * 256, 2**27
    steps = elements // threads
    first = np.arange(steps, dtype=np.int64) * stride * threads
    inside = np.clip(2**32 - first, 0, threads).sum() / (steps * threads)
    found = strided.row_policy_probe(stride=stride)
    assert found.long_indices / 100 == pytest.approx(1 - inside, abs=1.5 / steps)
    assert found.memory_allows == pytest.approx(3350, rel=0.01)


@pytest.mark.parametrize("partitions", range(1, 65))
def test_camping_is_the_power_of_two(strided: hwdsl.Module, partitions: int) -> None:
    found = strided.partitions(partitions=partitions)
    assert found.direct == math.gcd(partitions, 64)
    assert 1 <= found.hashed < 1.4
