"""`hwdsl sweep FILE:EVALUATOR name=lo..hi:n … -o out.csv`: a grid of design points as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    FINE,
    INTERRUPTED,
    Failure,
    assignments,
    load_evaluator,
    target_argument,
)
from hwdsl.cli.files import replacing
from hwdsl.cli.tables import Column, TableWriter, writer_for

if TYPE_CHECKING:
    from hwdsl.evaluator import Evaluator, Grid

CHUNK = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "axes",
        nargs="*",
        metavar="NAME=AXIS",
        help="lo..hi:n, or values with commas between them, or `all` for a choice",
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT.csv|OUT.parquet")


def run(options: argparse.Namespace) -> int:
    """Evaluate the grid chunk by chunk; an interrupted table holds the rows that were done."""
    evaluator = load_evaluator(options.target)
    try:
        grid = evaluator.grid({n: evaluator.axis(n, t) for n, t in assignments(options.axes).items()})
    except ValueError as error:
        raise Failure(str(error)) from None
    target = Path(options.output)
    header = [*map(_title, evaluator.params), *map(_title, evaluator.outputs)]
    header += ["feasible", "violations"]
    with replacing(target) as temporary:
        writer = writer_for(target, temporary, header)
        done = _write(grid, evaluator, writer)
        writer.close()
    print(f"wrote {done} of {grid.points} rows to {target}", file=sys.stderr)
    return FINE if done == grid.points else INTERRUPTED


def _write(grid: Grid, evaluator: Evaluator, writer: TableWriter) -> int:
    """Write all rows, or those up to an interrupt; return how many."""
    done = 0
    try:
        while done < grid.points:
            stop = min(done + CHUNK, grid.points)
            writer.write(_columns(grid, evaluator, done, stop))
            done = stop
            if sys.stderr.isatty():
                print(f"\r{done} of {grid.points}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return done


def _columns(grid: Grid, evaluator: Evaluator, start: int, stop: int) -> list[Column]:
    params: list[Column] = [grid.shown(p.name, start, stop) for p in evaluator.params]
    outputs, broken = grid.run(start, stop)
    columns: list[Column] = [*params, *outputs]
    columns.append(~broken.any(axis=1) if broken.shape[1] else broken.all(axis=1))
    names = [*(r.name for r in evaluator.rules), "undefined"]
    texts = {row: " ".join(n for n, bit in zip(names, row, strict=True) if bit)
             for row in set(map(tuple, broken.tolist()))}  # fmt: skip
    columns.append([texts[tuple(row)] for row in broken.tolist()])
    return columns


def _title(item: object) -> str:
    name, unit = getattr(item, "name", ""), getattr(item, "unit", None)
    unit_name = getattr(unit, "name", "1")
    return name if unit_name in ("", "1") else f"{name} [{unit_name}]"
