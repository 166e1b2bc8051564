"""Points that a reduction keeps: their numbers, params, costs and group, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .block import Places, PointBlock
from .kernel import Floats
from .point_grid import PointGrid

if TYPE_CHECKING:
    from .execution_plan import ExecutionPlan
    from .sweep import Sweep


@dataclass(frozen=True, eq=False)
class KeptPoints:
    """Points of a sweep: a number, params in base units, a row of costs and a group of each.

    The numbers are unique, and each stands for the same point in all parts of a sweep.
    """

    numbers: NDArray[np.int64]
    params: Floats
    costs: Floats
    groups: NDArray[np.int64]

    @staticmethod
    def none(params: int, costs: int) -> KeptPoints:
        """No points, with so many params and costs each."""
        empty = np.empty(0, np.int64)
        return KeptPoints(empty, np.empty((0, params)), np.empty((0, costs)), empty)

    @staticmethod
    def of(
        block: PointBlock, places: Places, costs: Floats, groups: NDArray[np.int64] | None = None
    ) -> KeptPoints:
        """The points at some places of a block."""
        if groups is None:
            groups = np.zeros(len(places), np.int64)
        return KeptPoints(block.numbers(places), block.points(places), costs, groups)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, at: NDArray[np.int64] | NDArray[np.bool_]) -> KeptPoints:
        """Some of them, in that order."""
        return KeptPoints(self.numbers[at], self.params[at], self.costs[at], self.groups[at])

    def with_groups(self, groups: NDArray[np.int64]) -> KeptPoints:
        """The same points in other groups."""
        return KeptPoints(self.numbers, self.params, self.costs, groups)

    @staticmethod
    def joined(parts: Sequence[KeptPoints]) -> KeptPoints:
        """All points of some parts."""
        if len(parts) == 1:
            return parts[0]
        return KeptPoints(
            np.concatenate([p.numbers for p in parts]),
            np.concatenate([p.params for p in parts]),
            np.concatenate([p.costs for p in parts]),
            np.concatenate([p.groups for p in parts]),
        )

    def evaluated(self, plan: ExecutionPlan) -> Sweep:
        """The points as a sweep of one dimension."""
        count = len(self)
        axes = []
        for k in range(self.params.shape[1]):
            column = np.ascontiguousarray(self.params[:, k])
            axes.append((column, 1, count) if count > 1 else (column, 1, 1))
        if not count:
            axes = [(np.zeros(1), 1, 1) for _ in axes]
        grid = PointGrid(tuple(axes), count, (("point", count),))
        return plan.at(grid).run(threads=1)
