"""What a kernel is about: params, outputs and rules with their units.

`base = value * factor + offset`; both are exact, written `"1000000000"` or `"1/100"`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

UNDEFINED = "undefined"
"""The rule that is broken where an output is not a number."""

NEAR = 1e-12
"""How far, in shares of it, a number may be from an alternative or an end to be taken for it."""


@cache
def _ratio(factor: str) -> tuple[float, float]:
    """Numerator and denominator; one number and 1 if they are beyond float64."""
    exact = Fraction(factor)
    try:
        return float(exact.numerator), float(exact.denominator)
    except OverflowError:
        return float(exact), 1.0


@dataclass(frozen=True)
class Scale:
    """A unit: its label, dimension (base name to exponent), exact factor and zero in base units."""

    unit: str = ""
    factor: str = "1"
    offset: str = "0"
    dims: Mapping[str, float] = field(default_factory=dict)

    def parts(self) -> tuple[float, float, float]:
        """Numerator, denominator and offset."""
        return *_ratio(self.factor), _ratio(self.offset)[0] / _ratio(self.offset)[1]

    def to_base(self, value: Any) -> Any:
        """A number or array in base units; a zero keeps its sign."""
        up, down, offset = self.parts()
        base = value * up / down
        return base + offset if offset else base

    def from_base(self, value: Any) -> Any:
        """A number or array in this unit."""
        up, down, offset = self.parts()
        return (value - offset) * down / up


@dataclass(frozen=True)
class ParamSpec:
    """A free input; bounds and default in base units; `kind` is real, int, bool or choice.

    A choice's value is the index of its label. A choice between numbers is a real or an int that
    has `values`, those numbers in base units. Unless `plain`, numbers need a unit: the file shows
    none for them, and `scale` is only what values are shown in.
    """

    name: str
    kind: str = "real"
    scale: Scale = field(default_factory=Scale)
    default: float | None = None
    low: float = -math.inf
    high: float = math.inf
    labels: tuple[str, ...] = ()
    doc: str = ""
    uniform: bool = False
    values: tuple[float, ...] = ()
    plain: bool = True

    def describe(self, scale: Scale | None = None) -> str:
        """Its unit and range, or its cases; numbers in its own unit unless another is given."""
        scale = scale or self.scale
        if self.values and scale != self.scale:
            cases = [f"{scale.from_base(v):.12g}" for v in self.values]
            return f"one of {', '.join(cases)} {scale.unit}"
        if self.kind == "choice" or self.values:
            return f"one of {', '.join(self.labels)} {self.scale.unit}".rstrip()
        if self.kind == "bool":
            return "true or false"
        number = "a whole number" if self.kind == "int" else "a number"
        low, high = (f"{scale.from_base(v):.12g}" for v in (self.low, self.high))
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{number} from {low} to {high} {scale.unit}".rstrip()
        if math.isfinite(self.low):
            return f"{number} of at least {low} {scale.unit}".rstrip()
        if math.isfinite(self.high):
            return f"{number} of at most {high} {scale.unit}".rstrip()
        return f"{number} in {scale.unit}" if scale.unit else number

    def needs_unit(self, value: Any) -> str:
        """What to say of a number without unit where `plain` is false."""
        dims, better = dims_text(self.scale.dims), joined(str(value), self.scale.unit)
        return f'{value} has no unit and the file gives none ({dims}): write "{better}"'

    def show(self, value: float) -> Any:
        """A base value as the user reads it."""
        if self.kind == "choice":
            return self.labels[int(value)]
        if self.kind == "bool":
            return bool(value)
        return int(value) if self.kind == "int" else self.scale.from_base(value)


@dataclass(frozen=True)
class OutputSpec:
    """An answer; `labels` name the cases of one that is an enum case.

    `reads` names the params that it depends on; None says nothing of that.
    """

    name: str
    scale: Scale = field(default_factory=Scale)
    labels: tuple[str, ...] = ()
    doc: str = ""
    reads: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RuleSpec:
    """A rule that depends on params: `severity` is `require` or `warn`, `help` says what to do."""

    name: str
    severity: str = "require"
    help: str = ""


@dataclass(frozen=True)
class Spec:
    """Everything about a kernel that a user needs; `units` are those that texts may use.

    `drawn` names the params that have a distribution.
    """

    name: str
    params: tuple[ParamSpec, ...]
    outputs: tuple[OutputSpec, ...]
    rules: tuple[RuleSpec, ...] = ()
    units: Mapping[str, Scale] = field(default_factory=dict)
    doc: str = ""
    drawn: tuple[str, ...] = ()

    @cached_property
    def required(self) -> tuple[int, ...]:
        """Per word, the bits that make a point infeasible."""
        masks = [0] * (len(self.rules) // 64 + 1)
        for b, severity in enumerate([*(r.severity for r in self.rules), "require"]):
            if severity == "require":
                masks[b // 64] |= 1 << b % 64
        return tuple(masks)

    @property
    def rule_names(self) -> list[str]:
        """What the bits of a point say is violated, in their order; the last is `undefined`."""
        return [*(r.name for r in self.rules), UNDEFINED]

    def about(self) -> str:
        """What `help` shows: the text of the file, then each param and each output."""
        params, outputs = [], []
        for p in self.params:
            start = "" if p.default is None else f" = {_number(p.show(p.default))}"
            unit = "" if p.labels or not start else f" {p.scale.unit}".rstrip()
            params.append((f"{p.name}{start}{unit}", f"{p.describe()}. {_line(p.doc)}".strip()))
        for o in self.outputs:
            outputs.append((f"{o.name} [{o.scale.unit}]" if o.scale.unit else o.name, _line(o.doc)))
        parts = [self.doc, _listed("Params", params), _listed("Outputs", outputs)]
        return "\n\n".join(part for part in parts if part)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """What to say behind a name that there is not: the closest, or all there are."""
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else f"; it has {', '.join(known) or 'none'}"


def described_by(spec: Spec) -> tuple[ParamSpec | OutputSpec, ...]:
    """All params, then all outputs."""
    return (*spec.params, *spec.outputs)


def names_of(spec: Spec) -> list[str]:
    """The outputs by the names they are declared with: a vector once."""
    return list(dict.fromkeys(o.name.partition(".")[0] for o in spec.outputs))


def unit_of(spec: Spec, name: str) -> str:
    """The unit in which a param or an output (`name`, or `name.label`) is shown; "" for none."""
    for described in described_by(spec):
        if described.name == name:
            return described.scale.unit
    for output in spec.outputs:  # a vector: all its elements have the unit
        if output.name.partition(".")[0] == name:
            return output.scale.unit
    known = [*names_of(spec), *(p.name for p in spec.params)]
    raise KeyError(f"{spec.name} has no {name}{did_you_mean(name, known)}")


def labels_of(spec: Spec, name: str) -> list[str]:
    """The labels of an output that is a vector: its elements are the outputs `name.label`."""
    split = (o.name.partition(".") for o in spec.outputs)
    return [label for base, dot, label in split if dot and base == name]


def joined(number: str, unit: str) -> str:
    """A number and a unit as one text that is read again; `1/s` becomes `s^-1`."""
    if unit.startswith("1/"):
        first, slash, rest = unit[2:].partition("/")
        name, _, power = first.partition("^")
        power = power.removeprefix("-") if power.startswith("-") else f"-{power or 1}"
        unit = f"{name}^{power}{slash}{rest}"
    return f"{number} {unit}".rstrip()


def dims_text(dims: Mapping[str, float]) -> str:
    """A dimension by its bases: `data/time`, `1/length^2`."""
    named = [
        (base.rpartition(".")[2], Fraction(power).limit_denominator(1000))
        for base, power in sorted(dims.items())
    ]
    above = [_power(name, power) for name, power in named if power > 0]
    below = [_power(name, -power) for name, power in named if power < 0]
    return "/".join([" * ".join(above) or "1", *below]) if named else "a pure number"


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


def _number(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _line(doc: str) -> str:
    """A text in one line."""
    return " ".join(doc.split())


def _listed(head: str, rows: Sequence[tuple[str, str]]) -> str:
    """Names and what is said of them, in two columns below a heading."""
    wide = max((len(name) for name, _ in rows), default=0)
    return "\n".join([f"{head}:", *(f"  {n:<{wide}}  {said}".rstrip() for n, said in rows)])
