"""`hwdsl explain NAME`: the page of a diagnostic."""

import argparse

from hwdsl.cli.base import FINE, Failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="without it, all names are listed")


def run(options: argparse.Namespace) -> int:
    """Print a page, or the list of names with their summaries."""
    from hwdsl.catalog import CATALOG, page
    from hwdsl.cli.base import table
    from hwdsl.diagnostics import did_you_mean

    if options.name is None:
        print(table([list(item) for item in CATALOG.items()]))
        return FINE
    if options.name not in CATALOG:
        hint = did_you_mean(options.name, CATALOG)
        if "." in options.name and hint is None:
            hint = "a dotted name is a rule of a description: its message and help say what to do"
        raise Failure(f"no diagnostic is called {options.name}" + (f"; {hint}" if hint else ""))
    print(page(options.name), end="")
    return FINE
