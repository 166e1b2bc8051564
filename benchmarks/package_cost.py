"""How fast a package is priced: Chiplet Actuary's silicon interposer, from its description.

    python benchmarks/package_cost.py [--quick] [--actuary FOLDER]

Prints packages a second on one core: an evaluator of one output with the carrier fixed, the model's
own with ten outputs and carrier, node and order of assembly left open, and the sweep a user calls,
beside the same formula in C by hand, and beside the tool itself where FOLDER is a checkout of
Yinxiao-Feng/chiplet-actuary. All points differ in size, cut and share of interfaces, so nothing can
be computed once for many.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import timed

import hwdsl
from hwdsl.codegen.build import toolchain as building

MODEL = Path(__file__).parents[1] / "library" / "peers" / "chiplet_actuary.hw"
ONE = """edition 2026
use peers.chiplet_actuary: even_split, silicon

evaluator price {
    param size     : area = 800 mm^2 in 1 mm^2 .. 5000 mm^2
    param chiplets : int  = 4        in 1 .. 64
    param d2d      : real = 0.1      in 0 .. 0.9
    let made = even_split with {
        interposer   = silicon
        die.count    = chiplets
        die.designs  = chiplets
        die.modules  = size / chiplets
        die.d2d_area = size / chiplets * d2d
    }
    output recurring in USD = made.recurring
}
"""
HAND = """
#include <math.h>
#include <stdint.h>
static inline double dies(double area)
{
    const double r = 145.0, place = (sqrt(area) + 0.2) * (sqrt(area) + 0.2);
    return M_PI * r * r / place - 2.0 * M_PI * r / sqrt(2.0 * place);
}
void price(const double *size, const double *chiplets, const double *d2d, int64_t points, double *out)
{
    for (int64_t i = 0; i < points; i++) {
        const double n = chiplets[i], area = size[i] / n * (1.0 + d2d[i]), all = n * area, wide = 1.1 * all;
        const double raw = 16988.0 / dies(area), good = pow(1.0 + 0.11 * area / 100.0 / 10.0, -10.0);
        const double chips = n * raw + 0.01 * all + n * (raw / good - raw);
        const double between = 1937.0 / dies(wide) + 0.005 * wide, base = 4.0 * wide * 0.005;
        const double y1 = pow(1.0 + 0.06 * wide / 100.0 / 6.0, -6.0), y2 = pow(0.95, n), y3 = 0.99;
        out[i] = chips + between + base + between * (1.0 / (y1 * y2 * y3) - 1.0)
                 + base * (1.0 / y3 - 1.0) + chips * (1.0 / (y2 * y3) - 1.0);
    }
}
"""


def by_hand(folder, name, flags):
    """The loop written by hand as a function of the columns."""
    source, target = folder / "hand.c", folder / f"{name}.so"
    source.write_text(HAND, "utf-8")
    subprocess.run([*building.compiler(), *flags, "-fvisibility=default", "-fPIC", "-shared", "-o",
                    str(target), str(source), "-lm"], check=True)  # fmt: skip
    function = ctypes.CDLL(str(target)).price

    def run(columns, out):
        arrays = [np.ascontiguousarray(c, dtype=np.float64) for c in columns]
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
        function(*pointers, ctypes.c_int64(len(out)), out.ctypes.data_as(ctypes.c_void_p))

    return run


def kernel(evaluator, points):
    """A run of an evaluator's kernel over columns, all its outputs filled, and the first of them."""
    plan = evaluator.plan(mode="zip", **points)
    outputs = [np.empty(plan.points) for _ in evaluator.spec.outputs]
    bits = np.empty((plan.points, evaluator.graph.words), np.uint64)
    where = [o.name for o in evaluator.spec.outputs].index("recurring")
    return lambda: evaluator.kernel.run(plan.grid.axes, 0, plan.points, outputs, bits), outputs[
        where
    ]


def tool(folder, points, count):
    """The tool's own price of some points, its objects made anew as its users make them."""
    os.chdir(folder)  # it reads its parameters from the working directory
    sys.path.insert(0, str(folder))
    from chiplet_actuary import chip, module, package

    def price(size, chiplets, d2d):
        chips = {}
        for i in range(chiplets):
            part = module.Module(f"m{i}", "5", size / chiplets)
            chips[chip.Chiplet(part, part.area * d2d)] = 1
        return sum(package.SI("system", chips).cost_RE())

    rows = [
        (float(s), int(n), float(d)) for s, n, d in zip(*(c[:count] for c in points), strict=True)
    ]
    return lambda: [price(*row) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--actuary", type=Path, help="a checkout of Yinxiao-Feng/chiplet-actuary")
    options = parser.parse_args()
    count, repeat = (200_000, 3) if options.quick else (2_000_000, 7)
    draw = np.random.default_rng(1)
    columns = (draw.uniform(100, 1600, count), draw.integers(1, 9, count).astype(float),
               draw.uniform(0.01, 0.2, count))  # fmt: skip
    names = ("size", "chiplets", "d2d")
    rows = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "one.hw").write_text(ONE, "utf-8")
        one, whole = hwdsl.load(folder / "one.hw").price, hwdsl.load(MODEL).split
        points = dict(zip(names, columns, strict=True))
        shares = points | {"d2d": columns[2] * 100}  # the model's unit is per cent
        expected = np.empty(count)
        for name, flags in (
            ("C by hand, -O2", ["-O2"]),
            ("C by hand, our flags", building.kernel_flags(building.compiler())),
        ):
            run = by_hand(folder, f"hand{len(rows)}", flags)
            rows.append((name, count / timed(lambda: run(columns, expected), repeat)))  # noqa: B023
        for name, evaluator, given in (("kernel, carrier fixed", one, points),
                                       ("kernel, carrier open", whole, shares)):  # fmt: skip
            run, found = kernel(evaluator, given)
            rows.append((name, count / timed(run, repeat)))
            assert np.allclose(found, expected, rtol=1e-11, atol=0)
        few = {name: column[: count // 10] for name, column in points.items()}
        sweep = timed(lambda: one.sweep(mode="zip", threads=1, **few), 3)
        rows.append(("sweep, carrier fixed", count // 10 / sweep))
        if options.actuary:
            some = min(count, 5_000)
            run = tool(options.actuary.resolve(), columns, some)
            assert np.allclose(run(), expected[:some], rtol=1e-11, atol=0)
            rows.append(("chiplet-actuary", some / timed(run, repeat)))
    base = rows[0][1]
    print("packages a second on one core")
    for name, rate in rows:
        print(f"  {name:22} {rate / 1e6:8.3f} M/s  {rate / base:6.3f} of C by hand, -O2")


if __name__ == "__main__":
    main()
