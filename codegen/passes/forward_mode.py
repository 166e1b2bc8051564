"""Forward derivatives: values of operation lists together with their tangents, through loops.

A loop with tangents carries one more state per (state, direction) that moves.

With `until`, the values stop where they stopped before: a flag `done` freezes them after the round
in which `until` holds. A fixpoint's tangents converge later than its values, so they go on: from
then on the body is evaluated at the frozen states and loop variable, each round moving the tangents
only, until no tangent changes by more than 1e-12 of itself or the rounds run out. That is right
only if the frozen states are a fixpoint, so it is done for lanes where one more round would change
no moving state by more than 1e-6 of itself. Other lanes (a loop that stops for another reason, such
as a threshold crossed) keep the tangents of the round in which they stopped, which are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL, Body, Op, state_types
from hwdsl.codegen.passes.derivative_rules import Partials, passes, tangent_of_choice, weigh
from hwdsl.codegen.passes.rewriter import GraphRewriter, Results

Moves = tuple[Ref | None, ...]  # per direction; None where nothing moves

FIXPOINT = 1e-6
SETTLED = 1e-12


@define(eq=False)
class ForwardModeAD(GraphRewriter):
    """Copies operation lists together with their tangents in a number of directions."""

    partials: Partials = field(init=False)

    def __attrs_post_init__(self) -> None:
        GraphRewriter.__attrs_post_init__(self)
        self.partials = Partials(self.builder)

    def advance(
        self, ops: Sequence[Op], inputs: Sequence[Ref], moves: Sequence[Moves], still: Moves
    ) -> tuple[list[Ref], list[Moves]]:
        """Copy a body's list with its tangents; `still` is the tangent of what does not move."""
        values: list[Ref] = []
        row: list[Moves] = []
        results: Results = {}
        moved: dict[int, list[Moves]] = {}
        for i, op in enumerate(ops):
            args = [row[a] for a in op.args]
            if op.code == "loop":
                made = self.moving_loop(op, [values[a] for a in op.args], args)
                results[i], moved[i] = made
                values.append(made[0][-1])
                row.append(still)
                continue
            values.append(self.place(ops, i, values, results, inputs))
            if op.code == "input":
                row.append(moves[op.index])
            elif op.code == "proj":
                row.append(moved[op.args[0]][op.index])
            elif op.args:
                row.append(self.move(op, [values[a] for a in op.args], args, values[i]))
            else:
                row.append(still)
        return values, row

    def move(self, op: Op, args: Sequence[Ref], moves: Sequence[Moves], value: Ref) -> Moves:
        """The tangents of an ordinary operation."""
        return tuple(
            self._direction(op, args, list(column), value) for column in zip(*moves, strict=True)
        )

    def _direction(
        self, op: Op, args: Sequence[Ref], moves: list[Ref | None], value: Ref
    ) -> Ref | None:
        moving = [n for n, m in enumerate(moves) if m is not None and passes(op, n)]
        if not moving:
            return None
        b = self.builder
        full = [b.const(0.0) if m is None else m for m in moves]
        chosen = tangent_of_choice(self.partials, op, args, full)
        if chosen is not None:
            return chosen
        return total(self, [weigh(self.partials, op, args, value, n, full[n]) for n in moving])

    def moving_loop(
        self, op: Op, args: list[Ref], moves: Sequence[Moves]
    ) -> tuple[tuple[Ref, ...], list[Moves]]:
        """Copy a loop with tangents; return its results and the tangents of each."""
        body = op.body
        assert body is not None
        still: Moves = (None,) * len(moves[0])
        first = 2 + body.carries
        types = state_types(body, [a.type for a in args[2:first]])
        start = state_masks(
            body,
            types,
            [direction_mask(m) for m in moves[2:first]],
            [direction_mask(m) for m in moves[first:]],
        )
        pairs = [
            (c, d) for c in range(body.carries) for d in range(len(still)) if start[c] >> d & 1
        ]
        if not pairs:
            return self.loop(op, args), [still] * (body.carries + 2)
        made = JvpLoop(self, op, args, moves, pairs).build()
        found: dict[tuple[int, int], Ref] = dict(zip(pairs, made[body.carries :], strict=False))
        tangents = [
            tuple(found.get((c, d)) for d in range(len(still))) for c in range(body.carries)
        ]
        return (*made[: body.carries], *made[-2:]), [*tangents, still, still]


@define(eq=False)
class JvpLoop:
    """A loop being copied with tangents of `pairs` = (state, direction)."""

    owner: ForwardModeAD
    op: Op
    args: list[Ref]
    moves: Sequence[Moves]
    pairs: list[tuple[int, int]]
    body: Body = field(init=False)

    def __attrs_post_init__(self) -> None:
        assert self.op.body is not None
        self.body = self.op.body

    def build(self) -> tuple[Ref, ...]:
        """Its results: states, tangents of the pairs, …, rounds run, whether `until` held."""
        b, body = self.owner.builder, self.body
        zero = b.const(0.0)
        start = self.args[2 : 2 + body.carries]
        tangents = [self.moves[2 + c][d] or zero for c, d in self.pairs]
        types = [*state_types(body, [s.type for s in start]), *[REAL] * len(self.pairs)]
        extra: list[Ref] = []
        if body.until is not None:
            extra = [b.const(0.0, BOOL), b.const(0.0, INT), b.const(0.0, INT)]
        within = [*self.args, *(m for row in self.moves for m in row if m is not None)]
        loop = b.open_loop([*types, *(e.type for e in extra)], within=within)
        step = self._plain(loop) if body.until is None else self._until(loop)
        made = loop.close(
            self.args[0], self.args[1], self.op.bound, [*start, *tangents, *extra], *step
        )
        if body.until is None:
            return made
        n = len(types)
        return (*made[:n], made[n + 1], made[n])

    def _round(self, loop: LoopRegion, variable: Ref) -> tuple[list[Ref], list[Ref], list[Ref]]:
        """One round of the body: all values, the next states, the next tangents."""
        b, body = self.owner.builder, self.body
        count = len(self.moves[0])
        still: Moves = (None,) * count
        states = loop.states[: body.carries]
        carried = dict(zip(self.pairs, loop.states[body.carries :], strict=False))
        state_moves = [
            tuple(carried.get((c, d)) for d in range(count)) for c in range(body.carries)
        ]
        first = 2 + body.carries
        values, row = self.owner.advance(
            body.ops, (variable, *states, *self.args[first:]),
            (still, *state_moves, *self.moves[first:]), still,
        )  # fmt: skip
        tangents = [row[body.next[c]][d] or b.const(0.0) for c, d in self.pairs]
        return values, [values[n] for n in body.next], tangents

    def _plain(self, loop: LoopRegion) -> tuple[list[Ref], None]:
        _, states, tangents = self._round(loop, loop.variable)
        return [*states, *tangents], None

    def _until(self, loop: LoopRegion) -> tuple[list[Ref], Ref]:
        """The body of a loop whose values freeze before its tangents do."""
        b, body = self.owner.builder, self.body
        assert body.until is not None
        done, rounds, place = loop.states[-3:]
        at = b.op("select", done, place, loop.variable, type=INT)
        values, states, tangents = self._round(loop, at)
        old = loop.states[: body.carries]
        frozen = [b.op("select", done, o, n, type=o.type) for o, n in zip(old, states, strict=True)]
        near = [self._near(old[c], states[c]) for c in sorted({c for c, _ in self.pairs})]
        stuck = b.op("and", done, b.op("not", self._all(near)))
        before = loop.states[body.carries : body.carries + len(self.pairs)]
        after = [
            b.op("select", stuck, o, n, type=REAL) for o, n in zip(before, tangents, strict=True)
        ]
        quiet = [self._quiet(o, n) for o, n in zip(before, after, strict=True)]
        counted = b.op("add", rounds, b.op("select", done, b.const(0.0, INT), b.const(1.0, INT)))
        next = [*frozen, *after, b.op("or", done, values[body.until]), counted, at]
        return next, b.op("and", done, self._all(quiet))

    def _near(self, old: Ref, new: Ref) -> Ref:
        """Whether a round hardly changes a state."""
        b = self.owner.builder
        size = b.op("max", b.op("abs", old), b.op("abs", new))
        change = b.op("abs", b.op("sub", new, old))
        return b.op("le", change, b.op("mul", b.const(FIXPOINT), size))

    def _quiet(self, old: Ref, new: Ref) -> Ref:
        """Whether a tangent has settled; NaN and infinity have."""
        b = self.owner.builder
        change = b.op("abs", b.op("sub", new, old))
        return b.op("not", b.op("lt", b.op("mul", b.const(SETTLED), b.op("abs", new)), change))

    def _all(self, conditions: Sequence[Ref]) -> Ref:
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = self.owner.builder.op("and", whole, condition)
        return whole


def total(owner: GraphRewriter, terms: Iterable[Ref]) -> Ref:
    """The sum of contributions, without the zeros among them."""
    moving = [t for t in terms if t.known != 0.0]
    if not moving:
        return owner.builder.const(0.0)
    code = "add" if len(moving) == 2 else "sum"
    return owner.builder.op(code, *moving, type=REAL)


def direction_mask(moves: Moves) -> int:
    """The directions that move, as bits."""
    return sum(1 << d for d, m in enumerate(moves) if m is not None)


def activity(ops: Sequence[Op], params: Sequence[int], inputs: Sequence[int]) -> list[int]:
    """The directions in which each operation of a list can move, given those of its leaves."""
    row: list[int] = []
    results: dict[int, list[int]] = {}
    for i, op in enumerate(ops):
        moves = 0
        if op.code == "param":
            moves = params[op.index]
        elif op.code == "input":
            moves = inputs[op.index]
        elif op.code == "proj":
            moves = results[op.args[0]][op.index]
        elif op.body is not None:
            args = [row[a] for a in op.args]
            first = 2 + op.body.carries
            types = state_types(op.body, [ops[a].type for a in op.args[2:first]])
            results[i] = [*state_masks(op.body, types, args[2:first], args[first:]), 0, 0]
        else:
            for n, a in enumerate(op.args):
                if row[a] and passes(op, n):
                    moves |= row[a]
        row.append(moves)
    return row


def state_masks(
    body: Body, types: Sequence[str], start: Sequence[int], captures: Sequence[int]
) -> list[int]:
    """The directions in which each state of a loop, of these types, can move."""
    states = [m if t == REAL else 0 for m, t in zip(start, types, strict=True)]
    while True:
        row = activity(body.ops, (), (0, *states, *captures))
        after = [
            s | row[n] if t == REAL else 0 for s, n, t in zip(states, body.next, types, strict=True)
        ]
        if after == states:
            return states
        states = after
