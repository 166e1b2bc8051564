"""std.marked_graph against all cycles of a graph; FIFOs of std.dataflow against a simulation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

NODES = 4
PLACES = 8
STAGES = 5
SKIPS = [(0, 2), (0, 4), (1, 3), (1, 4)]
WIRES = [(i, i + 1) for i in range(STAGES - 1)] + SKIPS
ENOUGH = 10_000
"""Depth of a FIFO that is never full."""
Place = tuple[int, int, int, int]
QUICK = settings(deadline=None, max_examples=25)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Evaluators whose params are the places, or the stages and the depths of all FIFOs."""
    places = ",".join(f"place(from = a{i}, to = b{i}, delay = d{i}, tokens = t{i})"
                      for i in range(PLACES))  # fmt: skip
    ends = "".join(f"param {x}{i} : int = 0 in 0 .. 9{chr(10)}"
                   for x in "abdt" for i in range(PLACES))  # fmt: skip
    stages = ",".join(f"stage(interval = i{k}, latency = l{k})" for k in range(STAGES))
    streams = ",".join(f"stream(from = {a}, to = {b}, depth = f{a}{b})" for a, b in WIRES)
    times = "".join(f"param {x}{k} : int = 1 in 1 .. 99{chr(10)}"
                    for x in "il" for k in range(STAGES))  # fmt: skip
    depths = "".join(f"param f{a}{b} : real = {ENOUGH} in 1 .. {ENOUGH}{chr(10)}"
                     for a, b in WIRES)  # fmt: skip
    path = tmp_path_factory.mktemp("marked") / "graph.hw"
    path.write_text(f"""edition 2026
use std.dataflow
use std.marked_graph
evaluator marked {{
    {ends}
    let made = marked_graph(transitions = {NODES}, places = [{places}])
    output cycle_time = made.cycle_time
}}
evaluator pipeline {{
    {times} {depths}
    let made = dataflow_graph(tokens = 9, stages = [{stages}], streams = [{streams}])
    output interval = made.token_interval
}}
""")
    return hwdsl.load(path)


def greatest_ratio(places: list[Place]) -> Fraction | float:
    """Delay over tokens of the worst cycle, by walking every simple cycle."""
    worst: Fraction | float = Fraction(0)
    # A cycle is found from its lowest node.
    walks = [(a, b, d, t, (a, b)) for a, b, d, t in places if b >= a]
    while walks:
        start, at, delay, tokens, seen = walks.pop()
        if at == start:
            ratio = Fraction(delay, tokens) if tokens else float("inf") if delay else Fraction(0)
            worst = max(worst, ratio)
            continue
        for a, b, d, t in places:
            if a == at and (b == start or (b > start and b not in seen)):
                walks.append((start, b, delay + d, tokens + t, (*seen, b)))
    return worst


node = st.integers(0, NODES - 1)
places_of = st.lists(
    st.tuples(node, node, st.integers(0, 9), st.integers(0, 4)), min_size=PLACES, max_size=PLACES
)


@QUICK
@given(places_of)
def test_a_transition_fires_once_in_the_greatest_ratio_of_a_cycle(
    graphs: Any, places: list[Place]
) -> None:
    given = {f"{x}{i}": v for i, p in enumerate(places) for x, v in zip("abdt", p, strict=True)}
    got = graphs.marked(**given)
    assert got.cycle_time == pytest.approx(float(greatest_ratio(places)), rel=1e-9, abs=1e-9)


def interval_by_cycles(streams: list[Place], stages: list[tuple[int, int]], tokens: int) -> float:
    """Cycles between tokens of the last stage, clock cycle by clock cycle.

    `streams` are (from, to, depth, 0); a stage is its interval and its latency, a multiple of it.
    """
    fired: list[list[int]] = [[] for _ in stages]
    cycle = 0
    while len(fired[-1]) < tokens:
        # Readers first: a place that one frees can be used in the same cycle.
        for i, (interval, latency) in reversed(list(enumerate(stages))):
            k = len(fired[i])
            rested = not k or cycle - fired[i][-1] >= interval
            fed = all(len(fired[a]) > k and fired[a][k] + stages[a][1] <= cycle
                      for a, b, _, _ in streams if b == i)  # fmt: skip
            held = latency // interval - 1
            room = all(k - len(fired[b]) < d + held for a, b, d, _ in streams if a == i)
            if rested and fed and room:
                fired[i].append(cycle)
        cycle += 1
    half = tokens // 2
    return (fired[-1][-1] - fired[-1][half - 1]) / (tokens - half)


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[list[Place], list[tuple[int, int]]]:
    depth = st.integers(1, 6)
    spine = [(i, i + 1, draw(depth), 0) for i in range(STAGES - 1)]
    skips = draw(st.lists(st.sampled_from(SKIPS), unique=True))
    interval = draw(st.lists(st.integers(1, 3), min_size=STAGES, max_size=STAGES))
    stages = [(i, i * draw(st.integers(1, 4))) for i in interval]
    return spine + [(a, b, draw(depth), 0) for a, b in skips], stages


@QUICK
@given(pipelines())
def test_short_fifos_slow_a_pipeline_as_the_simulation_says(
    graphs: Any, drawn: tuple[list[Place], list[tuple[int, int]]]
) -> None:
    streams, stages = drawn
    given = {f"f{a}{b}": d for a, b, d, _ in streams}
    given |= {f"{x}{k}": v for k, s in enumerate(stages) for x, v in zip("il", s, strict=True)}
    got = graphs.pipeline(**given)
    assert got.interval == pytest.approx(interval_by_cycles(streams, stages, 240), rel=0.01)


@pytest.mark.parametrize("in_flight", [1, 2, 4, 9])
def test_a_pipeline_with_few_micro_batches_takes_its_slowest_stage_or_its_round_trip(
    graphs: Any, in_flight: int
) -> None:
    times = [5, 9, 4]
    rests = [(i, i, t, 1) for i, t in enumerate(times)]
    ways = [(0, 1, times[0], 0), (1, 2, times[1], 0), (2, 0, times[2], in_flight)]
    places = [*rests, *ways, (3, 3, 0, 1), (3, 3, 0, 1)]
    given = {f"{x}{i}": v for i, p in enumerate(places) for x, v in zip("abdt", p, strict=True)}
    expected = max(max(times), sum(times) / in_flight)
    assert graphs.marked(**given).cycle_time == pytest.approx(expected)
