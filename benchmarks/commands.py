"""What a user waits for: commands in fresh processes, loading, and sweeps written to a file."""

from common import EXAMPLES, process, table, whole_std

LOAD = """
import sys, time
import hwdsl, hwdsl.api.evaluator, hwdsl.elaborate, hwdsl.semantics, hwdsl.codegen.passes
import hwdsl.codegen.build.toolchain
start, used = time.perf_counter(), time.process_time()
module = hwdsl.load(sys.argv[1])
print((time.perf_counter() - start) * 1e3, (time.process_time() - used) * 1e3)
"""

PACKAGE = """
import sys, time
import numpy
sys.path.insert(0, sys.argv[1])
start, used = time.perf_counter(), time.process_time()
import gpt3
print((time.perf_counter() - start) * 1e3, (time.process_time() - used) * 1e3)
"""

KERNEL = """
import sys, time
import hwdsl.codegen.build.toolchain as build
from hwdsl.codegen.ir.serialization import decode
graph = decode(open(sys.argv[1], "rb").read())
start, used = time.perf_counter(), time.process_time()
build.build({"g": graph}, cache_dir=sys.argv[2])
print((time.perf_counter() - start) * 1e3, (time.process_time() - used) * 1e3)
"""

SWEEP = """
import resource, sys
from hwdsl.cli.main import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
sys.exit(code)
"""


def commands(folder, repeat):
    """Wall time of commands, interpreter start included."""
    path, cache = whole_std(folder), {"HWDSL_CACHE_DIR": str(folder / "cache")}
    lines = len(path.read_text("utf-8").splitlines())
    rows = []
    for shown, budget, words in (
        ("python -c pass", "", ["-c", "pass"]),
        ("hwdsl --version", "0.10", ["-m", "hwdsl", "--version"]),
        (f"hwdsl check, {lines} lines, all of std", "0.30", ["-m", "hwdsl", "check", str(path)]),
    ):
        process(words, 1, **cache)
        wall, used, _ = process(words, repeat, **cache)
        rows.append([shown, f"{wall:.3f}", f"{used:.3f}", budget])
    table("Commands", ["", "s", "processor s", "budget"], rows)


def loading(folder, repeat):
    """Milliseconds from asking to holding, after the imports, in fresh processes.

    Bytecode is kept, as it is unless PYTHONDONTWRITEBYTECODE forbids it.
    """
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.codegen.ir.serialization import encode

    cache = {"HWDSL_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    path = EXAMPLES / "gpt3.hw"
    process(["-m", "hwdsl", "compile", str(path)], **cache)
    process(["-m", "hwdsl", "compile", str(path), "-o", str(folder / "made")], **cache)
    graph = driver.program(path, Diagnostics()).graphs["gpt3"]
    (folder / "gpt3.graph").write_bytes(encode(graph))
    kernel = ["-c", KERNEL, str(folder / "gpt3.graph"), str(folder / "cache")]
    process(kernel)
    process(["-c", LOAD, str(path)], **cache)
    rows = []
    for shown, words in (
        ("kernel of a graph, from the cache", kernel),
        ("module of `hwdsl compile -o`, NumPy imported", ["-c", PACKAGE, str(folder / "made")]),
        ("`hwdsl.load`, nothing changed", ["-c", LOAD, str(path)]),
    ):
        runs = [process(words, **cache)[2].split() for _ in range(repeat + 1)]
        rows.append(
            [shown, *(f"{min(map(float, column)):.1f}" for column in zip(*runs, strict=True))]
        )
    table("Warm loads of the GPT-3 example (budget 20 ms)", ["", "ms", "processor ms"], rows)


def streaming(folder, sizes):
    """Peak memory of sweeps written to files; one choice is uniform per kernel call."""
    rows = []
    for ending in ("csv", "parquet"):
        for size in sizes:
            words = ["-c", SWEEP, "sweep", f"{EXAMPLES / 'gpt3.hw'}:gpt3", "tensor=all",
                     f"hbm_bandwidth=1..10 TB/s:{size}", "nvlink=50..2000 GB/s:100",
                     "recompute=all", "-o", str(folder / f"out.{ending}")]  # fmt: skip
            seconds, _, text = process(words, HWDSL_CACHE_DIR=str(folder / "cache"))
            points = size * 100 * 4 * 3
            rows.append([ending, points, f"{float(text.split()[-1]):.0f}",
                         f"{points / seconds / 1e3:.0f}"])  # fmt: skip
    table("`hwdsl sweep` to a file", ["", "rows", "peak MB", "thousand rows/s"], rows)


def main(folder, quick):
    """Print the tables."""
    commands(folder, 5 if quick else 20)
    loading(folder, 3 if quick else 9)
    streaming(folder, (20, 200) if quick else (100, 1000))
