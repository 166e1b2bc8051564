"""Between which numbers an operation's value lies, from the ranges of its operands.

Rounding to nearest never turns two numbers round, so an end calculated in float64 bounds whatever
float64 makes of numbers within; what is not rounded so (`exp`, `log`, `pow`, …) is off by at most
one unit in the last place, and its ends are moved outwards. A range that overflows ends at
infinity, and infinities that may meet (`inf - inf`, `0 * inf`) may make NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from attrs import frozen

from hwdsl.codegen.numerics.backend import SCALARS, Formula

ULPS = 4
"""By how many units in the last place ends move outwards; formulas are off by less than one."""


@frozen
class Range:
    """A value is at least `low` and at most `high`, or, if `nan` is set, may be NaN."""

    low: float
    high: float
    nan: bool = False

    @property
    def known(self) -> float | None:
        """The only value there can be, to the bit: of a zero that is not told."""
        return self.low if self.low == self.high and self.low and not self.nan else None

    def has(self, value: float) -> bool:
        """Whether a number may be the value."""
        return self.low <= value <= self.high


ANY = Range(-math.inf, math.inf, nan=True)
TRUTH = Range(0.0, 1.0)

Transfer = Callable[..., Range]
"""The range of a value from those of the operands, or from the row that the operation reads."""


def anything(*args: Range) -> Range:
    """Of a value of which the operands' ranges tell nothing."""
    return ANY


# --- sums and products --------------------------------------------------------------------------


def _number(value: float, instead: float) -> float:
    return value if value == value else instead


def plus(a: Range, b: Range) -> Range:
    """Of a + b."""
    meet = any(x.low == -math.inf and y.high == math.inf for x, y in ((a, b), (b, a)))
    low, high = _number(a.low + b.low, -math.inf), _number(a.high + b.high, math.inf)
    return Range(low, high, a.nan or b.nan or meet)


def minus(a: Range, b: Range) -> Range:
    """Of a - b."""
    return plus(a, negative(b))


def negative(a: Range) -> Range:
    """Of -a."""
    return Range(-a.high, -a.low, a.nan)


def infinite(a: Range) -> bool:
    """Whether a range has no end."""
    return a.low == -math.inf or a.high == math.inf


def times(a: Range, b: Range) -> Range:
    """Of a * b."""
    meet = (a.has(0.0) and infinite(b)) or (b.has(0.0) and infinite(a))
    # 0 * inf is NaN at these ends, but 0 for the finite numbers within, which bound the product.
    ends = [x * y if x and y else 0.0 for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(ends), max(ends), a.nan or b.nan or meet)


def quotient(a: Range, b: Range) -> Range:
    """Of a / b."""
    if b.has(0.0):
        return ANY  # 0 has two signs, and quotients by them both
    ends = [_number(x / y, 0.0) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(ends), max(ends), a.nan or b.nan or (infinite(a) and infinite(b)))


def from_the_left(step: Callable[[Range, Range], Range]) -> Transfer:
    """Of a step taken from the left."""
    return lambda *args: reduce(step, args)


# --- functions of one number --------------------------------------------------------------------


def magnitude(a: Range) -> Range:
    """Of |a|."""
    ends = abs(a.low), abs(a.high)
    return Range(0.0 if a.has(0.0) else min(ends), max(ends), a.nan)


def root(a: Range) -> Range:
    """Of the square root."""
    if a.high < 0:
        return ANY
    return Range(math.sqrt(max(a.low, 0.0)), math.sqrt(a.high), a.nan or a.low < 0)


def steps(formula: Formula) -> Transfer:
    """Of a step function that is never off and never falls."""

    def apply(a: Range) -> Range:
        return Range(float(formula(SCALARS, a.low)), float(formula(SCALARS, a.high)), a.nan)

    return apply


def outwards(low: float, high: float, nan: bool) -> Range:
    """A range with its ends moved by what a formula may be off."""
    for _ in range(ULPS):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return Range(low, high, nan)


def rising(formula: Formula, least: float = -math.inf) -> Transfer:
    """Of a function that rises from `least` on, and is NaN below."""

    def apply(a: Range) -> Range:
        if a.high < least:
            return ANY
        low = float(formula(SCALARS, max(a.low, least)))
        return outwards(low, float(formula(SCALARS, a.high)), a.nan or a.low < least)

    return apply


# --- choices ------------------------------------------------------------------------------------


def least(*args: Range) -> Range:
    """Of the least of some values."""
    return Range(min(a.low for a in args), min(a.high for a in args), any(a.nan for a in args))


def greatest(*args: Range) -> Range:
    """Of the greatest of some values."""
    return Range(max(a.low for a in args), max(a.high for a in args), any(a.nan for a in args))


def hull(*args: Range) -> Range:
    """Of one of some values."""
    return Range(min(a.low for a in args), max(a.high for a in args), any(a.nan for a in args))


def places(*args: Range) -> Range:
    """Of the place of one of some values."""
    return Range(0.0, len(args) - 1.0)


# --- truths -------------------------------------------------------------------------------------


def _truth(may: bool, may_not: bool) -> Range:
    return Range(0.0 if may_not else 1.0, 1.0 if may else 0.0)


def below(a: Range, b: Range) -> Range:
    """Of a < b."""
    return _truth(a.low < b.high, a.nan or b.nan or a.high >= b.low)


def not_above(a: Range, b: Range) -> Range:
    """Of a <= b."""
    return _truth(a.low <= b.high, a.nan or b.nan or a.high > b.low)


def equal(a: Range, b: Range) -> Range:
    """Of a == b."""
    # Ranges of one number each, or else some pair within differs; 0.0 equals -0.0 in both.
    same = a.low == a.high == b.low == b.high
    return _truth(a.low <= b.high and b.low <= a.high, a.nan or b.nan or not same)


def denied(a: Range) -> Range:
    """Of what is 1 where a truth is 0."""
    return Range(1.0 - a.high, 1.0 - a.low)
