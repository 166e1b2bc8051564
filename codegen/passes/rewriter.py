"""Copying a graph through the builder: what most passes are made of.

A `Copier` adds operations to a builder, which folds, shares and moves what does not depend on a
loop out of it; each value keeps its type. A `GraphRewriter` walks a whole graph in order; a pass
overrides `visit` (one ordinary operation), `loop`, or `run` (a whole list).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref
from hwdsl.codegen.ir.graph import REAL, Body, Graph, Op, state_types

Results = dict[int, tuple[Ref, ...]]


@define(eq=False)
class Copier:
    """Copies operation lists; `builder` holds the copy so far, `params` stand for the params."""

    builder: GraphBuilder = field(factory=GraphBuilder, kw_only=True)
    params: list[Ref] = field(factory=list, kw_only=True)

    def run(self, ops: Sequence[Op], roots: Sequence[int], inputs: Sequence[Ref]) -> list[Ref]:
        """Copy a list whose `input` operations stand for `inputs`; return all values."""
        values: list[Ref] = []
        results: Results = {}
        for i in range(len(ops)):
            values.append(self.place(ops, i, values, results, inputs))
        return values

    def place(
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
        if code == "param":
            return self.builder.widen(self.params[op.index], op.type)
        if code == "input":
            return self.builder.widen(inputs[op.index], op.type)
        if code == "proj":
            return self.builder.widen(results[op.args[0]][op.index], op.type)
        args = [values[a] for a in op.args]
        if code == "loop":
            results[i] = self.loop(op, args)
            return results[i][-1]
        return self.visit(op, args)

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an operation that is no leaf, loop or projection."""
        return self.builder.op(op.code, *args, index=op.index, type=op.type)

    def loop(self, op: Op, args: list[Ref]) -> tuple[Ref, ...]:
        """Copy a loop; return its results. A state that never changes becomes its start value."""
        body = op.body
        assert body is not None
        start, captures = args[2 : 2 + body.carries], args[2 + body.carries :]
        types = state_types(body, [a.type for a in start])
        fixed = {c for c in range(body.carries) if is_input(body, body.next[c], 1 + c)}
        while True:
            moving = [c for c in range(body.carries) if c not in fixed]
            inner = self.builder.open_loop([types[c] for c in moving], within=args)
            states = list(start)
            for c, state in zip(moving, inner.states, strict=True):
                states[c] = state
            values = self.run(body.ops, body_roots(body), (inner.variable, *states, *captures))
            still = {c for c in moving if values[body.next[c]] == states[c]}
            if not still:
                break
            fixed |= still  # only seen once the body is folded; build it again without them
        until = None if body.until is None else values[body.until]
        made = inner.close(
            args[0], args[1], op.bound, [start[c] for c in moving],
            [values[body.next[c]] for c in moving], until,
        )  # fmt: skip
        final = list(start)
        for c, result in zip(moving, made, strict=False):
            final[c] = result
        return (*final, *made[len(moving) :])


@define(eq=False)
class GraphRewriter(Copier):
    """Copies one graph."""

    graph: Graph

    def __attrs_post_init__(self) -> None:
        # Table numbers stay what they are; interning each again would be quadratic.
        self.builder.tables.extend(self.graph.tables)
        self.params.extend(
            self.builder.param(p.name, p.type, uniform=p.uniform, low=p.low, high=p.high)
            for p in self.graph.params
        )

    def copy(self) -> Graph:
        """The graph, rebuilt."""
        graph = self.graph
        roots = [i for _, i in (*graph.outputs, *graph.rules)]
        values = self.run(graph.ops, roots, ())
        return self.builder.finish(
            [(name, values[i]) for name, i in graph.outputs],
            [(name, values[i]) for name, i in graph.rules],
        )


def body_roots(body: Body) -> list[int]:
    """The operations of a body that its loop reads."""
    return [*body.next, *([] if body.until is None else [body.until])]


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
