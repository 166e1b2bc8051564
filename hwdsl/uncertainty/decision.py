"""Deciding between two designs: the chance that one is better, and what information is worth.

The expected value of perfect information (EVPI) is by how much the result would be better, on
average, if all uncertain params were known before the decision; that of partial perfect information
(EVPPI) is the same for one param. source: H. Raiffa and R. Schlaifer, Applied Statistical Decision
Theory, 1961.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import field, frozen

from hwdsl.codegen.runtime import CallError
from hwdsl.search import Design
from hwdsl.uncertainty.draws import (
    NONE,
    Correlations,
    correlated,
    length_of,
    root_of,
    sobol,
)
from hwdsl.uncertainty.estimate import REPLICATES, Estimate, Floats, of_replicates
from hwdsl.uncertainty.scipy_functions import scipy_special

POINTS = 1 << 16
NODES = 64
"""Values of a param at which it is known."""


@frozen
class InformationValue:
    """The expected value of partial perfect information on a param, in the output's unit."""

    param: str
    value: Estimate


@frozen
class Decision:
    """Two designs by an output, in the unit it has in the first.

    `first_better` and `second_better` are chances; what is left of 1 is that they tie.
    `advantage` is by how much the first is better on average (negative if it is worse), and
    `feasible_share` that of the draws at which both are feasible: the others do not count.
    """

    output: str
    unit: str
    first: Estimate
    second: Estimate
    first_better: Estimate
    second_better: Estimate
    advantage: Estimate
    perfect_information: Estimate
    partial: tuple[InformationValue, ...] = field(repr=False)
    draws: int
    feasible_share: float


def decide(
    first: Design,
    second: Design,
    *,
    minimize: bool = False,
    points: int = POINTS,
    seed: int = 0,
    correlations: Correlations = NONE,
    raw: bool = False,
) -> Decision:
    """Which design has more (or less) of its output, and what it is worth to know each param.

    A param that both have is drawn once for both. It takes `points` draws for the chances and as
    many for each param. Raises CallError if no param is uncertain in either.
    """
    pair = _Pair.of(first, second, minimize, raw)
    correlations.check(pair.names)
    normal = correlations.normal(pair.names)
    length = length_of(points)
    gains = [
        pair.gains(correlated(sobol(len(pair.names), [seed, r], 0, length), normal))
        for r in range(REPLICATES)
    ]
    good = [np.isfinite(each).all(axis=0) for each in gains]
    if not all(g.any() for g in good):
        raise CallError("no draw is feasible in both designs; raw ones count all")
    gains = [each[:, g] for each, g in zip(gains, good, strict=True)]
    means = np.array([each.mean(axis=1) for each in gains])
    best = np.array([each.max(axis=0).mean() for each in gains])
    ahead = np.array([[(a > b).mean(), (b > a).mean()] for a, b in gains])
    sign = -1.0 if minimize else 1.0
    return Decision(
        first.output, first.spec.scale.unit, of_replicates(sign * means[:, 0]),
        of_replicates(sign * means[:, 1]), of_replicates(ahead[:, 0]), of_replicates(ahead[:, 1]),
        of_replicates(means[:, 0] - means[:, 1]), _worth(best, means),
        tuple(sorted(
            (InformationValue(name, _partial(pair, i, normal, length, seed))
             for i, name in enumerate(pair.names)), key=lambda known: -known.value.value,
        )),
        REPLICATES * length, float(np.mean([g.mean() for g in good])),
    )  # fmt: skip


def _worth(best: Floats, means: Floats) -> Estimate:
    """The mean of the best choice less the best choice of the means, both over all replicates."""
    chosen = int(np.argmax(means.mean(axis=0)))
    return of_replicates(best - means[:, chosen])


def _partial(pair: _Pair, known: int, normal: Floats, length: int, seed: int) -> Estimate:
    """The expected value of knowing one param, the others being drawn at each of its values.

    The values are those of a Gauss rule, and the others are the same beside each of them: a param
    that decides nothing is worth nothing, to the digit.
    """
    nodes, weights = np.polynomial.legendre.leggauss(min(NODES, length))
    inner = max(1, length // len(nodes))
    others = [i for i in range(len(pair.names)) if i != known]
    sums, counts = np.empty((REPLICATES, 2, len(nodes))), np.empty((REPLICATES, len(nodes)))
    for r in range(REPLICATES):
        rows = np.repeat(sobol(len(pair.names), [seed, r], 0, inner)[None], len(nodes), axis=0)
        rows[:, :, known] = (nodes[:, None] + 1) / 2
        if _tied(normal):
            rows = _conditional(rows, known, others, normal)
        gains = pair.gains(rows.reshape(-1, len(pair.names))).reshape(2, len(nodes), inner)
        good = np.isfinite(gains).all(axis=0)
        sums[r], counts[r] = np.where(good, gains, 0.0).sum(axis=2), good.sum(axis=1)

    def worth(rows: Floats) -> float:
        count = rows @ counts
        weight = weights * count
        met = weight > 0
        expected = np.tensordot(rows, sums, 1)[:, met] / count[met]
        share = weight[met] / weight.sum()
        gained = float((expected.max(axis=0) - expected[np.argmax(expected @ share)]) @ share)
        return max(0.0, gained)

    # The best of means is no mean of replicates: the error is the jackknife's, one left out.
    without = np.array([worth(row) for row in 1 - np.eye(REPLICATES)])
    error = math.sqrt(np.var(without - without[0]) * (REPLICATES - 1))
    return Estimate(worth(np.ones(REPLICATES)), error)


def _tied(normal: Floats) -> bool:
    """Whether some params are correlated."""
    return not np.array_equal(normal, np.eye(len(normal)))


def _conditional(rows: Floats, known: int, others: Sequence[int], normal: Floats) -> Floats:
    """The others as they are distributed where one is known, by the normal numbers behind all."""
    special = scipy_special()
    along = normal[others, known]
    left = normal[np.ix_(others, others)] - np.outer(along, along)
    numbers = special.ndtri(rows)
    moved = numbers[..., others] @ root_of(left).T + numbers[..., [known]] * along
    rows = rows.copy()
    rows[..., others] = np.clip(special.ndtr(moved), 1e-16, 1 - 1e-16)
    return rows


@frozen(eq=False)
class _Pair:
    """Two designs drawn together: what each gains, the more the better."""

    designs: tuple[Design, Design]
    names: tuple[str, ...]
    sign: float
    raw: bool

    @classmethod
    def of(cls, first: Design, second: Design, minimize: bool, raw: bool) -> _Pair:
        if dict(first.spec.scale.dims) != dict(second.spec.scale.dims):
            raise CallError(f"{first.output} and {second.output} are of different dimensions")
        names: list[str] = []
        for design in (first, second):
            drawn = design.evaluator.spec.drawn
            names += [n for n in drawn if n not in design.given and n not in names]
        if not names:
            raise CallError("no param of the two designs is uncertain")
        return cls((first, second), tuple(names), -1.0 if minimize else 1.0, raw)

    def gains(self, even: Floats) -> Floats:
        """The output of both designs (2 x points) with the better sign, NaN where infeasible."""
        columns = {n: np.ascontiguousarray(c) for n, c in zip(self.names, even.T, strict=True)}
        found, unit = [], self.designs[0].spec.scale
        for design in self.designs:
            evaluator = design.evaluator
            own = [n for n in evaluator.spec.drawn if n not in design.given]
            if own:
                swept = evaluator.drawing(design.given)[1]({n: columns[n] for n in own})
            else:
                swept = evaluator.plan(zipped=design.given).run()
            column = np.asarray((swept.raw if self.raw else swept).column(design.output))
            column = np.broadcast_to(column.ravel(), (len(even),))
            if design.spec.scale != unit:
                column = unit.from_base(design.spec.scale.to_base(column))
            found.append(self.sign * column)
        return np.array(found)
