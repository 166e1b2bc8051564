"""Library modules kept in the cache as trees, so that they are parsed once per machine.

A tree is found by the hash of its text and of all that turns text into trees. What is stored is
data (`serialise`), checked as it is read; what is not sound is parsed again.
"""

import hashlib
from contextlib import suppress
from functools import cache, partial

from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.fingerprint import package_folder
from hwdsl.base.source import Source
from hwdsl.syntax import ast
from hwdsl.syntax.read import parse
from hwdsl.syntax.serialise import DataError, from_lines, to_lines

KIND = "parsed"


def parse_stored(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """The tree of a text, from the cache if it is there; one without findings is put there."""
    name = hashlib.sha256(_maker() + source.text.encode()).hexdigest() + ".json"
    text = store.load_text(KIND, name)
    if text is not None:
        with suppress(DataError, ValueError):
            return from_lines(text.split("\n"), source, partial(_items, source))
    found = Diagnostics()
    tree = parse(source, found)
    for item in found.items:
        diagnostics.add(item)
    if not found.items:
        with suppress(store.CacheError):  # nothing but time depends on it
            store.store_text(KIND, name, "\n".join(to_lines(tree)))
    return tree


def _items(source: Source) -> tuple[ast.Item, ...]:
    """The items of a text that has no findings."""
    return parse(source, Diagnostics()).items


@cache
def _maker() -> bytes:
    """A hash of the grammar and of the code that makes trees."""
    digest = hashlib.sha256()
    for package, endings in (("hwdsl.grammar", (".json",)), ("hwdsl.syntax", (".py",))):
        files = [f for f in package_folder(package).iterdir() if f.suffix in endings]
        for file in sorted(files, key=lambda f: f.name):
            data = file.read_bytes()
            digest.update(f"{file.name}:{len(data)}\n".encode())
            digest.update(data)
    return digest.digest()
