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

from .block import Block, Places
from .errors import CallError
from .goals import goals, one_goal
from .grouping import Codes, Groups
from .kept_points import KeptPoints
from .kernel import Floats
from .pareto import pareto_front
from .result import Result
from .spec import Spec
from .sweep import Sweep

if TYPE_CHECKING:
    from .execution_plan import ExecutionPlan

A_co = TypeVar("A_co", covariant=True)
FEW = 4096
"""Points of a block that are sorted at once; of more, most are left out before."""


class State(Protocol[A_co]):
    """What is known of the points seen so far; it pickles."""

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""

    def update(self, block: Block) -> None:
        """Take in the points of a block."""

    def merge(self, other: Any) -> None:
        """Take in what another state of the same reduction has seen: other points of the sweep."""

    def result(self, plan: ExecutionPlan) -> A_co:
        """The answer; the plan evaluates points again, no matter of how many points it is."""


class Reduction(Protocol[A_co]):
    """What is wanted of a sweep."""

    def begin(self, spec: Spec) -> State[A_co]:
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
        self.goal = one_goal(spec, asked.maximize, asked.minimize)
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

    def update(self, block: Block) -> None:
        """Take in the points of a block."""
        groups = self.groups.of(block)
        self._grow()
        better = self.goal.under(block, self._bounds(block, groups), "top")
        if not better.any():
            return
        if block.allowed is not None:
            np.logical_and(better, block.allowed, out=better)
        places = np.flatnonzero(better)
        if not len(places):
            return
        costs = self.goal.costs(block, places)
        places, costs = self._fewer(places, costs)
        where = np.broadcast_to(groups, (len(block),))[places]
        self._keep(KeptPoints.of(block, places, costs[:, None], where))

    def _bounds(self, block: Block, groups: Codes | int) -> Floats | float:
        """What each point must be under; where it comes behind those kept, to be as good is not
        enough."""
        if isinstance(groups, int):
            behind = block.lowest > self._last[groups]
            return float(self._strict[groups] if behind else self._bound[groups])
        bounds = np.where(block.lowest > self._last, self._strict, self._bound)
        return np.asarray(bounds[groups])

    def _fewer(self, places: Places, costs: Floats) -> tuple[Places, Floats]:
        """Without what is infinite, and without points that cannot be among the best of so many."""
        fine = np.isfinite(costs)
        if not self.groups.names and len(costs) > max(FEW, self.asked.count):
            fine &= costs <= np.partition(costs, self.asked.count - 1)[self.asked.count - 1]
        return (places, costs) if fine.all() else (places[fine], costs[fine])

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

    A few points of the front, each of which dominates many others, are compared with all points
    of a block; the others with what is left, when that has become much.
    """

    def __init__(self, spec: Spec, asked: Pareto) -> None:
        self.asked = asked
        self.goals = goals(spec, asked.maximize, asked.minimize)
        self.front = KeptPoints.none(len(spec.params), len(self.goals))
        self._waiting: list[KeptPoints] = []
        self._killers: list[list[float]] = []

    @property
    def reads(self) -> Collection[str]:
        """The outputs whose values are read."""
        return {g.name for g in self.goals}

    def update(self, block: Block) -> None:
        """Take in the points of a block."""
        places = self._left(block)
        if not len(places):
            return
        costs = np.stack([g.costs(block, places) for g in self.goals], axis=1)
        fine = np.isfinite(costs).all(axis=1)
        if not fine.all():
            places, costs = places[fine], costs[fine]
        if len(places) > FEW:
            least = pareto_front([*costs.T])
            places, costs = places[least], costs[least]
        self._waiting.append(KeptPoints.of(block, places, costs))
        if sum(map(len, self._waiting)) >= max(FEW, len(self.front)):
            self._settle()

    def _left(self, block: Block) -> Places:
        """The places of points looked at that none of the few dominates."""
        alive = block.buffer("alive", np.bool_)
        if block.allowed is None:
            alive[:] = True
        else:
            alive[:] = block.allowed
        for killer in self._killers:
            # A point stays that is better than one of the bounds, or is no number.
            stays = self.goals[0].under(block, killer[0], "stays")
            for each, bound in zip(self.goals[1:], killer[1:], strict=True):
                np.logical_or(stays, each.under(block, bound, "more"), out=stays)
            np.logical_and(alive, stays, out=alive)
        return np.flatnonzero(alive)

    def _settle(self) -> None:
        """Find the front of all points there are."""
        if not self._waiting:
            return
        found = KeptPoints.joined([self.front, *self._waiting])
        self._waiting = []
        self.front = found.take(pareto_front([*found.costs.T]))
        self._killers = [
            [g.bound(float(c), equal=False) for g, c in zip(self.goals, row, strict=True)]
            for row in _spread_out(self.front.costs, found.costs)
        ]

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
"""Points of a front that all points are compared with."""
SEEN = 512
"""Points of which it is counted how many each of a front dominates."""


def _spread_out(front: Floats, seen: Floats) -> Floats:
    """A few of a front that dominate most of what was seen, each what those before leave."""
    front = front[:: max(1, len(front) // SEEN)]
    seen = seen[:: max(1, len(seen) // SEEN)]
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
        over = over & ~over[best]
    return np.asarray(front[chosen])
