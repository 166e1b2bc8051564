"""The elementwise operations of the graph, the same to the last bit in NumPy, Python and C.

`scalar` has them for one value, `arrays.ARRAY` for NumPy arrays, `c.C_SOURCE` as C functions
`hw_<code>`; those two are modules of their own, so that what only folds constants imports neither
NumPy nor makes C. NaNs are equal in being NaN: their sign and payload are not defined.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

from hwdsl.codegen.numerics import basic, explog, trig
from hwdsl.codegen.numerics.backend import SCALARS

__all__ = ["ARITY", "DIRECT", "FORMULAS", "better", "scalar"]

Formula = Callable[..., Any]

_UNARY: dict[str, Formula] = {
    "neg": basic.neg, "abs": basic.abs_, "sqrt": basic.sqrt, "exp": explog.exp,
    "log": explog.log, "log2": explog.log2, "log10": explog.log10,
    "expm1": explog.expm1, "log1p": explog.log1p, "sin": trig.sin,
    "cos": trig.cos, "tanh": explog.tanh, "floor": basic.floor, "ceil": basic.ceil,
    "round": basic.round_, "not": basic.not_,
}  # fmt: skip
_BINARY: dict[str, Formula] = {
    "add": basic.add, "sub": basic.sub, "mul": basic.mul, "div": basic.div, "pow": explog.pow_,
    "min": basic.min_, "max": basic.max_, "floordiv": basic.floordiv, "ceildiv": basic.ceildiv,
    "lt": basic.lt, "le": basic.le, "eq": basic.eq, "ne": basic.ne, "and": basic.and_,
    "or": basic.or_,
}  # fmt: skip
FORMULAS: Mapping[str, Formula] = MappingProxyType({**_UNARY, **_BINARY, "select": basic.select})
"""The elementwise codes as formulas of a machine and the operands."""
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


def _quotient(a: float, b: float) -> float:
    return a / b if b else float(basic.div(SCALARS, a, b))


DIRECT: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": _quotient,
        "min": lambda a, b: a if a < b or a != a else b,
        "max": lambda a, b: a if a > b or a != a else b,
        "lt": lambda a, b: 1.0 if a < b else 0.0,
        "le": lambda a, b: 1.0 if a <= b else 0.0,
        "eq": lambda a, b: 1.0 if a == b else 0.0,
        "and": lambda a, b: 1.0 if a and b else 0.0,
        "or": lambda a, b: 1.0 if a or b else 0.0,
    }
)
"""What the formulas of the commonest codes give for two Python floats, without their overhead."""


def scalar(code: str, args: Sequence[float]) -> float:
    """One elementwise or n-ary operation on numbers; never raises on a value."""
    direct = DIRECT.get(code)
    if direct is not None:
        return direct(args[0], args[1])
    formula = FORMULAS.get(code)
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
