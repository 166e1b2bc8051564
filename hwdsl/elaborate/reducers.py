"""Reducers over generators: `sum(e for x in xs if c)`, `lowest(…)`.

Short ranges and lists are written out; a long range whose body is unknown becomes one loop, unless
something inside must be known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from hwdsl.codegen.ir import BOOL, INT, REAL, LoopRegion, Ref
from hwdsl.elaborate.machine import Machine, as_ref
from hwdsl.elaborate.rolling import Rolled, close, flatten, inner_effects, rebuild
from hwdsl.elaborate.selection import check_size, items_of, pick_value
from hwdsl.elaborate.values import (
    Env,
    Failure,
    ListValue,
    NotKnown,
    RangeValue,
    ResultValue,
    Value,
)
from hwdsl.semantics.types import Int
from hwdsl.source import Span
from hwdsl.syntax import ast

SHORT = 16
"""Ranges up to this length are written out."""

NEUTRAL: Mapping[str, float] = {
    "sum": 0.0,
    "prod": 1.0,
    "min": math.inf,
    "max": -math.inf,
    "any": 0.0,
    "all": 1.0,
    "count": 0.0,
    "lowest": math.inf,
    "highest": -math.inf,
}
NARY = {"sum": "sum", "prod": "prod", "min": "nmin", "max": "nmax", "count": "sum"}
PAIR = {
    "sum": "add",
    "prod": "mul",
    "min": "min",
    "max": "max",
    "count": "add",
    "any": "or",
    "all": "and",
}


@frozen(eq=False)
class Candidate:
    """One assignment of a comprehension's variables; `mask` is its unknown filter."""

    env: Env
    mask: Ref | None
    picks: dict[str, Value]


@frozen(eq=False)
class Term:
    """A value to be reduced, or already reduced over a loop, with the variables it stands for."""

    value: Ref
    picks: dict[str, Value]


def candidates(m: Machine, expr: ast.Comprehension, env: Env) -> Iterator[Candidate]:
    """All assignments of the variables, written out, for which the filter may hold."""
    budget = [0]
    yield from _expand(m, expr, 0, env, {}, None, budget)


def _expand(
    m: Machine,
    expr: ast.Comprehension,
    at: int,
    env: Env,
    picks: dict[str, Value],
    mask: Ref | None,
    budget: list[int],
) -> Iterator[Candidate]:
    if at == len(expr.generators):
        kept = _filter(m, expr, env, mask)
        if kept is None or kept.known != 0.0:
            yield Candidate(env, None if kept is None or kept.known is not None else kept, picks)
        return
    generator = expr.generators[at]
    name = generator.name.name
    values, hidden = elements(m, m.evaluate(generator.iterable, env), generator.iterable)
    budget[0] += len(values)
    check_size(budget[0], expr.span)
    for value, unless in zip(values, hidden, strict=True):
        inner = env.extend({name: value})
        both = unless if mask is None or unless is None else m.op(expr, "and", mask, unless)
        yield from _expand(
            m,
            expr,
            at + 1,
            inner,
            {**picks, name: value},
            both if both is not None else mask,
            budget,
        )


def elements(
    m: Machine, value: Value, node: ast.Expr
) -> tuple[Sequence[Value], Sequence[Ref | None]]:
    """The elements of a list or range, and for each the condition that it is one."""
    if not isinstance(value, RangeValue) or (
        value.low.known is not None and value.high.known is not None
    ):
        items = items_of(m, value, node.span)
        return items, [None] * len(items)
    low, high = m.interval(value.low)[0], m.interval(value.high)[1]
    if not (math.isfinite(low) and math.isfinite(high)):
        unknown = value.low if value.low.known is None else value.high
        m.need_known(unknown, "the length of this range", node.span)
    count = int(high) - int(low) + 1
    check_size(count, node.span)
    ints = tuple(m.const(int(low) + i, INT) for i in range(max(count, 0)))
    return ints, [
        m.op(node, "and", m.op(node, "le", value.low, i), m.op(node, "le", i, value.high))
        for i in ints
    ]


def _filter(m: Machine, expr: ast.Comprehension, env: Env, mask: Ref | None) -> Ref | None:
    if expr.condition is None:
        return mask
    condition = m.number(expr.condition, env)
    if mask is None or condition.known == 0.0:
        return condition
    return m.op(expr, "and", mask, condition)


# --- reduction ---------------------------------------------------------------------------------


def reduce(m: Machine, how: str, expr: ast.Comprehension, env: Env) -> Value:
    """The reduction of a comprehension; `lowest` and `highest` give the variables too."""
    terms = list(_terms(m, how, expr, 0, env, {}, None, [0]))
    if how in ("lowest", "highest"):
        return _best(m, how, terms, expr)
    return combine(m, how, [t.value for t in terms], expr.span)


def combine(m: Machine, how: str, values: Sequence[Ref], span: Span) -> Ref:
    """The n-ary reduction of numbers or bools."""
    if not values:
        if how in ("min", "max"):
            raise Failure("empty-list", f"`{how}` of an empty list has no value", span)
        kind = BOOL if how in ("any", "all") else INT if how in ("count", "prod") else REAL
        return m.const(NEUTRAL[how], kind)
    if how in ("any", "all"):
        result = values[0]
        for value in values[1:]:
            result = m.op(span, PAIR[how], result, value)
        return result
    if len(values) == 2:
        return m.op(span, PAIR[how], *values)
    return m.op(span, NARY[how], *values)


def _terms(
    m: Machine,
    how: str,
    expr: ast.Comprehension,
    at: int,
    env: Env,
    picks: dict[str, Value],
    mask: Ref | None,
    budget: list[int],
) -> Iterator[Term]:
    if at == len(expr.generators):
        term = _term(m, how, expr, env, picks, mask)
        if term is not None:
            yield term
        return
    generator = expr.generators[at]
    name = generator.name.name
    iterable = m.evaluate(generator.iterable, env)
    if at == len(expr.generators) - 1 and isinstance(iterable, RangeValue):
        rolled = _try_roll(m, how, expr, env, picks, mask, iterable)
        if rolled is not None:
            yield rolled
            return
    values, hidden = elements(m, iterable, generator.iterable)
    budget[0] += len(values)
    check_size(budget[0], expr.span)
    for value, unless in zip(values, hidden, strict=True):
        inner = env.extend({name: value})
        both = unless if mask is None or unless is None else m.op(expr, "and", mask, unless)
        yield from _terms(
            m,
            how,
            expr,
            at + 1,
            inner,
            {**picks, name: value},
            both if both is not None else mask,
            budget,
        )


def _term(
    m: Machine,
    how: str,
    expr: ast.Comprehension,
    env: Env,
    picks: dict[str, Value],
    mask: Ref | None,
) -> Term | None:
    kept = _filter(m, expr, env, mask)
    if kept is not None and kept.known is not None:
        if not kept.known:
            return None
        kept = None
    if kept is None:
        return Term(as_element(m, how, m.evaluate(expr.element, env)), picks)
    inside = kept
    value = m.masked(inside, lambda: as_element(m, how, m.evaluate(expr.element, env)))
    other = m.const(NEUTRAL[how], value.type)
    return Term(m.op(expr, "select", inside, value, other), picks)


def as_element(m: Machine, how: str, value: Value) -> Ref:
    """An element as it takes part in the reduction: counted bools are 0 or 1."""
    ref = as_ref(value)
    if how != "count":
        return ref
    if ref.known is not None:
        return m.const(ref.known, INT)
    return m.builder.op("select", ref, m.const(1, INT), m.const(0, INT))


def _best(m: Machine, how: str, terms: Sequence[Term], expr: ast.Comprehension) -> ResultValue:
    if not terms:
        raise Failure("empty-list", f"`{how}` has nothing to choose from", expr.span)
    values = [t.value for t in terms]
    if len(values) == 1:
        index = m.const(0, INT)
    else:
        index = m.op(expr, "argmin" if how == "lowest" else "argmax", *values)
    value = as_ref(pick_value(m, index, values, expr.span))
    picks = {
        name: pick_value(m, index, [t.picks[name] for t in terms], expr.span)
        for name in terms[0].picks
    }
    return _found(m, how, value, picks, expr)


def _found(
    m: Machine, how: str, value: Ref, picks: dict[str, Value], expr: ast.Comprehension
) -> ResultValue:
    limit = m.const(NEUTRAL[how])
    pair = (value, limit) if how == "lowest" else (limit, value)
    found = m.op(expr, "lt", *pair)
    return ResultValue(f"result of `{how}`", {**picks, "value": value, "found": found})


# --- rolled ------------------------------------------------------------------------------------


def _try_roll(
    m: Machine,
    how: str,
    expr: ast.Comprehension,
    env: Env,
    picks: dict[str, Value],
    mask: Ref | None,
    over: RangeValue,
) -> Term | None:
    """The reduction over a long range as one loop; None if it has to be written out."""
    low, high = m.interval(over.low)[0], m.interval(over.high)[1]
    if not (math.isfinite(low) and math.isfinite(high)) or high - low + 1 <= SHORT:
        return None
    try:
        rolled, effects = m.collect(
            lambda: inner_effects(
                m, lambda extra: _roll(m, how, expr, env, picks, mask, over, extra)
            )
        )
    except NotKnown:
        return None
    if rolled is None:
        return None
    m.effects.extend(effects)
    return rolled


def _roll(
    m: Machine,
    how: str,
    expr: ast.Comprehension,
    env: Env,
    picks: dict[str, Value],
    mask: Ref | None,
    over: RangeValue,
    extra: int,
) -> Rolled[Term | None]:
    best = how in ("lowest", "highest")
    kind = BOOL if how in ("any", "all") else INT if _is_int(m, how, expr) else REAL
    carries = [kind, *([INT] if best else []), *([BOOL] * extra)]
    name = expr.generators[-1].name.name
    with m.loop(carries) as loop:
        m.note_range(loop.variable, over.low, over.high)
        inner = env.extend({name: loop.variable})
        term, effects = m.collect(
            lambda: _term(m, how, expr, inner, {**picks, name: loop.variable}, mask)
        )
        if term is None:
            return Rolled(None, [], loop)
        following = _next(m, how, term.value, loop, best, expr)
    start = m.const(NEUTRAL[how], kind)
    initial = [start, over.low] if best else [start]
    bound = int(m.interval(over.high)[1] - m.interval(over.low)[0]) + 1
    mine, outer = close(
        m,
        loop,
        over.low,
        over.high,
        bound,
        initial,
        following,
        effects,
        extra,
        expr,
    )
    if mine is None:
        return Rolled(None, outer, loop)
    m.effects.extend(outer)
    chosen = {**picks, name: mine[1]} if best else picks
    return Rolled(Term(mine[0], chosen), [], loop)


def _is_int(m: Machine, how: str, expr: ast.Comprehension) -> bool:
    if how == "count":
        return True
    return how in ("sum", "prod") and isinstance(m.checked.types.get(expr.element), Int)


def _next(
    m: Machine, how: str, value: Ref, loop: LoopRegion, best: bool, expr: ast.Comprehension
) -> list[Ref]:
    state = loop.states[0]
    if not best:
        return [m.op(expr, PAIR[how], state, value)]
    pair = (value, state) if how == "lowest" else (state, value)
    better = m.op(expr, "lt", *pair)
    return [
        m.op(expr, "select", better, value, state),
        m.op(expr, "select", better, loop.variable, loop.states[1]),
    ]


def list_refs(m: Machine, value: Value, span: Span) -> list[Ref]:
    """The numbers of a list."""
    return [as_ref(v) for v in items_of(m, value, span)]


def mean(m: Machine, how: str, node: ast.Expr, env: Env) -> Ref:
    """`mean` and `geomean`, over a comprehension or a list."""
    if isinstance(node, ast.Comprehension):
        values, weights = _weighted(m, how, node, env)
    else:
        values = list_refs(m, m.evaluate(node, env), node.span)
        if how == "geomean":
            values = [m.op(node, "log", v) for v in values]
        weights = [m.const(1, INT) for _ in values]
    if not values:
        raise Failure("empty-list", f"`{how}` of an empty list has no value", node.span)
    total = combine(m, "sum", values, node.span)
    result = m.op(node, "div", total, combine(m, "sum", weights, node.span))
    return m.op(node, "exp", result) if how == "geomean" else result


def _weighted(
    m: Machine, how: str, node: ast.Comprehension, env: Env
) -> tuple[list[Ref], list[Ref]]:
    values: list[Ref] = []
    weights: list[Ref] = []
    one, nothing = m.const(1, INT), m.const(0, INT)
    for candidate in candidates(m, node, env):
        mask, inner = candidate.mask, candidate.env

        def element(inner: Env = inner) -> Ref:
            value = m.number(node.element, inner)
            return m.op(node, "log", value) if how == "geomean" else value

        if mask is None:
            values.append(element())
            weights.append(one)
        else:
            values.append(m.op(node, "select", mask, m.masked(mask, element), m.const(0.0)))
            weights.append(m.op(node, "select", mask, one, nothing))
    return values, weights


__all__ = [
    "Candidate",
    "ListValue",
    "candidates",
    "combine",
    "flatten",
    "list_refs",
    "mean",
    "rebuild",
    "reduce",
]
