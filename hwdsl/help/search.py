"""Near terms: names of the library, of members and in documentation that a word may mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from attrs import frozen

from hwdsl.help.glossary import glossary
from hwdsl.help.library_index import FOLDERS, definitions, members, modules, sentence
from hwdsl.help.page import Page, PageRow, PageSection
from hwdsl.help.words import words

MOST = 16


@frozen
class SearchEntry:
    """Something that can be explained: the name to ask for, its role, words and folder."""

    name: str
    last: str
    role: str
    doc: str
    rank: int


@cache
def entries() -> tuple[SearchEntry, ...]:
    """All that there are pages of, std first."""
    return tuple(_entries())


def _entries() -> Iterator[SearchEntry]:
    for path, tree in modules().items():
        yield SearchEntry(path, path.rpartition(".")[2], "module", tree.doc, _rank(path))
    for name, found in definitions().items():
        one = found[0]
        yield SearchEntry(name, name, one.word, one.item.doc, _rank(one.module))
        for role, last, doc in members(one.item):
            yield SearchEntry(f"{name}.{last}", last, role, doc, _rank(one.module) + 4)
    for name, word in words().items():
        yield SearchEntry(name, name, "word", word.doc, 0)
    for term in glossary().entries:
        yield SearchEntry(term.concept, term.concept, "term", term.definition, 0)


def _rank(module: str) -> int:
    return FOLDERS.index(module.partition(".")[0])


def near(term: str) -> Page | None:
    """A page with what names or describes a term; None if nothing does."""
    wanted = [w for w in re.split(r"[^a-z0-9]+", term.lower()) if w]
    if not re.fullmatch(r"[\w -]+", term) or all(len(w) < 2 for w in wanted):
        return None
    scored = ((_score(e, wanted), e.rank, i, e) for i, e in enumerate(entries()))
    found = sorted(s for s in scored if s[0] < _NONE)
    if not found:
        return None
    rows = tuple(
        PageRow(e.name, sentence(e.doc), role=e.role, type=e.role) for *_, e in found[:MOST]
    )
    more = f", and {len(found) - MOST:,} more" if len(found) > MOST else ""
    lead = f"Nothing is called `{term}`; these are near{more}. Ask for one by its name."
    return Page(term, "near", lead, sections=(PageSection("Near", rows),))


_NONE = 9


def _score(entry: SearchEntry, wanted: list[str]) -> int:
    """How near an entry is: 0 by its name, 1 by a word of it, 2 by its beginning, 4 by its text."""
    name = entry.last.lower()
    if name == "_".join(wanted):
        return 0
    parts = name.split("_")
    text = f" {entry.doc.lower()}"
    worst = 0
    for word in wanted:
        if word in parts:
            score = 1
        elif any(p.startswith(word) for p in parts):
            score = 2
        elif len(word) > 2 and word in name:
            score = 3
        elif re.search(rf"\b{re.escape(word)}", text):
            score = 4
        else:
            return _NONE
        worst = max(worst, score)
    return worst
