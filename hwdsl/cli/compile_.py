"""`hwdsl compile FILE [-o FOLDER]`: build the kernels, and write the generated sources if asked."""

import argparse
import sys
from pathlib import Path

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, Failure, file_argument, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="write the generated module here")


def run(options: argparse.Namespace) -> int:
    """Compile all evaluators of a file; without a compiler that is an error here."""
    from hwdsl import driver
    from hwdsl.diagnostics import Diagnostics

    diagnostics = Diagnostics()
    path = Path(options.file)
    program = driver.program(path, diagnostics)
    report(diagnostics, sys.stderr)
    if program is None:
        return WRONG_DESCRIPTION
    if not program.graphs:
        raise Failure(f"{path} has no evaluator", WRONG_DESCRIPTION)
    _, notice = driver.kernels(program.graphs)
    if notice:
        raise Failure(notice, WRONG_DESCRIPTION)
    print(f"built {', '.join(program.graphs)}")
    return FINE
