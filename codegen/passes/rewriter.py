"""Graph rewriting: most passes copy a graph through the builder and change it on the way.

A `Copier` adds operations to a builder, which folds constants, numbers values and hoists
loop-invariant operations; each value keeps its type. A `GraphRewriter` copies a whole graph in
order; a pass overrides `visit` (one ordinary operation), `copy_operation` (any operation),
`visit_loop`, or `copy_list` (a whole list). A copy costs more than a change in place, but needs no
def-use chains, and every pass gets folding and value numbering of its results for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref
from hwdsl.codegen.ir.graph import REAL, Body, Graph, Op, state_types

Results = dict[int, tuple[Ref, ...]]


@define(eq=False)
class Copier:
    """Copies operation lists into `builder`; `params` are the values that replace the params."""

    builder: GraphBuilder = field(factory=GraphBuilder, kw_only=True)
    params: list[Ref] = field(factory=list, kw_only=True)

    def copy_list(self, ops: Sequence[Op], inputs: Sequence[Ref] = ()) -> list[Ref]:
        """Copy a list whose `input` operations stand for `inputs`; return all values."""
        values: list[Ref] = []
        results: Results = {}
        for i in range(len(ops)):
            values.append(self.copy_operation(ops, i, values, results, inputs))
        return values

    def copy_operation(
        self,
        ops: Sequence[Op],
        i: int,
        values: Sequence[Ref],
        results: Results,
        inputs: Sequence[Ref],
    ) -> Ref:
        """Copy one operation whose arguments are in `values` already."""
        op = ops[i]
        code = op.code
        if code == "const":
            return self.builder.const(op.value, op.type)
        # A param, input or result may have been replaced by a value of a narrower type (an int
        # constant for a real): users of the operation go by its declared type.
        if code == "param":
            return self.builder.widen(self.params[op.index], op.type)
        if code == "input":
            return self.builder.widen(inputs[op.index], op.type)
        if code == "proj":
            return self.builder.widen(results[op.args[0]][op.index], op.type)
        args = [values[a] for a in op.args]
        if code == "loop":
            results[i] = self.visit_loop(op, args)
            return results[i][-1]
        return self.visit(op, args)

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an operation that is no leaf, loop or projection."""
        return self.builder.op(op.code, *args, index=op.index, type=op.type)

    def visit_loop(self, op: Op, args: list[Ref]) -> tuple[Ref, ...]:
        """Copy a loop; return its results. A carry that never changes becomes its start value."""
        body = op.body
        assert body is not None
        (low, high), start, captures = body.split(args)
        types = state_types(body, [a.type for a in start])
        # A carry whose next value is its own input never changes: its start value can be used in
        # its place, as a capture or a constant, which folds further.
        invariant = {c for c in range(body.carries) if is_input(body, body.next[c], 1 + c)}
        while True:
            varying = [c for c in range(body.carries) if c not in invariant]
            inner = self.builder.open_loop([types[c] for c in varying], within=args)
            states = list(start)
            for c, state in zip(varying, inner.states, strict=True):
                states[c] = state
            values = self.copy_list(body.ops, (inner.variable, *states, *captures))
            newly_invariant = {c for c in varying if values[body.next[c]] == states[c]}
            if not newly_invariant:
                break
            # Seen only once the body is folded: a carry whose next value has folded to itself. The
            # region cannot lose an input, so the body is built again without it.
            invariant |= newly_invariant
        until = None if body.until is None else values[body.until]
        results_of_loop = inner.close(
            low, high, op.bound, [start[c] for c in varying],
            [values[body.next[c]] for c in varying], until,
        )  # fmt: skip
        final = list(start)
        for c, result in zip(varying, results_of_loop, strict=False):
            final[c] = result
        return (*final, *results_of_loop[len(varying) :])


@define(eq=False)
class GraphRewriter(Copier):
    """Copies one graph, with all its params, read or not: callers pass them by position."""

    graph: Graph

    def __attrs_post_init__(self) -> None:
        self.builder.keep_tables(self.graph.tables)
        self.params.extend(
            self.builder.param(p.name, p.type, uniform=p.uniform, low=p.low, high=p.high)
            for p in self.graph.params
        )

    def rewrite(self) -> Graph:
        """The rewritten graph."""
        graph = self.graph
        values = self.copy_list(graph.ops)
        return self.builder.finish(
            [(name, values[i]) for name, i in graph.outputs],
            [(name, values[i]) for name, i in graph.rules],
        )


def is_input(body: Body, index: int, slot: int) -> bool:
    """Whether an operation of a body is the input of that number."""
    op = body.ops[index]
    return op.code == "input" and op.index == slot


def known_table(op: Op, args: Sequence[Ref]) -> tuple[float, ...] | None:
    """The entries of a gather that chooses among constants, if it is one of reals or alike."""
    if op.code != "gather":
        return None
    entries = [a.known for a in args[1:]]
    if None in entries or (op.type != REAL and any(a.type != op.type for a in args[1:])):
        return None
    return tuple(e for e in entries if e is not None)
