"""Arithmetic: what IEEE 754 defines, whole numbers, least and greatest, sums and products."""

from __future__ import annotations

import operator
from typing import Any

from hwdsl.codegen.numerics.backend import SCALARS, Backend
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import FLAT, Chosen, DerivativeRule, slope_of_inverse
from hwdsl.codegen.operations.record import (
    BOOL_OF_BOOLS,
    INT,
    INT_OF_INTS,
    NUMBER,
    WHOLE,
    Best,
    Elementwise,
    Fold,
    Operation,
    infix,
)


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


def _quotient(a: float, b: float) -> float:
    return a / b if b else float(div(SCALARS, a, b))


# --- derivatives -------------------------------------------------------------------------------

_PASSED_ON = DerivativeRule(lambda d, args, y, k, weight: weight)
_FACTOR = DerivativeRule(lambda d, args, y, k, weight: d.times(weight, d.others(args, k)))


def _abs_weigh(d: Any, args: Any, y: Any, k: int, weight: Any) -> Any:
    b = d.builder
    below = b.op("lt", args[0], b.const(0.0))
    return d.gate(below, b.op("neg", weight), weight)


def _div_weigh(d: Any, args: Any, y: Any, k: int, weight: Any) -> Any:
    share = d.share(weight, args[1])
    return share if k == 0 else d.builder.op("neg", d.times(share, y))


def _sub_weigh(d: Any, args: Any, y: Any, k: int, weight: Any) -> Any:
    return weight if k == 0 else d.builder.op("neg", weight)


# --- records -----------------------------------------------------------------------------------

RECORDS = (
    Operation(
        code="neg",
        doc="-x",
        arity=1,
        type=INT_OF_INTS,
        compute=Elementwise(neg, c=lambda args: f"-{args[0]}"),
        interval=intervals.of_one(intervals.negative),
        derivative=DerivativeRule(lambda d, args, y, k, weight: d.builder.op("neg", weight)),
    ),
    Operation(
        code="abs",
        doc="the magnitude of x",
        arity=1,
        type=BOOL_OF_BOOLS,
        compute=Elementwise(abs_),
        interval=intervals.of_one(intervals.magnitude),
        derivative=DerivativeRule(_abs_weigh),
    ),
    Operation(
        code="sqrt",
        doc="the square root of x; NaN below zero",
        arity=1,
        type=NUMBER,
        compute=Elementwise(sqrt),
        interval=intervals.of_one(intervals.root),
        derivative=slope_of_inverse(lambda b, x, y: b.op("mul", b.const(2.0), y)),
        cost=10,
    ),
    Operation(
        code="floor",
        doc="the greatest whole number not above x",
        arity=1,
        type=WHOLE,
        compute=Elementwise(floor),
        interval=intervals.of_one(intervals.steps(floor)),
        derivative=FLAT,
    ),
    Operation(
        code="ceil",
        doc="the least whole number not below x",
        arity=1,
        type=WHOLE,
        compute=Elementwise(ceil),
        interval=intervals.of_one(intervals.steps(ceil)),
        derivative=FLAT,
    ),
    Operation(
        code="round",
        doc="the whole number nearest to x, half to even",
        arity=1,
        type=WHOLE,
        compute=Elementwise(round_),
        interval=intervals.of_one(intervals.steps(round_)),
        derivative=FLAT,
    ),
    Operation(
        code="add",
        doc="a + b",
        arity=2,
        type=INT_OF_INTS,
        compute=Elementwise(add, operator.add, infix("+")),
        interval=intervals.of_two(intervals.plus),
        derivative=_PASSED_ON,
    ),
    Operation(
        code="sub",
        doc="a - b",
        arity=2,
        type=INT_OF_INTS,
        compute=Elementwise(sub, operator.sub, infix("-")),
        interval=intervals.of_two(intervals.minus),
        derivative=DerivativeRule(_sub_weigh),
    ),
    Operation(
        code="mul",
        doc="a * b",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=Elementwise(mul, operator.mul, infix("*")),
        interval=intervals.of_two(intervals.times),
        derivative=_FACTOR,
    ),
    Operation(
        code="div",
        doc="a / b",
        arity=2,
        type=NUMBER,
        compute=Elementwise(div, _quotient, infix("/")),
        interval=intervals.of_two(intervals.quotient),
        derivative=DerivativeRule(_div_weigh),
        cost=8,
    ),
    Operation(
        code="floordiv",
        doc="floor(a / b) of ints, exactly; NaN if b is 0",
        arity=2,
        needs=(INT, INT),
        type=WHOLE,
        compute=Elementwise(floordiv),
        interval=intervals.of_two(lambda a, b: intervals.steps(floor)(intervals.quotient(a, b))),
        derivative=FLAT,
        cost=20,
    ),
    Operation(
        code="ceildiv",
        doc="ceil(a / b) of ints, exactly; NaN if b is 0",
        arity=2,
        needs=(INT, INT),
        type=WHOLE,
        compute=Elementwise(ceildiv),
        interval=intervals.of_two(lambda a, b: intervals.steps(ceil)(intervals.quotient(a, b))),
        derivative=FLAT,
        cost=20,
    ),
    Operation(
        code="min",
        doc="the lesser of a and b; NaN if either is NaN",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=Elementwise(min_, lambda a, b: a if a < b or a != a else b),
        interval=intervals.of_all(intervals.least),
        derivative=Chosen(0, lambda b, args: b.op("le", args[0], args[1])),
        takes_least=True,
    ),
    Operation(
        code="max",
        doc="the greater of a and b; NaN if either is NaN",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=Elementwise(max_, lambda a, b: a if a > b or a != a else b),
        interval=intervals.of_all(intervals.greatest),
        derivative=Chosen(0, lambda b, args: b.op("le", args[1], args[0])),
        takes_greatest=True,
    ),
    Operation(
        code="sum",
        doc="x + … from left to right",
        arity=1,
        variadic=True,
        type=INT_OF_INTS,
        compute=Fold("add", add, infix("+")),
        interval=intervals.from_the_left(intervals.plus),
        derivative=_PASSED_ON,
    ),
    Operation(
        code="prod",
        doc="x * … from left to right",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("mul", mul, infix("*")),
        interval=intervals.from_the_left(intervals.times),
        derivative=_FACTOR,
    ),
    Operation(
        code="nmin",
        doc="the least of x, …; NaN if any is NaN",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("min", min_),
        interval=intervals.of_all(intervals.least),
        derivative=Chosen(0, lambda b, args: b.op("argmin", *args), many=True),
        takes_least=True,
    ),
    Operation(
        code="nmax",
        doc="the greatest of x, …; NaN if any is NaN",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("max", max_),
        interval=intervals.of_all(intervals.greatest),
        derivative=Chosen(0, lambda b, args: b.op("argmax", *args), many=True),
        takes_greatest=True,
    ),
    Operation(
        code="argmin",
        doc="the place, from 0, of the first least of x, …; NaN loses to a number",
        arity=1,
        variadic=True,
        type=WHOLE,
        compute=Best(operator.lt, "<"),
        interval=intervals.of_all(intervals.places),
        derivative=FLAT,
        cost=8,
    ),
    Operation(
        code="argmax",
        doc="the place, from 0, of the first greatest of x, …; NaN loses to a number",
        arity=1,
        variadic=True,
        type=WHOLE,
        compute=Best(operator.gt, ">"),
        interval=intervals.of_all(intervals.places),
        derivative=FLAT,
        cost=8,
    ),
)
"""The operations of arithmetic."""
