"""`hwdsl verify FILE…`: the claims of files, published beside reproduced."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, file_argument, listed, number, report, table

if TYPE_CHECKING:
    from hwdsl.elaborate import Verdict


_HEADER = ["", "status", "published", "reproduced", "within", "expectation", ""]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)


def run(options: argparse.Namespace) -> int:
    """Print each expectation with its verdict; 1 if one is missed, whatever its status.

    Claims, which say something of the world, are counted apart from what does not.
    """
    from hwdsl import driver
    from hwdsl.diagnostics import Diagnostics

    code = FINE
    claims, others = [0, 0], [0, 0]  # missed, reproduced
    for name in listed(options.files):
        diagnostics = Diagnostics()
        checked = driver.check(Path(name), diagnostics)
        if checked is None or diagnostics.failed:
            report(diagnostics, sys.stderr)
            code = WRONG_DESCRIPTION
            continue
        for claim, verdicts in driver.verify(checked, diagnostics).items():
            print(f"{name}: {claim}")
            print(table([_HEADER, *map(_row, verdicts)], right=[2, 3]))
            for verdict in verdicts:
                (others if verdict.status else claims)[verdict.ok] += 1
                if not verdict.ok:
                    code = WRONG_DESCRIPTION
        report(diagnostics, sys.stderr)
    print(f"claims: {claims[1]} reproduced, {claims[0]} missed")
    if any(others):
        print(f"identities, calibrations, what rests on assumptions: {others[1]} hold, ", end="")
        print(f"{others[0]} missed")
    return code


def _row(verdict: Verdict) -> list[str]:
    """A line of the table, as `_HEADER` names it."""
    return [
        "  ok" if verdict.ok else "  MISS",
        verdict.status or "claim",
        _shown(verdict, verdict.expected),
        _shown(verdict, verdict.got),
        _tolerance(verdict),
        " ".join(verdict.text.split()),
        verdict.note,
    ]


def _tolerance(verdict: Verdict) -> str:
    if verdict.tolerance is None:
        return ""
    if verdict.mode == "absolute":
        return _shown(verdict, verdict.tolerance)
    size = number(verdict.tolerance)
    return f"factor {size}" if verdict.mode == "factor" else f"{number(100 * verdict.tolerance)} %"


def _shown(verdict: Verdict, value: float | None) -> str:
    if value is None:
        return ""
    unit = "" if verdict.unit.name == "1" else f" {verdict.unit.name}"
    return number(verdict.unit.from_base(value)) + unit
