"""`hwdsl verify FILE…`: the claims of files, published beside reproduced."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, file_argument, number, report, table

if TYPE_CHECKING:
    from hwdsl.elaborate import Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)


def run(options: argparse.Namespace) -> int:
    """Print each expectation with its verdict; 1 if one is missed, whatever its status."""
    from hwdsl import driver
    from hwdsl.diagnostics import Diagnostics

    code, counts = FINE, {"reproduced": 0, "missed": 0}
    for name in options.files:
        diagnostics = Diagnostics()
        checked = driver.check(Path(name), diagnostics)
        if checked is None or diagnostics.failed:
            report(diagnostics, sys.stderr)
            code = WRONG_DESCRIPTION
            continue
        for claim, verdicts in driver.verify(checked, diagnostics).items():
            print(f"{name}: {claim}")
            print(table([["  " + c if i == 0 else c for i, c in enumerate(_row(v))]
                         for v in verdicts], right=[2, 3]))  # fmt: skip
            for verdict in verdicts:
                if not verdict.status:
                    counts["reproduced" if verdict.ok else "missed"] += 1
                if not verdict.ok:
                    code = WRONG_DESCRIPTION
        report(diagnostics, sys.stderr)
    print(f"claims: {counts['reproduced']} reproduced, {counts['missed']} missed", end=" ")
    print("(identities, calibrations and what rests on assumptions are not counted)")
    return code


def _row(verdict: Verdict) -> list[str]:
    """Verdict, status, published, reproduced, tolerance, text."""
    return [
        "ok" if verdict.ok else "MISS",
        verdict.status or "claim",
        _shown(verdict, verdict.expected),
        _shown(verdict, verdict.got),
        " ".join(verdict.text.split()),
        verdict.note,
    ]


def _shown(verdict: Verdict, value: float | None) -> str:
    if value is None:
        return ""
    unit = "" if verdict.unit.name == "1" else f" {verdict.unit.name}"
    return number(verdict.unit.from_base(value)) + unit
