"""`hwdsl validate FILE[:TABLE] | FOLDER …`: how far predictions are from measured tables."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    chosen_evaluator,
    data_file,
    format_argument,
    listed,
    load_module,
    split_target,
    table,
)
from hwdsl.cli.errors import BUG, FINE, WRONG_DESCRIPTION, CommandError, told

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Module
    from hwdsl.measure.validate import Request, Validation
    from hwdsl.measure.validation_report import Table

FORMATS = (".html", ".svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets", nargs="+", metavar="FILE[:TABLE]",
        help="or a folder: all files below it that declare a `table` with `data`; "
        "or FILE[:EVALUATOR] with --data",
    )  # fmt: skip
    parser.add_argument("--data", metavar="TABLE.csv", help="a table that no file declares")
    parser.add_argument("--measured", metavar="COLUMN", help="its column to predict")
    parser.add_argument("--predicted", metavar="NAME", help="the output that predicts it")
    parser.add_argument("--baseline", metavar="NAME", help="a simpler output to be better than")
    parser.add_argument("--label", metavar="COLUMN", help="the column that names the rows")
    parser.add_argument("--group", metavar="COLUMN", help="print errors by the cells of a column")
    parser.add_argument("--rows", action="store_true", help="print each row")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="draw predicted over measured: .html or .svg"
    )
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print each validation; kernel, interpreter and single calls that disagree are a bug."""
    if options.output is not None and Path(options.output).suffix not in FORMATS:
        raise CommandError(f"{options.output} ends in neither .html nor .svg")
    if options.output is not None:
        _check_output(Path(options.output))
    found: list[tuple[str, Validation]] = []
    with told(WRONG_DESCRIPTION):
        for name, validation in _validations(options):
            if options.format == "text":
                print(_text(validation, rows=options.rows), end="\n\n")
            found.append((name, validation))
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.validate(found))
    elif len(found) > 1:
        from hwdsl.measure.validation_report import summary_table

        print(_laid_out(summary_table(found)))
    if options.output is not None:
        with told(WRONG_DESCRIPTION):
            _draw(Path(options.output), found, rows=options.rows)
        wrote = sys.stderr if options.format == "json" else sys.stdout
        print(f"wrote {options.output}", file=wrote)
    return BUG if any(v.disagreements for _, v in found) else FINE


def _check_output(target: Path) -> None:
    """End the command if the file to be drawn is there and no earlier drawing."""
    from hwdsl.cli.files import check_target
    from hwdsl.show.report import is_ours

    check_target(target, is_ours)


def _validations(options: argparse.Namespace) -> Iterator[tuple[str, Validation]]:
    """What is asked for, with its name among all of it."""
    from attrs import evolve

    from hwdsl.measure.validate import validate

    if options.data is not None and len(options.targets) > 1:
        raise CommandError("--data goes with one FILE[:EVALUATOR]")
    for target in _files(options.targets):
        path, name = split_target(target)
        module = load_module(path, compiled=True)
        for request in _requests(module, name, options):
            asked = evolve(request, group=options.group or request.group)
            yield f"{module.path.stem}:{request.title}", validate(module, asked)


def _files(targets: Sequence[str]) -> list[str]:
    """The targets, a folder standing for its files that ask to be validated."""
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.measure.validate import declares_measured_table

    found = []
    for target in targets:
        if not os.path.isdir(target):
            found.append(target)
            continue
        sources = [(name, driver.read(Path(name), Diagnostics())) for name in listed([target])]
        below = [
            name
            for name, source in sources
            if source is not None and declares_measured_table(source)
        ]
        if not below:
            raise CommandError(f"no file below {target} declares a `table` with `data`")
        found += below
    return found


def _requests(module: Module, name: str | None, options: argparse.Namespace) -> list[Request]:
    """What the command line asks for, or the file's tables."""
    from hwdsl.measure.validate import Request, validation_requests

    if options.data is None:
        declared = validation_requests(module)
        if not declared:
            raise CommandError(f"{module.path} declares no `table` with `data`; see --data")
        found = [r for r in declared if name in (None, r.title)]
        found = found or [r for r in declared if name == r.evaluator]
        if not found:
            titles = ", ".join(r.title for r in declared)
            raise CommandError(f"{module.path} has no table {name}; it has {titles}")
        return found
    if options.measured is None or options.predicted is None:
        raise CommandError("--data needs --measured and --predicted")
    data = data_file(options.data)
    return [
        Request(
            data.stem, chosen_evaluator(module, name), data, options.measured, options.predicted,
            options.baseline, options.label,
        )
    ]  # fmt: skip


def _text(validation: Validation, *, rows: bool) -> str:
    from hwdsl.measure.validation_report import by_group, by_row

    request = validation.request
    parts = [
        f"{request.title}: {request.output} of {request.evaluator} against {request.data.name}"
    ]
    if rows:
        parts.append(_laid_out(by_row(validation)))
    parts += [_laid_out(by_group(validation)), _agreement(validation)]
    count = len(validation.labels)
    broken = sorted(validation.broken.items())
    if validation.unread:
        parts.append(validation.unread)
    told = [f"{n} of {count} rows break {r}" for r, n in broken]
    if validation.infeasible:
        told.append(
            f"infeasible by these rules: {validation.infeasible} of {count} rows, which are scored "
            "all the same, by their raw outputs"
        )
    return "\n".join(["\n\n".join(parts), *told])


def _laid_out(found: Table) -> str:
    return table([found.head, *found.rows], right=range(1, len(found.head)))


def _agreement(validation: Validation) -> str:
    if validation.disagreements:
        return (
            f"bug: {validation.interpreter_differs} values differ between kernel and interpreter, "
            f"{validation.swept_differs} between columns and single points, "
            f"{validation.repeated_differs} among {validation.repeated:,} swept points"
        )
    ways = "interpreter, columns and single points"
    if validation.repeated:
        ways = f"interpreter, columns, single points and a sweep of {validation.repeated:,}"
    return f"{'compiled kernel, ' if validation.compiled else ''}{ways} agree to the last bit"


def _draw(target: Path, found: Sequence[tuple[str, Validation]], *, rows: bool) -> None:
    from hwdsl.cli.files import write_text
    from hwdsl.show.plots import validated
    from hwdsl.show.report import validation_page

    try:
        if target.suffix == ".svg":
            text = validated(*(v for _, v in found))
        else:
            text = validation_page(found, rows=rows)
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from None
    write_text(target, text)
