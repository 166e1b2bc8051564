"""`hwdsl compare FILE[:TABLE]`: predictions beside measurements, for each `table` of the file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    BUG,
    FINE,
    WRONG_DESCRIPTION,
    Failure,
    load_module,
    split_target,
    table,
)

if TYPE_CHECKING:
    from hwdsl.compare import Comparison, Errors, Request
    from hwdsl.evaluator import Module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("target", metavar="FILE[:TABLE]", help="or FILE:EVALUATOR with --data")
    parser.add_argument("--data", metavar="TABLE.csv", help="a table other than those of the file")
    parser.add_argument("--measured", metavar="COLUMN")
    parser.add_argument("--output", metavar="NAME")
    parser.add_argument("--baseline", metavar="NAME", help="a simpler output to be better than")
    parser.add_argument("--label", metavar="COLUMN", help="the column that names the rows")
    parser.add_argument("--group", metavar="COLUMN", help="print errors by the cells of a column")


def run(options: argparse.Namespace) -> int:
    """Print each comparison; kernel, interpreter and single calls that disagree are a bug."""
    from attrs import evolve

    from hwdsl.compare import compare

    path, name = split_target(options.target)
    module = load_module(path)
    code = FINE
    try:
        for request in _requests(module, name, options):
            comparison = compare(module, evolve(request, group=options.group or request.group))
            print(_text(comparison), end="\n\n")
            if _disagreements(comparison):
                code = BUG
    except ValueError as error:
        raise Failure(str(error), WRONG_DESCRIPTION) from None
    return code


def _requests(module: Module, name: str | None, options: argparse.Namespace) -> list[Request]:
    """What the command line asks for, or the file's tables."""
    from hwdsl.compare import Request, requests

    if options.data is None:
        declared = requests(module)
        if not declared:
            raise Failure(f"{module.path} declares no `table` with `data`; see --data")
        found = [r for r in declared if name in (None, r.title)]
        found = found or [r for r in declared if name == r.evaluator]
        if not found:
            titles = ", ".join(r.title for r in declared)
            raise Failure(f"{module.path} has no table {name}; it has {titles}")
        return found
    if options.measured is None or options.output is None:
        raise Failure("--data needs --measured and --output")
    if name is None:
        if len(module.evaluators) != 1:
            raise Failure(f"write {module.path}:EVALUATOR")
        name = next(iter(module.evaluators))
    data = Path(options.data)
    return [
        Request(
            data.stem, name, data, options.measured, options.output, options.baseline, options.label
        )
    ]


def _text(comparison: Comparison) -> str:
    request, unit = comparison.request, comparison.unit
    errors, baseline = comparison.errors, comparison.baseline_errors
    in_unit = f" [{unit}]" if unit else ""
    header = [request.label or "row", f"measured{in_unit}", f"{request.output}{in_unit}", "error"]
    if request.baseline:
        header += [f"{request.baseline}{in_unit}", "error"]
    rows = [header]
    for i, label in enumerate(comparison.labels):
        row = [label, _number(comparison.measured[i]), _number(comparison.predicted[i]),
               _signed(errors.relative[i])]  # fmt: skip
        if comparison.baseline is not None and baseline is not None:
            row += [_number(comparison.baseline[i]), _signed(baseline.relative[i])]
        rows.append(row)
    right = range(1, len(header))
    lines = [f"{request.title}: {request.evaluator} against {request.data.name}", ""]
    lines += [table(rows, right=right), "", _summary(comparison, errors, baseline)]
    lines += ["", _agreement(comparison)]
    rows_text = f"of {len(comparison.labels)} rows break"
    lines += [f"{count} {rows_text} {name}" for name, count in sorted(comparison.broken.items())]
    return "\n".join(lines)


def _summary(comparison: Comparison, errors: Errors, baseline: Errors | None) -> str:
    request = comparison.request
    header = [f"absolute error of {len(comparison.labels)} rows", "median", "mean", "p90"]
    rows = [header, [request.output, *_shares(errors)]]
    if baseline is not None and request.baseline:
        rows.append([request.baseline, *_shares(baseline)])
    text = table(rows, right=[1, 2, 3])
    return f"{text}\n\n{_by_group(comparison)}" if comparison.groups else text


def _by_group(comparison: Comparison) -> str:
    rows = [[comparison.request.group or "", "rows", "median", "mean", "p90", "bias"]]
    for name, errors in comparison.by_group().items():
        count = str(len(errors.relative))
        rows.append([name, count, *_shares(errors), _signed(errors.bias)])
    return table(rows, right=range(1, 6))


def _shares(errors: Errors) -> list[str]:
    return [f"{100 * e:.1f} %" for e in (errors.median, errors.mean, errors.p90)]


def _agreement(comparison: Comparison) -> str:
    if _disagreements(comparison):
        return (
            f"bug: {comparison.interpreter_differs} values differ between kernel and interpreter, "
            f"{comparison.swept_differs} between columns and single points, "
            f"{comparison.repeated_differs} among {comparison.repeated:,} swept points"
        )
    ways = "interpreter, columns and single points"
    if comparison.repeated:
        ways = f"interpreter, columns, single points and a sweep of {comparison.repeated:,}"
    return f"{'compiled kernel, ' if comparison.compiled else ''}{ways} agree to the last bit"


def _disagreements(comparison: Comparison) -> int:
    return comparison.interpreter_differs + comparison.swept_differs + comparison.repeated_differs


def _number(value: float) -> str:
    return f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f} %"
