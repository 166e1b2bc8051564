"""The answer of `uncertainty`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import frozen

from hwdsl.cli.answers.parts import Number


@frozen
class Estimated:
    """An estimate, its standard error, and its 95 % confidence interval."""

    value: Number
    standard_error: Number
    low: Number
    high: Number


@frozen
class ParamIndices:
    """The Sobol indices of a param: shares of the variance of an output."""

    param: str
    first_order: Estimated
    total_order: Estimated


@frozen
class OutputIndices:
    """The standard deviation of an output, and the Sobol indices of the uncertain params."""

    name: str
    unit: str
    deviation: Number
    indices: Sequence[ParamIndices]


@frozen
class PartialInformation:
    """The expected value of partial perfect information on a param, in the output's unit."""

    param: str
    value: Estimated


@frozen
class DecisionAnswer:
    """Two designs by an output, in the unit that it has in the first.

    `first` and `second` are its means, `first_better` and `second_better` chances; `advantage` is
    by how much the first is better on average, `perfect_information` what it would be worth to know
    all uncertain params.
    """

    output: str
    unit: str
    first: Estimated
    second: Estimated
    first_better: Estimated
    second_better: Estimated
    advantage: Estimated
    perfect_information: Estimated
    partial: Sequence[PartialInformation]


@frozen
class Uncertainty:
    """The answer of `hwdsl uncertainty`: Sobol indices of outputs, or with `--against` a decision.

    `feasible_share` is that of the draws that count.
    """

    evaluator: str
    draws: int
    seed: int
    feasible_share: Number
    outputs: Sequence[OutputIndices]
    decision: DecisionAnswer | None
    answer: Literal["uncertainty"] = "uncertainty"
