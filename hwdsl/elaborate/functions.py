"""Calls of functions and evaluators; equal calls are evaluated once."""

from __future__ import annotations

from collections.abc import Mapping

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate.calls import called
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.records import with_lets
from hwdsl.elaborate.values import (
    EnumValue,
    Env,
    ListValue,
    RangeValue,
    TextValue,
    Thunk,
    Value,
    numbers_of,
)
from hwdsl.semantics.symbols import EvaluatorInfo
from hwdsl.syntax import ast

_LONGEST_KEY = 256  # a longer list goes by identity: its key costs more than the call it may save


def call_function(
    m: PartialEvaluator, decl: ast.Fn, env: Env, arguments: Mapping[str, Value], span: Span
) -> Value:
    """The value of a function for arguments; `env` is that of its declaration."""
    values = tuple([_key(value) for value in arguments.values()])
    key = (decl, tuple([id(r) for r in env.records]), tuple(arguments), values)
    label = f"{decl.name.name}(…)"
    keep = (env, arguments)
    call = Thunk(label, span, lambda: _body(m, decl, env, arguments, span), keep=keep, called=True)
    return _once(m, key, call)


def _once(m: PartialEvaluator, key: object, call: Thunk) -> Value:
    # The key holds ids: what they belong to must live as long as the key, so the thunk keeps it.
    return m.read(m.calls.setdefault(key, call))


def _body(
    m: PartialEvaluator, decl: ast.Fn, env: Env, arguments: Mapping[str, Value], span: Span
) -> Value:
    names: dict[str, Value | Thunk] = dict(arguments)
    inner = env.extend(names)
    if m.trace is not None:
        m.trace.body(names)
    for parameter in decl.parameters:
        name = parameter.name.name
        if name not in names and parameter.default is not None:
            names[name] = m.evaluate(parameter.default, inner)
        if parameter.known:
            for number in numbers_of(m.read(names[name])):
                m.require_constant(number, f"`{name}` of `{decl.name.name}`", span)
    return m.evaluate(decl.body, with_lets(m, inner, decl.lets))


def _key(value: object) -> object:
    """The key of equal arguments; components are compared by identity."""
    if isinstance(value, Ref):
        return (id(value.region), value.index)
    if isinstance(value, EnumValue):
        return (value.enum, _key(value.ref))
    if isinstance(value, TextValue):
        return (value.options, None if value.selector is None else _key(value.selector.ref))
    if isinstance(value, RangeValue):
        return ("..", _key(value.low), _key(value.high))
    if isinstance(value, ListValue) and len(value.items) <= _LONGEST_KEY:
        return tuple([_key(i) for i in value.items])
    if isinstance(value, list | tuple):
        return tuple(i if isinstance(i, str) else _key(i) for i in value)
    return id(value)


def call_evaluator(
    m: PartialEvaluator,
    info: EvaluatorInfo,
    given: Mapping[str, Value],
    spans: Mapping[str, Span],
    span: Span,
) -> Value:
    """The outputs of an evaluator at given params, and whether its rules hold.

    `spans` says where each param is given.
    """
    m.checked.ensure(info)
    key = (info, _key(sorted(given.items(), key=lambda item: item[0])))
    label = f"{info.name}(…)"
    return _once(
        m, key, Thunk(label, span, lambda: called(m, info, given, spans, span), keep=given)
    )
