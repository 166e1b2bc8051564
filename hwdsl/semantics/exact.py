"""Exact reading of decimal numbers, with bounds: no literal keeps the compiler busy."""

from __future__ import annotations

from fractions import Fraction

_DIGITS = frozenset("0123456789")
_LONGEST = 400
_EXPONENT = 400


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
