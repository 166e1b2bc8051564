"""What is left of a kernel's rate when a sweep is reduced, and when its rows are kept.

    python benchmarks/sweep_rates.py [--quick] [--threads]

Three evaluators on grids: a lean one of about twenty operations, the training step of
`studies/megatron.hw`, a server of the library from the wafer to the cost of a token
(`server_cost.py`). Raw is the kernel alone, which writes all outputs and rule words into buffers in
the cache that are used again. Rates are points per second of processor time, since others may load
the machine, and shares of the raw rate measured in turn with it. `--threads` prints how much faster
two threads are than one, by the clock, which says something on a quiet machine only, and how much
more processor time they take. Kept rows need fresh memory, which the system clears: how long that
takes by itself stands beside them.
"""

import argparse
import os
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from common import ROOT, table, timed
from server_cost import HEAD, OUTPUTS

import hwdsl
from hwdsl import Best, Counts, Histogram, Pareto, Quantiles, Top
from hwdsl.codegen.runtime.conditions import conditions
from hwdsl.codegen.runtime.execution_plan import CHUNK, ROOM
from hwdsl.codegen.runtime.reducing import reduce_grid

LEAN = """edition 2026

evaluator lean {
    param bandwidth : bandwidth = 3 TB/s     in 0.5 TB/s .. 10 TB/s
    param peak      : flop_rate = 900 TFLOP/s in 10 TFLOP/s .. 5000 TFLOP/s
    param batch     : int       = 16         in 1 .. 512
    param capacity  : data      = 80 GB      in 10 GB .. 300 GB

    let weights = 35 GB
    let cache   = batch * 400 MB
    let step    = max((weights + cache) / bandwidth, batch * 70 GFLOP / peak) + 5 us
    output latency    in ms   = step
    output throughput in 1/s  = batch / step
    output used       in %    = (weights + cache) / capacity

    require fits: weights + cache <= capacity
        else "{weights + cache in GB} do not fit"
}
"""
LEAN_AXES = {
    "capacity": "20..200 GB:8", "batch": "1..256", "peak": "100..2000 TFLOP/s:32",
    "bandwidth": "1..8 TB/s:512",
}  # fmt: skip
STEP_AXES = {
    "recompute": "all", "sharding": "all", "sequence_parallel": [True, False],
    "tensor": [1, 2, 4, 8], "pipeline": [1, 2, 4, 8], "data": [1, 2, 4, 8],
    "micro_batch": [1, 2, 4, 8], "node_network": "50..800 GB/s:256",
}  # fmt: skip
SERVER_AXES = {
    "batch_size": [1, 4, 16, 64], "spare": [0, 4, 8, 12], "units": "96..144 step 4",
    "pin_rate": "4..10 Gb/s:16", "stack_price": "100..600 USD/unit:16", "clock": "1..2 GHz:256",
}  # fmt: skip


KEPT = 1 << 22
"""Points of which the rows are kept, at most: 40 to 80 bytes each."""


def evaluators(folder):
    """Of each case: the evaluator, its axes, two aims (least, most) and a param to group by."""
    (folder / "lean.hw").write_text(LEAN, "utf-8")
    text = HEAD + "".join(line for _, line in OUTPUTS) + "}\n"
    (folder / "server.hw").write_text(text, "utf-8")
    step = hwdsl.load(ROOT / "library" / "studies" / "megatron.hw").gpt_training
    return {
        "lean": (hwdsl.load(folder / "lean.hw").lean, LEAN_AXES, "latency", "throughput", "batch"),
        "training step": (step, STEP_AXES, "step_time", "peak_memory", "tensor"),
        "server": (hwdsl.load(folder / "server.hw").own, SERVER_AXES, "cost_per_token", "step_time",
                   "units"),
    }  # fmt: skip


def raw(plan):
    """The kernel alone over all points, and nothing done with what it writes."""
    outputs = [np.empty(ROOM) for _ in plan.spec.outputs]
    words = np.empty((ROOM, plan.kernel.words), np.uint64)
    calls = []
    for part in plan.stretches(CHUNK):
        for start in range(part.start, part.stop, ROOM):
            stop = min(start + ROOM, part.stop)
            calls.append((part.axes, start, stop, [o[: stop - start] for o in outputs],
                          words[: stop - start]))  # fmt: skip

    def run():
        for call in calls:  # without the threads that a long call on the main thread starts
            plan.kernel.module.run(plan.kernel.index, *call)

    return run


def reductions(evaluator, least, most, by):
    """What is asked of a sweep, by name."""
    up = evaluator.name == "lean"  # its second aim is to be large
    aims = {"minimize": [least], "maximize": [most]} if up else {"minimize": [least, most]}
    found = {
        "best": Best(minimize=least),
        "top 100": Top(100, minimize=least),
        "best by group": Top(1, minimize=least, by=by),
        "front of two": Pareto(**aims),
        "quantiles": Quantiles(least),
        "counts by rule": Counts(),
    }
    ends = evaluator.reduce(Quantiles(least, [0, 1]), evaluator.axes)
    found["histogram of 20"] = Histogram(least, np.linspace(*ends, 21))
    return found


def measured(name, case, repeat, threads):
    """Print the table of one evaluator."""
    evaluator, axes, least, most, by = case
    plan = evaluator.plan(axes)
    evaluator.axes = axes
    actions = {"raw kernel": raw(plan)}
    for label, each in reductions(evaluator, least, most, by).items():
        actions[label] = lambda n=1, each=each: reduce_grid(plan, [each], threads=n)
    limit = conditions(evaluator, [f"{least} > 0"])
    actions["best where"] = lambda n=1: reduce_grid(
        plan, [Best(minimize=least)], where=limit, reads=[least], threads=n
    )
    some = plan.at(plan.grid.stretch(0, min(KEPT, plan.points)))
    actions["rows kept"] = lambda n=1: some.run(threads=n)
    fresh = [some.points, len(plan.spec.outputs) + plan.kernel.words]
    actions["fresh memory filled"] = lambda n=1: [
        np.empty(fresh[0]).fill(0.0) for _ in range(fresh[1])
    ]
    points = {"rows kept": some.points, "fresh memory filled": some.points}
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(repeat):  # in turn, so that all meet the same load
        for label, action in actions.items():
            # Memory that was long unused is slow once more: the host has taken it back.
            times = 3 if label in points else 1
            best[label] = min(best[label], timed(action, times, process_time))
    rows = []
    for label, action in actions.items():
        count = points.get(label, plan.points)
        share = best["raw kernel"] / plan.points * count / best[label]
        row = [label, f"{count / best[label] / 1e6:.1f}", f"{share:.2f}"]
        if threads and label not in ("raw kernel", "fresh memory filled"):
            row += faster(action, repeat)
        rows.append(row + [""] * (5 - len(row) if threads else 0))
    head = [f"{name}, {plan.points:,} points", "M points/s", "of raw"]
    head += ["2 threads, clock", "processor"] if threads else []
    words = f"{len(evaluator.graph.ops)} operations, {len(evaluator.spec.outputs)} outputs"
    share = evaluator.reduce(Counts(), axes).feasible / plan.points
    table(f"{words}, {100 * share:.0f} % feasible", head, rows)


def faster(action, repeat):
    """How many times as fast two threads are, and their processor time as a share of one's."""
    wall, used = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(repeat):
        for k in (0, 1):
            start, before = perf_counter(), process_time()
            action(k + 1)
            wall[k] = min(wall[k], perf_counter() - start)
            used[k] = min(used[k], process_time() - before)
    return [f"{wall[0] / wall[1]:.2f}", f"{used[1] / used[0]:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", action="store_true")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as text:
        for name, case in evaluators(Path(text)).items():
            measured(name, case, 3 if options.quick else 9, options.threads)


if __name__ == "__main__":
    main()
