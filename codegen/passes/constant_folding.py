"""Folding and sharing: rebuild a graph so that known and equal operations become one."""

from __future__ import annotations

import struct

from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.passes.dead_code import eliminate_dead_code
from hwdsl.codegen.passes.rewriter import GraphRewriter, known_table

TABLE_FROM = 5  # a gather among fewer constants is as cheap as a few selections
ROUNDS = 8


def fold_constants_and_cse(graph: Graph) -> Graph:
    """The same values from fewer operations, in loop bodies too.

    Constants fold, equal operations are shared, what does not depend on a loop leaves it, a state
    that never changes becomes its start value, and a gather among constants becomes a table.
    """
    graph = eliminate_dead_code(graph)
    for _ in range(ROUNDS):
        made = eliminate_dead_code(ConstantFolder(graph).copy())
        if made == graph or all(op.body is None for op in made.ops):
            return made
        graph = made  # a loop that lost a state or capture may fold, and so on
    return graph


@define(eq=False)
class ConstantFolder(GraphRewriter):
    """Copies a graph; the builder folds and shares."""

    interned: dict[bytes, int] = field(factory=dict)

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an operation; a gather among constants becomes a table."""
        row = known_table(op, args)
        if row is None or len(row) < TABLE_FROM or args[0].known is not None:
            return self.builder.op(op.code, *args, index=op.index, type=op.type)
        return self.builder.op("table", args[0], index=self.intern(row), type=op.type)

    def intern(self, row: tuple[float, ...]) -> int:
        """The number of a table with these entries."""
        if not self.interned:
            for i, old in enumerate(self.builder.tables):
                self.interned.setdefault(table_bits(old), i)
        key = table_bits(row)
        if key not in self.interned:
            self.interned[key] = len(self.builder.tables)
            self.builder.tables.append(row)
        return self.interned[key]


def table_bits(row: tuple[float, ...]) -> bytes:
    """The bits of a table: what tells two of them apart."""
    return struct.pack(f"<{len(row)}d", *row)
