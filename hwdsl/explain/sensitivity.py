"""How much the numbers of files move an output: each is varied, and the evaluator made again.

A number is a literal, which the partial evaluator folds into the graph, so there is no derivative
by it; to make params of all would turn sizes and counts, which must be known, into unknown ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.elaborate import Elaboration, elaborate
from hwdsl.elaborate.literals import VariedLiterals
from hwdsl.explain.cited_numbers import CitedNumber, numbers
from hwdsl.semantics.symbols import Checked, EvaluatorInfo
from hwdsl.syntax import ast

STEP = 0.01
"""By so much of itself a number is varied: small beside what numbers are uncertain by, and large
beside the rounding of a simulated sum."""


@frozen
class Sensitivity:
    """A number, and the elasticity of an output to it: per cent of change for one per cent.

    `literal` is its text. The number is one per cent higher, or lower if the evaluator cannot be
    made with a higher one; NaN if it can be made with neither, as with an index into a list.
    """

    number: CitedNumber
    literal: str
    elasticity: float


def sensitivities(
    checked: Checked,
    info: EvaluatorInfo,
    output: str,
    point: Mapping[str, float],
    given: Collection[str],
    confidence: str,
) -> list[Sensitivity]:
    """The numbers of a confidence that an output reads at a point, the most important first.

    `point` has all params in base units; `confidence` is one of `cited_numbers.WHICH`. Whole
    numbers such as counts are not varied: a per cent more of them is none; neither are the
    alternatives of a choice. A param counts as a number unless it is among those `given`.
    """
    read = VariedLiterals()
    made = elaborate(checked, info, Diagnostics(), literals=read)
    base = _value(made, output, point)
    real = {param.name for param in made.graph.params if param.type == "real"}
    found: list[Sensitivity] = []
    for number in _candidates(checked, confidence):
        node = number.node
        if isinstance(node, ast.Param):
            name = node.name.name
            if number.path == f"{info.name}.{name}" and name in real and name not in given:
                value = _value(made, output, {**point, name: point[name] * (1 + STEP)})
                found.append(Sensitivity(number, number.value, _elasticity(base, value)))
        elif not isinstance(node, ast.Choice):
            for literal in number.literals:
                written = read.read.get(literal)
                if written and math.isfinite(written) and not _is_whole(literal):
                    text = " ".join(literal.span.text.split())
                    moved = _moved(checked, info, output, point, base, literal, written)
                    found.append(Sensitivity(number, text, moved))
    moving = [one for one in found if one.elasticity]
    return sorted(moving, key=lambda one: (math.isnan(one.elasticity), -abs(one.elasticity)))


def _moved(
    checked: Checked,
    info: EvaluatorInfo,
    output: str,
    point: Mapping[str, float],
    base: float,
    literal: ast.Node,
    written: float,
) -> float:
    """The elasticity to a literal."""
    for step in (STEP, -STEP):
        diagnostics = Diagnostics()
        varied = VariedLiterals({literal: written * (1 + step)})
        made = elaborate(checked, info, diagnostics, literals=varied)
        if not diagnostics.failed:
            value = _value(made, output, point)
            return _elasticity(base, value, step)
    return math.nan


def _candidates(checked: Checked, confidence: str) -> Iterator[CitedNumber]:
    for scope in checked.modules.values():
        for number in numbers(scope.name, scope.tree, scope.visible_references):
            if number.is_of(confidence):
                yield number


def _is_whole(node: ast.Number | ast.Quantity) -> bool:
    return isinstance(node, ast.Number) and node.is_int


def _value(made: Elaboration, output: str, point: Mapping[str, float]) -> float:
    columns: Sequence[float] = [point[param.name] for param in made.graph.params]
    return float(interpret(made.graph, columns).outputs[output])


def _elasticity(base: float, changed: float, step: float = STEP) -> float:
    """Per cent for one per cent; NaN where there is no base to compare with."""
    return (changed / base - 1) / step if base and math.isfinite(base) else math.nan
