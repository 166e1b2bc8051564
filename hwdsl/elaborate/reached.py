"""What the outputs and rules of an evaluator read (a backward slice of what was evaluated).

Each thunk knows the thunks that were read while it was computed. From the outputs and the rules
they lead to all that anything of the evaluator depends on, what decides at compile time (a branch,
a count, a choice) and constants that fold away included. Decision 37 says what counts.
"""

from __future__ import annotations

from attrs import define

from hwdsl.elaborate.values import Record, SelectRecord, Thunk
from hwdsl.semantics.symbols import KindInfo
from hwdsl.syntax import ast


@define(eq=False)
class Reached:
    """What an evaluator's outputs and rules reach, from the thunks that they read.

    `unknown` are the paths of values that nobody knows: what would be read after one is not seen.
    """

    roots: tuple[Thunk, ...]
    unknown: frozenset[str] = frozenset()

    def thunks(self) -> set[Thunk]:
        """All thunks on which an output or a rule depends."""
        found: set[Thunk] = set()
        todo = list(self.roots)
        while todo:
            thunk = todo.pop()
            if thunk not in found:
                found.add(thunk)
                todo += thunk.reads or ()
        return found

    def statements(self) -> tuple[set[ast.Node], set[ast.Node]]:
        """The texts that gave one of them its value: of members, of variables of files, and the
        blocks of components of which a member was read; and those that others replace: a part's
        own value where a `with` gives one that is read."""
        found: set[ast.Node] = set()
        given: dict[Record, list[str]] = {}
        for thunk in self.thunks():
            if thunk.statement is not None:
                found.add(thunk.statement)
            if isinstance(thunk.keep, Record):
                given.setdefault(thunk.keep, []).append(thunk.label.rsplit(".", 1)[-1])
        replaced: set[ast.Node] = set()
        for record, names in given.items():
            for layer in record.layers:
                if layer.block.node is not None:
                    found.add(layer.block.node)
                for name in names:
                    entries = layer.block.entries.get(name, ())
                    replaced.update(
                        e.node for e in entries if not (e.rest or isinstance(e.node, ast.Amend))
                    )
                if layer.count is not None and "count" in names:
                    replaced.add(layer.count)
        return found, replaced - found

    def members(self) -> set[tuple[str, str]]:
        """The members that were read, each as the qualified name of the kind that declares it and
        its own."""
        found: set[tuple[KindInfo, str]] = set()
        for thunk in self.thunks():
            if isinstance(thunk.keep, Record | SelectRecord):
                found.add((thunk.keep.kind, thunk.label.rsplit(".", 1)[-1]))
        pairs = ((kind.member(name), name) for kind, name in found)
        return {(info.owner.qualified, name) for info, name in pairs if info is not None}
