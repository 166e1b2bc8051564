"""The interpreter against an evaluator written anew, one point at a time, from the docstrings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs

from hwdsl.codegen.ir import loop_folding
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.codegen.ir.interpreter import Point, interpret
from hwdsl.codegen.operations import OPERATIONS


def inside(i, count):
    return 0 if i != i else int(max(0, min(i, count - 1)))


def nary(code, xs):
    if code in ("sum", "prod"):
        total = xs[0]
        for x in xs[1:]:
            total = total + x if code == "sum" else total * x
        return total
    if code in ("nmin", "nmax"):
        total = xs[0]
        for x in xs[1:]:
            total = OPERATIONS[code[1:]].fold([total, x])
        return total
    numbers = [x for x in xs if x == x]
    if not numbers:
        return 0.0
    wanted = min(numbers) if code == "argmin" else max(numbers)
    return float(next(i for i, x in enumerate(xs) if x == wanted))


def evaluate(ops, given, tables):
    """All values of a list at one point; a loop's is the list of its results."""
    values = []
    for op in ops:
        a = [values[i] for i in op.args]
        if op.code == "const":
            v = op.value
        elif op.code in ("param", "input"):
            v = given[op.index]
        elif op.code == "proj":
            v = a[0][op.index]
        elif op.code == "table":
            v = tables[op.index][inside(a[0], len(tables[op.index]))]
        elif op.code == "bucket":
            v = float(sum(entry <= a[0] for entry in tables[op.index]))
        elif op.code == "gather":
            v = a[1 + inside(a[0], len(a) - 1)]
        elif op.code == "select":
            v = a[1] if a[0] != 0 else a[2]
        elif op.code in ("sum", "prod", "nmin", "nmax", "argmin", "argmax"):
            v = nary(op.code, a)
        elif op.code == "loop":
            v = loop(op, a, tables)
        else:
            v = OPERATIONS[op.code].fold(a)
        values.append(v)
    return values


def loop(op, a, tables):
    body = op.body
    low, high, rest = a[0], a[1], a[2:]
    states, captures = rest[: body.carries], rest[body.carries :]
    rounds, held = 0, body.until is None
    for k in range(op.bound):
        if not low + k <= high:
            break
        values = evaluate(body.ops, [low + k, *states, *captures], tables)
        states = [values[i] for i in body.next]
        rounds += 1
        if body.until is not None and values[body.until] != 0:
            held = True
            break
    return [*states, float(rounds), float(held)]


def points_of(columns):
    count = max([len(c) for c in columns if np.ndim(c)], default=1)
    return [[float(c[p]) if np.ndim(c) else c for c in columns] for p in range(count)]


@settings(deadline=None, max_examples=250)
@given(graphs(), st.data())
def test_agrees_with_the_reference(graph, data):
    columns = data.draw(columns_for(graph))
    results = interpret(graph, columns, block=3)
    for p, point in enumerate(points_of(columns)):
        values = evaluate(graph.ops, point, graph.tables)
        word = 0
        for bit, (_, i) in enumerate(graph.rules):
            word |= int(values[i] != 1.0) << bit
        outputs = {name: values[i] for name, i in graph.outputs}
        word |= int(any(math.isnan(v) for v in outputs.values())) << len(graph.rules)
        assert int(results.rules[p, 0]) == word
        for name, value in outputs.items():
            got = results.outputs[name]
            assert equal(got[p] if np.ndim(got) else got, value), (name, got, value)


@settings(deadline=None, max_examples=60)
@given(graphs(), st.data())
def test_a_point_has_every_value_in_any_order(graph, data):
    columns = data.draw(columns_for(graph, count=1))
    point = points_of(columns)[0]
    values = evaluate(graph.ops, point, graph.tables)
    asked = Point(graph.ops, point.__getitem__, graph.tables)
    for i in data.draw(st.permutations(range(len(graph.ops)))):
        value = values[i][-2] if graph.ops[i].code == "loop" else values[i]
        assert equal(asked.value(i), value)


@pytest.mark.parametrize("rounds", [0, 2])
@settings(deadline=None, max_examples=150)
@given(graphs(), st.data())
def test_a_body_written_as_a_function_gives_the_same_bits(rounds, graph, data):
    [point] = points_of(data.draw(columns_for(graph, count=1)))
    values = evaluate(graph.ops, point, graph.tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_folding, "WRITE_AFTER", rounds)
        found = interpret(graph, point)
    assert all(equal(found.outputs[name], values[i]) for name, i in graph.outputs)


@pytest.mark.parametrize("until", [False, True])
def test_a_long_loop_is_the_same_where_it_is_written(until):
    b = GraphBuilder()
    n, x = b.param("n", INT), b.param("x")
    body = b.open_loop([REAL], [n])
    following = b.op("add", body.states[0], b.op("div", x, body.variable))
    stop = b.op("lt", b.const(5.0), following) if until else None
    made = body.close(b.const(-9, INT), n, 1000, [b.const(0)], [following], stop)
    graph = b.finish(list(zip(["total", "rounds", "held"], made, strict=True)))
    for end in (30.0, 400.0, 2000.0):
        one, lanes = interpret(graph, [end, 1.3]), interpret(graph, [np.array([end] * 2), 1.3])
        values = evaluate(graph.ops, [end, 1.3], ())
        for name, i in graph.outputs:
            assert equal(one.outputs[name], values[i])
            assert equal(lanes.outputs[name], values[i])


@settings(deadline=None, max_examples=60)
@given(graphs(), st.data())
def test_the_block_does_not_matter(graph, data):
    columns = data.draw(columns_for(graph, count=7))
    one, two = interpret(graph, columns, block=2), interpret(graph, columns)
    assert (one.rules == two.rules).all()
    for name, value in one.outputs.items():
        assert equal(value, two.outputs[name])


def counting(until=True):
    b = GraphBuilder()
    n, x = b.param("n", INT), b.param("x")
    body = b.open_loop([REAL, REAL], [n])
    total, product = body.states
    following = [b.op("add", total, body.variable), b.op("mul", product, x)]
    stop = b.op("lt", b.const(20), total) if until else None
    made = body.close(b.const(1, INT), n, 10, [b.const(0), b.const(1)], following, stop)
    return b.finish(list(zip(["total", "product", "rounds", "held"], made, strict=True)))


def test_a_loop_freezes_each_lane_where_it_stops():
    done = interpret(counting(), [np.array([0.0, 3, 99, 7, math.nan]), np.full(5, 2.0)])
    assert done.outputs["total"].tolist() == [0, 6, 28, 28, 0]
    assert done.outputs["product"].tolist() == [1, 8, 128, 128, 1]
    assert done.outputs["rounds"].tolist() == [0, 3, 7, 7, 0]
    assert done.outputs["held"].tolist() == [0, 0, 1, 1, 0]


def test_until_reads_the_states_before_the_round():
    # After 6 rounds the total is 21; round 7 sees it, and its states are kept.
    done = interpret(counting(), [7.0, 1.0])
    assert done.outputs == {"total": 28.0, "product": 1.0, "rounds": 7.0, "held": 1.0}


def test_a_loop_without_until_is_settled_and_bounded():
    done = interpret(counting(until=False), [99.0, 1.0])
    assert done.outputs == {"total": 55.0, "product": 1.0, "rounds": 10.0, "held": 1.0}


def test_a_loop_of_known_inputs_is_folded():
    b = GraphBuilder()
    body = b.open_loop([INT])
    made = body.close(
        b.const(1, INT), b.const(5, INT), 9, [b.const(1, INT)],
        [b.op("mul", body.states[0], body.variable)],
    )  # fmt: skip
    assert [r.known for r in made] == [120.0, 5.0, 1.0]
    assert [r.type for r in made] == [INT, INT, BOOL]


def test_rules_past_one_word_and_the_undefined_bit():
    b = GraphBuilder()
    x = b.param("x")
    rules = [(f"r{i}", b.op("lt", x, b.const(float(i)))) for i in range(70)]
    graph = b.finish([("y", b.op("sqrt", x))], rules)
    words = interpret(graph, [np.array([-1.0, 66.0])]).rules
    assert words.shape == (2, 2)
    assert words[0].tolist() == [0, 1 << 6]
    assert words[1].tolist() == [2**64 - 1, 0b111]


def test_a_broken_rule_is_one_that_is_nan():
    b = GraphBuilder()
    x = b.param("x", BOOL)
    graph = b.finish([("y", b.const(1.0))], [("r", x)])
    assert interpret(graph, [np.array([1.0, 0.0, math.nan])]).rules[:, 0].tolist() == [0, 1, 1]


def test_indices_outside_read_the_nearest_entry():
    b = GraphBuilder()
    i, x = b.param("i", INT), b.param("x")
    table = b.op("table", i, index=b.table([1, 2, 3]))
    gather = b.op("gather", i, x, b.const(5), b.const(6))
    graph = b.finish([("t", table), ("g", gather)])
    done = interpret(graph, [np.array([-4.0, 1, 1e300, math.nan]), np.full(4, 9.0)])
    assert done.outputs["t"].tolist() == [1, 2, 3, 1]
    assert done.outputs["g"].tolist() == [9, 5, 6, 9]


def test_the_best_of_one_value_is_known_in_every_lane():
    b = GraphBuilder()
    x = b.param("x")
    graph = b.finish([("best", b.op("gather", b.op("argmax", x), x))])
    assert interpret(graph, [np.array([3.0, 4.0, 5.0])]).outputs["best"].tolist() == [3, 4, 5]


def test_columns_must_fit():
    graph = counting()
    with pytest.raises(ValueError, match="2 params but 1"):
        interpret(graph, [1.0])
    with pytest.raises(ValueError, match="different lengths"):
        interpret(graph, [np.zeros(2), np.zeros(3)])


@given(st.floats(allow_nan=False), st.sampled_from([-1.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, -2.5]))
def test_fixing_a_base_or_exponent_changes_no_digit(x, n):
    b = GraphBuilder()
    p, q = b.param("x"), b.param("n")
    graph = b.finish(
        [
            ("free", b.op("pow", p, q)),
            ("exponent", b.op("pow", p, b.const(n))),
            ("base", b.op("pow", b.const(x), q)),
            ("both", b.op("pow", b.const(x), b.const(n))),
        ]
    )
    values = interpret(graph, [x, n]).outputs
    assert all(equal(v, values["free"]) for v in values.values()), values
