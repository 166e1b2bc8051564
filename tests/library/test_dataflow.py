"""std.dataflow against a simulation of every token; FIFOs of INR-Arch by their published law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hwdsl

STAGES = 6
PAIRS = [(a, b) for b in range(STAGES) for a in range(b)]

Streams = list[tuple[int, int, int]]
Stages = list[tuple[int, int, int]]


def evaluated(folder: Path, streams: Streams, stages: Stages, tokens: int) -> Any:
    """The graph with (from, to, depth) of streams and (needed, interval, latency) of stages."""
    made = ",".join(
        f"stage(tokens_before_output = {n}, interval = {i}, latency = {d})" for n, i, d in stages
    )
    wired = ",".join(f"stream(from = {a}, to = {b}, depth = {d})" for a, b, d in streams)
    path = folder / "graph.hw"
    path.write_text(f"""edition 2026
use std.dataflow
evaluator graph {{
    param tokens : int = {tokens} in 1 .. 1000
    let graph = dataflow_graph(tokens = tokens, stages = [{made}], streams = [{wired}])
    output cycles            = graph.cycles
    output deadlocks : bool  = graph.deadlocks
}}
""")
    return hwdsl.load(path, compiled=False).graph()


times = st.integers(0, 5)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Streams, Stages, int]:
    """Streams, stages and tokens of a run."""
    tokens = draw(st.integers(2, 8))
    streams = {(draw(st.integers(0, b - 1)), b): draw(st.integers(1, 9)) for b in range(1, STAGES)}
    extra = draw(st.lists(st.sampled_from(PAIRS), max_size=4))
    streams |= {pair: draw(st.integers(1, 9)) for pair in extra}
    stages = [
        (1 if i == 0 else draw(st.sampled_from([1, 1, tokens])), draw(times), draw(times))
        for i in range(STAGES)
    ]
    return [(a, b, d) for (a, b), d in sorted(streams.items())], stages, tokens


def stops(streams: Streams, stages: Stages, tokens: int) -> bool:
    """Whether firing stages one token at a time comes to an end before all tokens are given."""
    needed = [n for n, _, _ in stages]
    held = {(a, b): 0 for a, b, _ in streams}
    depth = {(a, b): d for a, b, d in streams}
    read, given_ = [0] * STAGES, [0] * STAGES
    moved = True
    while moved:
        moved = False
        for i in range(STAGES):
            inputs = [e for e in held if e[1] == i]
            outputs = [e for e in held if e[0] == i]
            room = all(held[e] < depth[e] for e in outputs)
            fed = read[i] < tokens and all(held[e] > 0 for e in inputs)
            full = read[i] - given_[i] >= needed[i] - 1
            drain = read[i] == tokens and given_[i] < tokens and room
            if fed and (not full or room):
                for e in inputs:
                    held[e] -= 1
                read[i] += 1
                moved = True
            elif not drain:
                continue
            if (full or drain) and room and given_[i] < tokens:
                for e in outputs:
                    held[e] += 1
                given_[i] += 1
                moved = True
    return min(given_) < tokens


def last_token(streams: Streams, stages: Stages, tokens: int) -> int:
    """Cycle of the last token of a run whose FIFOs never fill, token by token."""
    times: list[list[int]] = []
    for i, (needed, interval, latency) in enumerate(stages):
        sources = [times[a] for a, b, _ in streams if b == i]
        ready = [max((t[m] for t in sources), default=0) for m in range(tokens)]
        own: list[int] = []
        for m in range(tokens):
            at = ready[min(m + needed, tokens) - 1] + latency
            # What is left after the last token read comes out one interval after another.
            own.append(max(at, own[-1] + interval) if own else at)
        times.append(own)
    return max(t[-1] for t in times)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graphs())
# The source stops at a short FIFO; a stage behind another one that it feeds waits for more.
@example(
    (
        [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 5, 1), (1, 4, 1), (4, 5, 1)],
        [(1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0), (1, 0, 0)],
        2,
    )
)
# Two stages that collect tokens hold up each other.
@example(
    (
        [(0, 1, 2), (0, 2, 9), (0, 5, 2), (1, 4, 2), (2, 3, 2), (3, 4, 2), (3, 5, 3)],
        [(1, 0, 0), (7, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)],
        7,
    )
)
def test_runs_stop_and_end_as_token_by_token(
    tmp_path: Path, drawn: tuple[Streams, Stages, int]
) -> None:
    streams, stages, tokens = drawn
    got = evaluated(tmp_path, streams, stages, tokens)
    assert bool(got.deadlocks) == stops(streams, stages, tokens)
    assert got.cycles == pytest.approx(last_token(streams, stages, tokens))
