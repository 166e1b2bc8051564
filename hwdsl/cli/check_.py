"""`hwdsl check FILE…`: diagnostics of files as text, JSON lines or SARIF."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, code_of, file_argument, listed

if TYPE_CHECKING:
    from hwdsl.diagnostics import Diagnostics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    parser.add_argument("--format", choices=["text", "json", "sarif"], default="text")
    parser.add_argument("--warnings", action="store_true", help="fail on warnings too")
    parser.add_argument(
        "--undecided", action="store_true", help="show rules that need a number nobody knows"
    )


def run(options: argparse.Namespace) -> int:
    """Check the files, print what was found, say by the exit code whether there were errors."""
    import hwdsl
    from hwdsl import driver
    from hwdsl.catalog import CATALOG
    from hwdsl.cli.streams import write_painted
    from hwdsl.diagnostics import Diagnostics
    from hwdsl.render import palette_for, render_json, render_sarif, render_text

    diagnostics = Diagnostics()
    definitions = questions = 0
    names = listed(options.files)
    for name in names:
        found = Diagnostics()
        checked = driver.check(Path(name), found)
        if checked is not None and not found.failed:
            driver.elaborate(checked, found)  # optimising has nothing to say to the user
        if checked is not None:
            definitions += len(checked.main.tree.items)
            questions += len(driver.evaluators(checked))
        for item in found.items:
            diagnostics.add(item)
        for note in found.undecided:
            diagnostics.leave(note)
    if options.format == "json":
        sys.stdout.write(render_json([*diagnostics.items, *diagnostics.undecided]))
    elif options.format == "sarif":
        sys.stdout.write(render_sarif(diagnostics.items, CATALOG, hwdsl.__version__))
    else:
        shown = [*diagnostics.items, *(diagnostics.undecided if options.undecided else ())]
        if shown:
            write_painted(render_text(shown, palette_for(sys.stdout)), sys.stdout)
        counts = [_count(len(names), "file"), _count(definitions, "definition"),
                  _count(questions, "evaluator")]  # fmt: skip
        print(f"{', '.join(counts)}: {_verdict(diagnostics)}")
    code = code_of(diagnostics)
    return WRONG_DESCRIPTION if code == FINE and options.warnings and diagnostics.items else code


def _verdict(diagnostics: "Diagnostics") -> str:
    """How many errors and warnings there are."""
    from hwdsl.diagnostics import Severity

    errors = sum(d.severity is Severity.ERROR for d in diagnostics.items)
    warnings = len(diagnostics.items) - errors
    found = [_count(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    verdict = ", ".join(found) or "no errors, no warnings"
    left = len(diagnostics.undecided)
    if left:
        verdict += f"; {_count(left, 'rule')} undecided (--undecided)"
    return verdict


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
