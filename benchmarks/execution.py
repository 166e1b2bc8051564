"""Speed and error of a lean and a full model of an accelerator and of a training step.

    python benchmarks/execution.py [--quick] [FOLDER]

Accelerator: the lean model is one GEMM at constant efficiencies; the full model is the library's:
a GEMM in tiles and waves, attention with its exponentials and a normalization, all with a cache.
Each is compared with hand-written C of the same formulas, compiled with the same flags. The kernel
is measured with the rules of the accelerator, which it evaluates at each point, and without them,
like the C. Training step: `studies/roofline_ablation.hw` and `studies/megatron.hw`, all params
different at every point. Speeds are points per second of processor time on one core. Errors are
those on the tables of the studies; with a FOLDER of published tables, the GEMMs are all of aic_gemm.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from attrs import evolve
from common import ROOT, table, timed

import hwdsl
from hwdsl.codegen.build.toolchain import build, compiler, kernel_flags
from hwdsl.codegen.passes import optimise
from hwdsl.measure.validate import Request, validate, validation_requests

STUDIES = ROOT / "library" / "studies"
DEVICE = """edition 2026
use std.execution: operator_time
use std.operators: matmul, attention, normalization
use studies.roofline_ablation: roofline_with_launch
use vendor.nvidia: H100_SXM_80GB

evaluator lean_device {
    param m         : real      = 4096        in 1 .. 1_000_000
    param n         : real      = 4096        in 1 .. 1_000_000
    param k         : real      = 4096        in 1 .. 1_000_000
    param rate      : flop_rate = 900 TFLOP/s in 1 TFLOP/s .. 989 TFLOP/s
    param bandwidth : bandwidth = 3 TB/s      in 0.1 TB/s .. 3.35 TB/s

    let gpu = H100_SXM_80GB with {
        peak_fp16        = rate
        memory_bandwidth = bandwidth
    }
    output time in us = roofline_with_launch(matmul(m = m, n = n, k = k), gpu)
}

evaluator full_device {
    param m         : real      = 4096        in 1 .. 1_000_000
    param n         : real      = 4096        in 1 .. 1_000_000
    param k         : real      = 4096        in 1 .. 1_000_000
    param rate      : flop_rate = 900 TFLOP/s in 1 TFLOP/s .. 989 TFLOP/s
    param bandwidth : bandwidth = 3 TB/s      in 0.1 TB/s .. 3.35 TB/s
    param batch     : real      = 4           in 1 .. 1000
    param length    : real      = 2048        in 1 .. 100_000
    param cache     : data      = 50 MB       in 1 MB .. 1 GB
    param distance  : data      = 80 MB       in 1 MB .. 10 GB

    let gpu = H100_SXM_80GB with {
        peak_fp16        = rate
        memory_bandwidth = bandwidth
        llc_capacity     = cache
    }
    let gemm = matmul(m = m, n = n, k = k, a_reuse_distance = distance)
    let prefill = attention(
        batch_size = batch,
        heads = 32,
        kv_heads = 8,
        query_length = length,
        kv_length = length,
        kv_reuse_distance = distance,
    )
    let norm = normalization(elements = m * n, normalized_size = n, input_reuse_distance = distance)
    output time in us =
        operator_time(gemm, gpu) + operator_time(prefill, gpu) + operator_time(norm, gpu)
}
"""
HAND = """
#include <math.h>
#include <stdint.h>
void lean_device(const double *m, const double *n, const double *k, const double *rate,
                 const double *bandwidth, int64_t points, double *out)
{
    for (int64_t i = 0; i < points; i++) {
        const double work = 2 * m[i] * n[i] * k[i] / (%(gemm_efficiency)s * rate[i]);
        const double bytes = 2 * (m[i] * k[i] + k[i] * n[i] + m[i] * n[i]);
        const double data = bytes / (%(memory_efficiency)s * bandwidth[i]);
        out[i] = %(min_gemm_latency)s + (work > data ? work : data);
    }
}
static inline double min(double a, double b) { return a < b ? a : b; }
static inline double fourth(double x) { return x * x * x * x; }
static inline double smooth_max(double a, double b) { return sqrt(sqrt(fourth(a) + fourth(b))); }
static inline double tiled(double rows, double columns, double m, double n, double k, double rate)
{
    const double waves = ceil(ceil(m / rows) * ceil(n / columns) / %(units)s);
    return waves * (2 * rows * columns * k * %(units)s / rate + %(tile_prologue_epilogue)s);
}
void full_device(const double *m, const double *n, const double *k, const double *rate,
                 const double *bandwidth, const double *batch, const double *length,
                 const double *cache, const double *distance, int64_t points, double *out)
{
    for (int64_t i = 0; i < points; i++) {
        const double M = m[i], N = n[i], K = k[i];
        const double s = batch[i], p = length[i], b = bandwidth[i];
        const double ratio = cache[i] / distance[i], miss = 1 / (1 + fourth(ratio) * fourth(ratio));
        const double cached = miss + (1 - miss) / %(llc_bandwidth_ratio)s;  /* relative time */
        const double sustained = %(gemm_efficiency)s * rate[i];
        double best = tiled(256, 128, M, N, K, sustained);
        best = min(best, tiled(128, 128, M, N, K, sustained));
        best = min(best, tiled(128, 64, M, N, K, sustained));
        best = min(best, tiled(64, 64, M, N, K, sustained));
        const double moved = 2 * (M * K * cached + K * N + M * N) / (%(memory_efficiency)s * b);
        const double gemm = %(min_gemm_latency)s + smooth_max(best, moved);

        const double keys = p - (p - 1) / 2;
        const double pairs = s * 32 * p * keys, size = s * p * 128 * 2;
        const double gemms = 512 * pairs / (%(attention_efficiency)s * rate[i]);
        const double exp_rate = %(exp_efficiency)s * %(peak_fp32)s;
        const double exponentials = pairs * %(flops_per_exp)s / exp_rate;
        const double blocks = s * 8 * ceil(p * 4 / 64);  /* four heads share keys */
        const double block = (gemms + exponentials) * %(units)s * 64 / (s * 32 * p)
            + %(attention_prologue_epilogue)s;
        const double attended = min(blocks, ceil(blocks / %(units)s)) * block;
        const double through = size * (32 + 16 * cached + 32) / (%(memory_efficiency)s * b);
        const double rope_append = s * p * (32 * 128 + 8 * 256) * 4 / (%(memory_efficiency)s * b);
        const double prefill = %(min_attention_latency)s + %(min_latency)s + rope_append
            + smooth_max(attended, through);

        const double norm = %(min_latency)s + 2 * M * N * (1 + cached) / (%(norm_fraction)s * b);
        out[i] = gemm + prefill + norm;
    }
}
"""
WANTED = """edition 2026
use std.execution: min_memory_bound_latency, norm_efficiency
use vendor.nvidia: H100_SXM_80GB
evaluator constants {
    param x : real = 1
    let gpu = H100_SXM_80GB
%s}
"""
KERNEL_EFFICIENCY = {
    "gemm_efficiency": "1", "memory_efficiency": "1", "min_gemm_latency": "s",
    "tile_prologue_epilogue": "s", "attention_prologue_epilogue": "s",
    "attention_efficiency": "1", "exp_efficiency": "1", "flops_per_exp": "FLOP",
    "min_attention_latency": "s", "llc_bandwidth_ratio": "1",
}  # fmt: skip


def constants(folder):
    """The coefficients of the library that the C needs, so that both sides have the same numbers."""
    lines = [f"    output {n}{'' if u == '1' else f' in {u}'} = x * gpu.kernel_efficiency.{n}\n"
             for n, u in KERNEL_EFFICIENCY.items()]  # fmt: skip
    lines += ["    output units = x * gpu.compute_units\n",
              "    output peak_fp32 in FLOP/s = x * gpu.peak_fp32\n",
              "    output min_latency in s = x * min_memory_bound_latency\n",
              "    output norm_fraction = x * norm_efficiency\n"]  # fmt: skip
    path = folder / "constants.hw"
    path.write_text(WANTED % "".join(lines), "utf-8")
    evaluator = hwdsl.load(path, compiled=False).constants
    result = evaluator()
    return {o.name: float(result[o.name]).hex() for o in evaluator.spec.outputs}


def by_hand(folder):
    """The hand-written C as a shared library."""
    (folder / "hand.c").write_text(HAND % constants(folder), "utf-8")
    subprocess.run([*compiler(), *kernel_flags(compiler()), "-fvisibility=default", "-shared", "-o",
                    str(folder / "hand.so"), str(folder / "hand.c"), "-lm"], check=True)  # fmt: skip
    return ctypes.CDLL(str(folder / "hand.so"))


def drawn(evaluator, count, ranges):
    """Columns of the params in the unit each is given in, all different."""
    draw = np.random.default_rng(1)
    found = {}
    for name, values in ranges.items():
        if isinstance(values, list):
            found[name] = draw.choice(values, count)
        else:
            column = np.exp(draw.uniform(*np.log(values), count))
            param = next(p for p in evaluator.spec.params if p.name == name)
            found[name] = np.round(column) if param.kind == "int" else column
    return found


def runner(kernel, plan):
    """A run of a kernel over the points of a plan, and the first output it fills."""
    outputs = [np.empty(plan.points) for _ in range(kernel.outputs)]
    bits = np.empty((plan.points, kernel.words), np.uint64)
    return lambda: kernel.run(plan.grid.axes, 0, plan.points, outputs, bits), outputs[0]


SHAPES = {
    "m": (1, 20_000), "n": (64, 60_000), "k": (64, 20_000), "rate": (100, 900),
    "bandwidth": (0.5, 3.3), "batch": (1, 64), "length": (64, 30_000), "cache": (5, 200),
    "distance": (5, 2000),
}  # fmt: skip
STEPS = {
    "layers": (8, 128), "hidden_size": (1024, 20_000), "heads": (16, 128), "vocab_size": (3e4, 2e5),
    "seq_length": (512, 8192), "tensor": [1, 2, 4, 8], "pipeline": [1, 2, 4, 8],
    "data": [1, 2, 4, 8], "micro_batch": (1, 8), "global_batch": (64, 4096), "virtual_pipeline": [1, 2, 4],
    "recompute": ["none", "selective", "full"], "sequence_parallel": [True, False],
    "gpus_per_node": [4, 8], "node_network": (50, 800), "memory_bandwidth": (1000, 4000),
    "memory_capacity": (40, 100), "peak_fp16": (100, 1000), "sharding": ["zero_0", "zero_1"],
    "bytes_per_gradient": (2, 4),
}  # fmt: skip


def device(folder, repeat):
    """Of each model: operations, and seconds per point with rules, without rules and in C.

    Points are few enough to stay in the cache, so that the memory is not what is measured.
    """
    count, times_over = 20_000, 20
    path = folder / "device.hw"
    path.write_text(DEVICE, "utf-8")
    module, library, found = hwdsl.load(path), by_hand(folder), {}
    for name in ("lean_device", "full_device"):
        evaluator = getattr(module, name)
        ranges = {p.name: SHAPES[p.name] for p in evaluator.spec.params}
        plan = evaluator.plan(mode="zip", **drawn(evaluator, count, ranges))
        bare = optimise(evolve(evaluator.graph, rules=()))
        run, _ = runner(evaluator.kernel, plan)
        quick, times = runner(build({name: bare}, cache_dir=folder)[name], plan)
        expected = np.empty(count)
        base = [np.ascontiguousarray(axis[0], np.float64) for axis in plan.grid.axes]
        pointers = [c.ctypes.data_as(ctypes.c_void_p) for c in (*base, expected)]
        hand = getattr(library, name)
        actions = (run, quick, lambda: hand(*pointers[:-1], ctypes.c_int64(count), pointers[-1]))  # noqa: B023
        seconds = [
            timed(lambda: [action() for _ in range(times_over)], repeat, process_time)  # noqa: B023
            / (count * times_over)
            for action in actions
        ]
        assert np.allclose(times, expected, rtol=1e-9), name
        found[name] = (len(evaluator.graph.ops), len(bare.ops), *seconds)
    return found


def steps(count, repeat):
    """Of each training step: operations and seconds per point."""
    found = {}
    for name in ("roofline_ablation", "megatron"):
        evaluator = hwdsl.load(STUDIES / f"{name}.hw").gpt_training
        ranges = {p.name: STEPS[p.name] for p in evaluator.spec.params}
        plan = evaluator.plan(mode="zip", **drawn(evaluator, count, ranges))
        run, _ = runner(evaluator.kernel, plan)
        found[name] = (len(evaluator.graph.ops), timed(run, repeat, process_time) / count)
    return found


def gemm_errors(file, folder, scratch):
    """Median and 90th percentile of the error on GEMMs, of the study's sample or of all aic_gemm."""
    module = hwdsl.load(STUDIES / f"{file}.hw")
    if folder is None:
        (asked,) = [r for r in validation_requests(module) if r.title == "gemm_table"]
    else:
        sys.path.append(str(ROOT / "benchmarks" / "adapters"))
        import measured

        os.environ["HWDSL_REFERENCE_DATA"] = folder
        path = scratch / "gemm.csv"
        measured.write(path, measured.gemms("bfloat16"))
        asked = Request("gemm_table", "gemm", path, "measured", "time")
    return errors(validate(module, asked))


def errors(found):
    """Median and 90th percentile of the error, as text."""
    return f"{100 * found.errors.median:.1f} / {100 * found.errors.p90:.1f} %"


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="published tables")
    options = parser.parse_args()
    count, repeat = (50_000, 3) if options.quick else (400_000, 9)
    with tempfile.TemporaryDirectory() as text:
        scratch = Path(text)
        rows = []
        for (name, (ops, bare, whole, quick, slow)), study in zip(
            device(scratch, 3 * repeat).items(), ("roofline_ablation", "kernels"), strict=True
        ):
            rows.append([name, ops, f"{1e-6 / whole:.1f}", f"{ops * 1e-9 / whole:.1f}", bare,
                         f"{1e-6 / quick:.1f}", f"{bare * 1e-9 / quick:.1f}", f"{1e-6 / slow:.1f}",
                         f"{slow / quick:.2f}", gemm_errors(study, options.folder, scratch)])  # fmt: skip
        head = ["device, one core", "operations", "M points/s", "G operations/s", "without rules",
                "M points/s", "G operations/s", "C by hand", "ratio", "error on GEMMs"]  # fmt: skip
        table("Models of a device beside C written by hand", head, rows)
        rows = []
        for name, (ops, quick) in steps(count, repeat).items():
            module = hwdsl.load(STUDIES / f"{name}.hw")
            found = {r.title: errors(validate(module, r)) for r in validation_requests(module)}
            rows.append([name, ops, f"{1e-6 / quick:.1f}", f"{ops * 1e-9 / quick:.1f}",
                         found["megatron"], found["vtrain"]])  # fmt: skip
        head = ["training step, one core", "operations", "M points/s", "G operations/s", "on megatron",
                "on vtrain"]  # fmt: skip
        table("Training steps of a GPT, all params differing from point to point", head, rows)


if __name__ == "__main__":
    main()
