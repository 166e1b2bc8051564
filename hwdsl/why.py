"""Why an output has its value: a tree of named steps with numbers, units and lines.

Input: an evaluator, an output, one point. Output: a `Derivation`. Values are those of the graph
before optimisation, run by the interpreter; a step is a field, variable or param of the
description, and its children are the steps its formula reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from hwdsl.source import Span
from hwdsl.units import ONE, Dim, Unit

if TYPE_CHECKING:
    from hwdsl.codegen.ir import Graph
    from hwdsl.elaborate import Elaboration
    from hwdsl.semantics.symbols import Checked, ModuleScope


@frozen
class Derivation:
    """One step: its name, its value in a unit, its formula and where that stands."""

    name: str
    value: float
    shown: str
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

    def __str__(self) -> str:
        return self.text()


def derive(
    checked: Checked,
    elaboration: Elaboration,
    output: str,
    scope: ModuleScope,
    values: list[float],
) -> Derivation:
    """Derive an output at a point; `values` are the params in base units."""
    from hwdsl.codegen.interpret import trace

    walk = _Walk(
        elaboration, elaboration.graph, trace(elaboration.graph, values), scope, _types(checked)
    )
    root = dict(elaboration.graph.outputs)[output]
    info = next(o for o in elaboration.outputs if o.name == output.partition(".")[0])
    top = walk.step(root)
    number = walk.numbers[root]
    shown = info.cases[int(number)] if info.cases else _in_unit(number, info.unit)
    return Derivation(output, number, shown, top.formula, top.place, top.steps)


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
    scope: ModuleScope
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
        number = self.numbers[index]
        shown = self._shown(number, op.type, span)
        return Derivation(name or op.code, number, shown, _formula(span), _place(span), steps)

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
        shown = _in_unit(number, info.unit)
        if info.type in ("enum", "component"):
            shown = info.labels[int(number)]
        elif info.type == "bool":
            shown = "true" if number else "false"
        return Derivation(name, number, shown, "given", _place(info.span), ())

    def _shown(self, number: float, type_: str, span: Span | None) -> str:
        from hwdsl.elaborate.quantities import quantity_text

        if type_ == "bool":
            return "true" if number else "false"
        dim = None if span is None else self.dims.get((span.source.name, span.start, span.end))
        return quantity_text(number, dim or ONE, self.scope)


def _in_unit(number: float, unit: Unit) -> str:
    return f"{unit.from_base(number):.6g} {'' if unit.name == '1' else unit.name}".rstrip()


def _formula(span: Span | None) -> str:
    text = "" if span is None else " ".join(span.text.split())
    return text if len(text) <= 60 else text[:57] + "…"


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    path = Path(span.source.name)
    library = Path(str(files("hwdsl.library")))
    name = path.relative_to(library) if path.is_relative_to(library) else path
    return f"{name}:{span.source.position(span.start)[0]}"
