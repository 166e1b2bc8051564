"""The operations that IEEE 754 defines, and those made of comparisons."""

from __future__ import annotations

from typing import Any

from hwdsl.codegen.numerics.backend import Backend


def neg(m: Backend, x: Any) -> Any:
    """-x."""
    return -x


def abs_(m: Backend, x: Any) -> Any:
    """|x|."""
    return abs(x)


def sqrt(m: Backend, x: Any) -> Any:
    """The square root; NaN below zero."""
    return m.sqrt(x)


def floor(m: Backend, x: Any) -> Any:
    """The greatest whole number not above x."""
    return m.floor(x)


def ceil(m: Backend, x: Any) -> Any:
    """The least whole number not below x."""
    return m.ceil(x)


def round_(m: Backend, x: Any) -> Any:
    """The nearest whole number, half to even."""
    return m.rint(x)


def not_(m: Backend, x: Any) -> Any:
    """1 where x is 0, else 0."""
    return m.where(x == 0.0, 1.0, 0.0)


def add(m: Backend, a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


def sub(m: Backend, a: Any, b: Any) -> Any:
    """a - b."""
    return a - b


def mul(m: Backend, a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


def div(m: Backend, a: Any, b: Any) -> Any:
    """a / b."""
    return m.div(a, b)


def min_(m: Backend, a: Any, b: Any) -> Any:
    """The lesser; NaN if either is NaN; b if they are equal."""
    return m.where((a < b) | (a != a), a, b)


def max_(m: Backend, a: Any, b: Any) -> Any:
    """The greater; NaN if either is NaN; b if they are equal."""
    return m.where((a > b) | (a != a), a, b)


def floordiv(m: Backend, a: Any, b: Any) -> Any:
    """floor(a / b) of ints.

    Rounding cannot carry the quotient of two ints below 2^53 up to a whole number: it is at least
    1/|b| away from one, which is more than half a unit in the last place.
    """
    return m.where(b == 0.0, float("nan"), m.floor(m.div(a, b)))


def ceildiv(m: Backend, a: Any, b: Any) -> Any:
    """ceil(a / b) of ints; exact for the reason `floordiv` is."""
    return m.where(b == 0.0, float("nan"), m.ceil(m.div(a, b)))


def lt(m: Backend, a: Any, b: Any) -> Any:
    """1 where a < b."""
    return m.where(a < b, 1.0, 0.0)


def le(m: Backend, a: Any, b: Any) -> Any:
    """1 where a <= b."""
    return m.where(a <= b, 1.0, 0.0)


def eq(m: Backend, a: Any, b: Any) -> Any:
    """1 where a == b."""
    return m.where(a == b, 1.0, 0.0)


def ne(m: Backend, a: Any, b: Any) -> Any:
    """1 where a != b, NaN included."""
    return m.where(a != b, 1.0, 0.0)


def and_(m: Backend, a: Any, b: Any) -> Any:
    """1 where neither is 0."""
    return m.where((a != 0.0) & (b != 0.0), 1.0, 0.0)


def or_(m: Backend, a: Any, b: Any) -> Any:
    """1 where one is not 0."""
    return m.where((a != 0.0) | (b != 0.0), 1.0, 0.0)


def select(m: Backend, c: Any, a: Any, b: Any) -> Any:
    """A where c is not 0, else b."""
    return m.where(c != 0.0, a, b)
