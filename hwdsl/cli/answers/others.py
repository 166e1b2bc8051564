"""Answers of `explain` and `doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import frozen

# --- explain -------------------------------------------------------------------------------------


@frozen
class Named:
    """A named entry of a section: its role, type, default or value, and documentation."""

    name: str
    role: str
    type: str
    value: str
    doc: str


@frozen
class Section:
    """Entries under a title."""

    title: str
    rows: Sequence[Named]


@frozen
class Explain:
    """The answer of `hwdsl explain` about a name.

    `what` is its sort (`kind`, `unit`, `keyword` and so on), `lead` a description, `place` where
    the library declares it, `text` its text in the language, `others` the other declarations of the
    name. `page` is a whole page in Markdown; if there is one, the other texts are empty.
    """

    name: str
    what: str
    lead: str
    place: str
    notes: Sequence[str]
    sections: Sequence[Section]
    text: str
    others: Sequence[str]
    page: str
    answer: Literal["explain"] = "explain"


# --- doctor --------------------------------------------------------------------------------------


@frozen
class CacheKind:
    """How many entries of one kind the cache holds, and their size."""

    kind: str
    entries: int
    bytes: int


@frozen
class Cache:
    """The cache: its folder, how many `builds` of kernels it holds, the size of all its entries."""

    folder: str
    builds: int
    bytes: int
    kinds: Sequence[CacheKind]


@frozen
class Doctor:
    """The answer of `hwdsl doctor`; a package that is not installed is null.

    `cache_refused` is the reason why the cache folder is not used; null if it is used.
    """

    hwdsl: str
    python: str
    executable: str
    platform: str
    compiler: str | None
    packages: Mapping[str, str | None]
    cache: Cache
    cache_refused: str | None
    answer: Literal["doctor"] = "doctor"
