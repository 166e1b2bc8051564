"""The glossary: what the field calls a concept, and what the library declares of it.

Input: a term, such as `TTFT` or `KV caches`. Output: its entries. `glossary.toml` holds them;
`hwdsl explain glossary --format markdown` prints them as the page `docs/glossary.md`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from attrs import evolve, frozen

from hwdsl.base.fingerprint import package_folder
from hwdsl.help.library_index import definitions, modules
from hwdsl.help.page import Page, PageRow, PageSection

HEAD = """# Glossary

The terms of the field that the library uses, with their usual symbols and units, and where the
library declares them. `hwdsl explain TTFT` prints an entry with its declarations; capitals, hyphens
and plurals make no difference. The command `hwdsl explain glossary --format markdown` prints this
page from `library/glossary.toml`, where entries are changed.
"""
COLUMNS = ("Concept", "Term", "Symbol", "Unit", "Definition", "In the library", "Source")


@frozen
class GlossaryEntry:
    """A concept: other terms for it, symbol, unit, definition, declarations and sources."""

    area: str
    concept: str
    terms: tuple[str, ...]
    symbol: str
    unit: str
    definition: str
    declared: tuple[str, ...]
    sources: tuple[str, ...]


@frozen
class Glossary:
    """All entries in their order, and the works that their sources name."""

    entries: tuple[GlossaryEntry, ...]
    sources: Mapping[str, str]


@cache
def glossary() -> Glossary:
    """The glossary, from `glossary.toml`."""
    text = (package_folder("hwdsl.library") / "glossary.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    entries = [
        GlossaryEntry(
            area["title"],
            entry["concept"],
            tuple(entry.get("terms", ())),
            entry.get("symbol", ""),
            entry.get("unit", ""),
            entry["is"],
            tuple(entry["in"]),
            tuple(entry["source"]),
        )
        for area in data["area"]
        for entry in area["entry"]
    ]
    return Glossary(tuple(entries), data["sources"])


def entries_of(term: str) -> list[GlossaryEntry]:
    """The entries that a term names, whatever its capitals and hyphens; else those of its singular.

    `goodput` names two: that whose concept is the whole term comes first.
    """
    found = _index(_folded).get(_folded(term)) or _index(_singular).get(_singular(term), [])
    return sorted(found, key=lambda entry: entry.concept.lower() != term.lower())


def citing(declared: str) -> list[GlossaryEntry]:
    """The entries that name a declaration."""
    return [entry for entry in glossary().entries if declared in entry.declared]


def heading(entry: GlossaryEntry) -> str:
    """The concept with its first other term: `time to first token (TTFT)`."""
    return f"{entry.concept} ({entry.terms[0]})" if entry.terms else entry.concept


def page(entry: GlossaryEntry, rows: tuple[PageRow, ...]) -> Page:
    """The page of an entry, whose declarations are `rows`."""
    said = (
        ("Also", "; ".join(entry.terms)),
        ("Symbol", entry.symbol),
        ("Unit", entry.unit),
        ("Source", "; ".join(glossary().sources[s] for s in entry.sources)),
    )
    notes = tuple(f"{name}: {text}." for name, text in said if text)
    sections = (PageSection("In the library", rows),)
    return Page(entry.concept, "term", entry.definition, notes=notes, sections=sections)


def listing() -> Page:
    """All entries by area."""
    areas = dict.fromkeys(entry.area for entry in glossary().entries)
    sections = tuple(
        PageSection(
            area,
            tuple(
                PageRow(heading(entry), entry.definition, role="term")
                for entry in glossary().entries
                if entry.area == area
            ),
        )
        for area in areas
    )
    return Page("glossary", "list", sections=sections)


def with_entries(of: Page, name: str) -> Page:
    """A page with the entries that its name is a term of, or that name what it explains."""
    found = dict.fromkeys((*entries_of(name), *citing(name)))
    rows = tuple(PageRow(heading(entry), entry.definition, "term", role="term") for entry in found)
    if not rows or of.whole:
        return of
    return evolve(of, sections=(*of.sections, PageSection("In the glossary", rows)))


def _folded(term: str) -> str:
    """Letters and digits alone, small, without what is in parentheses at the end."""
    return "".join(_words(term))


def _singular(term: str) -> str:
    """The same with each word in its singular."""
    words = (w[:-1] if len(w) > 2 and w[-1] == "s" and w[-2] != "s" else w for w in _words(term))
    return "".join(words)


def _words(term: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"\s*\([^)]*\)$", "", term).lower())


@cache
def _index(key: Callable[[str], str]) -> dict[str, list[GlossaryEntry]]:
    """The entries by their concepts and terms, written as `key` writes them."""
    found: dict[str, list[GlossaryEntry]] = {}
    for entry in glossary().entries:
        for term in dict.fromkeys(map(key, (entry.concept, *entry.terms))):
            found.setdefault(term, []).append(entry)
    return found


def markdown() -> str:
    """The glossary as a page of the documentation."""
    return "\n".join((HEAD, *_markdown()))


def _markdown() -> Iterator[str]:
    area = ""
    for entry in glossary().entries:
        if entry.area != area:
            if area:
                yield ""
            area = entry.area
            yield f"## {area}\n"
            yield f"| {' | '.join(COLUMNS)} |"
            yield f"|{'---|' * len(COLUMNS)}"
        cells = (
            entry.concept,
            "; ".join(entry.terms),
            entry.symbol,
            entry.unit,
            entry.definition,
            ", ".join(f"[`{name}`](../library/{_file(name)})" for name in entry.declared),
            "; ".join(entry.sources),
        )
        yield f"| {' | '.join(cells)} |"
    yield "\n## Sources\n"
    yield "| Source | Work |"
    yield "|---|---|"
    yield from (f"| {name} | {work} |" for name, work in glossary().sources.items())
    yield ""


def _file(declared: str) -> str:
    """The file that a declaration stands in, relative to the library."""
    if declared in modules():
        return f"{declared.replace('.', '/')}.hw"
    return f"{definitions()[declared.partition('.')[0]][0].module.replace('.', '/')}.hw"
