"""Case analysis: whether a condition of a graph under construction holds for all choices.

The alternatives of the choices are enumerated and the condition is evaluated for each combination,
with three-valued logic: None is a value that depends on more than the choices. Choices are few, and
a limit ends what would take long: then the condition counts as not proved (decision 13).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.codegen.ir.graph import fold
from hwdsl.codegen.operations import OPERATIONS

__all__ = ["is_always_true"]

MAX_OPERATIONS = 2_000
"""Operations that are evaluated for one combination of choices; beyond, nothing is proved."""
MAX_COMBINATIONS = 1_024


def is_always_true(
    builder: GraphBuilder, condition: Ref, choices: Sequence[tuple[Ref, int]]
) -> bool:
    """Whether a condition is 1 at every point; False if that cannot be told.

    It is if it is so for each combination of `choices` (bools, or ints below the number beside
    them), or else for each of the choices that are params.
    """
    if condition.known is not None:
        return condition.known == 1.0
    # Two ways, since neither covers the other: the selectors may depend on params that are no
    # choices, and choices that exclude each other are only seen in the params they come from.
    given = [(ref, [float(k) for k in range(count)]) for ref, count in choices]
    return any(
        _holds_in_all_cases(builder, condition, each) for each in (given, _choice_params(builder))
    )


def _holds_in_all_cases(
    builder: GraphBuilder, condition: Ref, choices: Sequence[tuple[Ref, Sequence[float]]]
) -> bool:
    cases: list[Values] = [{}]
    for ref, values in _read_by(condition, choices):
        cases = [{**case, _key(ref): value} for case in cases for value in values]
        # The number grows as the product of the choices; too many count as not proved.
        if len(cases) > MAX_COMBINATIONS:
            return False
    return all(_CaseEvaluator(builder, case).value(condition) == 1.0 for case in cases)


def _read_by(
    condition: Ref, choices: Sequence[tuple[Ref, Sequence[float]]]
) -> Sequence[tuple[Ref, Sequence[float]]]:
    """The choices on which a condition depends: the others only multiply its cases."""
    given = {_key(ref) for ref, _ in choices}
    seen: set[tuple[int, int]] = set()
    todo = [condition]
    while todo:
        ref = todo.pop()
        if _key(ref) in seen:
            continue
        seen.add(_key(ref))
        if len(seen) > MAX_OPERATIONS:
            return choices
        if _key(ref) in given:
            continue  # What a choice is computed from is not asked where it is given.
        region, at = ref.region, ref.op.index - 1 - ref.region.carries
        if ref.op.code == "input" and at >= 0:
            todo.append(region.captured[at])
        todo.extend(Ref(region, a) for a in ref.op.args)
    return [choice for choice in choices if _key(choice[0]) in seen]


def _choice_params(builder: GraphBuilder) -> list[tuple[Ref, Sequence[float]]]:
    """The choices that are params, with their alternatives."""
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
class _CaseEvaluator:
    """Values of operations where some are given; None for those that depend on more.

    The values of `and`, `or` and selections may be known though an operand is not (Kleene logic).
    """

    builder: GraphBuilder
    values: Values
    fuel: int = field(default=MAX_OPERATIONS)

    def value(self, ref: Ref) -> float | None:
        """The value, computed once."""
        key = _key(ref)
        if key not in self.values:
            self.fuel -= 1
            self.values[key] = None if self.fuel < 0 else self._compute(ref)
        return self.values[key]

    def _compute(self, ref: Ref) -> float | None:
        op, region = ref.op, ref.region
        if op.code == "const":
            return op.value
        if op.code == "input":
            return self._captured(region, op.index)
        record = OPERATIONS[op.code]
        # A param without a given value, and a loop's result, depend on more than the choices.
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

    def _captured(self, region: Region, index: int) -> float | None:
        """The value of a capture of a loop's body; its variable and carries differ by round."""
        at = index - 1 - region.carries
        return None if at < 0 else self.value(region.captured[at])
