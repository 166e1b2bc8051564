"""std.marked_graph against all cycles of a graph; FIFOs of std.dataflow against a simulation."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hwdsl

NODES = 4
STAGES = 5
Place = tuple[int, int, int, int]
QUICK = settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def loaded(folder: Path, module: str, graph: str, outputs: str) -> Any:
    path = folder / "graph.hw"
    path.write_text(f"""edition 2026
use {module}
evaluator graph {{
    param shift : real = 0 in 0 .. 1
    let made = {graph}
    {outputs}
}}
""")
    return hwdsl.load(path).graph


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
    st.tuples(node, node, st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=9
)


@QUICK
@given(places_of)
def test_a_transition_fires_once_in_the_greatest_ratio_of_a_cycle(
    tmp_path: Path, places: list[Place]
) -> None:
    made = ",".join(f"place(from = {a}, to = {b}, delay = {d} + shift, tokens = {t})"
                    for a, b, d, t in places)  # fmt: skip
    text = f"marked_graph(transitions = {NODES}, places = [{made}])"
    got = loaded(tmp_path, "std.marked_graph", text, "output cycle_time = made.cycle_time")()
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
    skips = draw(st.lists(st.sampled_from([(0, 2), (0, 4), (1, 3), (1, 4)]), unique=True))
    interval = draw(st.lists(st.integers(1, 3), min_size=STAGES, max_size=STAGES))
    stages = [(i, i * draw(st.integers(1, 4))) for i in interval]
    return spine + [(a, b, draw(depth), 0) for a, b in skips], stages


@QUICK
@given(pipelines())
def test_short_fifos_slow_a_pipeline_as_the_simulation_says(
    tmp_path: Path, drawn: tuple[list[Place], list[tuple[int, int]]]
) -> None:
    streams, stages = drawn
    made = ",".join(f"stage(interval = {i}, latency = {n})" for i, n in stages)
    wired = ",".join(f"stream(from = {a}, to = {b}, depth = {d} + shift)" for a, b, d, _ in streams)
    text = f"dataflow_graph(tokens = 9, stages = [{made}], streams = [{wired}])"
    got = loaded(tmp_path, "std.dataflow", text, "output interval = made.token_interval")()
    assert got.interval == pytest.approx(interval_by_cycles(streams, stages, 240), rel=0.01)
