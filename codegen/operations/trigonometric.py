"""sin and cos of every float64, after Payne and Hanek (1983).

x * 2/pi is formed modulo 4 from a window of the bits of 2/pi that x's exponent selects, as exact
products of half of x with 24-bit pieces; whole multiples of 4 are dropped before adding.
"""

from __future__ import annotations

from typing import Any

from hwdsl.codegen.numerics.backend import Backend, Formula
from hwdsl.codegen.numerics.double_double import (
    Pair,
    fast_two_sum,
    multiply,
    polynomial,
    two_sum,
    veltkamp_split,
)
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import DerivativeRule, slope
from hwdsl.codegen.operations.record import NUMBER, Elementwise, Operation


def _hex(*texts: str) -> tuple[float, ...]:
    return tuple(float.fromhex(t) for t in texts)


# The first 1200 bits of 2/pi in pieces of 24.
_TWO_OVER_PI = bytes.fromhex(
    "a2f983 6e4e44 1529fc 2757d1 f534dd c0db62 95993c 439041 fe5163 abdebb "
    "c561b7 246e3a 424dd2 e00649 2eea09 d1921c fe1deb 1cb129 a73ee8 8235f5 "
    "2ebb44 84e99c 7026b4 5f7e41 3991d6 398353 39f49c 845f8b bdf928 3b1ff8 "
    "97ffde 05980f ef2f11 8b5a0a 6d1f6d 367ecf 27cb09 b74f46 3f669e 5fea2d "
    "7527ba c7ebe5 f17b3d 0739f7 8a5292 ea6bfb 5fb11f 8d5d08 560330 46fc7b"
)
_PIECES = tuple(
    float(int.from_bytes(_TWO_OVER_PI[i : i + 3], "big")) for i in range(0, len(_TWO_OVER_PI), 3)
)
_WINDOW = 9
_HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"))
_SHIFTER = 1.5 * 2.0**52
# (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2
_SIN = _hex(
    "-0x1.5555555555555p-3", "0x1.1111111111110p-7", "-0x1.a01a01a01990ap-13",
    "0x1.71de3a545b148p-19", "-0x1.ae6454093c147p-26", "0x1.61217781a8ccdp-33",
    "-0x1.ab13654fd392ap-41",
)  # fmt: skip
_COS = _hex(
    "0x1.5555555555555p-5", "-0x1.6c16c16c16955p-10", "0x1.a01a019f4a826p-16",
    "-0x1.27e4fa1272706p-22", "0x1.1eeb634b132cdp-29", "-0x1.907999e6897e2p-37",
)  # fmt: skip


def _reduce(m: Backend, x: Any) -> tuple[Any, Pair]:
    """The word of a whole number q, and r in -pi/4 .. pi/4, with x = q pi/2 + r modulo 2 pi."""
    exponent = m.mask(m.right(m.bits(x), 52), 0x7FF)
    e = m.real(m.merge(exponent, 0x4330000000000000)) - (2.0**52 + 1077.0)
    first = m.floor((m.where(e > 0.0, e, 0.0) + 0.5) * (1.0 / 24.0))
    index = m.mask(m.bits(first + 2.0**52), 0xFF)
    scale = m.real(m.left(m.bits((2.0**52 + 1023.0) - 24.0 * first), 52))
    halves = veltkamp_split(m, x * scale)
    high: Any = 0.0
    middle: Any = 0.0
    low: Any = 0.0
    for j in range(_WINDOW):
        piece = m.take("two_over_pi", _PIECES, m.plus(index, j)) * 2.0 ** (-24 * (j + 1))
        for half in halves:
            term = half * piece
            # The products are below 2^(77 - 24 j): later ones have no multiple of 4 to drop.
            if j < 4:
                term = term - 4.0 * m.rint(term * 0.25)
            high, dropped = two_sum(high, term)
            middle, dropped = two_sum(middle, dropped)
            low = low + dropped
    q = m.rint(high)
    high, middle = two_sum(high - q, middle)
    middle, low = fast_two_sum(middle, low)
    high, middle = fast_two_sum(high, middle)
    r, tail = multiply(m, (high, middle + low), _HALF_PI)
    return m.bits(q + _SHIFTER), fast_two_sum(r, tail)


def _quadrant(m: Backend, q: Any, r: Any, tail: Any) -> Any:
    """sin(q pi/2 + r + tail)."""
    z = r * r
    sine = r + (r * z * polynomial(z, _SIN) + (tail - 0.5 * z * tail))
    half = 0.5 * z
    one = 1.0 - half
    cosine = one + (((1.0 - one) - half) + (z * z * polynomial(z, _COS) - r * tail))
    result = m.where(m.same(m.mask(q, 1), 1), cosine, sine)
    return m.where(m.same(m.mask(q, 2), 2), -result, result)


def sin(m: Backend, x: Any) -> Any:
    """The sine of x radians."""
    # Of a small x the sine is x to the bit, and -0 stays -0.
    q, (r, tail) = _reduce(m, x)
    return m.where(abs(x) < 2.0**-27, x, _quadrant(m, q, r, tail))


def cos(m: Backend, x: Any) -> Any:
    """The cosine of x radians."""
    q, (r, tail) = _reduce(m, x)
    return _quadrant(m, m.plus(q, 1), r, tail)


def _periodic(code: str, formula: Formula, derivative: DerivativeRule) -> Operation:
    return Operation(
        code=code,
        arity=1,
        type=NUMBER,
        compute=Elementwise(formula),
        interval=intervals.anything,
        derivative=derivative,
        cost=30,
        heavy=True,
    )


RECORDS = (
    _periodic("sin", sin, slope(lambda b, x, y: b.op("cos", x))),
    _periodic("cos", cos, slope(lambda b, x, y: b.op("neg", b.op("sin", x)))),
)
"""Sine and cosine."""
