"""Kernels that are compiled once that pays."""

import numpy as np
import pytest

from hwdsl.codegen.build.tiered import InterpreterKernel, Kernel, TieredKernel
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import INT, REAL, Graph, count_operations
from hwdsl.codegen.ir.interpreter import interpret

ROUNDS = 1000


@pytest.fixture
def graph() -> Graph:
    """The sum of x + k over a thousand rounds k."""
    b = GraphBuilder()
    x = b.param("x")
    loop = b.open_loop([REAL], within=[x])
    following = b.op("add", loop.states[0], b.op("add", x, loop.variable))
    out = loop.close(b.const(1, INT), b.const(ROUNDS, INT), ROUNDS, [b.const(0.0)], [following])
    return b.finish([("y", out[0])])


class Tiers:
    """A kernel whose second tier is the interpreter again, and how often it was asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.asked = graph, 0
        self.kernel = TieredKernel(InterpreterKernel(graph), self.compile)

    def compile(self) -> Kernel:
        self.asked += 1
        return InterpreterKernel(self.graph)

    def run(self, points: int) -> list[float]:
        column = np.empty(points)
        axis = (np.arange(points, dtype=float), 1, points)
        self.kernel.run([axis], 0, points, [column], np.empty((points, 1), np.uint64))
        return [float(v) for v in column]


def test_rounds_of_loops_count(graph: Graph) -> None:
    body = next(op.body for op in graph.ops if op.body is not None)
    outside = len(graph.ops) - 1
    assert count_operations(graph.ops, rounds=False) == outside + len(body.ops)
    assert count_operations(graph.ops, rounds=True) == outside + ROUNDS * len(body.ops)


def test_a_few_points_are_interpreted_and_many_are_not(graph: Graph) -> None:
    few = Tiers(graph)
    assert few.run(3) == list(interpret(graph, [np.arange(3.0)]).outputs["y"])
    assert few.asked == 0
    many = Tiers(graph)
    assert many.run(50_000)[:3] == few.run(3)
    assert many.asked == 1


def test_small_calls_add_up_and_it_is_built_once(graph: Graph) -> None:
    tiers = Tiers(graph)
    for _ in range(100):
        tiers.kernel.point([1.0])
    assert tiers.asked == 1
    assert (tiers.kernel.params, tiers.kernel.outputs, tiers.kernel.words) == (1, 1, 1)
