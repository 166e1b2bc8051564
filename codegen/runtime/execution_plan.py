"""Points to evaluate, split among kernel calls and threads."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import CallError
from .kernel import Axis, Floats, Kernel, Words
from .point_grid import PointGrid
from .progress import Bar
from .spec import Spec
from .sweep import Sweep

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Progress = Callable[[int, int], None]
Part = tuple[int, int, list[Floats], Words]

CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """An execution plan: a grid of points, the kernel that evaluates them, and its spec.

    The points are split into groups in which the uniform params (choices) have one value, a kernel
    call each, so that a kernel branches on them outside its lanes; a group is split into chunks for
    the threads. The kernel releases the interpreter's lock, so threads run in parallel.
    """

    spec: Spec
    kernel: Kernel
    grid: PointGrid

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.grid.points

    def run(self, progress: Progress | bool | None = None, threads: int | None = None) -> Sweep:
        """Evaluate all points on all cores; an interrupt stops it between chunks.

        Raises CallError unless `threads` is None or a whole number from 1 on.
        """
        threads = workers(threads)
        tell = shown(progress)
        columns = [np.empty(self.points) for _ in self.spec.outputs]
        words = np.empty((self.points, len(self.spec.required)), np.uint64)
        done = 0
        for axes, span in self.grid.groups([p.uniform for p in self.spec.params]):
            for start, stop, outputs, bits in self._parallel(axes, span.start, span.stop, threads):
                at = span.indices_of(start, stop)
                for column, part in zip(columns, outputs, strict=True):
                    column[at] = part
                words[at] = bits
                done += stop - start
                if tell is not None:
                    tell(done, self.points)
        return Sweep(self.spec, self.grid, columns, words)

    def iter_chunks(self, size: int, threads: int | None = None) -> Iterator[Sweep]:
        """Sweeps of at most `size` points each, in order."""
        if size < 1:
            raise CallError("a chunk has at least one point")
        for start in range(0, self.points, size):
            stretch = self.grid.stretch(start, min(size, self.points - start))
            yield self.at(stretch).run(None, threads)

    def at(self, grid: PointGrid) -> ExecutionPlan:
        """The plan of other points."""
        return ExecutionPlan(self.spec, self.kernel, grid)

    def _parallel(
        self, axes: Sequence[Axis], start: int, stop: int, threads: int
    ) -> Iterator[Part]:
        """Evaluate ranges of points on several threads; few are under way at a time."""
        ranges = iter([(a, min(a + CHUNK, stop)) for a in range(start, stop, CHUNK)])
        if stop - start <= CHUNK:
            yield from (self._evaluate(axes, a, b) for a, b in ranges)
            return
        # Imported late: loading a module takes a third less time without.
        from concurrent.futures import FIRST_COMPLETED, wait

        pending: set[Future[Part]] = set()
        with pool_of(threads, self.kernel) as pool:
            for _ in range(2 * threads):
                pending.update(pool.submit(self._evaluate, axes, *r) for r in _next(ranges))
            while pending:
                ready, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in ready:
                    pending.update(pool.submit(self._evaluate, axes, *r) for r in _next(ranges))
                    yield future.result()

    def _evaluate(self, axes: Sequence[Axis], start: int, stop: int) -> Part:
        outputs = [np.empty(stop - start) for _ in self.spec.outputs]
        words = np.empty((stop - start, len(self.spec.required)), np.uint64)
        self.kernel.run(axes, start, stop, outputs, words)
        for info, column in zip(self.spec.outputs, outputs, strict=True):
            up, down, offset = info.scale.parts()
            if offset:
                column -= offset
            if down != 1.0:
                column *= down
            if up != 1.0:
                column /= up
        return start, stop, outputs, words


def shown(progress: Progress | bool | None) -> Progress | None:
    """What is told how far a run is: for True a bar on the terminal."""
    return Bar() if progress is True else progress or None


def workers(threads: int | None) -> int:
    """The number of threads to use: the number given, or one a core. CallError if it is no
    number."""
    if threads is None:
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise CallError(f"threads is a whole number from 1 on, not {threads!r}")
    return operator.index(threads)


@contextmanager
def pool_of(threads: int, kernel: Kernel) -> Iterator[ThreadPoolExecutor]:
    """Threads that run a kernel; if the block ends early, so does what they are at."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        kernel.halt(True)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        kernel.halt(False)


def _next(ranges: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for item in ranges:
        yield item
        return
