"""Sobol indices: which share of an output's variance each uncertain param makes.

source: A. Saltelli et al., Computer Physics Communications 181(2), 2010: the first-order estimator
of its table 2, and for the total order that of M. Jansen, 1999, both on scrambled Sobol points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import CallError, Sweep
from hwdsl.uncertainty.draws import length_of, sobol
from hwdsl.uncertainty.estimate import REPLICATES, Estimate, Floats, of_replicates

POINTS = 1 << 14
BATCH = 1 << 16


@frozen
class SensitivityIndex:
    """The first-order and the total-order index of a param.

    The first is the share of the variance that would be gone, on average, if the param were known;
    the total is the share that would be left if all others were.
    """

    param: str
    first_order: Estimate
    total_order: Estimate


@frozen(eq=False)
class Indices:
    """Sobol indices of outputs: those of each param, the largest total order first.

    `draws` are the evaluations; `feasible_share` is that of the comparisons of which no point is
    infeasible: the others do not count.
    """

    outputs: Mapping[str, tuple[SensitivityIndex, ...]]
    deviations: Mapping[str, float]
    draws: int
    feasible_share: float


def sobol_indices(
    evaluator: Evaluator,
    at: Mapping[str, Any] | None = None,
    *,
    points: int = POINTS,
    seed: int = 0,
    raw: bool = False,
) -> Indices:
    """The Sobol indices of all outputs that are numbers, the params drawn independently.

    It takes `points` evaluations for each uncertain param and twice that more. With `raw`
    infeasible points count too. Raises CallError if no param is uncertain.
    """
    free, evaluate = evaluator.drawing(dict(at or {}))
    names = [o.name for o in evaluator.spec.outputs if not o.labels]
    d, length = len(free), length_of(points)
    first = np.empty((REPLICATES, len(names), d))
    total, variance = np.empty_like(first), np.empty((REPLICATES, len(names)))
    counted = 0.0
    for r in range(REPLICATES):
        both = sobol(2 * d, [seed, r], 0, length)
        a, b = both[:, :d], both[:, d:]
        mixed = [np.where(np.arange(d) == i, b, a) for i in range(d)]
        rows = np.concatenate([a, b, *mixed])
        swept = evaluate(dict(zip(free, np.ascontiguousarray(rows.T), strict=True)))
        found, good = _columns(swept, names, d + 2, raw)
        counted += float(good.mean()) / REPLICATES
        if good.sum() < 2:
            raise CallError("too few draws are feasible for indices; raw ones count all")
        first[r], total[r], variance[r] = _estimators(found[:, :, good])
    shares = {
        name: tuple(
            SensitivityIndex(param, _share(first[:, k, i], variance[:, k]),
                             _share(total[:, k, i], variance[:, k]))
            for i, param in enumerate(free)
        ) for k, name in enumerate(names)
    }  # fmt: skip
    ordered = {
        name: tuple(sorted(each, key=lambda index: -index.total_order.value))
        for name, each in shares.items()
    }
    deviations = dict(zip(names, np.sqrt(variance.mean(axis=0)).tolist(), strict=True))
    return Indices(ordered, deviations, REPLICATES * length * (d + 2), counted)


def _columns(swept: Sweep, names: list[str], groups: int, raw: bool) -> tuple[Floats, Any]:
    """Outputs x groups x points, and which points count: those that are finite in all groups."""
    swept = swept.raw if raw else swept
    found = np.array([swept.column(name).reshape(groups, -1) for name in names])
    feasible = swept.feasible.reshape(groups, -1).all(axis=0) if not raw else True
    return found, np.isfinite(found).all(axis=(0, 1)) & feasible


def _estimators(found: Floats) -> tuple[Floats, Floats, Floats]:
    """Of one replicate the variances by each param, first-order and total, and the whole."""
    # About the mean, which changes no index and keeps sums of products from losing digits.
    centred = found - found[:, :2].mean(axis=(1, 2), keepdims=True)
    a, b, mixed = centred[:, 0], centred[:, 1], centred[:, 2:]
    moved = mixed - a[:, None]
    first = (b[:, None] * moved).mean(axis=2)
    total = (moved**2).mean(axis=2) / 2
    return first, total, (centred[:, :2] ** 2).mean(axis=(1, 2))


def _share(part: Floats, variance: Floats) -> Estimate:
    """A part of the variance, as a share of all."""
    whole = float(variance.mean())
    if not whole:
        return Estimate(0.0, 0.0)
    # The scatter of part and whole together: a replicate of large variance has large parts.
    value = float(part.mean()) / whole
    return Estimate(value, of_replicates((part - value * variance) / whole).standard_error)
