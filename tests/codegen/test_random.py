"""Random programs by the thousand: compiled many to a module, and compared with the interpreter.

The programs are the same in every run, so that a failure can be looked at.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs
from test_emit import STRICT, assert_same, axes_of
from test_passes_differentiate import smooth_graphs

from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.build.toolchain import build
from hwdsl.codegen.emit import code_sinking
from hwdsl.codegen.passes import differentiate, optimise

BATCHES, BATCH = 4, 500
SMOOTH = 250


def collect(count, strategy, number):
    """Examples of a strategy, the same every time for a number."""
    found = []

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(example):
        found.append(example)

    draw()
    return found


@st.composite
def programs(draw):
    graph = draw(graphs())
    return graph, draw(columns_for(graph, count=7))


def grid(graph, columns):
    """Axes that vary at different speeds, so that some are constant within a tile."""
    axes, stride = [], 1
    for p, (values, _, count) in zip(graph.params, axes_of(columns), strict=True):
        if p.uniform or count == 1:
            axes.append((values[:1].copy(), 1, 1))
        else:
            axes.append((values, stride, count))
            stride *= count * 7
    return axes


@pytest.mark.parametrize("number", range(BATCHES))
def test_programs_give_the_interpreters_bits(number, tmp_path, monkeypatch):
    """Loops, NaN, choices; every other batch is optimised, half have branches wherever they can.

    One becomes vector code, as kernels do.
    """
    cases = collect(BATCH, programs(), number)
    assert len(cases) == BATCH
    if number % 2:
        cases = [(optimise(graph), columns) for graph, columns in cases]
    if number % 4 > 1:
        monkeypatch.setattr(code_sinking, "MIN_GUARD_COST", 1)
    flags = (*STRICT, *(() if number == 1 else ("-O0",)))  # a third of the time of -O3
    kernels = build({f"{i}": g for i, (g, _) in enumerate(cases)}, cache_dir=tmp_path, flags=flags)
    for i, (graph, columns) in enumerate(cases):
        axes = grid(graph, columns)
        assert_same(kernels[f"{i}"], graph, axes, 0, 400)
        assert_same(kernels[f"{i}"], graph, axes, 555, 700)
        point = [float(v[0]) for v, _, _ in axes]
        got, words = kernels[f"{i}"].point(point)
        expected, rules = InterpreterKernel(graph).point(point)
        assert equal(got, expected)
        assert words == rules


def test_gradients_of_smooth_programs_are_their_differences(tmp_path):
    """At eight points each; the gradients of some are compiled as well."""
    found = collect(SMOOTH, smooth_graphs(), 1)
    gradients = [optimise(differentiate(graph, "o", ["x", "y", "z"])) for graph in found]
    some = {f"{i}": gradients[i] for i in range(0, SMOOTH, 12)}
    kernels = build(some, cache_dir=tmp_path, flags=("-O1",))
    rng = np.random.default_rng(5)
    points = rng.uniform(-1.5, 1.5, (3, 8))
    for i, graph in enumerate(found):
        value = InterpreterKernel(graph)
        slopes = run(InterpreterKernel(gradients[i]), points, 4)
        assert np.allclose(slopes[0], run(value, points, 1)[0], rtol=1e-12, atol=0)
        if f"{i}" in kernels:
            assert all(map(equal, slopes, run(kernels[f"{i}"], points, 4)))
        for n in range(3):
            h = 1e-3 * np.maximum(1.0, np.abs(points[n]))
            values = []
            for steps in (-2, -1, 1, 2):
                moved = points.copy()
                moved[n] += steps * h
                values.append(run(value, moved, 1)[0])
            quotient = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
            assert slopes[n + 1] == pytest.approx(quotient, rel=1e-5, abs=1e-7), (i, n)


def run(kernel, points, outputs):
    count = points.shape[1]
    columns = [np.empty(count) for _ in range(outputs)]
    axes = [(np.ascontiguousarray(row), 1, count) for row in points]
    kernel.run(axes, 0, count, columns, np.empty((count, kernel.words), np.uint64))
    return columns
