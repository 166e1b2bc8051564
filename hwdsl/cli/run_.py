"""`hwdsl run FILE[:EVALUATOR] name=value…`: one design point."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    FINE,
    WRONG_DESCRIPTION,
    Failure,
    assignments,
    load_evaluator,
    number,
    table,
    target_argument,
)

if TYPE_CHECKING:
    from hwdsl.evaluator import Evaluator
    from hwdsl.results import Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument("values", nargs="*", metavar="NAME=VALUE")


def run(options: argparse.Namespace) -> int:
    """Print inputs, outputs and what is wrong with the point; 1 if it is infeasible."""
    evaluator = load_evaluator(options.target)
    try:
        grid = evaluator.zipped(assignments(options.values))
    except ValueError as error:
        raise Failure(str(error)) from None
    result = grid.result()
    rows = []
    for param in evaluator.params:
        value = grid.shown(param.name, 0, 1)[0]
        rows.append([f"  {param.name}", _number(value), _unit(param.unit.name)])
    split = len(rows)
    units = result.units
    for name in result:
        for label, value in _cells(name, result[name]):
            rows.append([f"  {label}", _number(value), _unit(units[name])])
    lines = table(rows, right=[1]).splitlines()
    print("\n".join([f"{evaluator.name}", *lines[:split], "gives", *lines[split:]]))
    _print_rules(evaluator, result)
    return FINE if result.feasible else WRONG_DESCRIPTION


def _cells(name: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(f"{name}.{label}", v) for label, v in value.items()]
    return [(name, value)]


def _number(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(float(value))  # type: ignore[arg-type]


def _unit(name: str) -> str:
    return "" if name == "1" else name


def _print_rules(evaluator: Evaluator, result: Result) -> None:
    """Name the broken rules with their messages."""
    if not result.violations:
        print("feasible")
        return
    print("feasible, with warnings" if result.feasible else "not feasible")
    for name, message, help in evaluator.complaints(result):
        print(f"  {name}: {message}" + (f"\n    help: {help}" if help else ""))
