"""`hwdsl why FILE:EVALUATOR OUTPUT name=value…`: how an output comes about."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hwdsl.cli.base import assignments, format_argument, load_evaluator, table, target_argument
from hwdsl.cli.errors import FINE, CommandError, told

if TYPE_CHECKING:
    from hwdsl.explain.sensitivity import Sensitivity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument("output", nargs="?", metavar="OUTPUT", help="without it, they are listed")
    parser.add_argument("values", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--depth", type=int, help="levels shown (4; in json all)")
    parser.add_argument(
        "--least", type=float, default=1.0, metavar="PERCENT",
        help="smaller shares of the whole are summed up in one line (1)",
    )  # fmt: skip
    parser.add_argument(
        "--confidence",
        choices=("low", "medium", "high", "none", "assumed", "all"),
        help="in place of the derivation, the numbers of that confidence that move the output "
        "most; none: those without a source; assumed: those that no source states",
    )
    parser.add_argument(
        "--most", type=int, default=10, metavar="N", help="so many of these numbers (10)"
    )
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print the derivation."""
    evaluator = load_evaluator(options.target)
    if options.output is None and options.values and "=" not in options.values[0]:
        options.output = options.values.pop(0)  # it stood behind an option
    if options.output is None or "=" in options.output:
        names = ", ".join(o.name for o in evaluator.spec.outputs)
        raise CommandError(f"say which output of {evaluator.name}: {names}")
    given = assignments(options.values)
    if options.confidence is not None:
        with told():
            found = evaluator.sensitivities(options.output, given, confidence=options.confidence)
        if options.format == "json":
            from hwdsl.cli import jsons

            jsons.write(jsons.sensitivities(evaluator, options.output, found[: options.most]))
            return FINE
        print(_table(options.output, options.confidence, found, options.most))
        return FINE
    with told():
        derivation = evaluator.why(options.output, given)
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.why(evaluator, options.output, derivation, options.depth))
        return FINE
    print(derivation.text(4 if options.depth is None else options.depth, options.least / 100))
    return FINE


def _table(output: str, confidence: str, found: Sequence[Sensitivity], most: int) -> str:
    """The numbers that move an output most, and what they are from."""
    from hwdsl.cli.sources import of_which

    kind = of_which(confidence)
    if not found:
        return f"no {kind} moves {output}"
    head = ["number", "value", "elasticity", "source"]
    rows = [
        [
            f"{one.number.module}.{one.number.path}",
            one.literal,
            "n/a" if math.isnan(one.elasticity) else f"{one.elasticity:+.3f}",
            "; ".join(source.described for source in one.number.sources),
        ]
        for one in found[:most]
    ]
    rest = f"\n{len(found) - most} more move it less" if len(found) > most else ""
    said = f"{output} changes by so many per cent for one per cent more of a {kind}"
    return f"{said}\n\n{table([head, *rows], right=[2])}{rest}"
