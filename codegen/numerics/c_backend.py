"""Formulas as C.

C must be compiled with `-ffp-contract=off` and without `-ffast-math`;
`-fno-math-errno -fno-trapping-math` let it vectorise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from hwdsl.codegen.numerics.backend import Formula

C_FLAGS = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""The compiler options under which the C of formulas equals them on arrays and vectorises."""


Operator = Callable[["COperand", Any], Any]


def _infix(sign: str) -> Operator:
    return lambda a, b: a.writer.number(f"{a.text} {sign} {c_text(b)}")


def _reflected(sign: str) -> Operator:
    return lambda a, b: a.writer.number(f"{c_text(b)} {sign} {a.text}")


def _truth(sign: str) -> Operator:
    return lambda a, b: COperand(a.writer, f"({a.text} {sign} {c_text(b)})")


@define(eq=False)
class COperand:
    """An operand in C: a name, a literal or a comparison in brackets."""

    writer: Writer
    text: str

    __add__, __radd__ = _infix("+"), _reflected("+")
    __sub__, __rsub__ = _infix("-"), _reflected("-")
    __mul__, __rmul__ = _infix("*"), _reflected("*")
    __lt__, __le__ = _truth("<"), _truth("<=")
    __gt__, __ge__ = _truth(">"), _truth(">=")
    __eq__, __ne__ = _truth("=="), _truth("!=")
    __or__, __and__ = _truth("|"), _truth("&")

    def __neg__(self) -> COperand:
        return self.writer.number(f"-{self.text}")

    def __abs__(self) -> COperand:
        return self.writer.number(f"__builtin_fabs({self.text})")


def c_text(operand: Any) -> str:
    """An operand of a formula as C: a term's text or a literal."""
    if isinstance(operand, COperand):
        return operand.text
    return c_literal(float(operand))


def c_literal(value: float) -> str:
    """A float64 as a C expression, to the last bit."""
    if math.isnan(value):
        text = '__builtin_nan("")'
    else:
        text = "__builtin_inf()" if math.isinf(value) else abs(float(value)).hex()
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def _call(function: str) -> Callable[[Writer, Any], COperand]:
    return lambda m, a: m.number(f"{function}({c_text(a)})")


def _on_word(sign: str) -> Callable[[Writer, COperand, int], COperand]:
    return lambda m, w, constant: m.word(f"{w.text} {sign} UINT64_C({constant})")


@define(eq=False)
class Writer:
    """Writes the C statements of one function while its formula runs."""

    lines: list[str] = field(factory=list)

    def number(self, text: str) -> COperand:
        """Name the value of a C expression of type double."""
        return self._name("double", text)

    def word(self, text: str) -> COperand:
        """Name the value of a C expression of type uint64_t."""
        return self._name("uint64_t", text)

    def _name(self, type: str, text: str) -> COperand:
        name = f"t{len(self.lines)}"
        self.lines.append(f"    const {type} {name} = {text};")
        return COperand(self, name)

    sqrt, floor = _call("__builtin_sqrt"), _call("__builtin_floor")
    ceil, rint = _call("__builtin_ceil"), _call("__builtin_rint")
    real = _call("hw__real")
    mask, merge, plus = _on_word("&"), _on_word("|"), _on_word("+")

    def div(self, a: Any, b: Any) -> COperand:  # noqa: D102
        return self.number(f"{c_text(a)} / {c_text(b)}")

    def where(self, c: COperand, a: Any, b: Any) -> COperand:  # noqa: D102
        return self.number(f"{c.text} ? {c_text(a)} : {c_text(b)}")

    def bits(self, a: Any) -> COperand:  # noqa: D102
        return self.word(f"hw__bits({c_text(a)})")

    def left(self, w: COperand, count: int) -> COperand:  # noqa: D102
        return self.word(f"{w.text} << {count}")

    def right(self, w: COperand, count: int) -> COperand:  # noqa: D102
        return self.word(f"{w.text} >> {count}")


_C_HEAD = """\
#include <stdint.h>
#include <string.h>

/* A call that is not inlined keeps its loop from becoming vector code. */
#if defined(__GNUC__)
#define HW_INLINE static inline __attribute__((always_inline))
#else
#define HW_INLINE static inline
#endif

static inline uint64_t hw__bits(double x) { uint64_t w; memcpy(&w, &x, sizeof w); return w; }
static inline double hw__real(uint64_t w) { double x; memcpy(&x, &w, sizeof x); return x; }
"""


def c_functions(formulas: Mapping[str, tuple[Formula, int]]) -> str:
    """C definitions of inline functions `double hw_<code>(double, …)`, of formulas and how many
    operands each takes."""
    functions = [_function(code, *formula) for code, formula in formulas.items()]
    return "\n".join([_C_HEAD, *functions])


def _function(code: str, formula: Formula, arity: int) -> str:
    writer = Writer()
    names = "x" if arity == 1 else "abc"[:arity]
    result = formula(writer, *(COperand(writer, name) for name in names))
    operands = ", ".join(f"double {name}" for name in names)
    body = "\n".join([*writer.lines, f"    return {result.text};"])
    return f"HW_INLINE double hw_{code}({operands})\n{{\n{body}\n}}\n"


def out_of_line(code: str, arity: int) -> str:
    """The definition of `hw_outlined_<code>`: the same function, compiled once for all its calls.

    Gcc makes it for vectors as well, so that loops which call it still become vector code.
    """
    names = "abc"[:arity]
    operands = ", ".join(f"double {n}" for n in names)
    head = f"HW_OUTLINED double hw_outlined_{code}({operands})"
    return f"{head};\n{head} {{ return hw_{code}({', '.join(names)}); }}"
