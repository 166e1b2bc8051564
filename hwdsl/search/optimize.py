"""The best designs of a space: `optimize`, with what is around its answer.

Input: an evaluator, values of params of which some are free, outputs to maximize or to minimize,
conditions. Output: an `Optimum`: the best point or the front, which rules and conditions keep it
from being better, what its neighbours give, and how often restarts agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Literal

import numpy as np
from attrs import field, frozen

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import CallError, InUnit, Result, Sweep
from hwdsl.codegen.runtime.conditions import Condition, conditions
from hwdsl.codegen.runtime.objectives import Objective, objectives
from hwdsl.search.methods import METHODS, whole
from hwdsl.search.problem import SearchProblem, Spent
from hwdsl.search.space import Floats, FreeParam, Space, space

DEFAULT, WHOLE = "zoom", "whole"
BUDGET = 1_000_000
RESTARTS = 4
AGREE = 1e-3
"""The relative difference up to which two restarts have found the same."""

Told = Callable[[int, int], None]
Ended = Literal["all", "converged", "budget", "time"]


@frozen(eq=False)
class Neighbour:
    """The design with one param moved to the value beside: what is gained, or what stands against.

    `change` is the relative change of the first aim, NaN where the design has none, and `better`
    whether that is what is wanted; `violates` are the rules and conditions that it violates.
    """

    param: str
    value: Any
    change: float
    better: bool
    violates: tuple[str, ...]


@frozen(eq=False)
class Optimum:
    """What was found.

    `point` is the best design (of several aims the first of the front), None if no feasible one was
    found; then `nearest` is the one that violates least, and `violates` says what. `warnings` are
    rules of severity `warn` that the design violates: a search does not heed them. `front` are the
    designs that none beats in all aims. `restarts` are the best values of the first aim, NaN where
    a restart found none feasible; `agree` is how many lie within a thousandth of the best.
    `binding` are the rules and conditions that a better neighbour violates, `at_ends` the params
    at an end of their range that would be better beyond it, as far as the values beside them tell.
    `ended` says why the search stopped: `converged`, `budget` or `time`, or `all`: every point of
    the space was evaluated.
    """

    space: Space = field(repr=False)
    goals: Sequence[Objective]
    conditions: tuple[str, ...]
    point: Result | None
    front: Sweep | None = field(repr=False)
    nearest: Result | None = field(repr=False)
    violates: tuple[str, ...]
    warnings: tuple[str, ...]
    neighbours: tuple[Neighbour, ...] = field(repr=False)
    binding: tuple[str, ...]
    at_ends: tuple[str, ...]
    elasticities: Mapping[str, float]
    restarts: tuple[float, ...]
    evaluations: int
    seconds: float
    ended: Ended

    @property
    def agree(self) -> int:
        """How many restarts came within a thousandth of the best."""
        found = [v for v in self.restarts if not math.isnan(v)]
        if not found:
            return 0
        best = max(found) if self.goals[0].most else min(found)
        return sum(abs(v - best) <= AGREE * abs(best) for v in found)


def optimize(
    evaluator: Evaluator,
    given: Mapping[str, Any],
    *,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    method: str = DEFAULT,
    budget: int = BUDGET,
    restarts: int = RESTARTS,
    seconds: float = math.inf,
    seed: int = 0,
    threads: int | None = None,
    progress: Told | None = None,
) -> Optimum:
    """The best design of a space.

    `given` has the values of params: those of several values (`"1..8"`, `"1..10 TB/s"`, `"8,16"`,
    `"all"`) are free. Points that are infeasible, or at which a condition of `where` does not hold,
    are none. The points of `budget` are shared by the restarts; the same seed finds the same. A
    space of no more points than that is evaluated as a whole, unless another method is asked for.
    Raises CallError for what does not fit.
    """
    if method not in METHODS:
        raise CallError(f"there is no method {method!r}: it is one of {', '.join(METHODS)}")
    if budget < 1 or restarts < 1 or not seconds > 0:
        raise CallError("budget, restarts and seconds are above 0")
    free = space(evaluator, given)
    aims = objectives(evaluator.spec, _names(maximize), _names(minimize))
    texts = (where,) if isinstance(where, str) and where else tuple(where)
    only = conditions(evaluator, texts)
    if method == DEFAULT and free.points_in_all <= budget:
        method, restarts = WHOLE, 1
    started = monotonic()
    until = started + seconds
    ended: Ended = "all" if method == WHOLE else "converged"
    seen, runs = 0, list[SearchProblem]()
    for k in range(restarts):
        share = (budget - seen) // (restarts - k)
        problem = SearchProblem(free, aims, only, share, until, threads)
        runs.append(problem)
        try:
            (whole if method == WHOLE else METHODS[method])(
                problem, np.random.default_rng([seed, k])
            )
        except Spent:
            ended = "time" if monotonic() > until else "budget"
        seen += problem.evaluations
        if progress is not None:
            progress(seen, budget)
        if monotonic() > until:
            break
    answer = _Answer(free, aims, only, texts, runs)
    return answer.optimum(seen, monotonic() - started, ended)


def _names(names: str | Sequence[str]) -> str | list[str]:
    if isinstance(names, str):
        return [n.strip() for n in names.split(",")] if "," in names else names
    return list(names)


@frozen(eq=False)
class _Answer:
    """What the restarts have found, and what is around it."""

    space: Space
    goals: Sequence[Objective]
    conditions: Sequence[Condition]
    texts: tuple[str, ...]
    runs: Sequence[SearchProblem]

    def optimum(self, evaluations: int, seconds: float, ended: Ended) -> Optimum:
        """The answer as users get it."""
        points, restarts = self._best(), tuple(self._restart(run) for run in self.runs)
        front = self._front()
        if front is not None:
            points = front
        nearest = None if len(points) else self._least_wrong()
        point, around, elasticities = None, tuple[Neighbour, ...](), dict[str, float]()
        if len(points):
            point = self._swept(points[:1]).result(0)
            around, elasticities = self._neighbours(points[0]), self._elasticities(point)
        binding = dict.fromkeys(name for n in around if n.better for name in n.violates)
        swept = None if front is None or not len(front) else self._swept(front)
        return Optimum(
            self.space, self.goals, self.texts, point, swept,
            None if nearest is None else nearest.result(0),
            () if nearest is None else self._violates(nearest, 0), self._warnings(point), around,
            tuple(binding), self._at_ends(points[0], around) if len(points) else (),
            elasticities, restarts, evaluations, seconds, ended,
        )  # fmt: skip

    def _warnings(self, point: Result | None) -> tuple[str, ...]:
        """The rules that the design violates and may."""
        return () if point is None else tuple(point.violations)

    def _at_ends(self, point: Floats, around: Sequence[Neighbour]) -> tuple[str, ...]:
        """The params at an end of their range whose value beside them is worse."""
        found = []
        for each in self.space.dimensions:
            beside = [n for n in around if n.param == each.param.name]
            at_end = float(point[each.slot]) in (each.low, each.high) and each.low < each.high
            worse = [n for n in beside if not n.better and n.change and not math.isnan(n.change)]
            if at_end and not each.unordered and len(beside) == len(worse) == 1:
                found.append(each.param.name)
        return tuple(found)

    def _best(self) -> Floats:
        """The best of the runs that found a feasible point, in a row; none if there is none."""
        found = [
            (float(run.best_scores.costs[0, 0]), k) for k, run in enumerate(self.runs)
            if run.best_scores is not None and run.best_scores.fits[0]
        ]  # fmt: skip
        if not found:
            return np.empty((0, len(self.space.fixed)))
        best = self.runs[min(found)[1]].best
        assert best is not None
        return best[None]

    def _front(self) -> Floats | None:
        """The front of all runs, the best in the first aim first; None with one aim."""
        if len(self.goals) == 1:
            return None
        merged = SearchProblem(self.space, self.goals, self.conditions, 0, math.inf)
        for run in self.runs:
            merged.merge(run)
        points, costs = merged.front()
        return points[np.lexsort([*costs.T[::-1]])]

    def _restart(self, run: SearchProblem) -> float:
        """The value of the first aim that a run found."""
        scores = run.best_scores
        if scores is None or not scores.fits[0]:
            return math.nan
        cost = float(scores.costs[0, 0])
        return -cost if self.goals[0].most else cost

    def _swept(self, points: Floats) -> Sweep:
        """Designs as a sweep of one dimension."""
        return self.space.evaluated(points)

    def _least_wrong(self) -> Sweep | None:
        """The point that violates least, by itself; None if nothing was evaluated."""
        runs = [(run.best, run.best_scores) for run in self.runs]
        seen = [(at, scores) for at, scores in runs if at is not None and scores is not None]
        if not seen:
            return None
        joined = seen[0][1]
        for _, scores in seen[1:]:
            joined = joined.joined(scores)
        return self._swept(seen[int(joined.order()[0])][0][None])

    def _violates(self, swept: Sweep, at: int) -> tuple[str, ...]:
        """The rules and conditions that a point violates."""
        one = swept.take(np.array([at]))
        warned = {r.name for r in swept.spec.rules if r.severity == "warn"}
        rules = [name for name in one.result(0).violations if name not in warned]
        raw = one.raw
        failed = [
            text for text, c in zip(self.texts, self.conditions, strict=True)
            if c.sign and not c.fits(raw)[0]
        ]  # fmt: skip
        return (*rules, *failed)

    def _neighbours(self, point: Floats) -> tuple[Neighbour, ...]:
        """The designs that differ in one param, by one step."""
        moves: list[tuple[FreeParam, float]] = [
            (d, value)
            for d in self.space.dimensions
            for value in d.neighbours(float(point[d.slot]))
        ]
        if not moves:
            return ()
        rows = np.tile(point, (len(moves), 1))
        for k, (dimension, value) in enumerate(moves):
            rows[k, dimension.slot] = value
        swept = self._swept(rows)
        goal = self.goals[0]
        own = float(np.asarray(self._swept(point[None]).raw.column(goal.name)).ravel()[0])
        values = np.asarray(np.broadcast_to(swept.raw.column(goal.name), len(moves)), np.float64)
        changes = (values - own) / abs(own) if own else np.full(len(moves), math.nan)
        return tuple(
            Neighbour(d.param.name, d.param.show(value), float(change) + 0.0,
                      bool(change > 0 if goal.most else change < 0), self._violates(swept, k))
            for k, ((d, value), change) in enumerate(zip(moves, changes, strict=True))
        )  # fmt: skip

    def _elasticities(self, point: Result) -> dict[str, float]:
        """Per cent of the first aim for one per cent of each free real; a whole number has its
        neighbours."""
        names = [d.param.name for d in self.space.dimensions
                 if d.param.kind == "real" and not d.param.labels]  # fmt: skip
        goal = self.goals[0].name
        if not names or goal not in [o.name for o in self.space.evaluator.spec.outputs]:
            return {}
        params = {p.name: p for p in self.space.evaluator.spec.params}
        at = {
            name: np.array([value]).view(InUnit) if params[name].kind == "real" else value
            for name, value in point.params.items()
        }
        return self.space.evaluator.elasticity(goal, at, wrt=names)
