"""Lowering of loops to `loop` operations, for `iterate` and for reducers over long ranges: states
as flat numbers, assertions made in a body, folding of loops on constants."""

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
"""Cost of building a loop of the graph, in evaluated expressions (measured, about)."""


MAX_TOTAL_ROUNDS = 10**11
"""Rounds of all loops at one point, where params are as the ranges have it at worst. A kernel takes
minutes for so many; a model of the library has a fifth of them where its params are largest."""


@frozen(eq=False)
class LoopAttempt(Generic[T]):
    """An attempt to lower a loop: its value, or the assertions that need carries of their own.

    The number of carries must be given when the body is begun, and how many assertions vary with
    the round is known only when it has been evaluated. So a body with such assertions is built
    twice.
    """

    value: T
    need_carries: list[Assertion]
    loop: LoopRegion


def loop_assertions(m: PartialEvaluator, attempt: Callable[[int], LoopAttempt[T]]) -> T:
    """Build a loop; if its body makes assertions, build it again with a carry for each."""
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
    """Close a loop. An assertion that varies with the round becomes a carry, and-ed over the
    rounds; one that does not has been hoisted by the builder, and is made once, if there is a round
    at all.

    Returns the loop's results and the assertions as they read outside; None and the assertions that
    need carries if those were not provided (`extra`).
    """
    # The builder has hoisted what does not vary with the round, so the region of a condition tells
    # whether the assertion needs a carry.
    inside = [e for e in assertions if e.holds.region is loop.region]
    if len(inside) != extra:
        return None, inside
    plain = len(initial)
    checks = [
        m.builder.op("and", state, e.holds)
        for state, e in zip(loop.states[plain:], inside, strict=True)
    ]
    starts = [m.truth(True)] * extra  # the neutral element of `and`
    known = [low, high, *initial, *loop.region.captured]
    check_rounds(bound * (1 + rounds(loop.region.ops)), "this loop", node.span)
    # What is known folds, round by round; the rest becomes a loop of the graph.
    folds = all(ref.known is not None for ref in known)
    m.consume_fuel(bound * work(loop.region.ops) if folds else LOOP_STEPS, node.span)
    first, after = [*initial, *starts], [*following, *checks]
    if m.trace is not None:
        m.trace.closed(loop.region, Closing(low, high, bound, first, after, until))
    results = loop.close(low, high, bound, first, after, until)
    # A loop that runs no round asserts nothing.
    some = m.op(node, "le", low, high)
    outside = [m.guarded(some, e) for e in assertions if e.holds.region is not loop.region]
    carried = [evolve(e, holds=results[plain + i]) for i, e in enumerate(inside)]
    own_results = (*results[:plain], *results[-2:])
    return own_results, [*outside, *carried]


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


def flatten(value: Value) -> list[Ref]:
    """The numbers of which a state consists, in order: a loop carries numbers alone."""
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
