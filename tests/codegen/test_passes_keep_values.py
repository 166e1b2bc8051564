"""Passes keep every bit, leave sound graphs, and find nothing more to do the second time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs

from hwdsl.codegen.interpret import interpret
from hwdsl.codegen.ir import BOOL, INT, REAL, Builder
from hwdsl.codegen.passes import dead, fold_and_share, optimise, reciprocals, roll
from hwdsl.codegen.verify import verify

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


@pytest.mark.parametrize("run", [fold_and_share, dead, roll])
@quick
@given(graphs(), st.data())
def test_values_stay(run, graph, data):
    made = run(graph)
    verify(made)
    same_results(graph, made, data.draw(columns_for(graph)))


@pytest.mark.parametrize("run", [fold_and_share, dead, roll, reciprocals, optimise])
@quick
@given(graphs())
def test_the_second_time_changes_nothing(run, graph):
    once = run(graph)
    verify(once)
    assert run(once) == once


def test_dead_drops_operations_states_captures_and_tables():
    b = Builder()
    x, y = b.param("x"), b.param("y")
    b.op("table", b.param("n", INT), index=b.table([1, 2, 3]))
    loop = b.open_loop([REAL, REAL], [x])
    used = b.op("mul", loop.states[0], x)
    unused = b.op("add", loop.states[1], b.op("mul", y, loop.states[0]))
    made = loop.close(b.const(0, INT), b.const(3, INT), 4, [x, y], [used, unused])
    graph = dead(b.finish([("out", made[0])]))
    body = next(op.body for op in graph.ops if op.code == "loop")
    assert body is not None
    assert body.carries == 1
    assert "add" not in list(codes(graph.ops))
    assert graph.tables == ()
    assert [p.name for p in graph.params] == ["x", "y", "n"]
    assert interpret(graph, [2.0, 5.0, 0.0]).outputs["out"] == 32.0


def test_a_state_that_never_changes_becomes_its_start():
    b = Builder()
    x = b.param("x")
    loop = b.open_loop([REAL, REAL], [x])
    grown = b.op("add", loop.states[0], loop.states[1])
    made = loop.close(b.const(0, INT), b.const(3, INT), 4, [x, x], [grown, loop.states[1]])
    graph = fold_and_share(b.finish([("a", made[0]), ("b", made[1])]))
    assert [op.body.carries for op in graph.ops if op.body] == [1]
    assert interpret(graph, [2.0]).outputs == {"a": 10.0, "b": 2.0}


def test_a_gather_among_constants_becomes_a_table():
    b = Builder()
    n = b.param("n", INT)
    made = b.op("gather", n, *(b.const(v) for v in (3, 1, 4, 1.5, 9)))
    graph = fold_and_share(b.finish([("out", made)]))
    assert list(codes(graph.ops)) == ["param", "table"]
    assert interpret(graph, [4.0]).outputs["out"] == 9.0


def divisions(graph):
    return list(codes(graph.ops)).count("div")


def test_reciprocals_are_shared():
    b = Builder()
    x, y, z = (b.param(n) for n in "xyz")
    graph = b.finish([("a", b.op("div", x, z)), ("b", b.op("div", y, z))])
    made = reciprocals(graph)
    assert divisions(made) == 1
    assert interpret(made, [3.0, 5.0, 8.0]).outputs == {"a": 3 / 8, "b": 5 / 8}


def test_one_division_by_a_changing_number_stays():
    b = Builder()
    graph = b.finish([("a", b.op("div", b.param("x"), b.param("z")))])
    assert reciprocals(graph) == graph


def test_divisors_that_are_the_same_for_all_points_or_rounds_are_inverted_outside():
    b = Builder()
    x, u = b.param("x"), b.param("u", uniform=True)
    loop = b.open_loop([REAL], [x])
    turn = b.op("div", loop.states[0], x)
    made = loop.close(b.const(0, INT), b.const(2, INT), 3, [u], [turn])
    graph = reciprocals(b.finish([("a", made[0]), ("b", b.op("div", x, u))]))
    bodies = [op.body for op in graph.ops if op.body is not None]
    assert "div" not in list(codes(bodies[0].ops))
    assert divisions(graph) == 2
    assert interpret(graph, [2.0, 32.0]).outputs == {"a": 4.0, "b": 2 / 32}


@pytest.mark.parametrize("by", ["floor", "ceil", "round", "bucket", "lt", "argmin", "gather"])
def test_quotients_that_decide_stay_exact(by):
    b = Builder()
    x, y, z = (b.param(n) for n in "xyz")
    q, r = b.op("div", x, z), b.op("add", b.op("div", y, z), b.const(1))
    if by in ("lt", "argmin"):
        made = b.op(by, q, r)
    elif by == "gather":
        made = b.op(by, b.op("floor", b.op("add", q, r)), x, y)
    else:
        made = b.op(by, b.op("add", q, r), index=b.table([1, 2]))
    graph = b.finish([("out", made)])
    assert reciprocals(graph) == graph


def test_quotients_of_ints_stay_exact():
    b = Builder()
    n, m, z = b.param("n", INT), b.param("m", INT), b.param("z", INT)
    graph = b.finish([("a", b.op("div", n, z)), ("b", b.op("div", m, z))])
    assert reciprocals(graph) == graph


def test_quotients_that_reach_a_decision_through_a_loop_stay_exact():
    b = Builder()
    x, y = b.param("x"), b.param("y")
    loop = b.open_loop([REAL, REAL], [x])
    one, two = b.op("div", loop.states[0], y), b.op("div", loop.states[1], y)
    stop = b.op("lt", loop.states[1], b.const(1))
    made = loop.close(b.const(0, INT), b.const(9, INT), 10, [x, x], [one, b.op("add", one, two)],
                      stop)  # fmt: skip
    graph = b.finish([("out", made[0])])
    assert reciprocals(graph) == graph


@quick
@given(st.lists(st.floats(0.01, 100), min_size=4, max_size=4))
def test_reciprocals_change_rounding_only(values):
    b = Builder()
    x, y, z, w = (b.param(n) for n in "xyzw")
    total = b.op("sum", b.op("div", x, z), b.op("div", y, z), b.op("div", w, b.const(7)))
    graph = b.finish([("out", total)])
    before, after = interpret(graph, values), interpret(reciprocals(graph), values)
    assert after.outputs["out"] == pytest.approx(before.outputs["out"], rel=4e-16 * 3)


def test_bools_survive():
    b = Builder()
    x = b.param("x", BOOL)
    rule = b.op("or", b.op("not", x), x)
    graph = b.finish([("o", b.op("select", x, b.const(1), b.const(2)))], [("r", rule)])
    verify(optimise(graph))
    same_results(graph, optimise(graph), [1.0])


def test_quotients_that_a_loop_decides_by_stay_exact():
    b = Builder()
    x, y, z = (b.param(n) for n in "xyz")
    one, two = b.op("div", x, z), b.op("div", y, z)
    loop = b.open_loop([REAL], [one])
    turn = b.op("add", loop.states[0], b.op("floor", b.op("mul", two, loop.variable)))
    stop = b.op("lt", one, loop.states[0])
    made = loop.close(b.const(0, INT), b.const(9, INT), 10, [z], [turn], stop)
    graph = b.finish([("out", made[0])])
    assert reciprocals(graph) == graph
