"""What a sweep is reduced to on the command line: points, quantiles, histograms, counts by rule."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from hwdsl.cli import picking, resuming
from hwdsl.cli.base import number, table
from hwdsl.cli.errors import FINE, CommandError
from hwdsl.cli.files import replacing
from hwdsl.cli.rows import FIRST, columns, header, show_rows
from hwdsl.cli.tables import title, writer_for
from hwdsl.codegen.runtime import Counts, Histogram, Pareto, Quantiles, Top
from hwdsl.codegen.runtime.spec import unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import HistogramCounts, PointCounts, Spec, Sweep
    from hwdsl.codegen.runtime.reductions import SweepReduction

SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
BINS, MOST_BINS = 10, 1000


@frozen
class WantedOfSweep:
    """What the options ask for."""

    points: SweepReduction[Sweep] | None
    quantiles: tuple[str, ...]
    histogram: tuple[str, int] | None
    counts: bool

    def __bool__(self) -> bool:
        return bool(self.points or self.quantiles or self.histogram or self.counts)


def asked(evaluator: Evaluator, options: argparse.Namespace) -> WantedOfSweep:
    """Read the options; what does not fit ends the command."""
    quantiles = picking.numeric(evaluator, options.distribution) if options.distribution else ()
    return WantedOfSweep(
        _points(evaluator, options), tuple(quantiles), _histogram(evaluator, options.histogram),
        options.counts,
    )  # fmt: skip


def _points(evaluator: Evaluator, options: argparse.Namespace) -> SweepReduction[Sweep] | None:
    if options.best and options.pareto:
        raise CommandError("--best is one point and --pareto a front: give one of them")
    for name in ("top", "by"):
        if getattr(options, name) is not None and not options.best:
            raise CommandError(f"--{name} goes with --best, which says what is best")
    if options.pareto:
        goals = [picking.goal(evaluator, text) for text in options.pareto.split(",")]
        up, down = ([g.name for g in goals if g.most is most] for most in (True, False))
        return Pareto(maximize=tuple(up), minimize=tuple(down))
    if not options.best:
        return None
    best = picking.goal(evaluator, options.best)
    by = picking.groups(evaluator, options.by) if options.by else ()
    maximize, minimize = (best.name, "") if best.most else ("", best.name)
    return Top(1 if options.top is None else options.top, maximize, minimize, tuple(by))


def _histogram(evaluator: Evaluator, text: str | None) -> tuple[str, int] | None:
    if not text:
        return None
    name, colon, bins = text.rpartition(":")
    if not colon:
        name, bins = text, str(BINS)
    if not bins.isdecimal() or not 1 <= int(bins) <= MOST_BINS:
        raise CommandError(
            f"--histogram {text}: write NAME or NAME:BINS, with 1 to {MOST_BINS} bins"
        )
    (found,) = picking.numeric(evaluator, name)
    return found, int(bins)


@frozen
class Answers:
    """The points asked for, and what is to be printed of all others."""

    points: Sweep | None
    texts: tuple[str, ...]


Ask = Callable[[dict[str, "SweepReduction[Any]"]], dict[str, Any]]
"""From reductions of the same points to their answers."""


def answers(spec: Spec, wanted: WantedOfSweep, ask: Ask) -> Answers:
    """Reduce points to what is asked for; a histogram takes them twice."""
    reductions: dict[str, SweepReduction[Any]] = {}
    if wanted.points is not None:
        reductions["points"] = wanted.points
    for name in wanted.quantiles:
        reductions[f"quantiles {name}"] = Quantiles(name, SHARES)
    if wanted.histogram is not None:
        reductions["ends"] = Quantiles(wanted.histogram[0], (0.0, 1.0))
    if wanted.counts:
        reductions["counts"] = Counts()
    found = ask(reductions)
    texts = []
    if wanted.quantiles:
        texts.append(_quantiles(spec, {n: found[f"quantiles {n}"] for n in wanted.quantiles}))
    if wanted.histogram is not None:
        name, bins = wanted.histogram
        low, high = found["ends"].tolist()
        edges = _edges(low, high, bins)
        if edges is None:
            texts.append(f"{name} is finite and feasible at none of the points, or infinite at one")
        else:
            texts.append(_bins(spec, name, ask({"": Histogram(name, edges)})[""]))
    if wanted.counts:
        texts.append(counts_text(found["counts"]))
    if wanted.points is not None and not len(found["points"]):
        counts = found["counts"] if wanted.counts else ask({"": Counts()})[""]
        said = f"no point of {counts.points:,} is feasible and finite in what is asked for"
        texts.insert(0, said if wanted.counts else f"{said}\n{counts_text(counts)}")
    return Answers(found.get("points"), tuple(texts))


def show(spec: Spec, found: Answers, target: Path | None, shown: Sequence[str]) -> int:
    """Print the answers; points are printed, or written to a table."""
    texts, sweep = list(found.texts), found.points
    if sweep is None or not len(sweep):
        pass  # a text says why
    elif target is None:
        show_rows(spec, [sweep], shown)
        if len(sweep) > FIRST:
            print(f"… {len(sweep) - FIRST:,} more rows: write them with -o OUT.csv")
        if texts:
            print()
    else:
        with replacing(target) as temporary:
            writer = writer_for(target, temporary, header(spec))
            writer.write(columns(sweep))
            writer.close()
        resuming.remove(target)
        print(f"wrote {len(sweep):,} points to {target}", file=sys.stderr)
    if texts:
        print("\n\n".join(texts))
    return FINE


def _edges(low: float, high: float, bins: int) -> NDArray[np.float64] | None:
    """The edges of bins between two numbers; of one bin where they are all but equal."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    edges = np.linspace(low, high, bins + 1)
    edges[-1] = high
    if (np.diff(edges) > 0).all():
        return edges
    return np.array([low, max(high, np.nextafter(low, np.inf))])


def _quantiles(spec: Spec, found: dict[str, Any]) -> str:
    """A line for each output: the least, quantiles, the most."""
    heads = ["least", *(f"{100 * s:g} %" for s in SHARES[1:-1]), "most"]
    rows = [["over feasible points", *heads]]
    for name, values in found.items():
        cells = [number(float(f"{value:.4g}")) for value in values.tolist()]
        rows.append([title(name, unit_of(spec, name)), *cells])
    return table(rows, right=range(1, len(rows[0])))


def _bins(spec: Spec, name: str, found: HistogramCounts) -> str:
    """A line for each bin: its ends and its points."""
    rows = [[title(name, unit_of(spec, name)), "points", ""]]
    most = max(1, int(found.counts.max()))
    edges = [number(float(f"{edge:.4g}")) for edge in found.edges.tolist()]
    for low, high, count in zip(edges, edges[1:], found.counts.tolist(), strict=False):
        rows.append([f"{low} .. {high}", f"{count:,}", "#" * round(40 * count / most)])
    return table(rows, right=[0, 1])


def counts_text(found: PointCounts) -> str:
    """How many points there are, how many are feasible, and how many break each rule."""
    lines = [f"{found.points:,} points, {found.feasible:,} feasible"]
    broken = sorted(found.violations.items(), key=lambda item: -item[1])
    lines += [f"  {rule}: violated by {count:,}" for rule, count in broken]
    return "\n".join(lines)
