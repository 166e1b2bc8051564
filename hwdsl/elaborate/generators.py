"""Unrolling of comprehensions: one candidate for each assignment of the variables, guarded by the
filter where this is unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from attrs import evolve, frozen

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import INT
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import check_size, items_of
from hwdsl.elaborate.values import Env, RangeValue, Value
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
        iterable = _asked(m, part, lambda: m.evaluate(generator.iterable, part.env))
        if at == len(expr.generators) - 1 and isinstance(iterable, RangeValue):
            whole = lower_to_loop(part, iterable)
            if whole is not None:
                yield whole
                return
        values, hidden = elements(m, iterable, generator.iterable)
        # Of all generators together: two lists that may be written out make a product that may not.
        written += len(values)
        check_size(written, expr.span)
        name = generator.name.name
        for value, there in zip(values, hidden, strict=True):
            inner = part.env.extend({name: value})
            guard = both(m, expr, part.guard, there)
            yield from over(at + 1, Candidate(inner, guard, {**part.bindings, name: value}))

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
    if guard is None or guard.known is None:
        return evolve(part, guard=guard)
    return evolve(part, guard=None) if guard.known else None


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
