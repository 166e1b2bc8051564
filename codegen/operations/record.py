"""What the compiler must know of an operation: one record says it all, and every pass reads it.

A record cannot be made without its interval rule and its derivative. An operation whose value does
not change with its operands says so: `derivative=FLAT`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from hwdsl.codegen.numerics.backend import SCALARS, Formula
from hwdsl.codegen.operations.derivatives import Derivative
from hwdsl.codegen.operations.intervals import Transfer

REAL, INT, BOOL = "real", "int", "bool"
RANK = {BOOL: 0, INT: 1, REAL: 2}
"""The types; one of a lower rank may stand where one of a higher is needed."""


# --- types -------------------------------------------------------------------------------------


@frozen
class TypeRule:
    """The type of a result from those of the operands, and the narrowest it may be declared as.

    The two differ where the operands' values may tell more than their types.
    """

    result: Callable[[Sequence[str]], str]
    narrowest: Callable[[Sequence[str]], str]


def _always(type: str) -> TypeRule:
    return TypeRule(lambda types: type, lambda types: type)


def _int_of_ints(types: Sequence[str]) -> str:
    return REAL if REAL in types else INT


def _bool_of_bools(types: Sequence[str]) -> str:
    return BOOL if set(types) == {BOOL} else _int_of_ints(types)


def _common(types: Sequence[str]) -> str:
    return types[1] if len(set(types[1:])) == 1 else REAL


def _widest(types: Sequence[str]) -> str:
    return max(types, key=RANK.__getitem__)


TRUTH_VALUE, WHOLE, NUMBER = _always(BOOL), _always(INT), _always(REAL)
INT_OF_INTS = TypeRule(_int_of_ints, _int_of_ints)
"""An int of ints and bools, else real."""
BOOL_OF_BOOLS = TypeRule(_int_of_ints, _bool_of_bools)
"""The same of what makes 0 and 1 of zeros and ones, which may be declared bool."""
ONE_OF_THE_REST = TypeRule(_common, lambda types: _widest(types[1:]))
"""The type of the operands after the first, one of which is the value."""
POWER = TypeRule(lambda types: REAL, _widest)
ENTRY_TYPE = TypeRule(lambda types: REAL, lambda types: BOOL)
"""An entry of a table, whose entries alone tell its type."""


# --- how a value is computed -------------------------------------------------------------------


PYTHON_NAMES: Mapping[str, Any] = MappingProxyType(
    {"divide": SCALARS.div, "square_root": math.sqrt, "nan": math.nan, "abs": abs}
)
"""What the Python expressions of operations may call."""


@frozen
class Elementwise:
    """By a formula, the same for each lane.

    `c` gives the C expression where C has an operator; any other is a call of `hw_<code>`. `python`
    is the Python expression of the operands `{0}`, `{1}`, `{2}`, floats, where that is short:
    bodies of loops are written with it (`hwdsl.codegen.ir.loop_folding`). It may use the names in
    `PYTHON_NAMES`.
    """

    formula: Formula
    c: Callable[[Sequence[str]], str] | None = None
    python: str | None = None
    direct: Callable[..., float] | None = field(init=False, repr=False)
    """That expression as a function: the same as the formula, without its overhead."""

    @direct.default
    def _direct(self) -> Callable[..., float] | None:
        if self.python is None:
            return None
        text = self.python.format("a", "b", "c")
        found: Callable[..., float] = eval(f"lambda a, b=0.0, c=0.0: {text}", dict(PYTHON_NAMES))
        return found

    def scalar(self, args: Sequence[float]) -> float:
        """The value for numbers."""
        if self.direct is not None:
            return self.direct(*args)
        return float(self.formula(SCALARS, *args))


@frozen
class Fold:
    """By an operation of two, `step`, from the left."""

    step: str
    elementwise: Elementwise

    def scalar(self, args: Sequence[float]) -> float:
        """The value for numbers."""
        # From the left, whatever the order costs in accuracy: kernels sum in the same order.
        step = self.elementwise.direct
        return float(reduce(step or (lambda a, b: self.elementwise.scalar((a, b))), args))


@frozen
class FirstBest:
    """The place of the first best operand; a number is better than NaN. `nearer` also as C."""

    nearer: Callable[[Any, Any], Any]
    sign: str

    def better(self, x: Any, best: Any) -> Any:
        """Whether x takes the place of the best so far; on numbers, arrays or terms."""
        return self.nearer(x, best) | ((best != best) & (x == x))

    def scalar(self, args: Sequence[float]) -> float:
        """The value for numbers."""
        found = 0  # the first, also where all are NaN
        for i in range(1, len(args)):
            if self.better(args[i], args[found]):
                found = i
        return float(found)


@frozen
class Gather:
    """The operand whose place after the first the first operand says."""

    def scalar(self, args: Sequence[float]) -> float:
        """The value for numbers."""
        return args[1 + nearest(args[0], len(args) - 1)]


@frozen
class Entry:
    """The entry of a constant table at the operand."""

    def look_up(self, x: float, row: Sequence[float]) -> float:
        """The value for a number and the table's row."""
        return row[nearest(x, len(row))]


@frozen
class Count:
    """How many entries of an increasing constant table are at most the operand."""

    def look_up(self, x: float, row: Sequence[float]) -> float:
        """The value for a number and the table's row."""
        return float(bisect_right(row, x)) if x == x else 0.0


@frozen
class Structure:
    """What every pass over a graph handles itself: leaves, loops and their results."""


Computed = Elementwise | Fold | FirstBest | Gather | Entry | Count | Structure


def nearest(index: float, count: int) -> int:
    """The index that a gather or table of `count` entries reads; NaN reads the first."""
    return int(min(max(index, 0.0), count - 1.0)) if index == index else 0


# --- the record --------------------------------------------------------------------------------


@frozen(kw_only=True)
class Operation:
    """One operation of the graph.

    It takes `arity` operands, or, if `variadic`, that many or more. `needs` are the widest types
    that the first operands may have.
    """

    code: str
    arity: int
    variadic: bool = False
    needs: tuple[str, ...] = ()
    type: TypeRule
    compute: Computed
    interval: Transfer
    derivative: Derivative
    cost: int = 0
    """Roughly how many additions it takes, 0 if it is about as cheap as reading a value."""
    heavy: bool = False
    """Whether its C is long, so that one function compiled apart may serve many calls."""
    takes_least: bool = False
    """Whether its value is the least of its operands."""
    takes_greatest: bool = False
    decider: float | None = None
    """The value of one operand that decides, whatever the other is."""
    picks: Callable[[float, int], int] | None = None
    """Where the first of so many operands chooses another: which one, by the value of the first."""
    indexed: bool = False
    """Whether its `index` counts, though it be 0."""

    @property
    def reads_table(self) -> bool:
        """Whether its `index` names a table of constants."""
        return isinstance(self.compute, Entry | Count)

    @property
    def structural(self) -> bool:
        """Whether every pass handles it itself."""
        return isinstance(self.compute, Structure)

    def fold(self, args: Sequence[float], row: Sequence[float] = ()) -> float:
        """The value for known operands, and the row if it reads a table; raises on no value."""
        if isinstance(self.compute, Entry | Count):
            return self.compute.look_up(args[0], row)
        assert not isinstance(self.compute, Structure)
        return self.compute.scalar(args)


def infix(sign: str) -> Callable[[Sequence[str]], str]:
    """The C of an operator between operands."""
    return lambda args: f" {sign} ".join(args)
