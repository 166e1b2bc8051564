"""`hwdsl sweep FILE:EVALUATOR name=lo..hi:n … -o out.csv`: a grid of design points as a table."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hwdsl.cli.base import (
    FINE,
    INTERRUPTED,
    assignments,
    load_evaluator,
    number,
    table,
    target_argument,
    told,
)
from hwdsl.cli.files import replacing
from hwdsl.cli.signals import POLITE, caught
from hwdsl.cli.tables import FEASIBLE, VIOLATIONS, TableWriter, check_table, title, writer_for

if TYPE_CHECKING:
    from hwdsl.cli.tables import Column
    from hwdsl.codegen.runtime import Plan, Sweep

CHUNK = 1 << 16
FIRST = 20
"""Rows printed where no file is named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values",
        nargs="*",
        default=[],
        metavar="NAME=AXIS",
        help="lo..hi:n, lo..hi step s, values with commas between them, or `all` of a choice",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.csv|OUT.parquet", help="without it, the first rows"
    )


def run(options: argparse.Namespace) -> int:
    """Evaluate the grid chunk by chunk; an interrupted table holds the rows that were done."""
    target = None if options.output is None else Path(options.output)
    if target is not None:
        check_table(target)
    evaluator = load_evaluator(options.target)
    axes: dict[str, Any] = dict(assignments(options.values))
    with told():
        plan = evaluator.plan(axes)
    spec = evaluator.spec
    header = [title(p.name, p.scale.unit) for p in spec.params]
    header += [title(o.name, o.scale.unit) for o in spec.outputs]
    if target is None:
        _show(plan, [*header, FEASIBLE, VIOLATIONS])
        return FINE
    with replacing(target) as temporary:
        writer = writer_for(target, temporary, [*header, FEASIBLE, VIOLATIONS])
        done, spent = _write(plan, writer)
        writer.close()
    # Of few points the time is that of the first call.
    rate = f"; computed {done / spent:,.0f} points/s" if done >= CHUNK else ""
    print(f"wrote {done} of {plan.points} rows to {target}{rate}", file=sys.stderr)
    return FINE if done == plan.points else INTERRUPTED


def _show(plan: Plan, header: list[str]) -> None:
    """Print the first rows."""
    columns = _columns(next(iter(plan.iter_chunks(FIRST))))
    lists = [c if isinstance(c, Sequence) else c.tolist() for c in columns]
    cells = [[number(c) if isinstance(c, float) else str(c) for c in column] for column in lists]
    rows = [list(row) for row in zip(*cells, strict=True)]
    print(table([header, *rows], right=range(len(header) - 2)))
    if plan.points > FIRST:
        print(f"… {plan.points - FIRST:,} more rows: write them with -o OUT.csv")


def _write(plan: Plan, writer: TableWriter) -> tuple[int, float]:
    """Write all rows, or those up to an interrupt; return how many, and seconds of computing."""
    done, spent = 0, 0.0
    with _interrupts() as interrupted:
        parts = plan.iter_chunks(CHUNK)
        start = perf_counter()
        for part in parts:
            spent += perf_counter() - start
            writer.write(_columns(part))
            done += len(part)
            if sys.stderr.isatty():
                print(f"\r{done} of {plan.points}", end="", file=sys.stderr, flush=True)
            if interrupted:
                break
            start = perf_counter()
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return done, spent


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect the first interrupt instead of being torn out of a chunk; the second one does."""
    seen: list[int] = []

    def note(number: int, frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    with caught((signal.SIGINT, *POLITE), note):
        yield seen


def _columns(part: Sweep) -> list[Column]:
    names = [*(p.name for p in part.spec.params), *(o.name for o in part.spec.outputs)]
    columns: list[Column] = [part.column(name) for name in names]
    broken = {rule: part.broken(rule).ravel().tolist() for rule in part.violations}
    texts = [" ".join(rule for rule, bits in broken.items() if bits[i]) for i in range(len(part))]
    return [*columns, part.feasible.ravel(), texts]
