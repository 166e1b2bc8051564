"""Library modules kept in the store as trees, so that they are parsed once per machine.

A tree is found by its text and by all that turns text into trees.
"""

from __future__ import annotations

from contextlib import suppress

from attrs import frozen

from hwdsl.base import fingerprint, store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.base.structuring import Unfit, packed, unpacked
from hwdsl.syntax import ast
from hwdsl.syntax.read import parse

PARSER = ("hwdsl.syntax", "hwdsl.grammar", "hwdsl.base")


@frozen
class _StoredModule:
    """A module without its source, and without its comments, which only the formatter reads."""

    edition: int | None
    doc: str
    items: tuple[ast.Item, ...]


def parse_cached(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """The tree of a text, from the store if it is there; one without findings is put there."""
    parser = (fingerprint.code(*PARSER), fingerprint.release("lark"))
    key = store.PARSED.key({"parser": parser, "text": source.text})
    data = store.get(store.PARSED, key, bytes)
    if data is not None:
        with suppress(Unfit):
            return structured(data, source)
    found = Diagnostics()
    tree = parse(source, found)
    for item in found.items:
        diagnostics.add(item)
    # A tree with findings is not kept: they would have to be told at each reading.
    if not found.items:
        with suppress(store.CacheError):  # nothing but time depends on it
            store.put(store.PARSED, key, unstructured(tree))
    return tree


def unstructured(module: ast.Module) -> bytes:
    """A module as bytes: of a place where it starts and ends, as all are in one source."""
    stored = _StoredModule(module.edition, module.doc, module.items)
    return packed(stored, lambda span: (span.start, span.end))


def structured(data: bytes, source: Source) -> ast.Module:
    """The module that `unstructured` wrote; `source` is the text it came from. Raises Unfit."""
    stored = unpacked(data, _StoredModule, lambda _, ends: Span(source, *ends))
    return ast.Module(source, stored.edition, stored.items, (), stored.doc)
