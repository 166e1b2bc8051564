"""Library modules found clean before: they are checked again only where something reads them.

A stamp in the store says that a module and all it uses were checked in full and gave no finding. It
is named by a hash of their texts, their tables and the compiler, so that it can be about nothing
else. The main file is always checked in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hwdsl.base import fingerprint, store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics.modules import Loaded, Modules, preludes_of


def names(modules: Modules) -> dict[str, str]:
    """The name of each library module's stamp; modules stand after those they use."""
    found: dict[str, str] = {}
    for name, loaded in modules.loaded.items():
        used = list(_used(modules, loaded))
        if loaded.library and name != modules.main and all(u in found for u in used):
            found[name] = store.CHECKED.key(
                {
                    "compiler": fingerprint.compiler(),
                    "name": name,
                    "text": modules.inputs[loaded.tree.source.name],
                    "modules": {u: found[u] for u in used},
                    "tables": [t.digest for t in loaded.tables.values()],
                }
            )
    return found


def unchanged_since_check(modules: Modules, stamps: dict[str, str]) -> set[str]:
    """The modules that need no check: those with a stamp, and what they use."""
    found: set[str] = set()
    for name in reversed(stamps):  # users first: one stamp read speaks for all that it uses
        if name in found or store.get(store.CHECKED, stamps[name], str) == name:
            found.add(name)
            found.update(_used(modules, modules.loaded[name]))
    return found


def stamp(
    modules: Modules, stamps: dict[str, str], done: set[str], diagnostics: Diagnostics
) -> None:
    """Mark the modules that were checked now and, like all they use, gave no finding."""
    if any(d.span is None for d in diagnostics.items):
        return  # a finding without a place may be about any module
    found = {d.span.source.name for d in diagnostics.items if d.span is not None}
    clean: set[str] = set()
    for name, key in stamps.items():
        loaded = modules.loaded[name]
        if loaded.tree.source.name in found or not clean.issuperset(_used(modules, loaded)):
            continue
        clean.add(name)
        if name not in done:
            with suppress(store.CacheError):  # nothing but time depends on it
                store.put(store.CHECKED, key, name)


def _used(modules: Modules, loaded: Loaded) -> Iterator[str]:
    """The modules that one uses itself."""
    yield from (name for name in preludes_of(loaded.name) if name in modules.loaded)
    yield from loaded.modules.values()
