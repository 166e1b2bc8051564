"""What is searched for, and what was seen of it: every method of search asks here, in batches.

Of two points that one is better which violates fewer rules and conditions, then the one whose
outputs are less far beyond their limits, then the one of lower cost: so a search that begins where
nothing is feasible finds its way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np
from attrs import define, field

from hwdsl.codegen.runtime import Sweep
from hwdsl.codegen.runtime.block import Marks, Places
from hwdsl.codegen.runtime.conditions import Condition
from hwdsl.codegen.runtime.objectives import Objective
from hwdsl.codegen.runtime.pareto import pareto_front
from hwdsl.search.space import Floats, Space

MOST_OF_A_FRONT = 10_000
"""Points of a front that are kept."""
BATCH = 1 << 13
"""Points that are evaluated at once."""


WRONG = 1e100
"""The cost of a point that violates something: more than anything costs."""


class Spent(Exception):
    """The points or the time of a search are used up."""


@define(eq=False)
class Scores:
    """What is known of points: how many rules and conditions each violates, by how much it is
    beyond limits, its cost in each aim."""

    violated: Floats
    beyond: Floats
    costs: Floats

    def order(self) -> Places:
        """The points, the best first, by the first of the aims."""
        return np.lexsort((self.costs[:, 0], self.beyond, self.violated))

    @property
    def fits(self) -> Marks:
        """Which of them violate nothing and have finite costs."""
        return np.asarray((self.violated == 0) & np.isfinite(self.costs).all(axis=1))

    def take(self, at: Places) -> Scores:
        """Some of them."""
        return Scores(self.violated[at], self.beyond[at], self.costs[at])

    def joined(self, other: Scores) -> Scores:
        """These and others."""
        return Scores(
            np.concatenate([self.violated, other.violated]),
            np.concatenate([self.beyond, other.beyond]),
            np.concatenate([self.costs, other.costs]),
        )

    def single(self) -> Floats:
        """One number a point, in the same order, for methods that know no other."""
        wrong = self.violated + self.beyond / (1.0 + self.beyond)
        return np.where(self.fits, self.costs[:, 0], WRONG * (1.0 + wrong))


@define(eq=False)
class SearchProblem:
    """A space, aims and conditions; the best points seen, and what may still be spent."""

    space: Space
    goals: Sequence[Objective]
    conditions: Sequence[Condition]
    budget: int
    until: float
    """When to stop, by `time.monotonic`."""
    threads: int | None = None
    evaluations: int = 0
    best: Floats | None = None
    """The best point in base units."""
    best_scores: Scores | None = None
    _waiting: list[tuple[Floats, Floats]] = field(init=False)
    """The front, then points that may be of it; each with their costs."""

    def __attrs_post_init__(self) -> None:
        empty = np.empty((0, len(self.space.fixed))), np.empty((0, len(self.goals)))
        self._waiting = [empty]

    def ask(self, shares: Floats) -> Scores:
        """Evaluate points, which count against the budget; Spent if it does not reach for all."""
        asked, shares = len(shares), shares[: max(0, self.budget - self.evaluations)]
        if not len(shares) or monotonic() > self.until:
            raise Spent
        points = self.space.points(np.clip(shares, 0.0, 1.0))
        parts = [self._score(points[k : k + BATCH]) for k in range(0, len(points), BATCH)]
        found = parts[0]
        for part in parts[1:]:
            found = found.joined(part)
        self.evaluations += len(points)
        self._note(points, found)
        if len(shares) < asked:
            raise Spent
        return found

    def _score(self, points: Floats) -> Scores:
        swept = self.space.evaluated(points, self.threads)
        raw = swept.raw
        violated = _broken(swept)
        beyond = np.zeros(len(points))
        for condition in self.conditions:
            fits = condition.fits(raw)
            violated += ~fits
            if condition.sign and condition.code is None:
                value = np.asarray(raw.column(condition.name), np.float64)
                size = abs(condition.limit) or 1.0
                with np.errstate(all="ignore"):
                    far = np.abs(value - condition.limit) / size
                beyond += np.where(fits, 0.0, np.where(np.isfinite(far), far, 1e6))
        columns = []
        for goal in self.goals:
            values = np.asarray(raw.column(goal.name), np.float64)
            values = -values if goal.most else values
            columns.append(np.where(np.isnan(values), np.inf, values))
        return Scores(violated, beyond, np.stack(columns, axis=1))

    def _note(self, points: Floats, scores: Scores) -> None:
        """Keep the best point and the front."""
        first = int(scores.order()[0])
        mine = scores.take(np.array([first]))
        if self.best_scores is None or self.best_scores.joined(mine).order()[0] == 1:
            self.best, self.best_scores = points[first].copy(), mine
        if len(self.goals) > 1:
            self._join(points[scores.fits], scores.costs[scores.fits])

    def merge(self, other: SearchProblem) -> None:
        """Take in the front of another search of the same."""
        self._join(*other.front())

    def front(self) -> tuple[Floats, Floats]:
        """The points that none beats in all aims, and their costs."""
        if len(self._waiting) > 1:
            costs = np.concatenate([each[1] for each in self._waiting])
            points = np.concatenate([each[0] for each in self._waiting])
            # Points are asked for again near those that are good: one of equals stays.
            _, first_of = np.unique(costs, axis=0, return_index=True)
            costs, points = costs[first_of], points[first_of]
            least = pareto_front([*costs.T])
            self._waiting = [thinned(points[least], costs[least], MOST_OF_A_FRONT)]
        return self._waiting[0]

    def _join(self, points: Floats, costs: Floats) -> None:
        """Keep points that may be of the front, and look which are when they have become many."""
        if len(points):
            self._waiting.append((points, costs))
        if sum(len(each[0]) for each in self._waiting[1:]) > max(BATCH, len(self._waiting[0][0])):
            self.front()


def thinned(points: Floats, costs: Floats, most: int) -> tuple[Floats, Floats]:
    """At most so many points of a front, those at its ends and the least crowded."""
    while len(points) > most:
        crowded = crowding(costs)
        keep = np.sort(np.argsort(-crowded, kind="stable")[: max(most, len(points) // 2)])
        points, costs = points[keep], costs[keep]
    return points, costs


def crowding(costs: Floats) -> Floats:
    """How far the neighbours of each point of a front are apart (the crowding distance of NSGA-II:
    Deb et al. 2002); infinite at the ends."""
    found = np.zeros(len(costs))
    for column in costs.T:
        order = np.argsort(column, kind="stable")
        span = float(column[order[-1]] - column[order[0]]) or 1.0
        found[order[[0, -1]]] = np.inf
        found[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / span
    return found


def _broken(swept: Sweep) -> Floats:
    """How many `require` each point violates."""
    found = np.zeros(len(swept))
    for k, mask in enumerate(swept.spec.required):
        words = swept.words[:, k] & np.uint64(mask)
        while words.any():
            found += words != 0
            words = words & (words - np.uint64(1))
    return found
