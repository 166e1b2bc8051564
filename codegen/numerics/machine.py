"""What the formulas of this package run on: NumPy arrays, Python floats, or C text.

A formula is written once, as a function of a machine and its operands, with `+ - *`, comparisons
and the methods below. Run on `Arrays` it computes, run on `Scalars` it computes one value, run on
a `Writer` it becomes C. All three do the same IEEE operations in the same order, which is what
makes their results equal bit for bit. Division is a method because Python's raises on zero.

There are three sorts of operand: numbers, words (64-bit unsigned, made by `bits`) and truths.
Truths are combined by `|` and `&` only, so that no machine needs to branch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from attrs import define, field

_MASK = (1 << 64) - 1


class Machine(Protocol):
    """The operations that the three machines spell differently."""

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

    def flip(self, w: Any, v: Any) -> Any:
        """Bitwise exclusive or of two words."""

    def left(self, w: Any, count: int) -> Any:
        """Shift up, dropping what leaves the word."""

    def right(self, w: Any, count: int) -> Any:
        """Shift down, zeros coming in."""

    def plus(self, w: Any, constant: int) -> Any:
        """Add a constant to a word, modulo 2^64."""

    def same(self, w: Any, constant: int) -> Any:
        """Whether a word equals a constant."""

    def take(self, name: str, values: Sequence[float], w: Any) -> Any:
        """The entry of a constant row that a word counts; the word lies inside."""


class Arrays:
    """NumPy arrays of at least one dimension."""

    def div(self, a: Any, b: Any) -> Any:  # noqa: D102 - the protocol says it
        return np.divide(a, b)

    def sqrt(self, a: Any) -> Any:  # noqa: D102
        return np.sqrt(a)

    def floor(self, a: Any) -> Any:  # noqa: D102
        return np.floor(a)

    def ceil(self, a: Any) -> Any:  # noqa: D102
        return np.ceil(a)

    def rint(self, a: Any) -> Any:  # noqa: D102
        return np.rint(a)

    def where(self, c: Any, a: Any, b: Any) -> Any:  # noqa: D102
        return np.where(c, a, b)

    def bits(self, a: Any) -> Any:  # noqa: D102
        return np.ascontiguousarray(a).view(np.uint64)

    def real(self, w: Any) -> Any:  # noqa: D102
        return w.view(np.float64)

    def mask(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w & np.uint64(constant)

    def merge(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w | np.uint64(constant)

    def flip(self, w: Any, v: Any) -> Any:  # noqa: D102
        return w ^ v

    def left(self, w: Any, count: int) -> Any:  # noqa: D102
        return w << np.uint64(count)

    def right(self, w: Any, count: int) -> Any:  # noqa: D102
        return w >> np.uint64(count)

    def plus(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w + np.uint64(constant)

    def same(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w == np.uint64(constant)

    def take(self, name: str, values: Sequence[float], w: Any) -> Any:  # noqa: D102
        return np.asarray(values)[w.astype(np.intp)]


class Scalars:
    """Python floats; words are ints, truths are bools."""

    def div(self, a: float, b: float) -> float:  # noqa: D102
        if b != 0.0:
            return a / b
        if a == 0.0 or a != a or b != b:
            return math.nan if b == 0.0 or a != a else b
        return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))

    def sqrt(self, a: float) -> float:  # noqa: D102
        if a >= 0.0:
            return math.sqrt(a)
        return math.nan

    def floor(self, a: float) -> float:  # noqa: D102
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

    def mask(self, w: int, constant: int) -> int:  # noqa: D102
        return w & constant

    def merge(self, w: int, constant: int) -> int:  # noqa: D102
        return w | constant

    def flip(self, w: int, v: int) -> int:  # noqa: D102
        return w ^ v

    def left(self, w: int, count: int) -> int:  # noqa: D102
        return (w << count) & _MASK

    def right(self, w: int, count: int) -> int:  # noqa: D102
        return w >> count

    def plus(self, w: int, constant: int) -> int:  # noqa: D102
        return (w + constant) & _MASK

    def same(self, w: int, constant: int) -> bool:  # noqa: D102
        return w == constant

    def take(self, name: str, values: Sequence[float], w: int) -> float:  # noqa: D102
        return values[w]


@define(eq=False)
class Term:
    """An operand in C: a name, a literal or a comparison in brackets."""

    writer: Writer
    text: str

    def __add__(self, other: Any) -> Term:
        return self.writer.number(f"{self.text} + {c_text(other)}")

    def __radd__(self, other: Any) -> Term:
        return self.writer.number(f"{c_text(other)} + {self.text}")

    def __sub__(self, other: Any) -> Term:
        return self.writer.number(f"{self.text} - {c_text(other)}")

    def __rsub__(self, other: Any) -> Term:
        return self.writer.number(f"{c_text(other)} - {self.text}")

    def __mul__(self, other: Any) -> Term:
        return self.writer.number(f"{self.text} * {c_text(other)}")

    def __rmul__(self, other: Any) -> Term:
        return self.writer.number(f"{c_text(other)} * {self.text}")

    def __neg__(self) -> Term:
        return self.writer.number(f"-{self.text}")

    def __abs__(self) -> Term:
        return self.writer.number(f"__builtin_fabs({self.text})")

    def __lt__(self, other: Any) -> Term:
        return Term(self.writer, f"({self.text} < {c_text(other)})")

    def __le__(self, other: Any) -> Term:
        return Term(self.writer, f"({self.text} <= {c_text(other)})")

    def __gt__(self, other: Any) -> Term:
        return Term(self.writer, f"({self.text} > {c_text(other)})")

    def __ge__(self, other: Any) -> Term:
        return Term(self.writer, f"({self.text} >= {c_text(other)})")

    def __eq__(self, other: Any) -> Any:
        return Term(self.writer, f"({self.text} == {c_text(other)})")

    def __ne__(self, other: Any) -> Any:
        return Term(self.writer, f"({self.text} != {c_text(other)})")

    def __or__(self, other: Term) -> Term:
        return Term(self.writer, f"({self.text} | {other.text})")

    def __and__(self, other: Term) -> Term:
        return Term(self.writer, f"({self.text} & {other.text})")


def c_text(operand: Any) -> str:
    """An operand of a formula as C: a term's text or a literal."""
    if isinstance(operand, Term):
        return operand.text
    return c_literal(float(operand))


def c_literal(value: float) -> str:
    """A number as a C expression, exactly."""
    if value != value:
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "(-__builtin_inf())"
    return value.hex() if math.copysign(1.0, value) > 0 else f"({value.hex()})"


@define(eq=False)
class Writer:
    """Writes the C statements of one function while its formula runs."""

    lines: list[str] = field(factory=list)
    rows: dict[str, Sequence[float]] = field(factory=dict)

    def number(self, text: str) -> Term:
        """Name the value of a C expression of type double."""
        return self._name("double", text)

    def word(self, text: str) -> Term:
        """Name the value of a C expression of type uint64_t."""
        return self._name("uint64_t", text)

    def _name(self, type: str, text: str) -> Term:
        name = f"t{len(self.lines)}"
        self.lines.append(f"    const {type} {name} = {text};")
        return Term(self, name)

    def div(self, a: Any, b: Any) -> Term:  # noqa: D102
        return self.number(f"{c_text(a)} / {c_text(b)}")

    def sqrt(self, a: Any) -> Term:  # noqa: D102
        return self.number(f"__builtin_sqrt({c_text(a)})")

    def floor(self, a: Any) -> Term:  # noqa: D102
        return self.number(f"__builtin_floor({c_text(a)})")

    def ceil(self, a: Any) -> Term:  # noqa: D102
        return self.number(f"__builtin_ceil({c_text(a)})")

    def rint(self, a: Any) -> Term:  # noqa: D102
        return self.number(f"__builtin_rint({c_text(a)})")

    def where(self, c: Term, a: Any, b: Any) -> Term:  # noqa: D102
        return self.number(f"{c.text} ? {c_text(a)} : {c_text(b)}")

    def bits(self, a: Any) -> Term:  # noqa: D102
        return self.word(f"hw__bits({c_text(a)})")

    def real(self, w: Term) -> Term:  # noqa: D102
        return self.number(f"hw__real({w.text})")

    def mask(self, w: Term, constant: int) -> Term:  # noqa: D102
        return self.word(f"{w.text} & UINT64_C({constant})")

    def merge(self, w: Term, constant: int) -> Term:  # noqa: D102
        return self.word(f"{w.text} | UINT64_C({constant})")

    def flip(self, w: Term, v: Term) -> Term:  # noqa: D102
        return self.word(f"{w.text} ^ {v.text}")

    def left(self, w: Term, count: int) -> Term:  # noqa: D102
        return self.word(f"{w.text} << {count}")

    def right(self, w: Term, count: int) -> Term:  # noqa: D102
        return self.word(f"{w.text} >> {count}")

    def plus(self, w: Term, constant: int) -> Term:  # noqa: D102
        return self.word(f"{w.text} + UINT64_C({constant})")

    def same(self, w: Term, constant: int) -> Term:  # noqa: D102
        return Term(self, f"({w.text} == UINT64_C({constant}))")

    def take(self, name: str, values: Sequence[float], w: Term) -> Term:  # noqa: D102
        self.rows[name] = values
        return self.number(f"hw__{name}[{w.text}]")


ARRAYS = Arrays()
SCALARS = Scalars()
