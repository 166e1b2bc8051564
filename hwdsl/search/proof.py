"""Proving by interval arithmetic that an output equals a target nowhere else.

Input: the graph of an output with its derivative by one param, the values of the others, stretches
of the param. Output: the stretches in which a root that is not known cannot be excluded. A box (a
stretch of the param) is decided if the output's interval excludes the target; if the output is
continuous there and the interval of its derivative excludes 0, so that values at the ends decide;
or if it has two numbers only. Other boxes are halved. source: R. Moore, Interval Analysis, 1966.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attrs import define, field, frozen

from hwdsl.codegen.ir.dependence import param_masks
from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.ir.interpreter import Point
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.derivatives import NoRule
from hwdsl.codegen.operations.intervals import Range, minus
from hwdsl.codegen.passes.interval_analysis import range_transfer

WORK = 400_000
"""Operations on intervals, after which what is left is unproven: a second or two."""
NEAR = 1e-6
"""How near to a known root, in shares of it, a box is told to be about that root."""


@frozen
class Enclosure:
    """What an output does in a stretch of the param: its interval, that of its derivative, and
    whether it is continuous there for sure."""

    value: Range
    slope: Range
    continuous: bool


@define(eq=False)
class OutputIntervals:
    """An output and its derivative by one param over stretches of it, at a point of the others.

    What does not depend on the param is known to the bit; `work` counts the operations done.
    """

    graph: Graph
    slot: int
    point: Sequence[float]
    work: int = 0
    _known: dict[int, Range] = field(factory=dict)
    _steps: list[int] = field(factory=list)
    _of_value: frozenset[int] = frozenset()

    def __attrs_post_init__(self) -> None:
        ops, (value, slope) = self.graph.ops, (i for _, i in self.graph.outputs)
        depends = [bool(mask >> self.slot & 1) for mask in param_masks(ops)]
        needed = self._behind([value, slope], depends)
        at = Point(ops, lambda index: self.point[index], self.graph.tables)
        self._steps = sorted(i for i in needed if depends[i])
        for i in {a for k in self._steps for a in ops[k].args} | {value, slope}:
            if not depends[i] and ops[i].body is None:
                number = at.value(i)
                self._known[i] = Range(number, number, nan=number != number)
        self._of_value = frozenset(self._behind([value], depends))

    def _behind(self, roots: Sequence[int], depends: Sequence[bool]) -> set[int]:
        """What values depend on, as far as that depends on the param."""
        found, todo = set[int](), list(roots)
        while todo:
            i = todo.pop()
            if i not in found:
                found.add(i)
                todo += [a for a in self.graph.ops[i].args if depends[a]]
        return found

    @property
    def has_loop(self) -> bool:
        """Whether a loop depends on the param, of which intervals tell nothing."""
        return any(self.graph.ops[i].body is not None for i in self._steps)

    def over(self, low: float, high: float) -> Enclosure:
        """What the output does in a stretch of the param, in base units."""
        ranges, continuous = dict(self._known), True
        self.work += len(self._steps)
        for i in self._steps:
            op = self.graph.ops[i]
            if op.code == "param":
                ranges[i] = Range(low, high)
                continue
            args = [ranges[a] for a in op.args] if op.body is None else []
            ranges[i] = range_transfer(op, args, self.graph.tables)
            if continuous and i in self._of_value and _may_jump(op, ranges[i], args):
                continuous = False
        value, slope = (ranges[i] for _, i in self.graph.outputs)
        return Enclosure(value, slope, continuous)


def _may_jump(op: Op, found: Range, args: Sequence[Range]) -> bool:
    """Whether an operation may jump where its operands do not, or one of them jumped."""
    record = OPERATIONS[op.code]
    if record.structural:
        return True
    if isinstance(record.derivative, NoRule):  # a step, a comparison, an entry of a table
        return found.low != found.high or found.nan
    if record.picks is not None and (args[0].low != args[0].high or args[0].nan):
        return True
    return found.nan or not (math.isfinite(found.low) and math.isfinite(found.high))


def unproven(
    sides: Sequence[OutputIntervals],
    target: float,
    stretch: tuple[float, float],
    known: Sequence[float],
    settled: Sequence[tuple[float, float]],
) -> list[tuple[float, float]]:
    """Stretches in which a root that is not among `known` cannot be excluded.

    The difference is that of two `sides`, or of one and a constant `target`; all in base units.
    `settled` are stretches that are not asked about.
    """
    if any(side.has_loop for side in sides):
        return [stretch]

    def difference(low: float, high: float) -> Enclosure:
        first = sides[0].over(low, high)
        if len(sides) == 1:
            return Enclosure(minus(first.value, Range(target, target)), first.slope,
                             first.continuous)  # fmt: skip
        second = sides[1].over(low, high)
        return Enclosure(minus(first.value, second.value), minus(first.slope, second.slope),
                         first.continuous and second.continuous)  # fmt: skip

    left, todo = list[tuple[float, float]](), [stretch]
    while todo:
        low, high = todo.pop()
        if any(a <= low and high <= b for a, b in settled):
            continue
        if sum(side.work for side in sides) > WORK:
            left.append((low, high))
            continue
        if _decided(difference, low, high, known):
            continue
        middle = _middle(low, high)
        if not low < middle < high or _about(low, high, known):
            left.append((low, high))
        else:
            todo += [(middle, high), (low, middle)]
    return _joined([each for each in left if not _about(*each, known)])


def _decided(
    difference: Callable[[float, float], Enclosure], low: float, high: float,
    known: Sequence[float],
) -> bool:  # fmt: skip
    """Whether a box has no root, or exactly one, which is known."""
    found = difference(low, high)
    if not found.value.has(0.0):
        return True
    two = math.nextafter(low, math.inf) >= high
    monotone = found.continuous and not found.slope.nan and not found.slope.has(0.0)
    if not (two or monotone):
        return False
    if any(low <= x <= high for x in known):
        return True
    first, last = (difference(x, x).value for x in (low, high))
    same = (first.low > 0 and last.low > 0) or (first.high < 0 and last.high < 0)
    if two and not found.continuous:  # a jump past the target is no root
        return all(end.nan or not end.has(0.0) for end in (first, last))
    return same


def _middle(low: float, high: float) -> float:
    if low > 0 and high > 16 * low:
        return math.sqrt(low) * math.sqrt(high)
    return low + (high - low) / 2


def _about(low: float, high: float, known: Sequence[float]) -> bool:
    """Whether a box is so near to a known root that it is told to be about that."""
    return any(max(abs(low - x), abs(high - x)) <= NEAR * abs(x) for x in known)


def _joined(stretches: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches that meet, as one."""
    found: list[tuple[float, float]] = []
    for low, high in sorted(stretches):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found
