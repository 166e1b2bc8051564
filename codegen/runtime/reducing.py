"""A sweep reduced while it runs: blocks of points are evaluated, read and forgotten, on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .block import ROOM, Block, Where
from .errors import CallError
from .execution_plan import ExecutionPlan, Progress, pool_of, shown, workers
from .kernel import Axis
from .point_grid import PointGrid, PointRange
from .reductions import Reduction, State
from .spec import Spec

LOOK = 0.1
"""Seconds between two looks at how far the threads are."""
STRETCH = 16
"""Blocks that a thread takes at a time: to take one takes a lock."""


@dataclass(frozen=True)
class Stretch:
    """Points of a group that are evaluated one block after the other by one thread.

    `first` is the number that the sweep's first point has.
    """

    axes: Sequence[Axis]
    span: PointRange
    start: int
    stop: int
    first: int


Task = Callable[[], Iterable[Stretch]]
"""Work of a thread; what is done in it, is done by that thread."""


class Source(Protocol):
    """Where points come from: a grid, draws, a table."""

    @property
    def points(self) -> int | None:
        """How many there are, if that is known."""

    def tasks(self) -> Iterator[Task]:
        """The points in parts; the next part is asked for by one thread at a time."""


@dataclass(frozen=True)
class GridSource:
    """The points of a grid."""

    spec: Spec
    grid: PointGrid

    @property
    def points(self) -> int:
        """How many there are."""
        return self.grid.points

    def tasks(self) -> Iterator[Task]:
        """The points in parts."""
        for found in stretches(self.spec, self.grid, self.grid.first):
            yield lambda found=found: (found,)  # type: ignore[misc]


def stretches(spec: Spec, grid: PointGrid, first: int) -> Iterator[Stretch]:
    """The points of a grid in parts; the first of them has the number `first`."""
    for axes, span in grid.groups([p.uniform for p in spec.params]):
        for start in range(span.start, span.stop, STRETCH * ROOM):
            stop = min(start + STRETCH * ROOM, span.stop)
            yield Stretch(axes, span, start, stop, first)


def reduce_grid(
    plan: ExecutionPlan, reductions: Sequence[Reduction[Any]], *, where: Sequence[Where] = (),
    reads: Collection[str] = (), progress: Progress | bool | None = None,
    threads: int | None = None,
) -> list[State[Any]]:  # fmt: skip
    """The states of some reductions after all points of a plan.

    They can be merged with the states of other parts of the same sweep.
    """
    source = GridSource(plan.spec, plan.grid)
    return reduce_source(plan, source, reductions, where=where, reads=reads, progress=progress,
                         threads=threads)  # fmt: skip


def reduce_source(
    plan: ExecutionPlan, source: Source, reductions: Sequence[Reduction[Any]], *,
    where: Sequence[Where] = (), reads: Collection[str] = (), raw: bool = False,
    progress: Progress | bool | None = None, threads: int | None = None,
) -> list[State[Any]]:  # fmt: skip
    """The states of some reductions after all points of a source.

    `where` are conditions that points must fulfil to be looked at, `reads` the outputs they read.
    """
    count, told = workers(threads), shown(progress)
    run = _Run(plan, source, reductions, where, reads, raw)
    if count == 1:
        run.work(lambda done: told and told(done, source.points or done))
    else:
        _on_threads(run, told, count)
    return run.states


class _Run:
    """A reduction under way: tasks that are left, and the states of threads that have ended."""

    def __init__(
        self, plan: ExecutionPlan, source: Source, reductions: Sequence[Reduction[Any]],
        where: Sequence[Where], reads: Collection[str], raw: bool,
    ) -> None:  # fmt: skip
        self.plan, self.source, self.reductions = plan, source, reductions
        self.where, self.raw = where, raw
        self.states: list[State[Any]] = [r.begin(plan.spec) for r in reductions]
        self.wanted = {n for state in self.states for n in state.reads} | set(reads)
        self.done, self.ended = 0, False
        self._tasks = source.tasks()
        self._lock = threading.Lock()

    def _next(self, done: int) -> Task | None:
        """The next task for a thread that has done so many points of the last one."""
        with self._lock:
            self.done += done
            return None if self.ended else next(self._tasks, None)

    def work(self, tell: Callable[[int], object] = lambda done: None) -> None:
        """Do tasks until none is left."""
        block = Block(self.plan.spec, self.wanted, self.where, raw=self.raw)
        states = [r.begin(self.plan.spec) for r in self.reductions]
        kernel, done = self.plan.kernel, 0
        while (task := self._next(done)) is not None:
            done = 0
            for part in task():
                for start in range(part.start, part.stop, ROOM):
                    stop = min(start + ROOM, part.stop)
                    block.fill(kernel, part.axes, part.span, start, stop, part.first)
                    for state in states:
                        state.update(block)
                done += part.stop - part.start
            tell(self.done + done)
        with self._lock:
            for whole, state in zip(self.states, states, strict=True):
                whole.merge(state)


def _on_threads(run: _Run, progress: Progress | None, threads: int) -> None:
    """Do the work on so many threads; an interrupt ends them soon."""
    from concurrent.futures import FIRST_EXCEPTION, wait

    with pool_of(threads, run.plan.kernel) as pool:
        left = {pool.submit(run.work) for _ in range(threads)}
        try:
            while left:
                ready, left = wait(left, LOOK, FIRST_EXCEPTION)
                for future in ready:
                    future.result()
                if progress is not None:
                    progress(run.done, run.source.points or run.done)
        finally:
            run.ended = True  # what fails or is interrupted ends the other threads too


def reductions_of(what: Any) -> dict[Any, Reduction[Any]]:
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
