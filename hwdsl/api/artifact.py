"""What the store's entries about a file have in common: their keys, and findings without texts.

An entry belongs to one file and holds its key. A newer entry of the same file takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

from attrs import define, evolve, field

from hwdsl.base import fingerprint, store
from hwdsl.base.diagnostics import Diagnostic, Label
from hwdsl.base.source import LARGEST_TABLE, Source, Span, read_text, text_hash

T = TypeVar("T")
Input = tuple[str, str, str]
"""A file read for another: its path from there, what that leads to, a hash of its text."""
_MAIN, _LIBRARY, _BESIDE = "main:", "library:", "beside:"


def entry_name(path: str) -> str:
    """The name of a file's entry. Raises ValueError for what no file can be called."""
    return store.key({"place": os.path.realpath(path)})


def load(kind: store.EntryKind, path: str, of: type[T]) -> T | None:
    """The last entry of a file, if there is one."""
    try:
        name = entry_name(path)
    except ValueError:
        return None
    return store.get(kind, name, of)


def inputs(main: Source, used: Mapping[str, str]) -> tuple[Input, ...]:
    """The files outside the library that `main` uses, from their paths and hashes.

    Raises ValueError for one that does not lie below the folder of `main`.
    """
    folder, library = PurePath(main.name).parent, fingerprint.package_folder("hwdsl.library")
    return tuple(
        (str(PurePath(name).relative_to(folder)), os.path.realpath(name), found)
        for name, found in used.items()
        if library not in PurePath(name).parents
    )


def inputs_now(main: Source, recorded: Iterable[Input]) -> tuple[Input, ...]:
    """The inputs of an entry as they are now. Raises OSError where one cannot be read."""
    paths = [(name, Path(main.name).parent / name) for name, *_ in recorded]
    return tuple(
        (name, os.path.realpath(p), text_hash(read_text(p, LARGEST_TABLE))) for name, p in paths
    )


def surroundings(main: Source, inputs: Sequence[Input]) -> dict[str, store.Ingredient]:
    """All that an entry depends on but the text of the file; links count by where they lead."""
    return {
        "compiler": fingerprint.compiler(),
        "library": fingerprint.library(),
        "place": os.path.realpath(main.name),
        "inputs": inputs,
    }


# --- findings without the texts of files ---------------------------------------------------------


def _with_sources(
    found: Iterable[Diagnostic], change: Callable[[Source], Source]
) -> tuple[Diagnostic, ...]:
    """Findings that show the same places of other sources."""

    def changed(label: Label) -> Label:
        span = label.span
        return Label(Span(change(span.source), span.start, span.end), label.text)

    return tuple(evolve(each, labels=tuple(map(changed, each.labels))) for each in found)


def without_texts(found: Iterable[Diagnostic], main: Source) -> tuple[Diagnostic, ...]:
    """Findings to be kept: their sources say where a file lies, seen from the main one or in the
    library. Raises ValueError for a file that lies elsewhere."""
    library = fingerprint.package_folder("hwdsl.library")

    def placed(source: Source) -> Source:
        path = PurePath(source.name)
        if source.name == main.name:
            return Source(_MAIN, "")
        if library in path.parents:
            return Source(f"{_LIBRARY}{path.relative_to(library)}", "")
        return Source(f"{_BESIDE}{path.relative_to(PurePath(main.name).parent)}", "")

    return _with_sources(found, placed)


@define
class TextReader:
    """Puts the texts back; each file that findings show is read once."""

    main: Source
    sources: dict[str, Source] = field(factory=dict)

    def read(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Findings with texts. Raises OSError where a file that they show is gone."""
        return _with_sources(found, self._source)

    def _source(self, placed: Source) -> Source:
        if placed.name == _MAIN:
            return self.main
        if placed.name not in self.sources:
            library = placed.name.startswith(_LIBRARY)
            name = placed.name.removeprefix(_LIBRARY if library else _BESIDE)
            folder = fingerprint.package_folder("hwdsl.library")
            path = (folder if library else Path(self.main.name).parent) / name
            self.sources[placed.name] = Source(str(path), read_text(path, LARGEST_TABLE))
        return self.sources[placed.name]
