"""Dead-code elimination: operations, tables, and loop-carried values and captures that no output or
rule needs. In a loop a carry is live if a result that is read, or `until`, depends on it, so one
that only computes itself is removed (aggressive DCE, as in LLVM's ADCE)."""

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
        graph = smaller  # a carry removed from an inner loop may make one of the outer loop dead


def eliminate_dead_code_once(graph: Graph) -> Graph:
    """One round of dead-code elimination."""
    live_slice = LiveSlice(graph.ops, graph.roots)
    ops = live_slice.live_ops()
    # A dead table would be compiled into the kernel, and would be part of its key.
    tables = sorted(tables_of(ops))
    if len(tables) < len(graph.tables):
        numbers = {old: new for new, old in enumerate(tables)}
        ops = tuple(with_tables(op, numbers) for op in ops)
    return Graph(
        graph.params,
        ops,
        tuple((name, live_slice.new_index[i]) for name, i in graph.outputs),
        tuple((name, live_slice.new_index[i]) for name, i in graph.rules),
        tuple(graph.tables[i] for i in tables),
    )


@define(eq=False)
class LiveSlice:
    """The live operations of one list, found by one walk backwards from the roots.

    `new_index` maps an operation to its index in the new list, `used_results` a loop to those of
    its results that are read, `trimmed_loops` a loop to its smaller copy and the new numbers of its
    results.
    """

    ops: Sequence[Op]
    roots: Iterable[int]
    new_index: dict[int, int] = field(factory=dict)
    live: list[bool] = field(init=False)
    used_results: dict[int, set[int]] = field(factory=dict)
    trimmed_loops: dict[int, tuple[Op, dict[int, int]]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.live = [False] * len(self.ops)
        for root in self.roots:
            self.live[root] = True
        # Operands come before their users, so one walk backwards marks everything.
        for i in range(len(self.ops) - 1, -1, -1):
            if self.live[i]:
                self._mark(i)

    def _mark(self, i: int) -> None:
        op = self.ops[i]
        if op.code == "proj":
            self.used_results.setdefault(op.args[0], set()).add(op.index)
        if op.code == "loop":
            op = self._trim_loop(i, op)
        for a in op.args:
            self.live[a] = True

    def _trim_loop(self, i: int, op: Op) -> Op:
        """A loop with its live carries alone. Projections come later in the list than their loop,
        so the walk backwards has seen all of them by now."""
        body = op.body
        assert body is not None
        carries = live_carries(body, self.used_results.get(i, set()))
        # What `until` reads stays though nothing else reads it: it says how many rounds are run.
        until = [] if body.until is None else [body.until]
        live_slice = LiveSlice(body.ops, [*(body.next[c] for c in carries), *until])
        inner = live_slice.live_ops()
        captures = [s for s in live_slice.inputs() if s > body.carries]
        slots = {s: n for n, s in enumerate([0, *(1 + c for c in carries), *captures])}
        small = Body(
            tuple(attrs.evolve(o, index=slots[o.index]) if o.code == "input" else o
                  for o in inner),
            len(carries),
            tuple(live_slice.new_index[body.next[c]] for c in carries),
            None if body.until is None else live_slice.new_index[body.until],
        )  # fmt: skip
        args = (*op.args[:2], *(op.args[1 + s] for s in slots if s))
        trimmed = attrs.evolve(op, args=args, body=small)
        # The last two results, rounds run and whether `until` held, cost nothing and always stay.
        results = [*carries, body.carries, body.carries + 1]
        self.trimmed_loops[i] = (trimmed, {old: new for new, old in enumerate(results)})
        return trimmed

    def inputs(self) -> list[int]:
        """The inputs that are live, in order."""
        return sorted({o.index for o, alive in zip(self.ops, self.live, strict=True)
                       if alive and o.code == "input"})  # fmt: skip

    def live_ops(self) -> tuple[Op, ...]:
        """The live operations with their new arguments."""
        live_ops: list[Op] = []
        new_index = self.new_index
        for i, op in enumerate(self.ops):
            if not self.live[i]:
                continue
            if op.code == "proj":
                results = self.trimmed_loops[op.args[0]][1]
                op = attrs.evolve(op, index=results[op.index])
            elif op.code == "loop":
                op = self.trimmed_loops[i][0]
            new_index[i] = len(live_ops)
            args = tuple([new_index[a] for a in op.args])
            live_ops.append(op if args == op.args else with_operands(op, args))
        return tuple(live_ops)


def with_operands(op: Op, args: tuple[int, ...]) -> Op:
    """The same with other arguments, built by hand: `attrs.evolve` takes four times as long."""
    return Op(op.code, args, op.type, op.value, op.index, op.bound, op.body)


def live_carries(body: Body, used_results: set[int]) -> list[int]:
    """The carries that the used results of a loop depend on, `until` included.

    One walk backwards goes on from a carry that is read to its next value. To find what each carry
    reads by itself, and then the transitive closure, would take the square of a long body.
    """
    needed = {w for w in used_results if w < body.carries}
    todo = [body.next[c] for c in needed]
    if body.until is not None:
        todo.append(body.until)
    seen: set[int] = set()
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        op = body.ops[i]
        carry = op.index - 1 if op.code == "input" else -1
        if 0 <= carry < body.carries and carry not in needed:
            needed.add(carry)
            todo.append(body.next[carry])
        todo.extend(op.args)
    return sorted(needed)


def tables_of(ops: Iterable[Op]) -> set[int]:
    """The tables that operations use, those of loop bodies included."""
    found: set[int] = set()
    for op in ops:
        if OPERATIONS[op.code].reads_table:
            found.add(op.index)
        elif op.body is not None:
            found |= tables_of(op.body.ops)
    return found


def with_tables(op: Op, tables: dict[int, int]) -> Op:
    """The operation with the new indices of its tables."""
    if OPERATIONS[op.code].reads_table:
        return attrs.evolve(op, index=tables[op.index])
    if op.body is not None:
        inner = tuple(with_tables(o, tables) for o in op.body.ops)
        return attrs.evolve(op, body=attrs.evolve(op.body, ops=inner))
    return op
