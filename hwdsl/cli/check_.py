"""`hwdsl check FILE…`: diagnostics of files as text, JSON lines or SARIF."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    code_of,
    file_argument,
    format_argument,
    listed,
    named,
    report,
    split_target,
)
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION, CommandError

if TYPE_CHECKING:
    from hwdsl.base.diagnostics import Diagnostic, Diagnostics
    from hwdsl.elaborate import Elaboration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser, many=True)
    format_argument(parser, "sarif")
    parser.add_argument("--warnings", action="store_true", help="fail on warnings too")
    parser.add_argument(
        "--undecided", action="store_true", help="show rules that need a number nobody knows"
    )
    parser.add_argument(
        "--needs", action="store_true",
        help="list the values that FILE:EVALUATOR (or each of a file's) reads and nobody gives",
    )  # fmt: skip
    parser.add_argument(
        "--unread", action="store_true",
        help="list all that the files say of components and none of their evaluators reads",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Check the files, print what was found, say by the exit code whether there were errors."""
    import hwdsl
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.base.render import palette_for, render_text, render_undecided
    from hwdsl.cli.streams import write_painted

    if options.needs:
        return _needs(options)
    if options.unread:
        return _unread(options)
    diagnostics = Diagnostics()
    definitions = questions = 0
    names = listed(options.files)
    for name in names:
        findings = driver.findings(Path(name))
        definitions += findings.definitions
        questions += findings.evaluators
        diagnostics.take(findings.found)
    asked = diagnostics.undecided if options.undecided else []
    if options.format == "json":
        from hwdsl.cli.jsons import render_json

        sys.stdout.write(render_json([*diagnostics.items, *asked]))
    elif options.format == "sarif":
        from hwdsl.cli.sarif import render_sarif
        from hwdsl.help.diagnostic_catalog import CATALOG

        sys.stdout.write(render_sarif(diagnostics.items, CATALOG, hwdsl.__version__))
    else:
        palette = palette_for(sys.stdout)
        if diagnostics.items:
            write_painted(render_text(diagnostics.items, palette), sys.stdout)
        if asked:
            write_painted(render_undecided(asked, palette), sys.stdout)
        counts = [_count(len(names), "file"), _count(definitions, "definition"),
                  _count(questions, "evaluator")]  # fmt: skip
        print(f"{', '.join(counts)}: {_verdict(diagnostics)}")
    code = code_of(diagnostics)
    return WRONG_DESCRIPTION if code == FINE and options.warnings and diagnostics.items else code


def _unread(options: argparse.Namespace) -> int:
    """Print what files say of components and nothing reads, waived or not."""
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.base.render import palette_for, render_text
    from hwdsl.cli.streams import write_painted

    if options.format == "sarif":
        raise CommandError("--unread is printed as text or json")
    names = listed(options.files)
    found = driver.unread([Path(name) for name in names], diagnostics := Diagnostics())
    wrong = diagnostics.items if diagnostics.failed else []
    if options.format == "json":
        from hwdsl.cli.jsons import render_json

        sys.stdout.write(render_json([*wrong, *found]))
    else:
        if wrong or found:
            write_painted(render_text([*wrong, *found], palette_for(sys.stdout)), sys.stdout)
        if not wrong:
            print(f"{_count(len(names), 'file')}: {len(found) or 'nothing'} unread")
    return code_of(diagnostics)


def _needs(options: argparse.Namespace) -> int:
    """Print what evaluators lack: values that nobody knows, params without a default."""
    from hwdsl.api import driver
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.cli import jsons

    if options.format == "sarif":
        raise CommandError("--needs is printed as text or json")
    code = FINE
    targets = [split_target(target) for target in options.files]
    for path, name in [(path, name) for each, name in targets for path in listed([each])]:
        found = Diagnostics()
        checked = driver.check(Path(path), found)
        if checked is None or found.failed:
            report(found, sys.stderr)
            code = max(code, code_of(found))
            if options.format == "json":
                jsons.write_failure(CommandError(f"{path} is wrong", code_of(found), found.items))
            continue
        known = driver.evaluators(checked)
        for each in known if name is None else [named(path, "evaluator", name, known)]:
            elaborated = driver.elaborate(checked, found := Diagnostics(), only=each)[each]
            missing, params, others = _needed(elaborated, found)
            if options.format == "json":
                jsons.write_needs(each, missing, params, others)
            else:
                print(_lacking(each, missing, params, others))
            code = max(code, code_of(found))
    return code


def _needed(of: "Elaboration", found: "Diagnostics") -> "tuple[list[Diagnostic], list[str], int]":
    """The values that an evaluator lacks, its params without a default, the number of other
    errors."""
    from hwdsl.base.diagnostics import Severity

    missing = [d for d in found.items if d.missing]
    others = sum(d.severity is Severity.ERROR and not d.missing for d in found.items)
    return missing, [p.name for p in of.params if p.default is None], others


def _lacking(name: str, missing: "list[Diagnostic]", params: "list[str]", others: int) -> str:
    """What an evaluator needs, a value each: why, where it is read, the line to write."""
    lines = [f"{name} needs {_count(len(missing), 'value')} that nobody gives"]
    for item in missing:
        read = item.reading
        lines.append(f"  {item.message}\n    {read.text or 'read'}: {read.span}\n    {item.help}")
    if not missing:
        lines = [f"{name} needs no value that is not known"]
    if params:
        lines.append(f"  to be given in each call: {', '.join(params)}")
    if others:
        lines.append(f"  {_count(others, 'other error')}: hwdsl check shows them")
    return "\n".join(lines)


def _verdict(diagnostics: "Diagnostics") -> str:
    """How many errors and warnings there are."""
    from hwdsl.base.diagnostics import Severity

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
