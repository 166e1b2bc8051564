"""What elaboration says of an evaluator's params, outputs and rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attrs import field, frozen

from hwdsl.base.diagnostics import Diagnostic, Label, Severity
from hwdsl.base.source import Span
from hwdsl.base.units import ONE, Dim, Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import Graph, nearest
from hwdsl.codegen.runtime.message import number_text
from hwdsl.elaborate.quantities import quantity_text
from hwdsl.elaborate.reached import Reached
from hwdsl.semantics.symbols import ModuleScope

UNKNOWN = "…"
"""Stands in a message for what depends on a param, or could not be evaluated."""


@frozen
class ParamInfo:
    """A free param or choice. `default`, `low`, `high` and `values` are in base units.

    `type` is `real`, `int`, `bool`, `enum` or `component`. For the last two, and for choices
    between numbers, `labels` names the alternatives; an enum's or component's value is the index
    of its label, a number's `values` hold the alternatives themselves. `plain` says whether numbers
    may be given without a unit: not where the file shows none for a dimension.
    """

    name: str
    doc: str
    dim: Dim
    type: str
    unit: Unit
    default: float | None
    low: float | None
    high: float | None
    labels: tuple[str, ...]
    values: tuple[float, ...]
    span: Span
    plain: bool = True


@frozen
class OutputInfo:
    """An output. With `labels` it is a vector, and the graph's outputs are `name.label`.

    `type` is `real`, `int`, `bool` or `enum`; an enum's value is an index into `cases`.
    """

    name: str
    doc: str
    unit: Unit
    labels: tuple[str, ...]
    type: str
    cases: tuple[str, ...]
    span: Span


@frozen
class LoweredHole:
    """A place in a message: a number of the graph, and how it is shown: by label, as truth, in
    a unit, or else in one of the dimension that suits its size."""

    ref: Ref
    labels: tuple[str, ...] = ()
    truth: bool = False
    dim: Dim = ONE
    unit: Unit | None = None
    scope: ModuleScope | None = None

    def text(self, number: float | None) -> str:
        """What stands there for a number; None is one that is not known."""
        if number is None:
            return UNKNOWN
        if self.labels:
            return self.labels[nearest(number, len(self.labels))]
        if math.isnan(number) and self.ref.known is None:
            return "NaN"
        if self.truth:
            return "true" if number else "false"
        if self.scope is None:
            return number_text(number)
        return quantity_text(number, self.dim, self.scope, self.unit)


@frozen
class RuleInfo:
    """A rule with a bit: `name` is its path (`copa.gpm.reticle`), `rule` that of the kind.

    `message` takes a point: the values of all params, in order, in base units (an index for enums
    and components). `said` gives, for each of the rule's conditions, the number that is 1 where it
    holds and the pieces of its message. `made` gives the places that explain a violation at a point
    of a component that no declaration names: where it is made, the calls, what it is given.
    """

    name: str
    rule: str
    severity: Severity
    span: Span
    message: Callable[[Sequence[float]], str] = field(eq=False, repr=False)
    said: Callable[[], list[tuple[Ref, list[str | LoweredHole]]]] = field(eq=False, repr=False)
    help: str | None
    made: Callable[[Sequence[float]], Sequence[Label]] = field(
        default=lambda point: (), eq=False, repr=False
    )


@frozen
class Elaboration:
    """An evaluator as a graph in base units, with what names and numbers in it mean.

    `sampler` holds the distributions of the uncertain params: its params are even numbers between 0
    and 1, its outputs values in base units not yet held to their ranges, both under the params'
    names. `undecided` holds a note for each rule that reads what nobody knows; `undecided_where`
    has an output for each of them in order, 1 at the points at which it does, None if that is at
    all. `finish` makes a
    graph of the same params that has other outputs.
    """

    name: str
    graph: Graph
    params: tuple[ParamInfo, ...]
    outputs: tuple[OutputInfo, ...]
    rules: tuple[RuleInfo, ...]
    finish: Callable[[list[tuple[str, Ref]]], Graph] = field(eq=False, repr=False)
    sampler: Graph | None = field(default=None, repr=False)
    undecided: tuple[Diagnostic, ...] = field(default=(), repr=False)
    undecided_where: Graph | None = field(default=None, repr=False)
    reached: Reached | None = field(default=None, eq=False, repr=False)
