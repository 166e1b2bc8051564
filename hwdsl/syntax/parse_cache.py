"""Library modules kept in the store as trees, so that they are parsed once per machine.

A tree is found by its text and by all that turns text into trees.
"""

from contextlib import suppress
from functools import partial

from hwdsl.base import fingerprint, store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast
from hwdsl.syntax.ast_serialization import UNSOUND, KeptTree, from_kept, to_kept
from hwdsl.syntax.read import parse

PARSER = ("hwdsl.syntax", "hwdsl.grammar", "hwdsl.base")


def parse_cached(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """The tree of a text, from the store if it is there; one without findings is put there."""
    parser = (fingerprint.code(*PARSER), fingerprint.release("lark"))
    key = store.PARSED.key({"parser": parser, "text": source.text})
    kept = store.get(store.PARSED, key, KeptTree)
    if kept is not None:
        with suppress(*UNSOUND):
            return from_kept(kept, source, partial(parse, source, Diagnostics()))
    found = Diagnostics()
    tree = parse(source, found)
    for item in found.items:
        diagnostics.add(item)
    if not found.items:
        with suppress(store.CacheError):  # nothing but time depends on it
            store.put(store.PARSED, key, to_kept(tree))
    return tree
