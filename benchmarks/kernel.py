"""How fast kernels are, beside C written by hand for the same formulas with the same flags.

Prints points and graph operations a second on one core, the ratio to the hand-written loop, what
the interpreter does, how it scales over cores, the time of a scalar call, and of compiling.
"""

import ctypes
import os
import subprocess

import numpy as np
from common import table, timed

from hwdsl.codegen.build import toolchain as building
from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.build.toolchain import build
from hwdsl.codegen.emit.c_printer import C_SOURCE
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import INT
from hwdsl.codegen.passes import optimise
from hwdsl.codegen.runtime import KernelEvaluator, OutputSpec, ParamSpec, RuleSpec, Spec

STATIONS = (0.021, 0.017, 0.034, 0.008)
LAYERS = tuple(1e9 * (1 + i % 7) for i in range(96))

HAND = """
#include <math.h>
#include <stdint.h>
%(numerics)s
static const double W[96] = {%(layers)s};
void roofline(const double *bw, const double *fl, int64_t na, int64_t nb, double *out, uint64_t *bits)
{
    for (int64_t a = 0; a < na; a++) {
        const double x = bw[a];
        for (int64_t b = 0; b < nb; b++) {
            const double y = fl[b];
            double total = 0.0;
%(terms)s
            out[a * nb + b] = total;
            bits[a * nb + b] = (uint64_t)!(total < 50.0) | (uint64_t)(total != total) << 1;
        }
    }
}
void rolled(const double *bw, const double *fl, int64_t na, int64_t nb, double *out, uint64_t *bits)
{
    for (int64_t a = 0; a < na; a++) for (int64_t b0 = 0; b0 < nb; b0 += 256) {
        const int n = nb - b0 < 256 ? (int)(nb - b0) : 256;
        double total[256] = {0};
        for (int l = 0; l < 96; l++)
            for (int i = 0; i < n; i++) total[i] = total[i] + hw_max(W[l] / bw[a], 300.0 * W[l] / fl[b0 + i]);
        for (int i = 0; i < n; i++) {
            out[a * nb + b0 + i] = total[i];
            bits[a * nb + b0 + i] = (uint64_t)(total[i] != total[i]);
        }
    }
}
void rolled_by_hand(const double *bw, const double *fl, int64_t na, int64_t nb, double *out, uint64_t *bits)
{
    for (int64_t a = 0; a < na; a++) for (int64_t b0 = 0; b0 < nb; b0 += 256) {
        const int n = nb - b0 < 256 ? (int)(nb - b0) : 256;
        const double slow = 1.0 / bw[a];
        double total[256] = {0}, quick[256];
        for (int i = 0; i < n; i++) quick[i] = 1.0 / fl[b0 + i];
        for (int l = 0; l < 96; l++)
            for (int i = 0; i < n; i++) total[i] = total[i] + hw_max(W[l] * slow, 300.0 * W[l] * quick[i]);
        for (int i = 0; i < n; i++) {
            out[a * nb + b0 + i] = total[i];
            bits[a * nb + b0 + i] = (uint64_t)(total[i] != total[i]);
        }
    }
}
void mva(const double *think, const double *clients, int64_t na, int64_t nb, double *out, uint64_t *bits)
{
    static const double D[4] = {%(stations)s};
    for (int64_t a = 0; a < na; a++) for (int64_t b0 = 0; b0 < nb; b0 += 256) {
        const int n = nb - b0 < 256 ? (int)(nb - b0) : 256;
        double q[4][256] = {{0}}, x[256] = {0};
        for (int k = 1; k <= 64; k++) {
            int any = 0;
            for (int i = 0; i < n; i++) any |= (double)k <= clients[b0 + i];
            if (!any) break;
            for (int i = 0; i < n; i++) {
                const int go = (double)k <= clients[b0 + i];
                double r[4], sum = 0.0;
                for (int s = 0; s < 4; s++) r[s] = D[s] * (1.0 + q[s][i]);
                sum = r[0] + r[1] + r[2] + r[3];
                const double now = (double)k / (think[a] + sum);
                for (int s = 0; s < 4; s++) q[s][i] = go ? now * r[s] : q[s][i];
                x[i] = go ? now : x[i];
            }
        }
        for (int i = 0; i < n; i++) {
            out[a * nb + b0 + i] = x[i];
            bits[a * nb + b0 + i] = (uint64_t)(x[i] != x[i]);
        }
    }
}
"""


def roofline():
    """Twenty operators, each as slow as its memory or its arithmetic."""
    b = GraphBuilder()
    x, y = b.param("bw"), b.param("fl")
    total = b.const(0.0)
    for k in range(20):
        memory = b.op("div", b.const(1e9 + k * 1e8), x)
        compute = b.op("div", b.const(1e11 + k * 3e10), y)
        total = b.op("add", total, b.op("max", memory, compute))
    return b.finish([("total", total)], [("fast", b.op("lt", total, b.const(50.0)))]), 62


def rolled():
    """A sum over a table of layers, as a loop."""
    b = GraphBuilder()
    x, y = b.param("bw"), b.param("fl")
    loop = b.open_loop(["real"])
    w = b.op("table", loop.variable, index=b.table(LAYERS))
    compute = b.op("div", b.op("mul", b.const(300.0), w), y)
    new = b.op("add", loop.states[0], b.op("max", b.op("div", w, x), compute))
    total = loop.close(b.const(0, INT), b.const(95, INT), 96, [b.const(0.0)], [new])[0]
    return b.finish([("total", total)]), 96 * 6


def mva():
    """Exact mean value analysis of a closed queueing network, clients differing by lane."""
    b = GraphBuilder()
    think, clients = b.param("think"), b.param("clients", INT)
    loop = b.open_loop(["real"] * 5)
    waits = [b.op("mul", b.const(d), b.op("add", b.const(1.0), q))
             for d, q in zip(STATIONS, loop.states[1:], strict=True)]  # fmt: skip
    now = b.op("div", loop.variable, b.op("add", think, b.op("sum", *waits)))
    rate = loop.close(b.const(1, INT), clients, 64, [b.const(0.0)] * 5,
                      [now, *(b.op("mul", now, r) for r in waits)])[0]  # fmt: skip
    return b.finish([("rate", rate)]), 32 * 17


def straight(count):
    """Straight-line code of a given number of operations."""
    b = GraphBuilder()
    x, y = b.param("x"), b.param("y")
    values = [x, y]
    for i in range(count):
        other = values[(i * 7) % len(values)]
        values.append(b.op(("add", "mul", "max", "div")[i % 4], values[-1],
                           b.op("mul", other, b.const(1.0 + i / count))))  # fmt: skip
        if len(b.root.ops) >= count:
            break
    return b.finish([("last", values[-1])])


def by_hand(folder):
    """The hand-written loops as a library."""
    terms = "\n".join(
        f"            total = total + hw_max({(1e9 + k * 1e8).hex()} / x, "
        f"{(1e11 + k * 3e10).hex()} / y);" for k in range(20)
    )  # fmt: skip
    text = HAND % {"numerics": C_SOURCE, "terms": terms,
                   "layers": ", ".join(map(str, LAYERS)),
                   "stations": ", ".join(map(str, STATIONS))}  # fmt: skip
    (folder / "hand.c").write_text(text)
    subprocess.run([*building.compiler(), *building.kernel_flags(building.compiler()), "-fvisibility=default", "-shared", "-o", str(folder / "hand.so"),
                    str(folder / "hand.c"), "-lm"], check=True)  # fmt: skip
    return ctypes.CDLL(str(folder / "hand.so"))


def throughput(folder, points, repeat):
    """Kernels against the loops written by hand."""
    cases = {"roofline": roofline(), "rolled": rolled(), "rolled_by_hand": rolled(), "mva": mva()}
    cases = {n: (optimise(g), ops) for n, (g, ops) in cases.items()}
    kernels = build({n: g for n, (g, _) in cases.items()}, cache_dir=folder)
    library = by_hand(folder)
    side = int(points**0.5)
    rows = []
    for name, (graph, ops) in cases.items():
        n = side if name == "roofline" else side // 5
        first = np.linspace(1e12, 9e12, n) if name != "mva" else np.linspace(0.1, 2.0, n)
        second = np.linspace(1e14, 9e14, n) if name != "mva" else np.arange(n) % 64 + 1.0
        out, bits = np.zeros(n * n), np.zeros((n * n, graph.words), np.uint64)
        expected, other = np.zeros(n * n), np.zeros(n * n, np.uint64)
        axes = [(first, n, n), (second, 1, n)]
        kernel = timed(lambda: kernels[name].run(axes, 0, n * n, [out], bits), repeat)  # noqa: B023
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (first, second)]
        results = [a.ctypes.data_as(ctypes.c_void_p) for a in (expected, other)]
        size = ctypes.c_int64(n)
        loop = getattr(library, name)
        hand = timed(lambda: loop(*pointers, size, size, *results), repeat)  # noqa: B023
        assert np.allclose(out, expected, rtol=1e-12)
        few = min(n * n, 20_000)
        slow = InterpreterKernel(graph)
        interpreted = timed(lambda: slow.run(axes, 0, few, [out], bits), 1)  # noqa: B023
        rows.append([name, f"{n * n / kernel / 1e6:.1f}", f"{n * n * ops / kernel / 1e9:.1f}",
                     f"{n * n / hand / 1e6:.1f}", f"{hand / kernel:.2f}",
                     f"{few / interpreted / 1e6:.3f}"])  # fmt: skip
    head = ["kernel, one core", "M points/s", "G ops/s", "by hand", "ratio", "interpreter"]
    table("Kernels beside hand-written C (its `rolled` divides, `rolled_by_hand` has the "
          "reciprocals taken out)", head, rows)  # fmt: skip


def cores(folder, points):
    """The same sweep on one thread and on all."""
    graph = optimise(roofline()[0])
    kernel = build({"roofline": graph}, cache_dir=folder)["roofline"]
    spec = Spec(
        "roofline", (ParamSpec("bw"), ParamSpec("fl")), (OutputSpec("total"),), (RuleSpec("fast"),)
    )
    side = int(points**0.5)
    plan = KernelEvaluator(spec, kernel).plan(bw=np.linspace(1e12, 9e12, side),
                                        fl=np.linspace(1e14, 9e14, side))  # fmt: skip
    counts = sorted({1, os.cpu_count() or 1})
    times = [timed(lambda: plan.run(threads=t), 5) for t in counts]  # noqa: B023
    table("A sweep from Python, results kept", ["threads", "M points/s", "speed-up"],
          [[t, f"{plan.points / s / 1e6:.1f}", f"{times[0] / s:.2f}"]
           for t, s in zip(counts, times, strict=True)])  # fmt: skip


def calls(folder, repeat):
    """A scalar call of an evaluator, and of the kernel under it."""
    kernel = build({"roofline": roofline()[0]}, cache_dir=folder)["roofline"]
    spec = Spec("roofline", (ParamSpec("bw", default=3e12), ParamSpec("fl", default=1e15)),
                (OutputSpec("total"),))  # fmt: skip
    evaluator = KernelEvaluator(spec, kernel)
    many = range(20_000)
    whole = timed(lambda: [evaluator(bw=2e12, fl=5e14) for _ in many], repeat) / len(many)
    inner = timed(lambda: [kernel.point([2e12, 5e14]) for _ in many], repeat) / len(many)
    table("A scalar call", ["", "us"], [["from Python", f"{whole * 1e6:.2f}"],
                                        ["of which the kernel", f"{inner * 1e6:.2f}"]])  # fmt: skip


def compiling(folder, sizes):
    """Cold compiles, and loading what they made."""
    rows = []
    for count in sizes:
        graph = straight(count)
        cold = timed(lambda: build({"g": graph}, cache_dir=folder / f"cold{count}"), 1)  # noqa: B023
        again = timed(lambda: build({"g": graph}, cache_dir=folder / f"cold{count}",  # noqa: B023
                                    flags=["-DAGAIN"]), 1)  # fmt: skip
        warm = timed(lambda: building.cache_key_inputs({"g": graph}), 3)  # noqa: B023
        rows.append([count, f"{cold:.2f}", f"{again:.2f}", f"{warm * 1e3:.1f}"])
    table("Compiling straight-line code", ["operations", "cold s", "module half cached s", "key ms"],
          rows)  # fmt: skip


def main(folder, quick):
    """Print the tables."""
    throughput(folder, 1_000_000 if quick else 9_000_000, 3 if quick else 7)
    cores(folder, 1_000_000 if quick else 9_000_000)
    calls(folder, 3)
    compiling(folder, (200, 2_000) if quick else (200, 2_000, 20_000))
