"""Methods of search over one interface: each asks a `SearchProblem` for batches of points.

`zoom` is the library's own. The others are of packages that need not be installed: `de` is SciPy's
differential evolution, `nsga2` is pymoo's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hwdsl.base.packages import needed
from hwdsl.codegen.runtime import CallError
from hwdsl.search.problem import BATCH, Scores, SearchProblem, crowding
from hwdsl.search.space import Floats

Method = Callable[[SearchProblem, np.random.Generator], None]

FIRST = 1 << 13
"""Points that are spread evenly before a search zooms in."""
ROUND = 1 << 11
"""Points of a round."""
PARENTS = 16
"""Points around which a round looks."""
SHRINK = 0.8
"""By what the width shrinks after a round that found nothing better."""
FAR = 0.3
"""The share of points of a round that may lie anywhere."""
NARROWEST = 1e-7
"""Half the width, as a share of a range, at which a search has converged."""


def whole(problem: SearchProblem, random: np.random.Generator) -> None:
    """Every point of a space without reals, each once; nothing is drawn."""
    counts = [int(d.count) for d in problem.space.dimensions]
    total = math.prod(counts)
    for start in range(0, total, BATCH):
        number = np.arange(start, min(start + BATCH, total))
        places = np.unravel_index(number, counts)
        problem.ask(np.stack([problem.space.dimensions[k].middle(p) for k, p in enumerate(places)],
                             axis=1))  # fmt: skip


def zoom(problem: SearchProblem, random: np.random.Generator) -> None:
    """Spread points evenly, then look around the best, ever nearer.

    While a round finds something better its width stays. Each round moves some of the params of a
    point, mostly few; of a choice it takes any case.
    """
    dimensions = len(problem.space.dimensions)
    shares = spread_evenly(FIRST, dimensions, random)
    scores = problem.ask(shares)
    shares, scores = _parents(shares, scores, problem)
    width = 0.25
    while width > NARROWEST:
        tried = _around(problem, shares, width, random)
        found = problem.ask(tried)
        before = scores
        shares, scores = _parents(np.concatenate([shares, tried]), before.joined(found), problem)
        if not _better(scores, before):
            width *= SHRINK


def spread_evenly(count: int, dimensions: int, random: np.random.Generator) -> Floats:
    """Points that fill a cube evenly, whatever their number: multiples of powers of the root of
    x^(d+1) = x + 1, from a start drawn at random (Kronecker's sequence)."""
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((random.random(dimensions) + np.arange(count)[:, None] * steps) % 1.0)


def _parents(shares: Floats, scores: Scores, problem: SearchProblem) -> tuple[Floats, Scores]:
    """The points to look around: the best, or of several aims those of the front that are least
    crowded."""
    if len(problem.goals) > 1:
        front, costs = problem.front()
        if len(front):
            picked = np.argsort(-crowding(costs), kind="stable")[: 4 * PARENTS]
            nothing = np.zeros(len(picked))
            return problem.space.shares(front[picked]), Scores(nothing, nothing, costs[picked])
    order = scores.order()[: 64 * PARENTS]
    # Apart in what is whole or listed, as long as there are such: else all would be of one sort.
    points = problem.space.points(shares[order])
    kinds = [d.slot for d in problem.space.dimensions if np.isfinite(d.count)]
    _, first = np.unique(points[:, kinds], axis=0, return_index=True)
    apart = np.sort(first)[:PARENTS] if kinds else np.arange(min(PARENTS, len(order)))
    return shares[order[apart]], scores.take(order[apart])


def _better(now: Scores, before: Scores) -> bool:
    """Whether something better was found, by more than rounding."""
    if len(now.costs) != len(before.costs) or now.costs.shape[1] > 1:
        # Of a front: whether its points, as far as they are shown, lie elsewhere.
        return not np.array_equal(np.sort(now.costs[:, 0]), np.sort(before.costs[:, 0]))
    a, b = now.take(np.array([0])), before.take(np.array([0]))
    if (a.violated[0], a.beyond[0]) != (b.violated[0], b.beyond[0]):
        return True
    return bool(b.costs[0, 0] - a.costs[0, 0] > 1e-9 * abs(b.costs[0, 0]))


def _around(
    problem: SearchProblem, parents: Floats, width: float, random: np.random.Generator
) -> Floats:
    """Points around others, some params moved: whole and listed ones by a place or more."""
    dimensions = problem.space.dimensions
    count, d = ROUND, len(dimensions)
    found = parents[random.integers(len(parents), size=count)]
    chance = random.choice([1.0 / d, 2.0 / d, 1.0], size=count)[:, None]
    moved = random.random((count, d)) < chance
    moved[np.arange(count), random.integers(d, size=count)] = True
    least = np.array([1.0 / each.count if np.isfinite(each.count) else 0.0 for each in dimensions])
    # Most look near; some far, by which params that only together give something better are met.
    wide = np.where(random.random(count) < FAR, 0.5, width)[:, None]
    step = random.uniform(-1.0, 1.0, (count, d)) * np.maximum(wide, 1.5 * least)
    anywhere = np.array([each.unordered for each in dimensions])
    tried = np.where(anywhere, random.random((count, d)), found + step)
    # What leaves the cube comes to its side: answers often lie there.
    return np.where(moved, np.clip(tried, 0.0, 1.0), found)


def differential_evolution(problem: SearchProblem, random: np.random.Generator) -> None:
    """SciPy's differential evolution, all points of a generation at once."""
    if len(problem.goals) > 1:
        raise CallError("the method de takes one aim: use zoom or nsga2")
    d = len(problem.space.dimensions)
    needed("scipy.optimize", "the method de needs SciPy", "search").differential_evolution(
        lambda shares: problem.ask(np.atleast_2d(shares.T)).single(), [(0.0, 1.0)] * d,
        popsize=max(8, 512 // max(d, 1)), maxiter=10_000, tol=1e-8, polish=False, rng=random,
        vectorized=True, updating="deferred", init="sobol",
    )  # fmt: skip


def pymoo_nsga2(problem: SearchProblem, random: np.random.Generator) -> None:
    """NSGA-II of pymoo."""
    nsga2, core, optimize = (
        needed(f"pymoo.{part}", "the method nsga2 needs pymoo", "search")
        for part in ("algorithms.moo.nsga2", "core.problem", "optimize")
    )
    d = len(problem.space.dimensions)

    class Asked(core.Problem):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(n_var=d, n_obj=len(problem.goals), n_ieq_constr=1, xl=0.0, xu=1.0)

        def _evaluate(self, x: Floats, out: dict[str, Floats]) -> None:
            scores = problem.ask(x)
            finite = np.where(np.isfinite(scores.costs), scores.costs, 1e300)
            out["F"] = finite
            out["G"] = (scores.violated + scores.beyond)[:, None]

    seed = int(random.integers(1 << 31))
    optimize.minimize(
        Asked(), nsga2.NSGA2(pop_size=256), ("n_gen", 100_000), seed=seed, verbose=False
    )


METHODS: dict[str, Method] = {"zoom": zoom, "de": differential_evolution, "nsga2": pymoo_nsga2}
"""The methods by their names."""
