"""What the benchmarks share: timing, fresh processes, tables, the description that uses all of std."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"


def timed(action, repeat, clock=time.perf_counter):
    """The best of some runs, in seconds; by `time.process_time` where others load the machine."""
    best = float("inf")
    for _ in range(repeat):
        start = clock()
        action()
        best = min(best, clock() - start)
    return best


def process(arguments, repeat=1, **environment):
    """Run Python in fresh processes: the best wall and processor times, the last one's output.

    Where others load the machine only the processor time says much.
    """
    command = [sys.executable, *arguments]
    best, least = float("inf"), float("inf")
    for _ in range(repeat):
        before, start = children(), time.perf_counter()
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                              text=True)  # fmt: skip
        best = min(best, time.perf_counter() - start)
        least = min(least, children() - before)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return best, least, done.stdout


def children():
    """Processor seconds of the processes waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(title, head, rows):
    """Print rows under a head, columns as wide as they need."""
    rows = [[str(c) for c in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    print(f"\n{title}")
    for row in [head, *rows]:
        print("  " + "  ".join(f"{c:<{w}}" if k == 0 else f"{c:>{w}}"
                               for k, (c, w) in enumerate(zip(row, wide, strict=True))))  # fmt: skip
    sys.stdout.flush()


def whole_std(folder):
    """Write a description of about 300 lines that uses the whole library: examples put together."""
    uses, body = {}, []
    for name in ("gpt3", "silicon", "copa", "split", "fixpoint", "schedule"):
        for line in (EXAMPLES / f"{name}.hw").read_text("utf-8").splitlines():
            if line.startswith("use "):
                module, names = line.removeprefix("use ").split(":")
                uses.setdefault(module, {}).update(
                    dict.fromkeys(n.strip() for n in names.split(","))
                )
            elif not line.startswith(("edition", "#!")):
                body.append(line)
    head = ["edition 2026", *(f"use {m}: {', '.join(names)}" for m, names in uses.items())]
    path = Path(folder) / "whole_std.hw"
    path.write_text("\n".join([*head, *body]) + "\n", "utf-8")
    return path
