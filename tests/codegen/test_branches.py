"""What only one side of a choice needs runs only there, and gives the interpreter's bits."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest
from test_emit import STRICT, assert_same

from hwdsl.codegen.build.toolchain import build, kernel_flags
from hwdsl.codegen.emit.code_sinking import GuardedBlock, guard_condition, schedule_with_guards
from hwdsl.codegen.emit.kernels import MAX_INLINED_USES, emit
from hwdsl.codegen.emit.uniformity import analyze_graph
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT


def dear(b, x, seed, length=12):
    """Work enough to be worth a branch."""
    value = b.op("add", x, b.const(seed))
    for k in range(length):
        value = b.op("div", b.op("add", value, b.const(k + 0.5)), b.op("sqrt", b.op("abs", value)))
    return value


def looped(b, x, n, seed):
    """A loop whose rounds differ by lane; its results are two."""
    loop = b.open_loop(["real"])
    term = b.op("add", loop.states[0], b.op("sqrt", b.op("mul", x, loop.variable)))
    return loop.close(
        b.const(1, INT), n, 9, [b.const(seed)], [term], b.op("lt", b.const(11.0), term)
    )


def two_arms():
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL, uniform=True)
    return b.finish([("y", b.op("select", c, dear(b, x, 1.0), dear(b, x, -2.0)))])


def nested():
    """A choice within an arm, its own condition computed from two params."""
    b = GraphBuilder()
    x, c, d = b.param("x"), b.param("c", BOOL, uniform=True), b.param("d", BOOL, uniform=True)
    inner = b.op("select", b.op("and", c, d), dear(b, x, 1.0), dear(b, x, 2.0))
    arm = b.op("add", inner, dear(b, inner, 3.0))
    return b.finish(
        [("y", b.op("select", c, arm, x)), ("z", b.op("select", d, dear(b, x, 9.0), x))]
    )


def gathered():
    """One of four cases; the index may lie outside."""
    b = GraphBuilder()
    x, k = b.param("x"), b.param("k", INT, uniform=True)
    return b.finish([("y", b.op("gather", k, *(dear(b, x, float(s)) for s in range(4))))])


def shared():
    """Two selections share an arm's work, and one stands on the other."""
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL, uniform=True)
    work = dear(b, x, 1.0)
    first = b.op("select", c, b.op("exp", work), x)
    second = b.op("select", c, dear(b, b.op("add", first, work), 4.0), dear(b, first, 5.0))
    return b.finish([("a", first), ("b", second)], [("r", b.op("lt", first, second))])


def loops():
    """Loops in arms, several results of one used outside, and a branch within a loop's body."""
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    c, d = b.param("c", BOOL, uniform=True), b.param("d", BOOL, uniform=True)
    one, two = looped(b, x, n, 0.0), looped(b, x, n, 1.0)
    picked = [b.op("select", c, p, q) for p, q in zip(one, two, strict=True)]
    outer = b.open_loop(["real"])
    state = outer.states[0]
    new = b.op("select", d, dear(b, b.op("add", state, x), 1.0), b.op("add", state, outer.variable))
    late = b.op("eq", outer.variable, b.const(2, INT))
    new = b.op("select", late, dear(b, new, 7.0), new)
    done = outer.close(b.const(1, INT), b.const(4, INT), 4, [picked[0]], [new])
    return b.finish([(f"p{i}", p) for i, p in enumerate(picked)] + [("done", done[0])])


def slow():
    """A branch within what is kept between tiles."""
    b = GraphBuilder()
    x, y, c = b.param("x"), b.param("y"), b.param("c", BOOL, uniform=True)
    kept = b.op("exp", b.op("select", c, dear(b, x, 1.0), dear(b, x, 2.0)))
    return b.finish([("y", b.op("mul", kept, b.op("select", c, dear(b, y, 3.0), y)))])


CHOSEN = {f.__name__: f for f in (two_arms, nested, gathered, shared, loops, slow)}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    graphs = {name: make() for name, make in CHOSEN.items()}
    texts = emit(graphs)
    for i, name in enumerate(CHOSEN):
        assert (
            texts[f"kernel_{i}.h"].count("if (S[") + texts[f"kernel_{i}.h"].count("if (!(S[") > 1
        ), name
    return graphs, build(graphs, cache_dir=tmp_path_factory.mktemp("kernels"), flags=STRICT)


@pytest.mark.parametrize("name", CHOSEN)
def test_branches_give_the_interpreters_bits(kernels, name):
    graph, kernel = kernels[0][name], kernels[1][name]
    uniform = [p for p in graph.params if p.uniform]
    cases = [
        [0.0, 1.0] if p.type == BOOL else [-3.0, 0.0, 1.0, 2.0, 3.0, 7.0, np.nan] for p in uniform
    ]
    for values in itertools.product(*cases):
        given = dict(zip((p.name for p in uniform), values, strict=True))
        axes, stride = [], 1
        for p in graph.params:
            if p.uniform:
                axes.append((np.array([given[p.name]]), 1, 1))
                continue
            row = (
                np.arange(0.0, 9.0) if p.type == INT else np.append(np.linspace(-3, 7, 90), np.nan)
            )
            axes.append((row, stride, len(row)))
            stride *= len(row)
        assert_same(kernel, graph, axes, 0, 900)


def branches(graph):
    shape = analyze_graph(graph)
    roots = [i for _, i in (*graph.outputs, *graph.rules)]
    return [
        s
        for s in schedule_with_guards(shape, shape.steps(), roots, [0])
        if isinstance(s, GuardedBlock)
    ]


def test_arms_are_branches_and_cheap_ones_are_not():
    assert [b.guard[1:] for b in branches(two_arms())] == [(0, 0), (1, 0)]
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL, uniform=True)
    assert branches(b.finish([("y", b.op("select", c, b.op("add", x, x), x))])) == []


def test_what_another_needs_is_not_in_a_branch():
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL, uniform=True)
    work = dear(b, x, 1.0)
    assert branches(b.finish([("y", b.op("select", c, work, x)), ("z", work)])) == []


def test_a_condition_that_differs_by_lane_makes_no_branch():
    b = GraphBuilder()
    x, c = b.param("x"), b.param("c", BOOL)
    assert branches(b.finish([("y", b.op("select", c, dear(b, x, 1.0), x))])) == []


@pytest.mark.parametrize("index", [-2.0, -0.0, 0.5, 1.0, 1.5, 2.0, 2.9, 3.0, 8.0, float("nan")])
def test_one_guard_of_a_gather_holds_and_it_is_the_one_read(index):
    nearest = 0 if not index >= 1 else min(int(index), 3)
    for arm in range(4):
        text = guard_condition((0, arm, 4), "v").replace("!", " not ").replace("&&", " and ")
        parts = [p.strip() for p in text.split(" and ")]
        held = all(
            not index >= float(p.split(">=")[1].strip(" )")) if p.startswith("not")
            else index >= float(p.split(">=")[1]) for p in parts
        )  # fmt: skip
        assert held == (arm == nearest)


def test_functions_used_often_are_compiled_apart(tmp_path):
    b = GraphBuilder()
    x, y = b.param("x"), b.param("y")
    total = b.op(
        "sum",
        *(b.op("pow", b.op("add", x, b.const(k / 7)), y) for k in range(MAX_INLINED_USES + 1)),
    )
    few = b.op(
        "sum", *(b.op("exp", b.op("mul", x, b.const(k / 7))) for k in range(MAX_INLINED_USES))
    )
    graph = b.finish([("total", total), ("few", few)])
    text = emit({"g": graph})
    assert "hw_outlined_pow" in text["kernel_0.h"]
    assert "hw_outlined_exp" not in "".join(text.values())
    kernel = build({"g": graph}, cache_dir=tmp_path, flags=STRICT)["g"]
    special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -2.0]
    values = np.array(special + list(np.linspace(-3, 30, 600)))
    powers = np.array([*special, 0.5, 2.5, -3.0])
    axes = [(values, 1, len(values)), (powers, len(values), len(powers))]
    assert_same(kernel, graph, axes, 0, len(values) * len(powers))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="asks gcc what it has made")
@pytest.mark.parametrize("code", ["pow", "log1p", "expm1", "log10"])
@pytest.mark.parametrize("scalar", [0, 1])
def test_long_functions_of_a_scalar_and_a_lane_become_vector_code(code, scalar, tmp_path):
    b = GraphBuilder()
    u, x = b.param("u", uniform=True), b.param("x")
    e = b.op("add", u, b.const(1.5))
    args = ((e, x) if scalar == 0 else (x, e)) if code == "pow" else (b.op("mul", x, e),)
    graph = b.finish([("o", b.op("sub", b.op(code, *args), b.op("sqrt", e)))])
    for name, text in emit({"g": graph}).items():
        (tmp_path / name).write_text(text)
    said = subprocess.run(
        ["gcc", *kernel_flags(["gcc"]), "-fopt-info-vec", "-c", "kernels.c", "-o", "kernels.o"],
        cwd=tmp_path,
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    lines = (tmp_path / "kernel_0.h").read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if f"hw_{code}(" in line)
    start = max(n for n in range(at) if "for (int i" in lines[n]) + 1
    assert f"kernel_0.h:{start}:" in said


def picks(b, x, y):
    """The value of the least of four, twice, and a logarithm of what is at least one."""
    waves = [b.op("ceil", b.op("mul", x, b.const(0.5**k))) for k in range(4)]
    total = b.const(0.0)
    for scale in (3.0, 5.0):
        times = [b.op("mul", w, b.op("add", b.op("mul", y, b.const(scale**k)), b.const(1e-3)))
                 for k, w in enumerate(waves)]  # fmt: skip
        best = b.op("gather", b.op("argmin", *times), *times)
        total = b.op("add", total, b.op("sqrt", best))
    return b.op("add", total, b.op("sqrt", x))


def levels(b, x, y):
    """A logarithm of what is at least one, and what is more than one, as trees of ranks have it."""
    some = b.op("div", x, b.op("min", x, y))
    depth = b.op("log2", b.op("max", b.const(1.0), some))
    far = b.op("select", b.op("lt", b.const(1.0), some), depth, b.const(0.0))
    return b.op("add", far, b.op("log2", b.op("max", b.const(1.0), b.op("min", x, y))))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="asks gcc what it has made")
@pytest.mark.parametrize("made", [picks, levels])
def test_selects_that_share_conditions_become_vector_code(made, tmp_path):
    b = GraphBuilder()
    graph = b.finish([("o", made(b, b.param("x"), b.param("y")))])
    for name, text in emit({"g": graph}).items():
        (tmp_path / name).write_text(text)
    said = subprocess.run(
        ["gcc", *kernel_flags(["gcc"]), "-fopt-info-vec", "-c", "kernels.c", "-o", "kernels.o"],
        cwd=tmp_path,
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    lines = (tmp_path / "kernel_0.h").read_text().splitlines()
    loops = [n + 1 for n, line in enumerate(lines) if "for (int i" in line]
    assert loops
    assert [n for n in loops if f"kernel_0.h:{n}:" not in said] == []
