"""The joint fit of the coefficients of training steps, which several tables share.

python benchmarks/joint_fit.py FOLDER [--equal-tables] [--group gpu] [--draws 200] [--write FILE.json]

FOLDER holds the tables as published. `hwdsl fit` fits one evaluator to one table by least squares;
these coefficients are read by two evaluators and fitted to the rows of three tables (`JOINT` of
`benchmarks/adapters/measured_training.py`). What is least is the mean of |log(predicted/measured)|
over all rows, or with `--equal-tables` the mean of the tables' means: rows that are far off, of
which FSDP has some, then count once and not squared.

The search is exact on a linear model of the logarithms (a linear program: R. Koenker and G. Bassett,
Regression Quantiles, Econometrica 1978), and each step is confirmed by the evaluators themselves.
Groups of rows (a model in one table, or what `--group` names) are left out in turn, and drawn with
replacement (bootstrap by groups: a model's rows share what is wrong with it), both on the linear
model of the last step.
Printed are the coefficients with both spreads, the errors of the tables with what is declared, what
is fitted, and for each row with the fit to the other groups, those of tables that take no part, and
the rank correlations of the draws, as `--correlation` of `hwdsl sample` takes them. `--write` writes
the draws, whose covariance the coefficients have.
"""

import argparse
import json
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from attrs import frozen
from common import ROOT, table
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import rankdata

import hwdsl
from hwdsl.api.evaluator import Evaluator
from hwdsl.measure.fit import with_free_coefficients

sys.path.append(str(ROOT / "benchmarks" / "adapters"))
import measured_training
from measured import Row, Set

Floats = NDArray[np.float64]
STEP = 0.02
"""The step of a slope, in shares of the range: small beside what moves, large beside rounding."""
STEPS = 5
CHECKS = (
    "training with Megatron Core",
    "training of MLPerf's largest models",
    "training with MaxText on H100",
    "training over long sequences, NeMo",
)


@frozen(eq=False)
class Table:
    """The rows of a set with an evaluator whose coefficients are params.

    `scales` are base units in a unit of each coefficient's param, where the evaluator reads it.
    """

    one: Set
    rows: list[Row]
    evaluator: Evaluator
    scales: dict[str, float]
    measured: Floats

    def logs(self, values: dict[str, float]) -> Floats:
        """The logarithm of predicted over measured for each row, at values in base units."""
        known = {p.name for p in self.evaluator.spec.params}
        zipped = {c: [r[c] for r in self.rows] for c in self.rows[0] if c in known}
        given = {n: v / self.scales[n] for n, v in values.items() if n in self.scales}
        swept = self.evaluator.sweep(zipped=zipped, **given).raw  # what was measured has been built
        return np.asarray(np.log(swept.column(self.one.output) / self.measured))


@frozen(eq=False)
class Linear:
    """Logarithms of predicted over measured and their slopes, at a point; and what a row counts."""

    at: Floats
    logs: Floats
    slopes: Floats
    weights: Floats

    def predicted(self, values: Floats) -> Floats:
        """The logarithms at other values, if all were straight lines."""
        return np.asarray(self.logs + self.slopes @ (values - self.at))

    def least(self, low: Floats, high: Floats, weights: Floats | None = None) -> Floats:
        """The values between bounds with the least weighted sum of absolute logarithms."""
        share = self.weights if weights is None else weights
        used = np.flatnonzero(share)
        slopes, rows, width = self.slopes[used], len(used), high - low
        bound = self.logs[used] + slopes @ (low - self.at)  # values are low + width * x
        sides = slopes * width
        found = linprog(
            np.concatenate([np.zeros(len(low)), share[used] / share.sum()]),
            np.block([[sides, -np.eye(rows)], [-sides, -np.eye(rows)]]),
            np.concatenate([-bound, bound]),
            bounds=[(0, 1)] * len(low) + [(0, None)] * rows,
        )
        return np.asarray(low + width * found.x[: len(low)])


def tables(names: tuple[str, ...]) -> tuple[list[Table], Floats, Floats, Floats]:
    """The tables of the fit and those beside it; declared values and bounds, in base units."""
    joint = measured_training.JOINT
    wanted = [s for s in measured_training.SETS if s.name in joint or s.name in CHECKS]
    found, modules, freed, declared = [], {}, {}, {}
    for one in sorted(wanted, key=lambda s: s.name not in joint):
        if one.file not in modules:
            # Interpreted: a few sweeps of some hundred rows take less than a C compiler does.
            modules[one.file] = hwdsl.load(ROOT / "library" / one.file, compiled=False)
        where = (one.file, one.evaluator)
        if where not in freed:
            freed[where] = with_free_coefficients(modules[one.file], one.evaluator, names)
        evaluator, coefficients = freed[where]
        declared |= {c.name: (c.default, c.low, c.high) for c in coefficients}
        apart = joint.get(one.name)
        rows = one.given(getattr(modules[one.file], one.evaluator)).rows
        rows = [r for r in rows if apart is None or not r["model"].startswith(apart)]
        spec = {p.name: p for p in evaluator.spec.params}
        scales = {c.name: float(Fraction(spec[c.name].scale.factor)) for c in coefficients}
        measured = np.array([float(r["measured"]) for r in rows])
        found.append(Table(one, rows, evaluator, scales, measured))
    start, low, high = np.array([declared[n] for n in names], np.float64).T
    return found, start, low, high


def linear(fitted: list[Table], names: tuple[str, ...], at: Floats, span: Floats, equal: bool):
    """The linear model of all rows of the tables at a point."""

    def logs(values: Floats) -> Floats:
        given = dict(zip(names, values, strict=True))
        return np.concatenate([t.logs(given) for t in fitted])

    slopes = []
    for i in range(len(names)):
        step = np.zeros(len(names))
        step[i] = STEP * span[i]
        slopes.append((logs(at + step) - logs(at - step)) / (2 * step[i]))
    each = [np.full(len(t.rows), 1 / len(t.rows) if equal else 1.0) for t in fitted]
    weights = np.concatenate(each)
    return Linear(at, logs(at), np.stack(slopes, axis=-1), weights / weights.sum())


def search(fitted: list[Table], names: tuple[str, ...], start: Floats, low: Floats, high: Floats,
           equal: bool) -> Linear:  # fmt: skip
    """The linear model at the least: each step is halved until the evaluators confirm it."""
    margin = STEP * (high - low)  # a slope needs a step to both sides
    here = linear(fitted, names, start, high - low, equal)
    for _ in range(STEPS):
        reached = here.weights @ np.abs(here.logs)
        step = np.clip(here.least(low, high), low + margin, high - margin) - here.at
        for part in (1, 0.5, 0.25):
            values = dict(zip(names, here.at + part * step, strict=True))
            mean = here.weights @ np.abs(np.concatenate([t.logs(values) for t in fitted]))
            print(f"  step {part}: {100 * reached:.3f} -> {100 * mean:.3f} %", flush=True)
            if mean < reached - 1e-5:
                here = linear(fitted, names, here.at + part * step, high - low, equal)
                break
        else:
            break
    return here


def errors(logs: Floats) -> list[str]:
    """Median and 90th percentile of the absolute relative error, and the mean |logarithm|."""
    middle, tail = np.percentile(np.abs(np.expm1(logs)), [50, 90])
    return [f"{100 * x:.1f}" for x in (middle, tail)] + [f"{100 * np.abs(logs).mean():.2f}"]


def spreads(here: Linear, groups: list[str], low: Floats, high: Floats, draws: int):
    """Fits without each group, what those say of the group, and fits to groups drawn at random."""
    names = list(dict.fromkeys(groups))
    number = np.array([names.index(g) for g in groups])
    without = [here.least(low, high, here.weights * (number != g)) for g in range(len(names))]
    held = np.array([here.predicted(without[g])[i] for i, g in enumerate(number)])
    random = np.random.default_rng(1)
    drawn = [
        here.least(low, high, here.weights * np.bincount(chosen, minlength=len(names))[number])
        for chosen in random.integers(len(names), size=(draws, len(names)))
    ]
    return np.array(without), held, np.array(drawn)


def report(found: list[Table], here: Linear, start: Floats, low: Floats, high: Floats,
           names: tuple[str, ...], group: str | None, draws: int) -> Floats:  # fmt: skip
    """Print coefficients, errors and correlations; returns the draws."""
    fitted = [t for t in found if t.one.name in measured_training.JOINT]
    groups = [
        r[group] if group else f"{t.one.name}: {r[t.one.group]}" for t in fitted for r in t.rows
    ]
    without, held, drawn = spreads(here, groups, low, high, draws)
    best = here.at
    ends = np.percentile(drawn, [5, 95], axis=0)
    table(
        "Coefficients in base units: fitted, without one group, 5 to 95 % of draws of groups",
        ["coefficient", "declared", "fitted", "least", "most", "5 %", "95 %"],
        [
            [n, *(f"{x:.4g}" for x in cells)]
            for n, *cells in zip(names, start, best, without.min(0), without.max(0), *ends,
                                 strict=True)
        ],
    )  # fmt: skip
    lines, place, every = [], 0, [np.empty(0)] * 3
    for t in found:
        ways = [t.logs(dict(zip(names, v, strict=True))) for v in (start, best)]
        if t in fitted:
            ways.append(held[place : place + len(t.rows)])
            place += len(t.rows)
            every = [np.concatenate([a, b]) for a, b in zip(every, ways, strict=True)]
        cells = [c for way in ways for c in errors(way)]
        lines.append([t.one.name, len(t.rows), *cells, *[""] * (9 - len(cells))])
    lines.insert(len(fitted), ["all of the fit", place, *(c for way in every for c in errors(way))])
    head = ["median", "p90", "mean |log|"]
    table(
        "Errors in %: as declared; as fitted; fitted to the other groups",
        ["set", "rows", *3 * head],
        lines,
    )
    moved = drawn.std(axis=0) > 0
    correlations = np.full((len(names), len(names)), np.nan)
    ranks = np.stack([rankdata(column) for column in drawn[:, moved].T])
    correlations[np.ix_(moved, moved)] = np.corrcoef(ranks)
    table(
        "Rank correlations of the draws, and their standard deviation in base units",
        ["coefficient", "deviation", *map(str, range(1, len(names) + 1))],
        [
            [n, f"{s:.3g}", *(f"{c:.2f}" for c in line)]
            for n, s, line in zip(names, drawn.std(axis=0), correlations, strict=True)
        ],
    )
    return drawn


def main() -> None:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER", help="the tables as published")
    parser.add_argument("--equal-tables", action="store_true", help="each table counts alike")
    parser.add_argument("--group", metavar="COLUMN", help="what is left out, such as gpu")
    parser.add_argument("--draws", type=int, default=200, help="how often groups are drawn")
    parser.add_argument("--write", metavar="FILE.json", help="write the draws, in base units")
    options = parser.parse_args()
    os.environ["HWDSL_REFERENCE_DATA"] = options.folder
    names = measured_training.MPT
    found, start, low, high = tables(names)
    fitted = [t for t in found if t.one.name in measured_training.JOINT]
    here = search(fitted, names, start, low, high, options.equal_tables)
    drawn = report(found, here, start, low, high, names, options.group, options.draws)
    if options.write:
        what = {"coefficients": names, "fitted": here.at.tolist(), "draws": drawn.tolist()}
        Path(options.write).write_text(json.dumps(what, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
