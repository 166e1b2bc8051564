"""Values of an axis of whole numbers that can be built: those of a range at which a point is.

Rules of divisibility and of size leave few of the whole numbers of a range, and which they are only
the rules know: so they are asked, at all numbers of the range, or at many if there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import Floats, InUnit, Sweep
from hwdsl.elaborate.displays import IntRange

MOST_TRIED = 20_000
"""Points at which the rules are asked."""
LEAST = 3
"""Powers of two that can be built from which on no other numbers are taken."""


@frozen
class LeftOut:
    """How many of the values tried of a param cannot be built, whatever the other axes are."""

    param: str
    values: int
    tried: int


def buildable(
    evaluator: Evaluator, given: Mapping[str, Any], ranges: Mapping[str, IntRange]
) -> tuple[dict[str, NDArray[Any]], Sweep, tuple[LeftOut, ...]]:
    """The values of each axis in `ranges` at which some point is feasible, and the points tried.

    `given` has what the other params are. An axis without any such value is left as it is.
    """
    others = math.prod(len(v) for n, v in given.items() if n not in ranges and _is_many(v))
    most = max(16, int((MOST_TRIED / max(1, others)) ** (1 / len(ranges))))
    tried = {name: _candidates(of, most) for name, of in ranges.items()}
    sweep = evaluator.sweep({**given, **{n: v.view(InUnit) for n, v in tried.items()}})
    feasible = sweep.feasible
    found, left = {}, []
    for name, values in tried.items():
        axis = sweep.dims.index(name)
        across = tuple(k for k in range(feasible.ndim) if k != axis)
        good = values[feasible.any(axis=across)]
        left.append(LeftOut(name, len(values) - len(good), len(values)))
        if len(good):
            found[name] = _chosen(good, ranges[name])
    return found, sweep, tuple(each for each in left if each.values)


def _is_many(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def _candidates(of: IntRange, most: int) -> Floats:
    """The whole numbers of a range, or the powers of two and a spread of `most` of the others."""
    if of.high - of.low < most:
        return np.arange(of.low, of.high + 1)
    spread = np.linspace(of.low, of.high, most // 2)
    if of.low > 0:
        spread = np.concatenate([spread, np.geomspace(of.low, of.high, most // 2)])
    return np.unique(np.concatenate([np.round(spread), _powers(of.low, of.high)]))


def _powers(low: float, high: float) -> Floats:
    if high < 1:
        return np.empty(0)
    first, last = math.ceil(math.log2(max(low, 1))), math.floor(math.log2(high))
    return np.exp2(np.arange(first, last + 1, dtype=np.float64))


def _chosen(good: Floats, of: IntRange) -> Floats:
    """Those of the values that are shown: both ends are, and the others are spread."""
    if of.powers:
        powers = good[np.isin(good, _powers(of.low, of.high))]
        if len(powers) >= LEAST:
            return np.unique([good[0], *powers, good[-1]])
    if of.count is None or len(good) <= of.count:
        return good
    spread = np.geomspace if of.ratios else np.linspace
    wanted = spread(good[0], good[-1], of.count)
    above = np.clip(np.searchsorted(good, wanted), 1, len(good) - 1)
    lower = wanted - good[above - 1] < good[above] - wanted
    return np.unique(good[above - lower])
