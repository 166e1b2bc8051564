"""What a sweep is reduced to while it runs: its best points, its fronts.

A reduction says what is wanted; it is a value that compares and pickles. `begin` gives its state
for an evaluator: constant in size, filled block by block (`update`), joined with those of other
threads, processes or machines (`merge`, in any order), and turned into the answer (`result`). The
answer is that of the whole sweep in memory whatever the blocks and whoever merged them: points are
ordered by what is asked for, then by their numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from .block import Marks, Places, PointBlock
from .errors import CallError
from .grouping import Codes, Groups
from .kept_points import KeptPoints
from .kernel import Floats
from .objectives import objectives, one_objective
from .pareto import pareto_front
from .result import Result
from .spec import Spec
from .sweep import Sweep

if TYPE_CHECKING:
    from .execution_plan import ExecutionPlan

A_co = TypeVar("A_co", covariant=True)
FEW = 512
"""Points of a block that are sorted at once; of more, most are left out before."""


class ReductionState(Protocol[A_co]):
    """What is known of the points seen so far; it pickles."""

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""

    def merge(self, other: Any) -> None:
        """Take in what another state of the same reduction has seen: other points of the sweep."""

    def result(self, plan: ExecutionPlan) -> A_co:
        """The answer; the plan evaluates points again, no matter of how many points it is."""


class SweepReduction(Protocol[A_co]):
    """What is wanted of a sweep."""

    def begin(self, spec: Spec) -> ReductionState[A_co]:
        """The state before the first point; CallError if the evaluator has no such output."""


Names = str | Sequence[str]


@dataclass(frozen=True)
class Top:
    """The `count` feasible points with the most (or least) of an output or param, the best first.

    Of equals the first come first, and points where it is infinite are left out. With `by`, a
    param or an output that is a case of an enum, or several, it is so many points for each of
    their values, in the order of the values. The answer is a `Sweep` of one dimension.
    """

    count: int
    maximize: str = ""
    minimize: str = ""
    by: Names = ()

    def begin(self, spec: Spec) -> TopState:
        """The state before the first point."""
        return TopState(spec, self)


@dataclass(frozen=True)
class Best:
    """The feasible point with the most (or least) of an output or param; the first of equals.

    Points where it is infinite are left out. The answer is a `Result`; if there is no such point,
    to ask for it is a CallError.
    """

    maximize: str = ""
    minimize: str = ""

    def begin(self, spec: Spec) -> BestState:
        """The state before the first point."""
        return BestState(spec, Top(1, self.maximize, self.minimize))


class TopState:
    """The best points so far of each group, and the bounds that others must be better than."""

    def __init__(self, spec: Spec, asked: Top) -> None:
        if isinstance(asked.count, bool) or asked.count < 1:
            raise CallError(f"a number of points is from 1 on, not {asked.count!r}")
        self.asked, self.spec = asked, spec
        self.goal = one_objective(spec, asked.maximize, asked.minimize)
        names = [asked.by] if isinstance(asked.by, str) and asked.by else list(asked.by)
        self.groups = Groups(spec, names)
        self.kept = KeptPoints.none(len(spec.params), 1)
        self._bound = self._strict = np.empty(0)
        self._last = np.empty(0, np.int64)
        self._grow()

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""
        return {self.goal.name, *self.groups.names}

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""
        groups = self.groups.of(block)
        self._grow()
        bounds = groups.spread(self._bounds(block))
        marks = block.buffer("better", np.bool_)
        places = block.found(self.goal.under(block.base(self.goal.name), bounds, marks))
        if not len(places):
            return
        costs = self.goal.costs(block, places)
        numbers = groups.at(places)
        few = self._fewer(costs, numbers)
        if not few.all():
            places, costs, numbers = places[few], costs[few], numbers[few]
        self._keep(KeptPoints.of(block, places, costs[:, None], numbers))

    def _bounds(self, block: PointBlock) -> Floats:
        """What points of each group must be under; behind those kept it is not enough to be as
        good."""
        first = block.first_number
        return np.asarray(np.where(first > self._last, self._strict, self._bound))

    def _fewer(self, costs: Floats, groups: Codes) -> Marks:
        """Where costs are finite and, of many points, may be among the best so many."""
        fine = np.isfinite(costs)
        count = self.asked.count
        if len(costs) <= max(FEW, count) or not fine.any():
            return fine
        if not self.groups.names:
            known = costs[fine]
            last = min(count, len(known)) - 1
            fine &= costs <= np.partition(known, last)[last]
        elif count == 1:
            least = np.full(len(self.groups), np.inf)
            np.minimum.at(least, groups[fine], costs[fine])
            fine &= costs <= least[groups]
        return fine

    def _keep(self, found: KeptPoints) -> None:
        """Keep the best of these points and those before."""
        if not len(found):
            return
        changed = np.unique(found.groups)
        found = KeptPoints.joined([self.kept, found])
        found = found.take(np.lexsort((found.numbers, found.costs[:, 0], found.groups)))
        # In each group, which has its points one after the other, the first so many.
        rank = np.arange(len(found)) - np.searchsorted(found.groups, found.groups)
        self.kept = found.take(rank < self.asked.count)
        self._set_bounds(changed)

    def _set_bounds(self, groups: Codes) -> None:
        """What points of some groups must be under to be kept, and the number of the worst kept."""
        if len(self._bound) < len(self.groups):
            self._grow()
        count = self.asked.count
        ends = np.searchsorted(self.kept.groups, groups, "right")
        sizes = ends - np.searchsorted(self.kept.groups, groups)
        for k, at in zip(groups[sizes >= count].tolist(), ends[sizes >= count] - 1, strict=True):
            cost = float(self.kept.costs[at, 0])
            self._bound[k] = self.goal.bound(cost, equal=False)
            self._strict[k] = self.goal.bound(cost, equal=True)
            self._last[k] = self.kept.numbers[at]

    def _grow(self) -> None:
        """Bounds for groups that were not known before: whatever is finite can be kept."""
        more = len(self.groups) - len(self._bound)
        if more > 0:
            worst = np.full(more, self.goal.bound(np.inf, equal=False))
            self._bound = np.concatenate([self._bound, worst])
            self._strict = np.concatenate([self._strict, worst])
            behind = np.full(more, np.iinfo(np.int64).max)
            self._last = np.concatenate([self._last, behind])

    def merge(self, other: TopState) -> None:
        """Take in the best points of another state."""
        theirs = self.groups.merge(other.groups)
        self._grow()
        self._keep(other.kept.with_groups(theirs[other.kept.groups]))

    def result(self, plan: ExecutionPlan) -> Sweep:
        """The best points, group after group."""
        order = self.groups.order()[self.kept.groups]
        return self.kept.take(np.argsort(order, kind="stable")).evaluated(plan)


class BestState(TopState):
    """The best point so far."""

    def result(self, plan: ExecutionPlan) -> Result:  # type: ignore[override]
        """The best point; CallError if there is none."""
        if not len(self.kept):
            name = self.goal.name
            raise CallError(f"no point that was looked at is feasible and finite in {name}")
        return self.kept.evaluated(plan).result(0)


# --- fronts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pareto:
    """The feasible points no other is at least as good as in all goals and better in one.

    Points that are equal in all stay together, and those where a goal is infinite are left out.
    The memory needed is that of the front. The answer is a `Sweep` of one dimension, in the order
    of the points.
    """

    maximize: Names = ()
    minimize: Names = ()

    def begin(self, spec: Spec) -> ParetoState:
        """The state before the first point."""
        return ParetoState(spec, self)


class ParetoState:
    """The front so far, and points that may be on it.

    A few points of the front, which dominate most others, are compared with all points of a block;
    the whole front only with what is left, when that has become much.
    """

    def __init__(self, spec: Spec, asked: Pareto) -> None:
        self.asked = asked
        self.goals = objectives(spec, asked.maximize, asked.minimize)
        self.front = KeptPoints.none(len(spec.params), len(self.goals))
        self._waiting: list[KeptPoints] = []
        self._killers: list[list[float]] = []

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""
        return {g.name for g in self.goals}

    def update(self, block: PointBlock) -> None:
        """Take in the points of a block."""
        places = self._left(block)
        if not len(places):
            return
        columns = [g.costs(block, places) for g in self.goals]
        fine = np.logical_and.reduce([np.isfinite(c) for c in columns])
        if not fine.all():
            places, columns = places[fine], [c[fine] for c in columns]
        if len(places) > FEW:
            left = self._few_of(columns)
            places, columns = places[left], [c[left] for c in columns]
        if len(places):
            self._waiting.append(KeptPoints.of(block, places, np.stack(columns, axis=1)))
            if sum(map(len, self._waiting)) >= max(FEW, len(self.front)):
                self._settle()

    def _left(self, block: PointBlock) -> Places:
        """The places of points allowed that none of the few dominates."""
        if not self._killers:
            allowed = block.allowed
            return np.arange(len(block)) if allowed is None else np.flatnonzero(allowed)
        stays = block.buffer("stays", np.bool_)
        more = block.buffer("more", np.bool_)
        # A point stays that is better than one of the bounds.
        self.goals[0].under(block.base(self.goals[0].name), self._killers[0][0], stays)
        for each, bound in zip(self.goals[1:], self._killers[0][1:], strict=True):
            each.under(block.base(each.name), bound, more)
            np.logical_or(stays, more, out=stays)
        places = block.found(stays)
        values = [block.base(g.name)[places] for g in self.goals]
        for killer in self._killers[1:]:
            if len(places) < FEW:
                break
            better = [g.under(v, b) for g, v, b in zip(self.goals, values, killer, strict=True)]
            left = np.logical_or.reduce(better)
            places, values = places[left], [v[left] for v in values]
        return places

    def _few_of(self, columns: Sequence[Floats]) -> Places:
        """Of many points those that may be on the front: a few of them dominate most others.

        They are looked for among some of the points and of the front, and serve for what comes.
        """
        seen = np.stack([_some(c) for c in columns], axis=1)
        known = seen[pareto_front([*seen.T])]
        chosen = _spread_out(np.concatenate([known, _some(self.front.costs)]), seen)
        self._killers = [
            [g.bound(float(c), equal=False) for g, c in zip(self.goals, row, strict=True)]
            for row in chosen
        ]
        left = np.arange(len(columns[0]))
        for row in chosen:
            stays = np.logical_or.reduce([c <= x for c, x in zip(columns, row, strict=True)])
            left, columns = left[stays], [c[stays] for c in columns]
        return left[pareto_front(columns)] if len(left) > FEW else left

    def _settle(self) -> None:
        """Find the front of all points there are."""
        if self._waiting:
            found = KeptPoints.joined([self.front, *self._waiting])
            self._waiting = []
            self.front = found.take(pareto_front([*found.costs.T]))

    def merge(self, other: ParetoState) -> None:
        """Take in the front of another state."""
        other._settle()
        self._waiting.append(other.front)
        self._settle()

    def result(self, plan: ExecutionPlan) -> Sweep:
        """The front, in the order of its points."""
        self._settle()
        return self.front.take(np.argsort(self.front.numbers)).evaluated(plan)


KILLERS = 8
"""Points that all points are compared with."""
SEEN = 128
"""Points of which it is counted how many each of others dominates."""


def _some(rows: Floats) -> Floats:
    """A few of many rows, from first to last."""
    return rows[:: max(1, -(-len(rows) // SEEN))]


def _spread_out(front: Floats, seen: Floats) -> Floats:
    """A few of a front that dominate most of what was seen, each most of what those before leave.

    The first, which is compared with most points, dominates most of all.
    """
    over = np.ones((len(front), len(seen)), np.bool_)
    for k in range(front.shape[1]):
        over &= front[:, k, None] < seen[:, k]
    chosen: list[int] = []
    while len(front) and len(chosen) < KILLERS:
        counts = np.count_nonzero(over, axis=1)
        best = int(np.argmax(counts))
        if not counts[best]:
            break
        chosen.append(best)
        over &= ~over[best]
    return np.asarray(front[chosen])
