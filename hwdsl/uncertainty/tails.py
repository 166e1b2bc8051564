"""Quantiles of outputs, far ones too, with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hwdsl.codegen.runtime import Samples
from hwdsl.uncertainty.estimate import REPLICATES, Estimate, Floats, of_replicates

FEWEST_BEYOND = 8
"""Draws of a replicate that lie beyond a quantile, without which it has no error."""


def mean(samples: Samples, output: str) -> Estimate:
    """The mean of an output over the draws that count."""
    parts = _parts(samples[output])
    if min(len(part) for part in parts) == 0:
        return Estimate(samples.mean(output), math.nan)
    return of_replicates(np.array([part.mean() for part in parts]), samples.mean(output))


def quantiles(samples: Samples, output: str, shares: Sequence[float]) -> list[Estimate]:
    """The values that shares of the draws lie below, each with its standard error.

    The error is the scatter over 16 replicates of the draws. It is NaN where a replicate has fewer
    than 8 draws beyond the quantile.
    """
    return quantiles_of(samples[output], shares)


def quantiles_of(draws: Floats, shares: Sequence[float]) -> list[Estimate]:
    """The same of numbers drawn, replicate after replicate; NaN does not count."""
    parts, every = _parts(draws), draws[~np.isnan(draws)]
    fewest = min(len(part) for part in parts)
    found = []
    for share in shares:
        value = float(np.quantile(every, share)) if len(every) else math.nan
        if fewest * min(share, 1 - share) < FEWEST_BEYOND:
            found.append(Estimate(value, math.nan))
        else:
            each = np.array([np.quantile(part, share) for part in parts])
            found.append(of_replicates(each, value))
    return found


def _parts(draws: Floats) -> list[Floats]:
    """The draws that count of each replicate; NaN is none."""
    whole = len(draws) // REPLICATES * REPLICATES
    return [part[~np.isnan(part)] for part in np.split(draws[:whole], REPLICATES)]
