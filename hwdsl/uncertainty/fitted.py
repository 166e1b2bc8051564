"""Fitted coefficients as uncertain params: normal about what was fitted, with the fit's covariance.

Input: a `Fit`. Output: the evaluator that was fitted, in which the coefficients are params that are
drawn together, beside the params that have a distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from attrs import frozen

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import Axis, CallError, Floats, Kernel, Words
from hwdsl.measure.fit import Fit
from hwdsl.uncertainty.draws import cholesky
from hwdsl.uncertainty.scipy_functions import scipy_special


class FittedEvaluator(Evaluator):
    """An evaluator whose coefficients are params: by default as fitted, and drawn as uncertain.

    Those without an interval (held at a bound, or that the rows do not tell) are not drawn. The
    draws are clipped to the declared bounds. `sample`, `sobol_indices`, `decide` and `solve_draws`
    take it as any other evaluator. Raises CallError if no coefficient has an interval.
    """

    def __init__(self, found: Fit) -> None:
        known = found.problem.evaluator
        self.__dict__.update(known.__dict__)
        names = [c.name for c in found.problem.coefficients]
        fitted = dict(zip(names, found.values.tolist(), strict=True))
        told = np.flatnonzero(np.isfinite(np.diag(found.covariance))).tolist()
        if not told:
            raise CallError(f"no coefficient of the fit has an interval: {'; '.join(found.notes)}")
        params = tuple(replace(p, default=fitted.get(p.name, p.default)) for p in known.spec.params)
        drawn = (*known.spec.drawn, *(names[i] for i in told))
        self.spec = replace(known.spec, params=params, drawn=drawn)
        self._found, self._defaults = found, [p.default for p in params]
        self._joint = _JointKernel(
            self._sampler if known.spec.drawn else None, found.values[told],
            cholesky(found.covariance[np.ix_(told, told)]),
        )  # fmt: skip
        self._draws = lambda: self._joint

    def __reduce__(self) -> tuple[Any, ...]:
        return FittedEvaluator, (self._found,)


@frozen(eq=False)
class _JointKernel:
    """Makes values from even numbers: of declared distributions, then of joint normal ones."""

    declared: Kernel | None
    means: Floats
    root: Floats

    @property
    def params(self) -> int:
        """How many params are drawn."""
        return self._before + len(self.means)

    @property
    def outputs(self) -> int:
        """As many values."""
        return self.params

    @property
    def words(self) -> int:
        """Words of rule bits, of which none is set."""
        return 1 if self.declared is None else self.declared.words

    @property
    def _before(self) -> int:
        return 0 if self.declared is None else self.declared.params

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill the values of start..stop."""
        before = self._before
        if self.declared is not None:
            self.declared.run(axes[:before], start, stop, outputs[:before], rules)
        points = np.arange(start, stop)
        even = [values[points // stride % count] for values, stride, count in axes[before:]]
        normal = self.root @ scipy_special().ndtri(np.array(even))
        for column, mean, moved in zip(outputs[before:], self.means, normal, strict=True):
            if column is not None:
                column[:] = mean + moved

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """The values of one draw."""
        columns = [np.empty(1) for _ in range(self.outputs)]
        words = np.zeros((1, self.words), np.uint64)
        self.run([(np.array([v]), 1, 1) for v in values], 0, 1, columns, words)
        return [float(column[0]) for column in columns], [int(w) for w in words[0]]

    def halt(self, on: bool) -> None:
        """Let the declared ones end."""
        if self.declared is not None:
            self.declared.halt(on)
