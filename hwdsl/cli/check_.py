"""`hwdsl check FILE…`: diagnostics of files as text, JSON lines or SARIF."""

import argparse
import sys
from pathlib import Path

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, file_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    parser.add_argument("--format", choices=["text", "json", "sarif"], default="text")
    parser.add_argument("--warnings", action="store_true", help="fail on warnings too")


def run(options: argparse.Namespace) -> int:
    """Check the files, print what was found, say by the exit code whether there were errors."""
    import hwdsl
    from hwdsl import driver
    from hwdsl.catalog import CATALOG
    from hwdsl.diagnostics import Diagnostics
    from hwdsl.render import palette_for, render_json, render_sarif, render_text

    diagnostics = Diagnostics()
    for name in options.files:
        found = Diagnostics()
        checked = driver.check(Path(name), found)
        if checked is not None and not found.failed:
            driver.elaborate(checked, found)  # optimising has nothing to say to the user
        for item in found.items:
            diagnostics.add(item)
    if options.format == "json":
        sys.stdout.write(render_json(diagnostics.items))
    elif options.format == "sarif":
        sys.stdout.write(render_sarif(diagnostics.items, CATALOG, hwdsl.__version__))
    elif diagnostics.items:
        print(render_text(diagnostics.items, palette_for(sys.stdout)))
    failed = diagnostics.failed or (options.warnings and bool(diagnostics.items))
    return WRONG_DESCRIPTION if failed else FINE
