"""Removing what nothing reads: operations, tables, and states and captures of loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
from attrs import define, field

from hwdsl.codegen.ir.graph import Body, Graph, Op
from hwdsl.codegen.operations import OPERATIONS


def eliminate_dead_code(graph: Graph) -> Graph:
    """The graph without what no output or rule needs. Params stay: callers pass them by place."""
    while True:
        smaller = eliminate_dead_code_once(graph)
        if smaller == graph or all(o.body is None for o in smaller.ops):
            return smaller
        graph = smaller  # a state dropped from an inner loop may free one of the outer loop


def eliminate_dead_code_once(graph: Graph) -> Graph:
    """One round of `dead`."""
    cut = LiveSlice(graph.ops, [i for _, i in (*graph.outputs, *graph.rules)])
    ops = cut.kept()
    tables = sorted(tables_of(ops))
    if len(tables) < len(graph.tables):
        ops = tuple(renumber(op, {old: new for new, old in enumerate(tables)}) for op in ops)
    return Graph(
        graph.params,
        ops,
        tuple((name, cut.place[i]) for name, i in graph.outputs),
        tuple((name, cut.place[i]) for name, i in graph.rules),
        tuple(graph.tables[i] for i in tables),
    )


@define(eq=False)
class LiveSlice:
    """The live part of one operation list. `place` gives the new index of each kept operation."""

    ops: Sequence[Op]
    roots: Iterable[int]
    place: dict[int, int] = field(factory=dict)
    live: list[bool] = field(init=False)
    wanted: dict[int, set[int]] = field(factory=dict)
    bodies: dict[int, tuple[Op, dict[int, int]]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.live = [False] * len(self.ops)
        for root in self.roots:
            self.live[root] = True
        for i in range(len(self.ops) - 1, -1, -1):
            if self.live[i]:
                self._mark(i)

    def _mark(self, i: int) -> None:
        op = self.ops[i]
        if op.code == "proj":
            self.wanted.setdefault(op.args[0], set()).add(op.index)
        if op.code == "loop":
            op = self._trim(i, op)
        for a in op.args:
            self.live[a] = True

    def _trim(self, i: int, op: Op) -> Op:
        """Cut a loop down to the states that its wanted results need. Projections come later in
        the list, so all wants are known by now."""
        body = op.body
        assert body is not None
        states = live_carries(body, self.wanted.get(i, set()))
        roots = [body.next[c] for c in states]
        if body.until is not None:
            roots.append(body.until)
        cut = LiveSlice(body.ops, roots)
        inner = cut.kept()
        captures = [s for s in cut.inputs() if s > body.carries]
        slots = {s: n for n, s in enumerate([0, *(1 + c for c in states), *captures])}
        small = Body(
            tuple(attrs.evolve(o, index=slots[o.index]) if o.code == "input" else o
                  for o in inner),
            len(states),
            tuple(cut.place[body.next[c]] for c in states),
            None if body.until is None else cut.place[body.until],
        )  # fmt: skip
        args = (*op.args[:2], *(op.args[1 + s] for s in slots if s))
        trimmed = attrs.evolve(op, args=args, body=small)
        results = [*states, body.carries, body.carries + 1]
        self.bodies[i] = (trimmed, {old: new for new, old in enumerate(results)})
        return trimmed

    def inputs(self) -> list[int]:
        """The inputs that are live, in order."""
        return sorted({o.index for o, alive in zip(self.ops, self.live, strict=True)
                       if alive and o.code == "input"})  # fmt: skip

    def kept(self) -> tuple[Op, ...]:
        """The live operations with their new arguments."""
        kept: list[Op] = []
        place = self.place
        for i, op in enumerate(self.ops):
            if not self.live[i]:
                continue
            if op.code == "proj":
                results = self.bodies[op.args[0]][1]
                op = attrs.evolve(op, index=results[op.index])
            elif op.code == "loop":
                op = self.bodies[i][0]
            place[i] = len(kept)
            args = tuple([place[a] for a in op.args])
            kept.append(op if args == op.args else with_operands(op, args))
        return tuple(kept)


def with_operands(op: Op, args: tuple[int, ...]) -> Op:
    """The operation with other arguments (`evolve` takes four times as long)."""
    return Op(op.code, args, op.type, op.value, op.index, op.bound, op.body)


def live_carries(body: Body, wanted: set[int]) -> list[int]:
    """The states that the wanted results of a loop depend on, `until` included."""
    readers = [carries_read(body, n) for n in body.next]
    todo = {w for w in wanted if w < body.carries}
    if body.until is not None:
        todo |= carries_read(body, body.until)
    needed: set[int] = set()
    while todo:
        state = todo.pop()
        needed.add(state)
        todo |= readers[state] - needed
    return sorted(needed)


def carries_read(body: Body, root: int) -> set[int]:
    """The states that one operation of a body depends on."""
    seen = {root}
    todo = [root]
    states: set[int] = set()
    while todo:
        op = body.ops[todo.pop()]
        if op.code == "input" and 1 <= op.index <= body.carries:
            states.add(op.index - 1)
        for a in op.args:
            if a not in seen:
                seen.add(a)
                todo.append(a)
    return states


def tables_of(ops: Iterable[Op]) -> set[int]:
    """The tables that operations use, those of loop bodies included."""
    found: set[int] = set()
    for op in ops:
        if OPERATIONS[op.code].reads_table:
            found.add(op.index)
        elif op.body is not None:
            found |= tables_of(op.body.ops)
    return found


def renumber(op: Op, tables: dict[int, int]) -> Op:
    """The operation with its tables numbered anew."""
    if OPERATIONS[op.code].reads_table:
        return attrs.evolve(op, index=tables[op.index])
    if op.body is not None:
        inner = tuple(renumber(o, tables) for o in op.body.ops)
        return attrs.evolve(op, body=attrs.evolve(op.body, ops=inner))
    return op
