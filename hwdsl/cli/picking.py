"""What is asked of a sweep: conditions that points must fulfil, goals, names of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from hwdsl.cli.base import named
from hwdsl.cli.errors import CommandError
from hwdsl.codegen.runtime import CallError

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import Sweep
    from hwdsl.codegen.runtime.conditions import Condition


def condition(evaluator: Evaluator, text: str) -> Condition:
    """Read `feasible`, or an output or param, a sign and a value: `price <= 2 USD`.

    A number without unit is in that of the output or param, as it is for a call. What does not fit
    ends the command, or is a CallError.
    """
    from hwdsl.codegen.runtime.conditions import condition, parts

    try:
        name, sign, value = parts(text)
    except CallError as error:
        raise CommandError(f"--where {error}") from None
    if sign:
        spec = evaluator.spec
        known = [*(o.name for o in spec.outputs), *(p.name for p in spec.params)]
        named(evaluator.name, "output or param", name, known)
        output = next((o for o in spec.outputs if o.name == name), None)
        if output is not None and output.labels:
            named(name, "case", value, output.labels)
    return condition(evaluator, text)


@frozen
class Look:
    """Which points of a sweep are wanted, and whether their outputs are raw: NaN nowhere."""

    conditions: tuple[Condition, ...] = ()
    raw: bool = False

    def at(self, part: Sweep) -> Sweep:
        """The points of a part that fit all conditions."""
        part = part.raw if self.raw else part
        if not self.conditions:
            return part
        return part.take(np.logical_and.reduce([each.fits(part) for each in self.conditions]))


@frozen
class Goal:
    """An output or param that is to be as small as it can be, or with `most` as large."""

    name: str
    most: bool


def goal(evaluator: Evaluator, text: str) -> Goal:
    """Read `throughput` or `max:throughput`, the most of it, or `min:price`."""
    prefix, colon, name = text.strip().rpartition(":")
    if colon and prefix not in ("min", "max"):
        raise CommandError(f"{text}: write NAME for the most of it, or min:NAME for the least")
    (name,) = numeric(evaluator, name)
    return Goal(name, prefix != "min")


def numeric(evaluator: Evaluator, text: str) -> list[str]:
    """Read names of outputs and params that are numbers."""
    spec = evaluator.spec
    known = [o.name for o in spec.outputs if not o.labels]
    known += [p.name for p in spec.params if p.kind in ("real", "int")]
    what = "output or numeric param"
    return [named(evaluator.name, what, each.strip(), known) for each in text.split(",")]


def groups(evaluator: Evaluator, text: str) -> list[str]:
    """Read names of params and of outputs that are cases, whose values tell groups apart."""
    spec = evaluator.spec
    known = [*(p.name for p in spec.params), *(o.name for o in spec.outputs if o.labels)]
    what = "param or case of an enum"
    return [named(evaluator.name, what, each.strip(), known) for each in text.split(",")]
