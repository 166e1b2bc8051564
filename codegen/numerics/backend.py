"""What the formulas of this package run on: Python floats here, NumPy arrays, or C text.

A formula is written once, as a function of a back end and its operands, with `+ - *`, comparisons
and the methods below. Run on `Scalars` it computes one value, run on `Arrays` it computes many,
run on the `Writer` of C it becomes text. All three do the same IEEE operations in the same order,
which is what makes their results equal bit for bit. Division is a method because Python's raises
on zero.

There are three sorts of operand: numbers, words (64-bit unsigned, made by `bits`) and truths.
Truths are combined by `|` and `&` only, so that no back end needs to branch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Protocol

_MASK = (1 << 64) - 1

Formula = Callable[..., Any]
"""A function of a back end and its operands."""


class Backend(Protocol):
    """The operations that the three back ends spell differently."""

    def div(self, a: Any, b: Any) -> Any:
        """The IEEE quotient."""

    def sqrt(self, a: Any) -> Any:
        """The square root, NaN below zero."""

    def floor(self, a: Any) -> Any:
        """The greatest whole number not above a, with a's sign if it is zero."""

    def ceil(self, a: Any) -> Any:
        """The least whole number not below a, with a's sign if it is zero."""

    def rint(self, a: Any) -> Any:
        """The nearest whole number, half to even, with a's sign if it is zero."""

    def where(self, c: Any, a: Any, b: Any) -> Any:
        """The second operand where the truth holds, else the third."""

    def bits(self, a: Any) -> Any:
        """The word that represents a number."""

    def real(self, w: Any) -> Any:
        """The number that a word represents."""

    def mask(self, w: Any, constant: int) -> Any:
        """Bitwise and with a constant."""

    def merge(self, w: Any, constant: int) -> Any:
        """Bitwise or with a constant."""

    def left(self, w: Any, count: int) -> Any:
        """Shift up, dropping what leaves the word."""

    def right(self, w: Any, count: int) -> Any:
        """Shift down, zeros coming in."""

    def plus(self, w: Any, constant: int) -> Any:
        """Add a constant to a word, modulo 2^64."""


class WordOperators:
    """What Python's ints and NumPy's unsigned integers write alike."""

    def mask(self, w: Any, constant: int) -> Any:  # noqa: D102 - the protocol says it
        return w & constant

    def merge(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w | constant

    def right(self, w: Any, count: int) -> Any:  # noqa: D102
        return w >> count


class Scalars(WordOperators):
    """Python floats; words are ints, truths are bools."""

    def div(self, a: float, b: float) -> float:  # noqa: D102
        if b != 0.0:
            return a / b
        # Python raises where IEEE 754 has a value.
        if a == 0.0 or a != a or b != b:
            return math.nan if b == 0.0 or a != a else b
        return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))

    def sqrt(self, a: float) -> float:  # noqa: D102
        if a >= 0.0:
            return math.sqrt(a)
        return math.nan

    def floor(self, a: float) -> float:  # noqa: D102
        # Python rounds to an int, which has no -0 and no infinity; from 2^52 on all are whole.
        return math.copysign(float(math.floor(a)), a) if abs(a) < 2.0**52 else a

    def ceil(self, a: float) -> float:  # noqa: D102
        return math.copysign(float(math.ceil(a)), a) if abs(a) < 2.0**52 else a

    def rint(self, a: float) -> float:  # noqa: D102
        return math.copysign(float(round(a)), a) if abs(a) < 2.0**52 else a

    def where(self, c: bool, a: Any, b: Any) -> Any:  # noqa: D102
        return a if c else b

    def bits(self, a: float) -> int:  # noqa: D102
        word: int = struct.unpack("<Q", struct.pack("<d", a))[0]
        return word

    def real(self, w: int) -> float:  # noqa: D102
        number: float = struct.unpack("<d", struct.pack("<Q", w))[0]
        return number

    def left(self, w: int, count: int) -> int:  # noqa: D102
        return (w << count) & _MASK

    def plus(self, w: int, constant: int) -> int:  # noqa: D102
        return (w + constant) & _MASK


SCALARS = Scalars()
