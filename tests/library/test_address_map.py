"""std.address_map against an enumeration of addresses, and std.math.gcd."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hwdsl

TEXT = """edition 2026

use std.address_map
use std.math: gcd

evaluator divisor {
    param a : int = 12 in 0 .. 9_007_199_254_740_991
    param b : int = 18 in 0 .. 280_000_000_000
    output value : real = gcd(a, b)
}

evaluator access {
    param partitions  : int  = 4      in 1 .. 128
    param granularity : data = 256 B  in 1 B .. 64 KiB
    param request     : data = 1 B    in 1 B .. 64 KiB
    param banks       : int  = 16     in 1 .. 64
    param row_size    : data = 2048 B in 1 B .. 1 GiB
    param stride      : data = 1024 B in 1 B .. 1 GiB
    param requests    : real = inf    in 1 .. inf
    choice indexing : partition_indexing in [direct, hashed] = direct
    let map = address_map(
        partitions = partitions,
        granularity = granularity,
        request_size = request,
        banks = banks,
        row_size = row_size,
        row_cycle_time = 40 ns,
        activation_interval = 4 ns,
        indexing = indexing,
    )
    let stream = strided_access(
        map = map,
        bandwidth = 64 GB/s,
        stride = stride,
        element = 1 B,
        requests = requests,
    )
    output reached      : real = stream.partitions_reached
    output camping      : real = stream.camping
    output banks_used   : real = stream.banks_reached
    output activations  : real = stream.activations_per_request
    output bandwidth in GB/s   = stream.achieved_bandwidth
    output useful    in GB/s   = stream.useful_bandwidth
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path: Path = tmp_path_factory.mktemp("address_map") / "address_map_test.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


def loads(units: NDArray[np.int64], count: int) -> tuple[int, float]:
    """Units that are used, and the load of the busiest over the mean of all `count`."""
    found = np.bincount(units, minlength=count)
    return int(np.count_nonzero(found)), float(found.max() * count / len(units))


def openings(rows: NDArray[np.int64], banks: NDArray[np.int64]) -> float:
    """Rows opened for each request, where a bank keeps its last row open."""
    order = np.argsort(banks, kind="stable")
    same = (np.diff(banks[order]) == 0) & (np.diff(rows[order]) == 0)
    return 1 - np.count_nonzero(same) / len(rows)


@settings(deadline=None, max_examples=80)
@given(a=st.integers(0, 2**53 - 1), b=st.integers(0, 280_000_000_000))
def test_gcd(module: hwdsl.Module, a: int, b: int) -> None:
    assert module.divisor(a=a, b=b).value == math.gcd(a, b)


def test_gcd_of_fibonacci_numbers(module: hwdsl.Module) -> None:
    """The pair that takes Euclid's algorithm most rounds."""
    assert module.divisor(a=365435296162, b=225851433717).value == 1


@settings(deadline=None, max_examples=150)
@given(
    granularity=st.integers(1, 48),
    partitions=st.integers(1, 24),
    stride=st.integers(1, 3000),
    base=st.integers(0, 5000),
)
def test_partitions_and_camping_are_those_of_the_enumeration(
    module: hwdsl.Module, granularity: int, partitions: int, stride: int, base: int
) -> None:
    """Any granularity, partitions and stride, from any first address, over one period."""
    period = granularity * partitions
    addresses = base + stride * np.arange(period)
    reached, imbalance = loads(addresses // granularity % partitions, partitions)
    found = module.access(
        partitions=partitions,
        granularity=f"{granularity} B",
        row_size=f"{granularity} B",
        stride=f"{stride} B",
    )
    assert found.feasible
    assert found.reached == reached
    assert found.camping == pytest.approx(imbalance, rel=1e-12)


@settings(deadline=None, max_examples=150)
@given(
    granularity=st.integers(1, 16),
    chunks=st.integers(1, 6),
    partitions=st.integers(1, 12),
    banks=st.integers(1, 8),
    stride=st.integers(1, 2000),
)
def test_banks_and_rows_are_those_of_the_enumeration(
    module: hwdsl.Module, granularity: int, chunks: int, partitions: int, banks: int, stride: int
) -> None:
    """Banks always; rows where they hold whole strides or one request each, and as a bound else."""
    row = granularity * chunks
    span = row * partitions
    addresses = stride * np.arange(4 * span * banks)
    partition = addresses // granularity % partitions
    row_number = (addresses // (granularity * partitions) * granularity) // row
    used, _ = loads(row_number % banks, banks)
    opened = openings(row_number, partition * banks + row_number % banks)
    found = module.access(
        partitions=partitions,
        granularity=f"{granularity} B",
        banks=banks,
        row_size=f"{row} B",
        stride=f"{stride} B",
    )
    assert found.feasible
    assert found.banks_used == used
    assert opened <= found.activations + 1e-9
    if span % stride == 0 or stride >= span:
        assert found.activations == pytest.approx(opened, rel=1e-12)


def folded(addresses: NDArray[np.int64], chunk: int, bits: int) -> NDArray[np.int64]:
    """A hash of real parts: the exclusive or of all groups of `bits` of the chunk's number."""
    left, found = addresses // chunk, np.zeros_like(addresses)
    while left.any():
        found ^= left & (2**bits - 1)
        left >>= bits
    return found


@pytest.mark.parametrize("shift", range(8, 24))
def test_a_hash_spreads_powers_of_two(module: hwdsl.Module, shift: int) -> None:
    """32 partitions of 256 bytes: by number all strides from 8 KiB on meet in one."""
    addresses = 2**shift * np.arange(2**12)
    _, imbalance = loads(folded(addresses, 256, 5), 32)
    given_ = {"partitions": 32, "stride": f"{2**shift} B"}
    hashed = module.access(indexing="hashed", **given_)
    assert hashed.camping == pytest.approx(imbalance, rel=0.01)
    direct = module.access(**given_)
    assert direct.camping == min(32, 2 ** (shift - 8))


@pytest.mark.parametrize("partitions", [4, 32, 80])
@pytest.mark.parametrize("mean", [20, 200])
def test_a_short_stream_is_uneven_as_balls_in_bins_are(
    module: hwdsl.Module, partitions: int, mean: int
) -> None:
    generator = np.random.default_rng(7)
    drawn = generator.multinomial(mean * partitions, [1 / partitions] * partitions, size=2000)
    expected = float(drawn.max(axis=1).mean()) / mean
    found = module.access(partitions=partitions, indexing="hashed", requests=mean * partitions)
    assert found.camping == pytest.approx(expected, rel=0.12)


def test_bandwidth_by_hand(module: hwdsl.Module) -> None:
    """4 partitions of 16 GB/s, requests of 32 B in 2 ns. 1 KiB apart all are in one partition and a
    row of 2 KiB serves 8 of them: 2 ns. 8 KiB apart each opens a row, in one bank after the other:
    4 ns. 128 KiB apart all are in one bank: 40 ns."""
    map_ = {"request": "32 B", "row_size": "2048 B"}
    for stride, request_time in (("1 KiB", 2), ("8 KiB", 4), ("128 KiB", 40)):
        found = module.access(stride=stride, **map_)
        assert found.bandwidth == pytest.approx(32 / request_time, rel=1e-12)
        assert found.useful == pytest.approx(1 / request_time, rel=1e-12)
    dense = module.access(stride="1 B", **map_)
    assert dense.bandwidth == pytest.approx(64)
    assert dense.useful == pytest.approx(64)
