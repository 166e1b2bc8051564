"""`hwdsl run FILE[:EVALUATOR] name=value…`: one design point."""

from __future__ import annotations

import argparse

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument("values", nargs="*", metavar="NAME=VALUE")


def run(options: argparse.Namespace) -> int:
    """Print inputs, outputs and what is wrong with the point; 1 if it is infeasible."""
    evaluator = load_evaluator(options.target)
    given = assignments(options.values)
    try:
        result = evaluator(**given)
    except ValueError as error:
        raise Failure(str(error)) from None
    point = result.params
    rows = [[f"  {p.name}", _number(point[p.name]), p.scale.unit] for p in evaluator.spec.params]
    split = len(rows)
    rows += [[f"  {o.name}", _number(result[o.name]), o.scale.unit] for o in evaluator.spec.outputs]
    lines = table(rows, right=[1]).splitlines()
    print("\n".join([evaluator.name, *lines[:split], "gives", *lines[split:]]))
    if not result.violations:
        print("feasible")
        return FINE
    print("feasible, with warnings" if result.feasible else "not feasible")
    for name, message, help in evaluator.complaints(**given):
        print(f"  {name}: {message}" + (f"\n    help: {help}" if help else ""))
    return FINE if result.feasible else WRONG_DESCRIPTION


def _number(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(float(value))  # type: ignore[arg-type]
