"""What the commands share: exit codes, reading files, naming evaluators and values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from hwdsl.diagnostics import Diagnostics
    from hwdsl.evaluator import Evaluator, Module

FINE, WRONG_DESCRIPTION, WRONG_CALL, BUG, INTERRUPTED = 0, 1, 2, 70, 130


class Failure(Exception):
    """Ends a command with a message for the user and an exit code."""

    def __init__(self, message: str, code: int = WRONG_CALL) -> None:
        super().__init__(message)
        self.code = code


def commands() -> Mapping[str, str]:
    """The commands with a line about each; `NAME` lives in the module `hwdsl.cli.NAME_`."""
    return {
        "check": "say whether files are right and can be built",
        "fmt": "rewrite files in the canonical form",
        "compile": "build the evaluators of a file",
        "run": "evaluate one design point",
        "sweep": "evaluate a grid of design points into a table",
        "sample": "draw uncertain params and say how the outputs are distributed",
        "validate": "predict the rows of measured tables and say how far off",
        "fit": "fit coefficients of a file to a measured table",
        "report": "draw the figures and tables of a file",
        "why": "show how an output comes about, with numbers and lines",
        "verify": "evaluate the claims of files",
        "explain": "explain a diagnostic",
        "new": "write a starter file",
        "cache": "show or clear the kernel cache",
        "doctor": "look at the installation",
    }


def file_argument(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    """Add FILE (or FILE…) to a command."""
    parser.add_argument(
        "files" if many else "file",
        nargs="+" if many else None,
        metavar="FILE",
        help="or a folder: all .hw files below it" if many else None,
    )


def listed(names: Sequence[str]) -> list[str]:
    """The files named, a folder standing for all .hw files below it, in the order of their names.

    A folder without any ends the command.
    """
    found: list[str] = []
    for name in names:
        if not Path(name).is_dir():
            found.append(name)
            continue
        below = sorted(str(path) for path in Path(name).rglob("*.hw"))
        if not below:
            raise Failure(f"there are no .hw files below {name}")
        found += below
    return found


def target_argument(parser: argparse.ArgumentParser) -> None:
    """Add FILE[:EVALUATOR] to a command."""
    parser.add_argument("target", metavar="FILE[:EVALUATOR]")


def split_target(target: str) -> tuple[str, str | None]:
    """Split FILE:EVALUATOR; a name after the last colon counts only if it is one."""
    path, colon, name = target.rpartition(":")
    if colon and path and name.isidentifier():
        return path, name
    return target, None


def load_module(path: str, *, compiled: bool | None = None) -> Module:
    """Load a file for evaluation, built where that pays unless it is asked for.

    A wrong file prints its diagnostics and ends the command.
    """
    from hwdsl.codegen.build import BuildError
    from hwdsl.evaluator import DescriptionError, load

    try:
        module = load(Path(path), compiled=compiled)
    except BuildError as error:
        raise Failure(str(error), WRONG_DESCRIPTION) from None
    except DescriptionError as error:
        report(error.diagnostics, sys.stderr)
        raise Failure(f"{path} has errors", WRONG_DESCRIPTION) from None
    report(module.diagnostics, sys.stderr)
    return module


def load_evaluator(target: str) -> Evaluator:
    """Load the evaluator that FILE[:EVALUATOR] names, or the file's only one."""
    path, name = split_target(target)
    module = load_module(path)
    return module.evaluators[chosen_evaluator(module, name)]


def chosen_evaluator(module: Module, name: str | None) -> str:
    """The evaluator that is named, or the file's only one."""
    path, names = module.path, list(module.evaluators)
    if not names:
        raise Failure(f"{path} has no evaluator", WRONG_DESCRIPTION)
    if name is None and len(names) > 1:
        raise Failure(
            f"{path} has several evaluators: write {path}:NAME, NAME one of {_list(names)}"
        )
    chosen = name or names[0]
    if chosen not in names:
        raise Failure(f"{path} has no evaluator {chosen}; it has {_list(names)}")
    return chosen


def assignments(words: Sequence[str]) -> dict[str, str]:
    """Read `name=value` words."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise Failure(f"`{word}` is not of the form name=value")
        if name in values:
            raise Failure(f"{name} is given twice")
        values[name] = value.strip()
    return values


def report(diagnostics: Diagnostics, stream: TextIO) -> None:
    """Print diagnostics for people."""
    if diagnostics.items:
        from hwdsl.render import palette_for, render_text

        print(render_text(diagnostics.items, palette_for(stream)), file=stream)


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Lay out rows in columns; those whose number is in `right` are set flush right."""
    if not rows:
        return ""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            c.rjust(w) if i in right else c.ljust(w)
            for i, (c, w) in enumerate(zip(r, widths, strict=True))
        ).rstrip()
        for r in rows
    )


def number(value: float) -> str:
    """A number as people read it: six digits, no exponent where it is short without."""
    return f"{value:.6g}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
