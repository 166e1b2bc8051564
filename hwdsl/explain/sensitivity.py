"""How much the numbers of files move an output: each is varied, and the evaluator made again.

A number is a literal, which the partial evaluator folds into the graph, so there is no derivative
by it; to make params of all would turn sizes and counts, which must be known, into unknown ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import field, frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.elaborate import Elaboration, elaborate
from hwdsl.elaborate.literals import VariedLiterals
from hwdsl.explain.cited_numbers import CitedNumber, numbers
from hwdsl.semantics.symbols import Checked, EvaluatorInfo
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

STEP = 0.01
"""By so much of itself a number is varied: small beside what numbers are uncertain by, and large
beside the rounding of a simulated sum."""

NONE, ALL = "none", "all"
CONFIDENCES = (*ast.CONFIDENCES, NONE, ALL)
"""The numbers that may be asked for; `none`: those without a source."""


@frozen
class Sensitivity:
    """A number, and the elasticity of an output to it: per cent of change for one per cent.

    `literal` is its text; `changed` is the output in base units for a number one per cent higher.
    """

    number: CitedNumber
    literal: str
    elasticity: float
    changed: float = field(repr=False)


def sensitivities(
    checked: Checked,
    info: EvaluatorInfo,
    output: str,
    point: Mapping[str, float],
    given: Collection[str],
    confidence: str,
) -> list[Sensitivity]:
    """The numbers of a confidence that an output reads at a point, the most important first.

    `point` has all params in base units. `confidence` is one of `low`, `medium`, `high`, `none`
    (of no source) or `all`. Whole numbers such as counts are not varied: a per cent more of them is
    none. A param counts as a number unless it is among those `given`.
    """
    read = VariedLiterals()
    base = _value(elaborate(checked, info, Diagnostics(), literals=read), output, point)
    found: list[Sensitivity] = []
    for number in _candidates(checked, confidence):
        if isinstance(number.node, ast.Param):
            name = number.node.name.name
            if number.path == f"{info.name}.{name}" and name not in given:
                found += _of_param(checked, info, output, point, base, number)
            continue
        for literal in _literals(number.node):
            written = read.read.get(literal)
            if not written or not math.isfinite(written) or _is_whole(literal):
                continue
            varied = VariedLiterals({literal: written * (1 + STEP)})
            changed = elaborate(checked, info, Diagnostics(), literals=varied)
            value = _value(changed, output, point)
            text = " ".join(literal.span.text.split())
            found.append(Sensitivity(number, text, _elasticity(base, value), value))
    moving = [one for one in found if one.elasticity]
    return sorted(moving, key=lambda one: -abs(one.elasticity))


def _of_param(
    checked: Checked,
    info: EvaluatorInfo,
    output: str,
    point: Mapping[str, float],
    base: float,
    number: CitedNumber,
) -> Iterator[Sensitivity]:
    assert isinstance(number.node, ast.Param)
    name = number.node.name.name
    graph = elaborate(checked, info, Diagnostics())
    if any(p.name == name and p.type == "real" for p in graph.params):
        value = _value(graph, output, {**point, name: point[name] * (1 + STEP)})
        yield Sensitivity(number, number.value, _elasticity(base, value), value)


def _candidates(checked: Checked, confidence: str) -> Iterator[CitedNumber]:
    for scope in checked.modules.values():
        for number in numbers(scope.name, scope.tree, scope.visible_references):
            if confidence in (ALL, number.confidence) or (confidence == NONE and not number.level):
                yield number


def _literals(node: ast.Node) -> Iterator[ast.Number | ast.Quantity]:
    if isinstance(node, ast.Number | ast.Quantity):
        yield node
    else:
        for child in children(node):
            yield from _literals(child)


def _is_whole(node: ast.Number | ast.Quantity) -> bool:
    return isinstance(node, ast.Number) and node.is_int


def _value(made: Elaboration, output: str, point: Mapping[str, float]) -> float:
    columns: Sequence[float] = [point[param.name] for param in made.graph.params]
    return float(interpret(made.graph, columns).outputs[output])


def _elasticity(base: float, changed: float) -> float:
    """Per cent for one per cent; NaN where there is no base to compare with."""
    return (changed / base - 1) / STEP if base and math.isfinite(base) else math.nan
