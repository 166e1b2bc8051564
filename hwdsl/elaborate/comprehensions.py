"""Reducers over generators: `sum(e for x in xs if c)`, `lowest(…)`.

Short ranges and lists are written out; a long range whose body is unknown becomes one loop, unless
something inside must be known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.elaborate.generators import Candidate, both, expand, filtered, unroll
from hwdsl.elaborate.loop_lowering import MAX_UNROLLED, LoopRound, build_loop, most_rounds
from hwdsl.elaborate.partial_evaluator import MAX_ITEMS, PartialEvaluator
from hwdsl.elaborate.select_lowering import items_of, pick_value
from hwdsl.elaborate.values import (
    IMPLIED,
    ElaborationError,
    Env,
    NotConstant,
    RangeValue,
    ResultValue,
    SelectIndex,
    Thunk,
    Value,
    as_ref,
)
from hwdsl.semantics.symbols import Int
from hwdsl.syntax import ast

NEUTRAL: Mapping[str, float] = {
    "sum": 0.0,
    "prod": 1.0,
    "min": math.inf,
    "max": -math.inf,
    "any": 0.0,
    "all": 1.0,
    "count": 0.0,
    "mean": 0.0,  # of the sum in it
    "geomean": 0.0,  # of the sum of logarithms
    "lowest": math.nan,  # it loses to every number, infinite ones too
    "highest": math.nan,
}
"""The neutral element of each reduction.

Where it is known which terms take part, the others are left out; where it is not, these stand in
their places. Both must give the same bits, so that a known param changes no digit: a sum therefore
starts from +0.0, which -0.0 alone would tell (see `total`).
"""
WORST = {"lowest": math.inf, "highest": -math.inf}
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
class ReductionTerm:
    """An operand of a reduction, or the result of a loop over several, with the values of its
    variables.

    `exists` says whether there is a candidate behind it, where that is unknown. `continues` marks
    the value of a loop that started from the terms before it, so it stands for these too.
    """

    value: Ref
    bindings: dict[str, Value]
    exists: Ref | None
    continues: bool = False


# --- reduction ---------------------------------------------------------------------------------


def reduce(m: PartialEvaluator, how: str, expr: ast.Comprehension, env: Env) -> Value:
    """The reduction of a comprehension; `lowest` and `highest` give the variables too."""
    terms: list[ReductionTerm] = []
    # The operands that are still to be combined: a term that continues replaces those before it.
    operands = (
        [m.const(0.0, INT if _is_int(m, how, expr) else REAL)] if how == "sum" else list[Ref]()
    )

    def lower_to_loop(part: Candidate, over: RangeValue) -> ReductionTerm | None:
        return _try_lower_to_loop(m, how, expr, part, over, operands)

    for term in expand(m, expr, env, lambda c: _term(m, how, expr, c), lower_to_loop):
        terms.append(term)
        if term.continues:
            operands.clear()
        operands.append(term.value)  # one by one: `lower_to_loop` reads those there are
    exists = _any_of(m, [t.exists for t in terms], expr)
    if how in ("lowest", "highest"):
        return _select_best(m, how, terms, exists, expr, env)
    if how in ("min", "max") and terms:
        _assert_nonempty(m, how, exists, expr, env)
    return combine(m, how, operands, expr.span)


def _any_of(m: PartialEvaluator, conditions: Sequence[Ref | None], node: ast.Node) -> Ref:
    """Whether one of the conditions holds, None being one that does."""
    unknown = [c for c in conditions if c is not None]
    if len(unknown) < len(conditions):
        return m.truth(True)
    result = m.truth(False)
    for condition in unknown:
        result = m.op(node, "or", result, condition)
    return result


def _assert_nonempty(m: PartialEvaluator, how: str, exists: Ref, node: ast.Expr, env: Env) -> None:
    """State that there is something to reduce."""
    m.assert_rule("empty-list", exists, node.span, f"`{how}` finds nothing to choose from", env)


def total(m: PartialEvaluator, values: Sequence[Ref], span: Span) -> Ref:
    """The sum of a list, from +0.0 on as those over a filter are."""
    types = {v.type for v in values} or {REAL}
    return combine(m, "sum", [m.const(0.0, REAL if REAL in types else INT), *values], span)


def combine(m: PartialEvaluator, how: str, values: Sequence[Ref], span: Span) -> Ref:
    """The n-ary reduction of numbers or bools."""
    if not values:
        if how in ("min", "max"):
            raise ElaborationError("empty-list", f"`{how}` of an empty list has no value", span)
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


def _term(
    m: PartialEvaluator, how: str, expr: ast.Comprehension, candidate: Candidate
) -> ReductionTerm:
    inside, env = candidate.guard, candidate.env
    if inside is None:
        return ReductionTerm(
            as_element(m, how, m.evaluate(expr.element, env), expr), candidate.bindings, None
        )
    selector = SelectIndex(inside, 2)

    def nothing() -> Ref:
        kind = BOOL if how in ("any", "all") else INT if how == "count" else REAL
        return m.const(NEUTRAL[how], kind)

    def element() -> Ref:
        return as_element(m, how, m.evaluate(expr.element, env), expr)

    value, _ = m.guarded_arms([(selector, 0, element), (selector, 1, nothing)])
    # Of the element's type: an int and a real neutral element would make the selection real.
    other = m.const(NEUTRAL[how], value.type)
    return ReductionTerm(m.op(expr, "select", inside, value, other), candidate.bindings, inside)


def as_element(m: PartialEvaluator, how: str, value: Value, node: ast.Node) -> Ref:
    """An element as it takes part in the reduction: counted bools are 0 or 1, and of a geometric
    mean the logarithms are summed."""
    ref = as_ref(value)
    if how == "geomean":
        return m.op(node, "log", ref)
    if how != "count":
        return ref
    if ref.known is not None:
        return m.const(ref.known, INT)
    return m.builder.op("select", ref, m.const(1, INT), m.const(0, INT))


def _select_best(
    m: PartialEvaluator,
    how: str,
    terms: Sequence[ReductionTerm],
    exists: Ref,
    expr: ast.Comprehension,
    env: Env,
) -> ResultValue:
    what = f"result of `{how}`"
    names = ["value", *(name.name for g in expr.generators for name in g.names)]
    if not terms:

        def nothing() -> Value:
            raise ElaborationError("empty-list", f"`{how}` finds nothing to choose from", expr.span)

        empty = {name: Thunk(name, expr.span, nothing) for name in names}
        return ResultValue(what, {**empty, "found": m.truth(False)})
    values = [t.value for t in terms]
    if len(values) == 1:
        index = m.const(0, INT)
    else:
        index = m.op(expr, "argmin" if how == "lowest" else "argmax", *values)
    value = as_ref(pick_value(m, index, values, expr.span))

    def read(name: str) -> Value:
        _assert_nonempty(m, how, exists, expr, env)
        if name == "value":
            return value
        at = _index_of_bindings(m, index, value, terms, expr)
        return pick_value(m, at, [t.bindings[name] for t in terms], expr.span)

    # The rule that something is found is made by who reads a field, at the path of this text.
    path = m.path
    fields: dict[str, Value | Thunk] = {n: Thunk(path, expr.span, partial(read, n)) for n in names}
    limit = m.const(WORST[how])
    pair = (value, limit) if how == "lowest" else (limit, value)
    # No thunk: `found` is asked of a selection that may be empty, and so states no rule.
    fields["found"] = m.op(expr, "lt", *pair)
    return ResultValue(what, fields)


def _index_of_bindings(
    m: PartialEvaluator,
    index: Ref,
    value: Ref,
    terms: Sequence[ReductionTerm],
    expr: ast.Comprehension,
) -> Ref:
    """Which term the variables are read from: where none is a number, the first that exists."""
    if len(terms) == 1 or all(t.exists is None for t in terms):
        return index
    # `argmax` gives the first of the greatest: of ones and zeros the first that exists.
    one, zero = m.const(1.0), m.const(0.0)
    there = [one if t.exists is None else m.op(expr, "select", t.exists, one, zero) for t in terms]
    number = m.op(expr, "eq", value, value)
    return m.op(expr, "select", number, index, m.op(expr, "argmax", *there))


# --- lowered to a loop -------------------------------------------------------------------------


def _try_lower_to_loop(
    m: PartialEvaluator,
    how: str,
    expr: ast.Comprehension,
    part: Candidate,
    over: RangeValue,
    before: Sequence[Ref],
) -> ReductionTerm | None:
    """The reduction over a long range as one loop; None if it has to be unrolled.

    It has to be where something inside must be constant, and where something is known to break a
    rule of the language: unrolled, it may turn out to be in no term that takes part.
    """
    count = most_rounds(m, over)
    if count is None or count <= MAX_UNROLLED:
        return None
    try:
        return _lower_to_loop(m, how, expr, part, over, before)
    except ElaborationError as failure:
        broken = failure.diagnostic.name in IMPLIED and count <= MAX_ITEMS
        if not (broken or isinstance(failure, NotConstant)):
            raise
        return None


def _lower_to_loop(
    m: PartialEvaluator,
    how: str,
    expr: ast.Comprehension,
    part: Candidate,
    over: RangeValue,
    before: Sequence[Ref],
) -> ReductionTerm | None:
    best = how in ("lowest", "highest")
    # Whether a candidate exists is a carry of its own where a filter may leave none: the neutral
    # element does not tell, since it may be the value of a candidate too.
    may_be_empty = expr.condition is not None and (best or how in ("min", "max"))
    kind = BOOL if how in ("any", "all") else INT if _is_int(m, how, expr) else REAL
    types = [kind, *([INT] if best else []), *([BOOL] if may_be_empty else [])]
    name = expr.generators[-1].names[0].name

    def body(loop: LoopRegion) -> LoopRound | None:
        env = part.env.extend({name: loop.variable})
        bindings = {**part.bindings, name: loop.variable}
        kept = filtered(m, expr, evolve(part, env=env, bindings=bindings))
        if kept is None:
            return None
        term = _term(m, how, expr, kept)
        if best:
            seen = loop.states[2] if may_be_empty else None
            following = _better(m, how, term, loop, seen, expr)
        else:
            following = [m.op(expr, PAIR[how], loop.states[0], term.value)]
        if may_be_empty:
            here = m.truth(True) if term.exists is None else term.exists
            following.append(m.op(expr, "or", loop.states[len(types) - 1], here))
        return LoopRound(following)

    # Sums and products are not associative in floating point: the loop starts from the reduction of
    # the terms before it, so that the order is the same as unrolled, and with it every bit.
    continues = how in ("sum", "prod") and bool(before)
    start = combine(m, how, before, expr.span) if continues else m.const(NEUTRAL[how], kind)
    initial = [
        start,
        *([over.low] if best else []),
        *([m.truth(False)] if may_be_empty else []),
    ]
    results = build_loop(m, over, types, initial, body, expr)
    if results is None:
        return None
    some = m.op(expr, "le", over.low, over.high)
    exists = results[len(types) - 1] if may_be_empty else both(m, expr, part.guard, some)
    bindings = {**part.bindings, name: results[1]} if best else part.bindings
    known = exists is None or exists.known == 1.0
    return ReductionTerm(results[0], bindings, None if known else exists, continues)


def _is_int(m: PartialEvaluator, how: str, expr: ast.Comprehension) -> bool:
    if how == "count":
        return True
    element = m.checked.types.get(expr.element)
    return how in ("sum", "prod", "min", "max") and isinstance(element, Int)


def _better(
    m: PartialEvaluator,
    how: str,
    term: ReductionTerm,
    loop: LoopRegion,
    seen: Ref | None,
    expr: ast.Comprehension,
) -> list[Ref]:
    """The best value after a round and its variable, as `argmin` and `argmax` choose among terms.

    `seen` says whether there was a candidate before; None where each round has one.
    """
    state, value = loop.states[0], term.value
    pair = (state, value) if how == "lowest" else (value, state)
    # A number is better than NaN, and the state is NaN until there is a number.
    beats = m.op(expr, "not", m.op(expr, "le", *pair))
    better = m.op(expr, "and", m.op(expr, "eq", value, value), beats)
    taken = better
    if seen is not None:
        first = m.op(expr, "not", seen)
        if term.exists is not None:
            first = m.op(expr, "and", first, term.exists)
        taken = m.op(expr, "or", better, first)
    return [
        m.op(expr, "select", better, value, state),
        m.op(expr, "select", taken, loop.variable, loop.states[1]),
    ]


def list_refs(m: PartialEvaluator, value: Value, span: Span) -> list[Ref]:
    """The numbers of a list."""
    return [as_ref(v) for v in items_of(m, value, span)]


def mean(m: PartialEvaluator, how: str, expr: ast.Call, env: Env) -> Ref:
    """`mean` and `geomean`, over a comprehension or a list."""
    node = expr.arguments[0].value
    one, nothing = m.const(1, INT), m.const(0, INT)
    if isinstance(node, ast.Comprehension):
        terms = [_term(m, how, node, candidate) for candidate in unroll(m, node, env)]
        values, exists = [t.value for t in terms], [t.exists for t in terms]
        weights = [one if e is None else m.op(node, "select", e, one, nothing) for e in exists]
        if terms:
            _assert_nonempty(m, how, _any_of(m, exists, node), node, env)
    else:
        values = [
            as_element(m, how, v, node) for v in list_refs(m, m.evaluate(node, env), node.span)
        ]
        weights = [one] * len(values)
    if not values:
        raise ElaborationError("empty-list", f"`{how}` of an empty list has no value", node.span)
    whole = total(m, values, node.span)
    result = m.op(node, "div", whole, combine(m, "sum", weights, node.span))
    return m.op(node, "exp", result) if how == "geomean" else result
