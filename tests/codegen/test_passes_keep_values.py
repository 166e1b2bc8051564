"""Passes keep every bit and type, leave sound graphs, and find nothing more to do a second time."""

import math

import numpy as np
import pytest
from attrs import define, field
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import columns_for, doubles, equal, graphs

from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL, fold
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.verifier import verify_graph
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.passes import (
    eliminate_dead_code,
    fold_constants_and_cse,
    optimise,
    simplify_by_ranges,
)
from hwdsl.codegen.passes.rewriter import GraphRewriter

quick = settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow]
)  # fmt: skip


def same_results(before, after, columns):
    a, b = interpret(before, columns), interpret(after, columns)
    assert a.outputs.keys() == b.outputs.keys()
    for name in a.outputs:
        assert equal(a.outputs[name], b.outputs[name]), name
    assert equal(a.rules.astype(float), b.rules.astype(float))


def codes(ops):
    for op in ops:
        yield op.code
        if op.body is not None:
            yield from codes(op.body.ops)


def types(graph):
    return [graph.ops[i].type for _, i in (*graph.outputs, *graph.rules)]


PASSES = pytest.mark.parametrize(
    "run", [fold_constants_and_cse, eliminate_dead_code, simplify_by_ranges, optimise]
)


@PASSES
@quick
@given(graphs(), st.data())
def test_values_and_types_stay(run, graph, data):
    made = run(graph)
    verify_graph(made)
    assert types(made) == types(graph)
    same_results(graph, made, data.draw(columns_for(graph)))


SIMPLER = [
    ("select", lambda b, n: [b.const(1, BOOL), n, b.const(0.5)]),
    ("select", lambda b, n: [b.op("lt", n, b.const(9)), n, n]),
    ("gather", lambda b, n: [b.const(1, INT), b.const(0.5), n]),
    *((code, lambda b, n: [n]) for code in ("sum", "prod", "nmin", "nmax")),
    *(("pow", lambda b, n, e=e: [n, b.const(e)]) for e in (1, 2, 3, 4)),
    ("mul", lambda b, n: [b.const(1), n]),
    ("div", lambda b, n: [n, b.const(1)]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "args"), SIMPLER)
def test_what_becomes_one_of_its_arguments_keeps_its_own_type(code, args):
    b = GraphBuilder()
    n = b.param("n", INT)
    made = b.op(code, *args(b, n), type=REAL)
    assert made.type == REAL
    graph = b.finish([("out", made)])
    verify_graph(graph)
    factor = args(b, n)[1].known if code == "pow" else 1
    assert interpret(graph, [3.0]).outputs["out"] == 3.0**factor


@PASSES
def test_a_state_keeps_its_type_where_no_round_reads_it(run):
    b = GraphBuilder()
    n = b.param("n", INT, low=1.0, high=5.0)
    loop = b.open_loop([REAL, INT], [n])
    # The range of the variable decides that the second is taken, an int; no round reads the first.
    first = b.op("min", loop.variable, b.const(1, INT))
    chosen = b.op("gather", first, loop.states[0], loop.states[1], type=REAL)
    grown = b.op("add", loop.states[1], n)
    made = loop.close(n, b.const(6, INT), 6, [b.const(0.5), n], [chosen, grown])
    graph = b.finish([("out", made[0])])
    for _ in range(3):
        graph, before = run(graph), graph
        verify_graph(graph)
        assert types(graph) == [REAL]
        same_results(before, graph, [3.0])


@pytest.mark.parametrize("run", [fold_constants_and_cse, eliminate_dead_code, optimise])
@quick
@given(graphs())
def test_the_second_time_changes_nothing(run, graph):
    once = run(graph)
    verify_graph(once)
    assert run(once) == once


def test_what_a_constant_has_no_range_for_is_decided_the_first_time():
    b = GraphBuilder()
    x, y = b.param("x", low=-3.0, high=-3.0), b.param("y", low=0.0, high=0.1)
    value = fold("pow", [-3.0, 3.0])
    low, high = (b.const(value - 1), b.const(value + 1))
    between = b.op("max", low, b.op("min", high, b.op("pow", x, b.const(3.0))))
    graph = optimise(b.finish([("o", b.op("max", between, b.op("sub", y, b.const(99))))]))
    assert optimise(graph) == graph
    assert [op.value for op in graph.ops if op.code == "const"] == [value]
    assert "max" not in [op.code for op in graph.ops]


def test_all_zeros_at_the_start_of_a_sum_go_the_first_time():
    b = GraphBuilder()
    x, y = b.param("x", low=1.0, high=2.0), b.param("y")
    never = b.op("lt", x, b.const(0))
    zero = b.op("select", never, y, b.const(0))  # a term that only ranges show to be 0
    graph = optimise(b.finish([("o", b.op("sum", b.const(0), zero, b.const(0), x, y))]))
    assert optimise(graph) == graph
    assert [len(op.args) for op in graph.ops if op.code == "sum"] == [2]


def test_the_first_of_those_that_are_left_may_be_beaten_too():
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL, low=0.0, high=1.0)
    graph = optimise(b.finish([("o", b.op("nmax", b.const(0), c, b.const(1), x))]))
    assert [len(op.args) for op in graph.ops if op.code == "nmax"] == [2]
    assert optimise(graph) == graph


def test_dead_drops_operations_states_captures_and_tables():
    b = GraphBuilder()
    x, y = b.param("x"), b.param("y")
    b.op("table", b.param("n", INT), index=b.table([1, 2, 3]))
    loop = b.open_loop([REAL, REAL], [x])
    used = b.op("mul", loop.states[0], x)
    unused = b.op("add", loop.states[1], b.op("mul", y, loop.states[0]))
    made = loop.close(b.const(0, INT), b.const(3, INT), 4, [x, y], [used, unused])
    graph = eliminate_dead_code(b.finish([("out", made[0])]))
    body = next(op.body for op in graph.ops if op.code == "loop")
    assert body is not None
    assert body.carries == 1
    assert "add" not in list(codes(graph.ops))
    assert graph.tables == ()
    assert [p.name for p in graph.params] == ["x", "y", "n"]
    assert interpret(graph, [2.0, 5.0, 0.0]).outputs["out"] == 32.0


def test_a_state_that_never_changes_becomes_its_start():
    b = GraphBuilder()
    x = b.param("x")
    loop = b.open_loop([REAL, REAL], [x])
    grown = b.op("add", loop.states[0], loop.states[1])
    made = loop.close(b.const(0, INT), b.const(3, INT), 4, [x, x], [grown, loop.states[1]])
    graph = fold_constants_and_cse(b.finish([("a", made[0]), ("b", made[1])]))
    assert [op.body.carries for op in graph.ops if op.body] == [1]
    assert interpret(graph, [2.0]).outputs == {"a": 10.0, "b": 2.0}


def test_a_gather_among_constants_becomes_a_table():
    b = GraphBuilder()
    n = b.param("n", INT)
    made = b.op("gather", n, *(b.const(v) for v in (3, 1, 4, 1.5, 9)))
    graph = fold_constants_and_cse(b.finish([("out", made)]))
    assert list(codes(graph.ops)) == ["param", "table"]
    assert interpret(graph, [4.0]).outputs["out"] == 9.0


@quick
@given(doubles, st.integers(-1022, 1022))
def test_division_by_a_power_of_two_is_a_product(value, exponent):
    b = GraphBuilder()
    graph = b.finish([("a", b.op("div", b.param("x"), b.const(math.ldexp(1.0, exponent))))])
    assert "div" not in list(codes(graph.ops))
    assert equal(
        interpret(graph, [value]).outputs["a"], OPERATIONS["div"].fold([value, 2.0**exponent])
    )


@pytest.mark.parametrize("divisor", [3.0, 0.0, math.inf, math.nan, 2.0**1023, 5e-324])
def test_other_divisions_stay(divisor):
    b = GraphBuilder()
    x = b.param("x")
    graph = b.finish([("a", b.op("div", x, b.const(divisor)))])
    assert list(codes(optimise(graph).ops)).count("div") == 1


def test_one_to_any_power_is_one():
    b = GraphBuilder()
    graph = b.finish([("a", b.op("pow", b.const(1), b.param("x")))])
    assert list(codes(eliminate_dead_code(graph).ops)) == ["const"]
    assert OPERATIONS["pow"].fold([1.0, math.nan]) == 1.0


@define(eq=False)
class Fixer(GraphRewriter):
    """Copies a graph with some params known."""

    known: dict[str, float] = field(factory=dict)

    def __attrs_post_init__(self):
        GraphRewriter.__attrs_post_init__(self)
        for i, param in enumerate(self.graph.params):
            if param.name in self.known:
                self.params[i] = self.builder.const(self.known[param.name], param.type)


LAW = settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow]
)  # fmt: skip


@LAW
@given(graphs(), st.data())
def test_fixing_params_changes_no_bit_of_the_optimised_graph(graph, data):
    columns = [float(np.ravel(c)[0]) for c in data.draw(columns_for(graph))]
    names = [p.name for p in graph.params]
    some = data.draw(st.sets(st.sampled_from(names)))
    known = {n: c for n, c in zip(names, columns, strict=True) if n in some}
    fixed = optimise(Fixer(graph, known=known).rewrite())
    verify_graph(fixed)
    same_results(optimise(graph), fixed, columns)


def test_bools_survive():
    b = GraphBuilder()
    x = b.param("x", BOOL)
    rule = b.op("or", b.op("not", x), x)
    graph = b.finish([("o", b.op("select", x, b.const(1), b.const(2)))], [("r", rule)])
    verify_graph(optimise(graph))
    same_results(graph, optimise(graph), [1.0])
