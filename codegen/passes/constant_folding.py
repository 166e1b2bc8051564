"""Constant folding, value numbering (common subexpressions), and loop-invariant code motion. All
three are the builder's doing as it adds operations; this pass copies the graph through it."""

from __future__ import annotations

from attrs import define

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.passes.dead_code import eliminate_dead_code
from hwdsl.codegen.passes.rewriter import GraphRewriter, known_table

TABLE_FROM = 5  # a gather among fewer constants is as cheap as a few selections
ROUNDS = 8


def fold_constants_and_cse(graph: Graph) -> Graph:
    """The same values from fewer operations, in loop bodies too.

    Constants fold, equal operations are shared, loop-invariant operations leave their loop, a carry
    that never changes becomes its start value, and a gather among constants becomes a table.
    """
    graph = eliminate_dead_code(graph)
    for _ in range(ROUNDS):
        folded = eliminate_dead_code(ConstantFolder(graph).rewrite())
        if folded == graph or all(op.body is None for op in folded.ops):
            return folded
        graph = folded  # a loop that lost a carry or capture may fold, and so on
    return graph


@define(eq=False)
class ConstantFolder(GraphRewriter):
    """Copies a graph through the builder, which folds; makes tables of gathers among constants."""

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an operation; a gather among constants becomes a table."""
        # With a constant index the gather folds to one of its arguments; a table would hide which.
        entries = known_table(op, args)
        if entries is None or len(entries) < TABLE_FROM or args[0].known is not None:
            return self.builder.op(op.code, *args, index=op.index, type=op.type)
        number = self.builder.table(entries)
        return self.builder.op("table", args[0], index=number, type=op.type)
