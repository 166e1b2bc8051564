"""The points of a sweep: an axis of values per param, and how a point's number picks from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import Axis

FEW_CALLS, WORTH_A_CALL = 64, 256


@dataclass(frozen=True, eq=False)
class PointGrid:
    """Points: an axis per param, how many points, and the grid's dimensions.

    `first` is the first of the points if they are a stretch of a larger grid.
    """

    axes: tuple[Axis, ...]
    points: int
    dims: tuple[tuple[str, int], ...]
    first: int = 0

    def point(self, number: int) -> list[float]:
        """One of the points: a value per param, in base units."""
        at = number + self.first
        return [float(values[at // stride % count]) for values, stride, count in self.axes]

    def subset(self, points: NDArray[np.int64]) -> PointGrid:
        """Some of the points, as columns."""
        axes = []
        points = points + self.first
        for values, stride, count in self.axes:
            if count == 1:
                axes.append((values, 1, 1))
            else:
                column = np.ascontiguousarray(values[points // stride % count])
                axes.append((column, 1, len(points)))
        return PointGrid(tuple(axes), len(points), (("point", len(points)),))

    def stretch(self, start: int, count: int) -> PointGrid:
        """So many of the points one after the other, from number `start` on."""
        return PointGrid(self.axes, count, (("point", count),), self.first + start)

    def groups(self, uniform: Sequence[bool]) -> list[tuple[tuple[Axis, ...], PointRange]]:
        """The points in groups, in each of which the params that must be uniform are."""
        last = self.first + self.points
        axes = self.axes
        uniform = [u and axis[2] > 1 for u, axis in zip(uniform, axes, strict=True)]
        digits = {axis[1:] for axis, u in zip(axes, uniform, strict=True) if u}
        calls = math.prod(count for _, count in digits)
        if not _nested(axes) or calls > max(FEW_CALLS, self.points // WORTH_A_CALL):
            return self._sorted([k for k, u in enumerate(uniform) if u])
        groups = [(axes, PointRange(self.first, last, self.first))]
        for digit in sorted(digits, reverse=True):
            groups = [
                (_fixed(axes, *digit, k), span.with_fixed_digit(*digit, k))
                for axes, span in groups
                for k in range(digit[1])
            ]
        return [(axes, span) for axes, span in groups if span.start < span.stop]

    def _sorted(self, varying: Sequence[int]) -> list[tuple[tuple[Axis, ...], PointRange]]:
        """The groups where params that must be uniform vary in columns."""
        points = np.arange(self.first, self.first + self.points)
        keys, kinds = np.zeros(self.points, np.int64), 1
        for k in varying:
            values, stride, count = self.axes[k]
            codes, known = _codes(values)
            keys = keys * known + codes[points // stride % count]
            kinds *= known
        # A stable sort of small numbers takes one pass over them for each of their bytes.
        keys = keys.astype(np.uint16) if kinds <= 1 << 16 else keys
        order = np.argsort(keys, kind="stable")
        result = []
        for at in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            if not len(at):
                continue
            axes = list(self.axes)
            for k in varying:
                values, stride, count = axes[k]
                value = values[(int(at[0]) + self.first) // stride % count]
                axes[k] = (np.array([value]), 1, 1)
            result.append((tuple(axes), PointRange(0, len(at), self.first, listed=at)))
        return result


def _codes(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Values as numbers from 0 on, and how many numbers that takes; most are such already."""
    whole = values.astype(np.int64)
    if values.min() >= 0 and values.max() < 1 << 8 and (whole == values).all():
        return whole, int(whole.max()) + 1
    kinds, found = np.unique(values, return_inverse=True)
    return found.astype(np.int64), len(kinds)


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

    `held` are the digits (stride, count, value) fixed one after the other. `listed` are places of
    points that stand anywhere: the axes of such a group are those of the whole grid.
    """

    start: int
    stop: int
    first: int
    held: tuple[tuple[int, int, int], ...] = ()
    listed: NDArray[np.int64] | None = None

    def with_fixed_digit(self, stride: int, count: int, k: int) -> PointRange:
        """Those of the points whose digit is k."""

        def before(point: int) -> int:
            whole, rest = divmod(point, stride * count)
            return whole * stride + min(max(rest - k * stride, 0), stride)

        held = (*self.held, (stride, count, k))
        return PointRange(before(self.start), before(self.stop), self.first, held)

    def gathered(
        self, axes: Sequence[Axis], start: int, stop: int
    ) -> tuple[Sequence[Axis], int, int]:
        """Axes and a range of points that a kernel takes, for some of the group's points."""
        if self.listed is None:
            return axes, start, stop
        points = self.listed[start:stop] + self.first
        found = []
        for values, stride, count in axes:
            if count == 1:
                found.append((values, 1, 1))
            else:
                at = (
                    points if stride == 1 and len(values) > points[-1] else points // stride % count
                )
                found.append((values[at], 1, len(points)))
        return found, 0, stop - start

    def indices_of(self, start: int, stop: int) -> Any:
        """The places of some of the group's points, as a slice or as indices."""
        if self.listed is not None:
            return self.listed[start:stop]
        if not self.held:
            return slice(start - self.first, stop - self.first)
        return self.places_of(np.arange(start, stop))

    def place_of(self, point: int) -> int:
        """The place of one point of the group by its number in it."""
        if self.listed is not None:
            return int(self.listed[point])
        for stride, count, k in reversed(self.held):
            point = point // stride * (stride * count) + k * stride + point % stride
        return point - self.first

    def places_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of points of the group by their numbers in it."""
        if self.listed is not None:
            return self.listed[points]
        for stride, count, k in reversed(self.held):
            points = points // stride * (stride * count) + k * stride + points % stride
        return points - self.first
