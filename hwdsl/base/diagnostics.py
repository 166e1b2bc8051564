"""Diagnostics: what is wrong, where, and what to do about it; `hwdsl.base.render` prints them."""

from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import define, evolve, field, frozen

from hwdsl.base.source import Span


class Severity(Enum):
    """How much a diagnostic matters; only an error stops the pipeline.

    A note is no finding: it says which rule was not decided.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


OF_THE_TEXT = (
    "hidden-output",
    "quoted-reference",
    "shadows-member",
    "shadows-unit",
    "unread-field",
    "unused-let",
    "unused-private",
    "unused-use",
)
"""Warnings of how a text is written, whatever it computes: `allow` waives them, `check` tells them
and what evaluates a file counts them."""
WAIVABLE = (*OF_THE_TEXT, "unread-param")
"""All warnings that `allow` waives."""


@frozen
class Label:
    """A place and what stands there."""

    span: Span
    text: str = ""


@frozen
class Diagnostic:
    """One finding.

    `name` is stable: an entry of `hwdsl.help.diagnostic_catalog.CATALOG` with a page in
    `hwdsl/help/pages/`, or the dotted name of a library rule such as `die.reticle`. The first label
    is the primary place.
    `missing` is the path of the value that has to be given, if that is what is wrong.
    """

    name: str
    severity: Severity
    message: str
    labels: tuple[Label, ...] = ()
    help: str | None = None
    missing: str = ""

    @property
    def span(self) -> Span | None:
        """The primary place, if there is one."""
        return self.labels[0].span if self.labels else None

    @property
    def reading(self) -> Label:
        """Of the finding of a missing value, where that is read."""
        return self.labels[_reading(self)]


@define
class Diagnostics:
    """Collects findings. Stages add to it and go on; callers look at `failed` between stages.

    `undecided` holds a note for each rule that reads a value which nobody knows.
    """

    items: list[Diagnostic] = field(factory=list)
    undecided: list[Diagnostic] = field(factory=list)
    _seen: set[Diagnostic] = field(init=False, repr=False, eq=False)
    _noted: set[Diagnostic] = field(factory=set, init=False, repr=False, eq=False)
    _read: dict[str, set[Span]] = field(factory=dict, init=False, repr=False, eq=False)

    @_seen.default
    def _items_at_first(self) -> set[Diagnostic]:
        return set(self.items)

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return any(d.severity is Severity.ERROR for d in self.items)

    def order(self) -> None:
        """Put what is said of the text behind all that is said of what it means."""
        self.items.sort(key=lambda d: d.name in OF_THE_TEXT)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a finding unless the very same one stands already.

        A value that is missing is told of once, with the number of places where it is read.
        """
        # What several evaluators use gives its findings in each of them.
        if diagnostic in self._seen:
            return
        self._seen.add(diagnostic)
        told = self._told(diagnostic.missing) if diagnostic.missing else None
        if told is None:
            self.items.append(diagnostic)
        else:
            # The first finding keeps its place in the list and only counts the others.
            first = self.items[told]
            places = self._read.setdefault(first.missing, {first.labels[_reading(first)].span})
            places.add(diagnostic.labels[_reading(diagnostic)].span)
            self.items[told] = _read_in(first, len(places))

    def _told(self, missing: str) -> int | None:
        """The number of the finding that tells of a missing value."""
        return next((i for i, d in enumerate(self.items) if d.missing == missing), None)

    def take(self, others: "Diagnostics") -> None:
        """Add what was found of another file, where the same names mean other things."""
        # Not by `add`: a missing `rate` here and one there are two values.
        self.items += [d for d in others.items if d not in self._seen]
        self._seen.update(others.items)
        for note in others.undecided:
            self.add_undecided(note)

    def include(self, others: "Diagnostics") -> None:
        """Add what was found in another part of the file, before which nothing was missing."""
        for item in others.items:
            self.add(item)
        for note in others.undecided:
            self.add_undecided(note)
        self._read.update(others._read)

    def add_undecided(self, note: Diagnostic) -> None:
        """Note a rule that was not decided, once."""
        if note not in self._noted:
            self._noted.add(note)
            self.undecided.append(note)

    def error(
        self,
        name: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        others: Sequence[tuple[Span, str]] = (),
        help: str | None = None,
    ) -> None:
        """Report an error at `span`; `others` are further places with what stands there."""
        self._report(Severity.ERROR, name, message, span, label, others, help)

    def warning(
        self,
        name: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        others: Sequence[tuple[Span, str]] = (),
        help: str | None = None,
    ) -> None:
        """Report a warning, as `error` does an error."""
        self._report(Severity.WARNING, name, message, span, label, others, help)

    def _report(
        self,
        severity: Severity,
        name: str,
        message: str,
        span: Span,
        label: str,
        others: Sequence[tuple[Span, str]],
        help: str | None,
    ) -> None:
        labels = (Label(span, label), *(Label(s, t) for s, t in others))
        self.add(Diagnostic(name, severity, message, labels, help))


def _reading(missing: Diagnostic) -> int:
    """Which label of the finding of a missing value is where that is read."""
    said = (i for i, label in enumerate(missing.labels) if label.text.startswith("read "))
    return next(said, 0)


def _read_in(told: Diagnostic, places: int) -> Diagnostic:
    """The finding of a missing value that is read in so many places."""
    if places < 2:
        return told
    labels, at = list(told.labels), _reading(told)
    labels[at] = evolve(labels[at], text=f"read in {places} places")
    return evolve(told, labels=tuple(labels))


def with_article(name: str) -> str:
    """A name in quotes behind `a` or `an`."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} `{name}`"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a help text naming the closest known name, or None if nothing is close."""
    close = closest(name, known)
    return None if close is None else f"did you mean `{close}`?"


def closest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """Return the known name most like another, or None if nothing is that much alike."""
    from difflib import get_close_matches  # only findings need it

    close = get_close_matches(name, sorted(set(known)), n=1, cutoff=alike)
    return close[0] if close else None


LISTED = 8
"""So many names are listed where all that there are would be too many."""


def fields_help(name: str, known: Iterable[str]) -> str | None:
    """Return a help text with the names there are: those like another, then as they are given."""
    from difflib import get_close_matches

    every = list(dict.fromkeys(known))
    alike = get_close_matches(name, sorted(every), n=LISTED)
    names = [f"`{k}`" for k in (*alike, *(k for k in every if k not in alike))]
    if not names:
        return None
    first = f"did you mean {names.pop(0)}? " if alike else ""
    listed = ", ".join(names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    also = "there are also" if alike else "there are"
    return f"{first}{also} {listed}{more}" if names else first.strip()
