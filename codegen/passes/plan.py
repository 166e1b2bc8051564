"""Finding repeated shapes under reductions: the analysis half of `roll`.

Every operation gets a shape: what it computes, with constants left blank and params named. Under a
reduction, consecutive operands with equal shapes (or a repeating pattern of shapes) are a segment.
Reductions of the same segments that do not depend on one another form a group, so that what they
share is still computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field, frozen

from hwdsl.codegen.ir import NARY, Op

REPEATS = 8  # fewer repetitions are left alone
LONGEST_PERIOD = 64
LEAST_SAVED = 64  # operations that a segment must save to be worth a loop
MOST_WORK = 2.0  # operations run in the loop, for each one removed
ARGS = frozenset(["argmin", "argmax"])


@frozen
class Segment:
    """Operands `start .. start + period * repeats` of a reduction: `repeats` equal patterns."""

    start: int
    period: int
    repeats: int

    @property
    def stop(self) -> int:
        """The first operand after the segment."""
        return self.start + self.period * self.repeats


@frozen
class Node:
    """What `repeats` operations have in common.

    `kind` is `same` (one operation, `index`, in all of them), `table` (constants: `row`), `rows`
    (tables of equal length, side by side: `row`, read at the argument), or `op` (`index` is one of
    them). `args` are positions of nodes.
    """

    kind: str
    index: int
    args: tuple[int, ...] = ()
    row: tuple[float, ...] = ()


@frozen
class Rolled:
    """A segment as one pattern: `terms[q][m]` is the node of member m's operand in place q."""

    segment: Segment
    nodes: tuple[Node, ...]
    terms: tuple[tuple[int, ...], ...]


@frozen
class Group:
    """Reductions that become the same loops. A gather is a member with the argmin it reads."""

    members: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    rolled: tuple[Rolled, ...]


def plan(ops: Sequence[Op], roots: Sequence[int], tables: Sequence[Sequence[float]]) -> list[Group]:
    """The groups of reductions in an operation list that are worth rolling."""
    if not any(op.code in NARY and len(op.args) >= REPEATS for op in ops):
        return []
    return Planner(ops, roots, tables).groups()


@define(eq=False)
class Planner:
    """Finds the groups of one operation list."""

    ops: Sequence[Op]
    roots: Sequence[int]
    tables: Sequence[Sequence[float]]
    shapes: list[int] = field(factory=list)
    uses: list[int] = field(factory=list)
    removed: set[int] = field(factory=set)

    def groups(self) -> list[Group]:
        """Outermost reductions first: what they take in is no longer a candidate."""
        self.shapes = shapes(self.ops, self.tables)
        self.uses = use_counts(self.ops, self.roots)
        found: list[Group] = []
        classes = self._classes()
        for key in sorted(classes, key=lambda k: -k[0]):
            members = [m for m in classes[key] if m not in self.removed]
            group = self._group(members, key[1]) if members else None
            if group is not None:
                found.append(group)
        return found

    def _classes(self) -> dict[tuple[int, tuple[Segment, ...]], list[int]]:
        """Candidates by level and segments. Those of one level cannot depend on each other."""
        level = [0] * len(self.ops)
        segments: dict[int, tuple[Segment, ...]] = {}
        classes: dict[tuple[int, tuple[Segment, ...]], list[int]] = {}
        for i, op in enumerate(self.ops):
            if not op.args:
                continue
            chosen = self._chooser(op, segments, level)
            values = op.args if chosen is None else op.args[1:]
            level[i] = max(level[a] + (a in segments) for a in values)
            if chosen is not None:
                level[i] = level[chosen]
                segments[i] = segments[chosen]
            elif op.code in NARY and len(op.args) >= REPEATS:
                cut = self._segments(op.args)
                if cut:
                    segments[i] = cut
            if i in segments:
                classes.setdefault((level[i], segments[i]), []).append(i)
        return classes

    def _chooser(
        self, op: Op, segments: dict[int, tuple[Segment, ...]], level: list[int]
    ) -> int | None:
        """The candidate argmin that a gather reads, if its operands fall into equal segments."""
        if op.code != "gather" or op.args[0] not in segments:
            return None
        choice = op.args[0]
        if self.ops[choice].code not in ARGS or len(self.ops[choice].args) != len(op.args) - 1:
            return None
        if any(level[a] + (a in segments) > level[choice] for a in op.args[1:]):
            return None
        row = [self.shapes[a] for a in op.args[1:]]
        for s in segments[choice]:
            if row[s.start : s.stop - s.period] != row[s.start + s.period : s.stop]:
                return None
        return choice

    def _segments(self, args: Sequence[int]) -> tuple[Segment, ...]:
        row = [self.shapes[a] for a in args]
        found: list[Segment] = []
        start = 0
        while start <= len(row) - REPEATS:
            best = longest_pattern(row, start)
            if best is None:
                start += 1
            else:
                found.append(best)
                start = best.stop
        return tuple(found)

    def _group(self, members: list[int], segments: tuple[Segment, ...]) -> Group | None:
        kept = set(members)
        members = [
            m for m in members if self.ops[m].code != "gather" or self.ops[m].args[0] in kept
        ]
        operands = tuple(
            self.ops[m].args[1:] if self.ops[m].code == "gather" else self.ops[m].args
            for m in members
        )
        rolled = [r for s in segments if (r := self._roll(s, operands)) is not None]
        return Group(tuple(members), operands, tuple(rolled)) if rolled else None

    def _roll(self, segment: Segment, operands: Sequence[Sequence[int]]) -> Rolled | None:
        """The segment as one pattern, if that removes enough operations."""
        drops: dict[int, int] = {}
        gone = self._gone([o[k] for o in operands for k in range(segment.start, segment.stop)],
                          drops)  # fmt: skip
        saved = sum(1 for i in gone if self.ops[i].code != "const")
        if saved < LEAST_SAVED:
            return None
        matched = Matcher(self.ops, self.tables, int(MOST_WORK * saved / segment.repeats) + 1)
        terms: list[tuple[int, ...]] = []
        for q in range(segment.period):
            places = range(segment.start + q, segment.stop, segment.period)
            found = [matched.node(tuple([o[k] for k in places])) for o in operands]
            if None in found:
                return None
            terms.append(tuple(f for f in found if f is not None))
        for i, n in drops.items():
            self.uses[i] -= n
        self.removed.update(gone)
        return Rolled(segment, tuple(matched.nodes), tuple(terms))

    def _gone(self, todo: list[int], drops: dict[int, int]) -> set[int]:
        """What is left without a reader once these uses are gone."""
        gone: set[int] = set()
        while todo:
            i = todo.pop()
            drops[i] = drops.get(i, 0) + 1
            if drops[i] == self.uses[i] and i not in self.removed:
                gone.add(i)
                todo.extend(self.ops[i].args)
        return gone


@define(eq=False)
class Matcher:
    """Walks corresponding operations of all repetitions in step, each combination once."""

    ops: Sequence[Op]
    tables: Sequence[Sequence[float]]
    limit: int
    nodes: list[Node] = field(factory=list)
    found: dict[tuple[int, ...], int] = field(factory=dict)
    work: int = 0

    def node(self, root: tuple[int, ...]) -> int | None:
        """The node for these operations, or None if there is too much to do."""
        todo = [root]
        while todo:
            at = todo[-1]
            if at in self.found:
                todo.pop()
                continue
            first = self.ops[at[0]]
            if min(at) == max(at):
                self._add(at, Node("same", at[0]))
            elif first.code == "const":
                self._add(at, Node("table", at[0], row=tuple(self.ops[i].value for i in at)))
            else:
                below = list(zip(*[self.ops[i].args for i in at], strict=True))
                missing = [b for b in below if b not in self.found]
                if not missing:
                    self._inner(at, first, tuple(self.found[b] for b in below))
                    self.work += 1
                    if self.work > self.limit:
                        return None
                todo.extend(reversed(missing))
        return self.found[root]

    def _inner(self, at: tuple[int, ...], first: Op, args: tuple[int, ...]) -> None:
        numbers = {self.ops[i].index for i in at} if first.code == "table" else set()
        if len(numbers) > 1:
            row = tuple(v for i in at for v in self.tables[self.ops[i].index])
            self._add(at, Node("rows", at[0], args, row))
        else:
            self._add(at, Node("op", at[0], args))

    def _add(self, at: tuple[int, ...], node: Node) -> None:
        self.found[at] = len(self.nodes)
        self.nodes.append(node)


def longest_pattern(row: Sequence[int], start: int) -> Segment | None:
    """The repeating pattern from `start` that covers most; among equals the shortest period."""
    best: Segment | None = None
    for period in range(1, min(LONGEST_PERIOD, (len(row) - start) // REPEATS) + 1):
        stop = start + period
        while stop < len(row) and row[stop] == row[stop - period]:
            stop += 1
        repeats = (stop - start) // period
        if repeats >= REPEATS and (best is None or start + period * repeats > best.stop):
            best = Segment(start, period, repeats)
            if len(row) - best.stop < period:
                break
    return best


def shapes(ops: Sequence[Op], tables: Sequence[Sequence[float]]) -> list[int]:
    """A number per operation; equal numbers compute the same but for the constants' values."""
    numbers: dict[object, int] = {}
    row: list[int] = []
    for op in ops:
        key: tuple[object, ...]
        if op.code == "const":
            key = ("const", op.type)
        elif op.code == "table":
            key = ("table", op.type, len(tables[op.index]), row[op.args[0]])
        else:
            below = tuple([row[a] for a in op.args])
            key = (op.code, op.type, op.index, op.bound, op.body, below)
        row.append(numbers.setdefault(key, len(numbers)))
    return row


def use_counts(ops: Sequence[Op], roots: Sequence[int]) -> list[int]:
    """How often each operation is read."""
    counts = [0] * len(ops)
    for op in ops:
        for a in op.args:
            counts[a] += 1
    for root in roots:
        counts[root] += 1
    return counts
