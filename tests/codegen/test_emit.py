"""Kernels against the interpreter: the same bits, on random graphs and on chosen ones."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import columns_for, equal, graphs

from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.build.toolchain import build
from hwdsl.codegen.emit import regions as emitting
from hwdsl.codegen.emit.kernels import TILE, emit
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT

STRICT = ("-Wall", "-Wextra", "-Werror")
WHOLE, PIECE = 150, 40


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def random_cases(count):
    """Random graphs with columns, collected so that one module holds them all."""
    cases = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(graphs(), st.data())
    def collect(graph, data):
        cases.append((graph, data.draw(columns_for(graph, count=7))))

    collect()
    return cases


def run(kernel, graph, axes, start, stop):
    outputs = [np.full(stop - start, 77.0) for _ in graph.outputs]
    rules = np.zeros((stop - start, graph.words), np.uint64)
    kernel.run(axes, start, stop, outputs, rules)
    return outputs, rules


def assert_same(kernel, graph, axes, start, stop):
    got, bits = run(kernel, graph, axes, start, stop)
    expected, rules = run(InterpreterKernel(graph), graph, axes, start, stop)
    for (name, _), a, b in zip(graph.outputs, got, expected, strict=True):
        assert equal(a, b), (name, a[:8], b[:8])
    assert np.array_equal(bits, rules)


def axes_of(columns):
    axes = []
    for c in columns:
        values = np.atleast_1d(np.asarray(c, np.float64))
        axes.append((np.ascontiguousarray(values), 1, len(values)))
    return axes


def test_random_graphs_give_the_interpreters_bits(cache_dir):
    cases = random_cases(60)
    kernels = build(
        {str(i): g for i, (g, _) in enumerate(cases)}, cache_dir=cache_dir, flags=STRICT
    )
    for i, (graph, columns) in enumerate(cases):
        axes = axes_of(columns)
        if any(p.uniform for p in graph.params):
            axes = [(v[:1].copy(), 1, 1) if p.uniform else (v, s, c)
                    for p, (v, s, c) in zip(graph.params, axes, strict=True)]  # fmt: skip
        assert_same(kernels[str(i)], graph, axes, 0, 300)
        point = [float(v[0]) for v, _, _ in axes]
        got, words = kernels[str(i)].point(point)
        expected, rules = InterpreterKernel(graph).point(point)
        assert equal(got, expected)
        assert words == rules


def ragged():
    """A loop in a loop; lanes stop by `hi`, by `until`, and by the bound."""
    b = GraphBuilder()
    x, n, u = b.param("x"), b.param("n", INT), b.param("u", uniform=True)
    outer = b.open_loop(["real", "real"])
    s, p = outer.states
    inner = b.open_loop(["real"], within=[s])
    term = b.op("add", inner.states[0], b.op("mul", inner.variable, b.op("add", s, u)))
    done = inner.close(b.const(1, INT), outer.variable, 10, [u], [term])
    step = b.op("table", outer.variable, index=b.table([1.0, 2.0, 3.0, 4.0, 5.0]))
    new = b.op("add", b.op("add", s, step), b.op("mul", x, b.op("div", done[0], b.const(1e3))))
    stop = b.op("lt", b.const(20.0), new)
    results = outer.close(
        b.const(0, INT), n, 5, [b.const(0.0), x], [new, b.op("mul", p, s)], stop
    )  # fmt: skip
    outputs = [(f"o{i}", r) for i, r in enumerate(results)]
    return b.finish(outputs, [("settles", results[-1])])


def scalar_loop():
    """A loop of uniform values alone, one with a lane state and a scalar state."""
    b = GraphBuilder()
    x, u = b.param("x"), b.param("u", uniform=True)
    loop = b.open_loop(["real"])
    a = loop.close(b.const(1, INT), b.const(6, INT), 6, [u],
                   [b.op("mul", loop.states[0], loop.variable)])  # fmt: skip
    loop = b.open_loop(["real", "real"])
    s, t = loop.states
    row = b.table([0.5, 1.5, 2.5, 3.5])
    weight = b.op("table", loop.variable, index=row)
    r = loop.close(b.const(0, INT), b.const(3, INT), 4, [x, a[0]],
                   [b.op("add", s, b.op("mul", t, weight)), b.op("add", t, weight)])  # fmt: skip
    late = b.op("add", r[1], u)
    return b.finish([("a", a[0]), ("s", r[0]), ("t", r[1]), ("late", late), ("n", r[2]),
                     ("held", r[3])])  # fmt: skip


def chain(length, loops=False):
    """Straight-line code too large for one function, values crossing far."""
    b = GraphBuilder()
    x, u = b.param("x"), b.param("u", uniform=True)
    values = [x, b.op("add", x, u), b.op("sqrt", u)]
    for i in range(length):
        code = ("add", "mul", "sub", "max")[i % 4]
        far = values[(i * 7) % len(values)]
        values.append(b.op(code, values[-1], b.op("mul", far, b.const(0.25 + i / length))))
        if loops and i % 40 == 20:
            loop = b.open_loop(["real"])
            values.append(loop.close(b.const(1, INT), b.const(3, INT), 3, [values[-1]],
                          [b.op("add", loop.states[0], b.op("mul", u, values[5]))])[0])  # fmt: skip
    return b.finish([("last", values[-1]), ("mid", values[length // 2])],
                    [("finite", b.op("lt", values[-1], b.const(1e300)))])  # fmt: skip


def large_prologue():
    """Values that are computed once per call, too many for one function."""
    b = GraphBuilder()
    x, u = b.param("x"), b.param("u", uniform=True)
    v = u
    for i in range(2 * WHOLE):
        v = b.op(("add", "mul", "max")[i % 3], v, b.op("mul", u, b.const(0.5 + i / 1e3)))
    return b.finish([("sum", b.op("add", v, x)), ("call", v)])


def large_body():
    """A loop whose body is cut into pieces."""
    b = GraphBuilder()
    x, n = b.param("x"), b.param("n", INT)
    loop = b.open_loop(["real"])
    v = loop.states[0]
    for i in range(2 * WHOLE):
        v = b.op(("add", "mul")[i % 2], v, b.op("add", loop.variable, b.const(0.5 + i / 1e3))
                 if i % 50 == 0 else b.const(0.5 + i / 1e4))  # fmt: skip
        if i % 100 == 0:
            v = b.op("min", v, b.op("add", x, b.const(float(i))))
    r = loop.close(b.const(0, INT), n, 6, [x], [v], b.op("lt", b.const(1e9), v))
    return b.finish([(f"o{i}", o) for i, o in enumerate(r)])


def many_rules():
    """More rules than a word has bits, constants among the outputs and rules."""
    b = GraphBuilder()
    x = b.param("x")
    rules = [(f"r{i}", b.op("lt", x, b.const(i / 20.0))) for i in range(130)]
    rules.append(("never", b.const(0.0, BOOL)))
    return b.finish([("x", x), ("c", b.const(2.5)), ("r", b.op("sqrt", x))], rules)


def lookups():
    """Tables, buckets small and large, gathers; indices outside are kept inside."""
    b = GraphBuilder()
    x = b.param("x")
    out = [("t", b.op("table", b.op("floor", x), index=b.table([3.0, 1.0, 2.0])))]
    for size in (1, 5, 16, 17, 31, 32, 33, 100):
        row = b.table([i * 0.37 - 3 for i in range(size)])
        out.append((f"b{size}", b.op("bucket", x, index=row)))
    gathered = b.op("gather", b.op("floor", x), x, b.const(7.0), b.op("neg", x))
    return b.finish([*out, ("g", gathered)])


CHOSEN = {"ragged": ragged, "scalar": scalar_loop, "chain": lambda: chain(3 * WHOLE),
          "loops": lambda: chain(2 * WHOLE, loops=True), "body": large_body,
          "rules": many_rules, "lookups": lookups, "prologue": large_prologue}  # fmt: skip


@pytest.fixture(scope="module")
def chosen(cache_dir):
    """All of them in one module, cut into pieces as if they were ten times as large."""
    graphs = {name: make() for name, make in CHOSEN.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitting, "MAX_INLINE_COST", WHOLE)
        patch.setattr(emitting, "OUTLINED_COST", PIECE)
        files = emit(graphs)
        assert all(f"k{i}_p3(" in files[f"kernel_{i}.h"] for i in (2, 3, 4, 7))
        return graphs, build(graphs, cache_dir=cache_dir, flags=STRICT)


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("span", [(0, 1), (0, TILE), (3, 2 * TILE + 5), (TILE - 1, 1500)])
def test_chosen_graphs_on_grids(chosen, name, span):
    graph, kernel = chosen[0][name], chosen[1][name]
    axes = []
    stride = 1
    for p in graph.params:
        if p.uniform:
            axes.append((np.array([0.75]), 1, 1))
            continue
        values = np.arange(-1.0, 7.0) if p.type == INT else np.linspace(-4.0, 9.0, 37)
        axes.append((values, stride, len(values)))
        stride *= len(values)
    axes = [(np.append(v, np.nan), s, c) for v, s, c in axes]
    assert_same(kernel, graph, axes, *span)


@pytest.mark.parametrize("stride", [1, 2, 3, 255, 256, 257, 300, 512, 10_000])
@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_axes_of_every_stride_and_count(chosen, stride, count):
    kernel = chosen[1]["rules"]
    values = np.arange(1.0, count + 1)
    for start, stop in ((0, 2000), (1, 777), (stride * count - 1, stride * count + 600)):
        x = np.empty(stop - start)
        bits = np.empty((stop - start, kernel.words), np.uint64)
        kernel.run([(values, stride, count)], start, stop, [x, None, None], bits)
        assert np.array_equal(x, values[np.arange(start, stop) // stride % count])


def test_bad_calls_are_refused(chosen):
    kernel = chosen[1]["rules"]
    bits = np.empty((4, kernel.words), np.uint64)
    good = [(np.ones(2), 1, 2)]
    with pytest.raises(ValueError, match="64-bit buffers"):
        kernel.run(good, 0, 4, [np.empty(3), None, None], bits)
    with pytest.raises(ValueError, match="64-bit buffers"):
        kernel.run([(np.ones(2, np.float32), 1, 2)], 0, 4, [None] * 3, bits)
    with pytest.raises(ValueError, match="64-bit buffers"):
        kernel.run([(np.ones(2), 1, 3)], 0, 4, [None] * 3, bits)
    with pytest.raises(ValueError, match="positive stride"):
        kernel.run([(np.ones(2), 0, 2)], 0, 4, [None] * 3, bits)
    with pytest.raises(ValueError, match="number of axes"):
        kernel.run([], 0, 4, [None] * 3, bits)
    with pytest.raises(ValueError, match="number of params"):
        kernel.point([])


def test_names_never_reach_c():
    b = GraphBuilder()
    x = b.param('evil"; }\n#error')
    text = "".join(emit({'q"': b.finish([("o\\\n", b.op("exp", x))], [("r*/", x)])}).values())
    assert "evil" not in text
    assert "o\\" not in text.replace("\\0", "")
    assert "r*/" not in text


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
import hashlib
from test_emit import CHOSEN
from hwdsl.codegen.emit.kernels import emit
text = emit({{n: CHOSEN[n]() for n in ("ragged", "scalar", "rules")}})
print(hashlib.sha256(repr(list(text.items())).encode()).hexdigest())
"""


def test_the_text_does_not_depend_on_the_hash_seed():
    from pathlib import Path

    program = PROGRAM.format(folder=str(Path(__file__).parent))
    found = set()
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1


def slow_axes():
    """Dear values of one param, of two, and a loop of one; all may be kept between tiles."""
    b = GraphBuilder()
    x, y, z, n = b.param("x"), b.param("y"), b.param("z"), b.param("n", INT)
    one = [b.op("div", b.const(float(k)), x) for k in range(1, 9)]
    two = [b.op("exp", b.op("log1p", b.op("mul", o, y))) for o in one]
    loop = b.open_loop(["real"])
    root = b.op("sqrt", b.op("abs", b.op("add", loop.states[0], loop.variable)))
    looped = loop.close(b.const(0, INT), n, 9, [b.op("log", n)], [root])
    total = b.op("sum", *one, *two, b.op("mul", z, looped[0]), looped[1])
    return b.finish([("total", total), ("one", one[3]), ("loop", looped[0])],
                    [("small", b.op("lt", total, b.const(9.0)))])  # fmt: skip


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_values_kept_between_tiles_are_the_right_ones(slow_kernel, order):
    graph, kernel = slow_kernel
    values = [np.linspace(1, 3, 5), np.linspace(-2, 2, 3), np.linspace(0, 1, 600),
              np.arange(-1.0, 9.0)]  # fmt: skip
    strides, stride = [0] * 4, 1
    for k in order:
        strides[k] = stride
        stride *= len(values[k])
    axes = [(v, s, len(v)) for v, s in zip(values, strides, strict=True)]
    assert_same(kernel, graph, axes, 0, 20_000)
    assert_same(kernel, graph, axes, 12_345, 17_000)
    axes[0] = (values[0][:1].copy(), 1, 1)
    assert_same(kernel, graph, axes, 77, 9_000)


@pytest.fixture(scope="module")
def slow_kernel(cache_dir):
    graph = slow_axes()
    text = emit({"slow": graph})["kernel_0.h"]
    assert text.count("if (fresh[") >= 3
    return graph, build({"slow": graph}, cache_dir=cache_dir, flags=STRICT)["slow"]


def test_reductions_of_one_value_and_empty_tables_compile(cache_dir):
    b = GraphBuilder()
    x = b.param("x")
    i = b.op("floor", x)
    empty = b.op("bucket", x, index=b.table([]))
    graph = b.finish([("a", b.op("argmin", x)), ("g", b.op("gather", i, x)), ("e", empty)])
    kernel = build({"g": graph}, cache_dir=cache_dir, flags=STRICT)["g"]
    assert kernel.point([2.5]) == ([0.0, 2.5, 0.0], [0])
