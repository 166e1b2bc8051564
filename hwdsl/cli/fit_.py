"""`hwdsl fit FILE[:EVALUATOR] DATA.csv [COEFFICIENT…]`: fit `calibrated` coefficients to data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    chosen_evaluator,
    data_file,
    load_module,
    report,
    split_target,
    table,
    target_argument,
)
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION, CommandError, told

if TYPE_CHECKING:
    from hwdsl.codegen.runtime import Floats
    from hwdsl.measure.fit import Fit, Problem, Target
    from hwdsl.measure.validate import PredictionErrors


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "data", metavar="DATA.csv", help="columns are params and outputs, as `latency [ms]`"
    )
    parser.add_argument(
        "coefficients",
        nargs="*",
        default=[],
        metavar="COEFFICIENT",
        help="those to fit; else all that matter",
    )
    parser.add_argument(
        "--measured", action="append", default=[], metavar="OUTPUT=COLUMN",
        help="the column of an output, where it is called otherwise",
    )  # fmt: skip
    parser.add_argument(
        "--absolute", action="store_true", help="least errors in the outputs' units"
    )
    parser.add_argument("--group", metavar="COLUMN", help="print errors by the cells of a column")
    parser.add_argument(
        "--hold-out", metavar="COLUMN", help="fit without each group of rows, and score on it"
    )
    parser.add_argument(
        "--baseline", metavar="NAME",
        help="the output to beat, fitted to the same rows; else that of the file's `table`",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="OUT.hw", help="write the coefficients found")


def run(options: argparse.Namespace) -> int:
    """Print the coefficients with their intervals, what is ill-posed, and errors by group."""
    from hwdsl.api.evaluator import DescriptionError
    from hwdsl.cli.files import check_target, write_text
    from hwdsl.measure import fit
    from hwdsl.measure.measurements import read_table

    targets = _targets(options.measured)
    path, name = split_target(options.target)
    data = data_file(options.data)
    if options.output is not None:
        check_target(Path(options.output), fit.is_fragment, [path, data])
    module = load_module(path, compiled=True)
    name = chosen_evaluator(module, name)
    try:
        with told(WRONG_DESCRIPTION):
            problem = fit.prepare(
                module, name, read_table(data), targets=targets,
                only=options.coefficients, relative=not options.absolute,
            )  # fmt: skip
            found = fit.fit(problem)
            named = [c for c in (options.group, options.hold_out) if c]
            text = _text(found, options.group, named)
            if options.hold_out:
                beside = fit.baselines(module, problem, options.baseline)
                text += "\n\n" + _held_out(problem, beside, options.hold_out)
    except DescriptionError as error:
        report(error.diagnostics, sys.stderr)
        raise CommandError(f"{path} cannot be fitted", WRONG_DESCRIPTION) from None
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from None
    print(text)
    if options.output is not None:
        write_text(Path(options.output), fit.to_source(found, module))
        print(f"\nwrote {options.output}")
    return FINE


def _targets(words: Sequence[str]) -> list[Target]:
    from hwdsl.measure.fit import Target

    found = []
    for word in words:
        output, equals, column = word.partition("=")
        if not (output and equals and column):
            raise CommandError(f"`--measured {word}` is not of the form OUTPUT=COLUMN")
        found.append(Target(output, column))
    return found


def _text(found: Fit, group: str | None, columns: Sequence[str]) -> str:
    """The coefficients, what is ill-posed, and the errors before and after.

    `columns` are those that name groups.
    """
    from hwdsl.measure.fit import CONFIDENCE, shown
    from hwdsl.measure.validate import unmatched_columns

    problem = found.problem
    outputs = ", ".join(t.output for t in problem.targets)
    kind = "relative" if problem.relative else "absolute"
    lines = [
        f"{outputs} of {problem.evaluator.name} fitted to {problem.table.path.name}: "
        f"{problem.table.rows} rows, {kind} errors",
        "",
    ]
    rows = [["coefficient", "declared", "fitted", f"{100 * CONFIDENCE:g} % interval", "bounds"]]
    for i, info in enumerate(problem.coefficients):
        ends = [shown(info, end, 4) for end in (found.low[i], found.high[i])]
        interval = " .. ".join(ends) if found.low[i] == found.low[i] else "none"
        bounds = [shown(info, end) for end in (info.low, info.high) if end is not None]
        rows.append(
            [info.name, shown(info, problem.start[i]), shown(info, found.values[i]), interval,
             " .. ".join(bounds) or "none"]
        )  # fmt: skip
    lines.append(table(rows, right=[1, 2]))
    if problem.unused:
        lines.append(f"kept, since no row depends on them: {', '.join(problem.unused)}")
    lines += [f"warning: {note}" for note in found.notes]
    read = {*(t.column for t in problem.targets), *(c.name for c in problem.coefficients)}
    left = unmatched_columns(problem.evaluator, problem.table, {*read, *problem.unused, *columns})
    lines += [left] if left else []
    return "\n".join([*lines, "", _errors(found, group)])


def _errors(found: Fit, group: str | None) -> str:
    """Errors of the fitted rows before and after, by group if one is asked for."""
    from hwdsl.measure.validate import PredictionErrors, groups

    problem = found.problem
    before = problem.evaluate(problem.start)[0]
    rows = [["error", "rows", "median", "p90", "bias"]]
    for i, target in enumerate(problem.targets):
        rows.append(_scored(f"{target.output}, declared", PredictionErrors(before[i]), problem, i))
        rows.append(_scored(f"{target.output}, fitted", found.of(i), problem, i))
        if group:
            cells = groups(problem.table, group)
            for name in dict.fromkeys(cells):
                at = [j for j, cell in enumerate(cells) if cell == name]
                rows.append(
                    _scored(f"  {group} {name}", PredictionErrors(found.errors[i][at]), problem, i)
                )
    return table(rows, right=[1, 2, 3, 4])


def _held_out(problem: Problem, baselines: Sequence[Problem | None], column: str) -> str:
    """What each group is predicted as: as declared, by a fit of the others, by the baseline's."""
    import numpy as np

    from hwdsl.measure.fit import cross_validate, shown

    folds = cross_validate(problem, column)
    declared = problem.evaluate(problem.start)[0]
    parts = []
    for i, (target, baseline) in enumerate(zip(problem.targets, baselines, strict=True)):
        errors = {
            "declared": [declared[i][held] for _, held, _ in folds],
            "fitted": [found.of(i, held).relative for _, held, found in folds],
        }
        if baseline is not None:
            refitted = ", fitted" if baseline.coefficients else ", as declared"
            errors[baseline.targets[0].output + refitted] = [
                found.of(0, held).relative for _, held, found in cross_validate(baseline, column)
            ]
        title = f"{target.output}, each {column} by a fit of the others"
        parts.append(f"{title}\n{_side_by_side(problem, i, [n for n, _, _ in folds], errors)}")
    values = np.array([found.values for _, _, found in folds])
    spread = [["coefficient", "least and most of these fits"]]
    for i, info in enumerate(problem.coefficients):
        ends = values[:, i].min(), values[:, i].max()
        spread.append([info.name, " .. ".join(shown(info, end, 4) for end in ends)])
    notes = [f"warning: without {column} {name}: {n}" for name, _, f in folds for n in f.notes]
    return "\n\n".join([*parts, "\n".join([table(spread), *notes])])


def _side_by_side(
    problem: Problem, target: int, names: Sequence[str], errors: Mapping[str, Sequence[Floats]]
) -> str:
    """The errors of each group and of all, one way of predicting beside another."""
    import numpy as np

    from hwdsl.measure.validate import PredictionErrors

    rows = [["", "rows"]]
    for way in errors:
        rows[0] += [f"{way}: median", "p90", "bias"]
    groups = {way: [*found, np.concatenate(found)] for way, found in errors.items()}
    for k, name in enumerate([*names, "all"]):
        scores = [
            _scored("", PredictionErrors(found[k]), problem, target) for found in groups.values()
        ]
        rows.append([name, scores[0][1], *(cell for score in scores for cell in score[2:])])
    return table(rows, right=range(1, len(rows[0])))


def _scored(name: str, errors: PredictionErrors, problem: Problem, target: int) -> list[str]:
    """A line of errors: how many, median, 90th percentile, bias."""
    sizes = (errors.median, errors.p90)
    if problem.relative:
        cells = [*(f"{100 * size:.1f} %" for size in sizes), f"{100 * errors.bias:+.1f} %"]
    else:
        unit = problem.unit(target)
        cells = [
            f"{x} {unit}".rstrip() for x in (*map("{:.4g}".format, sizes), f"{errors.bias:+.4g}")
        ]
    return [name, str(len(errors.relative)), *cells]
