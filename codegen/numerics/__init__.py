"""The elementwise operations of the graph, the same to the last bit in NumPy, Python and C.

`ARRAY` has them for NumPy arrays, `scalar` for one value, `C_SOURCE` as C functions
`hw_<code>`. C must be compiled with `-ffp-contract=off` and without `-ffast-math`;
`-fno-math-errno -fno-trapping-math` let it vectorise. NaNs are equal in being NaN: their sign and
payload are not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.codegen.numerics import basic, explog, trig
from hwdsl.codegen.numerics.machine import ARRAYS, SCALARS, Term, Writer, c_literal

__all__ = ["ARITY", "ARRAY", "C_FLAGS", "C_SOURCE", "better", "c_literal", "scalar"]

Array = NDArray[np.float64]
Formula = Callable[..., Any]

C_FLAGS = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""The compiler options under which `C_SOURCE` equals `ARRAY` and vectorises."""

_UNARY: dict[str, Formula] = {
    "neg": basic.neg, "abs": basic.abs_, "sqrt": basic.sqrt, "exp": explog.exp,
    "log": explog.log, "expm1": explog.expm1, "log1p": explog.log1p, "sin": trig.sin,
    "cos": trig.cos, "tanh": explog.tanh, "floor": basic.floor, "ceil": basic.ceil,
    "round": basic.round_, "not": basic.not_,
}  # fmt: skip
_BINARY: dict[str, Formula] = {
    "add": basic.add, "sub": basic.sub, "mul": basic.mul, "div": basic.div, "pow": explog.pow_,
    "min": basic.min_, "max": basic.max_, "floordiv": basic.floordiv, "ceildiv": basic.ceildiv,
    "lt": basic.lt, "le": basic.le, "eq": basic.eq, "ne": basic.ne, "and": basic.and_,
    "or": basic.or_,
}  # fmt: skip
_FORMULAS: dict[str, Formula] = {**_UNARY, **_BINARY, "select": basic.select}
_STEPS = {"sum": basic.add, "prod": basic.mul, "nmin": basic.min_, "nmax": basic.max_}

ARITY: Mapping[str, int] = MappingProxyType(
    {**dict.fromkeys(_UNARY, 1), **dict.fromkeys(_BINARY, 2), "select": 3}
)
"""How many operands each elementwise code takes."""


def better(code: str, x: Any, best: Any) -> Any:
    """Whether x takes the place of the best so far in `argmin` or `argmax`, in any machine.

    A number takes the place of NaN, nothing that of an equal or better number.
    """
    nearer = x < best if code == "argmin" else x > best
    return nearer | ((best != best) & (x == x))


def _on_arrays(formula: Formula) -> Callable[..., Array]:
    def run(*args: Any) -> Array:
        arrays = [np.atleast_1d(np.asarray(a, np.float64)) for a in args]
        with np.errstate(all="ignore"):
            result: Array = np.asarray(formula(ARRAYS, *arrays), np.float64)
        return result if any(np.ndim(a) for a in args) else result.reshape(())

    return run


ARRAY: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {code: _on_arrays(formula) for code, formula in _FORMULAS.items()}
)
"""The elementwise codes on arrays, which broadcast; numbers are taken as well."""


def scalar(code: str, args: Sequence[float]) -> float:
    """One elementwise or n-ary operation on numbers; never raises on a value."""
    formula = _FORMULAS.get(code)
    if formula is not None:
        return float(formula(SCALARS, *args))
    if code in ("argmin", "argmax"):
        found = 0
        for i in range(1, len(args)):
            if better(code, args[i], args[found]):
                found = i
        return float(found)
    step = _STEPS[code]
    return float(reduce(lambda a, b: step(SCALARS, a, b), args))


_C_HEAD = """\
#include <stdint.h>
#include <string.h>

static inline uint64_t hw__bits(double x) { uint64_t w; memcpy(&w, &x, sizeof w); return w; }
static inline double hw__real(uint64_t w) { double x; memcpy(&x, &w, sizeof x); return x; }
"""


def _function(code: str, formula: Formula, rows: dict[str, Sequence[float]]) -> str:
    writer = Writer(rows=rows)
    names = "xab"[:1] if ARITY[code] == 1 else "abc"[: ARITY[code]]
    result = formula(writer, *(Term(writer, name) for name in names))
    operands = ", ".join(f"double {name}" for name in names)
    body = "\n".join([*writer.lines, f"    return {result.text};"])
    return f"static inline double hw_{code}({operands})\n{{\n{body}\n}}\n"


def _c_source() -> str:
    rows: dict[str, Sequence[float]] = {}
    functions = [_function(code, formula, rows) for code, formula in _FORMULAS.items()]
    tables = [
        f"static const double hw__{name}[{len(row)}] = {{{', '.join(map(c_literal, row))}}};\n"
        for name, row in rows.items()
    ]
    return "\n".join([_C_HEAD, *tables, *functions])


C_SOURCE: str = _c_source()
"""C definitions of `static inline double hw_<code>(double, …)` for every elementwise code."""
