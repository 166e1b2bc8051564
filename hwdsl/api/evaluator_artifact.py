"""What loading a file gives: enough to call and to sweep, kept in the store by content.

An entry holds, for each evaluator, what the runtime is told of it, the exact units, the optimised
graph and the rules that no point decides; and the warnings. Derivations and messages need more; for
them the file is elaborated again. A cold load goes through the same data, so that it gives the same
as a warm one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from hwdsl.api import artifact
from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostic
from hwdsl.base.source import LARGEST_FILE, Source, read_bytes
from hwdsl.base.units import Unit
from hwdsl.codegen.ir.serialization import decode
from hwdsl.codegen.runtime import Scale, Spec

if TYPE_CHECKING:
    from hwdsl.codegen.ir.graph import Graph


@frozen(slots=False)
class CachedEvaluator:
    """An evaluator: its spec, the exact units of its params, and its graphs as bytes.

    They are read when something asks for them: a kernel in the cache is found by the bytes alone.

    `undecided` holds the name and the message of each rule that reads what nobody knows, and the
    graph `undecided_where_bytes` has an output for each, 1 where it does, if not everywhere;
    `operations` says how many the graph had as elaborated, with the rounds of its loops.
    """

    spec: Spec
    units: Mapping[str, Unit]
    graph_bytes: bytes
    sampler_bytes: bytes | None
    undecided: tuple[tuple[str, str], ...]
    undecided_where_bytes: bytes | None
    operations: int

    @cached_property
    def graph(self) -> Graph:
        """The optimised graph."""
        return decode(self.graph_bytes)

    @cached_property
    def sampler(self) -> Graph | None:
        """The graph that makes draws, if some param has a distribution."""
        return None if self.sampler_bytes is None else decode(self.sampler_bytes)

    @cached_property
    def undecided_where(self) -> Graph | None:
        """The graph that says where rules are not decided, if it depends on the point."""
        where = self.undecided_where_bytes
        return None if where is None else decode(where)


@frozen
class CachedModule:
    """A file: its evaluators, the units that texts may use, its `#!` text and its warnings."""

    evaluators: Mapping[str, CachedEvaluator]
    scales: Mapping[str, Scale]
    doc: str
    warnings: tuple[Diagnostic, ...]


@frozen
class _Entry:
    """The entry of a file."""

    key: str
    inputs: tuple[artifact.Input, ...]
    file: CachedModule


def save(main: Source, used: Mapping[str, str], file: CachedModule) -> None:
    """Put a file's entry into the cache; nothing but time is lost if that cannot be done.

    `used` are the files read on behalf of `main`, with hashes of their texts.
    """
    with suppress(store.CacheError, ValueError, OSError):
        inputs = artifact.inputs(main, used)
        plain = evolve(file, warnings=artifact.without_texts(file.warnings, main))
        entry = _Entry(_key(main, inputs), inputs, plain)
        store.put(store.LOADED, artifact.entry_name(main.name), entry)


def lookup(path: Path) -> tuple[Source, CachedModule] | None:
    """A file's text and entry if there is one made from what is there now, else nothing."""
    entry = artifact.load(store.LOADED, str(path), _Entry)
    if entry is None:
        return None
    with suppress(OSError, UnicodeDecodeError):  # a file that cannot be read now
        main = Source(str(path), read_bytes(path, LARGEST_FILE).decode("utf-8"))
        if entry.key == _key(main, artifact.inputs_now(main, entry.inputs)):
            warnings = artifact.TextReader(main).read(entry.file.warnings)
            return main, evolve(entry.file, warnings=warnings)
    return None


def _key(main: Source, inputs: tuple[artifact.Input, ...]) -> str:
    return store.LOADED.key({**artifact.surroundings(main, inputs), "text": main.text})
