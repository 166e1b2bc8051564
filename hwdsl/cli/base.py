"""What the commands share: reading files, naming evaluators and values."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from hwdsl.cli.errors import FINE, WRONG_CALL, WRONG_DESCRIPTION, CommandError
from hwdsl.cli.streams import write_painted

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator, Module
    from hwdsl.base.diagnostics import Diagnostics


class Command(NamedTuple):
    """What the help says of a command: its purpose in a line, and a call as an example."""

    purpose: str
    example: str


def commands() -> Mapping[str, Command]:
    """The commands; `NAME` lives in the module `hwdsl.cli.NAME_`."""
    return {
        "check": Command(
            "say whether files are right and can be built", "hwdsl check decode.hw --warnings"
        ),
        "fmt": Command("rewrite files in the canonical form", "hwdsl fmt --check decode.hw"),
        "compile": Command("build the evaluators of a file", "hwdsl compile decode.hw -o module"),
        "run": Command(
            "evaluate one design point", 'hwdsl run decode.hw:decode bandwidth="4.8 TB/s" batch=32'
        ),
        "sweep": Command(
            "evaluate a grid of design points into a table",
            'hwdsl sweep decode.hw bandwidth="1..10 TB/s:19" batch=1,8,64 -o out.parquet',
        ),
        "sample": Command(
            "draw uncertain params and say how the outputs are distributed",
            "hwdsl sample price.hw -n 1M --seed 7",
        ),
        "solve": Command(
            "find the value of a param at which an output meets a target",
            'hwdsl solve decode.hw:decode bandwidth for throughput="5000 token/s" batch=32',
        ),
        "uncertainty": Command(
            "say which uncertain params matter, and what it is worth to know them",
            "hwdsl uncertainty price.hw --minimize price --against design=other",
        ),
        "optimize": Command(
            "search for the best design of a space",
            'hwdsl optimize decode.hw:decode maximize=throughput batch=1..256 "latency <= 50 ms"',
        ),
        "validate": Command(
            "predict the rows of measured tables and say how far off",
            "hwdsl validate measured.hw --rows",
        ),
        "fit": Command(
            "fit coefficients of a file to a measured table",
            "hwdsl fit link.hw times.csv -o fitted.hw",
        ),
        "report": Command(
            "draw the figures and tables of a file", "hwdsl report decode.hw -o pages"
        ),
        "why": Command(
            "show how an output comes about, with numbers and lines",
            "hwdsl why decode.hw:decode throughput batch=32",
        ),
        "verify": Command("evaluate the claims of files", "hwdsl verify study.hw"),
        "explain": Command(
            "explain a diagnostic, or what the library holds", "hwdsl explain unit-mismatch"
        ),
        "new": Command("write a starter file", "hwdsl new decode.hw"),
        "cache": Command("show or clear what is kept on disk", "hwdsl cache clear"),
        "doctor": Command("look at the installation", "hwdsl doctor"),
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
        if not os.path.isdir(name):  # a name may be longer than the system takes
            found.append(name)
            continue
        below = sorted(str(path) for path in Path(name).rglob("*.hw"))
        if not below:
            raise CommandError(f"there are no .hw files below {name}")
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


def data_file(name: str) -> Path:
    """A file of data by its name; one that there is not ends the command."""
    path = Path(name)
    if not os.path.exists(path):
        from hwdsl.base.diagnostics import did_you_mean

        hint = did_you_mean(path.name, [p.name for p in path.parent.glob(f"*{path.suffix}")])
        raise CommandError(
            f"cannot read {path}: No such file or directory" + (f"; {hint}" * bool(hint))
        )
    return path


def load_module(path: str, *, compiled: bool | None = None) -> Module:
    """Load a file for evaluation, built where that pays unless it is asked for.

    A wrong file prints its diagnostics and ends the command.
    """
    from hwdsl.api.evaluator import DescriptionError, load
    from hwdsl.codegen.build.toolchain import BuildError

    try:
        module = load(Path(path), compiled=compiled)
    except BuildError as error:
        raise CommandError(str(error)) from None
    except DescriptionError as error:
        if unreadable(error.diagnostics):
            said = error.diagnostics.items[0]
            hint = f"; {said.help}" if said.help else ""
            raise CommandError(f"{said.message}{hint}", WRONG_CALL, [said]) from None
        report(error.diagnostics, sys.stderr)
        found = error.diagnostics.items
        raise CommandError(f"{path} has errors", WRONG_DESCRIPTION, found) from None
    _report_warnings(path, module.diagnostics)
    return module


def _report_warnings(path: str, found: Diagnostics) -> None:
    """Print what concerns the values of a file, and how much there is to say of its text."""
    from hwdsl.base.diagnostics import OF_THE_TEXT, Diagnostics

    values = [d for d in found.items if d.name not in OF_THE_TEXT]
    report(Diagnostics(values), sys.stderr)
    left = len(found.items) - len(values)
    if left:
        warnings = "1 warning" if left == 1 else f"{left} warnings"
        print(f"{warnings} about the text: hwdsl check {path}", file=sys.stderr)


def unreadable(diagnostics: Diagnostics) -> bool:
    """Whether a file that is named in the call cannot be read: then the call is wrong."""
    return any(d.name == "unreadable-file" and not d.labels for d in diagnostics.items)


def code_of(diagnostics: Diagnostics) -> int:
    """The exit code for what was found of a file that the call names."""
    if unreadable(diagnostics):
        return WRONG_CALL
    return WRONG_DESCRIPTION if diagnostics.failed else FINE


def load_evaluator(target: str) -> Evaluator:
    """Load the evaluator that FILE[:EVALUATOR] names, or the file's only one."""
    path, name = split_target(target)
    module = load_module(path)
    return module.evaluators[chosen_evaluator(module, name)]


def chosen_evaluator(module: Module, name: str | None) -> str:
    """The evaluator that is named, or the file's only one."""
    path, names = module.path, list(module.evaluators)
    if not names:
        raise CommandError(f"{path} has no evaluator", WRONG_DESCRIPTION)
    if name is None and len(names) > 1:
        raise CommandError(
            f"{path} has several evaluators: write {path}:NAME, NAME one of {_list(names)}"
        )
    return named(path, "evaluator", name or names[0], names)


def named(path: object, what: str, name: str, known: Iterable[str]) -> str:
    """A name that there is among those of a file; another one ends the command."""
    from hwdsl.base.diagnostics import did_you_mean

    names = list(known)
    if name not in names:
        hint = did_you_mean(name, names) or f"it has {_list(names) or 'none'}"
        raise CommandError(f"{path} has no {what} {name}; {hint}")
    return name


def format_argument(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add `--format` to a command: text, what `others` name, json."""
    parser.add_argument(
        "--format", choices=["text", *others, "json"], default="text",
        help="json is for programs: docs/json.md says what stands in it",
    )  # fmt: skip


def where_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--where` to a command."""
    parser.add_argument(
        "--where", action="append", default=[], metavar="CONDITION",
        help="keep the points that fit: feasible, or NAME >= VALUE (or <=, ==, !=, <, >)",
    )  # fmt: skip


def reduction_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for something else than rows, which `hwdsl.cli.reduced` reads."""
    parser.add_argument(
        "--best", metavar="NAME",
        help="only the feasible point with the most of it (min:NAME: the least)",
    )  # fmt: skip
    parser.add_argument("--top", type=int, metavar="N", help="with --best, so many points")
    parser.add_argument(
        "--by", metavar="NAME,NAME", help="with --best, a point (or N) for each value of these"
    )
    parser.add_argument(
        "--pareto", metavar="NAME,min:NAME", help="only the points that none beats in all of these"
    )
    parser.add_argument(
        "--distribution", metavar="NAME,NAME", help="quantiles of these over the feasible points"
    )
    parser.add_argument(
        "--histogram", metavar="NAME[:BINS]", help="feasible points by the value of it"
    )
    parser.add_argument(
        "--counts", action="store_true", help="points, feasible points, and points by broken rule"
    )


def assignments(words: Sequence[str]) -> dict[str, str]:
    """Read `name=value` words."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier() or not value:
            hint = 'quote a value that has a blank: `bandwidth="4.8 TB/s"`'
            raise CommandError(f"`{word}` is not of the form name=value; {hint}")
        if name in values:
            raise CommandError(f"{name} is given twice")
        values[name] = value.strip()
    return values


def report(diagnostics: Diagnostics, stream: TextIO) -> None:
    """Print diagnostics for people."""
    if diagnostics.items:
        from hwdsl.base.render import palette_for, render_text

        write_painted(render_text(diagnostics.items, palette_for(stream)), stream)


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Lay out rows in columns; those whose number is in `right` are set flush right."""
    if not rows:
        return ""
    from hwdsl.base.render import printable

    cells = [[printable(cell) for cell in row] for row in rows]  # each of them on one line
    widths = [max(len(r[i]) for r in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            c.rjust(w) if i in right else c.ljust(w)
            for i, (c, w) in enumerate(zip(r, widths, strict=True))
        ).rstrip()
        for r in cells
    )


def number(value: float) -> str:
    """A number as people read it: six digits, no exponent where it is short without."""
    return f"{value:.6g}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
