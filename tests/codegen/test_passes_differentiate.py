"""Derivatives against closed forms, and against differences of the graph's own values."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs

from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.verifier import verify_graph
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.derivatives import DerivativeRule
from hwdsl.codegen.passes import differentiate, eliminate_dead_code, optimise

quick = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def values(graph, *point):
    return {name: float(v) for name, v in interpret(graph, list(point)).outputs.items()}


def slopes(graph, output, *point, run=True):
    """The derivatives in all real params, having checked that the value has not changed."""
    names = [p.name for p in graph.params if p.type == REAL]
    derived = differentiate(graph, output, names)
    verify_graph(derived)
    assert [n for n, _ in derived.outputs] == [output, *(f"d.{output}.{n}" for n in names)]
    found = values(derived, *point)
    assert equal(found[output], values(graph, *point)[output])
    if run:
        better = optimise(derived)
        verify_graph(better)
        again = values(better, *point)
        assert list(again.values()) == pytest.approx(
            list(found.values()), rel=1e-9, abs=1e-12, nan_ok=True
        )
    return [found[f"d.{output}.{n}"] for n in names]


def difference(graph, output, point, n, step=1e-3):
    """A five-point difference quotient."""
    h = step * max(1.0, abs(point[n]))

    def at(steps):
        moved = list(point)
        moved[n] += steps * h
        return values(graph, *moved)[output]

    return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h)


CLOSED = [
    ("neg", lambda x: -1.0), ("abs", lambda x: math.copysign(1, x)),
    ("sqrt", lambda x: 0.5 / math.sqrt(x)), ("exp", math.exp), ("log", lambda x: 1 / x),
    ("log2", lambda x: 1 / x / math.log(2)), ("log10", lambda x: 1 / x / math.log(10)),
    ("expm1", math.exp), ("log1p", lambda x: 1 / (1 + x)),
    ("floor", lambda x: 0.0), ("ceil", lambda x: 0.0), ("round", lambda x: 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("code", "slope"), CLOSED)
@pytest.mark.parametrize("x", [0.3, 1.7, 30.25])
def test_functions_of_one_argument(code, slope, x):
    b = GraphBuilder()
    graph = b.finish([("y", b.op(code, b.param("x")))])
    assert slopes(graph, "y", x) == pytest.approx([slope(x)], rel=1e-14)


def test_functions_of_two_arguments():
    for code, expected in (
        ("add", [1, 1]), ("sub", [1, -1]), ("mul", [5, 3]), ("div", [0.2, -3 / 25]),
        ("pow", [5 * 3**4, 3**5 * math.log(3)]), ("min", [1, 0]), ("max", [0, 1]),
    ):  # fmt: skip
        b = GraphBuilder()
        graph = b.finish([("y", b.op(code, b.param("x"), b.param("z")))])
        assert slopes(graph, "y", 3.0, 5.0) == pytest.approx(expected, rel=1e-14), code


def test_reductions():
    for code, expected in (
        ("sum", [1, 1, 1, 1]), ("prod", [0, -84, 0, 0]), ("nmin", [0, 0, 1, 0]),
        ("nmax", [0, 0, 0, 1]),
    ):  # fmt: skip
        b = GraphBuilder()
        graph = b.finish([("y", b.op(code, *(b.param(n) for n in "wxyz")))])
        assert slopes(graph, "y", 4.0, 0.0, -3.0, 7.0) == expected, code


def test_ties_go_to_the_first():
    for code in ("min", "max", "nmin", "nmax"):
        b = GraphBuilder()
        graph = b.finish([("o", b.op(code, b.param("x"), b.param("y")))])
        assert slopes(graph, "o", 2.0, 2.0) == [1.0, 0.0], code
    b = GraphBuilder()
    assert slopes(b.finish([("o", b.op("abs", b.param("x")))]), "o", 0.0) == [1.0]


def infinite(b, code, y):
    """A function of `y` whose slope is infinite where `y` is 0."""
    one = b.const(1.0)
    return {
        "sqrt": lambda: b.op("sqrt", y), "log": lambda: b.op("log", y),
        "log2": lambda: b.op("log2", y), "log10": lambda: b.op("log10", y),
        "log1p": lambda: b.op("log1p", b.op("sub", y, one)), "div": lambda: b.op("div", one, y),
        "pow": lambda: b.op("pow", y, b.const(0.3)),
    }[code]()  # fmt: skip


INFINITE = ["sqrt", "log", "log2", "log10", "log1p", "div", "pow"]
STILL = {
    "square": lambda b, x: b.op("mul", x, x),
    "cube": lambda b, x: b.op("prod", x, x, x),
    "power": lambda b, x: b.op("pow", x, b.const(1.5)),
    "product": lambda b, x: b.op("mul", x, b.op("expm1", x)),
    "quotient": lambda b, x: b.op("div", b.op("mul", x, x), b.op("add", x, b.const(1.0))),
}


@pytest.mark.parametrize("code", INFINITE)
@pytest.mark.parametrize("inner", sorted(STILL))
def test_a_slope_of_zero_absorbs_an_infinite_one_in_both_directions(code, inner):
    b = GraphBuilder()
    x = b.param("x")
    y = STILL[inner](b, x)
    flat = infinite(b, code, y)
    loop = b.open_loop([REAL], [x])  # loops carry tangents forward
    made = infinite(b, code, b.op("mul", STILL[inner](b, loop.states[0]), b.const(3.0)))
    looped = loop.close(b.const(0, INT), b.param("n", INT), 2, [x], [made])[0]
    graph = b.finish([("flat", flat), ("looped", looped)])
    assert slopes(graph, "flat", 0.0, 0.0) == [0.0]
    assert slopes(graph, "looped", 0.0, 0.0) == [0.0]


@pytest.mark.parametrize("entries", [1, 2, 4])
@pytest.mark.parametrize("index", [-math.inf, -3, 0, 1, 3, 7, math.inf, math.nan])
def test_a_gather_outside_its_list_moves_as_the_entry_that_it_reads(entries, index):
    """Backwards, and in a loop, which carries tangents forward."""
    b = GraphBuilder()
    i, x = b.param("i", INT), b.param("x")
    slopes_of = [3.0, 5.0, 7.0, 11.0][:entries]
    listed = [b.op("mul", x, b.const(s)) for s in slopes_of]
    loop = b.open_loop([REAL], [x])
    own = [b.op("mul", loop.states[0], b.const(s)) for s in slopes_of]
    made = loop.close(b.const(0, INT), b.param("n", INT), 2, [x], [b.op("gather", i, *own)])
    graph = b.finish([("straight", b.op("gather", i, *listed)), ("looped", made[0])])
    slope = values(graph, index, 2.0, 0.0)["straight"] / 2.0
    assert slope in slopes_of
    assert slopes(graph, "straight", index, 2.0, 0.0) == [slope]
    assert slopes(graph, "looped", index, 2.0, 0.0) == [slope]


def test_nothing_passes_an_infinite_divisor():
    b = GraphBuilder()
    x, big = b.param("x"), b.param("big")
    graph = b.finish([("o", b.op("sqrt", b.op("div", x, big)))])
    assert slopes(graph, "o", 1.0, math.inf)[0] == 0.0


@pytest.mark.parametrize("code", ["sqrt", "log", "div", "pow", "log1p", "exp"])
def test_an_arm_not_taken_gives_no_nan(code):
    b = GraphBuilder()
    x = b.param("x")
    zero = b.op("add", x, b.const(1)) if code == "log1p" else x
    bad = {
        "sqrt": lambda: b.op("sqrt", x), "log": lambda: b.op("log", x),
        "div": lambda: b.op("div", b.const(1), x), "pow": lambda: b.op("pow", x, b.const(-1.5)),
        "log1p": lambda: b.op("log1p", b.op("sub", x, b.const(1))),
        "exp": lambda: b.op("exp", b.op("mul", b.const(1e3), b.op("sub", b.const(5), x))),
    }[code]()  # fmt: skip
    taken = b.op("mul", b.const(3), x)
    chosen = b.op("select", b.op("lt", b.const(0), zero), b.op("mul", bad, bad), taken)
    graph = b.finish([("o", b.op("select", b.op("le", x, b.const(0)), taken, chosen))])
    assert slopes(graph, "o", 0.0) == [3.0]


def test_gather_and_lowest_follow_the_candidate():
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    rows = [b.op("mul", x, x), b.op("mul", b.const(2), x), b.op("exp", x)]
    best = b.op("argmin", *rows)
    graph = b.finish([("g", b.op("gather", n, *rows)), ("l", b.op("gather", best, *rows))])
    assert slopes(graph, "g", 0.5, 1.0) == [2.0]
    assert slopes(graph, "g", 0.5, 2.0) == [math.exp(0.5)]
    assert slopes(graph, "l", 0.5, 0.0) == [1.0]
    assert slopes(graph, "l", 3.0, 0.0) == [2.0]


def test_tables_comparisons_and_ints_have_none():
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    step = b.op("table", b.op("bucket", x, index=b.table([1, 2])), index=b.table([5, 6, 7]))
    made = b.op("sum", step, b.op("floor", x), b.op("lt", x, n), b.op("mul", n, n))
    assert slopes(b.finish([("o", made)]), "o", 1.5, 3.0) == [0.0]


def test_zero_power_zero_and_zero_base():
    b = GraphBuilder()
    x, y = b.param("x"), b.param("y")
    graph = b.finish([("o", b.op("pow", x, y))])
    assert slopes(graph, "o", 0.0, 2.0) == [0.0, 0.0]
    assert slopes(graph, "o", 0.0, 0.0)[0] == 0.0


def test_only_real_params_have_derivatives():
    b = GraphBuilder()
    x, n, c = b.param("x"), b.param("n", INT), b.param("c", BOOL)
    graph = b.finish([("o", b.op("select", c, x, n))])
    for name in ("n", "c"):
        with pytest.raises(ValueError, match="only real params"):
            differentiate(graph, "o", [name])
    with pytest.raises(ValueError, match="no param named z"):
        differentiate(graph, "o", ["z"])
    with pytest.raises(ValueError, match="no output named q"):
        differentiate(graph, "q", ["x"])


def newton(bound=60):
    """The square root of p, by Newton's method from p itself."""
    b = GraphBuilder()
    p = b.param("p")
    loop = b.open_loop([REAL], [p])
    u = loop.states[0]
    v = b.op("mul", b.const(0.5), b.op("add", u, b.op("div", p, u)))
    stop = b.op("le", b.op("abs", b.op("sub", v, u)), b.op("mul", b.const(1e-12), v))
    made = loop.close(b.const(1, INT), b.const(bound, INT), bound, [p], [v], stop)
    return b.finish([("u", made[0]), ("rounds", made[1]), ("settled", made[2])])


@pytest.mark.parametrize("p", [0.01, 1.0, 7.0, 1e6])
def test_newton(p):
    assert slopes(newton(), "u", p) == pytest.approx([0.5 / math.sqrt(p)], rel=1e-14)
    derived = differentiate(newton(), "rounds", ["p"])
    assert values(derived, p)["rounds"] == values(newton(), p)["rounds"]


OMEGA = 0.5671432904097838  # exp(-u) = u


def contraction(start_param=False):
    """u = exp(-a u): the values start at the answer, so they settle before their tangents."""
    b = GraphBuilder()
    a, guess = b.param("a"), b.param("guess")
    loop = b.open_loop([REAL], [a, guess])
    u = loop.states[0]
    v = b.op("exp", b.op("neg", b.op("mul", a, u)))
    stop = b.op("le", b.op("abs", b.op("sub", v, u)), b.op("mul", b.const(1e-10), v))
    made = loop.close(b.const(1, INT), b.const(400, INT), 400, [guess], [v], stop)
    return b.finish([("u", made[0]), ("rounds", made[1])])


def test_a_state_that_no_round_reads_moves_with_its_start():
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    loop = b.open_loop([REAL], [x])
    made = loop.close(b.const(1, INT), n, 4, [x], [b.op("add", loop.variable, n)])
    graph = eliminate_dead_code(b.finish([("y", made[0])]))
    assert slopes(graph, "y", 3.0, 0.0) == [1.0]
    assert slopes(graph, "y", 3.0, 2.0) == [0.0]


@pytest.mark.parametrize("guess", [0.1, OMEGA])
def test_tangents_go_on_after_the_values_have_settled(guess):
    expected = -OMEGA * OMEGA / (1 + OMEGA)
    found = slopes(contraction(), "u", 1.0, guess)
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert found[1] == pytest.approx(0.0, abs=1e-8)
    if guess > 0.5:
        assert values(contraction(), 1.0, guess)["rounds"] == 1


def test_lanes_settle_each_for_itself():
    graph = newton()
    derived = differentiate(graph, "u", ["p"])
    column = np.array([0.01, 1.0, 2.0, 1e8])
    found = interpret(derived, [column]).outputs
    assert found["d.u.p"] == pytest.approx(0.5 / np.sqrt(column), rel=1e-13)
    assert equal(found["u"], interpret(graph, [column]).outputs["u"])


def test_a_loop_that_stops_at_a_threshold_keeps_its_tangents():
    b = GraphBuilder()
    x, limit = b.param("x"), b.param("limit")
    loop = b.open_loop([REAL], [x])
    grown = b.op("mul", loop.states[0], b.op("add", b.const(1), x))
    stop = b.op("lt", limit, grown)
    made = loop.close(b.const(1, INT), b.const(100, INT), 100, [b.const(1)], [grown], stop)
    graph = b.finish([("o", made[0]), ("n", made[1])])
    rounds = values(graph, 0.1, 5.0)["n"]
    assert slopes(graph, "o", 0.1, 5.0) == pytest.approx([rounds * 1.1 ** (rounds - 1), 0])


def mean_values(stations):
    """Exact mean value analysis of a closed network; the number of customers is a param."""
    b = GraphBuilder()
    n = b.param("n", INT)
    think = b.param("think")
    demands = [b.param(f"d{i}") for i in range(stations)]
    loop = b.open_loop([REAL] * (stations + 1), [n, think])
    response = [b.op("mul", d, b.op("add", b.const(1), q))
                for d, q in zip(demands, loop.states[1:], strict=True)]  # fmt: skip
    rate = b.op("div", loop.variable, b.op("add", think, b.op("sum", *response)))
    start = [b.const(0.0)] * (stations + 1)
    made = loop.close(b.const(1, INT), n, 256, start, [rate, *(b.op("mul", rate, r)
                                                               for r in response)])  # fmt: skip
    return b.finish([("rate", made[0]), ("queue", made[1])])


@pytest.mark.parametrize("output", ["rate", "queue"])
def test_mean_value_analysis(output):
    graph = mean_values(3)
    point = [20.0, 3.0, 0.4, 0.25, 0.1]
    expected = [difference(graph, output, point, n) for n in range(1, 5)]
    assert slopes(graph, output, *point) == pytest.approx(expected, rel=1e-7)


def test_few_params_of_a_loop_with_many_captures():
    graph = mean_values(4)
    point = [9.0, 3.0, 0.4, 0.25, 0.1, 0.3]
    for name, n in (("think", 1), ("d2", 4)):
        found = values(differentiate(graph, "rate", [name]), *point)[f"d.rate.{name}"]
        assert found == pytest.approx(difference(graph, "rate", point, n), rel=1e-7)


def test_code_between_loops_is_followed_in_both_ways():
    for wanted in (["x"], ["x", "y"]):
        b = GraphBuilder()
        x, y = b.param("x"), b.param("y")
        made = b.op("mul", x, y)
        for _ in range(2):
            parts = [b.op("log1p", made), b.op("exp", b.op("neg", x)), b.op("add", y, made)]
            loop = b.open_loop([REAL], [*parts])
            turn = b.op("mul", b.op("add", loop.states[0], parts[1]), b.op("log1p", parts[2]))
            done = loop.close(b.const(0, INT), b.const(4, INT), 5, [parts[0]], [turn])
            made = b.op("add", b.op("mul", done[0], made), y)
        graph = b.finish([("o", made)])
        derived = differentiate(graph, "o", wanted)
        for n, name in enumerate(wanted):
            found = values(derived, 0.3, 0.8)[f"d.o.{name}"]
            assert found == pytest.approx(difference(graph, "o", [0.3, 0.8], n), rel=1e-8)


def test_loops_inside_loops():
    b = GraphBuilder()
    x, y = b.param("x"), b.param("y")
    outer = b.open_loop([REAL], [x, y])
    inner = b.open_loop([REAL, REAL], [outer.states[0]])
    turn = b.op("add", b.op("mul", inner.states[0], x), b.op("log1p", inner.states[1]))
    done = inner.close(b.const(0, INT), outer.variable, 9, [outer.states[0], y],
                       [turn, b.op("mul", inner.states[1], outer.states[0])])  # fmt: skip
    made = outer.close(b.const(0, INT), b.const(3, INT), 4, [y], [done[0]])
    graph = b.finish([("o", b.op("log", made[0]))])
    point = [0.7, 0.9]
    expected = [difference(graph, "o", point, n, 1e-4) for n in range(2)]
    assert slopes(graph, "o", *point) == pytest.approx(expected, rel=1e-7)


SMOOTH = [
    c for c, o in OPERATIONS.items() if isinstance(o.derivative, DerivativeRule) and c != "abs"
]


@st.composite
def smooth_graphs(draw):
    """Graphs without kinks, with a loop now and then; operands are kept in a tame range."""
    b = GraphBuilder()
    pool = [b.param(n) for n in "xyz"]

    def tame(a):
        above = b.op("add", b.const(1.0), b.op("mul", a, a))
        return b.op("add", b.const(0.75), b.op("div", b.const(1.0), above))

    def step(pool):
        code = draw(st.sampled_from(SMOOTH))
        count = 3 if OPERATIONS[code].variadic else OPERATIONS[code].arity
        pool.append(b.op(code, *(tame(draw(st.sampled_from(pool))) for _ in range(count))))

    for _ in range(draw(st.integers(1, 8))):
        step(pool)
        if draw(st.integers(0, 5)) == 0:
            loop = b.open_loop([REAL, REAL], pool)
            inner = [*pool, loop.variable, *loop.states]
            for _ in range(draw(st.integers(1, 4))):
                step(inner)
            pool += loop.close(
                b.const(1, INT), b.const(3, INT), 3, pool[-2:], [inner[-1], tame(inner[-2])]
            )[:2]
    return b.finish([("o", b.op("sum", *pool[-3:]))])


@quick
@given(smooth_graphs(), st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3))
def test_smooth_graphs_against_differences(graph, point):
    found = slopes(graph, "o", *point)
    for n in range(3):
        assert found[n] == pytest.approx(difference(graph, "o", point, n), rel=1e-5, abs=1e-7)


@quick
@given(graphs(), st.data())
def test_any_graph_has_a_sound_derivative_and_keeps_its_values(graph, data):
    names = [p.name for p in graph.params if p.type == REAL]
    assume(names)
    columns = data.draw(columns_for(graph))
    for output, _ in graph.outputs[-2:]:
        derived = differentiate(graph, output, names)
        verify_graph(derived)
        before, after = interpret(graph, columns), interpret(derived, columns)
        assert equal(before.outputs[output], after.outputs[output])
        rules = len(graph.rules)
        mask = np.uint64((1 << rules) - 1)  # derivatives may be NaN where no output was
        assert np.array_equal(before.rules & mask, after.rules & mask)
