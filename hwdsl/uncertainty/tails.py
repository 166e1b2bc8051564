"""Quantiles of outputs, far ones too, with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hwdsl.codegen.runtime import Samples
from hwdsl.uncertainty.estimate import REPLICATES, Estimate, Floats, of_replicates

FEWEST_BEYOND = 8
"""Draws of a replicate that lie beyond a quantile, without which it has no error."""


def parts_of(samples: Samples, output: str) -> list[Floats]:
    """The draws that count of each replicate; NaN is none."""
    whole = len(samples) // REPLICATES * REPLICATES
    parts = np.split(samples[output][:whole], REPLICATES)
    return [part[~np.isnan(part)] for part in parts]


def mean(samples: Samples, output: str) -> Estimate:
    """The mean of an output over the draws that count."""
    parts = parts_of(samples, output)
    if min(len(part) for part in parts) == 0:
        return Estimate(samples.mean(output), math.nan)
    return of_replicates(np.array([part.mean() for part in parts]), samples.mean(output))


def quantiles(samples: Samples, output: str, shares: Sequence[float]) -> list[Estimate]:
    """The values that shares of the draws lie below, each with its standard error.

    The error is the scatter over 16 replicates of the draws. It is NaN where a replicate has fewer
    than 8 draws beyond the quantile.
    """
    values = np.atleast_1d(samples.quantile(output, list(shares)))
    parts = parts_of(samples, output)
    fewest = min(len(part) for part in parts)
    found = []
    for share, value in zip(shares, values.tolist(), strict=True):
        if fewest * min(share, 1 - share) < FEWEST_BEYOND:
            found.append(Estimate(value, math.nan))
        else:
            each = np.array([np.quantile(part, share) for part in parts])
            found.append(of_replicates(each, value))
    return found
