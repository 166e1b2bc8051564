"""Messages of rules, their holes filled in with values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hwdsl.base.units import Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate import records
from hwdsl.elaborate.elaboration_info import UNKNOWN, LoweredHole
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.quantities import dim_of, least_size, suited_unit
from hwdsl.elaborate.select_lowering import text_index
from hwdsl.elaborate.valuation import broken_round
from hwdsl.elaborate.values import (
    Assertion,
    Component,
    ElaborationError,
    EnumValue,
    Env,
    ListValue,
    MessageText,
    RangeValue,
    Record,
    SelectRecord,
    TextValue,
    UnknownValue,
    Value,
)
from hwdsl.semantics.symbols import BoolType, EnclosingRecord, ListType, MemberOf, Type
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import WORDS

NO_ITEM = "none"
"""What stands for an empty list, so that no text ends in nothing."""

Numbers = Callable[[Sequence[Ref]], Sequence[float | None]]
"""Gives the values of numbers of the graph; None for those that are not known."""


def render(m: PartialEvaluator, text: MessageText, numbers: Numbers) -> str:
    """The message; `numbers` gives the values of numbers of the graph."""
    return "".join(parts(m, text, numbers))


def parts(m: PartialEvaluator, text: MessageText, numbers: Numbers) -> list[str]:
    """The pieces of a message: its texts and, in their places, its values."""
    return [
        piece if isinstance(piece, str) else piece.text(numbers([piece.ref])[0])
        for piece in pieces(m, text)
    ]


def suited(hole: LoweredHole) -> list[tuple[float, Unit]]:
    """The units of a number, each with the least size in base units that is shown in it."""
    if hole.unit is not None and hole.unit.dim == hole.dim:
        return [(0.0, hole.unit)]
    if hole.scope is None or hole.dim.is_dimensionless:
        return []
    bases = {base for base, _ in hole.dim.powers}
    units = [u for u in hole.scope.visible_units.values() if {b for b, _ in u.dim.powers} <= bases]
    # The unit can change at these sizes only. A unit occurs in powers up to that of a volume.
    sizes = {least_size(u, n) for u in units for n in (1, 2, 3)}
    found: list[tuple[float, Unit]] = []
    for size in (0.0, *sorted(sizes)):
        # In place of 0 the least positive number: 0 itself would be shown like 1.
        unit = suited_unit(size or 5e-324, hole.dim, hole.scope)
        if not found or found[-1][1] != unit:
            found.append((size, unit))
    return found


def pieces(m: PartialEvaluator, text: MessageText) -> list[str | LoweredHole]:
    """A message in pieces: its texts and the places of its values."""
    found: list[str | LoweredHole] = []
    for part in text.template.parts:
        if isinstance(part, str):
            found.append(part)
            continue
        try:
            value, assertions = m.collect(partial(m.evaluate, part.value, text.env))
            known = m.where_known(assertions)[1]
        except ElaborationError as failure:  # said where the value is needed
            found.append("unknown" if isinstance(failure, UnknownValue) else UNKNOWN)
            continue
        if known.known is None:  # a choice decides whether there is a value
            found.append(UNKNOWN)
            continue
        unit = m.checked.units.get(part.unit) if part.unit is not None else None
        unit = unit or unit_hint(m, part.value, text.env)
        type_ = m.checked.types.get(part.value)
        found.extend(_shown(m, value, type_, unit, text.env))
    return found


def at_point(m: PartialEvaluator, point: Sequence[float]) -> Callable[[Sequence[Ref]], list[float]]:
    """The values of numbers at a point: values of all params, in the graph's order."""

    def numbers(refs: Sequence[Ref]) -> list[float]:
        names = [f"{i}" for i in range(len(refs))]
        graph = m.builder.finish(list(zip(names, refs, strict=True)))
        # Only a message that is printed needs numbers, and NumPy with them.
        from hwdsl.codegen.ir.interpreter import interpret

        results = interpret(graph, [float(x) for x in point])
        return [float(results.outputs[n]) for n in names]

    return numbers


def said(m: PartialEvaluator, rule: Assertion, point: Sequence[float] = ()) -> str:
    """The message of a rule that is broken at a point, or known to be."""
    if rule.rounds:
        numbers, where = broken_round(m.builder, rule, point)
        return render(m, rule.text, numbers) + where
    return render(m, rule.text, at_point(m, point) if rule.holds.known is None else known_only)


def known_only(refs: Sequence[Ref]) -> Sequence[float | None]:
    """The values of numbers that are known."""
    return [ref.known for ref in refs]


def _shown(
    m: PartialEvaluator, value: Value, type_: Type | None, unit: Unit | None, env: Env
) -> list[str | LoweredHole]:
    if isinstance(value, TextValue):
        if value.selector is None:
            return [value.options[0]]
        return [LoweredHole(text_index(m, value.selector), labels=tuple(value.options))]
    if isinstance(value, EnumValue):
        return [LoweredHole(value.ref, labels=tuple(value.enum.cases))]
    if isinstance(value, Ref):
        truth = isinstance(type_, BoolType)
        return [LoweredHole(value, (), truth, dim_of(type_), unit, env.scope)]
    if isinstance(value, ListValue):
        inner = type_.element if isinstance(type_, ListType) else None
        found: list[str | LoweredHole] = []
        for item in value.items:
            found += [", "] if found else []
            found += _shown(m, item, inner, unit, env)
        return found or [NO_ITEM]
    if isinstance(value, RangeValue):
        return [LoweredHole(value.low), " .. ", LoweredHole(value.high)]
    return [value.name if isinstance(value, Record | SelectRecord) else value.what]


def unit_hint(m: PartialEvaluator, expr: ast.Expr, env: Env) -> Unit | None:
    """The unit in which a field's value is written where it is defined."""
    if isinstance(expr, ast.Name):
        meaning = m.checked.resolutions.get(expr)
        if isinstance(meaning, MemberOf):
            return unit_of(m, env.records[meaning.level], meaning.name)
    elif isinstance(expr, ast.Attr):
        base = _component(m, expr.base, env)
        if base is not None:
            return unit_of(m, base, expr.name.name)
    return None


def _component(m: PartialEvaluator, expr: ast.Expr, env: Env) -> Component | None:
    if (
        isinstance(expr, ast.Name)
        and isinstance(m.checked.resolutions.get(expr), EnclosingRecord | MemberOf)
    ) or isinstance(expr, ast.Attr):
        value = m.evaluate(expr, env)
    else:
        return None
    return value if isinstance(value, Record | SelectRecord) else None


def unit_of(m: PartialEvaluator, component: Component, name: str) -> Unit | None:
    """The unit in which a component's field is written where it gets its value."""
    while isinstance(component, SelectRecord):
        component = component.alternatives[0]
    found = records.find_definition(m, component, name)
    return None if found is None else literal_unit(m, found.node)


def literal_unit(m: PartialEvaluator, node: ast.Node) -> Unit | None:
    """The unit of a literal, also behind a sign or at the ends of a range."""
    if isinstance(node, ast.Quantity):
        return m.checked.units.get(node.unit)
    if isinstance(node, ast.Unary):
        return literal_unit(m, node.operand)
    if isinstance(node, ast.Binary) and node.op in (*WORDS, "+", "-"):
        return literal_unit(m, node.right) or literal_unit(m, node.left)
    if isinstance(node, ast.ListLit):
        return next((u for u in (literal_unit(m, e) for e in node.items) if u), None)
    return None
