"""Numbers between 0 and 1 to draw from: scrambled Sobol points, and correlated ones.

The quantile functions of the params make values of them, so a rank correlation of these numbers is
that of the params. Points come in replicates of one length, each scrambled for itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from hwdsl.codegen.runtime import (
    CallError,
    EvenNumbers,
    KernelEvaluator,
    RandomStream,
    Samples,
)
from hwdsl.uncertainty.estimate import REPLICATES, Floats
from hwdsl.uncertainty.scipy_functions import scipy_special, scipy_stats

BITS = 30
"""Bits of a coordinate; half of the last is added, so that none is 0."""
MOST_BITS = 26
"""Points of a replicate are at most 2 to the power of this."""


@frozen(eq=False)
class Correlations:
    """Spearman's rank correlations of params, drawn by a Gaussian copula.

    `names` are the params in the order of the rows of `matrix`; others are independent of all.
    source: A. Nataf, Comptes Rendus 225, 1962; the correlation of the normal numbers behind a rank
    correlation r is 2 sin(pi r / 6) (K. Pearson, 1907).
    """

    names: tuple[str, ...]
    matrix: Floats = field(repr=False)

    @classmethod
    def of_pairs(cls, pairs: Mapping[tuple[str, str], float]) -> Correlations:
        """From the correlations of pairs; pairs that are not given are uncorrelated.

        Raises CallError for a number beyond -1 .. 1, and if there can be no such params.
        """
        names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
        matrix = np.eye(len(names))
        for (a, b), value in pairs.items():
            if a == b:
                raise CallError(f"a correlation is of two params, not of {a} with itself")
            if not -1 <= value <= 1:
                raise CallError(f"a correlation lies between -1 and 1: {a},{b} has {value:g}")
            i, j = names.index(a), names.index(b)
            matrix[i, j] = matrix[j, i] = value
        found = cls(names, matrix)
        found.normal(names)
        return found

    def normal(self, names: Sequence[str]) -> Floats:
        """The correlation matrix of the normal numbers behind some params, in their order.

        Raises CallError if it is not positive semidefinite.
        """
        whole = np.eye(len(names))
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                if i != j and a in self.names and b in self.names:
                    rank = self.matrix[self.names.index(a), self.names.index(b)]
                    whole[i, j] = 2 * math.sin(math.pi * rank / 6)
        values, vectors = np.linalg.eigh(whole)
        if len(names) and values[0] < -1e-9:
            weights = np.abs(vectors[:, 0])
            most = [names[k] for k in np.argsort(-weights) if weights[k] > 0.1]
            raise CallError(
                f"no params have these correlations: the matrix of {', '.join(most)} is not "
                f"positive semidefinite (least eigenvalue {values[0]:.3g}); bring them nearer to 0"
            )
        return whole

    def check(self, names: Sequence[str]) -> None:
        """Raise CallError for a param that is not drawn."""
        for name in self.names:
            if name not in names:
                raise CallError(
                    f"{name} is correlated, but not drawn; drawn are {', '.join(names)}"
                )


NONE = Correlations((), np.eye(0))


def root_of(matrix: Floats) -> Floats:
    """What makes numbers of this covariance from independent ones, for a singular matrix too."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.clip(values, 0.0, None)))


def correlated(even: Floats, normal: Floats) -> Floats:
    """Even numbers (points x params) with the correlation matrix of the normal ones behind them."""
    if np.array_equal(normal, np.eye(len(normal))):
        return even
    special = scipy_special()
    return np.asarray(special.ndtr(special.ndtri(even) @ cholesky(normal).T))


def cholesky(covariance: Floats) -> Floats:
    """The lower triangle that makes numbers of a covariance from independent ones.

    A semidefinite one is made definite by so little that no draw shows it.
    """
    sizes = np.sqrt(np.diag(covariance))
    matrix = covariance / np.outer(sizes, sizes) + 1e-12 * np.eye(len(covariance))
    return np.asarray(np.linalg.cholesky(matrix) * sizes[:, None])


@frozen(eq=False)
class SobolPoints:
    """Scrambled Sobol points of some params: what `Evaluator.sample(even=…)` takes.

    `points` are those of all replicates together.
    """

    names: tuple[str, ...]
    points: int
    seed: int = 0
    correlations: Correlations = field(default=NONE, repr=False)

    @property
    def length(self) -> int:
        """The points of a replicate."""
        return self.points // REPLICATES

    def replicate(self, number: int, start: int = 0, stop: int | None = None) -> Floats:
        """Points of one replicate, a column for each param."""
        stop = self.length if stop is None else stop
        even = sobol(len(self.names), [self.seed, number], start, stop)
        return correlated(even, self.correlations.normal(self.names))

    def __call__(self, start: int, stop: int) -> Mapping[str, Floats]:
        """The points from one number to another, the replicates one after the other."""
        parts = []
        for number in range(start // self.length, -(-stop // self.length)):
            first = number * self.length
            low, high = max(start, first) - first, min(stop, first + self.length) - first
            parts.append(self.replicate(number, low, high))
        columns = np.concatenate(parts).T
        return {n: np.ascontiguousarray(c) for n, c in zip(self.names, columns, strict=True)}


@frozen(eq=False)
class CorrelatedStream:
    """Random numbers of some params, correlated: what `Evaluator.sample(even=…)` takes."""

    names: tuple[str, ...]
    seed: int
    correlations: Correlations = field(repr=False)

    def __call__(self, start: int, stop: int) -> Mapping[str, Floats]:
        """The draws from one number to another."""
        columns = RandomStream(self.names, self.seed)(start, stop)
        even = np.stack([columns[name] for name in self.names], axis=1)
        found = correlated(even, self.correlations.normal(self.names))
        return {n: np.ascontiguousarray(c) for n, c in zip(self.names, found.T, strict=True)}


def sample(
    evaluator: KernelEvaluator,
    points: int,
    at: Mapping[str, Any] | None = None,
    *,
    method: str = "sobol",
    seed: int = 0,
    correlations: Correlations = NONE,
    keep: bool = False,
) -> Samples:
    """Evaluate at scrambled Sobol points (`sobol`) or random ones (`random`), correlated or not.

    As `Evaluator.sample`; the number of Sobol points is rounded up as `sobol_points` says. Raises
    CallError for another method, and for correlations of params that are not drawn.
    """
    given = dict(at or {})
    points, even = even_numbers(
        evaluator, points, given, method=method, seed=seed, correlations=correlations
    )
    return evaluator.sample(points, given, seed=seed, even=even, keep=keep)


def even_numbers(
    evaluator: KernelEvaluator,
    points: int,
    given: Mapping[str, Any],
    *,
    method: str = "sobol",
    seed: int = 0,
    correlations: Correlations = NONE,
) -> tuple[int, EvenNumbers | None]:
    """How many draws there are, and the even numbers that make them; None for a random stream.

    Evaluators take them as `even`, with that number of points. As for `sample`.
    """
    names = tuple(evaluator.drawing(given)[0])
    correlations.check(names)
    if method == "sobol":
        found = sobol_points(names, points, seed=seed, correlations=correlations)
        return found.points, found
    if method != "random":
        raise CallError(f"method is sobol or random, not {method!r}")
    stream = CorrelatedStream(names, seed, correlations) if correlations.names else None
    return points, stream


def sobol_points(
    names: Sequence[str], points: int, *, seed: int = 0, correlations: Correlations = NONE
) -> SobolPoints:
    """Scrambled Sobol points of the params `names`: 16 replicates, `points` rounded up.

    A replicate has a power of 2, for which alone Sobol points are balanced. Raises CallError for
    too many, and for correlations of params that are not drawn.
    """
    correlations.check(names)
    return SobolPoints(tuple(names), REPLICATES * length_of(points), seed, correlations)


def length_of(points: int) -> int:
    """The points of a replicate for so many points in all: a power of 2."""
    bits = max(0, math.ceil(math.log2(max(points, 1) / REPLICATES)))
    if bits > MOST_BITS:
        raise CallError(f"at most {REPLICATES * 2**MOST_BITS:,} Sobol points")
    return 1 << bits


def sobol(dimensions: int, seed: Sequence[int], start: int, stop: int) -> Floats:
    """Points of a scrambled Sobol sequence, none at 0 or 1."""
    qmc = scipy_stats().qmc
    engine = qmc.Sobol(dimensions, scramble=True, bits=BITS, seed=np.random.default_rng([*seed]))
    if start:
        engine.fast_forward(start)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a part of the points is no power of 2
        return np.asarray(engine.random(stop - start) + 0.5 * 2.0**-BITS)
