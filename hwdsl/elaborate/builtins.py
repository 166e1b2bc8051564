"""The functions of the language itself, as operations of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, INT
from hwdsl.elaborate import comprehensions
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import items_of, pick_value
from hwdsl.elaborate.values import (
    IMPLIED,
    ElaborationError,
    Env,
    ListValue,
    RangeValue,
    Value,
    as_ref,
)
from hwdsl.semantics.symbols import ExactQuotient, ShortFor
from hwdsl.syntax import ast

MAX_UNKNOWN_KEYS = 64  # each pair of keys is compared


def call(m: PartialEvaluator, name: str, expr: ast.Call, env: Env) -> Value:
    """The value of a builtin's call: by its handler, else by the operation of its name."""
    arguments = [a.value for a in expr.arguments]
    quotient = arguments[0]
    # `floor(a / b)` of ints, which the checker notes: exact, where `a / b` would round first.
    noted = m.checked.resolutions.get(quotient)
    if isinstance(noted, ExactQuotient):
        assert isinstance(quotient, ast.Binary)
        ends = m.number(quotient.left, env), m.number(quotient.right, env)
        return m.op(quotient, noted.code, *ends)
    handler = HANDLERS.get(name)
    if handler is not None:
        return handler(m, name, expr, env)
    return m.op(expr, name, *(m.number(a, env) for a in arguments))


def _known(m: PartialEvaluator, name: str, expr: ast.Call, env: Env) -> Ref:
    """Where an expression reads nothing unknown, whatever rules of the language it breaks."""
    try:
        return m.is_known(lambda: m.evaluate(expr.arguments[0].value, env))
    except ElaborationError as failure:
        if failure.diagnostic.name not in IMPLIED:
            raise
        return m.truth(True)


def _first_known(m: PartialEvaluator, name: str, expr: ast.Call, env: Env) -> Value:
    meant = m.checked.resolutions[expr]
    assert isinstance(meant, ShortFor)
    return m.evaluate(meant.expr, env)


def _reduce(m: PartialEvaluator, name: str, expr: ast.Call, env: Env) -> Value:
    arguments = [a.value for a in expr.arguments]
    first = arguments[0]
    if len(arguments) == 1:
        if isinstance(first, ast.Comprehension):
            return comprehensions.reduce(m, name, first, env)
        values = comprehensions.list_refs(m, m.evaluate(first, env), first.span)
    else:
        values = [m.number(a, env) for a in arguments]
    refs = [comprehensions.as_element(m, name, v, expr) for v in values]
    if name == "sum":
        return comprehensions.total(m, refs, expr.span)
    return comprehensions.combine(m, name, refs, expr.span)


# --- scalar functions --------------------------------------------------------------------------


def _whole(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    x = as_ref(args[0])
    rounded = m.op(expr, "round", x)
    if x.type != INT:
        text = f"`{expr.arguments[0].value.span.text}` must be a whole number"
        m.assert_rule("not-whole", m.op(expr, "eq", x, rounded), expr.span, text, env)
    return rounded


def _len(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    over = args[0]
    if isinstance(over, RangeValue):
        steps = m.op(expr, "sub", over.high, over.low)
        return m.op(expr, "max", m.op(expr, "add", steps, m.const(1, INT)), m.const(0, INT))
    return m.const(len(items_of(m, over, expr.span)), INT)


# --- tables ------------------------------------------------------------------------------------


def _points(
    m: PartialEvaluator, expr: ast.Call, args: list[Value]
) -> tuple[list[float], list[Value]]:
    xs_node, ys_node = expr.arguments[1].value, expr.arguments[2].value
    xs = [
        m.require_constant(ref, "where a table has its points", xs_node.span)
        for ref in comprehensions.list_refs(m, args[1], xs_node.span)
    ]
    ys = list(items_of(m, args[2], ys_node.span))
    if len(xs) != len(ys) or not xs:
        raise ElaborationError(
            "table-points",
            f"a table needs as many values as points, at least one; it has {len(ys)} values at "
            f"{len(xs)} points",
            expr.span,
        )
    if any(not a < b for a, b in pairwise(xs)):
        raise ElaborationError("table-points", "the points of a table must increase", xs_node.span)
    return xs, ys


def _clamped(m: PartialEvaluator, expr: ast.Call, x: Ref, xs: list[float], env: Env) -> Ref:
    """x moved inside the table, with the warning that it was outside."""
    low, high = m.const(xs[0]), m.const(xs[-1])
    inside = m.op(expr, "and", m.op(expr, "le", low, x), m.op(expr, "le", x, high))
    text = f"`{expr.arguments[0].value.span.text}` lies outside the table; its end is used"
    m.assert_rule("outside-table", inside, expr.span, text, env, warns=True)
    return m.op(expr, "min", m.op(expr, "max", x, low), high)


def _interp(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    xs, values = _points(m, expr, args)
    x = _clamped(m, expr, as_ref(args[0]), xs, env)
    return _linear(m, expr, x, xs, [as_ref(v) for v in values])


def _linear(m: PartialEvaluator, expr: ast.Call, x: Ref, xs: list[float], ys: list[Ref]) -> Ref:
    if len(xs) == 1:
        return ys[0]
    index = m.op(expr, "bucket", x, index=m.builder.table(xs[1:-1]))
    points = [m.const(x) for x in xs]
    ends = (points[:-1], points[1:], ys[:-1], ys[1:])
    x0, x1, y0, y1 = (as_ref(pick_value(m, index, among, expr.span)) for among in ends)
    share = m.op(expr, "div", m.op(expr, "sub", x, x0), m.op(expr, "sub", x1, x0))
    rise = m.op(expr, "mul", m.op(expr, "sub", y1, y0), share)
    return m.op(expr, "add", y0, rise)


def _step(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    xs, values = _points(m, expr, args)
    x = _clamped(m, expr, as_ref(args[0]), xs, env)
    index = m.op(expr, "bucket", x, index=m.builder.table(xs[1:]))
    found = pick_value(m, index, values, expr.span)
    if not isinstance(found, Ref) or found.type == BOOL:
        return found
    # `bucket` gives an index for NaN too.
    return m.op(expr, "select", m.op(expr, "eq", x, x), found, m.const(math.nan))


# --- order -------------------------------------------------------------------------------------


def _ranks(m: PartialEvaluator, keys: list[Ref], node: ast.Expr) -> list[Ref]:
    """Each key's place in a stable ascending order, NaN last."""
    known = [k.known for k in keys]
    values = [k for k in known if k is not None]
    if len(values) == len(keys):
        order = sorted(range(len(values)), key=lambda i: (math.isnan(values[i]), values[i]))
        places = {at: place for place, at in enumerate(order)}
        return [m.const(places[i], INT) for i in range(len(keys))]
    if len(keys) > MAX_UNKNOWN_KEYS:
        raise ElaborationError(
            "too-large",
            f"at most {MAX_UNKNOWN_KEYS} elements can be sorted by keys that are unknown when the "
            f"file is compiled; here are {len(keys)}",
            node.span,
        )
    one, zero = m.const(1, INT), m.const(0, INT)
    behind = _places_of_nans(m, keys, node)
    ranks: list[Ref] = []
    for i, key in enumerate(keys):
        before = [
            m.op(node, "select", m.op(node, "le" if j < i else "lt", other, key), one, zero)
            for j, other in enumerate(keys)
            if j != i
        ]
        rank = m.op(node, "sum", zero, *before, type=INT)
        number = m.op(node, "eq", key, key)
        ranks.append(m.op(node, "select", number, rank, behind[i]))
    return ranks


def _places_of_nans(m: PartialEvaluator, keys: list[Ref], node: ast.Expr) -> list[Ref]:
    """The place of each key if it is NaN: behind the NaNs before it and behind all numbers."""
    one, zero = m.const(1, INT), m.const(0, INT)
    numbers_after, places = zero, list[Ref]()
    for i in reversed(range(len(keys))):
        places.append(m.op(node, "add", m.const(i, INT), numbers_after))
        number = m.op(node, "select", m.op(node, "eq", keys[i], keys[i]), one, zero)
        numbers_after = m.op(node, "add", numbers_after, number)
    return places[::-1]


def _ordered(
    m: PartialEvaluator, items: list[Value], keys: list[Ref], node: ast.Expr
) -> list[Value]:
    ranks = _ranks(m, keys, node)
    known = [r.known for r in ranks]
    if all(k is not None for k in known):
        places = sorted(range(len(items)), key=lambda i: known[i] or 0.0)
        return [items[i] for i in places]
    ordered: list[Value] = []
    for place in range(len(items)):
        here = [m.op(node, "eq", r, m.const(place, INT)) for r in ranks]
        # Ranks are all different, so one is here; `argmax` finds the 1 among zeros.
        at = m.op(node, "argmax", *(m.widen(h) for h in here))
        ordered.append(pick_value(m, at, items, node.span))
    return ordered


def _sort_by(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    items = list(items_of(m, args[0], expr.span))
    keys = comprehensions.list_refs(m, args[1], expr.span)
    if len(keys) != len(items):
        raise ElaborationError(
            "unequal-lengths",
            f"`sort_by` needs a key for each element: {len(items)} elements, {len(keys)} keys",
            expr.span,
        )
    return ListValue(tuple(_ordered(m, items, keys, expr)))


def _quantile(m: PartialEvaluator, expr: ast.Call, args: list[Value], env: Env) -> Value:
    values = comprehensions.list_refs(m, args[0], expr.span)
    if not values:
        raise ElaborationError("empty-list", "`quantile` of an empty list has no value", expr.span)
    ordered = _ordered(m, list(values), values, expr)
    end = m.const(len(values) - 1, INT)
    zero = m.const(0.0)
    at = m.op(expr, "mul", as_ref(args[1]), end)
    inside = m.op(expr, "min", m.op(expr, "max", at, zero), end)
    # An index must be a number; a NaN comes back in by the share.
    place = m.op(expr, "select", m.op(expr, "le", zero, at), inside, zero)
    below = m.op(expr, "floor", place)
    above = m.op(expr, "ceil", place)
    a = as_ref(pick_value(m, below, ordered, expr.span))
    b = as_ref(pick_value(m, above, ordered, expr.span))
    share = m.op(expr, "sub", inside, below)
    result = m.op(expr, "add", a, m.op(expr, "mul", m.op(expr, "sub", b, a), share))
    last = as_ref(ordered[-1])  # where a NaN stands
    return m.op(expr, "select", m.op(expr, "eq", last, last), result, m.const(math.nan))


Handler = Callable[[PartialEvaluator, str, ast.Call, Env], Value]


def _of_values(
    rule: Callable[[PartialEvaluator, ast.Call, list[Value], Env], Value],
) -> Handler:
    """A handler that needs no more of the arguments than their values."""
    return lambda m, name, expr, env: rule(
        m, expr, [m.evaluate(a.value, env) for a in expr.arguments], env
    )


HANDLERS: Mapping[str, Handler] = {
    "known": _known,
    "first_known": _first_known,
    "mean": comprehensions.mean,
    "geomean": comprehensions.mean,
    "min": _reduce,
    "max": _reduce,
    "sum": _reduce,
    "prod": _reduce,
    "count": _reduce,
    "any": _reduce,
    "all": _reduce,
    "lowest": _reduce,
    "highest": _reduce,
    "whole": _of_values(_whole),
    "len": _of_values(_len),
    "interp": _of_values(_interp),
    "step": _of_values(_step),
    "sort_by": _of_values(_sort_by),
    "quantile": _of_values(_quantile),
}
"""The functions that are no single operation on numbers; the others are the operations of their
names."""
