"""Points to evaluate, split among kernel calls and threads."""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import CallError
from .kernel import Axis, Floats, Kernel, Words
from .progress import Bar
from .spec import required
from .sweep import Sweep

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from .evaluator import KernelEvaluator

Progress = Callable[[int, int], None]

CHUNK = 1 << 16
FEW_CALLS, WORTH_A_CALL = 64, 256


@dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """Points to evaluate: an axis per param, how many points, and the grid's dimensions.

    `first` is the first of the points if they are a stretch of a larger grid.
    """

    evaluator: KernelEvaluator
    axes: tuple[Axis, ...]
    points: int
    dims: tuple[tuple[str, int], ...]
    first: int = 0

    def run(self, progress: Progress | bool | None = None, threads: int | None = None) -> Sweep:
        """Evaluate all points on all cores; an interrupt stops it between chunks.

        Raises CallError unless `threads` is None or a whole number from 1 on.
        """
        threads = workers(threads)
        tell = Bar() if progress is True else progress or None
        spec = self.evaluator.spec
        columns = [np.empty(self.points) for _ in spec.outputs]
        words = np.empty((self.points, len(required(spec))), np.uint64)
        groups = self._groups()
        done = 0
        for axes, span in groups:
            for start, stop, outputs, bits in _parallel(
                self.evaluator, axes, span.start, span.stop, threads
            ):
                at = span.where(start, stop)
                for column, part in zip(columns, outputs, strict=True):
                    column[at] = part
                words[at] = bits
                done += stop - start
                if tell is not None:
                    tell(done, self.points)
        return Sweep(self, columns, words)

    def iter_chunks(self, size: int, threads: int | None = None) -> Iterator[Sweep]:
        """Sweeps of at most `size` points each, in order."""
        if size < 1:
            raise CallError("a chunk has at least one point")
        for start in range(0, self.points, size):
            count = min(size, self.points - start)
            dims = (("point", count),)
            yield ExecutionPlan(self.evaluator, self.axes, count, dims, self.first + start).run(
                None, threads
            )

    def part(self, points: NDArray[np.int64]) -> ExecutionPlan:
        """The plan of some of the points, as columns."""
        axes = []
        points = points + self.first
        for values, stride, count in self.axes:
            if count == 1:
                axes.append((values, 1, 1))
            else:
                column = np.ascontiguousarray(values[points // stride % count])
                axes.append((column, 1, len(points)))
        return ExecutionPlan(self.evaluator, tuple(axes), len(points), (("point", len(points)),))

    def _groups(self) -> list[tuple[tuple[Axis, ...], PointRange]]:
        """Kernel calls: in each, params that must be uniform are."""
        last = self.first + self.points
        axes = self.axes
        uniform = [p.uniform and axis[2] > 1
                   for p, axis in zip(self.evaluator.spec.params, axes, strict=True)]  # fmt: skip
        digits = {axis[1:] for axis, u in zip(axes, uniform, strict=True) if u}
        calls = math.prod(count for _, count in digits)
        if not _nested(axes) or calls > max(FEW_CALLS, self.points // WORTH_A_CALL):
            return self._sorted([k for k, u in enumerate(uniform) if u])
        groups = [(axes, PointRange(self.first, last, self.first))]
        for digit in sorted(digits, reverse=True):
            groups = [
                (_fixed(axes, *digit, k), span.fixed(*digit, k))
                for axes, span in groups
                for k in range(digit[1])
            ]
        return [(axes, span) for axes, span in groups if span.start < span.stop]

    def _sorted(self, varying: Sequence[int]) -> list[tuple[tuple[Axis, ...], PointRange]]:
        """The kernel calls where params that must be uniform vary in columns."""
        columns = self.part(np.arange(self.points))
        keys = np.zeros(self.points, np.int64)
        for k in varying:
            kinds, index = np.unique(columns.axes[k][0], return_inverse=True)
            keys = keys * len(kinds) + index
        order = np.argsort(keys, kind="stable")
        result = []
        for at in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            axes = list(columns.part(at).axes)
            for k in varying:
                axes[k] = (axes[k][0][:1].copy(), 1, 1)
            result.append((tuple(axes), PointRange(0, len(at), 0, listed=at)))
        return result


def workers(threads: int | None) -> int:
    """How many threads to use: as many as asked for, or one a core. CallError for no number."""
    if threads is None:
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise CallError(f"threads is a whole number from 1 on, not {threads!r}")
    return operator.index(threads)


def _nested(axes: Sequence[Axis]) -> bool:
    """Whether the axes are the digits of a number, so that any one of them may be held fixed."""
    digits = sorted({(stride, count) for _, stride, count in axes if count > 1})
    return all(above[0] % (below[0] * below[1]) == 0 for below, above in itertools.pairwise(digits))


def _fixed(axes: Sequence[Axis], stride: int, count: int, k: int) -> tuple[Axis, ...]:
    """Axes of the points whose digit of this stride and count is k."""
    return tuple(
        (v[k : k + 1].copy(), 1, 1) if (s, c) == (stride, count)
        else (v, s // count if c > 1 and s > stride else s, c)
        for v, s, c in axes
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PointRange:
    """The points start..stop of a group, and where they stand in the sweep that begins at `first`.

    `held` are the digits (stride, count, value) fixed one after the other; `listed` are places.
    """

    start: int
    stop: int
    first: int
    held: tuple[tuple[int, int, int], ...] = ()
    listed: NDArray[np.int64] | None = None

    def fixed(self, stride: int, count: int, k: int) -> PointRange:
        """Those of the points whose digit is k."""

        def before(point: int) -> int:
            whole, rest = divmod(point, stride * count)
            return whole * stride + min(max(rest - k * stride, 0), stride)

        held = (*self.held, (stride, count, k))
        return PointRange(before(self.start), before(self.stop), self.first, held)

    def where(self, start: int, stop: int) -> Any:
        """The places of some of the group's points, as a slice or as indices."""
        if self.listed is not None:
            return self.listed[start:stop]
        if not self.held:
            return slice(start - self.first, stop - self.first)
        points = np.arange(start, stop)
        for stride, count, k in reversed(self.held):
            points = points // stride * (stride * count) + k * stride + points % stride
        return points - self.first


Part = tuple[int, int, list[Floats], Words]


def _parallel(
    evaluator: KernelEvaluator, axes: Sequence[Axis], start: int, stop: int, threads: int
) -> Iterator[Part]:
    """Evaluate ranges of points on several threads; few are under way at a time."""
    ranges = iter([(a, min(a + CHUNK, stop)) for a in range(start, stop, CHUNK)])
    if stop - start <= CHUNK:
        yield from (_evaluate(evaluator, axes, a, b) for a, b in ranges)
        return
    # Imported late: loading a module takes a third less time without.
    from concurrent.futures import FIRST_COMPLETED, wait

    pending: set[Future[Part]] = set()
    with pool_of(threads, evaluator.kernel) as pool:
        for _ in range(2 * threads):
            pending.update(pool.submit(_evaluate, evaluator, axes, *r) for r in _next(ranges))
        while pending:
            ready, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                pending.update(pool.submit(_evaluate, evaluator, axes, *r) for r in _next(ranges))
                yield future.result()


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


def _evaluate(evaluator: KernelEvaluator, axes: Sequence[Axis], start: int, stop: int) -> Part:
    spec = evaluator.spec
    outputs = [np.empty(stop - start) for _ in spec.outputs]
    words = np.empty((stop - start, len(required(spec))), np.uint64)
    evaluator.kernel.run(axes, start, stop, outputs, words)
    for info, column in zip(spec.outputs, outputs, strict=True):
        up, down, offset = info.scale.parts()
        if offset:
            column -= offset
        if down != 1.0:
            column *= down
        if up != 1.0:
            column /= up
    return start, stop, outputs, words
