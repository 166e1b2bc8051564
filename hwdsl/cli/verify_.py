"""`hwdsl verify FILE…`: the claims of files, published beside reproduced."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, file_argument, listed, report, table

if TYPE_CHECKING:
    from hwdsl.elaborate import Verdict


_HEADER = ["", "status", "published", "reproduced", "within", "expectation", ""]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    parser.add_argument(
        "--format",
        choices=["text", "markdown"],
        default="text",
        help="markdown also says where each claim comes from and how sure it is",
    )


def run(options: argparse.Namespace) -> int:
    """Print each expectation with its verdict; 1 if one is missed, whatever its status.

    Claims, which say something of the world, are counted apart from what does not.
    """
    from hwdsl import driver
    from hwdsl.diagnostics import Diagnostics
    from hwdsl.verdicts import heading, markdown

    code = FINE
    claims, others = [0, 0], [0, 0]  # missed, reproduced
    names = listed(options.files)
    if options.format == "markdown":
        print(heading(names))
    for name in names:
        diagnostics = Diagnostics()
        checked = driver.check(Path(name), diagnostics)
        if checked is None or diagnostics.failed:
            report(diagnostics, sys.stderr)
            code = WRONG_DESCRIPTION
            continue
        found = driver.verify(checked, diagnostics)
        if options.format == "markdown" and found:
            print(markdown(name, checked, found))
        for claim, verdicts in found.items():
            if options.format == "text":
                print(f"{name}: {claim}")
                print(table([_HEADER, *map(_row, verdicts)], right=[2, 3]))
            for verdict in verdicts:
                (others if verdict.status else claims)[verdict.ok] += 1
                if not verdict.ok:
                    code = WRONG_DESCRIPTION
        report(diagnostics, sys.stderr)
    if options.format == "markdown":
        return code
    print(f"claims: {claims[1]} reproduced, {claims[0]} missed")
    if any(others):
        print(f"identities, calibrations, what rests on assumptions: {others[1]} hold, ", end="")
        print(f"{others[0]} missed")
    return code


def _row(verdict: Verdict) -> list[str]:
    """A line of the table, as `_HEADER` names it."""
    from hwdsl.verdicts import shown, tolerance

    return [
        "  ok" if verdict.ok else "  MISS",
        verdict.status or "claim",
        shown(verdict, verdict.expected),
        shown(verdict, verdict.got),
        tolerance(verdict),
        " ".join(verdict.text.split()),
        verdict.note,
    ]
