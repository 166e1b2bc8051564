"""Expressions: literals, names, arithmetic, comparisons, calls. A handler per node type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import INT, REAL
from hwdsl.elaborate import builtins, control, records
from hwdsl.elaborate.functions import call_evaluator, call_function
from hwdsl.elaborate.loops import iterate
from hwdsl.elaborate.module_values import symbol_value
from hwdsl.elaborate.partial_evaluator import Handler, Instance, PartialEvaluator
from hwdsl.elaborate.rules import all_requires
from hwdsl.elaborate.select_lowering import clamp_index, equal, items_of, known_index, pick_value
from hwdsl.elaborate.trace import Trace
from hwdsl.elaborate.values import (
    Component,
    ElaborationError,
    EnumValue,
    Env,
    ListValue,
    RangeValue,
    ResultValue,
    SelectIndex,
    SelectRecord,
    TextValue,
    Value,
    as_component,
)
from hwdsl.semantics.literal_values import reading
from hwdsl.semantics.symbols import (
    Builtin,
    Case,
    Checked,
    EnclosingRecord,
    EvaluatorInfo,
    FunctionInfo,
    Global,
    KindInfo,
    Local,
    MemberOf,
    Method,
    Real,
)
from hwdsl.syntax import ast

# --- literals ----------------------------------------------------------------------------------


def _literal(m: PartialEvaluator, expr: ast.Number | ast.Quantity, env: Env) -> Value:
    # Read once: the text of a kind is evaluated again in each record and for each element.
    found = m.literals.get(expr)
    if found is None:
        digits = expr.text.replace("_", "")
        if isinstance(expr, ast.Number):
            # A literal 0 beside a quantity is one, and as such a real.
            is_real = isinstance(m.checked.types.get(expr), Real)
            value, kind = float(digits), INT if expr.is_int and not is_real else REAL
        else:
            value, kind = m.checked.units[expr.unit].to_base(Fraction(digits)), REAL
        value = value if m.varied is None else m.varied.of(expr, value)
        found = m.literals[expr] = m.const(value, kind)
    return found


def _text(m: PartialEvaluator, expr: ast.Text, env: Env) -> Value:
    return TextValue((expr.value,))


def _bool(m: PartialEvaluator, expr: ast.Bool, env: Env) -> Value:
    return m.truth(expr.value)


# --- names -------------------------------------------------------------------------------------


def _name(m: PartialEvaluator, expr: ast.Name, env: Env) -> Value:
    meaning = m.checked.resolutions[expr]
    if isinstance(meaning, Local):
        found = env.frame.lookup(meaning.name) if env.frame is not None else None
        if found is None:
            raise KeyError(f"no variable `{meaning.name}` at {expr.span}")
        return m.read(found)
    if isinstance(meaning, MemberOf):
        return records.member(m, env.records[meaning.level], meaning.name, expr.span)
    if isinstance(meaning, EnclosingRecord):
        return env.records[meaning.level]
    return _resolved(m, meaning)


def _resolved(m: PartialEvaluator, meaning: object) -> Value:
    if isinstance(meaning, Case):
        return EnumValue(meaning.enum, m.const(meaning.index, INT))
    if isinstance(meaning, Builtin):
        return m.const({"pi": math.pi, "inf": math.inf}[meaning.name])
    if isinstance(meaning, Global):
        return symbol_value(m, meaning.symbol)
    raise TypeError(f"the checker let {meaning!r} pass as a value")


def _attr(m: PartialEvaluator, expr: ast.Attr, env: Env) -> Value:
    meaning = m.checked.resolutions.get(expr)
    if isinstance(meaning, Global) and isinstance(meaning.symbol, KindInfo):
        parts = m.evaluate(expr.base, env)
        assert isinstance(parts, ListValue)
        return records.parts_of_kind(m, parts, meaning.symbol, expr.span)
    if meaning is not None and not isinstance(meaning, Method):
        return _resolved(m, meaning)
    base = m.evaluate(expr.base, env)
    if isinstance(base, ResultValue):
        return m.read(base.fields[expr.name.name])
    of = as_component(base)
    if expr.name.name != "feasible":  # who asks whether rules hold does not need them to
        m.ask(of, expr.span)
    return records.member(m, of, expr.name.name, expr.span)


def _index(m: PartialEvaluator, expr: ast.Index, env: Env) -> Value:
    base = m.evaluate(expr.base, env)
    index = m.number(expr.index, env)
    # Of a range with an unknown end there is no list of elements to pick from, and no need of one.
    if isinstance(base, RangeValue) and (base.low.known is None or base.high.known is None):
        steps = m.op(expr, "sub", base.high, base.low)
        after = m.op(expr, "le", m.const(0, INT), index)
        inside = m.op(expr, "and", after, m.op(expr, "le", index, steps))
        text = f"`{expr.span.text}` asks for an element outside the range"
        m.assert_rule("index-out-of-range", inside, expr.span, text, env)
        return m.op(expr, "add", base.low, index)
    items = items_of(m, base, expr.base.span)
    if index.known is not None:
        return items[known_index(m, index, len(items), "the list", expr.span)]
    if not items:
        raise ElaborationError("index-out-of-range", "the list is empty", expr.span)
    return pick_value(m, clamp_index(m, index, len(items), expr, env), items, expr.span)


# --- operators ---------------------------------------------------------------------------------


def _unary(m: PartialEvaluator, expr: ast.Unary, env: Env) -> Value:
    read = reading(expr, m.checked.units)
    if read is not None:
        return m.const(read)
    operand = m.number(expr.operand, env)
    if expr.op == "+":
        return operand
    return m.op(expr, "neg" if expr.op == "-" else "not", operand)


_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow"}


def _binary(m: PartialEvaluator, expr: ast.Binary, env: Env) -> Value:
    left = m.number(expr.left, env)
    if expr.op in ("and", "or"):
        return _connective(m, expr, left, env)
    right = m.number(expr.right, env)
    if expr.op == "..":
        for end, written in ((left, expr.left), (right, expr.right)):
            if end.known is None and not m.is_within(end, -math.inf, math.inf):
                # No element compares with NaN: without a rule the range would be empty.
                text = f"`{written.span.text}` must be a whole number"
                m.assert_rule("not-whole", m.op(written, "eq", end, end), written.span, text, env)
        return RangeValue(left, right)
    return m.op(expr, _ARITHMETIC[expr.op], left, right)


def _connective(m: PartialEvaluator, expr: ast.Binary, left: Ref, env: Env) -> Value:
    both = expr.op == "and"
    if left.known is not None and bool(left.known) != both:
        return left
    if left.known is not None:
        return m.number(expr.right, env)
    where = left if both else m.op(expr, "not", left)
    selector = SelectIndex(where, 2)
    right, _ = m.guarded_arms(
        [
            (selector, 0, lambda: m.number(expr.right, env)),
            (selector, 1, lambda: m.truth(both)),  # what is not asked decides nothing
        ]
    )
    return m.op(expr, expr.op, left, right)


def _compare(m: PartialEvaluator, expr: ast.Compare, env: Env) -> Value:
    values = [m.evaluate(e, env) for e in expr.operands]
    results = [_relation(m, expr, op, values[i], values[i + 1]) for i, op in enumerate(expr.ops)]
    return m.all_of(results, expr)


def _relation(m: PartialEvaluator, expr: ast.Compare, op: str, a: Value, b: Value) -> Ref:
    if isinstance(a, Ref) and isinstance(b, Ref):
        # The graph has no `gt`, so that `a > b` and `b < a` are one operation.
        if op in (">", ">="):
            a, b = b, a
        code = {"<": "lt", ">": "lt", "<=": "le", ">=": "le", "==": "eq", "!=": "ne"}[op]
        return m.op(expr, code, a, b)
    same = equal(m, expr, a, b)
    return same if op == "==" else m.op(expr, "not", same)


def _list(m: PartialEvaluator, expr: ast.ListLit, env: Env) -> Value:
    return ListValue(tuple(m.evaluate(e, env) for e in expr.items))


# --- calls -------------------------------------------------------------------------------------


def _call(m: PartialEvaluator, expr: ast.Call, env: Env) -> Value:
    meaning = m.checked.resolutions[expr.function]
    if isinstance(meaning, Builtin):
        return builtins.call(m, meaning.name, expr, env)
    if isinstance(meaning, MemberOf):
        return _call_method(m, env.records[meaning.level], meaning.name, expr, env)
    if isinstance(meaning, Method):
        assert isinstance(expr.function, ast.Attr)
        base = as_component(m.evaluate(expr.function.base, env))
        m.ask(base, expr.span)
        return _call_method(m, base, meaning.name, expr, env)
    assert isinstance(meaning, Global)
    symbol = meaning.symbol
    if isinstance(symbol, KindInfo):
        return records.construct(m, symbol, expr, env)
    if isinstance(symbol, EvaluatorInfo):
        named = {a.name.name: a.value for a in expr.arguments if a.name}
        given = {name: m.evaluate(value, env) for name, value in named.items()}
        spans = {name: value.span for name, value in named.items()}
        return call_evaluator(m, symbol, given, spans, expr.span)
    assert isinstance(symbol, FunctionInfo)
    m.checked.ensure(symbol)
    arguments = _arguments(m, symbol.decl, expr.arguments, env)
    return call_function(m, symbol.decl, Env(symbol.scope), arguments, expr.span)


def _arguments(
    m: PartialEvaluator, decl: ast.Fn, arguments: Sequence[ast.Argument], env: Env
) -> dict[str, Value]:
    names = [p.name.name for p in decl.parameters]
    given: dict[str, Value] = {}
    for i, argument in enumerate(arguments):
        name = argument.name.name if argument.name is not None else names[i]
        given[name] = m.evaluate(argument.value, env)
    return given


def _call_method(m: PartialEvaluator, of: Component, name: str, expr: ast.Call, env: Env) -> Value:
    info = records.method(of, name)
    if info is None:
        assert isinstance(of, SelectRecord)
        return records.map_alternatives(
            m, of, lambda a: _call_method(m, a, name, expr, env), expr.span
        )
    decl, scope = info.decl, info.owner.scope
    assert isinstance(decl, ast.Fn)
    assert scope is not None
    arguments = _arguments(m, decl, expr.arguments, env)
    return records.call_alternatives(
        m,
        of,
        lambda self: call_function(m, decl, Env(scope, None, (self,)), arguments, expr.span),
        expr.span,
    )


HANDLERS: Mapping[type, Handler] = {
    ast.Number: _literal,
    ast.Quantity: _literal,
    ast.Text: _text,
    ast.Bool: _bool,
    ast.Name: _name,
    ast.Attr: _attr,
    ast.Index: _index,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Compare: _compare,
    ast.ListLit: _list,
    ast.With: records.with_block,
    ast.Call: _call,
    ast.Cond: control.cond,
    ast.Match: control.match,
    ast.Is: control.is_case,
    ast.Iterate: iterate,
    ast.Comprehension: control.list_comprehension,
}
"""How each kind of expression is evaluated."""


def new_partial_evaluator(
    checked: Checked,
    overrides: Mapping[str, float] | None = None,
    free: frozenset[str] = frozenset(),
    trace: Trace | None = None,
    callees: dict[EvaluatorInfo, Instance] | None = None,
) -> PartialEvaluator:
    """One that knows all kinds of expressions; several may share `callees`."""
    shared = {} if callees is None else callees
    return PartialEvaluator(
        checked, HANDLERS, all_requires, overrides or {}, free, trace=trace, callees=shared
    )
