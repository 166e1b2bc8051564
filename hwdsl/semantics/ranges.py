"""Ranges of fields and params: their ends, and the rules that they state."""

from __future__ import annotations

from hwdsl.semantics.expressions import infer, require
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import ListType, Type
from hwdsl.semantics.type_relations import BOOL, INT, REAL, describe, dimension, is_poison
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import ends, is_infinite


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
    state.checked.types[node] = ListType(type_)
    return given is not None


def type_range_rule(state: CheckerState, env: TypeEnv, rule: ast.Rule) -> None:
    """Type what the rule of a range has besides its ends, which `check_ends` has checked."""
    assert isinstance(rule.condition, ast.Compare)
    for operand in rule.condition.operands:
        if operand.span == rule.name.span:
            infer(state, env, operand)
    state.checked.types[rule.condition] = BOOL
