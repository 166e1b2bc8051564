"""Repeated shapes become loops: the same bits from far fewer operations."""

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import equal

from hwdsl.codegen.interpret import interpret
from hwdsl.codegen.ir import INT, Builder
from hwdsl.codegen.passes import fold_and_share, optimise, roll
from hwdsl.codegen.verify import verify

POINTS = [np.array([0.5, 3.0, 7.25, np.inf, np.nan]), np.array([2.0, 0.125, -3.0, 1.0, 1.0])]


def size(graph):
    def count(ops):
        return sum(1 + (count(op.body.ops) if op.body else 0) for op in ops)

    return count(graph.ops)


def loops(graph):
    return sum(op.code == "loop" for op in graph.ops)


def layer(b, x, y, rng, steps=10):
    """A chain of operations that differs from others in its constants only."""
    made = b.op("max", b.op("mul", x, b.const(rng.random())), b.op("div", b.const(rng.random()), y))
    for _ in range(steps):
        made = b.op("add", b.op("mul", made, b.const(rng.random())), b.const(rng.random() - 0.4))
    return made


def check(graph, most, points=POINTS):
    verify(graph)
    made = roll(graph)
    verify(made)
    before, after = interpret(graph, points), interpret(made, points)
    for name in before.outputs:
        assert equal(before.outputs[name], after.outputs[name]), name
    assert size(made) <= most, size(made)
    assert roll(made) == made
    return made


@pytest.mark.parametrize("code", ["sum", "prod", "nmin", "nmax", "argmin", "argmax"])
def test_each_reduction(code):
    b, rng = Builder(), random.Random(1)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng) for _ in range(50)]
    check(b.finish([("out", b.op(code, *rows))]), 90)


def test_reductions_over_the_same_repetitions_share_one_loop():
    b, rng = Builder(), random.Random(2)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng) for _ in range(50)]
    costs = [b.op("mul", r, b.const(rng.random())) for r in rows]
    best = b.op("argmin", *rows)
    outputs = [
        ("time", b.op("sum", *rows)), ("cost", b.op("sum", *costs)), ("which", best),
        ("value", b.op("gather", best, *rows)), ("price", b.op("gather", best, *costs)),
    ]  # fmt: skip
    made = check(b.finish(outputs), 120)
    assert loops(made) == 1


def test_operands_around_and_between_keep_their_order():
    b, rng = Builder(), random.Random(3)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng) for _ in range(20)]
    more = [layer(b, x, y, rng, 7) for _ in range(30)]
    odd = [b.op("sin", x), b.op("cos", y), b.op("mul", x, y), x, y]
    args = [*odd[:2], *rows, odd[2], *more, *odd[3:]]
    best = b.op("argmin", *args)
    outputs = [("sum", b.op("sum", *args)), ("best", best), ("value", b.op("gather", best, *args))]
    made = check(b.finish(outputs), 180)
    assert loops(made) == 2


def test_repeating_patterns():
    b, rng = Builder(), random.Random(4)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng, n) for _ in range(12) for n in (5, 9, 7)]
    best = b.op("argmax", *rows)
    check(b.finish([("sum", b.op("sum", *rows)), ("best", best)]), 180)


def test_reductions_inside_repetitions():
    b, rng = Builder(), random.Random(5)
    x, y = b.param("x"), b.param("y")
    rows = []
    for _ in range(20):
        inner = [layer(b, x, b.op("add", y, b.const(rng.random())), rng, 3) for _ in range(12)]
        rows.append(b.op("add", b.op("sum", *inner), b.const(rng.random())))
    check(b.finish([("out", b.op("nmax", *rows))]), 90)


def test_a_reduction_that_reads_another_follows_it():
    b, rng = Builder(), random.Random(6)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng) for _ in range(100)]
    mean = b.op("div", b.op("sum", *rows), b.const(100))
    away = [b.op("sub", r, mean) for r in rows]
    spread = b.op("sum", *(b.op("mul", a, a) for a in away))
    made = check(b.finish([("mean", mean), ("spread", spread)]), 140)
    assert loops(made) == 2


def test_ints_and_outer_values():
    b = Builder()
    x, n = b.param("x"), b.param("n", INT)
    shared = b.op("exp", x)
    rows, whole = [], []
    for i in range(30):
        k = b.op("add", b.op("mul", n, b.const(i + 2, INT)), b.const(i * i + 1, INT))
        whole.append(b.op("floordiv", k, b.const(i % 3 + 2, INT)))
        rows.append(b.op("mul", b.op("mul", whole[-1], shared), b.const(i + 0.5)))
    outputs = [("low", b.op("nmin", *whole)), ("all", b.op("sum", *whole)),
               ("out", b.op("sum", *rows))]  # fmt: skip
    made = check(b.finish(outputs), 60, [np.array([0.5, 2.0]), np.array([3.0, 11.0])])
    assert loops(made) == 1


def test_what_saves_nothing_stays():
    b, rng = Builder(), random.Random(7)
    x, y = b.param("x"), b.param("y")
    few = b.op("sum", *(layer(b, x, y, rng) for _ in range(7)))
    rows = [layer(b, x, y, rng) for _ in range(20)]  # each is an output of its own, so needed
    outputs = [("few", few), ("sum", b.op("sum", *rows))]
    graph = b.finish([*outputs, *((f"o{i}", r) for i, r in enumerate(rows))])
    assert roll(graph) == graph


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.data())
def test_random_layers(seed, data):
    b, rng = Builder(), random.Random(seed)
    x, y = b.param("x"), b.param("y")
    codes = data.draw(st.lists(st.sampled_from(["add", "mul", "min", "max", "sub", "pow", "div"]),
                               min_size=6, max_size=12))  # fmt: skip
    left = data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))

    def row():
        made, other = b.op("mul", x, b.const(rng.random() + 0.5)), y
        for code, first in zip(codes, left, strict=True):
            constant = b.op("add", other, b.const(rng.choice([1.5, 0.25, -2.0, 1e-3])))
            pair = (made, constant) if first else (constant, made)
            made, other = b.op(code, *pair), made if rng is None else other
        return made

    rows = [row() for _ in range(data.draw(st.integers(8, 20)))]
    best = b.op("argmin", *rows)
    reduced = [(c, b.op(c, *rows)) for c in ("sum", "prod", "nmin", "nmax", "argmax")]
    graph = b.finish([*reduced, ("best", best), ("value", b.op("gather", best, *rows))])
    check(graph, size(graph))


def flat(layers, steps):
    b, rng = Builder(), random.Random(8)
    x, y = b.param("x"), b.param("y")
    rows = [layer(b, x, y, rng, steps) for _ in range(layers)]
    return b.finish([("sum", b.op("sum", *rows)), ("most", b.op("nmax", *rows))])


def fastest(run, graph):
    times = []
    for _ in range(3):
        start = time.process_time()
        run(graph)
        times.append(time.process_time() - start)
    return min(times)


def test_twenty_thousand_operations_are_quick():
    graph = flat(420, 11)
    assert size(graph) > 20_000
    assert size(optimise(graph)) < 120
    assert fastest(roll, graph) < 0.5
    assert fastest(optimise, graph) < 1.0


def test_time_grows_with_size():
    small, large = fold_and_share(flat(200, 10)), fold_and_share(flat(1600, 10))
    assert fastest(roll, large) < 24 * fastest(roll, small)


def test_a_sum_of_negative_zeros_stays_one():
    b = Builder()
    x, y = b.param("x"), b.param("y")
    rows = []
    for i in range(40):
        made = b.op("mul", x, b.const(i + 0.5))
        for k in range(3):
            made = b.op("mul", made, b.op("add", y, b.const(3 * i + k + 0.25)))
        rows.append(made)
    check(b.finish([("out", b.op("sum", *rows))]), 60, [np.array([-0.0, 0.0]), np.array([1.0, 1])])
