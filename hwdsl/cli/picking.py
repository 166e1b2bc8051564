"""Which points of a sweep are kept: those that fit conditions, the best, a Pareto front."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from hwdsl.cli.base import named
from hwdsl.cli.errors import CommandError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import ExecutionPlan, Floats, Sweep

    Marks = NDArray[np.bool_]

_COMPARED = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*")
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
FEASIBLE = "feasible"


@frozen
class Condition:
    """Where points fit: `name` compared with a number in its unit, or with a label."""

    name: str
    sign: str = ""
    limit: Any = None
    output: bool = False

    def fits(self, part: Sweep) -> Marks:
        """Which of the points fit; one that is infeasible has no output to compare."""
        if self.name == FEASIBLE:
            return part.feasible.ravel()
        found = np.asarray(_SIGNS[self.sign](part.column(self.name), self.limit), np.bool_)
        return found & part.feasible.ravel() if self.output and not part.is_raw else found


def condition(evaluator: Evaluator, text: str) -> Condition:
    """Read `feasible`, or an output or param, a sign and a value: `price <= 2 USD`.

    A number without unit is in that of the output or param, as it is for a call. What does not fit
    ends the command, or is a CallError.
    """
    if text.strip() == FEASIBLE:
        return Condition(FEASIBLE)
    found = _COMPARED.fullmatch(text)
    if found is None:
        raise CommandError(
            f"--where {text}: write feasible, or NAME >= VALUE, also with <=, ==, !=, <, >"
        )
    name, sign, value = found.groups()
    spec = evaluator.spec
    known = [*(o.name for o in spec.outputs), *(p.name for p in spec.params)]
    named(evaluator.name, "output or param", name, known)
    output = next((o for o in spec.outputs if o.name == name), None)
    if output is None:
        param = evaluator.param(name)
        return Condition(name, sign, param.show(evaluator.base(param, value)))
    if output.labels:
        return Condition(name, sign, named(name, "case", value, output.labels), output=True)
    from hwdsl.codegen.runtime import read

    limit = output.scale.from_base(read(value, output.scale, evaluator.units))
    return Condition(name, sign, limit, output=True)


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

    def cost(self, part: Sweep) -> Floats:
        """What is least where the goal is met best."""
        column = part.column(self.name).astype(np.float64)
        return -column if self.most else column


def goal(evaluator: Evaluator, text: str) -> Goal:
    """Read `throughput` or `max:throughput`, the most of it, or `min:price`."""
    prefix, colon, name = text.strip().rpartition(":")
    if colon and prefix not in ("min", "max"):
        raise CommandError(f"{text}: write NAME for the most of it, or min:NAME for the least")
    spec = evaluator.spec
    numbers = [o.name for o in spec.outputs if not o.labels]
    numbers += [p.name for p in spec.params if p.kind in ("real", "int")]
    return Goal(named(evaluator.name, "output or numeric param", name, numbers), prefix != "min")


def best(
    plan: ExecutionPlan,
    goals: Sequence[Goal],
    conditions: Sequence[Condition],
    parts: Iterable[Sweep],
) -> NDArray[np.int64]:
    """The numbers of the feasible points that no other beats in all goals, among `parts` of a plan.

    Points where a goal is not finite are left out. Only the front so far is kept in memory.
    """
    from hwdsl.codegen.runtime.pareto import pareto_front

    found, costs = np.empty(0, np.int64), [np.empty(0) for _ in goals]
    for part in parts:
        allowed, part = part.feasible.ravel(), part.raw
        for each in conditions:
            allowed = allowed & each.fits(part)
        new = [each.cost(part) for each in goals]
        places = np.flatnonzero(allowed & np.isfinite(new).all(axis=0))
        found = np.concatenate([found, part.grid.first - plan.grid.first + places])
        costs = [np.concatenate([old, more[places]]) for old, more in zip(costs, new, strict=True)]
        if len(found):
            kept = np.sort(pareto_front(costs))
            found, costs = found[kept], [cost[kept] for cost in costs]
    return found
