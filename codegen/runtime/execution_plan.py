"""Points to evaluate, split among kernel calls and threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .errors import CallError
from .kernel import Axis, Floats, Kernel, Words
from .point_grid import PointGrid, PointRange
from .spec import Spec
from .sweep import Sweep
from .workers import Progress, ProgressCounter, Tasks, Tell, together, workers

CHUNK = 1 << 16
"""Points that a thread takes at a time."""
ROOM = 1 << 14
"""Points of a kernel call: a column of them takes an eighth of a cache of the second level."""


@dataclass(frozen=True)
class PointStretch:
    """Points of a group that one thread evaluates, from number `start` of the group to `stop`."""

    axes: Sequence[Axis]
    span: PointRange
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """An execution plan: a grid of points, the kernel that evaluates them, and its spec.

    The points are split into groups in which the uniform params (choices) have one value, a kernel
    call each, so that a kernel branches on them outside its lanes; a group is split into stretches
    for the threads. The kernel releases the interpreter's lock, so threads run in parallel.
    """

    spec: Spec
    kernel: Kernel
    grid: PointGrid

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.grid.points

    def stretches(self, size: int) -> Iterator[PointStretch]:
        """All points in parts of at most `size`."""
        for axes, span in self.grid.groups([p.uniform for p in self.spec.params]):
            for start in range(span.start, span.stop, size):
                yield PointStretch(axes, span, start, min(start + size, span.stop))

    def run(self, progress: Progress | bool | None = None, threads: int | None = None) -> Sweep:
        """Evaluate all points on all cores; an interrupt stops it between chunks.

        Raises CallError unless `threads` is None or a whole number from 1 on.
        """
        threads = workers(threads)
        columns = [np.empty(self.points) for _ in self.spec.outputs]
        words = np.empty((self.points, len(self.spec.required)), np.uint64)
        tasks = Tasks(self.stretches(CHUNK))

        def work(tell: Tell) -> None:
            rows = _Rows(self, columns, words)
            for part in tasks:
                rows.fill(part)
                tell(len(part))

        few = self.points <= CHUNK  # which are done before a thread has begun
        told = ProgressCounter(progress, self.points)
        together(work, tasks, self.kernel, 0 if few else threads, told)
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


class _Rows:
    """Where a thread writes: into the columns of the sweep, or where the points of a stretch do
    not stand side by side, into buffers of its own first, which are used again."""

    def __init__(self, plan: ExecutionPlan, columns: Sequence[Floats], words: Words) -> None:
        self._kernel, self._columns, self._words = plan.kernel, columns, words
        self._scales = [o.scale.parts() for o in plan.spec.outputs]
        self._buffers: tuple[list[Floats], Words] | None = None

    def fill(self, part: PointStretch) -> None:
        """Evaluate a stretch, a call after the other."""
        for start in range(part.start, part.stop, ROOM):
            stop = min(start + ROOM, part.stop)
            places = part.span.indices_of(start, stop)
            if isinstance(places, slice):
                outputs = [c[places] for c in self._columns]
                self._run(part, start, stop, outputs, self._words[places])
                continue
            outputs, bits = self._room(stop - start)
            self._run(part, start, stop, outputs, bits)
            for column, values in zip(self._columns, outputs, strict=True):
                column[places] = values
            self._words[places] = bits

    def _run(
        self, part: PointStretch, start: int, stop: int, outputs: Sequence[Floats], bits: Words
    ) -> None:
        """Fill outputs in their units, and words."""
        self._kernel.run(*part.span.gathered(part.axes, start, stop), outputs, bits)
        for (up, down, offset), column in zip(self._scales, outputs, strict=True):
            if offset:
                column -= offset
            if down != 1.0:
                column *= down
            if up != 1.0:
                column /= up

    def _room(self, count: int) -> tuple[list[Floats], Words]:
        if self._buffers is None:
            words = np.empty((ROOM, self._words.shape[1]), np.uint64)
            self._buffers = [np.empty(ROOM) for _ in self._columns], words
        columns, words = self._buffers
        return [c[:count] for c in columns], words[:count]
