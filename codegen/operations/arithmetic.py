"""Arithmetic: what IEEE 754 defines, whole numbers, least and greatest, sums and products."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from hwdsl.codegen.numerics.backend import Backend, Formula
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import FLAT, Chosen, DerivativeRule, slope_of_inverse
from hwdsl.codegen.operations.record import (
    BOOL_OF_BOOLS,
    INT,
    INT_OF_INTS,
    NUMBER,
    WHOLE,
    Elementwise,
    FirstBest,
    Fold,
    Operation,
    infix,
)


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


# --- derivatives -------------------------------------------------------------------------------

_PASSED_ON = DerivativeRule(lambda d, args, y, k, seed: seed)
_TIMES_THE_OTHERS = DerivativeRule(lambda d, args, y, k, seed: d.times(seed, d.others(args, k)))


def _abs_vjp(d: Any, args: Any, y: Any, k: int, seed: Any) -> Any:
    b = d.builder
    below = b.op("lt", args[0], b.const(0.0))
    return d.gate(below, b.op("neg", seed), seed)


def _div_vjp(d: Any, args: Any, y: Any, k: int, seed: Any) -> Any:
    share = d.share(seed, args[1])
    return share if k == 0 else d.builder.op("neg", d.times(share, y))


def _sub_vjp(d: Any, args: Any, y: Any, k: int, seed: Any) -> Any:
    return seed if k == 0 else d.builder.op("neg", seed)


# --- records -----------------------------------------------------------------------------------


def _rounding(code: str, formula: Formula) -> Operation:
    return Operation(
        code=code,
        arity=1,
        type=WHOLE,
        compute=Elementwise(formula),
        interval=intervals.steps(formula),
        derivative=FLAT,
    )


def _whole_quotient(code: str, formula: Formula, rounding: Formula) -> Operation:
    steps = intervals.steps(rounding)
    return Operation(
        code=code,
        arity=2,
        needs=(INT, INT),
        type=WHOLE,
        compute=Elementwise(formula),
        interval=lambda a, b: steps(intervals.quotient(a, b)),
        derivative=FLAT,
        cost=20,
    )


def _place(code: str, nearer: Callable[[Any, Any], Any], sign: str) -> Operation:
    """The place, from 0, of the first best operand; NaN loses to a number."""
    return Operation(
        code=code,
        arity=1,
        variadic=True,
        type=WHOLE,
        compute=FirstBest(nearer, sign),
        interval=intervals.places,
        derivative=FLAT,
        cost=8,
    )


_ADD = Elementwise(lambda m, a, b: a + b, infix("+"), "{0} + {1}")
_MUL = Elementwise(lambda m, a, b: a * b, infix("*"), "{0} * {1}")
# In Python's own words, which is what loops fold fastest by; `min_` and `max_` on floats.
_MIN = Elementwise(
    min_,
    python="{0} if {0} < {1} or {0} != {0} else {1}",
)
_MAX = Elementwise(
    max_,
    python="{0} if {0} > {1} or {0} != {0} else {1}",
)

RECORDS = (
    Operation(
        code="neg",
        arity=1,
        type=INT_OF_INTS,
        compute=Elementwise(lambda m, x: -x, c=lambda args: f"-{args[0]}", python="-{0}"),
        interval=intervals.negative,
        derivative=DerivativeRule(lambda d, args, y, k, seed: d.builder.op("neg", seed)),
    ),
    Operation(
        code="abs",
        arity=1,
        type=BOOL_OF_BOOLS,
        compute=Elementwise(lambda m, x: abs(x), python="abs({0})"),
        interval=intervals.magnitude,
        derivative=DerivativeRule(_abs_vjp),
    ),
    Operation(
        code="sqrt",
        arity=1,
        type=NUMBER,
        compute=Elementwise(sqrt, python="square_root({0}) if {0} >= 0.0 else nan"),
        interval=intervals.root,
        derivative=slope_of_inverse(lambda b, x, y: b.op("mul", b.const(2.0), y)),
        cost=10,
    ),
    _rounding("floor", floor),
    _rounding("ceil", ceil),
    _rounding("round", round_),
    Operation(
        code="add",
        arity=2,
        type=INT_OF_INTS,
        compute=_ADD,
        interval=intervals.plus,
        derivative=_PASSED_ON,
    ),
    Operation(
        code="sub",
        arity=2,
        type=INT_OF_INTS,
        compute=Elementwise(lambda m, a, b: a - b, infix("-"), "{0} - {1}"),
        interval=intervals.minus,
        derivative=DerivativeRule(_sub_vjp),
    ),
    Operation(
        code="mul",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=_MUL,
        interval=intervals.times,
        derivative=_TIMES_THE_OTHERS,
    ),
    Operation(
        code="div",
        arity=2,
        type=NUMBER,
        compute=Elementwise(
            lambda m, a, b: m.div(a, b),
            infix("/"),
            python="{0} / {1} if {1} else divide({0}, {1})",
        ),
        interval=intervals.quotient,
        derivative=DerivativeRule(_div_vjp),
        cost=8,
    ),
    _whole_quotient("floordiv", floordiv, floor),
    _whole_quotient("ceildiv", ceildiv, ceil),
    Operation(
        code="min",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=_MIN,
        interval=intervals.least,
        derivative=Chosen(0, lambda b, args: b.op("le", args[0], args[1])),
        takes_least=True,
    ),
    Operation(
        code="max",
        arity=2,
        type=BOOL_OF_BOOLS,
        compute=_MAX,
        interval=intervals.greatest,
        derivative=Chosen(0, lambda b, args: b.op("le", args[1], args[0])),
        takes_greatest=True,
    ),
    Operation(
        code="sum",
        arity=1,
        variadic=True,
        type=INT_OF_INTS,
        compute=Fold("add", _ADD),
        interval=intervals.from_the_left(intervals.plus),
        derivative=_PASSED_ON,
    ),
    Operation(
        code="prod",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("mul", _MUL),
        interval=intervals.from_the_left(intervals.times),
        derivative=_TIMES_THE_OTHERS,
    ),
    Operation(
        code="nmin",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("min", _MIN),
        interval=intervals.least,
        derivative=Chosen(0, lambda b, args: b.op("argmin", *args), many=True),
        takes_least=True,
    ),
    Operation(
        code="nmax",
        arity=1,
        variadic=True,
        type=BOOL_OF_BOOLS,
        compute=Fold("max", _MAX),
        interval=intervals.greatest,
        derivative=Chosen(0, lambda b, args: b.op("argmax", *args), many=True),
        takes_greatest=True,
    ),
    _place("argmin", operator.lt, "<"),
    _place("argmax", operator.gt, ">"),
)
"""The operations of arithmetic."""
