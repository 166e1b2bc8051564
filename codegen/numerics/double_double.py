"""Sums and products that keep what rounding drops: (high, low) pairs of numbers.

After Dekker (1971) and Knuth. Without a fused multiply-add a product is made exact by cutting its
factors to 26 and 27 bits, which a bit mask does without a multiplication that may overflow.
"""

from __future__ import annotations

from typing import Any

from hwdsl.codegen.numerics.backend import Backend

_HIGH = 0xFFFFFFFFF8000000

Pair = tuple[Any, Any]


def fast_two_sum(a: Any, b: Any) -> Pair:
    """a + b and its rounding error, for |a| >= |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


def two_sum(a: Any, b: Any) -> Pair:
    """a + b and its rounding error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def veltkamp_split(m: Backend, a: Any) -> Pair:
    """A number as one of 26 bits plus one of 27."""
    high = m.real(m.mask(m.bits(a), _HIGH))
    return high, a - high


def two_product(m: Backend, a: Any, b: Any) -> Pair:
    """a * b and its rounding error."""
    p = a * b
    ah, al = veltkamp_split(m, a)
    bh, bl = veltkamp_split(m, b)
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


def multiply(m: Backend, a: Pair, b: Pair) -> Pair:
    """The product of two pairs, to about 2^-102."""
    p, e = two_product(m, a[0], b[0])
    return p, e + (a[0] * b[1] + a[1] * b[0])


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """A polynomial by Horner's rule, lowest coefficient first."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def power_of_two(m: Backend, k: Any) -> Any:
    """2^k for a whole number k in -1022 .. 1023."""
    # Adding 2^52 + 1023 leaves the biased exponent in the lowest bits.
    return m.real(m.left(m.bits(k + (2.0**52 + 1023.0)), 52))
