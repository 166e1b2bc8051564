"""Whether a condition under construction holds whatever the choices are that it depends on."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.codegen.ir.graph import fold
from hwdsl.codegen.operations import OPERATIONS

__all__ = ["always"]

MOST = 2_000
"""Operations that are looked at for one combination of choices; beyond, nothing is decided."""
COMBINATIONS = 1_024


def always(builder: GraphBuilder, condition: Ref, choices: Sequence[tuple[Ref, int]]) -> bool:
    """Whether a condition is 1 at every point; False if that cannot be told.

    It is if it is so for each combination of `choices` (bools, or ints below the number beside
    them), or else for each of the choices that are params.
    """
    if condition.known is not None:
        return condition.known == 1.0
    given = [(ref, [float(k) for k in range(count)]) for ref, count in choices]
    return any(_in_all_cases(builder, condition, each) for each in (given, _params(builder)))


def _in_all_cases(
    builder: GraphBuilder, condition: Ref, choices: Sequence[tuple[Ref, Sequence[float]]]
) -> bool:
    cases: list[Values] = [{}]
    for ref, values in choices:
        cases = [{**case, _key(ref): value} for case in cases for value in values]
        if len(cases) > COMBINATIONS:
            return False
    return all(_Case(builder, case).value(condition) == 1.0 for case in cases)


def _params(builder: GraphBuilder) -> list[tuple[Ref, Sequence[float]]]:
    """The choices that are params, with what they may be."""
    found: list[tuple[Ref, Sequence[float]]] = []
    for i, op in enumerate(builder.root.ops):
        if op.code == "param" and builder.params[op.index].uniform:
            param = builder.params[op.index]
            values = [float(v) for v in range(int(param.low), int(param.high) + 1)]
            found.append((Ref(builder.root, i), values))
    return found


Values = dict[tuple[int, int], float | None]


def _key(ref: Ref) -> tuple[int, int]:
    return id(ref.region), ref.index


@define(eq=False)
class _Case:
    """Values where some are given; None for those that depend on more."""

    builder: GraphBuilder
    values: Values
    left: int = field(default=MOST)

    def value(self, ref: Ref) -> float | None:
        """The value, calculated once."""
        key = _key(ref)
        if key not in self.values:
            self.left -= 1
            self.values[key] = None if self.left < 0 else self._found(ref)
        return self.values[key]

    def _found(self, ref: Ref) -> float | None:
        op, region = ref.op, ref.region
        if op.code == "const":
            return op.value
        if op.code == "input":
            return self._entering(region, op.index)
        record = OPERATIONS[op.code]
        if record.structural:
            return None
        args = [Ref(region, a) for a in op.args]
        first = self.value(args[0])
        if record.decider is not None:
            second = None if first == record.decider else self.value(args[1])
            if record.decider in (first, second):
                return record.decider
        elif record.picks is not None and first is not None:
            return self.value(args[record.picks(first, len(args))])
        known: list[float] = []
        for arg in args:
            found = self.value(arg)
            if found is None:
                return None
            known.append(found)
        return fold(op.code, known, self.builder.tables, op.index)

    def _entering(self, region: Region, index: int) -> float | None:
        """What a loop's body takes from outside; its variable and states differ by round."""
        at = index - 1 - region.carries
        return None if at < 0 else self.value(region.captured[at])
