"""What is said where types do not fit: both sides, and what to do about it."""

from __future__ import annotations

from fractions import Fraction

from hwdsl.base.source import Span
from hwdsl.base.units import Dim
from hwdsl.semantics.declared_units import completed_unit, declared_units
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import Int, ModuleScope, Real, Type
from hwdsl.semantics.type_relations import (
    POISON,
    describe,
    dim_name,
    dimension,
    is_poison,
    over,
    units_to_write,
)
from hwdsl.syntax import ast
from hwdsl.syntax.grammar import is_number
from hwdsl.syntax.print_expr import unit_text


def mismatch(
    state: CheckerState,
    env: TypeEnv,
    expr: ast.Expr,
    actual: Type,
    expected: Type,
    what: str,
    declared: Span | None = None,
) -> None:
    """Report a value of the wrong type, naming both sides."""
    have, want = describe(actual, env.scope, expr), describe(expected, env.scope)
    actual_dim, expected_dim = dimension(actual), dimension(expected)
    name, help = "type-mismatch", None
    if isinstance(expected, Int) and isinstance(actual, Real) and actual.dim.is_dimensionless:
        name, help = "int-from-real", _int_help(expr)
    elif actual_dim is not None and expected_dim is not None:
        name, help = (
            "unit-mismatch",
            _unit_help(state, env, expr, actual_dim, expected_dim, declared),
        )
    elif isinstance(expected, Real | Int):
        name, help = "not-a-number", quoted_help(expr)
    others = [(declared, f"{what} is declared here: {want}")] if declared is not None else []
    message = f"{what} must be {want}, not {have}"
    state.error(name, message, expr.span, f"this is {have}", others=others, help=help)


def unfit(
    state: CheckerState,
    env: TypeEnv,
    expr: ast.Expr,
    type_: Type,
    needs: str,
    *,
    name: str = "type-mismatch",
    help: str | None = None,
) -> Type:
    """Report a value that its place cannot take, unless it is in error itself.

    `needs` says what the place takes, where that is no single type as in `mismatch`.
    """
    if is_poison(type_):
        return POISON
    have = describe(type_, env.scope, expr)
    return state.error(name, f"{needs}, not {have}", expr.span, f"this is {have}", help=help)


def labels(env: TypeEnv, *values: tuple[ast.Expr, Type]) -> list[tuple[Span, str]]:
    """Where values stand, with what each is."""
    return [(expr.span, f"this is {describe(type_, env.scope, expr)}") for expr, type_ in values]


def quoted_help(expr: ast.Expr) -> str | None:
    """What to do about a number in quotes."""
    inside = expr.span.text[1:-1].strip() if isinstance(expr, ast.Text) else ""
    return f"take away the quotes: `{inside}`" if is_number(inside) else None


def _int_help(expr: ast.Expr) -> str:
    value = Fraction(expr.text.replace("_", "")) if isinstance(expr, ast.Number) else None
    if value is not None and value.denominator == 1 and value < 2**53:
        return f"an int is written in digits alone: `{value}`"
    return "use `whole(x)`, `floor(x)`, `ceil(x)` or `round(x)`"


def _unit_help(
    state: CheckerState, env: TypeEnv, expr: ast.Expr, have: Dim, need: Dim, declared: Span | None
) -> str:
    scope = env.scope
    literal = isinstance(expr, ast.Quantity | ast.Number)
    if need.is_dimensionless and literal:
        return "leave the unit out"
    written = expr.unit if isinstance(expr, ast.Quantity) else None
    own = declared_units(state, declared, need, scope) if literal and declared is not None else []
    whole = None if written is None else completed_unit(written, own, need, scope)
    if whole is not None and isinstance(expr, ast.Quantity):
        return f"write `{expr.text} {whole}`"
    units = [unit_text(unit) for unit in own] or units_to_write(need, scope, written)
    if not units or not literal:
        return f"multiply by something of dimension {dim_name(over(need, have), scope)}"
    *more, last = [f"`{u}`" for u in units]
    listed = f"{', '.join(more)} or {last}" if more else last
    return f"write a unit of {dim_name(need, scope)}: {listed}"


def cannot(state: CheckerState, env: TypeEnv, node: ast.Binary, left: Type, right: Type) -> Type:
    """Report quantities of different dimensions that are added or subtracted."""
    a, b = short(node.left), short(node.right)
    return state.error(
        "unit-mismatch",
        f"cannot add {a} and {b}" if node.op == "+" else f"cannot subtract {b} from {a}",
        node.op_span,
        "both sides must have the same dimension",
        others=labels(env, (node.left, left), (node.right, right)),
        help=bare_number_help(env, (node.left, left), (node.right, right))
        or _factor_help(node, left, right, env.scope),
    )


def bare_number_help(
    env: TypeEnv, left: tuple[ast.Expr, Type], right: tuple[ast.Expr, Type]
) -> str | None:
    """What to do where a bare number stands beside a quantity."""
    for (side, _), (other, type_) in ((left, right), (right, left)):
        if isinstance(side, ast.Number):
            want = describe(type_, env.scope, other)
            return f"give `{side.text}` its unit, so that it is {want}"
    return None


def _factor_help(node: ast.Binary, left: Type, right: Type, scope: ModuleScope) -> str | None:
    """What to do where one side lacks a single factor, as `USD` beside `USD/unit`."""
    a, b = dimension(left), dimension(right)
    if a is None or b is None:
        return None
    for much, little, ratio in (
        (node.left, node.right, over(a, b)),
        (node.right, node.left, over(b, a)),
    ):
        if len(ratio.powers) == 1 and ratio.powers[0][1] == 1:
            unit = describe(Real(ratio), scope)
            return (
                f"multiply {short(little)} by something of dimension {unit}, "
                f"or divide {short(much)} by it"
            )
    return None


def short(expr: ast.Expr) -> str:
    """How a message quotes an expression."""
    text = " ".join(expr.span.text.split())
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}…`"


def shown_help(dim: Dim, scope: ModuleScope) -> str | None:
    """What to write behind `in` for a quantity of a dimension."""
    units = units_to_write(dim, scope)
    return f"write `in {units[0]}`, or change the value" if units else None
