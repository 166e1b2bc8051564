"""Ranges of fields and params: their ends, and the rules that they state."""

from __future__ import annotations

import math

from hwdsl.base.units import ONE, Unit
from hwdsl.semantics.expressions import infer, require
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import ListType, Type
from hwdsl.semantics.type_relations import BOOL, INT, REAL, describe, dimension, is_poison
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import ends, is_infinite, no_value


def check_field_range(
    state: CheckerState, env: TypeEnv, node: ast.Field, type_: Type, rule: ast.Rule | None
) -> None:
    """Check `in low .. high` of a field, and type the rule that it states."""
    if node.range is None:
        return
    name = f"`{node.name.name}`"
    if dimension(type_) is None and not is_poison(type_):
        message = f"only a number has a range, and {name} is {describe(type_, env.scope)}"
        state.error("not-a-number", message, node.range.span, help="write a rule: `require`")
    elif ends(node.range) is None:
        help = "of a few values make an enum, or write a rule: `require`"
        message = f"the range of {name} is written `low .. high`"
        state.error("type-mismatch", message, node.range.span, help=help)
    else:
        check_ends(state, env, node.range, type_, f"the range of {name}")
        # A rule that a text states under the same name is reported where both are entered.
        if rule is not None and rule.name is node.name:
            type_range_rule(state, env, rule)


def check_ends(state: CheckerState, env: TypeEnv, node: ast.Expr, type_: Type, what: str) -> bool:
    """Check the ends of `low .. high`, either of them excluded or not; False if it is none."""
    given = ends(node)
    for end in given or ():
        # `inf` is no int, but bounds ints too.
        wanted = REAL if is_infinite(end) and type_ == INT else type_
        require(state, env, end, wanted, what)
    check_order(state, node, what)
    state.checked.types[node] = ListType(type_)
    return given is not None


def check_order(state: CheckerState, node: ast.Expr, what: str) -> None:
    """Report a range in which no value lies, if its ends are literals."""
    low, high = (_literal(state, end) for end in ends(node) or (node, node))
    if ends(node) is None or low is None or high is None:
        return
    found = no_value(node, low, high)
    if found is not None:
        state.error("empty-choice", f"{what} {found[0]}", node.span, help=found[1])


def _literal(state: CheckerState, end: ast.Expr) -> float | None:
    """The value of an end in base units; None if it is no literal, or in error."""
    sign, bare = 1, end
    if isinstance(end, ast.Unary) and end.op in ("+", "-"):
        sign, bare = -1 if end.op == "-" else 1, end.operand
    if is_infinite(bare):
        return sign * math.inf
    value = exact(bare.text) if isinstance(bare, ast.Number | ast.Quantity) else None
    unit = state.checked.units.get(bare.unit) if isinstance(bare, ast.Quantity) else Unit("1", ONE)
    if value is None or unit is None:
        return None
    try:
        return unit.to_base(sign * value)
    except OverflowError:
        return None  # `number-too-large` has been said.


def type_range_rule(state: CheckerState, env: TypeEnv, rule: ast.Rule) -> None:
    """Type what the rule of a range has besides its ends, which `check_ends` has checked."""
    assert isinstance(rule.condition, ast.Compare)
    for operand in rule.condition.operands:
        if operand.span == rule.name.span:
            infer(state, env, operand)
    state.checked.types[rule.condition] = BOOL
