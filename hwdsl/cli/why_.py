"""`hwdsl why FILE:EVALUATOR OUTPUT name=value…`: how an output comes about."""

import argparse

from hwdsl.cli.base import FINE, Failure, assignments, load_evaluator, target_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("values", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--depth", type=int, default=6, help="levels shown (6)")


def run(options: argparse.Namespace) -> int:
    """Print the derivation."""
    evaluator = load_evaluator(options.target)
    try:
        derivation = evaluator.why(options.output, **assignments(options.values))
    except ValueError as error:
        raise Failure(str(error)) from None
    print(derivation.text(options.depth))
    return FINE
