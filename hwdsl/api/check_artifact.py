"""What checking a file finds, kept in the cache by content.

An entry holds all findings and all undecided rules, so that a file in which nothing has changed
is checked without being parsed. Those of each evaluator stand apart with a key of their own: in
a file that has changed, evaluators are elaborated that depend on what has changed, no others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from attrs import define, evolve, field, frozen

from hwdsl.api import artifact
from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostic, Diagnostics, Label
from hwdsl.base.places import Anchor, Places
from hwdsl.base.source import Source, Span

if TYPE_CHECKING:
    from hwdsl.semantics.symbols import Checked
    from hwdsl.syntax import ast

T = TypeVar("T")
_ABOUT_FILES = frozenset(["unknown-module", "unreadable-file"])
"""Findings that depend on files which are not there; nothing is kept of what has one."""
_WORD = re.compile(r"[^\W\d]\w*")


@frozen
class Told:
    """`Diagnostics` as they are kept."""

    items: tuple[Diagnostic, ...]
    undecided: tuple[Diagnostic, ...]

    @staticmethod
    def of(found: Diagnostics) -> Told:
        """What was found."""
        return Told(tuple(found.items), tuple(found.undecided))

    def diagnostics(self) -> Diagnostics:
        """The same, to be added to."""
        return Diagnostics(list(self.items), list(self.undecided))

    def changed(self, change: Callable[[Iterable[Diagnostic]], tuple[Diagnostic, ...]]) -> Told:
        """With texts, or without."""
        return Told(change(self.items), change(self.undecided))


@frozen
class DeclarationFindings:
    """What elaborating an evaluator or display found, without errors.

    By the key it is seen whether it would be found again. `reached` says what an evaluator reads of
    the file.
    """

    key: str
    anchors: tuple[Anchor, ...]
    told: Told
    reached: Places | None = None


@frozen
class KeptFindings:
    """The entry of a file."""

    key: str
    inputs: tuple[artifact.Input, ...]
    definitions: int
    evaluators: int
    told: Told
    parts: dict[str, DeclarationFindings]


@frozen
class Findings:
    """What is to be said of a file, and how many definitions and evaluators it has."""

    found: Diagnostics
    definitions: int = 0
    evaluators: int = 0


@define
class FileFindings:
    """What is found in each evaluator and display of a checked file, by name.

    `around` is what all depend on; None if nothing is to be kept. `kept` are the parts of the
    file's last entry, and `parts` those of this one. `reached` is what evaluators read of the file.
    """

    checked: Checked
    around: Mapping[str, store.Ingredient] | None = None
    kept: Mapping[str, DeclarationFindings] = field(factory=dict)
    parts: dict[str, DeclarationFindings] = field(factory=dict)
    reached: dict[str, Places] = field(factory=dict)

    def reaches(self, name: str, places: Places) -> None:
        """Note what an evaluator reads of the file."""
        self.reached[name] = places
        if name in self.parts:
            self.parts[name] = evolve(self.parts[name], reached=places)

    def noted(self, name: str, diagnostics: Diagnostics, work: Callable[[Diagnostics], T]) -> T:
        """Do some work, which adds findings to `diagnostics`, and note them if none is an error."""
        if diagnostics.failed or self.around is None:  # after an error less is looked for
            return work(diagnostics)
        result = work(own := Diagnostics())
        if not own.failed:
            self.parts[name] = DeclarationFindings(*self._dependencies(name), Told.of(own))
        diagnostics.include(own)
        return result

    def knows(self, name: str, diagnostics: Diagnostics) -> bool:
        """Whether what some work finds is known; it is added to `diagnostics`."""
        if diagnostics.failed or self.around is None or name not in self.kept:
            return False
        key, anchors = self._dependencies(name)
        part, main = self.kept[name], self.checked.main.tree.source
        found = _moved(part, anchors, main) if part.key == key else None
        if found is None:
            return False
        self.parts[name] = DeclarationFindings(key, anchors, found)
        if part.reached is not None:
            self.reaches(name, part.reached.moved(part.anchors, anchors))
        diagnostics.include(found.diagnostics())
        return True

    def _dependencies(self, name: str) -> tuple[str, tuple[Anchor, ...]]:
        """The key of all that a declaration depends on, and its position in the file."""
        spans = [item.span for item in _read_by(self.checked.main.tree, name)]
        texts = [span.text for span in spans]
        key = store.PARTS.key({**(self.around or {}), "items": texts, "part": name})
        return key, tuple((span.start, span.end) for span in spans)


def start(checked: Checked, diagnostics: Diagnostics) -> FileFindings:
    """A record of a checked file; what is known of its parts is at hand."""
    main, record = checked.main.tree.source, FileFindings(checked)
    if any(d.name in _ABOUT_FILES for d in diagnostics.items):
        return record
    try:
        inputs = artifact.inputs(main, checked.inputs)
    except ValueError:  # a file that lies elsewhere: nothing is kept
        return record
    with suppress(OSError):
        record.around = artifact.surroundings(main, inputs)
        reader = artifact.TextReader(main)
        last = artifact.load(store.FINDINGS, main.name, KeptFindings)
        record.kept = {
            name: evolve(part, told=part.told.changed(reader.read))
            for name, part in ({} if last is None else last.parts).items()
        }
    return record


def keep(record: FileFindings, findings: Findings) -> None:
    """Put what was found into the cache; nothing but time is lost if that cannot be done."""
    checked, main, around = record.checked, record.checked.main.tree.source, record.around
    if around is None:
        return
    # After an error not all was elaborated: what was known of the rest may be so again.
    parts = {**record.kept, **record.parts} if findings.found.failed else record.parts
    plain = partial(artifact.without_texts, main=main)
    with suppress(store.CacheError, ValueError, OSError):
        entry = KeptFindings(
            store.FINDINGS.key({**around, "text": main.text}),
            artifact.inputs(main, checked.inputs),
            findings.definitions,
            findings.evaluators,
            Told.of(findings.found).changed(plain),
            {name: evolve(p, told=p.told.changed(plain)) for name, p in parts.items()},
        )
        store.put(store.FINDINGS, artifact.entry_name(main.name), entry)


def find(main: Source) -> Findings | None:
    """What was found in a file if nothing it depends on has changed since."""
    entry = artifact.load(store.FINDINGS, main.name, KeptFindings)
    if entry is None:
        return None
    with suppress(OSError):
        around = artifact.surroundings(main, artifact.inputs_now(main, entry.inputs))
        if entry.key == store.FINDINGS.key({**around, "text": main.text}):
            found = entry.told.changed(artifact.TextReader(main).read)
            return Findings(found.diagnostics(), entry.definitions, entry.evaluators)
    return None


# --- what a part depends on ---------------------------------------------------------------------


def _read_by(tree: ast.Module, name: str) -> Iterator[ast.Item]:
    """The items that a part of that name may read, itself among them."""
    from hwdsl.syntax import ast  # where nothing has changed no tree is needed

    apart: dict[str, ast.Item] = {}
    for item in tree.items:
        if isinstance(item, ast.Evaluator | ast.Claim | ast.Display):  # read only by their names
            word = item.name.name
            apart[f"{item.form} {word}" if isinstance(item, ast.Display) else word] = item
    others = {id(item) for item in apart.values()}
    needed = {id(apart[name])} if name in apart else set()
    todo = [item for item in tree.items if id(item) not in others or id(item) in needed]
    while todo:
        for word in _WORD.findall(todo.pop().span.text):
            named = apart.get(word)
            if named is not None and id(named) not in needed:
                needed.add(id(named))
                todo.append(named)
    return (item for item in tree.items if id(item) not in others or id(item) in needed)


def _moved(part: DeclarationFindings, anchors: Sequence[Anchor], main: Source) -> Told | None:
    """A part's findings at the places where the same items stand now; None if one has none."""
    if part.anchors == tuple(anchors):
        return part.told
    starts = [start for start, _ in part.anchors]

    def moved(label: Label) -> Label | None:
        span = label.span
        if span.source.name != main.name:
            return label
        k = bisect_right(starts, span.start) - 1
        if k < 0 or span.end > part.anchors[k][1]:
            return None
        by = anchors[k][0] - starts[k]
        return Label(Span(main, span.start + by, span.end + by), label.text)

    def all_moved(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...] | None:
        result = []
        for each in found:
            labels = [moved(label) for label in each.labels]
            here = tuple(label for label in labels if label is not None)
            if len(here) < len(labels):
                return None
            result.append(evolve(each, labels=here))
        return tuple(result)

    items, undecided = all_moved(part.told.items), all_moved(part.told.undecided)
    return None if items is None or undecided is None else Told(items, undecided)
