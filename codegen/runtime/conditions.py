"""Conditions on points, as users write them: `feasible`, `price <= 2 USD`, `form == tall`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .block import Marks, PointBlock
from .errors import CallError
from .quantity import read
from .spec import OutputSpec, ParamSpec, Scale, Spec, did_you_mean
from .sweep import Sweep

FEASIBLE = "feasible"
_COMPARED = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*")
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip


class ParamReader(Protocol):
    """An evaluator, which reads the values of its params."""

    spec: Spec

    @property
    def units(self) -> Mapping[str, Scale]:
        """The units that texts may use."""

    def base(self, param: ParamSpec, value: Any) -> float:
        """One value in base units."""


@dataclass(frozen=True)
class Condition:
    """Where points fit: `name` compared with a number in its unit, or with a case or label.

    Of an output only feasible points fit, unless the sweep is raw: others have none.
    """

    name: str
    sign: str = ""
    limit: Any = None
    code: float | None = None
    output: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The outputs whose values are compared."""
        return (self.name,) if self.output else ()

    def __call__(self, block: PointBlock) -> Marks | None:
        """Which points of a block fit; None if all do."""
        if self.name == FEASIBLE:
            return block.feasible
        if self.code is None:
            found = _SIGNS[self.sign](block.shown(self.name), self.limit)
        else:
            found = _SIGNS[self.sign](block.base(self.name), self.code)
        if self.output and not block.is_raw and block.feasible is not None:
            found &= block.feasible
        marks: Marks = found
        return marks

    def fits(self, part: Sweep) -> Marks:
        """Which points of a sweep fit."""
        if self.name == FEASIBLE:
            return part.feasible.ravel()
        found = np.asarray(_SIGNS[self.sign](part.column(self.name), self.limit), np.bool_)
        return found & part.feasible.ravel() if self.output and not part.is_raw else found


def parts(text: str) -> tuple[str, str, str]:
    """The name, the sign and the value of a comparison; the name alone for `feasible`."""
    if text.strip() == FEASIBLE:
        return FEASIBLE, "", ""
    found = _COMPARED.fullmatch(text)
    if found is None:
        raise CallError(f"{text}: write feasible, or NAME >= VALUE, also with <=, ==, !=, <, >")
    name, sign, value = found.groups()
    return name, sign, value


def condition(evaluator: ParamReader, text: str) -> Condition:
    """Read a condition. A number without unit is in that of the output or param, as for a call.

    Raises CallError for what does not fit.
    """
    name, sign, value = parts(text)
    if name == FEASIBLE and not sign:
        return Condition(FEASIBLE)
    spec = evaluator.spec
    of: Sequence[OutputSpec | ParamSpec] = [*spec.outputs, *spec.params]
    described = next((d for d in of if d.name == name), None)
    if described is None:
        hint = did_you_mean(name, [d.name for d in of])
        raise CallError(f"{spec.name} has no output or param {name}{hint}")
    output = isinstance(described, OutputSpec)
    cases = output or described.kind == "choice"  # type: ignore[union-attr]
    if described.labels and cases and sign not in ("==", "!="):
        raise CallError(f"{text}: a case is compared with == or !=")
    if isinstance(described, ParamSpec):
        base = evaluator.base(described, value)
        code = base if described.kind in ("choice", "bool") else None
        return Condition(name, sign, described.show(base), code)
    if described.labels:
        if value not in described.labels:
            hint = did_you_mean(value, described.labels)
            raise CallError(f"{name} has no case {value}{hint}")
        code = float(described.labels.index(value))
        return Condition(name, sign, value, code, output=True)
    limit = described.scale.from_base(read(value, described.scale, evaluator.units))
    return Condition(name, sign, limit, output=True)


def conditions(evaluator: ParamReader, texts: str | Sequence[str]) -> list[Condition]:
    """Read one condition or several."""
    return [condition(evaluator, text) for text in ([texts] if isinstance(texts, str) else texts)]
