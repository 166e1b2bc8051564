"""exp, expm1, log, log2, log10, log1p and pow, to less than one unit in the last place.

exp: x = k ln 2 + r with |r| <= ln 2 / 2, and exp(r) = 1 + r + r^2 P(r). log: x = 2^e m with m
between sqrt(1/2) and sqrt(2), s = (m - 1) / (m + 1), and log m = 2 atanh s. pow is exp(b log a)
with the logarithm and the product in pairs. So are log2 and log10, which makes them whole where
they should be. The polynomials interpolate the remainders of the
series at Chebyshev nodes; their errors are below 2^-58 of the remainder.
"""

from __future__ import annotations

import math
from typing import Any

from hwdsl.codegen.numerics.backend import SCALARS, Backend, Formula
from hwdsl.codegen.numerics.double_double import (
    Pair,
    fast_two_sum,
    multiply,
    polynomial,
    power_of_two,
    two_product,
    two_sum,
)
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import DerivativeRule, slope, slope_of_inverse
from hwdsl.codegen.operations.intervals import ANY, Range
from hwdsl.codegen.operations.record import NUMBER, POWER, Elementwise, Operation


def _hex(*texts: str) -> tuple[float, ...]:
    return tuple(float.fromhex(t) for t in texts)


INF, NAN = math.inf, math.nan
_LOG2E = float.fromhex("0x1.71547652b82fep+0")
_LOG2E_PAIR = (_LOG2E, float.fromhex("0x1.777d0ffda0d24p-56"))
_LOG10E_PAIR = (
    float.fromhex("0x1.bcb7b1526e50ep-2"),
    float.fromhex("0x1.95355baaafad3p-57"),
)
# ln 2 in pieces of 32, 32 and 53 bits, so that k times the first two is exact; then 42 and 53.
_LN2 = _hex("0x1.62e42fee00000p-1", "0x1.a39ef35600000p-33", "0x1.93c7673007e5fp-65")
_LN2_HIGH, _LN2_LOW = _hex("0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45")
# Added and taken away again it rounds to a whole number, half to even, of either sign.
_SHIFTER = 1.5 * 2.0**52
# (exp(r) - 1 - r) / r^2
_EXP = _hex(
    "0x1.0000000000000p-1", "0x1.5555555555557p-3", "0x1.5555555555556p-5",
    "0x1.1111111110085p-7", "0x1.6c16c16c162a3p-10", "0x1.a01a01ac16f76p-13",
    "0x1.a01a01a6f35fbp-16", "0x1.71de019d031e7p-19", "0x1.27e4db0f8a3efp-22",
    "0x1.af4f1ddf981a8p-26", "0x1.1f73b376c0f55p-29",
)  # fmt: skip
# (2 atanh(s) - 2 s) / s^3, in s^2
_LOG = _hex(
    "0x1.5555555555555p-1", "0x1.9999999999a3ap-2", "0x1.249249247670ap-2",
    "0x1.c71c7201fc0e6p-3", "0x1.745cf8c09a9d4p-3", "0x1.3b1c43c68eb6dp-3",
    "0x1.0fbd140544b63p-3", "0x1.0c135adcf3011p-3",
)  # fmt: skip
# (atanh(s) - s - s^3 / 3 - s^5 / 5) / s^7, in s^2
_LOG_TAIL = _hex(
    "0x1.2492492492492p-3", "0x1.c71c71c71c826p-4", "0x1.745d1745a35dap-4",
    "0x1.3b13b16bcc1e0p-4", "0x1.1110f7cfa8391p-4", "0x1.e1f0117f00937p-5",
    "0x1.acf5e3af89763p-5", "0x1.b2f9ac5d7e1e8p-5",
)  # fmt: skip
_THIRD = _hex("0x1.5555555555555p-2", "0x1.5555555555555p-56")
_FIFTH = _hex("0x1.999999999999ap-3", "-0x1.999999999999ap-57")
_ONE = 0x3FF0000000000000
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)


def _clamp(m: Backend, x: Any, low: float, high: float) -> Any:
    x = m.where(x < low, low, x)
    return m.where(x > high, high, x)


def _reduce(m: Backend, x: Any, low: Any) -> tuple[Any, Pair]:
    """k and r, a pair, with x + low = k ln 2 + r."""
    k = (x * _LOG2E + _SHIFTER) - _SHIFTER
    a = x - k * _LN2[0]
    r, e = two_sum(a, -(k * _LN2[1]))
    return k, fast_two_sum(r, (e - k * _LN2[2]) + low)


def _exp_pair(m: Backend, x: Any, low: Any) -> Any:
    """exp(x + low) for low far below x, which lies in -800 .. 800."""
    k, (r, tail) = _reduce(m, x, low)
    one, rest = fast_two_sum(1.0, r)
    y = one + (rest + (r * r * polynomial(r, _EXP) + (tail + tail * r)))
    # Twice half the exponent: 2^k itself may be beyond the range when the result is not.
    half = (k * 0.5 + _SHIFTER) - _SHIFTER
    return (y * power_of_two(m, half)) * power_of_two(m, k - half)


def exp(m: Backend, x: Any) -> Any:
    """e^x."""
    # Beyond these it is 0 or infinity, and k would leave the range of `power_of_two`.
    return _exp_pair(m, _clamp(m, x, -800.0, 800.0), 0.0)


def expm1(m: Backend, x: Any) -> Any:
    """e^x - 1, accurate near 0."""
    # Below -50 it is -1 to the bit; at 710 its half is still a number, and the sum overflows.
    k, (r, tail) = _reduce(m, _clamp(m, x, -50.0, 710.0), 0.0)
    p, q = fast_two_sum(r, r * r * polynomial(r, _EXP) + (tail + tail * r))
    scale = power_of_two(m, k - 1.0)
    whole, part = two_sum(scale, -0.5)
    high, low = two_sum(whole, scale * p)
    half = high + (low + (part + scale * q))
    return m.where(abs(x) < 2.0**-54, x, half + half)


def _normal(m: Backend, x: Any) -> tuple[Any, Any]:
    """A positive number made normal, and the power of two that took, negative."""
    tiny = x < 2.0**-1022
    return m.where(tiny, x * 2.0**54, x), m.where(tiny, -54.0, 0.0)


def _parts(m: Backend, x: Any) -> tuple[Any, Any]:
    """The exponent e and m in sqrt(1/2) .. sqrt(2) of a positive normal x = 2^e m."""
    # Offsetting the bits by sqrt(1/2)'s distance from 1 makes the exponent step there.
    moved = m.plus(m.bits(x), _ONE - _ROOT_HALF)
    e = m.real(m.merge(m.right(moved, 52), 0x4330000000000000)) - (2.0**52 + 1023.0)
    low = m.mask(moved, 0x000FFFFFFFFFFFFF)
    return e, m.real(m.plus(low, _ROOT_HALF))


def _log_sum(m: Backend, e: Any, f: Any, correction: Any) -> Any:
    """E ln 2 + log(1 + f) + correction, a small one."""
    s = m.div(f, 2.0 + f)
    z = s * s
    half = 0.5 * f * f
    tail = s * (half + z * polynomial(z, _LOG)) + (e * _LN2_LOW + correction)
    # f - f^2/2 is the largest part beside e ln 2; adding it in pairs keeps its rounding error.
    a, b = fast_two_sum(f, -half)
    high, low = fast_two_sum(e * _LN2_HIGH, a)
    return high + (low + (b + tail))


def log(m: Backend, x: Any) -> Any:
    """The natural logarithm."""
    y, shift = _normal(m, x)
    e, f = _parts(m, y)
    result = _log_sum(m, e + shift, f - 1.0, 0.0)
    result = m.where(x == INF, INF, result)
    result = m.where(x == 0.0, -INF, result)
    return m.where((x < 0.0) | (x != x), NAN, result)


def log1p(m: Backend, x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    u, c = two_sum(1.0, x)
    e, f = _parts(m, u)
    near = e == 0.0
    result = _log_sum(m, e, m.where(near, x, f - 1.0), m.where(near, 0.0, m.div(c, u)))
    result = m.where(abs(x) < 2.0**-54, x, result)
    result = m.where(x == INF, INF, result)
    result = m.where(x == -1.0, -INF, result)
    return m.where((x < -1.0) | (x != x), NAN, result)


def _log_pair(m: Backend, x: Any) -> Pair:
    """log x of a positive number, to some 2^-68."""
    y, shift = _normal(m, x)
    e, g = _parts(m, y)
    f = g - 1.0
    d, d_low = two_sum(g, 1.0)
    s = m.div(f, d)
    p, q = two_product(m, s, d)
    s_low = m.div(((f - p) - q) - s * d_low, d)
    z = two_product(m, s, s)
    z = (z[0], z[1] + 2.0 * (s * s_low))
    a = fast_two_sum(_FIFTH[0], z[0] * polynomial(z[0], _LOG_TAIL))
    b = multiply(m, z, (a[0], a[1] + _FIFTH[1]))
    c = fast_two_sum(_THIRD[0], b[0])
    b = multiply(m, z, (c[0], c[1] + (b[1] + _THIRD[1])))
    b = multiply(m, (s, s_low), b)
    high, low = fast_two_sum(s, b[0])
    low = low + (s_low + b[1])
    e = e + shift
    total, rest = fast_two_sum(e * _LN2_HIGH, high + high)
    return fast_two_sum(total, rest + (e * _LN2_LOW + (low + low)))


def _log_by(m: Backend, x: Any, factor: Pair) -> Any:
    """factor * log(x), with the special values of a logarithm.

    The pair is off by some 2^-64 of itself at most, so a result that is a whole number is met
    exactly, and is not passed by the results around it.
    """
    # The pair is of a number that has a logarithm, in all lanes; the rest is put in after it.
    usable = (x > 0.0) & (x < INF)
    high, low = multiply(m, _log_pair(m, m.where(usable, x, 1.0)), factor)
    result = m.where(x == INF, INF, high + low)
    result = m.where(x == 0.0, -INF, result)
    return m.where((x < 0.0) | (x != x), NAN, result)


def log2(m: Backend, x: Any) -> Any:
    """The logarithm to base 2; exact at powers of two."""
    return _log_by(m, x, _LOG2E_PAIR)


def log10(m: Backend, x: Any) -> Any:
    """The logarithm to base 10; exact at the powers of ten that are numbers, 1 to 1e22."""
    return _log_by(m, x, _LOG10E_PAIR)


def _short_power(m: Backend, a: Any, b: Any, general: Any) -> Any:
    """The powers that the graph writes as products, in the same products."""
    square = a * a
    # Where none of these holds, the general power stands: no back end branches.
    result = m.where(b == 0.5, m.sqrt(a), general)
    result = m.where(b == 1.0, a, result)
    result = m.where(b == -1.0, m.div(1.0, a), result)
    result = m.where(b == 2.0, square, result)
    result = m.where(b == 3.0, square * a, result)
    return m.where(b == 4.0, square * square, result)


def pow_(m: Backend, a: Any, b: Any) -> Any:
    """A to the power b, with C's special cases, but as a product for 2, 3 and 4.

    The products are what the graph makes of a constant exponent, so an exponent that becomes
    known changes no digit: `pow(x, 0.5)` is `sqrt(x)`, and a cube has two roundings.
    """
    size = abs(a)
    log_high, log_low = _log_pair(m, size)
    # |log a| is 0 or at least 2^-53: beyond 2^70 the power is 0, 1 or infinity already, and the
    # product would be an infinity whose error is NaN.
    b_near = _clamp(m, b, -(2.0**70), 2.0**70)
    high, low = two_product(m, b_near, log_high)
    high, low = fast_two_sum(high, low + b_near * log_low)
    inside = abs(high) < 800.0
    result = _exp_pair(m, _clamp(m, high, -800.0, 800.0), m.where(inside, low, 0.0))
    large = size > 1.0
    ends = m.where(b > 0.0, size, m.div(1.0, size))
    result = m.where((size == 0.0) | (size == INF), ends, result)
    limit = m.where(b > 0.0, m.where(large, INF, 0.0), m.where(large, 0.0, INF))
    result = m.where(abs(b) == INF, limit, result)
    whole = m.floor(b) == b
    odd = whole & (m.floor(b * 0.5) != b * 0.5)
    negative = m.where(a == 0.0, m.div(1.0, a), a) < 0.0
    result = m.where(negative & odd, -result, result)
    result = m.where((a < 0.0) & (a > -INF) & (b != m.floor(b)), NAN, result)
    result = m.where((abs(b) == INF) & (size == 1.0), 1.0, result)
    result = m.where((a != a) | (b != b), NAN, result)
    result = m.where((b == 0.0) | (a == 1.0), 1.0, result)
    return _short_power(m, a, b, result)


# --- ranges and derivatives ----------------------------------------------------------------------


def _pow_range(a: Range, b: Range) -> Range:
    """Of a base above 0; its logarithm times the exponent has its ends at ends of both."""
    if a.low <= 0.0 or intervals.infinite(a) or intervals.infinite(b):
        return ANY
    ends = [float(pow_(SCALARS, x, y)) for x in (a.low, a.high) for y in (b.low, b.high)]
    return intervals.outwards(min(ends), max(ends), a.nan or b.nan)


def _pow_vjp(d: Any, args: Any, y: Any, k: int, seed: Any) -> Any:
    b = d.builder
    base, exponent = args
    zero = b.const(0.0)
    if k == 1:
        partial = b.op("mul", y, b.op("log", base))
        return d.times(seed, d.gate(b.op("eq", y, zero), zero, partial))
    less = b.op("sub", exponent, b.const(1.0))
    partial = b.op("mul", exponent, b.op("pow", base, less, type="real"))
    if exponent.known is None:
        partial = d.gate(b.op("eq", exponent, zero), zero, partial)
    return d.times(seed, partial)


# --- records -----------------------------------------------------------------------------------


def _rising(
    code: str, formula: Formula, derivative: DerivativeRule, cost: int, least: float = -INF
) -> Operation:
    """A function of one operand that rises from `least` on, and is NaN below."""
    return Operation(
        code=code,
        arity=1,
        type=NUMBER,
        compute=Elementwise(formula),
        interval=intervals.rising(formula, least),
        derivative=derivative,
        cost=cost,
        heavy=True,
    )


def _log_slope(base: float) -> DerivativeRule:
    """Of a logarithm, by 1 / its derivative, x ln base: a quotient is rounded once."""
    return slope_of_inverse(lambda b, x, y: b.op("mul", b.const(math.log(base)), x))


RECORDS = (
    _rising("exp", exp, slope(lambda b, x, y: y), 16),
    _rising("log", log, slope_of_inverse(lambda b, x, y: x), 20, 0.0),
    _rising("log2", log2, _log_slope(2.0), 40, 0.0),
    _rising("log10", log10, _log_slope(10.0), 40, 0.0),
    _rising("expm1", expm1, slope(lambda b, x, y: b.op("exp", x)), 24),
    _rising(
        "log1p", log1p, slope_of_inverse(lambda b, x, y: b.op("add", b.const(1.0), x)), 24, -1.0
    ),
    Operation(
        code="pow",
        arity=2,
        type=POWER,
        compute=Elementwise(pow_),
        interval=_pow_range,
        derivative=DerivativeRule(_pow_vjp),
        cost=40,
        heavy=True,
    ),
)
"""Exponentials, logarithms and powers."""
