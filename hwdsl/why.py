"""Why an output has its value: a tree of named steps with numbers, units and lines.

Input: an evaluator, an output, one point. Output: a `Derivation`. Values are those of the graph
before optimisation, run by the interpreter; a step is a field, variable or param of the
description, and its children are the steps its formula reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from hwdsl.source import Span
from hwdsl.units import Dim, Unit

if TYPE_CHECKING:
    from hwdsl.codegen.ir import Graph
    from hwdsl.elaborate import Elaboration
    from hwdsl.semantics.symbols import Checked


@frozen
class Derivation:
    """One step: its name, its value in a unit, its formula and where that stands."""

    name: str
    value: float | str
    unit: str
    formula: str
    place: str
    steps: tuple[Derivation, ...]

    def text(self, depth: int = 6) -> str:
        """The tree as indented lines; a step shown before is not unfolded again."""
        lines: list[tuple[str, str]] = []
        self._lines("", depth, lines, set())
        width = min(max(len(left) for left, _ in lines), 64)
        return "\n".join(f"{left:<{width}}  {right}".rstrip() for left, right in lines)

    def _lines(
        self, indent: str, depth: int, lines: list[tuple[str, str]], seen: set[tuple[str, str]]
    ) -> None:
        again = bool(self.steps) and (self.name, self.place) in seen
        seen.add((self.name, self.place))
        right = f"{self.formula}  {self.place}".strip()
        if again:
            right = f"{self.place}  (unfolded above)"
        lines.append((f"{indent}{self.name} = {self.shown}", right))
        if again:
            return
        if self.steps and depth <= 1:
            lines.append((f"{indent}  …", f"{len(self.steps)} more below"))
            return
        for step in self.steps:
            step._lines(indent + "  ", depth - 1, lines, seen)

    @property
    def shown(self) -> str:
        """The value with its unit."""
        if isinstance(self.value, str):
            return self.value
        return f"{self.value:.6g} {self.unit}".rstrip()

    def __str__(self) -> str:
        return self.text()


def derive(
    checked: Checked,
    elaboration: Elaboration,
    output: str,
    units: Mapping[str, Unit],
    values: list[float],
) -> Derivation:
    """Derive an output at a point; `values` are the params in base units."""
    from hwdsl.codegen.interpret import trace

    walk = _Walk(
        elaboration, elaboration.graph, trace(elaboration.graph, values), units, _types(checked)
    )
    root = next(i for n, i in elaboration.graph.outputs if n.split(".")[0] == output)
    info = next(o for o in elaboration.outputs if o.name == output)
    top = walk.step(root)
    shown = info.unit.from_base(walk.numbers[root])
    steps = top.steps if top.name == output else (top,)
    if top.steps == () and walk.graph.ops[root].code == "const":
        steps = ()
    unit = "" if info.unit.name == "1" else info.unit.name
    return Derivation(output, shown, unit, top.formula, top.place, steps)


def _types(checked: Checked) -> dict[tuple[str, int, int], Dim]:
    """The dimension of every expression checked, by its place."""
    from hwdsl.semantics.types import Real

    return {
        (n.span.source.name, n.span.start, n.span.end): t.dim
        for n, t in checked.types.items()
        if isinstance(t, Real)
    }


@define
class _Walk:
    """Turns operations into steps, each once."""

    elaboration: Elaboration
    graph: Graph
    numbers: list[float]
    units: Mapping[str, Unit]
    dims: Mapping[tuple[str, int, int], Dim]
    done: dict[int, Derivation] = field(factory=dict)

    def step(self, index: int) -> Derivation:
        """The step that an operation computes the value of."""
        if index not in self.done:
            self.done[index] = self._step(index)
        return self.done[index]

    def _step(self, index: int) -> Derivation:
        op = self.graph.ops[index]
        if op.code == "param":
            info = next(
                p for p in self.elaboration.params if p.name == self.graph.params[op.index].name
            )
            return self._given(info.name, self.numbers[index])
        origin = self.elaboration.origins.get(index)
        name = origin.path if origin is not None else op.code
        span = origin.span if origin is not None else None
        steps = tuple(self.step(i) for i in self._read(index, name))
        value, unit = self._scaled(self.numbers[index], span)
        return Derivation(name or op.code, value, unit, _formula(span), _place(span), steps)

    def _read(self, index: int, name: str) -> list[int]:
        """The operations of other names that this step's formula reads, each once, in order."""
        found: list[int] = []
        open_, seen = [index], {index}
        while open_:
            for arg in reversed(self.graph.ops[open_.pop()].args):
                if arg in seen:
                    continue
                seen.add(arg)
                op, origin = self.graph.ops[arg], self.elaboration.origins.get(arg)
                path = origin.path if origin is not None else None
                if op.code == "param" or (op.code != "const" and path not in (name, None)):
                    found.append(arg)
                elif op.code != "const":
                    open_.append(arg)
        return sorted(found)

    def _given(self, name: str, number: float) -> Derivation:
        info = next(p for p in self.elaboration.params if p.name == name)
        if info.labels and info.type in ("enum", "component"):
            return Derivation(name, info.labels[int(number)], "", "given", "", ())
        if info.type == "bool":
            return Derivation(name, "true" if number else "false", "", "given", "", ())
        unit = "" if info.unit.name == "1" else info.unit.name
        return Derivation(name, info.unit.from_base(number), unit, "given", "", ())

    def _scaled(self, number: float, span: Span | None) -> tuple[float, str]:
        dim = None if span is None else self.dims.get((span.source.name, span.start, span.end))
        if dim is None or dim.is_one:
            return number, ""
        unit = readable(dim, number, self.units)
        return (number, str(dim)) if unit is None else (unit.from_base(number), unit.name)


def _formula(span: Span | None) -> str:
    text = "" if span is None else " ".join(span.text.split())
    return text if len(text) <= 60 else text[:57] + "…"


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    return f"{span.source.name}:{span.source.position(span.start)[0]}"


def readable(dim: Dim, number: float, units: Mapping[str, Unit]) -> Unit | None:
    """A unit of a dimension in which a value is neither huge nor tiny, or None if there is none.

    Named units come first (`ms`, `W`); else the first base with a positive power is scaled and the
    others stay in their base units (`TB/s`).
    """
    named = [u for u in units.values() if u.dim == dim and not u.offset]
    if named:
        return _closest(named, number)
    bases = {b: _base(b, units) for b, _ in dim.powers}
    lead = next((b for b, p in dim.powers if p == 1), None)
    if lead is None or any(u is None for u in bases.values()):
        return None
    scaled = [u for u in units.values() if u.dim == Dim.base(lead) and _plain(u, bases[lead])]
    rest = ""
    for base, power in sorted(dim.powers, key=lambda item: item[1] < 0):
        unit = bases[base]
        if base == lead or unit is None:
            continue
        if power.denominator != 1:
            return None
        size = "" if abs(power) == 1 else f"^{abs(power)}"
        rest += f"{'*' if power > 0 else '/'}{unit.name}{size}"
    best = _closest(scaled, number)
    return Unit(best.name + rest, dim, best.factor)


def _base(base: str, units: Mapping[str, Unit]) -> Unit | None:
    """The unit of a base dimension that has the factor 1."""
    return next((u for u in units.values() if u.dim == Dim.base(base) and u.factor == 1), None)


def _plain(unit: Unit, base: Unit | None) -> bool:
    """Whether a unit is the base unit with a decimal prefix."""
    return base is not None and unit.name.endswith(base.name) and _is_decimal(unit.factor)


def _is_decimal(factor: Fraction) -> bool:
    top, bottom = str(factor.numerator), str(factor.denominator)
    return top.strip("0") == "1" and bottom.strip("0") == "1"


def _closest(candidates: list[Unit], number: float) -> Unit:
    """The unit in which the value is at least 1 and smallest; decimal multiples before others."""

    def order(unit: Unit) -> tuple[bool, bool, float, int]:
        value = abs(number) / float(unit.factor)
        tidy = _is_decimal(unit.factor)
        return (not tidy, not 1 <= value < 1000, value if value >= 1 else 1e300, len(unit.name))

    if number == 0:
        return min(candidates, key=lambda u: (u.factor != 1, len(u.name)))
    return min(candidates, key=order)
