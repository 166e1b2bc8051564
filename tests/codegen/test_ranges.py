"""Ranges hold what is computed; what they decide changes no bit."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs
from test_passes_keep_values import codes, same_results

from hwdsl.codegen.ir.builder import GraphBuilder, Ref
from hwdsl.codegen.ir.graph import INT, Op
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.verifier import verify_graph
from hwdsl.codegen.passes import (
    fold_constants_and_cse,
    interval_analysis,
    optimise,
    simplify_by_ranges,
)
from hwdsl.codegen.passes.interval_analysis import Range, Ranges, param_range, range_transfer

LAW = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("code", "args", "low", "high", "nan"),
    [
        ("sub", [Range(1.0, math.inf), Range(1.0, math.inf)], -math.inf, math.inf, True),
        ("mul", [Range(0.0, 1.0), Range(2.0, 3.0)], 0.0, 3.0, False),
        ("mul", [Range(1e200, 1e300), Range(1e10, 1e20)], 1e210, math.inf, False),
        ("div", [Range(1.0, 2.0), Range(4.0, 8.0)], 0.125, 0.5, False),
        ("sqrt", [Range(-4.0, 4.0)], 0.0, 2.0, True),
        ("abs", [Range(-4.0, 1.0)], 0.0, 4.0, False),
        ("ceil", [Range(0.2, 2.1)], 1.0, 3.0, False),
        ("select", [Range(1.0, 1.0), Range(2.0, 3.0), Range(7.0, 9.0)], 2.0, 3.0, False),
    ],
)
def test_ranges_are_as_narrow_as_they_can_be(code, args, low, high, nan):
    assert range_transfer(Op(code, tuple(range(len(args)))), args) == Range(low, high, nan)


def bounded(low=1.0, high=2.0):
    b = GraphBuilder()
    return b, b.param("x", low=low, high=high)


def test_a_comparison_that_ranges_decide_takes_its_selection_with_it():
    b, x = bounded()
    far = b.op("select", b.op("eq", x, b.const(math.inf)), b.const(7.0), b.op("exp", x))
    graph = optimise(b.finish([("y", far)]))
    assert list(codes(graph.ops)) == ["param", "exp"]


def test_an_overflow_is_not_decided():
    b, x = bounded(1e100, 1e300)
    graph = optimise(b.finish([("y", b.op("eq", b.op("mul", x, x), b.const(math.inf)))]))
    assert "eq" in list(codes(graph.ops))
    assert [interpret(graph, [v]).outputs["y"] for v in (1e100, 1e300)] == [0.0, 1.0]


def test_without_a_declared_end_a_param_may_be_nan():
    b, x = bounded(-math.inf, math.inf)
    graph = optimise(b.finish([("y", b.op("eq", b.op("sub", x, x), b.const(0.0)))]))
    assert "eq" in list(codes(graph.ops))


@pytest.mark.parametrize(
    ("code", "values", "kept"),
    [
        ("min", [5.0, None], 1), ("min", [2.0, None], 1), ("max", [1.0, None], 1),
        ("max", [None, 0.5], 1), ("nmin", [5.0, None, 9.0], 1), ("nmax", [0.0, None, 1.5], 2),
    ],
)  # fmt: skip
def test_what_can_be_neither_least_nor_greatest_goes(code, values, kept):
    b, x = bounded()
    graph = b.finish([("y", b.op(code, *(x if v is None else b.const(v) for v in values)))])
    made = optimise(graph)
    assert max([len(op.args) for op in made.ops if op.args] or [1]) == kept
    same_results(graph, made, [np.linspace(1, 2, 7)])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_sum_with_zero_goes_where_the_other_is_not_zero(zero):
    b, x = bounded()
    graph = b.finish([("y", b.op("add", b.const(zero), b.op("sub", x, b.const(zero))))])
    assert list(codes(optimise(graph).ops)) == ["param"]
    b, x = bounded(0.0, 2.0)
    graph = b.finish([("y", b.op("add", b.const(0.0), x))])
    assert equal(interpret(optimise(graph), [-0.0]).outputs["y"], 0.0)


def test_a_loop_is_narrowed_inside():
    b, x = bounded()
    loop = b.open_loop(["real"], [x])
    slow = b.op("lt", b.op("mul", x, loop.variable), b.const(100.0))
    added = b.op("select", slow, x, b.op("exp", loop.states[0]))
    last = b.op("min", b.const(9.0, INT), b.op("ceil", x))
    made = loop.close(b.const(0, INT), last, 9, [x], [b.op("add", loop.states[0], added)])
    graph = b.finish([("y", made[0])])
    narrowed = fold_constants_and_cse(simplify_by_ranges(graph))
    assert {"select", "exp", "lt", "min"}.isdisjoint(codes(narrowed.ops))
    same_results(graph, narrowed, [np.linspace(1, 2, 7)])


@LAW
@given(graphs(), st.data())
def test_values_stay_within_the_ranges(graph, data):
    made = simplify_by_ranges(graph)
    verify_graph(made)
    same_results(graph, made, data.draw(columns_for(graph)))


@LAW
@given(graphs(loops=False), st.randoms(use_true_random=False))
def test_the_analysis_under_construction_is_that_of_the_graph(graph, random):
    """Asked for in any order, each operation has the range that a pass over the list finds."""
    b, found = GraphBuilder(), Ranges()
    b.params.extend(graph.params)
    b.tables.extend(graph.tables)
    b.root.ops.extend(graph.ops)
    order = list(range(len(graph.ops)))
    random.shuffle(order)
    made = {i: found.of(Ref(b.root, i), b) for i in order}
    passed: list[Range] = []
    for op in graph.ops:
        param = graph.params[op.index] if op.code == "param" else None
        operands = [passed[a] for a in op.args]
        passed.append(param_range(param) if param else range_transfer(op, operands, graph.tables))
    assert [made[i] for i in range(len(graph.ops))] == passed


def test_each_operation_is_analysed_once(monkeypatch):
    """A chain in which 2^200 ways lead from its end to its start."""
    asked = []
    monkeypatch.setattr(
        interval_analysis, "range_transfer", lambda *a: asked.append(a) or range_transfer(*a)
    )
    b, x = bounded(0.0, 1.0)
    found = Ranges()
    for k in range(200):
        x = b.op("min", b.op("add", x, b.const(1.0)), b.op("add", x, b.const(2.0)))
        assert found.of(x, b) == Range(1.0 + k, 2.0 + k)
    assert len(asked) <= len(b.root.ops)
