"""`hwdsl explain NAME`: the page of a diagnostic, a name of the library, a term or a word."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from hwdsl.cli.base import format_argument
from hwdsl.cli.errors import FINE, CommandError

if TYPE_CHECKING:
    from hwdsl.help.page import Page

SURE = 0.75
"""How much alike a name must be to be suggested: a hint that misleads is worse than none."""

OF_THE_LIBRARY = (
    "of the library: a folder (std, vendor, workloads, peers, studies), a module (vendor.nvidia), "
    "a name (die), a member or a rule (die.reticle)"
)
OF_THE_LANGUAGE = "of the language: a keyword (with), a function (lowest), a unit (TB/s)"
OF_THE_FIELD = "of the glossary: a term (TTFT, KV cache), or all of them (glossary)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "name",
        nargs="*",
        metavar="NAME",
        help=f"of a diagnostic (without it, all are listed), {OF_THE_LIBRARY}, "
        f"{OF_THE_LANGUAGE}, or {OF_THE_FIELD}; any other words are looked for",
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "--sources",
        action="store_true",
        help="count numbers by kind, year and confidence of their sources; NAME is a folder or "
        "module of the library, or a file; without it, the whole library",
    )
    asked.add_argument(
        "--confidence",
        choices=("low", "medium", "high", "none", "assumed"),
        help="list the numbers of that confidence, with their sources; none: without a source; "
        "assumed: what no source states",
    )
    format_argument(parser, "markdown")


def run(options: argparse.Namespace) -> int:
    """Print a page, or the list of names with their summaries."""
    from hwdsl.cli.base import table
    from hwdsl.help import explain as pages
    from hwdsl.help.diagnostic_catalog import CATALOG

    if options.sources or options.confidence is not None:
        from hwdsl.cli import sources

        names = options.name
        if options.format == "json":
            from hwdsl.cli import jsons

            jsons.write(jsons.sources(sources.those_of(names, options.confidence or "all")))
            return FINE
        print(
            sources.counts(names)
            if options.sources
            else sources.of_confidence(names, options.confidence)
        )
        return FINE
    name = " ".join(options.name)
    if options.format == "markdown":
        if name != "glossary":
            raise CommandError("`--format markdown` is for the glossary: `hwdsl explain glossary`")
        from hwdsl.help.glossary import markdown

        print(markdown(), end="")
        return FINE
    if not options.name:
        if options.format == "json":
            _write(pages.diagnostics())
            return FINE
        print(table([list(item) for item in CATALOG.items()]))
        print(f"\nand {OF_THE_LIBRARY}, {OF_THE_LANGUAGE}, or {OF_THE_FIELD}")
        return FINE
    page = pages.explain(name) or (None if "." in name else pages.near(name))
    if page is None:
        raise CommandError(_unknown(name))
    if options.format == "json":
        _write(page)
        return FINE
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    _show(pages.render(page, width))
    return FINE


def _write(page: Page) -> None:
    from hwdsl.cli import jsons

    jsons.write(jsons.explained(page))


def _unknown(name: str) -> str:
    """What to say of a name that nothing has."""
    from hwdsl.base.diagnostics import closest
    from hwdsl.help import explain as pages
    from hwdsl.help.diagnostic_catalog import CATALOG

    hint = pages.members_help(name)
    if hint is None:
        close = closest(name, [*CATALOG, *pages.names()], SURE)
        hint = f"did you mean `{close}`?" if close is not None else None
    hint = hint or (
        "a rule of a description of your own says in its message and help what to do"
        if "." in name
        else "`hwdsl explain std` lists what the library holds"
    )
    return f"no diagnostic and nothing of the library or the language is called {name}; {hint}"


def _show(text: str) -> None:
    """Print a page; on a terminal that it does not fit, through the pager."""
    if sys.stdout.isatty() and text.count("\n") >= shutil.get_terminal_size().lines:
        import pydoc

        pydoc.pager(text)
    else:
        print(text, end="")
