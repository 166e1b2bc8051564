"""How fast the best execution of GPT-3 is found: the kernel beside Calculon, in one run.

    python benchmarks/calculon_search.py FOLDER [--quick]

FOLDER is a checkout of calculon-ai/calculon, which needs psutil and pandas. It evaluates executions drawn at random from those that its
search visits on 64 devices, those that do not fit included: as its search does, with a log that drops
debug messages, and from a copy without the calls of its log, its fastest form. Between these the kernel
searches all of them, on one thread. Every rate that Calculon finds is compared with ours, and so are
its own complete search of Turing-NLG 530B on 5,128 devices and its rate of our best executions.
"""

import argparse
import ast
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hwdsl

LIBRARY = Path(__file__).parents[1] / "library" / "peers"
SPACES = {"gpt3_on_64": (64, 3_232_128), "gpt3_on_4096": (4096, 7_126_368)}
"""Evaluators, their devices, and how many executions Calculon counts there."""
TURING = (5128, 2520)
FORMS = {
    "sub": ("Calculon as its search runs it", 20),
    "info": ("Calculon, debug messages dropped", 4),
    "silent": ("Calculon, calls of the log removed", 1),
}
"""Calculon's forms, and by what the executions are divided that it gets."""
TEXT = """edition 2026
use peers.calculon_layers
use peers.calculon
use peers.calculon_search
language_model turing {
    hidden = 20480
    feedforward = 81920
    sequence = 2048
    heads = 128
    head_size = 160
    blocks = 105
}
let all = search(machine = A100, format = A100_float16, model = turing, devices = 5128, batch = 2520)
evaluator turing_on_5128 {
    param plan : int = 0 in 0 .. len(all.plans) - 1
    param regime : int = 0 in 0 .. len(all.regimes) - 1
    let best = best_execution(
        search = all,
        plan = all.plans[plan],
        regime = all.regimes[regime],
        as_published = true,
    )
    output sample_rate in sample/s = best.rate
    output visited = best.visited
    output fitting = best.fitting
}
evaluator one {
    param plan : int = 0 in 0 .. len(on_64.plans) - 1
    param regime : int = 0 in 0 .. len(on_64.regimes) - 1
    param shared : int = 0 in 0 .. 1
    param placing : int = 0 in 0 .. len(on_64.placings) - 1
    param hidden : int = 0 in 0 .. 1
    let run = on_64.visit(
        on_64.plans[plan],
        on_64.regimes[regime],
        shared == 1,
        on_64.placings[placing],
        hidden == 1,
        true,
    )
    output sample_rate in sample/s = run.sample_rate
    output tensor_par = run.tensor
    output tensor_par_net = run.tensor_net
    output tensor_par_overlap = run.tensor_par_overlap
    output tensor_par_comm_type = run.tensor_par_comm_type
    output activation_recompute = run.recompute
    output seq_par_ag_redo = if run.seq_par_ag_redo then 1 else 0
    output batch_size = run.batch
    output microbatch_size = run.micro_batch
    output pipeline_par = run.pipeline
    output pipeline_par_net = run.pipeline_net
    output pipeline_interleaving = run.pipeline_interleaving
    output data_par = run.data_par
    output data_par_net = run.data_par_net
    output optimizer_sharding = if run.optimizer_sharded then 1 else 0
    output data_par_overlap = if run.data_par_overlap then 1 else 0
    output weight_offload = if run.weights_offload then 1 else 0
    output activations_offload = if run.activations_offload then 1 else 0
    output optimizer_offload = if run.optimizer_offload then 1 else 0
    require visits: on_64.visits(run)
}
"""
NAMES = {
    "tensor_par": "tensor", "tensor_par_net": "tensor_net", "tensor_par_overlap": "overlap",
    "tensor_par_comm_type": "tensor_par_comm_type", "activation_recompute": "recompute",
    "seq_par_ag_redo": "seq_par_ag_redo", "microbatch_size": "micro_batch", "pipeline_par": "pipeline",
    "pipeline_par_net": "pipeline_net", "pipeline_interleaving": "pipeline_interleaving",
    "data_par": "data_par", "data_par_net": "data_par_net", "optimizer_sharding": "shared",
    "data_par_overlap": "hidden", "weight_offload": "weights",
    "activations_offload": "activations", "optimizer_offload": "optimizer",
}  # fmt: skip
"""Calculon's fields and the outputs of `gpt3_on_…`."""
BOOLS = ("seq_par_ag_redo", "optimizer_sharding", "data_par_overlap", "weight_offload",
         "activations_offload", "optimizer_offload")  # fmt: skip


# --- Calculon ----------------------------------------------------------------------------------


def called(command, **options):
    """What a process prints; what went wrong, if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Silent(ast.NodeTransformer):
    """Takes out statements that only call `self.log.debug`."""

    def visit_Expr(self, node):
        """Nothing, where there is only a debug message."""
        return None if ast.unparse(node).startswith("self.log.debug(") else node


def silent_copy(checkout, target):
    """A copy of a checkout that logs nothing."""
    shutil.copytree(checkout, target, ignore=shutil.ignore_patterns(".git"))
    path = target / "calculon" / "llm" / "llm.py"
    tree = Silent().visit(ast.parse(path.read_text("utf-8")))
    path.write_text(ast.unparse(tree), "utf-8")
    return target


def work(checkout, form, job):
    """In a process of its own: evaluate a file of executions, print rates and processor seconds."""
    sys.path.insert(0, str(checkout))
    import calculon
    from calculon.llm import Llm

    def document(name):
        return json.loads((checkout / name).read_text("utf-8"))

    logging.getLogger().setLevel(logging.INFO)
    app = Llm.Application(document("models/gpt3-175B.json"))
    system = calculon.System(document("systems/a100_80g.json"))
    rates = []
    start = time.process_time()
    for given in json.loads(job.read_text("utf-8")):
        run = Llm(app, logging.getLogger() if form == "info" else logging.Logger("sub"))
        try:
            run.compile(system, Llm.Execution.from_json(given))
            run.run(system)
            rates.append(run.get_stats_json(False)["sample_rate"])
        except Llm.Error:
            rates.append(0.0)
    print(json.dumps([time.process_time() - start, rates]))


def evaluated(checkout, form, executions, folder):
    """Calculon's rates of executions, 0 for what does not fit, and its processor seconds."""
    job = folder / "job.json"
    job.write_text(json.dumps(executions), "utf-8")
    command = [sys.executable, __file__, str(checkout), "--form", form, "--job", str(job)]
    seconds, rates = json.loads(called(command))
    return rates, seconds


def searched(checkout, folder):
    """Calculon's complete search of Turing-NLG: its best, executions and good ones, seconds."""
    devices, batch = TURING
    out = folder / "best.json"
    command = [
        sys.executable, "bin/calculon", "llm-optimal-execution", "-c", "1",
        "models/turing-530B.json", str(devices), str(batch), "float16",
        "systems/a100_80g.json", str(out),
    ]  # fmt: skip
    paths = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
    start = time.perf_counter()
    text = called(command, cwd=checkout,
                  env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})  # fmt: skip
    seconds = time.perf_counter() - start
    counts = [int(line.rpartition(" ")[2]) for line in text.splitlines()
              if "executions: " in line]  # fmt: skip
    return json.loads(out.read_text("utf-8"))["0"]["stats"]["sample_rate"], counts[:2], seconds


# --- ours --------------------------------------------------------------------------------------


def execution(found, names, devices, batch):
    """An execution as Calculon reads it, from outputs of ours."""
    given = {theirs: found[ours] for theirs, ours in names.items()}
    given = {k: v if isinstance(v, str) else int(v) for k, v in given.items()}
    given |= {name: bool(given[name]) for name in BOOLS}
    return given | {
        "num_procs": devices, "batch_size": batch // given["data_par"] * given["data_par"],
        "datatype": "float16", "fused_activation": True, "attention_type": "multihead",
        "training": True,
    }  # fmt: skip


def drawn(one, count):
    """Executions drawn at random from those visited, and our rates of them, 0 for what does not fit."""
    draw = random.Random(1)
    tries = 12 * count
    columns = {
        p.name: [draw.randint(0, int(p.high)) for _ in range(tries)] for p in one.spec.params
    }
    sweep = one.sweep(mode="zip", **columns).raw
    visited = [int(i) for i in (~sweep.broken("visits")).nonzero()[0][:count]]
    assert len(visited) == count
    rates = [sweep[i].sample_rate if sweep[i].feasible else 0.0 for i in visited]
    same = {name: name for name in NAMES}
    return [execution(sweep[i], same, 64, 64) for i in visited], rates


def best_of(evaluator, **given):
    """A whole search on one thread: the best, executions, those that fit, processor seconds."""
    axes = {n: range(int(evaluator.param(n).high) + 1) for n in ("plan", "regime")}
    start = time.process_time()
    sweep = evaluator.sweep(threads=1, **axes, **given).raw
    best = sweep.best("sample_rate")
    seconds = time.process_time() - start
    return best, int(sweep.visited.sum()), int(sweep.fitting.sum()), seconds


def agree(ours, theirs):
    """All rates within 1e-9 of each other."""
    wrong = [(a, b) for a, b in zip(ours, theirs, strict=True) if abs(a - b) > 1e-9 * b]
    assert not wrong, wrong[:5]


def main():
    """Compare, then time, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="fewer executions")
    parser.add_argument("--form", help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        work(options.checkout, options.form, options.job)
        return
    checkout = options.checkout.resolve()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        silent = silent_copy(checkout, folder / "silent")
        (folder / "more.hw").write_text(TEXT, "utf-8")
        more = hwdsl.load(folder / "more.hw", compiled=False)
        search = hwdsl.load(LIBRARY / "calculon_search.hw")

        turing, visited, fitting, _ = best_of(more.turing_on_5128)
        rate, counts, seconds = searched(silent, folder)
        assert counts == [visited, fitting], (counts, visited, fitting)
        agree([turing.sample_rate], [rate])
        print(f"Turing-NLG on 5128: best {rate:.6f} samples/s, {visited} executions, {fitting} fit, "
              f"both; Calculon, log removed, {seconds:.1f} s with its start")  # fmt: skip

        ours = {}
        rates = dict.fromkeys(FORMS, 0.0)
        executions, expected = drawn(more.one, 1000 if options.quick else 6000)
        for _ in range(1 if options.quick else 3):  # by turns, so that load hits all alike
            for form, (_, part) in FORMS.items():
                some = executions[: len(executions) // part]
                where = silent if form == "silent" else checkout
                found, seconds = evaluated(where, form, some, folder)
                agree(expected[: len(some)], found)
                rates[form] = max(rates[form], len(some) / seconds)
            for name, (_, count) in SPACES.items():
                result = best_of(getattr(search, name), as_published=True)
                assert result[1] == count, result
                ours[name] = min(ours.get(name, result), result, key=lambda r: r[3])
        fit = sum(r > 0 for r in expected)
        print(f"{len(executions)} executions drawn, {fit} fit: every rate agrees within 1e-9")
        for name, (devices, _) in SPACES.items():
            best = ours[name][0]
            (theirs,), _ = evaluated(silent, "silent", [execution(best, NAMES, devices, devices)],
                                     folder)  # fmt: skip
            agree([best.sample_rate], [theirs])
            print(f"{name}: best {theirs:.6f} samples/s by both: "
                  f"{ {k: v for k, v in execution(best, NAMES, devices, devices).items() if k in NAMES} }")  # fmt: skip

    print("\nexecutions a second of one core, processor time, best of the turns")
    for form, (name, _) in FORMS.items():
        print(f"  {name:42} {rates[form]:14,.0f}")
    for name, (_, visited, fitting, seconds) in ours.items():
        speed = visited / seconds
        print(f"  {name:12} {visited:9,} in {seconds:6.3f} s, {fitting:9,} fit {speed:14,.0f}"
              f"   {speed / rates['silent']:8,.0f} x the fastest form")  # fmt: skip


if __name__ == "__main__":
    main()
