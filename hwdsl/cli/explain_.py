"""`hwdsl explain NAME`: the page of a diagnostic, or of a rule of the library."""

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
    text = page(options.name) if options.name in CATALOG else None
    if text is None and "." in options.name:
        from hwdsl import rulebook

        text = rulebook.page(options.name)
    if text is None:
        names = [*CATALOG]
        if "." in options.name:
            names += [rule.name for rule in rulebook.rules()]
        hint = did_you_mean(options.name, names)
        if "." in options.name and hint is None:
            hint = "a rule of a description of your own: its message and help say what to do"
        raise Failure(f"no diagnostic is called {options.name}" + (f"; {hint}" if hint else ""))
    print(text, end="")
    return FINE
