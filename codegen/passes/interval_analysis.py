"""Between which numbers the values of operations lie, from the ranges of params.

Rounding to nearest never turns two numbers round, so an end calculated in float64 bounds whatever
float64 makes of numbers within; what is not rounded so (`exp`, `log`, `pow`, …) is off by at most
one unit in the last place, and its ends are moved outwards. A range that overflows ends at
infinity, and infinities that may meet (`inf - inf`, `0 * inf`) may make NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field, frozen

from hwdsl.codegen import numerics
from hwdsl.codegen.ir.graph import BOOL, Graph, GraphBuilder, GraphParam, Op, Ref, Region

__all__ = ["ANY", "Range", "Ranges", "range_of", "ranges_of", "starting"]

ULPS = 4


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


def starting(param: GraphParam) -> Range:
    """The range of a param; NaN lies in no range that has an end."""
    if param.type == BOOL:
        return TRUTH
    bounded = math.isfinite(param.low) or math.isfinite(param.high)
    return Range(param.low, param.high, nan=not bounded)


def ranges_of(graph: Graph, ops: Sequence[Op], inputs: Sequence[Range] = ()) -> list[Range]:
    """The range of each operation of a graph's list, or of a loop's body given its inputs'."""
    found: list[Range] = []
    for op in ops:
        if op.code == "param":
            found.append(starting(graph.params[op.index]))
        elif op.code == "input":
            found.append(inputs[op.index])
        else:
            found.append(range_of(op, [found[a] for a in op.args], graph.tables))
    return found


@define(eq=False)
class Ranges:
    """Interval analysis of a graph under construction, on demand; each operation is done once.

    Operations are only ever added to a region, so what was found for one stays true.
    """

    _found: dict[Region, dict[int, Range]] = field(factory=dict)

    def note(self, variable: Ref, found: Range) -> None:
        """Note the range of a loop's variable, before anything asks for it."""
        self._found.setdefault(variable.region, {})[variable.index] = found

    def of(self, ref: Ref, builder: GraphBuilder) -> Range:
        """The range of a value, from the ranges of the params and loop variables it depends on."""
        found, ops = self._found.setdefault(ref.region, {}), ref.region.ops
        todo = [ref.index]
        while todo:  # not recursive: chains of operations are as long as the file makes them
            i = todo[-1]
            missing = [a for a in ops[i].args if a not in found]
            if missing:
                todo += missing
                continue
            if i not in found:
                found[i] = self._one(ops[i], [found[a] for a in ops[i].args], builder)
            todo.pop()
        return found[ref.index]

    def _one(self, op: Op, args: Sequence[Range], builder: GraphBuilder) -> Range:
        if op.code == "param":
            return starting(builder.params[op.index])
        return range_of(op, args, builder.tables)


def range_of(op: Op, args: Sequence[Range], tables: Sequence[Sequence[float]] = ()) -> Range:
    """The range of an operation from those of its arguments; of params, inputs and loops `ANY`."""
    code = op.code
    if code == "const":
        return Range(op.value, op.value) if op.value == op.value else ANY
    if code == "table":
        row = tables[op.index]
        return Range(min(row), max(row)) if row and all(v == v for v in row) else ANY
    if code == "bucket":
        return Range(0.0, float(len(tables[op.index])))
    if code in ("argmin", "argmax"):
        return Range(0.0, len(args) - 1.0)
    rule = _RULES.get(code)
    if rule is not None:
        return rule(args)
    return TRUTH if op.type == BOOL else ANY


# --- sums and products --------------------------------------------------------------------------


def _number(value: float, instead: float) -> float:
    return value if value == value else instead


def _add(a: Range, b: Range) -> Range:
    meet = any(x.low == -math.inf and y.high == math.inf for x, y in ((a, b), (b, a)))
    low, high = _number(a.low + b.low, -math.inf), _number(a.high + b.high, math.inf)
    return Range(low, high, a.nan or b.nan or meet)


def _neg(a: Range) -> Range:
    return Range(-a.high, -a.low, a.nan)


def _infinite(a: Range) -> bool:
    return a.low == -math.inf or a.high == math.inf


def _mul(a: Range, b: Range) -> Range:
    meet = (a.has(0.0) and _infinite(b)) or (b.has(0.0) and _infinite(a))
    ends = [x * y if x and y else 0.0 for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(ends), max(ends), a.nan or b.nan or meet)


def _div(a: Range, b: Range) -> Range:
    if b.has(0.0):
        return ANY  # 0 has two signs, and quotients by them both
    ends = [_number(x / y, 0.0) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(ends), max(ends), a.nan or b.nan or (_infinite(a) and _infinite(b)))


def _chain(step: Callable[[Range, Range], Range]) -> Callable[[Sequence[Range]], Range]:
    def apply(args: Sequence[Range]) -> Range:
        total = args[0]
        for a in args[1:]:
            total = step(total, a)
        return total

    return apply


# --- functions of one number --------------------------------------------------------------------


def _abs(a: Range) -> Range:
    ends = abs(a.low), abs(a.high)
    return Range(0.0 if a.has(0.0) else min(ends), max(ends), a.nan)


def _sqrt(a: Range) -> Range:
    if a.high < 0:
        return ANY
    return Range(math.sqrt(max(a.low, 0.0)), math.sqrt(a.high), a.nan or a.low < 0)


def _step(code: str) -> Callable[[Sequence[Range]], Range]:
    """Of `floor`, `ceil` and `round`."""

    def apply(args: Sequence[Range]) -> Range:
        (a,) = args
        return Range(numerics.scalar(code, [a.low]), numerics.scalar(code, [a.high]), a.nan)

    return apply


def _outwards(low: float, high: float, nan: bool) -> Range:
    for _ in range(ULPS):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return Range(low, high, nan)


def _rising(code: str, least: float = -math.inf) -> Callable[[Sequence[Range]], Range]:
    """Of a function that rises from `least` on, and is NaN below."""

    def apply(args: Sequence[Range]) -> Range:
        (a,) = args
        if a.high < least:
            return ANY
        low = numerics.scalar(code, [max(a.low, least)])
        return _outwards(low, numerics.scalar(code, [a.high]), a.nan or a.low < least)

    return apply


def _pow(args: Sequence[Range]) -> Range:
    """Of a base above 0; its logarithm times the exponent has its ends at ends of both."""
    a, b = args
    if a.low <= 0.0 or _infinite(a) or _infinite(b):
        return ANY
    ends = [numerics.scalar("pow", [x, y]) for x in (a.low, a.high) for y in (b.low, b.high)]
    return _outwards(min(ends), max(ends), a.nan or b.nan)


# --- choices ------------------------------------------------------------------------------------


def _least(args: Sequence[Range]) -> Range:
    return Range(min(a.low for a in args), min(a.high for a in args), any(a.nan for a in args))


def _most(args: Sequence[Range]) -> Range:
    return Range(max(a.low for a in args), max(a.high for a in args), any(a.nan for a in args))


def _hull(args: Sequence[Range]) -> Range:
    return Range(min(a.low for a in args), max(a.high for a in args), any(a.nan for a in args))


def _select(args: Sequence[Range]) -> Range:
    condition, yes, no = args
    if not condition.has(0.0):
        return yes
    never = condition.low == condition.high == 0.0 and not condition.nan
    return no if never else _hull((yes, no))


def _truth(may: bool, may_not: bool) -> Range:
    return Range(0.0 if may_not else 1.0, 1.0 if may else 0.0)


def _lt(args: Sequence[Range]) -> Range:
    a, b = args
    return _truth(a.low < b.high, a.nan or b.nan or a.high >= b.low)


def _le(args: Sequence[Range]) -> Range:
    a, b = args
    return _truth(a.low <= b.high, a.nan or b.nan or a.high > b.low)


def _eq(args: Sequence[Range]) -> Range:
    a, b = args
    same = a.low == a.high == b.low == b.high
    return _truth(a.low <= b.high and b.low <= a.high, a.nan or b.nan or not same)


def _not(args: Sequence[Range]) -> Range:
    (a,) = args
    return Range(1.0 - a.high, 1.0 - a.low)


_RULES: Mapping[str, Callable[[Sequence[Range]], Range]] = {
    "neg": lambda a: _neg(a[0]),
    "abs": lambda a: _abs(a[0]),
    "sqrt": lambda a: _sqrt(a[0]),
    "add": _chain(_add),
    "sum": _chain(_add),
    "sub": lambda a: _add(a[0], _neg(a[1])),
    "mul": _chain(_mul),
    "prod": _chain(_mul),
    "div": lambda a: _div(a[0], a[1]),
    "floordiv": lambda a: _step("floor")([_div(a[0], a[1])]),
    "ceildiv": lambda a: _step("ceil")([_div(a[0], a[1])]),
    "floor": _step("floor"),
    "ceil": _step("ceil"),
    "round": _step("round"),
    "exp": _rising("exp"),
    "expm1": _rising("expm1"),
    "tanh": _rising("tanh"),
    "log": _rising("log", 0.0),
    "log2": _rising("log2", 0.0),
    "log10": _rising("log10", 0.0),
    "log1p": _rising("log1p", -1.0),
    "pow": _pow,
    "min": _least,
    "nmin": _least,
    "max": _most,
    "nmax": _most,
    "select": _select,
    "gather": lambda a: _hull(a[1:]),
    "lt": _lt,
    "le": _le,
    "eq": _eq,
    "ne": lambda a: _not([_eq(a)]),
    "and": _least,
    "or": _most,
    "not": _not,
}
