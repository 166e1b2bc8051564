"""What loops have in common: states as flat numbers, rules stated inside, folding of known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import evolve, frozen

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import rounds, work
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.trace import Closing
from hwdsl.elaborate.values import (
    Assertion,
    ElaborationError,
    EnumValue,
    ListValue,
    RangeValue,
    ResultValue,
    Value,
)
from hwdsl.syntax import ast

T = TypeVar("T")
LOOP_STEPS = 100
"""What making a loop of the graph costs, in evaluated expressions (measured, about)."""


MAX_TOTAL_ROUNDS = 10**11
"""Rounds of all loops at one point, where params are as the ranges have it at worst. A kernel takes
minutes for so many; a model of the library has a fifth of them where its params are largest."""


@frozen(eq=False)
class LoopAttempt(Generic[T]):
    """An attempt at a loop: what it gives, or the rules that need states of their own."""

    value: T
    need_carries: list[Assertion]
    loop: LoopRegion


def loop_assertions(m: PartialEvaluator, attempt: Callable[[int], LoopAttempt[T]]) -> T:
    """Build a loop, again with a state for each rule that its body states if there are any."""
    attempted = attempt(0)
    if attempted.need_carries:
        attempted = attempt(len(attempted.need_carries))
    return attempted.value


def finish_loop(
    m: PartialEvaluator,
    loop: LoopRegion,
    low: Ref,
    high: Ref,
    bound: int,
    initial: Sequence[Ref],
    following: Sequence[Ref],
    assertions: Sequence[Assertion],
    extra: int,
    node: ast.Node,
    until: Ref | None = None,
) -> tuple[tuple[Ref, ...] | None, list[Assertion]]:
    """Close a loop. Rules whose condition changes inside become states, and-ed over the rounds.

    A rule that is the same in all rounds is stated once, where there is a round at all.

    Returns the loop's results and the rules as they read outside; None and the rules that need
    states if those were not provided (`extra`).
    """
    inside = [e for e in assertions if e.holds.region is loop.region]
    if len(inside) != extra:
        return None, inside
    plain = len(initial)
    checks = [
        m.builder.op("and", state, e.holds)
        for state, e in zip(loop.states[plain:], inside, strict=True)
    ]
    starts = [m.truth(True)] * extra
    known = [low, high, *initial, *loop.region.captured]
    check_rounds(bound * (1 + rounds(loop.region.ops)), "this loop", node.span)
    # What is known folds, round by round; the rest becomes a loop of the graph.
    folds = all(ref.known is not None for ref in known)
    m.consume_fuel(bound * work(loop.region.ops) if folds else LOOP_STEPS, node.span)
    first, after = [*initial, *starts], [*following, *checks]
    if m.trace is not None:
        m.trace.closed(loop.region, Closing(low, high, bound, first, after, until))
    results = loop.close(low, high, bound, first, after, until)
    some = m.op(node, "le", low, high)
    outside = [m.guarded(some, e) for e in assertions if e.holds.region is not loop.region]
    carried = [evolve(e, holds=results[plain + i]) for i, e in enumerate(inside)]
    own_results = (*results[:plain], *results[-2:])
    return own_results, [*outside, *carried]


def check_rounds(count: int, what: str, span: Span) -> None:
    """Refuse more rounds of loops than a computer can do in sensible time."""
    if count > MAX_TOTAL_ROUNDS:
        raise ElaborationError(
            "too-large",
            f"{what} may take {count:,} rounds at one point, those of loops inside counted; "
            f"{MAX_TOTAL_ROUNDS:,} are allowed",
            span,
            "use shorter ranges, or give the params that they depend on smaller ones",
        )


def flatten(value: Value) -> list[Ref]:
    """The numbers a state consists of."""
    return list(_flat(value))


def _flat(value: Value) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, EnumValue):
        yield value.ref
    elif isinstance(value, ListValue):
        for item in value.items:
            yield from _flat(item)
    else:
        raise TypeError(f"the checker let {type(value).__name__} pass as a state")


def rebuild(like: Value, refs: Iterator[Ref]) -> Value:
    """A value of the same form from other numbers."""
    if isinstance(like, Ref):
        return next(refs)
    if isinstance(like, EnumValue):
        return EnumValue(like.enum, next(refs))
    if isinstance(like, ListValue):
        return ListValue(tuple(rebuild(item, refs) for item in like.items), like.labels)
    raise TypeError(f"the checker let {type(like).__name__} pass as a state")


__all__ = [
    "LoopAttempt",
    "RangeValue",
    "ResultValue",
    "finish_loop",
    "flatten",
    "loop_assertions",
    "rebuild",
]
