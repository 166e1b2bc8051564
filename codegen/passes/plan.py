"""Finding repeated shapes under reductions: the analysis half of `roll`.

Every operation gets a shape: what it computes, with constants left blank and params named. Under a
reduction, consecutive operands with equal shapes (or a repeating pattern of shapes) are a segment.
Reductions with as many repetitions that do not depend on one another form a group, so that what
they share is still computed once. Groups that depend on one another compute it again, each in its
own loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field, frozen

from hwdsl.codegen.ir import NARY, Op

REPEATS = 8  # fewer repetitions are left alone
LONGEST_PERIOD = 64
LEAST_SAVED = 64  # operations that a segment must save to be worth a loop
MOST_WORK = 2.0  # operations run in the loop, for each one removed
SMALL = 2000  # below this many operations a flat graph compiles in no time,
AGAIN = 1.25  # so loops that compute shared values again must not do so by more than this
ATTEMPTS = 20
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
    """One segment of each member as one pattern.

    Segments have equal repeats. `terms[m][q]` is the node of member m's operand in place q.
    """

    segments: tuple[Segment, ...]
    nodes: tuple[Node, ...]
    terms: tuple[tuple[int, ...], ...]
    kept: frozenset[int]

    @property
    def work(self) -> int:
        """How many operations all rounds of the loop run."""
        return sum(n.kind in ("op", "rows") for n in self.nodes) * self.segments[0].repeats


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


Key = tuple[int, tuple[int, ...]]  # a level, and the repeats of the segments


@define(eq=False)
class Planner:
    """Finds the groups of one operation list."""

    ops: Sequence[Op]
    roots: Sequence[int]
    tables: Sequence[Sequence[float]]
    shapes: list[int] = field(factory=list)
    uses: list[int] = field(factory=list)
    segments: dict[int, tuple[Segment, ...]] = field(factory=dict)
    matched: dict[tuple[tuple[int, ...], int], Rolled | None] = field(factory=dict)

    def groups(self) -> list[Group]:
        """Choose groups, drop what turns out not to be worth it, and choose again."""
        self.shapes = shapes(self.ops, self.tables)
        self.uses = use_counts(self.ops, self.roots)
        classes = self._classes()
        refused: set[tuple[Key, int]] = set()
        for _ in range(ATTEMPTS):
            chosen, gone = self._choose(classes, refused)
            bad = self._not_worth(chosen, gone)
            if not bad:
                return [g for g in chosen.values() if g.rolled]
            refused |= bad
        return []

    def _classes(self) -> dict[Key, list[int]]:
        """Candidates by level and repeats. Those of one level cannot depend on each other."""
        level = [0] * len(self.ops)
        classes: dict[Key, list[int]] = {}
        for i, op in enumerate(self.ops):
            if not op.args:
                continue
            chosen = self._chooser(op, level)
            values = op.args if chosen is None else op.args[1:]
            level[i] = max([level[a] + (a in self.segments) for a in values])
            if chosen is not None:
                level[i] = level[chosen]
                self.segments[i] = self.segments[chosen]
            elif op.code in NARY and len(op.args) >= REPEATS:
                cut = self._segments(op.args)
                if cut:
                    self.segments[i] = cut
            if i in self.segments:
                repeats = tuple(s.repeats for s in self.segments[i])
                classes.setdefault((level[i], repeats), []).append(i)
        return classes

    def _chooser(self, op: Op, level: list[int]) -> int | None:
        """The candidate argmin that a gather reads, if its operands fall into equal segments."""
        if op.code != "gather" or op.args[0] not in self.segments:
            return None
        choice = op.args[0]
        if self.ops[choice].code not in ARGS or len(self.ops[choice].args) != len(op.args) - 1:
            return None
        if any(level[a] + (a in self.segments) > level[choice] for a in op.args[1:]):
            return None
        row = [self.shapes[a] for a in op.args[1:]]
        for s in self.segments[choice]:
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

    def _choose(
        self, classes: dict[Key, list[int]], refused: set[tuple[Key, int]]
    ) -> tuple[dict[Key, Group], set[int]]:
        """The groups, outermost first (what they take in is no candidate any more), and the
        operations that nothing reads once all of them are rolled."""
        release = Release(self.ops, self.uses)
        chosen: dict[Key, Group] = {}
        for key in sorted(classes, key=lambda k: -k[0]):
            members = self._still_there(classes[key], release.gone)
            rolled: list[Rolled] = []
            for n in range(len(key[1])):
                found = None if (key, n) in refused or not members else self._match(members, n)
                if found is not None:
                    rolled.append(found)
                    release.kept |= found.kept
                    release.drop(self._operands(members, n))
            operands = tuple(self._values(m) for m in members)
            chosen[key] = Group(members, operands, tuple(rolled))
        return chosen, release.gone

    def _still_there(self, members: Sequence[int], gone: set[int]) -> tuple[int, ...]:
        kept = {m for m in members if m not in gone}
        return tuple(
            m for m in members
            if m in kept and (self.ops[m].code != "gather" or self.ops[m].args[0] in kept)
        )  # fmt: skip

    def _values(self, member: int) -> tuple[int, ...]:
        op = self.ops[member]
        return op.args[1:] if op.code == "gather" else op.args

    def _operands(self, members: Sequence[int], n: int) -> list[int]:
        row: list[int] = []
        for m in members:
            segment = self.segments[m][n]
            row += self._values(m)[segment.start : segment.stop]
        return row

    def _match(self, members: tuple[int, ...], n: int) -> Rolled | None:
        """Segment n of each member as one pattern, unless there is too much in it."""
        if (members, n) not in self.matched:
            self.matched[members, n] = self._roll(members, n)
        return self.matched[members, n]

    def _roll(self, members: tuple[int, ...], n: int) -> Rolled | None:
        segments = tuple(self.segments[m][n] for m in members)
        limit = int(MOST_WORK * len(self.ops) / segments[0].repeats) + 1
        matcher = Matcher(self.ops, self.tables, limit)
        terms: list[tuple[int, ...]] = []
        for m, segment in zip(members, segments, strict=True):
            values = self._values(m)
            places = [
                matcher.node(values[segment.start + q : segment.stop : segment.period])
                for q in range(segment.period)
            ]
            if None in places:
                return None
            terms.append(tuple(p for p in places if p is not None))
        kept = frozenset(node.index for node in matcher.nodes if node.kind == "same")
        return Rolled(segments, tuple(matcher.nodes), tuple(terms), kept)

    def _not_worth(self, chosen: dict[Key, Group], gone: set[int]) -> set[tuple[Key, int]]:
        """The segments to leave flat: those that save little or do too much; else, if values that
        loops compute again make a small graph slow, the one that saves least of its own."""
        bad: set[tuple[Key, int]] = set()
        counted: set[int] = set()
        work = 0
        worst: tuple[float, Key, int] | None = None
        for key, group in chosen.items():
            for rolled in group.rolled:
                n = self.segments[group.members[0]].index(rolled.segments[0])
                own = self._own(self._operands(group.members, n), gone)
                if len(own) < LEAST_SAVED or rolled.work > MOST_WORK * len(own):
                    bad.add((key, n))
                share = len(own - counted) / max(rolled.work, 1)
                worst = min(worst or (share, key, n), (share, key, n))
                counted |= own
                work += rolled.work
        if not bad and worst is not None and len(counted) < SMALL and work > AGAIN * len(counted):
            bad.add(worst[1:])
        return bad

    def _own(self, todo: list[int], gone: set[int]) -> set[int]:
        """The operations, constants apart, below these that are gone."""
        own: set[int] = set()
        while todo:
            i = todo.pop()
            if i in gone and i not in own and self.ops[i].code != "const":
                own.add(i)
                todo.extend(self.ops[i].args)
        return own


@define(eq=False)
class Release:
    """Which operations are left without a reader when some uses are given up."""

    ops: Sequence[Op]
    uses: Sequence[int]
    kept: set[int] = field(factory=set)
    gone: set[int] = field(factory=set)
    drops: dict[int, int] = field(factory=dict)

    def drop(self, todo: list[int]) -> None:
        """Give up one use of each of these."""
        while todo:
            i = todo.pop()
            self.drops[i] = self.drops.get(i, 0) + 1
            if self.drops[i] == self.uses[i] and i not in self.kept:
                self.gone.add(i)
                todo.extend(self.ops[i].args)


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
