"""Estimates with standard errors from independent replicates.

Scrambled Sobol points are not independent of each other, but scramblings are: a statistic is taken
of each of some replicates, and their scatter is its error. source: A. Owen, SIAM Journal on
Numerical Analysis 34(5), 1997, on randomized quasi-Monte Carlo.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from hwdsl.uncertainty.scipy_functions import scipy_special

Floats = NDArray[np.float64]

REPLICATES = 16
CONFIDENCE = 0.95


@frozen
class Estimate:
    """A value with its standard error; NaN where there are too few draws to tell one."""

    value: float
    standard_error: float

    @property
    def half_width(self) -> float:
        """Half the length of the 95 % confidence interval, by Student's t over the replicates."""
        return float(scipy_special().stdtrit(REPLICATES - 1, (1 + CONFIDENCE) / 2)) * (
            self.standard_error
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.value - self.half_width, self.value + self.half_width


def of_replicates(values: Floats, value: float | None = None) -> Estimate:
    """An estimate from the statistic of each replicate; its value is their mean unless given."""
    mean = float(np.mean(values)) if value is None else value
    scatter = float(np.std(values - values[0], ddof=1)) if np.isfinite(values).all() else math.nan
    return Estimate(mean, scatter / math.sqrt(len(values)))
