"""The literals `0`, `inf` and `-inf` take the dimension that their place wants (`Real.generic`)."""

from __future__ import annotations

from collections.abc import Iterable

from hwdsl.base.units import Dim
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import ListType, Real, Type
from hwdsl.semantics.type_errors import short
from hwdsl.semantics.type_relations import dimension, innermost, is_generic, unit_for
from hwdsl.syntax import ast


def settle(state: CheckerState, env: TypeEnv, expr: ast.Expr, wanted: Type) -> None:
    """Note the dimension that the generic numbers of an expression get from their place.

    Types that are joined say only that they fit. The tables must say of each literal what it is:
    elaboration makes a real of a `0` that is a time, and messages show it in a unit.
    """
    dim = dimension(innermost(wanted))
    found = state.checked.types.get(expr)
    if dim is None or dim.is_dimensionless or found is None or not is_generic(found):
        return
    state.checked.types[expr] = _of_dimension(found, dim)
    if isinstance(expr, ast.Number):
        _check_one_zero(state, env, expr, dim)
    for part in _parts(expr):
        settle(state, env, part, wanted)


def _of_dimension(type_: Type, dim: Dim) -> Type:
    if isinstance(type_, ListType):
        return ListType(_of_dimension(type_.element, dim))
    return Real(dim)


def _parts(expr: ast.Expr) -> Iterable[ast.Expr]:
    """The expressions that gave a generic type to the one around them."""
    if isinstance(expr, ast.Unary):
        return (expr.operand,)
    if isinstance(expr, ast.Binary):
        return expr.left, expr.right
    if isinstance(expr, ast.Cond):
        return expr.yes, expr.no
    if isinstance(expr, ast.Match):
        return (arm.value for arm in expr.arms)
    if isinstance(expr, ast.ListLit):
        return expr.items
    if isinstance(expr, ast.Comprehension):
        return (expr.element,)
    if isinstance(expr, ast.Call):  # of one in `VARIADIC`: see `call_builtin`
        return (argument.value for argument in expr.arguments)
    return ()


def _check_one_zero(state: CheckerState, env: TypeEnv, expr: ast.Number, dim: Dim) -> None:
    """Refuse a `0` where a scale has a zero of its own: 0 K is not 0 degC."""
    units = env.scope.visible_units.values()
    scale = next((u for u in units if u.offset and u.dim == dim), None)
    if scale is None:
        return
    state.error(
        "affine-unit",
        f"{short(expr)} needs a unit here, since scales of this dimension have different zeros",
        expr.span,
        help=f"write `0 {unit_for(dim, env.scope)}` or `0 {scale.name}`",
    )
