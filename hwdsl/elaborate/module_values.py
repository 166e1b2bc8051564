"""The values of module-level names: components, lets, coefficients, tables, the cases of enums."""

from __future__ import annotations

from functools import partial

from hwdsl.codegen.ir.graph import INT
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.records import component
from hwdsl.elaborate.values import EnumValue, Env, ListValue, ResultValue, TextValue, Thunk, Value
from hwdsl.semantics.symbols import ComponentInfo, EnumInfo, Int, Symbol, TableInfo, ValueInfo
from hwdsl.syntax import ast


def symbol_value(m: PartialEvaluator, symbol: Symbol) -> Value:
    """The value of a module-level name."""
    if isinstance(symbol, ComponentInfo):
        return component(m, symbol)
    if isinstance(symbol, EnumInfo):
        cases = tuple(EnumValue(symbol, m.const(i, INT)) for i in range(len(symbol.cases)))
        return ListValue(cases, symbol.cases)
    found = m.symbols.get(symbol)
    if found is None:
        if isinstance(symbol, ValueInfo):
            found = _module_value(m, symbol)
        elif isinstance(symbol, TableInfo):
            found = _table(m, symbol)
        else:
            raise TypeError(f"the checker let {symbol!r} pass as a value")
        m.symbols[symbol] = found
    return m.read(found)


def _module_value(m: PartialEvaluator, symbol: ValueInfo) -> Value | Thunk:
    m.checked.ensure(symbol)
    decl = symbol.decl
    env = Env(symbol.scope)
    if isinstance(decl, ast.Calibrated):
        if symbol.name in m.overrides:
            return m.const(m.overrides[symbol.name])
        if symbol.name in m.free:
            taken = any(p.name == symbol.name for p in m.builder.params)
            name = f"{symbol.scope.name}.{symbol.name}" if taken else symbol.name
            m.free_params[name] = symbol
            return m.builder.param(name)
    work = partial(m.evaluate, decl.value, env)
    return Thunk(symbol.name, decl.name.span, work, statement=decl)


def _table(m: PartialEvaluator, symbol: TableInfo) -> ResultValue:
    columns: dict[str, Value | Thunk] = {}
    for name, (type_, values) in symbol.columns.items():
        kind = INT if isinstance(type_, Int) else "real"
        columns[name] = ListValue(
            tuple(TextValue((v,)) if isinstance(v, str) else m.const(v, kind) for v in values)
        )
    return ResultValue(f"table {symbol.name}", columns)
