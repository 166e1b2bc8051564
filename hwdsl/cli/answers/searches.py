"""The answers of `solve` and `optimize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import frozen

from hwdsl.cli.answers.parts import Amount, Input, Number


@frozen
class SolvedRoot:
    """A value of the param at which the output equals the target.

    `slope` is the derivative of the output by the param, less that of a target that depends on the
    param; `elasticity` is per cent of the output for one per cent of the param; both are "NaN" for
    a param without derivative. With `touches` the output turns back at the target.
    """

    value: Number
    output: Number
    slope: Number
    elasticity: Number
    touches: bool


@frozen
class SolvedStretch:
    """Values of the param from one to another."""

    low: Number
    high: Number


@frozen
class SolvedJump:
    """Neighbouring values of the param between which the output jumps past the target."""

    below: Number
    above: Number
    output_below: Number
    output_above: Number
    target_below: Number
    target_above: Number


@frozen
class SolvedGap(SolvedStretch):
    """An infeasible stretch and the rules that it violates; if `hides`, the output is on different
    sides of the target at its two ends."""

    rules: Sequence[str]
    hides: bool


@frozen
class SolvedNearest:
    """Where the output comes nearest to the target."""

    value: Number
    output: Number
    target: Number


@frozen
class RootQuantile:
    """The value of the param below which `share` of the roots lie, and its standard error."""

    share: Number
    value: Number
    standard_error: Number


@frozen
class SolvedDraws:
    """The least root of each draw of the uncertain params `drawn`.

    Shares are of the draws: with a root, with several, below or above the target everywhere.
    """

    draws: int
    drawn: Sequence[str]
    with_root: Number
    with_several: Number
    below: Number
    above: Number
    quantiles: Sequence[RootQuantile]


@frozen
class Solve:
    """The answer of `hwdsl solve`, in the units of param and output.

    `low` and `high` are the range that was looked at, at so many `points`. `met` are stretches on
    which the output equals the target, `at_least` those on which it is the target or more. Other
    roots than these cannot be excluded in the stretches `unproven`. `draws` are of `--draws`.
    """

    evaluator: str
    param: str
    param_unit: str
    output: str
    output_unit: str
    low: Number
    high: Number
    points: int
    roots: Sequence[SolvedRoot]
    met: Sequence[SolvedStretch]
    jumps: Sequence[SolvedJump]
    at_least: Sequence[SolvedStretch]
    infeasible: Sequence[SolvedGap]
    nearest: SolvedNearest | None
    unproven: Sequence[SolvedStretch]
    draws: SolvedDraws | None
    answer: Literal["solve"] = "solve"


# --- optimize ------------------------------------------------------------------------------------


@frozen
class Aim:
    """An output or param that is to be as large as it can be, or with `maximize` false as small."""

    name: str
    maximize: bool


@frozen
class FoundDesign:
    """A design: all params and outputs. `given` is true of what the call named."""

    params: Sequence[Input]
    outputs: Sequence[Amount]


@frozen
class BesideDesign:
    """The best design with one param moved: by what share of itself the first aim changes, whether
    that is what is wanted, and the rules and conditions that it violates."""

    param: str
    value: Number | str | bool
    change: Number
    better: bool
    violates: Sequence[str]


@frozen
class ParamElasticity:
    """Per cent of the first aim for one per cent of a free real."""

    param: str
    value: Number


@frozen
class Optimize:
    """The answer of `hwdsl optimize`.

    `design` is null if no feasible one was found; then `nearest` is the one that violates least,
    and `violates` says what. `warnings` are rules of severity `warn` that the design violates,
    `at_ends` params at an end of their range that would be better beyond it.
    `front` has the designs that none beats in all aims, the best in the first one first; with one
    aim it is empty. `restarts` are the best values of the first aim, and `agree` is how many are
    within a thousandth of the best.
    """

    evaluator: str
    aims: Sequence[Aim]
    conditions: Sequence[str]
    size: Number
    design: FoundDesign | None
    front: Sequence[FoundDesign]
    nearest: FoundDesign | None
    violates: Sequence[str]
    warnings: Sequence[str]
    neighbours: Sequence[BesideDesign]
    binding: Sequence[str]
    at_ends: Sequence[str]
    elasticities: Sequence[ParamElasticity]
    restarts: Sequence[Number]
    agree: int
    evaluations: int
    seconds: Number
    ended: Literal["all", "converged", "budget", "time"]
    answer: Literal["optimize"] = "optimize"
