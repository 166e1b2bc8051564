"""Uncertainty: Sobol points, correlated params, Sobol indices, tails, the value of information."""

from hwdsl.uncertainty.decision import Decision, InformationValue, decide
from hwdsl.uncertainty.draws import Correlations, SobolPoints, even_numbers, sample, sobol_points
from hwdsl.uncertainty.estimate import Estimate
from hwdsl.uncertainty.fitted import FittedEvaluator
from hwdsl.uncertainty.indices import Indices, SensitivityIndex, sobol_indices
from hwdsl.uncertainty.roots import RootDraws, solve_draws
from hwdsl.uncertainty.tails import quantiles

__all__ = [
    "Correlations",
    "Decision",
    "Estimate",
    "FittedEvaluator",
    "Indices",
    "InformationValue",
    "RootDraws",
    "SensitivityIndex",
    "SobolPoints",
    "decide",
    "even_numbers",
    "quantiles",
    "sample",
    "sobol_indices",
    "sobol_points",
    "solve_draws",
]
