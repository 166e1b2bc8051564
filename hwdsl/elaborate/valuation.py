"""Values of the numbers of an elaborated graph, at a point and in the rounds of its loops.

Messages and derivations ask for them: every number is that of an operation of the graph, run by the
interpreter's functions when it is asked for. A rule of a component that is made in a loop is one
number for all rounds: only they tell which of them breaks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from attrs import field, frozen

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.elaborate.values import Assertion, LoopRounds

Numbers = Callable[[Sequence[Ref]], list[float]]


@frozen(eq=False)
class Valuation:
    """Values of the numbers of a region of a graph: at a point, or in a round of a loop.

    `entering` gives those of the region's inputs by their index; `outer` is what is around the
    loop, or the call.
    """

    builder: GraphBuilder
    region: Region
    entering: Callable[[int], float]
    outer: Valuation | None = None
    _values: Callable[[int], float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        # Only what is printed needs numbers, and NumPy with them.
        from hwdsl.codegen.ir.interpreter import Point

        values = Point(self.region.ops, self.entering, self.builder.tables)
        object.__setattr__(self, "_values", values.value)

    def number(self, ref: Ref) -> float:
        """The value of a number; NaN if it stands in another loop."""
        if ref.known is not None:
            return ref.known
        at: Valuation | None = self
        while at is not None and at.region is not ref.region:
            at = at.outer
        return math.nan if at is None else at._values(ref.index)

    def rounds(self, loop: LoopRounds) -> Iterator[Valuation]:
        """The rounds of a loop, in order."""
        low, high = self.number(loop.low), self.number(loop.high)
        states = [self.number(ref) for ref in loop.initial]
        for i in range(loop.bound):
            if not low + i <= high:
                return
            at = self._inside(loop.region, [low + i, *states])
            yield at
            if loop.until is not None and at.number(loop.until) != 0.0:
                return
            states = [at.number(ref) for ref in loop.following]

    def _inside(self, region: Region, first: Sequence[float]) -> Valuation:
        def entering(index: int) -> float:
            if index < len(first):
                return first[index]
            return self.number(region.captured[index - len(first)])

        return Valuation(self.builder, region, entering, self)


def broken_round(
    builder: GraphBuilder, assertion: Assertion, point: Sequence[float]
) -> tuple[Numbers, str]:
    """The values of numbers where a rule over the rounds of loops is broken at a point, and which
    rounds these are."""
    at, where = Valuation(builder, builder.root, lambda index: point[index]), []
    for loop, held in assertion.rounds:
        found = next((inner for inner in at.rounds(loop) if inner.number(held) != 1.0), None)
        if found is None:
            break
        at = found
        where.append(f"{loop.variable} = {int(at.entering(0))}")
    return lambda refs: [at.number(ref) for ref in refs], f" (where {', '.join(where)})"
