"""Exact reading of literals, with bounds: no literal keeps the compiler busy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from hwdsl.base.units import Unit
from hwdsl.syntax import ast

_DIGITS = frozenset("0123456789")
_LONGEST = 400
_EXPONENT = 400


@lru_cache(maxsize=8192)
def exact(text: str) -> Fraction | None:
    """The number a decimal literal (`-1_000.5e3`) denotes; None if it is none or out of bounds."""
    text = text.strip().replace("_", "")
    if not text or len(text) > _LONGEST:
        return None
    mantissa, marker, exponent = text.lower().partition("e")
    if marker and not _is_integer(exponent):
        return None
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    if len(mantissa) - len(mantissa.lstrip("+-")) > 1 or not whole + fraction:
        return None
    if not set(whole + fraction) <= _DIGITS or (marker and abs(int(exponent)) > _EXPONENT):
        return None
    value = Fraction(int(whole + fraction), 10 ** len(fraction))
    value *= Fraction(10) ** (int(exponent) if marker else 0)
    return -value if mantissa.startswith("-") else value


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return bool(digits) and set(digits) <= _DIGITS


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
