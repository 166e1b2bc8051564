"""`hwdsl explain NAME`: the page of a diagnostic, of a rule, or of what the library holds."""

import argparse

from hwdsl.cli.base import FINE, Failure

OF_THE_LIBRARY = (
    "of the library: a folder (std, vendor, workloads, models, studies), a module (vendor.nvidia), "
    "a name (die), a rule (die.reticle)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help=f"of a diagnostic (without it, all are listed), or {OF_THE_LIBRARY}",
    )


def run(options: argparse.Namespace) -> int:
    """Print a page, or the list of names with their summaries."""
    from hwdsl import contents, rulebook
    from hwdsl.catalog import CATALOG, page
    from hwdsl.cli.base import table
    from hwdsl.diagnostics import did_you_mean

    name = options.name
    if name is None:
        print(table([list(item) for item in CATALOG.items()]))
        print(f"\nand {OF_THE_LIBRARY}")
        return FINE
    text = page(name) if name in CATALOG else contents.page(name)
    if text is None and "." in name:
        text = rulebook.page(name)
    if text is None:
        names = [*CATALOG, *contents.names()]
        if "." in name:
            names += [rule.name for rule in rulebook.rules()]
        hint = did_you_mean(name, names)
        if "." in name and hint is None:
            hint = "a rule of a description of your own: its message and help say what to do"
        raise Failure(
            f"no diagnostic and nothing of the library is called {name}"
            + (f"; {hint}" if hint else "")
        )
    print(text, end="")
    return FINE
