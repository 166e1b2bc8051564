"""Which operations need not run because a condition is the same for all points of a tile.

A selection by a scalar condition needs one of its arms. Operations that nothing but such an arm
needs, if they cost enough, become a *branch*: code that runs under the condition. Their order
follows: what a branch needs stands before it, what needs a branch after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from hwdsl.codegen.emit.c_printer import weight
from hwdsl.codegen.emit.uniformity import ListAnalysis, computes
from hwdsl.codegen.ir.graph import Op
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import Gather

WORTH, CROSSING = 24, 4
Guard = tuple[int, int, int]
"""A scalar operation, the arm it selects, and of how many (0: of a `select`)."""


@frozen
class GuardedBlock:
    """Operations to run under a guard, and those of them that others need."""

    guard: Guard
    steps: tuple[int, ...]
    keep: frozenset[int]


def guard_condition(guard: Guard, value: str) -> str:
    """The C text of a guard, given the text of its scalar."""
    _, arm, arms = guard
    if not arms:
        return f"{value} != 0.0" if arm == 0 else f"!({value} != 0.0)"
    above, below = f"{value} >= {arm}.0", f"!({value} >= {arm + 1}.0)"
    return " && ".join(([above] if arm else []) + ([below] if arm + 1 < arms else []))


def schedule_with_guards(
    shape: ListAnalysis, steps: Sequence[int], roots: Sequence[int], sizes: Sequence[int]
) -> list[int | GuardedBlock]:
    """The steps of a region in an order that works, dear arms gathered in branches."""
    chosen = _chosen(shape, steps, _guards(shape, steps, roots), sizes)
    if not chosen:
        return list(steps)
    stages = _stages(shape, steps, chosen)
    singles = _latest(shape, [i for i in steps if i not in chosen], stages, chosen)
    result: list[int | GuardedBlock] = []
    needed = _needed(shape, steps, roots)
    for stage in range(max(stages.values()) + 1):
        result += [i for i in steps if singles.get(i) == stage]
        for guard in sorted({chosen[i] for i in chosen if stages[i] == stage}):
            own = tuple(i for i in steps if chosen.get(i) == guard and stages[i] == stage)
            inside = set(own)
            keep = {a for a, users in needed.items()
                    if defining_step(shape, a) in inside and not users <= inside}  # fmt: skip
            result.append(GuardedBlock(guard, own, frozenset(keep)))
    return result


def defining_step(shape: ListAnalysis, i: int) -> int:
    """The step that makes a value: of a loop's result, the loop."""
    return shape.ops[i].args[0] if shape.ops[i].code == "proj" else i


def _needed(shape: ListAnalysis, steps: Sequence[int], roots: Sequence[int]) -> dict[int, set[int]]:
    """Per value the steps that read it; -1 stands for what comes after them all."""
    users: dict[int, set[int]] = {r: {-1} for r in roots}
    for i in steps:
        for a in shape.ops[i].args:
            users.setdefault(a, set()).add(i)
    return users


def _guards(
    shape: ListAnalysis, steps: Sequence[int], roots: Sequence[int]
) -> dict[int, frozenset[Guard]]:
    """Per step the guards under which alone it is needed."""
    result: dict[int, frozenset[Guard]] = {}

    def need(i: int, guards: frozenset[Guard]) -> None:
        known = result.get(defining_step(shape, i))
        result[defining_step(shape, i)] = guards if known is None else known & guards

    for r in roots:
        need(r, frozenset())
    for i in reversed(steps):
        op = shape.ops[i]
        guards = result.get(i, frozenset())
        for k, a in enumerate(op.args):
            arm = _arm(shape, op, k)
            need(a, guards if arm is None else guards | {arm})
    return result


def _arm(shape: ListAnalysis, op: Op, k: int) -> Guard | None:
    """The guard of an argument that is needed under a scalar condition only."""
    record = OPERATIONS[op.code]
    if k == 0 or record.picks is None or not shape.scalar[op.args[0]]:
        return None
    if op.args.count(op.args[k]) > 1 or shape.ops[op.args[0]].code == "const":
        return None
    return op.args[0], k - 1, len(op.args) - 1 if isinstance(record.compute, Gather) else 0


def _chosen(
    shape: ListAnalysis, steps: Sequence[int], guards: Mapping[int, frozenset[Guard]],
    sizes: Sequence[int],
) -> dict[int, Guard]:  # fmt: skip
    """Per step of a branch its guard: the guard that saves most first."""
    cost = {i: _cost(shape.ops[i], sizes) for i in steps if not shape.scalar[i]}
    under: dict[Guard, list[int]] = {}
    for i in cost:
        for guard in guards.get(i, ()):
            under.setdefault(guard, []).append(i)
    chosen: dict[int, Guard] = {}
    for guard in sorted(under, key=lambda g: (-sum(cost[i] for i in under[g]), g)):
        mine = [i for i in under[guard] if i not in chosen]
        if sum(cost[i] for i in mine) >= WORTH:
            chosen.update(dict.fromkeys(mine, guard))
    return chosen


def _cost(op: Op, sizes: Sequence[int]) -> int:
    if op.body is not None:
        return max(op.bound, 1) * sum(_cost(o, sizes) for o in op.body.ops)
    return weight(op, sizes) if computes(op) else 0


def _stages(
    shape: ListAnalysis, steps: Sequence[int], chosen: Mapping[int, Guard]
) -> dict[int, int]:
    """Per step the earliest stage; in each, steps on their own come before branches."""
    stages: dict[int, int] = {}
    for i in steps:
        guard = chosen.get(i)
        reads = [*shape.ops[i].args, *(() if guard is None else guard[:1])]
        stage = 0
        for a in reads:
            o = defining_step(shape, a)
            if o in stages:
                apart = o in chosen and chosen[o] != guard
                stage = max(stage, stages[o] + apart)
        stages[i] = stage
    return stages


def _latest(
    shape: ListAnalysis,
    singles: Sequence[int],
    stages: Mapping[int, int],
    chosen: Mapping[int, Guard],
) -> dict[int, int]:
    """Per step on its own the last stage that serves all who read it, so that less crosses."""
    end = max(stages.values())
    limit: dict[int, int] = {}
    for i, guard in chosen.items():
        for a in (*shape.ops[i].args, guard[0]):
            o = defining_step(shape, a)
            limit[o] = min(limit.get(o, end), stages[i])
    for i in reversed(singles):
        own = limit.setdefault(i, end)
        for a in shape.ops[i].args:
            o = defining_step(shape, a)
            limit[o] = min(limit.get(o, end), own)
    return {i: limit[i] for i in singles}
