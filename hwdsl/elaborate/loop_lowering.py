"""Lowering of loops to `loop` operations, for `iterate` and for reducers over long ranges: states
as flat numbers, assertions made in a body, folding of loops on constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from attrs import evolve, frozen

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, rounds, work
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.rules import RuleCollector
from hwdsl.elaborate.values import (
    Assertion,
    ElaborationError,
    EnumValue,
    ListValue,
    LoopRounds,
    RangeValue,
    Value,
)
from hwdsl.syntax import ast

MAX_UNROLLED = 16
"""Length up to which a range is unrolled."""

LOOP_STEPS = 100
"""Cost of building a loop of the graph, in evaluated expressions (measured, about)."""


MAX_TOTAL_ROUNDS = 10**11
"""Rounds of all loops at one point, where params are as the ranges have it at worst. A kernel takes
minutes for so many; a model of the library has a fifth of them where its params are largest."""


@frozen(eq=False)
class LoopRound:
    """One round of a loop's body: the states after it, and whether the loop stops there."""

    following: Sequence[Ref]
    stop: Ref | None = None


def most_rounds(m: PartialEvaluator, over: RangeValue) -> int | None:
    """The rounds of a loop at most; None if its range may have no end."""
    low, high = m.interval(over.low)[0], m.interval(over.high)[1]
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return max(int(high) - int(low) + 1, 0)


def build_loop(
    m: PartialEvaluator,
    over: RangeValue,
    types: Sequence[str],
    initial: Sequence[Ref],
    body: Callable[[LoopRegion], LoopRound | None],
    node: ast.Comprehension | ast.Iterate,
) -> tuple[Ref, ...] | None:
    """A loop over a range that is known to end: its last states, the rounds run, and whether it
    stopped. None if `body`, which builds one round, gives it up.

    An assertion that varies with the round becomes a carry, and-ed over the rounds; one that does
    not has been hoisted by the builder, and is made once, if there is a round at all. Components
    that a round makes and reads are asked for their rules here, since they end with it.
    """
    extra = 0
    while True:
        with m.loop([*types, *([BOOL] * extra)], over.low, over.high) as loop:
            since = m.serial
            end, assertions = m.collect(partial(body, loop))
            if end is None:
                return None
            assertions = _asked(m, assertions, since)
        # The builder has hoisted what does not vary with the round, so the region of a condition
        # tells whether the assertion needs a carry.
        inside = [e for e in assertions if e.holds.region is loop.region]
        open_ = [e.undecided for e in assertions if e.undecided is not None]
        open_ = [ref for ref in dict.fromkeys(open_) if ref.region is loop.region]
        if len(inside) + len(open_) == extra:
            break
        # The number of carries must be given when the body is begun, and how many assertions vary
        # is known only now: such a body is built twice, and the first one left without a loop.
        extra = len(inside) + len(open_)
    # They hold in all rounds; they are undecided in one of them.
    over_rounds = [*(("and", e.holds) for e in inside), *(("or", ref) for ref in open_)]
    checks = [
        m.builder.op(code, state, ref)
        for state, (code, ref) in zip(loop.states[len(types) :], over_rounds, strict=True)
    ]
    starts = [m.truth(code == "and") for code, _ in over_rounds]  # the neutral elements
    known = [over.low, over.high, *initial, *loop.region.captured]
    bound = most_rounds(m, over)
    assert bound is not None
    check_rounds(bound * (1 + rounds(loop.region.ops)), "this loop", node.span)
    # What is known folds, round by round; the rest becomes a loop of the graph.
    folds = all(ref.known is not None for ref in known)
    m.consume_fuel(bound * work(loop.region.ops) if folds else LOOP_STEPS, node.span)
    first, following = (*initial, *starts), (*end.following, *checks)
    name = _variable(node)
    here = LoopRounds(name, loop.region, over.low, over.high, bound, first, following, end.stop)
    if m.trace is not None:
        m.trace.closed(here)
    results = loop.close(over.low, over.high, bound, first, following, end.stop)
    # A loop that runs no round asserts nothing.
    some = m.op(node, "le", over.low, over.high)
    after = results[len(types) : len(types) + extra]
    undecided = dict(zip(open_, after[len(inside) :], strict=True))
    for e in assertions:
        where = e.undecided if e.undecided is None else undecided.get(e.undecided, e.undecided)
        each = evolve(e, undecided=where)
        if e.holds.region is loop.region:
            held = (here, e.holds)
            each = evolve(each, holds=after[inside.index(e)], rounds=(held, *e.rounds))
        else:
            each = m.guarded(some, each)
        m.assertions.append(each)
    return (*results[: len(types)], *results[-2:])


def _variable(node: ast.Comprehension | ast.Iterate) -> str:
    """What the text calls the variable of a loop: the last of a comprehension, which varies
    first."""
    if isinstance(node, ast.Iterate):
        return node.variable.name
    return node.generators[-1].names[0].name


def _asked(m: PartialEvaluator, assertions: Sequence[Assertion], since: int) -> list[Assertion]:
    """The assertions of a round, with the rules of the components that it made and read."""
    walk = RuleCollector(m)
    found = walk.rules(assertions)
    left = walk.settle((), since=since)
    return [*found, *walk.found, *left]


def check_rounds(count: int, what: str, span: Span) -> None:
    """Refuse more rounds of loops than `MAX_TOTAL_ROUNDS` (decision 14)."""
    if count > MAX_TOTAL_ROUNDS:
        raise ElaborationError(
            "too-large",
            f"{what} may take {count:,} rounds at one point, those of loops inside counted; "
            f"{MAX_TOTAL_ROUNDS:,} are allowed",
            span,
            "use shorter ranges, or give the params that they depend on smaller ones",
        )


def rebuild(like: Value, refs: Iterator[Ref]) -> Value:
    """A state of the same form from other numbers: a loop carries numbers alone."""
    if isinstance(like, Ref):
        return next(refs)
    if isinstance(like, EnumValue):
        return EnumValue(like.enum, next(refs))
    if isinstance(like, ListValue):
        return ListValue(tuple(rebuild(item, refs) for item in like.items), like.labels)
    raise TypeError(f"the checker let {type(like).__name__} pass as a state")
