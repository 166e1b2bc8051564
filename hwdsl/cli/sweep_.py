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

from attrs import define

from hwdsl.cli.base import (
    assignments,
    load_evaluator,
    named,
    reduction_arguments,
    target_argument,
    where_argument,
)
from hwdsl.cli.errors import FINE, CommandError, told
from hwdsl.cli.files import replacing
from hwdsl.cli.rows import FIRST, column_names, columns, header, show_rows
from hwdsl.cli.signals import POLITE, caught, ending
from hwdsl.cli.tables import check_table, writer_for

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.cli.picking import Look
    from hwdsl.cli.resuming import ResumePoint
    from hwdsl.codegen.runtime import ExecutionPlan, Sweep

CHUNK = 1 << 16
MOST_TOLD = 5
"""Rules whose messages are printed below the rows."""
MANY = 1_000_000
"""Rows from which on it is said that Parquet is written faster."""


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
    parser.add_argument(
        "--zip", metavar="NAME,NAME|all",
        help="axes of one length that go together, a point each, instead of all combinations",
    )  # fmt: skip
    parser.add_argument(
        "--rows", metavar="IN.parquet", help="a point for each row, whose columns are params"
    )
    where_argument(parser)
    reduction_arguments(parser)
    parser.add_argument(
        "--show", metavar="NAME,NAME", help="print these columns alone; not with -o, whose are all"
    )
    parser.add_argument(
        "--raw", action="store_true",
        help="outputs as the formulas give them, at infeasible points too, where they are NaN",
    )  # fmt: skip
    parser.add_argument(
        "--threads", type=int, metavar="N", help="so many instead of one for each core"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on where an interrupted sweep to OUT stopped"
    )


def run(options: argparse.Namespace) -> int:
    """Evaluate the grid chunk by chunk; an interrupted table holds the rows that were done."""
    from hwdsl.cli import picking, reduced, resuming
    from hwdsl.codegen.runtime import Bar
    from hwdsl.codegen.runtime.workers import workers

    target = None if options.output is None else Path(options.output)
    _check_options(options, target)
    evaluator = load_evaluator(options.target)
    given = assignments(options.values)
    wanted = reduced.asked(evaluator, options)
    axes, how = _points(given, options.zip, options.rows)
    with told():
        conditions = [picking.condition(evaluator, text) for text in options.where]
        threads = workers(options.threads)
    shown = _shown(evaluator, options.show)
    if wanted:
        bar = Bar(sys.stderr) if sys.stderr.isatty() else None
        how.update(where=options.where, threads=threads, progress=bar)
        with told():
            found = reduced.answers(
                evaluator.spec, wanted, lambda asked: evaluator.reduce(asked, axes, **how)
            )
        return reduced.show(evaluator.spec, found, target, shown)
    with told():
        plan = evaluator.plan(axes, **how)
    look = picking.Look(tuple(conditions), raw=options.raw)
    if target is None:
        _show_first(evaluator, plan, look, shown, threads)
        return FINE
    sweep = resuming.identity(evaluator, plan, [*options.where, *(["--raw"] * options.raw)])
    before = resuming.found(target, sweep) if options.resume else None
    written = _to_table(plan, target, before, look, threads)
    _tell(written, plan, target)
    if written.points == plan.points:
        resuming.remove(target)
        return FINE
    size = target.stat().st_size
    resuming.leave(target, resuming.ResumePoint(sweep, written.points, written.rows, size))
    print("hwdsl: the same call with --resume goes on from there", file=sys.stderr)
    return 128 + written.ended


def _check_options(options: argparse.Namespace, target: Path | None) -> None:
    """End the command at options that do not go together, and at a target that is not ours."""
    from hwdsl.cli import resuming

    points = options.best or options.pareto
    others = options.distribution or options.histogram or options.counts
    if options.resume and (target is None or points or others):
        raise CommandError(
            "--resume goes on with a whole table: it needs -o, without --best and the like"
        )
    if target is not None and others and not points:
        raise CommandError("-o is a table of points: it goes with --best or --pareto, or neither")
    if options.raw and (points or others):
        raise CommandError("--raw is about rows: what is asked for here is over feasible points")
    if options.show and target is not None:
        raise CommandError("--show says what is printed; a table that is written has all columns")
    if target is not None:
        check_table(target)
        resuming.check(target)


def _points(
    given: dict[str, str], together: str | None, rows: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """What points are made of: all combinations, or axes or rows of a file that go together."""
    if rows is not None:
        if together:
            raise CommandError("--rows go together as they are: leave --zip out")
        return given, {"zipped": Path(rows)}
    if together == "all" and "all" not in given:
        return given, {"mode": "zip"}
    names = [name.strip() for name in together.split(",")] if together else []
    for name in names:
        if name not in given:
            raise CommandError(f"--zip {together}: no values are given for {name}")
    return given, {"zipped": {name: given.pop(name) for name in names} or None}


def _shown(evaluator: Evaluator, text: str | None) -> list[str]:
    """The names of the columns to print, all of them if none are given."""
    known = column_names(evaluator.spec)
    names = [name.strip() for name in text.split(",")] if text else known
    return [named(evaluator.name, "output or param", name, known) for name in names]


# --- printed -------------------------------------------------------------------------------------


def _show_first(
    evaluator: Evaluator, plan: ExecutionPlan, look: Look, shown: Sequence[str], threads: int
) -> None:
    """Print the first rows that fit, and what the rules say that they violate."""
    found, count, conditions = [], 0, look.conditions
    for part in plan.iter_chunks(CHUNK if conditions else FIRST, threads):
        found.append(look.at(part))
        count += len(found[-1])
        if count > FIRST or not conditions:
            break
    if not count:
        print(f"none of the {plan.points:,} points fits")
        return
    show_rows(plan.spec, found, shown)
    if conditions and count > FIRST:
        print("… more rows: write them with -o OUT.csv")
    elif not conditions and plan.points > FIRST:
        print(f"… {plan.points - FIRST:,} more rows: write them with -o OUT.csv")
    _tell_violations(evaluator, found)


def _tell_violations(evaluator: Evaluator, parts: Sequence[Sweep]) -> None:
    """Print what the rules say that the first rows of parts violate, each at its first row."""
    from hwdsl.api.violated_rules import violated_rules

    first: dict[str, list[float]] = {}
    left = FIRST
    for part in parts:
        for row, names in enumerate(part.violation_texts().tolist()[:left]):
            for name in names.split():
                first.setdefault(name, part.grid.point(row))
        left -= min(left, len(part))
    if first:
        print("violations, each at its first row:")
    for name, point in list(first.items())[:MOST_TOLD]:
        (rule,) = violated_rules(evaluator.elaboration, [name], point)
        print(f"  {name}: {rule.message}")
        print("".join(f"    {line}\n" for line in rule.place_lines()), end="")
    if len(first) > MOST_TOLD:
        print(f"  … {len(first) - MOST_TOLD} more rules")


# --- written -------------------------------------------------------------------------------------


@define
class TableProgress:
    """How far a table is: points done, rows in it; of this call, points, rows and seconds.

    `ended` is the signal that ended the call before the last point, 0 if none did.
    """

    points: int = 0
    rows: int = 0
    computed: int = 0
    new: int = 0
    computing: float = 0.0
    writing: float = 0.0
    ended: int = 0


def _to_table(
    plan: ExecutionPlan,
    target: Path,
    before: ResumePoint | None,
    look: Look,
    threads: int,
) -> TableProgress:
    """Write all rows, or those up to an interrupt, behind those that are there `before`."""
    done = TableProgress() if before is None else TableProgress(before.points, before.rows)
    with replacing(target) as temporary:
        writer = writer_for(target, temporary, header(plan.spec), resumed=before is not None)
        with _parts(plan, done.points, threads) as parts:
            for part, seconds in parts:
                start = perf_counter()
                kept = look.at(part)
                writer.write(columns(kept))
                done.points += len(part)
                done.rows += len(kept)
                done.computed += len(part)
                done.new += len(kept)
                done.computing += seconds
                done.writing += perf_counter() - start
            done.ended = parts.ended
        start = perf_counter()
        writer.close()
        done.writing += perf_counter() - start
    return done


def _tell(done: TableProgress, plan: ExecutionPlan, target: Path) -> None:
    """Say how much was written, and how fast; of few points the time is that of the first call."""
    said = f"wrote {done.rows:,} rows of {done.points:,} points"
    if done.rows == done.points:
        said = f"wrote {done.rows:,} of {plan.points:,} rows"
    if done.computed >= CHUNK and done.computing and done.writing:
        said += (
            f" to {target}; computed {done.computed / done.computing:,.0f} points/s, "
            f"wrote {done.new / done.writing:,.0f} rows/s"
        )
    else:
        said += f" to {target}"
    print(said, file=sys.stderr)
    if done.new >= MANY and target.suffix == ".csv":
        print(f"hwdsl: {target.with_suffix('.parquet')} is written several times as fast",
              file=sys.stderr)  # fmt: skip


class _Parts:
    """The parts of a plan from a point on, each with the seconds that it took; shows how far it is.

    An interrupt gives up what is being computed and ends with the part before, so that no part is
    torn; a second one ends everything. `done` says how far it came, `ended` which signal was first.
    """

    def __init__(self, plan: ExecutionPlan, first: int, threads: int) -> None:
        from hwdsl.codegen.runtime import Bar

        self.done = first
        self._first, self._threads = first, threads
        self.ended, self._computing = 0, False
        self._rest = evolved(plan, first)
        self._bar = Bar(sys.stderr) if sys.stderr.isatty() else None

    def __iter__(self) -> Iterator[tuple[Sweep, float]]:
        chunks = self._rest.iter_chunks(CHUNK, self._threads)
        while not self.ended:
            start = perf_counter()
            part = self._computed(chunks)
            if part is None:
                break
            self.done += len(part)
            yield part, perf_counter() - start
            if self._bar is not None:
                self._bar(self.done - self._first, self._rest.points)
        if self._bar is not None and self.done - self._first < self._rest.points:
            print(file=sys.stderr)

    def _computed(self, chunks: Iterator[Sweep]) -> Sweep | None:
        """The next part; None if there is none, or an interrupt comes before it is computed."""
        try:  # wherever in the block a signal comes, the part is given up whole
            self._computing = True
            part = next(chunks, None)
            self._computing = False
        except KeyboardInterrupt:
            self._computing = False
            return None
        return part

    def note(self, number: int, frame: object) -> None:
        """Handle a signal."""
        again, self.ended = self.ended, self.ended or number
        if again or self._computing:
            raise ending(number)


def evolved(plan: ExecutionPlan, first: int) -> ExecutionPlan:
    """The plan of the points from number `first` on."""
    return plan.at(plan.grid.stretch(first, plan.points - first))


@contextmanager
def _parts(plan: ExecutionPlan, first: int, threads: int) -> Iterator[_Parts]:
    """Evaluate a plan in parts, as far as interrupts let it."""
    parts = _Parts(plan, first, threads)
    with caught((signal.SIGINT, *POLITE), parts.note):
        yield parts
