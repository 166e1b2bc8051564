"""Code sinking: operations that only one arm of a selection needs run under its condition.

The graph computes both arms of every selection (if-converted form). Where the condition is scalar,
the operations that only one arm needs are sunk into a *guarded block*, as LLVM's Sink pass does, if
they cost enough; a selection by a condition that differs between lanes stays a selection, since
both arms are needed in some lane. List scheduling then orders the steps: what a guarded block reads
stands before it, what reads the block after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from hwdsl.codegen.emit.c_printer import op_cost
from hwdsl.codegen.emit.uniformity import ListAnalysis, computes
from hwdsl.codegen.ir.graph import Op
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import Gather

MIN_GUARD_COST = 24
"""Cost in plain operations from which a guarded block pays. It splits the lane loop in two, and
what leaves the block goes through a row; cheaper arms are faster as selections (decision 5)."""
Guard = tuple[int, int, int]
"""A scalar operation, the arm it selects, and of how many (0: of a `select`)."""


@frozen
class GuardedBlock:
    """Operations that run under a guard; `live_out` are those that steps outside the block read."""

    guard: Guard
    steps: tuple[int, ...]
    live_out: frozenset[int]


def guard_condition(guard: Guard, value: str) -> str:
    """The C text of a guard, given the text of its scalar."""
    _, arm, arms = guard
    if not arms:
        return f"{value} != 0.0" if arm == 0 else f"!({value} != 0.0)"
    # As `gather` reads: an index below 0 or NaN takes the first entry, one beyond the end the last.
    # `!(x >= 1.0)`, and not `x < 1.0`, is true for NaN.
    above, below = f"{value} >= {arm}.0", f"!({value} >= {arm + 1}.0)"
    return " && ".join(([above] if arm else []) + ([below] if arm + 1 < arms else []))


def schedule_with_guards(
    analysis: ListAnalysis, steps: Sequence[int], roots: Sequence[int], sizes: Sequence[int]
) -> list[int | GuardedBlock]:
    """The steps of a region in execution order, expensive arms gathered in guarded blocks."""
    assigned = _assign_guards(analysis, steps, _guards_of_steps(analysis, steps, roots), sizes)
    if not assigned:
        return list(steps)
    stages = _earliest_stages(analysis, steps, assigned)
    unguarded = _sink_unguarded(analysis, [i for i in steps if i not in assigned], stages, assigned)
    result: list[int | GuardedBlock] = []
    needed = _users(analysis, steps, roots)
    for stage in range(max(stages.values()) + 1):
        result += [i for i in steps if unguarded.get(i) == stage]
        for guard in sorted({assigned[i] for i in assigned if stages[i] == stage}):
            own = tuple(i for i in steps if assigned.get(i) == guard and stages[i] == stage)
            inside = set(own)
            live_out = {a for a, users in needed.items()
                    if defining_step(analysis, a) in inside and not users <= inside}  # fmt: skip
            result.append(GuardedBlock(guard, own, frozenset(live_out)))
    return result


def defining_step(analysis: ListAnalysis, i: int) -> int:
    """The step that computes a value: of a loop's result, the loop."""
    return analysis.ops[i].args[0] if analysis.ops[i].code == "proj" else i


def _users(
    analysis: ListAnalysis, steps: Sequence[int], roots: Sequence[int]
) -> dict[int, set[int]]:
    """Per value the steps that read it (def-use chains); -1 stands for a use after all steps."""
    users: dict[int, set[int]] = {r: {-1} for r in roots}
    for i in steps:
        for a in analysis.ops[i].args:
            users.setdefault(a, set()).add(i)
    return users


def _guards_of_steps(
    analysis: ListAnalysis, steps: Sequence[int], roots: Sequence[int]
) -> dict[int, frozenset[Guard]]:
    """Per step the guards that hold at every use of it, found backwards from the roots.

    The guards of a step are the intersection over its uses of the guards of the using step, with
    the guard of the arm added where the use is an arm of a selection.
    """
    result: dict[int, frozenset[Guard]] = {}

    def need(i: int, guards: frozenset[Guard]) -> None:
        known = result.get(defining_step(analysis, i))
        result[defining_step(analysis, i)] = guards if known is None else known & guards

    for r in roots:
        need(r, frozenset())
    for i in reversed(steps):
        op = analysis.ops[i]
        guards = result.get(i, frozenset())
        for k, a in enumerate(op.args):
            arm = _guard_of_operand(analysis, op, k)
            need(a, guards if arm is None else guards | {arm})
    return result


def _guard_of_operand(analysis: ListAnalysis, op: Op, k: int) -> Guard | None:
    """The guard of an argument that is needed under a scalar condition only."""
    record = OPERATIONS[op.code]
    if k == 0 or record.picks is None or not analysis.scalar[op.args[0]]:
        return None
    # An operand that stands in two arms is needed under either condition.
    if op.args.count(op.args[k]) > 1 or analysis.ops[op.args[0]].code == "const":
        return None
    return op.args[0], k - 1, len(op.args) - 1 if isinstance(record.compute, Gather) else 0


def _assign_guards(
    analysis: ListAnalysis, steps: Sequence[int], guards: Mapping[int, frozenset[Guard]],
    sizes: Sequence[int],
) -> dict[int, Guard]:  # fmt: skip
    """Per guarded step its guard, greedily: the guard under which most cost stands first.

    Scalar steps are left out: computed once per tile, they are cheaper than a branch.
    """
    cost = {i: _cost(analysis.ops[i], sizes) for i in steps if not analysis.scalar[i]}
    under: dict[Guard, list[int]] = {}
    for i in cost:
        for guard in guards.get(i, ()):
            under.setdefault(guard, []).append(i)
    assigned: dict[int, Guard] = {}
    for guard in sorted(under, key=lambda g: (-sum(cost[i] for i in under[g]), g)):
        unassigned = [i for i in under[guard] if i not in assigned]
        if sum(cost[i] for i in unassigned) >= MIN_GUARD_COST:
            assigned.update(dict.fromkeys(unassigned, guard))
    return assigned


def _cost(op: Op, sizes: Sequence[int]) -> int:
    if op.body is not None:
        return max(op.bound, 1) * sum(_cost(o, sizes) for o in op.body.ops)
    return op_cost(op, sizes) if computes(op) else 0


def _earliest_stages(
    analysis: ListAnalysis, steps: Sequence[int], assigned: Mapping[int, Guard]
) -> dict[int, int]:
    """Per step the earliest stage of the schedule; within a stage, unguarded steps run first and
    guarded blocks after them, so a value that leaves a block is available one stage later."""
    stages: dict[int, int] = {}
    for i in steps:
        guard = assigned.get(i)
        reads = [*analysis.ops[i].args, *(() if guard is None else guard[:1])]
        stage = 0
        for a in reads:
            o = defining_step(analysis, a)
            if o in stages:
                crosses = o in assigned and assigned[o] != guard
                stage = max(stage, stages[o] + crosses)
        stages[i] = stage
    return stages


def _sink_unguarded(
    analysis: ListAnalysis,
    unguarded: Sequence[int],
    stages: Mapping[int, int],
    assigned: Mapping[int, Guard],
) -> dict[int, int]:
    """Per unguarded step the last stage before all its readers, which shortens live ranges: fewer
    values then need a row because they are live across stages."""
    end = max(stages.values())
    limit: dict[int, int] = {}
    for i, guard in assigned.items():
        for a in (*analysis.ops[i].args, guard[0]):
            o = defining_step(analysis, a)
            limit[o] = min(limit.get(o, end), stages[i])
    for i in reversed(unguarded):
        own = limit.setdefault(i, end)
        for a in analysis.ops[i].args:
            o = defining_step(analysis, a)
            limit[o] = min(limit.get(o, end), own)
    return {i: limit[i] for i in unguarded}
