"""Errors of the library on published measurements: one table over all sets and their groups.

python benchmarks/accuracy.py FOLDER [--set TEXT] [--hold-out] [--write FOLDER] [-o errors.html]

FOLDER holds the tables as published, one CSV file each. `SETS` of every module
`benchmarks/adapters/measured*.py` states which evaluator predicts which rows. Rows that the library does
not describe, or that an evaluator does not accept, are left out and listed below. A second table has
the share of rows whose rules pass: what was measured took place, so that a `require` that refuses it
is a false alarm. Coefficients are those of the library. `--hold-out` adds a leave-one-group-out cross-validation: the coefficients that
a set names are fitted without each group in turn and scored on it, and the baseline's on the same
folds. `--write` writes the rows as tables that `hwdsl validate --data` and `hwdsl fit` read.
"""

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
from common import ROOT, table

import hwdsl
from hwdsl.cli.files import write_text
from hwdsl.measure import fit
from hwdsl.measure.measurements import read_table
from hwdsl.measure.validate import PredictionErrors, Request, validate
from hwdsl.measure.validation_report import by_group, error_summary
from hwdsl.show.report import validation_page

ADAPTERS = ROOT / "benchmarks" / "adapters"
FOLDS = ["set", "held out", "rows", "declared", "p90", "bias", "fitted", "p90", "bias",
         "baseline", "p90", "bias"]  # fmt: skip
RULES = ["set", "rows", "rules pass", "rows refused, by rule", "rows warned of, by rule"]
HEAD = ["set", "group", "rows", "median", "p90", "bias", "baseline", "p90", "bias", "fitted to"]


def sets(wanted):
    """The sets of all adapters whose name contains one of the texts (all sets without a text)."""
    sys.path.append(str(ADAPTERS))
    modules = [import_module(path.stem) for path in sorted(ADAPTERS.glob("measured*.py"))]
    found = [one for module in modules for one in module.SETS]
    return [one for one in found if not wanted or any(text in one.name for text in wanted)]


def given(one, modules):
    """The rows of a set that its evaluator accepts, and the rows left out."""
    if one.file not in modules:
        modules[one.file] = hwdsl.load(ROOT / "library" / one.file)
    return one.given(getattr(modules[one.file], one.evaluator))


def written(one, rows, folder, fixed=()):
    """Write rows of a set as a table and return its path; `fixed` are params to set."""
    import measured

    words = "".join(c if c.isalnum() else " " for c in one.name).split()
    path = folder / f"{'_'.join([*words, *(name for name, _ in fixed)])}.csv"
    measured.write(path, [row | dict(fixed) for row in rows], one.name, one.unit)
    return path


def validated(one, rows, folder, modules):
    """The validation of a set, and the rows for which the evaluator has a finite result; None if
    there is no such row."""
    request = Request(one.name, one.evaluator, written(one, rows, folder), "measured", one.output,
                      one.baseline, "case", one.group)  # fmt: skip
    found = validate(modules[one.file], request)
    answered = [row for row, o in zip(rows, found.predicted, strict=True) if np.isfinite(o)]
    if len(answered) == len(rows):
        return found, rows
    return (validated(one, answered, folder, modules)[0] if answered else None), answered


def folds(one, rows, folder, modules):
    """The lines of a set in leave-one-group-out cross-validation."""
    seen = read_table(written(one, rows, folder, one.hold_out_params))
    target = fit.Target(one.output, "measured")
    problem = fit.prepare(
        modules[one.file], one.evaluator, seen, targets=[target], only=one.coefficients
    )
    (baseline,) = fit.baselines(modules[one.file], problem, one.baseline)
    declared = problem.evaluate(problem.start)[0][0]
    found = fit.cross_validate(problem, one.group)
    ways = [
        [declared[held] for _, held, _ in found],
        [each.of(0, held).relative for _, held, each in found],
    ]
    if baseline is not None:
        ways.append(
            [e.of(0, held).relative for _, held, e in fit.cross_validate(baseline, one.group)]
        )
    rows = []
    for i, name in enumerate(["all", *(name for name, _, _ in found)]):
        errors = [PredictionErrors(np.concatenate(way) if i == 0 else way[i - 1]) for way in ways]
        cells = [cell for error in errors for cell in error_summary(error)]
        rows.append([one.name if i == 0 else "", name, len(errors[0].relative), *cells])
    return [row + [""] * (len(FOLDS) - len(row)) for row in rows]


def lines(one, found):
    """The lines of a set: all rows first, then each group."""
    *groups, whole = by_group(found).rows
    wide = len(HEAD) - 2
    rows = [[one.name, *whole], *(["", *group] for group in groups if len(groups) > 1)]
    rows = [row + [""] * (wide + 1 - len(row)) for row in rows]
    return [[*row, one.fitted if i == 0 else ""] for i, row in enumerate(rows)]


def passed(one, rows, modules):
    """The line of a set in the table of rules: published runs took place, so that rules pass.

    A rule that an evaluator waives by `allow` is not asked, and counts neither way.
    """
    evaluator = getattr(modules[one.file], one.evaluator)
    names = {p.name for p in evaluator.spec.params}
    sweep = evaluator.sweep(zipped={c: [r[c] for r in rows] for c in rows[0] if c in names})
    broken = [(name, count) for name, count in sweep.violations.items() if count]
    warned = {rule.name for rule in evaluator.spec.rules if rule.severity == "warn"}
    said = [
        ", ".join(f"{name} {count}" for name, count in broken if (name in warned) == warns)
        for warns in (False, True)
    ]
    return [one.name, len(rows), f"{100 * float(np.mean(sweep.feasible)):.1f} %", *said]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER", help="the tables as published")
    parser.add_argument(
        "--set", action="append", metavar="TEXT", help="only sets whose name contains TEXT"
    )
    parser.add_argument(
        "--hold-out", action="store_true", help="add a leave-one-group-out cross-validation"
    )
    parser.add_argument("--write", metavar="FOLDER", help="write the rows as tables there")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="draw the errors of all sets")
    options = parser.parse_args()
    os.environ["HWDSL_REFERENCE_DATA"] = options.folder
    rows, asked, held, drawn, left, missing, modules = [], [], [], [], [], [], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.write or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for one in sets(options.set):
            try:
                taken = given(one, modules)
            except FileNotFoundError as error:
                missing.append(f"{one.name}: {error}")
                continue
            left += [[one.name, count, reason] for reason, count in taken.left_out.items()]
            if not taken.rows:
                missing.append(f"{one.name}: no row")
                continue
            asked.append(passed(one, taken.rows, modules))
            found, answered = validated(one, taken.rows, folder, modules)
            if len(answered) < len(taken.rows):
                left.append([one.name, len(taken.rows) - len(answered), "no finite result"])
            if found is None:
                missing.append(f"{one.name}: no row with a finite result")
                continue
            rows += lines(one, found)
            drawn.append((one.name, found))
            if options.hold_out and one.coefficients:
                if len({row[one.group] for row in answered}) > 1:
                    held += folds(one, answered, folder, modules)
                else:
                    missing.append(f"{one.name}: only one group, no cross-validation")
    table("Errors of the library on published measurements", HEAD, rows)
    if asked:
        table("Rules on published measurements, which took place", RULES, asked)
    if held:
        table("Leave-one-group-out cross-validation", FOLDS, held)
    if left:
        table("Rows left out", ["set", "rows", "why"], left)
    print("\n".join(missing))
    if options.output:
        write_text(Path(options.output), validation_page(drawn, rows=False))


if __name__ == "__main__":
    main()
