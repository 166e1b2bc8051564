"""Rolling: repeated shapes under a reduction become a loop over constant tables."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir import INT, REAL, Builder, Graph, LoopRegion, Op, Ref
from hwdsl.codegen.passes.dead import dead
from hwdsl.codegen.passes.plan import ARGS, Group, Rolled, plan
from hwdsl.codegen.passes.rebuild import Rebuilder, Results, body_roots

NESTING = 4  # reductions inside reductions that are rolled, one level a round
LARGEST_INT = 2.0**53 - 1
START = {"sum": -0.0, "prod": 1.0, "nmin": float("inf"), "nmax": float("-inf")}
PAIRWISE = {"sum": "add", "prod": "mul", "nmin": "min", "nmax": "max"}


def roll(graph: Graph) -> Graph:
    """Turn repeated shapes under sums, products, minima, maxima and argmins into loops.

    Repetitions may differ in constants (they become tables) and share any outer value. Operands
    are taken in the same order, so the bits are the same. Reductions over the same repetitions,
    and gathers at their argmin, share one loop. Only what saves enough is rolled.
    """
    for _ in range(NESTING):
        if not worthwhile(graph):
            break
        graph = dead(Roller(graph).copy())
    return graph


def worthwhile(graph: Graph) -> bool:
    """Whether any operation list of the graph has something to roll."""
    roots = [i for _, i in (*graph.outputs, *graph.rules)]
    return has_groups(graph.ops, roots, graph.tables)


def has_groups(ops: Sequence[Op], roots: Sequence[int], tables: Sequence[Sequence[float]]) -> bool:
    """Whether a list, or a body in it, has something to roll."""
    return bool(plan(ops, roots, tables)) or any(
        has_groups(op.body.ops, body_roots(op.body), tables) for op in ops if op.body is not None
    )


@define(eq=False)
class State:
    """What a group's members have come to: a value each, and for argmins the index so far.

    A member without operands yet has None.
    """

    values: list[Ref | None]
    places: list[Ref | None]


@define(eq=False)
class Roller(Rebuilder):
    """Copies a graph, with loops in place of groups."""

    interned: dict[bytes, int] = field(factory=dict)

    def run(self, ops: Sequence[Op], roots: Sequence[int], inputs: Sequence[Ref]) -> list[Ref]:
        """Copy a list. With groups, operations are copied as they are asked for: a group's loop
        needs what all its members need, and some of that may come after the first of them."""
        groups = plan(ops, roots, self.graph.tables)
        if not groups:
            return Rebuilder.run(self, ops, roots, inputs)
        member = {m: g for g in groups for m in g.members}
        values: list[Ref] = [self.builder.const(0.0)] * len(ops)
        done = [False] * len(ops)
        results: Results = {}
        for root in roots:
            todo = [root]
            while todo:
                i = todo[-1]
                group = member.get(i)
                needs = ops[i].args if group is None else group_needs(group)
                missing = [] if done[i] else [a for a in needs if not done[a]]
                if missing:
                    todo.extend(reversed(missing))
                    continue
                todo.pop()
                if done[i]:
                    continue
                if group is None:
                    values[i] = self.place(ops, i, values, results, inputs)
                    done[i] = True
                else:
                    for m, value in zip(group.members, self.make(ops, group, values), strict=True):
                        values[m], done[m] = value, True
        return values

    def make(self, ops: Sequence[Op], group: Group, values: Sequence[Ref]) -> list[Ref]:
        """The values of a group's members: segments by loops, the operands between them flat."""
        joiner = Joiner(self.builder, [ops[m] for m in group.members], followers(ops, group))
        state = State([None] * len(group.members), [None] * len(group.members))
        at = [0] * len(group.members)
        for rolled in group.rolled:
            self.flat(joiner, state, group, values, at, [s.start for s in rolled.segments])
            self.segment(joiner, state, rolled, ops, values)
            at = [s.stop for s in rolled.segments]
        self.flat(joiner, state, group, values, at, [len(o) for o in group.operands])
        return joiner.finish(state)

    def flat(
        self,
        joiner: Joiner,
        state: State,
        group: Group,
        values: Sequence[Ref],
        start: Sequence[int],
        stop: Sequence[int],
    ) -> None:
        """Take in the operands `start .. stop` of each member, outside loops."""
        for n, after in joiner.after.items():
            for k in range(start[n], stop[n]):
                operands = {m: values[group.operands[m][k]] for m in (n, *after)}
                joiner.take(state, n, operands, self.builder.const(k, INT), k == 0)

    def segment(
        self,
        joiner: Joiner,
        state: State,
        rolled: Rolled,
        ops: Sequence[Op],
        values: Sequence[Ref],
    ) -> None:
        """Run a segment as a loop and move `state` past it."""
        b = self.builder
        repeats = rolled.segments[0].repeats
        start = joiner.carried(state)
        shared = [values[n.index] for n in rolled.nodes if n.kind == "same"]
        loop = b.open_loop(joiner.types(), within=[*start, *shared])
        inner = joiner.unpack(loop.states)
        made = self.nodes(rolled, ops, values, loop)
        for n, after in joiner.after.items():
            segment = rolled.segments[n]
            first = b.op("mul", loop.variable, b.const(segment.period, INT))
            for q in range(segment.period):
                offset = segment.start + q
                place = b.op("add", first, b.const(offset, INT)) if offset else first
                operands = {m: made[rolled.terms[m][q]] for m in (n, *after)}
                joiner.take(inner, n, operands, place, offset == 0)
        last = b.const(repeats - 1, INT)
        out = loop.close(b.const(0, INT), last, repeats, start, joiner.carried(inner))
        done = joiner.unpack(out)
        state.values, state.places = done.values, done.places

    def nodes(
        self, rolled: Rolled, ops: Sequence[Op], values: Sequence[Ref], loop: LoopRegion
    ) -> list[Ref]:
        """The pattern's operations, inside the loop."""
        b = self.builder
        made: list[Ref] = []
        results: Results = {}
        for n, node in enumerate(rolled.nodes):
            op = ops[node.index]
            args = [made[a] for a in node.args]
            if node.kind == "same":
                made.append(values[node.index])
            elif node.kind == "table":
                made.append(b.op("table", loop.variable, index=self.intern(node.row), type=op.type))
            elif node.kind == "rows":
                length = len(node.row) // rolled.segments[0].repeats
                row = b.op("mul", loop.variable, b.const(length, INT))
                place = b.op("add", row, args[0], type=INT)
                made.append(b.op("table", place, index=self.intern(node.row), type=op.type))
            elif op.code == "loop":
                results[n] = self.loop(op, args)
                made.append(results[n][-1])
            elif op.code == "proj":
                made.append(results[node.args[0]][op.index])
            else:
                made.append(self.visit(op, args))
        return made

    def intern(self, row: tuple[float, ...]) -> int:
        """The number of a table with these entries."""
        key = struct.pack(f"<{len(row)}d", *row)
        if key not in self.interned:
            self.interned[key] = len(self.builder.tables)
            self.builder.tables.append(row)
        return self.interned[key]


@define(eq=False)
class Joiner:
    """How the members of a group take in one more operand each.

    `after` has the members that are no gathers, each with the gathers that follow it.
    """

    builder: Builder
    members: list[Op]
    after: dict[int, list[int]]

    def take(
        self, state: State, n: int, operands: dict[int, Ref], place: Ref, may_be_first: bool
    ) -> None:
        """Take in one operand of member n and of its gathers; `place` is its number."""
        b, op = self.builder, self.members[n]
        old, new = state.values[n], operands[n]
        if op.code in ARGS:
            won = self._choose(state, n, new, place, may_be_first)
            for m in self.after[n]:
                best = state.values[m]
                if won is None or best is None:
                    state.values[m] = operands[m]
                else:
                    type = self.members[m].type
                    state.values[m] = b.op("select", won, operands[m], best, type=type)
        elif old is None:
            state.values[n] = new
        else:
            state.values[n] = b.op(PAIRWISE[op.code], old, new, type=op.type)

    def _choose(self, state: State, n: int, new: Ref, place: Ref, may_be_first: bool) -> Ref | None:
        """Keep the best operand and its number; say when it is the new one. The first is taken
        even if it is NaN; later ones must be a number, and better than a number."""
        b = self.builder
        old, at = state.values[n], state.places[n]
        if old is None or at is None:
            state.values[n], state.places[n] = new, place
            return None
        pair = (old, new) if self.members[n].code == "argmin" else (new, old)
        won = b.op("and", b.op("eq", new, new), b.op("not", b.op("le", *pair)))
        if may_be_first:
            won = b.op("or", won, b.op("eq", place, b.const(0, INT)))
        state.values[n] = b.op("select", won, new, old, type=REAL)
        state.places[n] = b.op("select", won, place, at, type=INT)
        return won

    def types(self) -> list[str]:
        """The types of the states that a loop carries."""
        types: list[str] = []
        for op in self.members:
            types += [REAL, INT] if op.code in ARGS else [op.type]
        return types

    def carried(self, state: State) -> list[Ref]:
        """The states that a loop carries; a member without operands yet starts neutral."""
        b = self.builder
        row: list[Ref] = []
        for op, value, place in zip(self.members, state.values, state.places, strict=True):
            neutral = START.get(op.code, 0.0)
            if op.type == INT and op.code in ("nmin", "nmax"):
                neutral = LARGEST_INT if op.code == "nmin" else -LARGEST_INT
            row.append(b.const(neutral, op.type) if value is None else value)
            if op.code in ARGS:
                row[-1] = b.const(float("nan")) if value is None else value
                row.append(b.const(0, INT) if place is None else place)
        return row

    def unpack(self, row: Sequence[Ref]) -> State:
        """The inverse of `carried`."""
        values: list[Ref | None] = []
        places: list[Ref | None] = []
        at = 0
        for op in self.members:
            chooses = op.code in ARGS
            values.append(row[at])
            places.append(row[at + 1] if chooses else None)
            at += 2 if chooses else 1
        return State(values, places)

    def finish(self, state: State) -> list[Ref]:
        """The members' values."""
        made: list[Ref] = []
        for op, value, place in zip(self.members, state.values, state.places, strict=True):
            ref = place if op.code in ARGS else value
            assert ref is not None
            made.append(ref)
        return made


def followers(ops: Sequence[Op], group: Group) -> dict[int, list[int]]:
    """The members (by number in the group) that are no gathers, with the gathers at each."""
    number = {m: n for n, m in enumerate(group.members)}
    after: dict[int, list[int]] = {
        n: [] for n, m in enumerate(group.members) if ops[m].code != "gather"
    }
    for n, m in enumerate(group.members):
        if ops[m].code == "gather":
            after[number[ops[m].args[0]]].append(n)
    return after


def group_needs(group: Group) -> list[int]:
    """The operations that a group's loops and flat operands read."""
    needs: list[int] = []
    for rolled in group.rolled:
        needs += [n.index for n in rolled.nodes if n.kind == "same"]
    for n, operands in enumerate(group.operands):
        at = 0
        for rolled in group.rolled:
            needs += operands[at : rolled.segments[n].start]
            at = rolled.segments[n].stop
        needs += operands[at:]
    return needs
