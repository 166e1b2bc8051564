"""What tells the terms of a sum apart that are written alike: `time_of(o, on)` for each `o`.

Input: formulas of one text, each where its variables have values of their own. Output: for each a
text of the few values that differ, such as `rows = 4,096, engine = vector`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from hwdsl.codegen.ir import Ref
from hwdsl.elaborate.quantities import quantity_text
from hwdsl.elaborate.records import member
from hwdsl.elaborate.values import EnumValue, Failure, Record, TextValue, Value
from hwdsl.recorder import Formula, Recorder, operands
from hwdsl.semantics.types import Real, Type
from hwdsl.source import Span
from hwdsl.syntax import ast
from hwdsl.units import ONE

FEW = 3
"""So many values are named at most."""


def differences(m: Recorder, alike: Sequence[Formula]) -> list[str]:
    """What differs between formulas of one text: a word, then the numbers that tell most."""
    rows = [dict(_values(m, formula)) for formula in alike]
    labels = [k for k in rows[0] if all(k in row for row in rows)]
    words = [k for k in labels if all(row[k][0].isalpha() for row in rows)]
    chosen: list[str] = []
    for among in (words, *([labels] * FEW)):
        best = max(([*chosen, k] for k in among), key=lambda c: _told(rows, c), default=chosen)
        if len(best) <= FEW and _told(rows, best) > _told(rows, chosen):
            chosen = best
    return [", ".join(f"{k} = {row[k]}" for k in chosen) for row in rows]


def _told(rows: Sequence[Mapping[str, str]], labels: Sequence[str]) -> int:
    """How many of the rows some columns tell apart."""
    return len({tuple(row[k] for k in labels) for row in rows})


def _values(m: Recorder, formula: Formula) -> Iterator[tuple[str, str]]:
    """The variables that a formula reads, and the fields of those that are components."""
    for name in dict.fromkeys(_names(formula.expr)):
        frame = formula.env.frame
        value = None if frame is None else frame.lookup(name.name)
        if isinstance(value, Record):
            yield from _fields(m, value, name.span)
        elif isinstance(value, Ref | EnumValue | TextValue):
            text = _text(m, value, m.checked.types.get(name))
            if text:
                yield name.name, text


def _names(expr: ast.Expr) -> Iterator[ast.Name]:
    if isinstance(expr, ast.Name):
        yield expr
    elif isinstance(expr, ast.Attr):
        yield from _names(expr.base)
    for inner in operands(expr):
        yield from _names(inner)


def _fields(m: Recorder, of: Record, span: Span) -> Iterator[tuple[str, str]]:
    for kind in reversed(list(of.kind.lineage())):
        for info in kind.members.values():
            if info.role != "field":
                continue
            try:
                value, _ = m.collect(partial(member, m, of, info.name, span))
            except Failure:
                continue
            text = _text(m, value, info.type)
            if text:
                yield info.name, text


def _text(m: Recorder, value: Value, type_: Type | None) -> str:
    """A number, case or text in words; empty for anything else."""
    if isinstance(value, EnumValue):
        return value.enum.cases[int(m.float_of(value))]
    if isinstance(value, TextValue):
        return value.options[0]
    if not isinstance(value, Ref):
        return ""
    number = m.float_of(value)
    if value.type == "bool":
        return "true" if number else "false"
    dim = type_.dim if isinstance(type_, Real) else ONE
    return quantity_text(number, dim, m.checked.main)
