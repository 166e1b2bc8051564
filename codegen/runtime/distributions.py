"""How an output is distributed over a sweep: quantiles, histograms, counts by rule.

All states are counts, which add up in any order. Quantiles are those of DDSketch with linearly
interpolated buckets. source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: a fast and fully-mergeable
quantile sketch with relative-error guarantees", PVLDB 12(12), 2019, section 2.2 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import violated
from .block import PointBlock
from .errors import CallError
from .kernel import Floats
from .objectives import Objective, objective
from .spec import Spec

if TYPE_CHECKING:
    from .execution_plan import ExecutionPlan

BITS = 9
"""Bits of the fraction that tell buckets apart: 512 between a number and its double."""
ERROR = 2.0 ** -(BITS + 1)
"""How far a quantile may be from the true one, as a share of it: the half of a bucket, 0.1 %."""
_SHIFT = 52 - BITS
FEW_EDGES = 48
"""Edges up to which it is quicker to compare all values with each than to search each value."""

Counts64 = NDArray[np.int64]


@dataclass(frozen=True)
class Quantiles:
    """Values of an output or param below which the given shares of the feasible points lie.

    The answer is an array as `shares` is, in the declared unit; NaN if no point is feasible. Each
    value is within 0.1 % (`ERROR`) of the true one; the least and the most (0 and 1) are exact.
    Between two points it is interpolated as NumPy does. Memory is 8 kB for a factor of two between
    the values, and at most 17 MB.
    """

    name: str
    shares: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95)

    def begin(self, spec: Spec) -> QuantilesState:
        """The state before the first point."""
        return QuantilesState(spec, self)


class QuantilesState:
    """Counts of values by bucket: those below zero, those from zero on."""

    def __init__(self, spec: Spec, asked: Quantiles) -> None:
        self.shares = np.asarray(asked.shares, np.float64)
        if not ((self.shares >= 0) & (self.shares <= 1)).all():
            raise CallError(f"shares are numbers from 0 to 1, not {asked.shares}")
        self.goal = objective(spec, asked.name, most=False)
        self.under, self.over = Buckets(), Buckets()
        self.least, self.most = math.inf, -math.inf

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""
        return {self.goal.name}

    @property
    def count(self) -> int:
        """How many points were counted."""
        return self.under.total + self.over.total

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""
        values = block.values(self.goal.name)
        if not len(values):
            return
        low, high = float(values.min()), float(values.max())
        if math.isnan(low):  # where the sweep is raw
            values = values[~np.isnan(values)]
            if not len(values):
                return
            low, high = float(values.min()), float(values.max())
        self.least, self.most = min(self.least, low), max(self.most, high)
        if low > 0.0:
            self.over.add(values, low, high)
            return
        below, zero, above = values[values < 0.0], np.count_nonzero(values == 0.0), values > 0.0
        if len(below):
            self.under.add(-below, -float(below.max()), -low)
        if zero:
            self.over.add_zeros(int(zero))
        if above.any():
            kept = values[above]
            self.over.add(kept, float(kept.min()), high)

    def merge(self, other: QuantilesState) -> None:
        """Take in the counts of another state."""
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.under.merge(other.under)
        self.over.merge(other.over)

    def result(self, plan: ExecutionPlan) -> Floats:
        """The quantiles, in the declared unit."""
        return self.quantiles(np.asarray(self.shares))

    def quantiles(self, shares: Floats) -> Floats:
        """The quantiles of these shares."""
        if not self.count:
            return np.full_like(shares, np.nan)
        values = np.concatenate([-self.under.middles()[::-1], self.over.middles()])
        counts = np.concatenate([self.under.counted()[::-1], self.over.counted()])
        shown = self.goal.scale.from_base(np.clip(values, self.least, self.most))
        ends = self.goal.scale.from_base(np.array([self.least, self.most]))
        upto = np.cumsum(counts)
        ranks = shares * (self.count - 1)
        below, above = np.floor(ranks), np.ceil(ranks)

        def at(rank: Floats) -> Floats:
            found: Floats = shown[np.searchsorted(upto, rank, "right")]
            found = np.where(rank <= 0, ends[0], found)
            return np.asarray(np.where(rank >= self.count - 1, ends[1], found))

        low, high = at(below), at(above)
        with np.errstate(invalid="ignore"):  # where both are infinite
            between = low + (high - low) * (ranks - below)
        return np.asarray(np.where(low == high, low, between))


class Buckets:
    """Counts of positive numbers by the head of their bits, and of zeros.

    What is kept is the stretch between the least bucket that was ever filled and the last.
    """

    def __init__(self) -> None:
        self.zeros, self.first = 0, 0
        self.counts: Counts64 = np.empty(0, np.int64)

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return self.zeros + int(self.counts.sum())

    def add(self, values: Floats, least: float, most: float) -> None:
        """Count numbers that are positive, which lie between two."""
        first, last = _bucket(least), _bucket(most)
        self._reach(first, last + 1)
        keys = np.right_shift(values.view(np.int64), _SHIFT)
        if last - first > 4 * len(values):  # counting would take room for each bucket between
            found, counts = np.unique(keys, return_counts=True)
            self.counts[found - self.first] += counts
        else:
            np.subtract(keys, first, out=keys)
            self.counts[first - self.first : last + 1 - self.first] += np.bincount(keys)

    def add_zeros(self, count: int) -> None:
        """Count so many zeros."""
        self.zeros += count

    def _reach(self, first: int, end: int) -> None:
        """Make room for the buckets first..end."""
        if not len(self.counts):
            self.first, self.counts = first, np.zeros(end - first, np.int64)
            return
        before, after = max(0, self.first - first), max(0, end - self.first - len(self.counts))
        if before or after:
            self.counts = np.pad(self.counts, (before, after))
            self.first -= before

    def merge(self, other: Buckets) -> None:
        """Add the counts of another."""
        self.zeros += other.zeros
        if len(other.counts):
            self._reach(other.first, other.first + len(other.counts))
            start = other.first - self.first
            self.counts[start : start + len(other.counts)] += other.counts

    def counted(self) -> Counts64:
        """The counts that are not zero, that of zeros first."""
        counts = self.counts[self.counts > 0]
        return np.concatenate([[self.zeros], counts]) if self.zeros else counts

    def middles(self) -> Floats:
        """The numbers in the middle of the buckets that have counts."""
        keys = self.first + np.flatnonzero(self.counts)
        middle = (keys << _SHIFT) + (1 << _SHIFT >> 1)
        found = np.where(keys == _bucket(math.inf), np.inf, middle.view(np.float64))
        return np.concatenate([[0.0], found]) if self.zeros else found


def _bucket(value: float) -> int:
    return int(np.float64(value).view(np.int64)) >> _SHIFT


# --- histograms ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Histogram:
    """How many feasible points have a value of an output or param between edges that ascend.

    The edges are in the declared unit. As in NumPy each bin has its lower edge and not its upper
    one, but for the last, which has both. The answer is a `HistogramCounts`.
    """

    name: str
    edges: ArrayLike

    def begin(self, spec: Spec) -> HistogramState:
        """The state before the first point."""
        return HistogramState(spec, self)


@dataclass(frozen=True, eq=False)
class HistogramCounts:
    """Counts of points by bin, and of those below the first edge and above the last."""

    edges: Floats
    counts: Counts64
    below: int
    above: int


class HistogramState:
    """How many points lie at or above each edge."""

    def __init__(self, spec: Spec, asked: Histogram) -> None:
        self.goal = objective(spec, asked.name, most=False)
        self.edges = np.array(asked.edges, np.float64)
        if self.edges.ndim != 1 or len(self.edges) < 2 or not (np.diff(self.edges) > 0).all():
            raise CallError("edges of a histogram are two or more numbers that ascend")
        bounds = [_least(self.goal, e, itself=True) for e in self.edges.tolist()[:-1]]
        self._bounds = np.array([*bounds, _least(self.goal, float(self.edges[-1]), itself=False)])
        self._from = [0] * len(self.edges)
        self._seen = 0

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""
        return {self.goal.name}

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""
        values = block.values(self.goal.name)
        if block.is_raw:
            values = values[~np.isnan(values)]
        self._seen += len(values)
        if not len(values):
            return
        low, high = float(values.min()), float(values.max())
        bounds = self._bounds.tolist()
        between = [k for k, bound in enumerate(bounds) if low < bound <= high]
        if len(between) <= FEW_EDGES:
            for k, bound in enumerate(bounds):
                if bound <= low:
                    self._from[k] += len(values)
            for k in between:
                self._from[k] += int(np.count_nonzero(values >= bounds[k]))
            return
        bins = np.searchsorted(self._bounds, values, "right")
        counts = np.bincount(bins, minlength=len(self._bounds) + 1)[1:]
        for k, more in enumerate(np.cumsum(counts[::-1])[::-1].tolist()):
            self._from[k] += more

    def merge(self, other: HistogramState) -> None:
        """Take in the counts of another state."""
        self._seen += other._seen
        self._from = [a + b for a, b in zip(self._from, other._from, strict=True)]

    def result(self, plan: ExecutionPlan) -> HistogramCounts:
        """The counts by bin."""
        reached = np.array(self._from, np.int64)
        counts = reached[:-1] - reached[1:]
        return HistogramCounts(
            self.edges, counts, self._seen - self._from[0], self._from[-1]
        )  # fmt: skip


def _least(of: Objective, edge: float, *, itself: bool) -> float:
    """The least base value that is shown at or above an edge, or without `itself` above it.

    Found by bisection over the numbers there are, in their order.
    """

    def reached(place: int) -> bool:
        shown = float(of.scale.from_base(_number_at(place)))
        return shown >= edge if itself else shown > edge

    low, high = -_INFINITY - 1, _INFINITY
    if not reached(high):
        return math.nan  # nothing is: no comparison holds
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return _number_at(high)


_INFINITY = int(np.float64(np.inf).view(np.int64))


def _number_at(place: int) -> float:
    """The numbers in their order: 0 is zero, those below are negative."""
    return math.copysign(float(np.int64(abs(place)).view(np.float64)), place)


# --- counts by rule ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """How many points there are, how many of them are feasible, and how many break each rule.

    The answer is a `PointCounts`.
    """

    def begin(self, spec: Spec) -> CountsState:
        """The state before the first point."""
        return CountsState(spec)


@dataclass(frozen=True)
class PointCounts:
    """Points, those that are feasible, and those that break each rule that any breaks."""

    points: int
    feasible: int
    violations: Mapping[str, int] = field(default_factory=dict)


class CountsState:
    """The counts so far."""

    reads: Collection[str] = ()

    def __init__(self, spec: Spec) -> None:
        self.points = self.feasible = 0
        self.rules, self.required = spec.rule_names, spec.required
        self.broken = [0] * len(self.rules)

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""
        words = block.words if block.selected is None else block.words[block.selected]
        self.points += len(words)
        broken = violated.counts_by_bit(words)
        for number, count in broken:
            self.broken[number] += count
        required = [c for b, c in broken if self.required[b // 64] >> b % 64 & 1]
        if len(required) > 1:  # a point may break several
            self.feasible += len(words) - int(violated.marked(words, self.required).sum())
        else:
            self.feasible += len(words) - sum(required)

    def merge(self, other: CountsState) -> None:
        """Take in the counts of another state."""
        self.points += other.points
        self.feasible += other.feasible
        self.broken = [a + b for a, b in zip(self.broken, other.broken, strict=True)]

    def result(self, plan: ExecutionPlan) -> PointCounts:
        """The counts."""
        broken = {n: c for n, c in zip(self.rules, self.broken, strict=True) if c}
        return PointCounts(self.points, self.feasible, broken)
