"""Exact reading of literals, with bounds: no literal keeps the compiler busy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from hwdsl.base.units import Unit
from hwdsl.syntax import ast

_DECIMAL = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*(?:[eE]([+-]?[0-9]+))?")
# Every float64 that is written out has fewer digits and a smaller exponent. Without bounds,
# `1e999999999` would be a rational of a billion digits.
_LONGEST = 400
_EXPONENT = 400


@lru_cache(maxsize=8192)
def exact(text: str) -> Fraction | None:
    """The number a decimal literal (`-1_000.5e3`) denotes; None if it is none or out of bounds."""
    plain = text.strip().replace("_", "")
    found = _DECIMAL.fullmatch(plain) if len(plain) <= _LONGEST else None
    if found is None or abs(int(found[1] or 0)) > _EXPONENT:
        return None
    return Fraction(plain)


def reading(expr: ast.Expr, units: Mapping[ast.UnitExpr, Unit]) -> float | None:
    """The value, in base units, of a literal such as `-5 degC`, of a scale with a zero of its own.

    The sign belongs to the number that is read. None for every other expression.
    """
    signed = isinstance(expr, ast.Unary) and expr.op in ("+", "-")
    literal = expr.operand if isinstance(expr, ast.Unary) else expr
    if not isinstance(literal, ast.Quantity) or (literal is not expr and not signed):
        return None
    unit, value = units.get(literal.unit), exact(literal.text)
    if unit is None or not unit.offset or value is None:
        return None
    try:
        return unit.to_base(-value if isinstance(expr, ast.Unary) and expr.op == "-" else value)
    except OverflowError:
        return None  # `number-too-large` has been said.
