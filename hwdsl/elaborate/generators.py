"""Unrolling of comprehensions: one candidate for each assignment of the variables, guarded by the
filter where this is unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from attrs import evolve, frozen

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import INT
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import check_size, items_of
from hwdsl.elaborate.values import ElaborationError, Env, RangeValue, Value
from hwdsl.syntax import ast

T = TypeVar("T")


@frozen(eq=False)
class Candidate:
    """An assignment of a comprehension's variables, or of the first of them.

    `guard` is the condition under which it takes part, if that is unknown: a candidate that is
    known not to is left out.
    """

    env: Env
    guard: Ref | None
    bindings: dict[str, Value]


def unroll(m: PartialEvaluator, expr: ast.Comprehension, env: Env) -> Iterator[Candidate]:
    """All assignments of the variables for which the filter may hold."""
    return expand(m, expr, env, lambda candidate: candidate, lambda part, over: None)


def expand(
    m: PartialEvaluator,
    expr: ast.Comprehension,
    env: Env,
    leaf: Callable[[Candidate], T],
    lower_to_loop: Callable[[Candidate, RangeValue], T | None],
) -> Iterator[T]:
    """The terms of a comprehension, the last generator innermost.

    `leaf` makes a term of each assignment; `lower_to_loop` may make one term of all assignments of
    the last generator, if this is a range.
    """
    written = 0

    def over(at: int, part: Candidate) -> Iterator[T]:
        nonlocal written
        if at == len(expr.generators):
            kept = filtered(m, expr, part)
            if kept is not None:
                yield leaf(kept)
            return
        generator = expr.generators[at]
        iterables = [
            _asked(m, part, partial(m.evaluate, each, part.env)) for each in generator.iterables
        ]
        first = iterables[0]
        last = at == len(expr.generators) - 1
        if last and len(iterables) == 1 and isinstance(first, RangeValue):
            whole = lower_to_loop(part, first)
            if whole is not None:
                yield whole
                return
        rows, hidden = _rows(m, generator, iterables)
        # Of all generators together: two lists that may be written out make a product that may not.
        written += len(rows)
        check_size(written, expr.span)
        names = [name.name for name in generator.names]
        for row, there in zip(rows, hidden, strict=True):
            given: dict[str, Value] = dict(zip(names, row, strict=True))
            guard = both(m, expr, part.guard, there)
            inner = Candidate(part.env.extend({**given}), guard, {**part.bindings, **given})
            yield from over(at + 1, inner)

    return over(0, Candidate(env, None, {}))


def _asked(m: PartialEvaluator, part: Candidate, compute: Callable[[], T]) -> T:
    """The value for a candidate; its assertions hold only where the candidate takes part."""
    return compute() if part.guard is None else m.under_path_condition(part.guard, compute)


def both(m: PartialEvaluator, node: ast.Node, a: Ref | None, b: Ref | None) -> Ref | None:
    """The conjunction of two conditions, None being one that holds."""
    if a is None or b is None:
        return b if a is None else a
    return m.op(node, "and", a, b)


def filtered(m: PartialEvaluator, expr: ast.Comprehension, part: Candidate) -> Candidate | None:
    """The candidate with the filter in its guard; None if it is known not to take part."""
    guard = part.guard
    if expr.condition is not None:
        filter_ = expr.condition
        condition = _asked(m, part, lambda: m.number(filter_, part.env))
        guard = condition if condition.known == 0.0 else both(m, expr, guard, condition)
    # A guard that is known to hold is dropped: such a term enters a sum without a selection.
    if guard is not None and guard.known is not None:
        if not guard.known:
            return None
        guard = None
    return part if guard is part.guard else evolve(part, guard=guard)


def _rows(
    m: PartialEvaluator, node: ast.Generator, lists: Sequence[Value]
) -> tuple[Sequence[tuple[Value, ...]], Sequence[Ref | None]]:
    """The values of the variables of a `for`, and for each row the condition that it is one.

    Lists side by side have their first elements in the first row; their lengths must be known.
    """
    if len(lists) == 1:
        values, hidden = elements(m, lists[0], node.iterables[0])
        return [(value,) for value in values], hidden
    pairs = zip(lists, node.iterables, strict=True)
    columns = [items_of(m, value, each.span) for value, each in pairs]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        have = " and ".join(map(str, lengths))
        raise ElaborationError(
            "unequal-lengths",
            f"`zip` goes through lists of one length: these have {have} elements",
            node.span,
        )
    return list(zip(*columns, strict=True)), [None] * lengths[0]


def elements(
    m: PartialEvaluator, value: Value, node: ast.Expr
) -> tuple[Sequence[Value], Sequence[Ref | None]]:
    """The elements of a list or range, and for each the condition that it is one."""
    if not isinstance(value, RangeValue) or (
        value.low.known is not None and value.high.known is not None
    ):
        items = items_of(m, value, node.span)
        return items, [None] * len(items)
    for end in (value.low, value.high):
        if end.known is not None:
            m.require_whole(end, "an end of this range", node.span)
    low, high = m.interval(value.low)[0], m.interval(value.high)[1]
    if not (math.isfinite(low) and math.isfinite(high)):
        unknown = value.low if value.low.known is None else value.high
        m.require_constant(unknown, "the length of this range", node.span)
    count = int(high) - int(low) + 1
    check_size(count, node.span)
    ints = tuple(m.const(int(low) + i, INT) for i in range(max(count, 0)))
    return ints, [
        m.op(node, "and", m.op(node, "le", value.low, i), m.op(node, "le", i, value.high))
        for i in ints
    ]
