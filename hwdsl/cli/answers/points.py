"""Answers of `run`, `why` and `sample`: points, derivations, distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import frozen

from hwdsl.cli.answers.parts import Amount, Broken, Input, Number, Undecided

# --- run and why ---------------------------------------------------------------------------------


@frozen
class SumRow:
    """A row of a breakdown: the rows one `level` below a row add up to it.

    `times` is the multiplicity, such as `64 ×`; `share` is the share of the whole output.
    """

    level: int
    name: str
    times: str
    value: Number
    base_value: Number
    share: Number


@frozen
class Sum:
    """The breakdown of an output into a sum; its first row is the output itself."""

    output: str
    unit: str
    rows: Sequence[SumRow]


@frozen
class Run:
    """The answer of `hwdsl run`: an evaluator at one point.

    The outputs of a point that is not feasible are "NaN", unless `raw` is true: then they are what
    the formulas give.
    """

    evaluator: str
    params: Sequence[Input]
    outputs: Sequence[Amount]
    feasible: bool
    raw: bool
    violations: Sequence[Broken]
    undecided: Sequence[Undecided]
    sums: Sequence[Sum]
    answer: Literal["run"] = "run"


@frozen
class SourceAnswer:
    """Where a number is from: the `reference` by name (empty for a text), its kind, year and title.

    `place` says where in it, `confidence` is `low`, `medium`, `high` or empty. The kind of a text
    is `unnamed`; that of an assumption, whose `place` is its reason, `assumption`.
    """

    reference: str
    kind: str
    year: int | None
    title: str
    place: str
    confidence: str


@frozen
class StepTerm:
    """A term of a step: `factor` times the value of step number `step`, both in base units.

    `text` is the factor as it is written, such as `64 ×` or `price / lifetime`; empty for 1.
    """

    step: int
    factor: Number
    text: str


@frozen
class Step(Amount):
    """A step of a derivation: its formula, the place of the formula, and its inputs.

    If there are `terms`, the value is their sum; `inputs` are the numbers of the steps that the
    formula reads. For a param, `role` says whether it was given. `sources` are those of the
    declaration that the formula stands in.
    """

    formula: str
    place: str
    role: str
    path: str
    terms: Sequence[StepTerm]
    inputs: Sequence[int]
    sources: Sequence[SourceAnswer]


@frozen
class Why:
    """The answer of `hwdsl why`: the steps by number; step 0 is the output."""

    evaluator: str
    output: str
    steps: Sequence[Step]
    answer: Literal["why"] = "why"


@frozen
class NumberSensitivity:
    """A number that moves an output: `elasticity` is per cent of change for one per cent more.

    `number` is its module and name, `value` its text.
    """

    number: str
    value: str
    place: str
    elasticity: Number
    sources: Sequence[SourceAnswer]


@frozen
class Sensitivities:
    """The answer of `hwdsl why --confidence`: the numbers that move an output most."""

    evaluator: str
    output: str
    numbers: Sequence[NumberSensitivity]
    answer: Literal["sensitivities"] = "sensitivities"


@frozen
class NumberSources:
    """A number of a file: `number` is its module and name, `value` its text.

    `stated` tells whose the sources are: `own`, `block` or `file`; empty without a source.
    `confidence` is that of the least sure of them.
    """

    number: str
    value: str
    place: str
    stated: str
    confidence: str
    sources: Sequence[SourceAnswer]


@frozen
class SourcesAnswer:
    """The answer of `hwdsl explain --sources`: the numbers, with `--confidence` those of one."""

    numbers: Sequence[NumberSources]
    answer: Literal["sources"] = "sources"


# --- sample --------------------------------------------------------------------------------------


@frozen
class Statistic:
    """A statistic of the draws, in the unit of its output and in base units."""

    value: Number
    base_value: Number


@frozen
class Quantile(Statistic):
    """The value below which `share` of the draws lie; the standard error is in the output's unit,
    "NaN" where too few draws lie beyond."""

    share: Number
    standard_error: Number


@frozen
class Correlation:
    """Spearman's rank correlation of an output with a sampled param."""

    param: str
    value: Number


@frozen
class Distribution:
    """The distribution of an output over the feasible draws, or over all where `raw` is true;
    `deviation` is the standard deviation."""

    name: str
    unit: str
    dimension: str
    mean: Statistic
    mean_standard_error: Number
    deviation: Statistic
    quantiles: Sequence[Quantile]
    rank_correlations: Sequence[Correlation]


@frozen
class Drawn:
    """A sampled param, and the share of its draws that were clipped to its range."""

    name: str
    clipped_share: Number


@frozen
class Sample:
    """The answer of `hwdsl sample`; `violations` counts the draws that violate each rule."""

    evaluator: str
    draws: int
    seed: int
    feasible_share: Number
    raw: bool
    violations: Mapping[str, int]
    params: Sequence[Drawn]
    outputs: Sequence[Distribution]
    answer: Literal["sample"] = "sample"
