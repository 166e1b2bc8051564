"""`hwdsl verify FILE…`: the claims of files, published beside reproduced."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import code_of, file_argument, format_argument, listed, report, table
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION

if TYPE_CHECKING:
    from hwdsl.base.diagnostics import Diagnostic
    from hwdsl.elaborate import ClaimResult
    from hwdsl.semantics.symbols import Checked


_HEADER = ["", "status", "published", "computed", "difference", "within", "baseline",
           "expectation", ""]  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    format_argument(parser, "markdown")


def run(options: argparse.Namespace) -> int:
    """Print each expectation with its verdict; 1 if one does not come out as its file says.

    That is one that is missed, whatever its status, unless the file says `missed` and why; and one
    that holds where the file says so. Claims, which say something of the world, are counted apart.
    """
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.show.claim_report import heading, markdown

    code = FINE
    seen: list[ClaimResult] = []
    told: list[tuple[str, Checked, str, list[ClaimResult]]] = []
    wrong: list[Diagnostic] = []
    names = listed(options.files)
    if options.format == "markdown":
        print(heading(names))
    for name in names:
        diagnostics = Diagnostics()
        checked = driver.check(Path(name), diagnostics)
        if checked is None or diagnostics.failed:
            report(diagnostics, sys.stderr)
            wrong += diagnostics.items
            code = max(code, code_of(diagnostics))
            continue
        found = driver.check_claims(checked, diagnostics)
        if options.format == "markdown" and found:
            print(markdown(name, checked, found))
        for claim, verdicts in found.items():
            if options.format == "text":
                _print(f"{name}: {claim}", checked, claim, verdicts)
            told.append((name, checked, claim, verdicts))
            seen += verdicts
        code = max(code, code_of(diagnostics))
        report(diagnostics, sys.stderr)
        wrong += diagnostics.items
    if options.format == "text":
        _count(seen)
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.verify(told, wrong))
    return code if all(v.as_expected for v in seen) else max(code, WRONG_DESCRIPTION)


def _print(title: str, checked: Checked, claim: str, verdicts: list[ClaimResult]) -> None:
    """Print a claim: its sources, and its verdicts as a table."""
    from hwdsl.semantics.symbols import ClaimInfo
    from hwdsl.show.claim_report import source_notes

    info = checked.main.values[claim]
    assert isinstance(info, ClaimInfo)
    print(title)
    for line in source_notes(info):
        print(f"  {line}")
    print(table([_HEADER, *map(_row, verdicts)], right=[2, 3, 4, 6]))


def _count(seen: list[ClaimResult]) -> None:
    """Print how many hold and how many are missed: claims, then all that is none."""
    claims = [v for v in seen if not v.status]
    others = [v for v in seen if v.status]
    print(f"claims: {_tally(claims, 'reproduced')}")
    if others:
        print("identities, calibrations, what rests on assumptions or sources of low confidence,")
        print("and what has no baseline or is no better than it:")
        print(f"  {_tally(others, 'hold')}")


def _tally(seen: list[ClaimResult], word: str) -> str:
    """How many hold, in that word, and how many are missed."""
    missed = sum(not v.ok and not v.missed for v in seen)
    told = sum(not v.ok and bool(v.missed) for v in seen)
    text = f"{sum(v.ok for v in seen)} {word}, {missed} missed"
    return f"{text}, {told} missed for the reason given" if told else text


def _row(verdict: ClaimResult) -> list[str]:
    """A line of the table, as `_HEADER` names it."""
    from hwdsl.show.claim_report import (
        baseline_text,
        computed_text,
        difference,
        notes,
        published_text,
        status_text,
        tolerance,
    )

    return [
        f"  {status_text(verdict)}",
        verdict.status or "claim",
        published_text(verdict),
        computed_text(verdict, verdict.got),
        difference(verdict),
        tolerance(verdict),
        baseline_text(verdict),
        " ".join(verdict.text.split()),
        notes(verdict),
    ]
