"""Verdicts for people: numbers with their units, and the claims of a file as Markdown.

Input: a checked file and its verdicts by claim. Output: text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hwdsl.elaborate import ClaimResult, confidence
from hwdsl.semantics.citations import CitedSource, cited
from hwdsl.semantics.symbols import Checked, ClaimInfo
from hwdsl.syntax import ast

_HEAD = "| expectation | published | computed | difference | within | baseline | status |"
_LINE = "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
_NOTHING = 1e-9
"""Relative difference below which two numbers are the same but for rounding."""


def heading(names: Sequence[str]) -> str:
    """Title of the page about the files `names`, with the command that writes it."""
    return (
        "# Claims, published and computed\n\n"
        "The claims of the files named below, one chapter per file. The command that writes this\n"
        "page:\n\n"
        f"    hwdsl verify --format markdown {' '.join(names)} > docs/studies.md\n\n"
        "An identity follows from the inputs by definition. A calibration compares with numbers\n"
        "to which the model was fitted. An assumed expectation rests on assumptions beyond its\n"
        "source, and an unsure one on a source of low confidence. All others are claims. A claim\n"
        "counts only beside a baseline, the answer of a null model, that is further from the\n"
        "published number and outside of the tolerance or, for an ordering, does not give it;\n"
        "otherwise it is no better. An ordering has no published number. A difference is relative\n"
        "or absolute, like the tolerance next to it; an absolute difference of percentages is in\n"
        "points.\n"
    )


def markdown(name: str, checked: Checked, found: Mapping[str, Sequence[ClaimResult]]) -> str:
    """The claims of the file `name`: where each comes from, how sure it is, and its verdicts."""
    parts = [f"## {name}"]
    for claim, verdicts in found.items():
        info = checked.main.values[claim]
        assert isinstance(info, ClaimInfo)
        parts += [f"### {claim}", *_origin(info)]
        parts.append("\n".join([_HEAD, _LINE, *map(_row, verdicts)]))
    return "\n\n".join(parts) + "\n"


def computed_text(verdict: ClaimResult, value: float | None, digits: int = 6) -> str:
    """A number in the unit of the verdict; empty where there is none."""
    if value is None:
        return ""
    unit = "" if verdict.unit.name == "1" else f" {verdict.unit.name}"
    return f"{verdict.unit.from_base(value):.{digits}g}{unit}"


def published_text(verdict: ClaimResult, digits: int = 6) -> str:
    """The published number; empty for an ordering, whose right side is none."""
    return computed_text(verdict, verdict.expected, digits) if verdict.tolerance is not None else ""


def tolerance(verdict: ClaimResult) -> str:
    """How far the two may lie apart, and how that is meant; empty for an ordering."""
    if verdict.tolerance is None:
        return ""
    if verdict.mode == "absolute":
        return _absolute(verdict, verdict.tolerance, ".6g")
    if verdict.mode == "factor":
        return f"factor {verdict.tolerance:.6g}"
    return f"{100 * verdict.tolerance:.6g} % relative"


def difference(verdict: ClaimResult) -> str:
    """Computed less published, as its tolerance is meant; empty for an ordering."""
    if verdict.tolerance is None or verdict.expected is None or verdict.got is None:
        return ""
    apart = verdict.got - verdict.expected
    if abs(apart) <= _NOTHING * abs(verdict.expected):
        return "0"
    if verdict.mode == "absolute" or not verdict.expected:
        return _absolute(verdict, apart, "+.3g")
    if verdict.mode == "factor":
        return f"factor {verdict.got / verdict.expected:.3g}"
    return f"{100 * apart / verdict.expected:+.2g} %"


def baseline_text(verdict: ClaimResult, digits: int = 6) -> str:
    """What the baseline says: a number, or whether it orders things as published."""
    if verdict.baseline is None:
        return ""
    if verdict.tolerance is None:
        return "holds" if verdict.baseline == 1.0 else "fails"
    return computed_text(verdict, verdict.baseline, digits)


def source_notes(info: ClaimInfo) -> list[str]:
    """Lines: the sources of a claim, what it takes for granted, and how sure the sources are."""
    claim = info.decl
    assumed = [m.text for m in claim.members if isinstance(m, ast.Assume)]
    return [
        *(f"Source: {_line(source.text)}" for source in sources(info)),
        *(f"Assumed: {_line(text)}" for text in assumed),
        f"Confidence: {confidence(claim) or 'not stated'}",
    ]


def sources(info: ClaimInfo) -> list[CitedSource]:
    """The sources of a claim, in the order of its text."""
    known, members = info.scope.visible_references, info.decl.members
    return [one for m in members if isinstance(m, ast.Sources) for one in cited(m, known)]


def status_text(verdict: ClaimResult) -> str:
    """What became of it, in a word: as it should be in small letters, else in capitals."""
    if verdict.as_expected:
        return "ok" if verdict.ok else "miss"
    return "HOLDS" if verdict.ok else "MISS"


def notes(verdict: ClaimResult) -> str:
    """What fails beside the number, and why it is known to be missed."""
    if verdict.ok and verdict.missed:
        return "it holds: take back `missed`"
    return "; ".join(filter(None, [verdict.note, verdict.missed]))


def _absolute(verdict: ClaimResult, value: float, form: str) -> str:
    """A difference in the verdict's unit; of percentages it is in points."""
    number = format(verdict.unit.from_base(value), form)
    if verdict.unit.name == "%":
        return f"{number} points"
    return f"{number} absolute" if verdict.unit.name == "1" else f"{number} {verdict.unit.name}"


def _origin(info: ClaimInfo) -> list[str]:
    """Paragraphs: what the claim says, and its origin."""
    lines = "\n".join(f"- {_plain(line)}" for line in source_notes(info))
    return [*filter(None, [_plain(info.decl.doc)]), lines]


def _row(verdict: ClaimResult) -> str:
    cells = [
        f"`{' '.join(verdict.text.split()).replace('|', chr(92) + '|')}`",
        published_text(verdict, 4),
        computed_text(verdict, verdict.got, 4),
        difference(verdict),
        tolerance(verdict),
        baseline_text(verdict, 4),
        _status(verdict),
    ]
    return f"| {' | '.join(cells)} |"


def _status(verdict: ClaimResult) -> str:
    """What became of it, and what it is unless it is a claim of the world."""
    said = "reproduced" if verdict.ok else "**missed**"
    kind = f"{verdict.status}, " if verdict.status else ""
    why = notes(verdict)
    return f"{kind}{said}" + (f": {_plain(why)}" if why else "")


def _line(text: str) -> str:
    """Text in one line."""
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Text in one line that does not break a table."""
    return _line(text).replace("|", "\\|")
