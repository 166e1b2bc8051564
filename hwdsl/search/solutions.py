"""What solving for a param finds."""

from __future__ import annotations

from attrs import field, frozen

from hwdsl.codegen.runtime import OutputSpec, ParamSpec


@frozen
class Root:
    """A value of the param at which the output meets the target.

    `slope` is the exact derivative of the output by the param, less that of the target if that
    depends on the param; `elasticity` is per cent of the output for one per cent of the param. Both
    are NaN for a whole number. With `touches` the output comes up to the target and turns back.
    """

    value: float
    output: float
    slope: float
    elasticity: float
    touches: bool = False


@frozen
class Stretch:
    """Values of the param, from one to another."""

    low: float
    high: float


@frozen
class Jump:
    """Neighbouring values of the param between which the output passes the target by a jump.

    Of two designs that tie the target jumps it may be.
    """

    below: float
    above: float
    output_below: float
    output_above: float
    target_below: float
    target_above: float


@frozen
class Gap(Stretch):
    """A stretch that is infeasible, by these rules. With `hides` the output is below the target on
    one side of it and above it on the other."""

    rules: tuple[str, ...]
    hides: bool


@frozen
class Nearest:
    """Where the output comes nearest to the target."""

    value: float
    output: float
    target: float


@frozen
class Solutions:
    """What was found in a range of the param; values are in the units of param and output.

    `unproven` are stretches in which more roots cannot be excluded: intervals of the graph, and of
    its derivative, tell that there are none elsewhere.

    `at_least` are the stretches on which the output is at the target or above: for a whole number
    their ends are the least and the most values that meet it. `met` are stretches on which the
    output stays at the target.
    """

    param: ParamSpec = field(repr=False)
    output: OutputSpec = field(repr=False)
    low: float
    high: float
    roots: tuple[Root, ...]
    met: tuple[Stretch, ...]
    jumps: tuple[Jump, ...]
    at_least: tuple[Stretch, ...]
    infeasible: tuple[Gap, ...]
    nearest: Nearest | None
    points: int
    unproven: tuple[Stretch, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether there is no other root but those found, as far as float64 tells numbers apart."""
        return not self.unproven

    @property
    def whole(self) -> bool:
        """Whether the param has whole numbers, or listed ones: then every value is neighboured."""
        return self.param.kind == "int" or bool(self.param.values)
