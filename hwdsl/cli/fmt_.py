"""`hwdsl fmt [--check] FILE…`: the canonical form."""

import argparse
import sys
from pathlib import Path

from hwdsl.cli.base import code_of, file_argument, listed, report
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    parser.add_argument(
        "--check", action="store_true", help="change nothing, name what would change"
    )


def run(options: argparse.Namespace) -> int:
    """Format the files; one that does not parse is left as it is."""
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.cli.files import write_text
    from hwdsl.syntax import format_module

    code = FINE
    for name in listed(options.files):
        diagnostics = Diagnostics()
        path = Path(name)
        source = driver.read(path, diagnostics)
        tree = None if source is None else driver.parse(source, diagnostics)
        if source is None or tree is None or diagnostics.failed:
            report(diagnostics, sys.stderr)
            code = max(code, code_of(diagnostics))
            continue
        text = format_module(tree)
        if text == source.text:
            continue
        if options.check:
            print(f"{name} is not in the canonical form")
            code = max(code, WRONG_DESCRIPTION)
        else:
            write_text(path, text)
            print(f"formatted {name}")
    return code
