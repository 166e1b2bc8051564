"""std.loop_nest against an enumeration of every call; the cost model of PARLOOPER by hand."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from math import ceil, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

LOOPS = 5
DIMENSIONS = [(1, 3), (3, 2), (1, 2)]
"""Dimensions of the left input, the right one and the result of a matrix product."""

TENSORS = ",".join(
    f"tensor(block = block_{i}, dimensions = {list(d)}, written = {str(i == 2).lower()})"
    for i, d in enumerate(DIMENSIONS)
)
NEST = ",".join(
    f"loop(dimension = dim_{i}, trips = trips_{i}, threads = {'threads' if i == 0 else 1})"
    for i in range(LOOPS)
)
MISSES = "\n    ".join(
    f"output misses_{i} = nest.calls * nest.reuse_of(tensors[{i}], false).miss_fraction(capacity)"
    for i in range(3)
)
TEXT = f"""edition 2026
use std.loop_nest
use studies.parlooper: cost_model
use vendor.processors: Xeon_8480C

evaluator product {{
    param capacity : data = 1 kB in 1 B .. 1 TB
    {"".join(f"param dim_{i} : int = 1 in 1 .. 3{chr(10)}    " for i in range(LOOPS))}
    {"".join(f"param trips_{i} : int = 2 in 1 .. 100{chr(10)}    " for i in range(LOOPS))}
    {"".join(f"param block_{i} : data = 1 B in 1 B .. 1 GB{chr(10)}    " for i in range(3))}
    param threads : int = 1 in 1 .. 8
    param drain : real = 0 in 0 .. 1e6
    let tensors = [
        {TENSORS}
    ]
    let nest = loop_nest(
        loops = [
            {NEST}
        ],
        tensors = tensors,
    )
    output calls       = nest.calls
    {MISSES}
    output traffic in B = nest.traffic_beyond(capacity)
    output shared  in B = nest.traffic_beyond_shared(capacity)
    let on_cpu = loop_nest_on_cpu(
        nest = nest, cpu = Xeon_8480C, threads = 8, flops = 1 MFLOP, loads = 128 kB, stores = 64 kB,
        core_rate = 1 TFLOP/s, call_cycles = drain,
    )
    output time in us = on_cpu.time
    let paper = cost_model(nest = nest, flops = 1 MFLOP, m = 64, n = 96, threads = 28)
    output paper_time in us = paper.time
}}
"""  # fmt: skip


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path = tmp_path_factory.mktemp("nest") / "nest.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False).product


def params(
    loops: list[tuple[int, int]], blocks: list[int], capacity: float, threads: int = 1
) -> dict[str, str | int]:
    padded = [*loops, *[(1, 1)] * (LOOPS - len(loops))]
    given = {f"dim_{i}": d for i, (d, _) in enumerate(padded)}
    given |= {f"trips_{i}": t for i, (_, t) in enumerate(padded)}
    sizes = {f"block_{i}": f"{b} B" for i, b in enumerate(blocks)}
    return given | sizes | {"capacity": f"{capacity} B", "threads": threads}


def misses_by_calls(loops: list[tuple[int, int]], blocks: list[int], capacity: float) -> list[int]:
    """Misses of each tensor in a cache of the least recently used blocks, call by call."""
    cache: OrderedDict[tuple[int, ...], int] = OrderedDict()
    misses = [0, 0, 0]
    for at in itertools.product(*(range(t) for _, t in loops)):
        used = [
            (k, *(i for (d, _), i in zip(loops, at, strict=True) if d in dims))
            for k, dims in enumerate(DIMENSIONS)
        ]
        for key in used:
            since = 0
            for other in reversed(cache):
                if other == key:
                    break
                since += cache[other]
            misses[key[0]] += key not in cache or since >= capacity
        for key in used:
            cache.pop(key, None)
            cache[key] = blocks[key[0]]
    return misses


loop_lists = st.lists(st.tuples(st.integers(1, 3), st.integers(2, 4)), min_size=2, max_size=LOOPS)


@settings(deadline=None, max_examples=80)
@given(loop_lists, st.lists(st.integers(1, 3), min_size=3, max_size=3), st.integers(20, 200))
def test_misses_lie_between_those_of_a_smaller_and_a_larger_cache(
    product: hwdsl.Evaluator, loops: list[tuple[int, int]], blocks: list[int], capacity: int
) -> None:
    got = product(**params(loops, blocks, capacity))
    below = misses_by_calls(loops, blocks, capacity / 2)
    above = misses_by_calls(loops, blocks, 2 * capacity)
    for k, (most, least) in enumerate(zip(below, above, strict=True)):
        assert least <= getattr(got, f"misses_{k}") * (1 + 1e-9) + 1e-9
        assert getattr(got, f"misses_{k}") <= most * (1 + 1e-9)


def test_most_misses_are_exact(product: hwdsl.Evaluator) -> None:
    cases = [
        ([(1, 4), (2, 4), (3, 4)], [1, 2, 3]),
        ([(3, 4), (1, 4), (2, 4)], [1, 2, 3]),
        ([(1, 3), (2, 3), (3, 4), (1, 4)], [2, 3, 1]),
        ([(2, 4), (1, 2), (3, 3), (2, 2), (1, 3)], [1, 1, 1]),
    ]
    capacities = [8, 15, 30, 60, 120, 1000]
    exact = [
        getattr(product(**params(loops, blocks, c)), f"misses_{k}") == pytest.approx(found)
        for loops, blocks in cases
        for c in capacities
        for k, found in enumerate(misses_by_calls(loops, blocks, c))
    ]
    assert sum(exact) >= 0.9 * len(exact)


@settings(deadline=None, max_examples=40)
@given(loop_lists, st.lists(st.integers(1, 3), min_size=3, max_size=3))
def test_a_cache_of_everything_sees_first_uses_and_none_of_any_size_sees_less(
    product: hwdsl.Evaluator, loops: list[tuple[int, int]], blocks: list[int]
) -> None:
    got = product(**params(loops, blocks, 1e6))
    first = [prod(t for d, t in loops if d in dims) for dims in DIMENSIONS]
    assert [got.misses_0, got.misses_1, got.misses_2] == pytest.approx(first)
    written = [1, 1, 2]
    assert got.traffic == pytest.approx(
        sum(b * f * w for b, f, w in zip(blocks, first, written, strict=True))
    )
    assert got.calls == prod(t for _, t in loops)


def test_a_shared_cache_holds_one_copy_of_what_all_threads_read(product: hwdsl.Evaluator) -> None:
    # Eight rows on four threads: the left input and the result differ between them.
    got = product(**params([(1, 8), (2, 5), (3, 4)], [10, 10, 10], 1e6, threads=4))
    left, right, result = 2 * 4, 5 * 4, 2 * 5
    assert got.traffic == pytest.approx(10 * (left + right + 2 * result))
    assert got.shared == pytest.approx(10 * (4 * left + right + 2 * 4 * result))


def test_the_execution_cache_memory_model_by_hand(product: hwdsl.Evaluator) -> None:
    # Blocks of 8, 16 and 4 kB: a call's 28 kB fit into the first level, the nest into the second.
    loops = [(1, 4), (2, 3), (3, 5)]
    kb = 1000
    got = product(**params(loops, [8 * kb, 16 * kb, 4 * kb], 1e6))
    cycles = 60 * (128 + 2 * 64) * kb / 128
    clock = 2e9 * (56 / 8) ** 0.5
    clock = min(clock, 3.8e9)
    capacity = 0.75 * 48 * 1024
    counts = misses_by_calls(loops, [8 * kb, 16 * kb, 4 * kb], capacity)
    l2 = kb * (8 * counts[0] + 16 * counts[1] + 8 * counts[2]) / 64
    first = kb * (8 * 20 + 16 * 15 + 8 * 12)
    expected = (cycles + l2 + first / 8) / clock + first / 307.2e9
    assert got.time == pytest.approx(max(60e6 / 1e12, expected) * 1e6, rel=1e-6)
    # Filling and emptying a pipeline of 20,000 cycles takes longer than blocks are moved.
    slow = product(**params(loops, [8 * kb, 16 * kb, 4 * kb], 1e6), drain=20_000)
    assert slow.time == pytest.approx((60e6 / 1e12 + 60 * 20_000 / clock) * 1e6, rel=1e-6)


def test_the_cost_model_by_hand(product: hwdsl.Evaluator) -> None:
    # One loop over k: inputs from memory at every call, the result once, in a nest of 10 calls.
    got = product(**params([(3, 10)], [4096, 8192, 16384], 1e6))
    tiles_m, tiles_n = ceil(64 / 32), ceil(96 / 32)
    inner = (tiles_m * tiles_n - (tiles_m + tiles_n - 1)) / (tiles_m * tiles_n)
    # The code charges the second input 8 bytes a cycle, not 2, if the first is in memory too.
    cycles = 10 * (4096 / 2 + 8192 / 8 + 1e6 / 50 * inner) + 16384 / 2
    assert got.paper_time == pytest.approx(cycles / 1.8e9 * 1e6)
