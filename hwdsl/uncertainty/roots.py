"""Solving at draws: how the value of a param at which an output meets a target is distributed.

Input: what `hwdsl.search.solve` takes. Output: for each draw of the uncertain params the least
root, if there is one, found for all draws together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import CallError, InUnit, ParamSpec
from hwdsl.search import Design
from hwdsl.search.solve import Question, question_of, span_of
from hwdsl.uncertainty.draws import NONE, Correlations, sobol_points
from hwdsl.uncertainty.estimate import Estimate, Floats
from hwdsl.uncertainty.tails import quantiles_of

POINTS = 4096
LOOKED_AT = 64
"""Values of the param that are looked at in each draw."""
HALVINGS = 60
BATCH = 1 << 18


@frozen(eq=False)
class RootDraws:
    """The least root of each draw in the param's unit, NaN where there is none.

    `several` marks draws with more than one, `below` and `above` those in which the output is below
    or above the target wherever it is feasible; where it is feasible nowhere, neither is set.
    """

    param: ParamSpec = field(repr=False)
    drawn: tuple[str, ...]
    values: Floats = field(repr=False)
    several: NDArray[np.bool_] = field(repr=False)
    below: NDArray[np.bool_] = field(repr=False)
    above: NDArray[np.bool_] = field(repr=False)

    @property
    def share(self) -> float:
        """The share of the draws that have a root."""
        return float(np.mean(~np.isnan(self.values)))

    def quantiles(self, shares: Sequence[float]) -> list[Estimate]:
        """Quantiles of the roots over the draws that have one, with standard errors."""
        return quantiles_of(self.values, shares)


def solve_draws(
    evaluator: Evaluator,
    param: str,
    output: str,
    target: Any = None,
    at: Mapping[str, Any] | None = None,
    *,
    against: Design | None = None,
    low: Any = None,
    high: Any = None,
    points: int = POINTS,
    seed: int = 0,
    correlations: Correlations = NONE,
    raw: bool = False,
) -> RootDraws:
    """Solve at scrambled Sobol points of the uncertain params (`hwdsl.search.solve`).

    64 values in the range of `param` are looked at in each draw, and the first change of sign is
    halved down to the root, or to the jump past the target. Raises CallError as `solve` does, for
    a param that is no real, and if no other is uncertain.
    """
    question = question_of(Design(evaluator, output, dict(at or {})), param, target, against, raw)
    if question.whole:
        raise CallError(f"{param} is no real: roots at draws are of reals")
    ends = span_of(question, low, high)
    draws = _draws(question, ends[0], points, seed, correlations)
    numbers = np.sort(question.values(*ends, LOOKED_AT))
    return _roots(question, draws, numbers)


def _draws(
    question: Question, low: float, points: int, seed: int, correlations: Correlations
) -> list[dict[str, Floats]]:
    """For each design the values drawn of its uncertain params, in their units."""
    held = question.param.scale.from_base(low)
    names: list[str] = []
    for design in question.designs:
        drawn = design.evaluator.spec.drawn
        fixed = {*design.given, question.param.name}
        names += [n for n in drawn if n not in fixed and n not in names]
    if not names:
        raise CallError(f"no param but {question.param.name} is uncertain")
    even = sobol_points(names, points, seed=seed, correlations=correlations)
    found = []
    for design in question.designs:
        given = dict(design.given)
        if question.varies(design):
            given[question.param.name] = np.array([held]).view(InUnit)
        if any(n not in given for n in design.evaluator.spec.drawn):
            drawn_values = design.evaluator.sample(even.points, given, even=even, keep=True).drawn
            found.append(dict(drawn_values))
        else:
            found.append({})
    return found


def _roots(question: Question, draws: Sequence[Mapping[str, Floats]], numbers: Floats) -> RootDraws:
    count = max(len(c) for columns in draws for c in columns.values())

    def signs(x: Floats, which: NDArray[np.int64]) -> Floats:
        """The sign of the difference at values of the param in draws; NaN where infeasible."""
        parts = []
        for start in range(0, len(x), BATCH):
            part = slice(start, start + BATCH)
            picked = [{n: c[which[part]] for n, c in columns.items()} for columns in draws]
            mine, theirs = question.outputs(x[part], picked)
            with np.errstate(invalid="ignore"):
                parts.append(np.sign(mine - theirs))
        return np.concatenate(parts)

    every = np.arange(count)
    looked = len(numbers)
    table = signs(np.tile(numbers, count), np.repeat(every, looked)).reshape(count, looked)
    with np.errstate(invalid="ignore"):
        changes = (table[:, :-1] * table[:, 1:] < 0) | (table[:, 1:] == 0)
        changes[:, 0] |= table[:, 0] == 0
    first = np.argmax(changes, axis=1)
    found = np.flatnonzero(changes.any(axis=1))
    low, high = numbers[first[found]], numbers[first[found] + 1]
    start = table[found, first[found]]
    high = np.where(start == 0, low, high)
    for _ in range(HALVINGS if len(found) else 0):
        middle = low + (high - low) / 2
        same = signs(middle, found) == start
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    values = np.full(count, np.nan)
    values[found] = high
    rooted = np.zeros(count, np.bool_)
    rooted[found] = True
    below, above = (table < 0).any(axis=1) & ~rooted, (table > 0).any(axis=1) & ~rooted
    names = tuple(dict.fromkeys(n for columns in draws for n in columns))
    return RootDraws(
        question.param, names, values, changes.sum(axis=1) > 1, below & ~above, above & ~below
    )
