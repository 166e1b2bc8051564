"""What the cache's entries about a file have in common: their names and keys, findings as data.

An entry belongs to one file and says by which key it was made: a hash of the file, of all that it
uses, of the library and of the compiler. A newer entry of the same file takes its place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from attrs import define, field

from hwdsl.base import fingerprint
from hwdsl.base import store as cache
from hwdsl.base.diagnostics import Diagnostic, Label, Severity
from hwdsl.base.source import LARGEST_TABLE, Source, Span, read_text, text_hash

Input = tuple[str, str, str]
"""A file read for another: its path from there, what that leads to, a hash of its text."""
_MAIN, _LIBRARY, _BESIDE = "main", "library", "beside"


def entry_name(path: str) -> str:
    """The name of a file's entry."""
    return hashlib.sha256(os.path.realpath(path).encode()).hexdigest() + ".json"


def store(kind: str, main: Source, data: Mapping[str, Any]) -> None:
    """Put a file's entry into the cache. Raises CacheError, and ValueError for what JSON lacks."""
    text = json.dumps(data, separators=(",", ":"))
    cache.store_text(kind, entry_name(main.name), f"{fingerprint.compiler()}\n{text}")


def load(kind: str, path: str) -> Any:
    """The data of a file's entry that this very compiler has stored, so that its form is known.

    None if there is no such entry.
    """
    try:
        name = entry_name(path)
    except ValueError:  # no file can have this name
        return None
    maker, _, text = (cache.load_text(kind, name) or "").partition("\n")
    return json.loads(text) if maker == fingerprint.compiler() else None


def inputs(main: Source, used: Mapping[str, str]) -> list[Input]:
    """The files outside the library that `main` uses, from their paths and hashes.

    Raises ValueError for one that does not lie below the folder of `main`.
    """
    folder, library = PurePath(main.name).parent, fingerprint.package_folder("hwdsl.library")
    return [
        (str(PurePath(name).relative_to(folder)), os.path.realpath(name), found)
        for name, found in used.items()
        if library not in PurePath(name).parents
    ]


def inputs_now(main: Source, recorded: Iterable[Sequence[str]]) -> list[Input]:
    """The inputs of an entry as they are now. Raises OSError where one cannot be read."""
    paths = [(name, Path(main.name).parent / name) for name, *_ in recorded]
    return [
        (name, os.path.realpath(p), text_hash(read_text(p, LARGEST_TABLE))) for name, p in paths
    ]


def key(main: Source, around: Mapping[str, str]) -> str:
    """A hash of all that an entry depends on: the file's text and its `surroundings`."""
    return cache.key({**around, "text": main.text})


def surroundings(main: Source, inputs: Sequence[Input]) -> dict[str, str]:
    """All that an entry depends on but the text of the file; links count by where they lead."""
    parts = {
        "compiler": fingerprint.compiler(),
        "library": fingerprint.library(),
        "place": os.path.realpath(main.name),
    }
    parts.update({f"input {k}": "\0".join(each) for k, each in enumerate(inputs)})
    return parts


# --- findings as data and back ------------------------------------------------------------------


def findings_data(found: Iterable[Diagnostic], main: Source) -> list[dict[str, Any]]:
    """Findings as data. Raises ValueError for a place in a file that lies elsewhere."""
    return [
        {
            "name": each.name,
            "severity": each.severity.value,
            "message": each.message,
            "help": each.help,
            "missing": each.missing,
            "labels": [
                [*_place(x.span.source, main), x.span.start, x.span.end, x.text]
                for x in each.labels
            ],
        }
        for each in found
    ]


def _place(source: Source, main: Source) -> tuple[str, str]:
    """Where a file lies, seen from the main one or in the library."""
    path, library = PurePath(source.name), fingerprint.package_folder("hwdsl.library")
    if source.name == main.name:
        return _MAIN, ""
    if library in path.parents:
        return _LIBRARY, str(path.relative_to(library))
    return _BESIDE, str(path.relative_to(PurePath(main.name).parent))


@define
class FindingsReader:
    """Findings from data; the files that they show are read once each."""

    main: Source
    sources: dict[tuple[str, str], Source] = field(factory=dict)

    def read(self, data: Iterable[Mapping[str, Any]]) -> tuple[Diagnostic, ...]:
        """The findings. Raises OSError where a file that they show is gone."""
        return tuple(
            Diagnostic(
                each["name"],
                Severity(each["severity"]),
                each["message"],
                tuple(self._label(*label) for label in each["labels"]),
                each["help"],
                each["missing"],
            )
            for each in data
        )

    def _label(self, base: str, name: str, start: int, end: int, text: str) -> Label:
        return Label(Span(self._source(base, name), int(start), int(end)), text)

    def _source(self, base: str, name: str) -> Source:
        if base == _MAIN:
            return self.main
        if (base, name) not in self.sources:
            library = fingerprint.package_folder("hwdsl.library")
            path = (library if base == _LIBRARY else Path(self.main.name).parent) / name
            self.sources[base, name] = Source(str(path), read_text(path, LARGEST_TABLE))
        return self.sources[base, name]
