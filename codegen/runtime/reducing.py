"""A sweep reduced while it runs: blocks of points are evaluated, read and forgotten, on threads."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .block import PointBlock, Where
from .errors import CallError
from .execution_plan import ROOM, ExecutionPlan
from .point_sources import GridSource, PointSource, SourcePart
from .reductions import ReductionState, SweepReduction
from .spec import Spec
from .workers import Progress, ProgressCounter, Tasks, Tell, together, workers

FITS = 1 << 16
"""Numbers that stay in a cache of the second level while a block is looked at."""


def reduce_grid(
    plan: ExecutionPlan, reductions: Sequence[SweepReduction[Any]], *, where: Sequence[Where] = (),
    reads: Collection[str] = (), progress: Progress | bool | None = None,
    threads: int | None = None,
) -> list[ReductionState[Any]]:  # fmt: skip
    """The states of some reductions after all points of a plan.

    They can be merged with the states of other parts of the same sweep.
    """
    source = GridSource(plan)
    return reduce_source(plan, source, reductions, where=where, reads=reads, progress=progress,
                         threads=threads)  # fmt: skip


def reduce_source(
    plan: ExecutionPlan, source: PointSource, reductions: Sequence[SweepReduction[Any]], *,
    where: Sequence[Where] = (), reads: Collection[str] = (), raw: bool = False,
    progress: Progress | bool | None = None, threads: int | None = None,
) -> list[ReductionState[Any]]:  # fmt: skip
    """The states of some reductions after all points of a source.

    `where` are conditions that points must fulfil to be looked at, `reads` the outputs they read.
    """
    count = workers(threads)
    states = [r.begin(plan.spec) for r in reductions]
    wanted = {name for state in states for name in state.reads} | set(reads)
    tasks = Tasks(source.tasks())
    lock = threading.Lock()

    def work(tell: Tell) -> None:
        block = PointBlock(plan.spec, wanted, where, raw=raw, room=room_for(plan.spec, wanted))
        mine = [r.begin(plan.spec) for r in reductions]
        for task in tasks:
            done = 0
            for part in task():
                _update(mine, block, plan, part)
                done += len(part.points)
            tell(done)
        with lock:
            for whole, state in zip(states, mine, strict=True):
                whole.merge(state)

    few = source.points <= ROOM
    together(
        work, tasks, plan.kernel, 0 if few else count, ProgressCounter(progress, source.points)
    )
    return states


def _update(
    states: Sequence[ReductionState[Any]], block: PointBlock, plan: ExecutionPlan, part: SourcePart
) -> None:
    """Evaluate the points of a part, a block after the other."""
    points = part.points
    for start in range(points.start, points.stop, block.room):
        stop = min(start + block.room, points.stop)
        block.fill(plan.kernel, points, start, stop, part.first)
        for state in states:
            state.update(block)


def room_for(spec: Spec, wanted: Collection[str]) -> int:
    """The points of a block: so many that what is read of them stays in the cache."""
    each = len(spec.required) + sum(o.name in wanted for o in spec.outputs)
    return max(ROOM // 4, min(2 * ROOM, 1 << (FITS // each).bit_length() - 1))


def reductions_of(what: Any) -> dict[Any, SweepReduction[Any]]:
    """The reductions that are asked for, by name or place; CallError if there are none."""
    if isinstance(what, Mapping):
        found = dict(what)
    else:
        found = dict(enumerate(what if _is_list(what) else [what]))
    for each in found.values():
        if not hasattr(each, "begin"):
            raise CallError(f'{each!r} is no reduction, such as Best(minimize="cost")')
    if not found:
        raise CallError('nothing is asked for: give reductions, such as Best(minimize="cost")')
    return found


def answers(what: Any, found: Sequence[Any]) -> Any:
    """Answers in the form in which they were asked for."""
    if isinstance(what, Mapping):
        return dict(zip(what, found, strict=True))
    return list(found) if _is_list(what) else found[0]


def _is_list(what: Any) -> bool:
    return isinstance(what, Sequence) and not isinstance(what, str)
