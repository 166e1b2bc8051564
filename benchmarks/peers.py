"""Models with loops, written in the language, beside the same written in C for a point at a time.

Points and gradients a second on one core through the compiled kernels of `docs/examples`.
"""

import ctypes
import subprocess

import numpy as np
from common import EXAMPLES, table, timed

import hwdsl
from hwdsl.api import driver
from hwdsl.codegen.build.toolchain import build, compiler, kernel_flags

HAND = """
#include <math.h>
#include <stdint.h>
void split(const double *product, const double *collective, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        double best = INFINITY;
        for (int k = 1; k <= 300; k++) {
            const double a = product[i] / fmin(304 - k, 304), b = collective[i] / fmin(k, 24.0);
            const double t = a > b ? a : b;
            best = t < best ? t : best;
        }
        out[i] = best;
    }
}
void actor_scaling(const double *environment, const double *inference, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double d[3] = {environment[i] / 40.0, inference[i], 50e-6};
        double q[3] = {0}, now = 0;
        for (int k = 1; k <= 40; k++) {
            double r[3], sum = 0;
            for (int s = 0; s < 3; s++) sum += r[s] = d[s] * (1 + q[s]);
            now = k / (1e-3 + sum);
            for (int s = 0; s < 3; s++) q[s] = now * r[s];
        }
        out[i] = now;
    }
}
void loaded_bus(const double *rate, const double *service, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double s = service[i], think = 1 / rate[i];
        double low = s, high = 1000.0 * 16 * s;
        for (int k = 0; k < 200; k++) {
            const double middle = (low + high) / 2, load = 16 * s / (think + middle);
            const int stop = high - low <= 1e-12 * high;
            if (load >= 1 || s * (1 + load / (2 * (1 - load))) > middle) low = middle; else high = middle;
            if (stop) break;
        }
        out[i] = high;
    }
}
void schedule(const double *boost, const double *offload, int64_t n, double *out)
{
    static const double fast[6] = {4e-3, 3e-3, 6e-3, 2e-3, 5e-3, 1e-3};
    static const double slow[6] = {9e-3, 5e-3, 20e-3, 3e-3, 8e-3, 1e-3};
    for (int64_t i = 0; i < n; i++) {
        double a = 0, b = 0;
        for (int k = 0; k < 6; k++) {
            const double x = a + fast[k], y = b + slow[k] / boost[i] + offload[i];
            if (x <= y) a = x; else b = y;
        }
        out[i] = a > b ? a : b;
    }
}
"""

# Example, evaluator, its first output, two params with ranges in base units.
CASES = (
    (
        "actors",
        "actor_scaling",
        "step_rate",
        ("environment", 1e-3, 1e-2),
        ("inference", 1e-5, 1e-3),
    ),
    ("split", "split", "overlapped_time", ("gemm", 0.1, 1.0), ("collective", 0.001, 0.1)),
    ("fixpoint", "loaded_bus", "latency", ("rate", 1e6, 9e7), ("service_time", 1e-9, 9e-9)),
    (
        "schedule",
        "schedule",
        "makespan",
        ("slow_device_speedup", 0.1, 10.0),
        ("offload_overhead", 0.0, 1e-2),
    ),
)


def by_hand(folder):
    """The loops in C as a library."""
    (folder / "models.c").write_text(HAND)
    subprocess.run([*compiler(), *kernel_flags(compiler()), "-fvisibility=default", "-shared", "-o",
                    str(folder / "models.so"), str(folder / "models.c"), "-lm"], check=True)  # fmt: skip
    return ctypes.CDLL(str(folder / "models.so"))


def rate(kernel, axes, points, wanted, repeat):
    """Points a second, and the column of one output."""
    columns = [np.empty(points) for _ in range(kernel.outputs)]
    bits = np.empty((points, kernel.words), np.uint64)
    seconds = timed(lambda: kernel.run(axes, 0, points, columns, bits), repeat)
    return points / seconds, columns[wanted]


def main(folder, quick):
    """Print the table."""
    library, points, repeat = by_hand(folder), 20_000 if quick else 100_000, 3 if quick else 7
    rng, rows = np.random.default_rng(1), []
    for file, name, output, *ranges in CASES:
        evaluator = getattr(hwdsl.load(EXAMPLES / f"{file}.hw"), name)
        given = {n: rng.uniform(low, high, points) for n, low, high in ranges}
        axes = [(given[p.name], 1, points) if p.name in given else (np.array([p.default]), 1, 1)
                for p in evaluator.spec.params]  # fmt: skip
        wanted = [o.name for o in evaluator.spec.outputs].index(output)
        kernel = build({name: evaluator.graph}, cache_dir=folder)[name]
        speed, found = rate(kernel, axes, points, wanted, repeat)
        slopes = driver.differentiate(evaluator.graph, output, [n for n, *_ in ranges])
        gradient = build({name: slopes}, cache_dir=folder)[name]
        slower, _ = rate(gradient, axes, points, 0, repeat)
        expected = np.empty(points)
        pointers = [c.ctypes.data_as(ctypes.c_void_p) for c in (*given.values(), expected)]
        action = getattr(library, name)
        hand = points / timed(lambda: action(*pointers[:2], ctypes.c_int64(points), pointers[2]),  # noqa: B023
                              repeat)  # fmt: skip
        assert np.allclose(found, expected, rtol=1e-9), name
        rows.append([f"{file}: {output}", f"{speed / 1e6:.2f}", f"{hand / 1e6:.2f}",
                     f"{speed / hand:.2f}", f"{slower / 1e6:.2f}"])  # fmt: skip
    head = ["model, one core", "M points/s", "C, a point at a time", "ratio", "M gradients/s"]
    table("Models with loops, both params varying from point to point", head, rows)
