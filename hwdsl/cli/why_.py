"""`hwdsl why FILE:EVALUATOR OUTPUT name=value…`: how an output comes about."""

import argparse

from hwdsl.cli.base import assignments, format_argument, load_evaluator, target_argument
from hwdsl.cli.errors import FINE, CommandError, told


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
    with told():
        derivation = evaluator.why(options.output, given)
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.why(evaluator, options.output, derivation, options.depth))
        return FINE
    print(derivation.text(4 if options.depth is None else options.depth, options.least / 100))
    return FINE
