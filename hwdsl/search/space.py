"""The space of a search: params that are free, and points in it as shares from 0 to 1.

A share is the place of a value in its range: by ratio where the range spans a factor of ten or
more, else evenly; of listed values it is the place in the list. So every search moves in a cube,
and what is whole or listed is rounded where a point is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import (
    CallError,
    ExecutionPlan,
    InUnit,
    ParamSpec,
    PointGrid,
    Sweep,
)
from hwdsl.codegen.runtime.quantity import is_many

Floats = NDArray[np.float64]

RATIO = 10.0
"""The factor between the ends of a range from which on shares are of its logarithm."""
NUDGE = 0.01
"""The share of its value by which a real moves to its neighbour."""


@frozen(eq=False)
class FreeParam:
    """A free param: from `low` to `high` in base units, or one of `values`, in their order."""

    slot: int
    param: ParamSpec = field(repr=False)
    low: float
    high: float
    values: Floats

    @property
    def count(self) -> float:
        """How many values there are; infinite for a real."""
        if len(self.values):
            return float(len(self.values))
        return self.high - self.low + 1 if self.param.kind == "int" else math.inf

    @property
    def unordered(self) -> bool:
        """Whether no value is nearer to one than to another."""
        return self.param.kind in ("choice", "bool")

    @property
    def _by_ratio(self) -> bool:
        return self.low > 0 and self.high >= RATIO * self.low

    def at(self, shares: Floats) -> Floats:
        """Values in base units at shares from 0 to 1."""
        if len(self.values):
            places = np.minimum((shares * len(self.values)).astype(np.int64), len(self.values) - 1)
            return np.asarray(self.values[places])
        low, high = self.low, self.high
        if self.param.kind == "int":
            # Each whole number has its part of the range, the ends too.
            if self._by_ratio:
                found = (low - 0.5) * ((high + 0.5) / (low - 0.5)) ** shares
            else:
                found = low - 0.5 + (high - low + 1) * shares
            return np.asarray(np.clip(np.rint(found), low, high))
        found = low * (high / low) ** shares if self._by_ratio else low + (high - low) * shares
        return np.where(shares >= 1.0, high, np.clip(found, low, high))  # ends are met exactly

    def share(self, value: float) -> float:
        """The share at which a value lies, in the middle of its part of the range."""
        if len(self.values):
            return (int(np.argmin(np.abs(self.values - value))) + 0.5) / len(self.values)
        low, high = self.low, self.high
        if self.param.kind == "int":
            low, high = low - 0.5, high + 0.5
        if low == high:
            return 0.5
        return math.log(value / low) / math.log(high / low) if self._by_ratio else (
            (value - low) / (high - low))  # fmt: skip

    def middle(self, places: NDArray[np.int64]) -> Floats:
        """The shares of values by their places from 0, where there are only so many."""
        if len(self.values):
            return (places + 0.5) / len(self.values)
        return np.array([self.share(self.low + float(p)) for p in np.arange(self.count)])[places]

    def neighbours(self, value: float) -> list[float]:
        """The values beside one: the next whole or listed ones, of a choice all others, of a real
        what lies a hundredth off."""
        if len(self.values):
            at = int(np.argmin(np.abs(self.values - value)))
            places = range(len(self.values)) if self.unordered else (at - 1, at + 1)
            inside = [p for p in places if p != at and 0 <= p < len(self.values)]
            return [float(self.values[p]) for p in inside]
        step = NUDGE * (abs(value) or self.high - self.low)
        if self.param.kind == "int":
            step = 1.0
        return [v for v in (value - step, value + step) if self.low <= v <= self.high]


@frozen(eq=False)
class Space:
    """An evaluator with the values of its params: fixed ones, and the dimensions that are free."""

    evaluator: Evaluator
    plan: ExecutionPlan = field(repr=False)
    fixed: Floats
    dimensions: tuple[FreeParam, ...]

    @property
    def points_in_all(self) -> float:
        """How many points there are; infinite if a real is free."""
        return math.prod(d.count for d in self.dimensions)

    @property
    def size(self) -> float:
        """How many points there are if a real counts as a thousand."""
        return math.prod(d.count if math.isfinite(d.count) else 1e3 for d in self.dimensions)

    def points(self, shares: Floats) -> Floats:
        """Points in base units, a row of all params for each row of shares."""
        found = np.tile(self.fixed, (len(shares), 1))
        for k, dimension in enumerate(self.dimensions):
            found[:, dimension.slot] = dimension.at(shares[:, k])
        return found

    def shares(self, points: Floats) -> Floats:
        """Rows of shares for points in base units."""
        return np.array(
            [[d.share(float(row[d.slot])) for d in self.dimensions] for row in points]
        ).reshape(len(points), len(self.dimensions))

    def evaluated(self, points: Floats, threads: int | None = None) -> Sweep:
        """The points as a sweep of one dimension."""
        count = len(points)
        free = {d.slot for d in self.dimensions}
        axes = tuple(
            (np.ascontiguousarray(points[:, k]), 1, count) if k in free and count > 1
            else (points[:1, k].copy(), 1, 1)
            for k in range(points.shape[1])
        )  # fmt: skip
        grid = PointGrid(axes, count, (("point", count),))
        return self.plan.at(grid).run(threads=threads)


def space(evaluator: Evaluator, given: Mapping[str, Any]) -> Space:
    """The space that values describe: those of one value are fixed, the others are free.

    Free is a param for which several values are given: `lo..hi` (all in between), `lo..hi step s`
    or `a,b,c` (only these), `all` (its declared range, or all its cases). Params that are not named
    have their defaults. Raises CallError if none is free, and for what does not fit.
    """
    free, single = dict[str, Any](), dict[str, Any]()
    for name, value in given.items():
        many = is_many(value) if isinstance(value, str) else isinstance(value, Sequence)
        (free if many else single)[name] = value
    if not free:
        raise CallError(
            f"{evaluator.name}: give at least one param several values, as in NAME=1..8 or NAME=all"
        )
    slots = {p.name: k for k, p in enumerate(evaluator.spec.params)}
    found = tuple(_dimension(evaluator, slots, name, value) for name, value in free.items())
    # What is free needs no default; any of its values serves to make the plan.
    first = {d.param.name: d.param.show(float(d.at(np.zeros(1))[0])) for d in found}
    plan = evaluator.plan(single, zipped={n: _in_unit(v) for n, v in first.items()})
    return Space(evaluator, plan, np.array(plan.grid.point(0)), found)


def _in_unit(value: Any) -> Any:
    """One value that a param shows, as a column."""
    return np.array([value]).view(InUnit) if isinstance(value, float) else [value]


def _read(evaluator: Evaluator, param: ParamSpec, value: Any) -> Floats:
    """Several values in base units."""
    found = evaluator.axis(param.name, value) if isinstance(value, str) else value
    return evaluator.column(param, found.view(InUnit) if isinstance(found, np.ndarray) else found)


def _dimension(evaluator: Evaluator, slots: Mapping[str, int], name: str, value: Any) -> FreeParam:
    param = evaluator.param(name)
    ends = _ends(evaluator, param, value)
    if ends is not None:
        low, high = ends
        if not low <= high:
            raise CallError(f"{name}={value}: the range is empty")
        return FreeParam(slots[name], param, low, high, np.empty(0))
    column = np.unique(_read(evaluator, param, value))
    return FreeParam(slots[name], param, float(column[0]), float(column[-1]), column)


def _ends(evaluator: Evaluator, param: ParamSpec, value: Any) -> tuple[float, float] | None:
    """The ends in base units if a value is a range without steps; None for a list."""
    if param.kind not in ("real", "int") or not isinstance(value, str):
        return None
    if value.strip() == "all" and not param.values:
        if not (math.isfinite(param.low) and math.isfinite(param.high)):
            raise CallError(f"{param.name}=all: its range has no ends; give NAME=lo..hi")
        return param.low, param.high
    low, dots, high = value.partition("..")
    if not dots or ":" in value or " step " in value or param.values:
        return None
    # As a sweep reads ends: a plain `lo` takes the unit of `hi`.
    column = _read(evaluator, param, f"{low}..{high}:2")
    return float(column[0]), float(column[-1])
