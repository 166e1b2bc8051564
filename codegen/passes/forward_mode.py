"""Forward-mode automatic differentiation (JVP): operation lists copied together with the tangents
of their values, through loops.

A *direction* is an input in which to differentiate; an operation is *active* in it if its value can
change with that input. A loop with tangents has one more carry per active (carry, direction).

With `until`, the values stop where they stopped before: a flag `done` freezes them after the round
in which `until` holds. A fixpoint's tangents converge later than its values, so they go on: from
then on the body is evaluated at the frozen carries and loop variable, each round updating the
tangents only, until no tangent changes by more than 1e-12 of itself or the rounds run out. That is
right only if the frozen carries are a fixpoint, so it is done for lanes where one more round would
change no active carry by more than 1e-6 of itself. Other lanes, of a loop that stops for another
reason such as a threshold crossed, keep the tangents of the round in which they stopped, which are
exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL, Body, Op, state_types
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.derivatives import Chosen, NoRule, Partials
from hwdsl.codegen.passes.rewriter import GraphRewriter, Results

Tangents = tuple[Ref | None, ...]  # per direction; None where the value is not active

FIXPOINT_TOLERANCE = 1e-6
"""Change of a carry in one more round, relative to itself, up to which it counts as a fixpoint."""
TANGENT_TOLERANCE = 1e-12
"""Change of a tangent in a round, relative to itself, up to which it has converged."""


@define(eq=False)
class ForwardModeAD(GraphRewriter):
    """Copies operation lists together with their tangents in a number of directions.

    Tangents that are structurally zero are None and cost no operation, so the cost of a direction
    is that of the operations active in it (sparse forward mode).
    """

    partials: Partials = field(init=False)

    def __attrs_post_init__(self) -> None:
        GraphRewriter.__attrs_post_init__(self)
        self.partials = Partials(self.builder)

    def copy_with_tangents(
        self, ops: Sequence[Op], inputs: Sequence[Ref], tangents: Sequence[Tangents], zero: Tangents
    ) -> tuple[list[Ref], list[Tangents]]:
        """Copy a body's list with its tangents; `zero` are the tangents of an inactive value."""
        values: list[Ref] = []
        tangents_of: list[Tangents] = []
        results: Results = {}
        loop_tangents: dict[int, list[Tangents]] = {}
        for i, op in enumerate(ops):
            args = [tangents_of[a] for a in op.args]
            if op.code == "loop":
                made = self.visit_jvp_loop(op, [values[a] for a in op.args], args)
                results[i], loop_tangents[i] = made
                values.append(made[0][-1])
                tangents_of.append(zero)
                continue
            values.append(self.copy_operation(ops, i, values, results, inputs))
            if op.code == "input":
                tangents_of.append(tangents[op.index])
            elif op.code == "proj":
                tangents_of.append(loop_tangents[op.args[0]][op.index])
            elif op.args:
                tangents_of.append(self.jvp(op, [values[a] for a in op.args], args, values[i]))
            else:
                tangents_of.append(zero)
        return values, tangents_of

    def jvp(
        self, op: Op, args: Sequence[Ref], tangents: Sequence[Tangents], value: Ref
    ) -> Tangents:
        """The tangents of an ordinary operation."""
        return tuple(
            self._direction(op, args, list(column), value) for column in zip(*tangents, strict=True)
        )

    def _direction(
        self, op: Op, args: Sequence[Ref], tangents: list[Ref | None], value: Ref
    ) -> Ref | None:
        active = [
            n for n, m in enumerate(tangents) if m is not None and is_differentiable_in(op, n)
        ]
        if not active:
            return None
        b = self.builder
        # A value that is one of its arguments (`select`, `max`, `gather`) has the tangent of that
        # argument alone: a sum over all arguments weighted by 0 or 1 would make NaN of an infinite
        # tangent in an arm that is not taken.
        dense = [b.const(0.0) if m is None else m for m in tangents]
        rule = OPERATIONS[op.code].derivative
        if isinstance(rule, Chosen):
            chosen: Ref = rule.tangent(b, args, dense)
            return chosen
        return sum_of_nonzero(self, [self.vjp(op, args, value, n, dense[n]) for n in active])

    def vjp(self, op: Op, args: Sequence[Ref], value: Ref, position: int, seed: Ref) -> Ref:
        """`seed` times the partial derivative of `value = op(*args)` in one argument."""
        if seed.known == 0.0:
            return seed
        rule = OPERATIONS[op.code].derivative
        assert not isinstance(rule, NoRule)
        found: Ref = rule.vjp(self.partials, args, value, position, seed)
        return found

    def visit_jvp_loop(
        self, op: Op, args: list[Ref], tangents: Sequence[Tangents]
    ) -> tuple[tuple[Ref, ...], list[Tangents]]:
        """Copy a loop with tangents; return its results and the tangents of each."""
        body = op.body
        assert body is not None
        zero: Tangents = (None,) * len(tangents[0])
        _, types, _ = body.split([a.type for a in args])
        types = state_types(body, types)
        _, starts, captures = body.split([direction_mask(m) for m in tangents])
        start = carry_activity(body, types, starts, captures)
        pairs = [(c, d) for c in range(body.carries) for d in range(len(zero)) if start[c] >> d & 1]
        if not pairs:
            return self.visit_loop(op, args), [zero] * (body.carries + 2)
        # The last two results, rounds run and whether `until` held, are flat: their tangents are 0.
        made = JvpLoop(self, op, args, tangents, pairs).build()
        found: dict[tuple[int, int], Ref] = dict(zip(pairs, made[body.carries :], strict=False))
        tangents = [tuple(found.get((c, d)) for d in range(len(zero))) for c in range(body.carries)]
        return (*made[: body.carries], *made[-2:]), [*tangents, zero, zero]


@define(eq=False)
class JvpLoop:
    """A loop being copied with tangents of `pairs`: the active (carry, direction).

    Its carries are those of the loop, the tangents of `pairs`, and for a loop with `until` three
    more: whether the values have stopped, the rounds run till then, and the frozen loop variable.
    """

    owner: ForwardModeAD
    op: Op
    args: list[Ref]
    tangents: Sequence[Tangents]
    pairs: list[tuple[int, int]]
    body: Body = field(init=False)

    def __attrs_post_init__(self) -> None:
        assert self.op.body is not None
        self.body = self.op.body

    def build(self) -> tuple[Ref, ...]:
        """Its results: carries, tangents of the pairs, …, rounds run, whether `until` held."""
        b, body = self.owner.builder, self.body
        zero = b.const(0.0)
        start = self.args[2 : 2 + body.carries]
        tangents = [self.tangents[2 + c][d] or zero for c, d in self.pairs]
        types = [*state_types(body, [s.type for s in start]), *[REAL] * len(self.pairs)]
        extra: list[Ref] = []
        if body.until is not None:
            extra = [b.const(0.0, BOOL), b.const(0.0, INT), b.const(0.0, INT)]
        within = [
            *self.args,
            *(m for directions in self.tangents for m in directions if m is not None),
        ]
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
        """One round of the body: all values, the next carries, the next tangents."""
        b, body = self.owner.builder, self.body
        count = len(self.tangents[0])
        zero: Tangents = (None,) * count
        states = loop.states[: body.carries]
        carried = dict(zip(self.pairs, loop.states[body.carries :], strict=False))
        carry_tangents = [
            tuple(carried.get((c, d)) for d in range(count)) for c in range(body.carries)
        ]
        first = 2 + body.carries
        values, tangents_of = self.owner.copy_with_tangents(
            body.ops, (variable, *states, *self.args[first:]),
            (zero, *carry_tangents, *self.tangents[first:]), zero,
        )  # fmt: skip
        tangents = [tangents_of[body.next[c]][d] or b.const(0.0) for c, d in self.pairs]
        return values, [values[n] for n in body.next], tangents

    def _plain(self, loop: LoopRegion) -> tuple[list[Ref], None]:
        _, states, tangents = self._round(loop, loop.variable)
        return [*states, *tangents], None

    def _until(self, loop: LoopRegion) -> tuple[list[Ref], Ref]:
        """The body of a loop whose values freeze before its tangents converge."""
        b, body = self.owner.builder, self.body
        assert body.until is not None
        done, rounds, last_variable = loop.states[-3:]
        # After the stop the body is evaluated at the variable of the last round: the fixpoint whose
        # tangents converge is that of this round's function, if the function reads the variable.
        at = b.op("select", done, last_variable, loop.variable, type=INT)
        values, states, tangents = self._round(loop, at)
        old = loop.states[: body.carries]
        frozen = [b.op("select", done, o, n, type=o.type) for o, n in zip(old, states, strict=True)]
        unchanged = [
            self._nearly_unchanged(old[c], states[c]) for c in sorted({c for c, _ in self.pairs})
        ]
        keeps_tangent = b.op("and", done, b.op("not", self._all(unchanged)))
        before = loop.states[body.carries : body.carries + len(self.pairs)]
        after = [
            b.op("select", keeps_tangent, o, n, type=REAL)
            for o, n in zip(before, tangents, strict=True)
        ]
        converged = [self._converged(o, n) for o, n in zip(before, after, strict=True)]
        # The rounds of the values, not those of the tangents: the result `rounds` keeps its value.
        counted = b.op("add", rounds, b.op("select", done, b.const(0.0, INT), b.const(1.0, INT)))
        next = [*frozen, *after, b.op("or", done, values[body.until]), counted, at]
        return next, b.op("and", done, self._all(converged))

    def _nearly_unchanged(self, old: Ref, new: Ref) -> Ref:
        """Whether a round hardly changes a carry."""
        b = self.owner.builder
        size = b.op("max", b.op("abs", old), b.op("abs", new))
        change = b.op("abs", b.op("sub", new, old))
        return b.op("le", change, b.op("mul", b.const(FIXPOINT_TOLERANCE), size))

    def _converged(self, old: Ref, new: Ref) -> Ref:
        """Whether a tangent has converged; NaN and infinity have, as no round would change them."""
        b = self.owner.builder
        # `not (tolerance < change)` and not `change <= tolerance`: the latter is false for NaN, and
        # the loop would run to its bound.
        change = b.op("abs", b.op("sub", new, old))
        return b.op(
            "not", b.op("lt", b.op("mul", b.const(TANGENT_TOLERANCE), b.op("abs", new)), change)
        )

    def _all(self, conditions: Sequence[Ref]) -> Ref:
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = self.owner.builder.op("and", whole, condition)
        return whole


def is_differentiable_in(op: Op, position: int) -> bool:
    """Whether the operation's value can have a derivative in that argument; an int has none."""
    rule = OPERATIONS[op.code].derivative
    return op.type == REAL and not isinstance(rule, NoRule) and position >= rule.first


def sum_of_nonzero(owner: GraphRewriter, terms: Iterable[Ref]) -> Ref:
    """The sum of contributions, without the known zeros among them."""
    active = [t for t in terms if t.known != 0.0]
    if not active:
        return owner.builder.const(0.0)
    code = "add" if len(active) == 2 else "sum"
    return owner.builder.op(code, *active, type=REAL)


def direction_mask(tangents: Tangents) -> int:
    """The active directions, as bits."""
    return sum(1 << d for d, m in enumerate(tangents) if m is not None)


def activity(ops: Sequence[Op], params: Sequence[int], inputs: Sequence[int]) -> list[int]:
    """Activity analysis: the directions, as bits, in which each operation of a list is active,
    given those of its params or inputs."""
    active: list[int] = []
    results: dict[int, list[int]] = {}
    for i, op in enumerate(ops):
        directions = 0
        if op.code == "param":
            directions = params[op.index]
        elif op.code == "input":
            directions = inputs[op.index]
        elif op.code == "proj":
            directions = results[op.args[0]][op.index]
        elif op.body is not None:
            args = [active[a] for a in op.args]
            _, types, _ = op.body.split([ops[a].type for a in op.args])
            _, starts, captures = op.body.split(args)
            types = state_types(op.body, types)
            results[i] = [*carry_activity(op.body, types, starts, captures), 0, 0]
        else:
            for n, a in enumerate(op.args):
                if active[a] and is_differentiable_in(op, n):
                    directions |= active[a]
        active.append(directions)
    return active


def carry_activity(
    body: Body, types: Sequence[str], start: Sequence[int], captures: Sequence[int]
) -> list[int]:
    """The directions in which each carry of a loop, of these types, is active: the least fixed
    point over its rounds. Ints and bools have no derivative."""
    states = [m if t == REAL else 0 for m, t in zip(start, types, strict=True)]
    while True:
        active = activity(body.ops, (), (0, *states, *captures))
        after = [
            s | active[n] if t == REAL else 0
            for s, n, t in zip(states, body.next, types, strict=True)
        ]
        if after == states:
            return states
        states = after
