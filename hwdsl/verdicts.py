"""Verdicts for people: numbers with their units, and the claims of a file as Markdown.

Input: a checked file and its verdicts by claim. Output: text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hwdsl.elaborate import Verdict
from hwdsl.semantics.symbols import Checked, ClaimInfo
from hwdsl.syntax import ast

_HEAD = "| expectation | published | computed | difference | within | status |"
_LINE = "| --- | ---: | ---: | ---: | ---: | --- |"
_NOTHING = 1e-9
"""Relative difference below which two numbers are the same but for rounding."""


def heading(names: Sequence[str]) -> str:
    """Title of the page about the files `names`, with the command that writes it."""
    return (
        "# Claims, published and computed\n\n"
        "The claims of the files named below, a chapter for each. To write this again:\n\n"
        f"    hwdsl verify --format markdown {' '.join(names)} > docs/studies.md\n\n"
        "An identity follows from what was put in, a calibration was fitted, and what is assumed\n"
        "rests on more than its source says; all others are claims. An ordering has no published\n"
        "number.\n"
    )


def markdown(name: str, checked: Checked, found: Mapping[str, Sequence[Verdict]]) -> str:
    """The claims of the file `name`: where each comes from, how sure it is, and its verdicts."""
    parts = [f"## {name}"]
    for claim, verdicts in found.items():
        info = checked.main.values[claim]
        assert isinstance(info, ClaimInfo)
        parts += [f"### {claim}", *_origin(info.decl)]
        parts.append("\n".join([_HEAD, _LINE, *map(_row, verdicts)]))
    return "\n\n".join(parts) + "\n"


def shown(verdict: Verdict, value: float | None, digits: int = 6) -> str:
    """A number in the unit of the verdict; empty where there is none."""
    if value is None:
        return ""
    unit = "" if verdict.unit.name == "1" else f" {verdict.unit.name}"
    return f"{verdict.unit.from_base(value):.{digits}g}{unit}"


def tolerance(verdict: Verdict) -> str:
    """How far the two may lie apart; empty for an ordering."""
    if verdict.tolerance is None:
        return ""
    if verdict.mode == "absolute":
        return shown(verdict, verdict.tolerance)
    if verdict.mode == "factor":
        return f"factor {verdict.tolerance:.6g}"
    return f"{100 * verdict.tolerance:.6g} %"


def _origin(claim: ast.Claim) -> list[str]:
    """Paragraphs: what the claim says, its sources, what it takes for granted, how sure it is."""
    sources = [m.text for m in claim.members if isinstance(m, ast.SourceNote)]
    assumed = [m.text for m in claim.members if isinstance(m, ast.Assume)]
    words = [claim.doc, *sources, *assumed]
    stated = [w for w in map(_confidence, words) if w]
    sure = ", ".join(dict.fromkeys(stated)) or "not stated"
    lines = [
        *(f"Source: {_plain(text)}" for text in sources),
        *(f"Assumed: {_plain(text)}" for text in assumed),
        f"Confidence: {sure}",
    ]
    return [*filter(None, [_plain(claim.doc)]), "\n".join(f"- {line}" for line in lines)]


def _confidence(text: str) -> str:
    """The word after `confidence`, as facts of the library say it; empty without one."""
    _, _, rest = text.partition("confidence ")
    return rest.split()[0].strip(".,;:)") if rest.split() else ""


def _row(verdict: Verdict) -> str:
    cells = [
        f"`{' '.join(verdict.text.split()).replace('|', chr(92) + '|')}`",
        # Of an ordering, the right side is no published number.
        shown(verdict, verdict.expected, 4) if verdict.tolerance is not None else "",
        shown(verdict, verdict.got, 4),
        _difference(verdict),
        tolerance(verdict),
        _status(verdict),
    ]
    return f"| {' | '.join(cells)} |"


def _difference(verdict: Verdict) -> str:
    """Computed less published over published, in percent; of an ordering nothing."""
    if verdict.tolerance is None or not verdict.expected or verdict.got is None:
        return ""
    apart = verdict.got / verdict.expected - 1
    return "0 %" if abs(apart) < _NOTHING else f"{100 * apart:+.2g} %"


def _status(verdict: Verdict) -> str:
    """What became of it, and what it is unless it is a claim of the world."""
    said = "reproduced" if verdict.ok else "**missed**"
    kind = f"{verdict.status}, " if verdict.status else ""
    note = f": {_plain(verdict.note)}" if verdict.note else ""
    return f"{kind}{said}{note}"


def _plain(text: str) -> str:
    """Text in one line that does not break a table."""
    return " ".join(text.split()).replace("|", "\\|")
