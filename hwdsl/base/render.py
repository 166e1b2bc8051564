"""Diagnostics as text for people: the source lines with carets under what is meant.

The text depends on no time, path of the checkout or hash seed.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostic, Label
from hwdsl.base.source import Source, Span

_RESET = "\x1b[0m"
_COLOURS = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "place": "\x1b[1;34m",
    "bold": "\x1b[1m",
}
_TAB = "    "
_WIDEST = 40
"""Longer cells of a list push the rest of their line to the right."""


@frozen
class Palette:
    """Paints text, or leaves it as it is."""

    enabled: bool = False

    def paint(self, text: str, role: str) -> str:
        """Return `text` in the colour of `role`: error, warning, note, place or bold."""
        return f"{_COLOURS[role]}{text}{_RESET}" if self.enabled and text else text


def palette_for(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Palette:
    """Colour only on a terminal, and never where NO_COLOR is set."""
    return Palette(stream.isatty() and not environment.get("NO_COLOR"))


def printable(text: str) -> str:
    """Return text with tabs widened and control characters made visible, safe for a terminal."""
    return "".join(
        _TAB if c == "\t" else c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text
    )


LONG_LINE = 1_000
SHOWN, BEFORE = 240, 60
"""Of lines that are longer, so many characters are shown, some of them before the first label."""


@frozen
class _Mark:
    """An underline on one line of a source, in columns of the printed text."""

    start: int
    end: int
    text: str
    primary: bool


def render_text(diagnostics: Iterable[Diagnostic], palette: Palette | None = None) -> str:
    """Render findings for a terminal, one block each, a blank line between them."""
    palette = palette or Palette()
    return "\n".join(_block(d, palette) for d in diagnostics)


def _block(diagnostic: Diagnostic, palette: Palette) -> str:
    severity = diagnostic.severity.value
    lines = [
        palette.paint(f"{severity}[{diagnostic.name}]", severity)
        + palette.paint(f": {printable(diagnostic.message)}", "bold")
    ]
    numbers = [_line_of(label.span) for label in diagnostic.labels]
    width = max((len(str(n)) for n in numbers), default=1)
    bar = " " * (width + 1) + palette.paint("|", "place")
    first = True
    for source, rows in _by_source(diagnostic.labels):
        span = next(la.span for la in diagnostic.labels if la.span.source is source)
        arrow = palette.paint("-->" if first else ":::", "place")
        lines += [f"{' ' * width}{arrow} {printable(str(span))}", bar]
        first = False
        previous = None
        for number, row in sorted(rows.items()):
            if previous is not None and number > previous + 1:
                lines.append(palette.paint("...", "place"))
            previous = number
            head = palette.paint(f"{number:>{width}} |", "place")
            text, marks = _shown(source.line(number), row)
            lines.append(f"{head} {text}".rstrip())
            lines += [f"{bar} {under}" for under in _underlines(marks, severity, palette)]
    if diagnostic.help:
        help_lines = printable(diagnostic.help)
        lines.append(f"{' ' * (width + 1)}{palette.paint('=', 'place')} help: {help_lines}")
    return "\n".join(lines) + "\n"


def _by_source(
    labels: Sequence[Label],
) -> list[tuple[Source, dict[int, list[tuple[Label, bool]]]]]:
    """Group labels by source, then by line, keeping the order of sources."""
    groups: list[tuple[Source, dict[int, list[tuple[Label, bool]]]]] = []
    for i, label in enumerate(labels):
        source = label.span.source
        # By identity: hashing a source would hash its whole text.
        rows = next((r for s, r in groups if s is source), None)
        if rows is None:
            rows = {}
            groups.append((source, rows))
        rows.setdefault(_line_of(label.span), []).append((label, i == 0))
    return groups


def _line_of(span: Span) -> int:
    return span.source.position(span.start)[0]


def _shown(line: str, labels: Sequence[tuple[Label, bool]]) -> tuple[str, list[_Mark]]:
    """A line as printed, and where labels stand in it; of a very long one what is at the first."""
    if len(line) <= LONG_LINE:
        return printable(line), [_mark(line, 0, *each) for each in labels]
    first = min(label.span.source.position(label.span.start)[1] for label, _ in labels)
    left = max(0, first - BEFORE)
    piece = line[left : left + SHOWN]
    dots = "…" if left else ""
    text = dots + printable(piece) + ("…" if left + SHOWN < len(line) else "")
    return text, [_mark(dots + piece, left - len(dots), *each) for each in labels]


def _mark(line: str, left: int, label: Label, primary: bool) -> _Mark:
    """Where a label stands in its first line, as printed; at least one column wide.

    The line is shown from column `left` on; a label behind its end stands at it.
    """
    span = label.span
    column = min(span.source.position(span.start)[1] - left, len(line) + 1)
    # A label over several lines is drawn on its first, to the end of it.
    end = min(column - 1 + max(span.end - span.start, 1), max(len(line), column))
    start = len(printable(line[: column - 1]))
    width = len(printable(line[column - 1 : end])) or 1
    return _Mark(start, start + width, printable(label.text), primary)


def _underlines(marks: list[_Mark], severity: str, palette: Palette) -> list[str]:
    """The rows under a source line: carets with the last text, then the others below it."""
    marks = sorted(marks, key=lambda m: (m.start, not m.primary))
    row = _Row(palette, severity)
    for mark in marks:
        row.put(mark.start, ("^" if mark.primary else "-") * (mark.end - mark.start), mark.primary)
    rows = [row.text(f" {marks[-1].text}" if marks[-1].text else "", marks[-1].primary)]
    rest = [m for m in marks[:-1] if m.text]
    if rest:
        bars = _Row(palette, severity)
        for mark in rest:
            bars.put(mark.start, "|", mark.primary)
        rows.append(bars.text("", False))
    while rest:
        last = rest.pop()
        bars = _Row(palette, severity)
        for mark in rest:
            if mark.start < last.start:
                bars.put(mark.start, "|", mark.primary)
        bars.put(last.start, last.text, last.primary)
        rows.append(bars.text("", False))
    return rows


class _Row:
    """A line filled from left to right; what would overlap is left out."""

    def __init__(self, palette: Palette, severity: str) -> None:
        self._palette, self._severity = palette, severity
        self._out: list[str] = []
        self._at = 0

    def put(self, column: int, text: str, primary: bool) -> None:
        skip = max(0, self._at - column)
        text = text[skip:]
        if text:
            self._out.append(" " * max(0, column - self._at) + self._paint(text, primary))
            self._at = max(column, self._at) + len(text)

    def text(self, tail: str, primary: bool) -> str:
        return "".join(self._out) + self._paint(tail, primary)

    def _paint(self, text: str, primary: bool) -> str:
        return self._palette.paint(text, self._severity if primary else "place")


def render_undecided(notes: Iterable[Diagnostic], palette: Palette | None = None) -> str:
    """The rules that were not decided, a line each, by the value that they wait for.

    Those that most rules wait for come first.
    """
    palette = palette or Palette()
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for note in notes:
        groups.setdefault(_waits_for(note), []).append(note)
    parts = []
    for (name, where), waiting in sorted(groups.items(), key=lambda g: -len(g[1])):
        count = "1 rule waits" if len(waiting) == 1 else f"{len(waiting)} rules wait"
        head = palette.paint(f"{count} for {name}", "note") + f"  {where}".rstrip()
        rows = [(n.name, printable(n.labels[0].text), str(n.labels[0].span)) for n in waiting]
        wide = [min(max(len(row[i]) for row in rows), _WIDEST) for i in (0, 1)]
        parts.append("\n".join([head, *(f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}"
                                        for a, b, c in rows)]))  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _waits_for(note: Diagnostic) -> tuple[str, str]:
    """The value that a note names, with what its declaration says; where that is."""
    declared = note.labels[-1].span
    field = note.missing.rpartition(".")[2]
    return f"`{field}`, {printable(' '.join(declared.text.split()))}", str(declared)
