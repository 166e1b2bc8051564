"""The units that a declaration gives its own values in, for the help where a literal lacks them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hwdsl.base.source import Span
from hwdsl.base.units import ONE, Dim, product_text
from hwdsl.semantics.state import CheckerState
from hwdsl.semantics.symbols import ModuleScope
from hwdsl.semantics.type_relations import over
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

_Declaration = ast.Field | ast.Param | ast.Parameter | ast.Let
_DECLARATIONS = (ast.Field, ast.Param, ast.Parameter, ast.Let)


def declared_units(
    state: CheckerState, declared: Span, dim: Dim, scope: ModuleScope
) -> list[ast.UnitExpr]:
    """The units of a dimension that a declaration, by the place of its name or type, is written in.

    Those that messages of rules show its values in come first, as they are chosen for readers; then
    those of its default and range. Only those that `scope` sees are given.
    """
    found: dict[str, ast.UnitExpr] = {}
    for module in state.checked.modules.values():
        if module.tree.source is declared.source:
            for unit in _units(module.tree.items, declared):
                if _dim(unit, scope) == dim:
                    found.setdefault(product_text(_factors(unit)), unit)
    return list(found.values())


def completed_unit(
    written: ast.UnitExpr, units: list[ast.UnitExpr], dim: Dim, scope: ModuleScope
) -> str | None:
    """A unit of a dimension: the written one with factors of one of `units`, as `%` and `year^-1`
    give `%/year`."""
    have = _dim(written, scope)
    if have is None:
        return None
    for unit in units:
        for size in range(1, len(unit.factors) + 1):
            for some in combinations(unit.factors, size):
                if _dim(ast.UnitExpr(unit.span, some), scope) == over(dim, have):
                    return product_text([*_factors(written), *((f.name, f.power) for f in some)])
    return None


def _units(items: tuple[ast.Item, ...], declared: Span) -> Iterator[ast.UnitExpr]:
    for item in items:
        if not item.span.start <= declared.start < item.span.end:
            continue
        for node in _below(item):
            if isinstance(node, _DECLARATIONS) and _declares(node, declared):
                shown = (h for h in _below(item) if isinstance(h, ast.Hole) and h.unit is not None)
                for hole in shown:
                    if isinstance(hole.value, ast.Name) and hole.value.name == node.name.name:
                        assert hole.unit is not None
                        yield hole.unit
                yield from (q.unit for q in _below(node) if isinstance(q, ast.Quantity))


def _declares(node: _Declaration, declared: Span) -> bool:
    return node.name.span == declared or (node.type is not None and node.type.span == declared)


def _below(node: ast.Node) -> Iterator[ast.Node]:
    yield node
    for child in children(node):
        yield from _below(child)


def _factors(unit: ast.UnitExpr) -> list[tuple[str, int]]:
    return [(factor.name, factor.power) for factor in unit.factors]


def _dim(unit: ast.UnitExpr, scope: ModuleScope) -> Dim | None:
    """The dimension of a unit; None where a name in it is not seen."""
    found = ONE
    for factor in unit.factors:
        known = scope.visible_units.get(factor.name)
        if known is None:
            return None
        found = found * known.dim**factor.power
    return found
