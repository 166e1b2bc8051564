"""What an elaboration's trace says at one point: values, arms taken, terms, elements.

Input: a partial evaluator with a `Trace`, and a point. Output: a `Provenance`, which is asked
for the formula behind a cell, the parts of a formula that count there, the elements of a list.
Every number is that of an operation of the elaborated graph; nothing is evaluated again. What
stands in a loop of the graph has a value in each round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice

from attrs import define, field, frozen

from hwdsl.base.units import ONE, Dim
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, nearest
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.trace import Entered, Rounds, ThunkRead, Trace, TraceItem, TraceNode
from hwdsl.elaborate.valuation import Valuation
from hwdsl.elaborate.values import (
    Component,
    EnumValue,
    Env,
    ListValue,
    RangeValue,
    Record,
    SelectIndex,
    SelectRecord,
    TextValue,
    Thunk,
    Value,
)
from hwdsl.semantics.symbols import Builtin, Real, ShortFor
from hwdsl.syntax import ast

LITERAL = (ast.Number, ast.Quantity, ast.Text, ast.Bool)
"""Expressions that are a value as written."""

REDUCERS = ("sum", "max", "min", "lowest", "highest")
"""The functions whose value comes of one or all elements of what they go through."""

MOST_ROUNDS = 10_000
"""Number of rounds up to which a loop's rounds are shown one by one."""


@frozen
class Formula:
    """An expression as it was evaluated, at a point or in a round of a loop."""

    node: TraceNode
    at: Valuation

    @property
    def expr(self) -> ast.Expr:
        """The expression."""
        assert self.node.expr is not None
        return self.node.expr

    @property
    def env(self) -> Env:
        """Where it was read."""
        assert self.node.env is not None
        return self.node.env

    @property
    def value(self) -> Value:
        """What it came to, as numbers of the graph."""
        assert self.node.value is not None
        return self.node.value


@frozen
class Read:
    """A thunk that was read, at a point or in a round of a loop."""

    thunk: Thunk
    at: Valuation


@define(eq=False)
class Provenance:
    """A trace at a point: values in base units of the params, by name."""

    m: PartialEvaluator
    point: Mapping[str, float]
    start: Valuation = field(init=False)
    _regions: dict[TraceItem | Thunk, frozenset[int]] = field(factory=dict)
    _rounds: dict[tuple[Rounds, Valuation], list[Valuation] | None] = field(factory=dict)
    _inside: dict[Formula, list[Formula]] = field(factory=dict)
    _calls: dict[tuple[Entered, Valuation], Valuation] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        builder = self.m.builder
        values = [self.point[p.name] for p in builder.params]
        self.start = Valuation(builder, builder.root, values.__getitem__)

    @property
    def trace(self) -> Trace:
        """What was noted."""
        assert self.m.trace is not None
        return self.m.trace

    # --- values --------------------------------------------------------------------------------

    def float_of(self, value: Value, at: Valuation) -> float:
        """A number, bool or case as a float in base units; NaN for anything else."""
        ref = value.ref if isinstance(value, EnumValue) else value
        return at.number(ref) if isinstance(ref, Ref) else math.nan

    def value(self, formula: Formula) -> float:
        """The value of a formula that is a number."""
        return self.float_of(formula.value, formula.at)

    def label(self, value: Value, at: Valuation) -> str:
        """A case, text or bool in words; empty for anything else."""
        if isinstance(value, EnumValue):
            cases = value.enum.cases
            return cases[nearest(self.float_of(value, at), len(cases))]
        if isinstance(value, TextValue):
            if value.selector is None:
                return value.options[0]
            return value.options[nearest(self.taken(value.selector, at), len(value.options))]
        if isinstance(value, Ref) and value.type == BOOL:
            return "true" if at.number(value) else "false"
        return ""

    def taken(self, selector: SelectIndex, at: Valuation) -> int:
        """The alternative that a selector takes."""
        number = at.number(selector.ref)
        if selector.ref.type == BOOL:
            return 0 if number else 1
        return nearest(number, selector.count)

    def path(self, of: Component, at: Valuation) -> str:
        """How a component is reached, through the alternatives that are taken."""
        if isinstance(of, SelectRecord):
            return self.path(of.alternatives[self.taken(of.selector, at)], at)
        owner = self.trace.owners.get(of)
        return of.path if owner is None else self.path(owner, at) + of.path[len(owner.path) :]

    def name(self, thunk: Thunk, at: Valuation) -> str:
        """The name of a thunk: of a member, the path of its component and the member."""
        of = thunk.keep
        if not isinstance(of, Record | SelectRecord):
            return thunk.label
        return f"{self.path(of, at)}.{thunk.label.rpartition('.')[2]}"

    # --- rounds of loops -----------------------------------------------------------------------

    def rounds(self, loop: Rounds, outer: Valuation) -> list[Valuation] | None:
        """The rounds that a loop runs; None if they are too many to be shown."""
        if (loop, outer) not in self._rounds:
            self._rounds[loop, outer] = self._run(loop, outer)
        return self._rounds[loop, outer]

    def _run(self, loop: Rounds, outer: Valuation) -> list[Valuation] | None:
        if loop.loop is None:
            return []
        found = list(islice(outer.rounds(loop.loop), MOST_ROUNDS + 1))
        return found if len(found) <= MOST_ROUNDS else None

    def home(self, part: TraceNode | Thunk, at: Valuation) -> Valuation:
        """The round, or else the point, on which something depends."""
        while at.outer is not None and id(at.region) not in self._reached(part):
            at = at.outer
        return at

    def _reached(self, part: TraceItem | Thunk) -> frozenset[int]:
        """The regions in which something has numbers."""
        found = self._regions.get(part)
        if found is None:
            found = self._regions[part] = frozenset(self._reach(part))
        return found

    def _reach(self, part: TraceItem | Thunk) -> Iterator[int]:
        if isinstance(part, Thunk):
            yield from (id(ref.region) for ref in _refs(part.value))
            inside = self.trace.nodes.get(part)
            if inside is not None:
                yield from self._reached(inside)
        elif isinstance(part, ThunkRead):
            yield from self._reached(part.thunk)
        elif isinstance(part, TraceNode):
            yield from (id(ref.region) for ref in _refs(part.value))
            for each in part.parts:
                yield from self._reached(each)

    def _called(self, call: Entered, outer: Valuation) -> Valuation:
        """The point at which an evaluator that is called has its values."""
        if (call, outer) not in self._calls:
            callee = call.callee

            def entering(index: int) -> float:
                return outer.number(call.arguments(index))

            self._calls[call, outer] = Valuation(callee, callee.root, entering, outer)
        return self._calls[call, outer]

    # --- parts ---------------------------------------------------------------------------------

    def parts(self, formula: Formula) -> Iterator[Formula | Read]:
        """What was evaluated and read for a formula and counts at the point.

        The inside of a loop comes once for each round; not at all if the rounds are too many.
        """
        return self._parts(formula.node, formula.at)

    def _parts(self, node: TraceNode, at: Valuation) -> Iterator[Formula | Read]:
        for part in node.parts:
            if not all(self.taken(selector, at) == i for selector, i in part.guards):
                continue
            if isinstance(part, ThunkRead):
                yield Read(part.thunk, at)
            elif isinstance(part, Entered):
                yield Read(part.thunk, self._called(part, at))
            elif isinstance(part, Rounds):
                for each in self.rounds(part, at) or ():
                    yield from self._parts(part, each)
            elif isinstance(part, TraceNode):
                yield Formula(part, at)

    def inside(self, formula: Formula) -> list[Formula]:
        """The expressions evaluated for a formula that count at the point."""
        if formula not in self._inside:
            parts = self.parts(formula)
            self._inside[formula] = [part for part in parts if isinstance(part, Formula)]
        return self._inside[formula]

    def part(self, formula: Formula, expr: ast.Expr) -> Formula:
        """The part of a formula that is this expression."""
        return next(p for p in reversed(self.inside(formula)) if p.expr is expr)

    def follow(self, formula: Formula) -> Read | None:
        """The thunk that a name, member or call denotes, if it denotes one."""
        found = [part for part in self.parts(formula) if isinstance(part, Read)]
        return self.resolve(found[-1]) if found else None

    def resolve(self, read: Read) -> Read:
        """The thunk whose value a thunk has unchanged, such as the member of the alternative
        taken."""
        while True:
            node = self.trace.nodes.get(read.thunk)
            found = [] if node is None else list(self._parts(node, read.at))
            if len(found) != 1 or not isinstance(found[0], Read):
                return read
            read = found[0]

    def behind(self, read: Read) -> Formula | None:
        """The formula of a thunk's value: the last that was evaluated for it."""
        node = self.trace.nodes.get(read.thunk)
        at = self.home(read.thunk, read.at)
        found = [] if node is None else [p for p in self._parts(node, at) if isinstance(p, Formula)]
        return found[-1] if found else None

    # --- what expressions are --------------------------------------------------------------------

    def dim(self, expr: ast.Expr) -> Dim:
        """The dimension the checker found."""
        found = self.m.checked.types.get(expr)
        return found.dim if isinstance(found, Real) else ONE

    def is_reference(self, expr: ast.Expr) -> bool:
        """Whether an expression is a reference to something written elsewhere."""
        if isinstance(expr, ast.Call):
            return not isinstance(self.m.checked.resolutions.get(expr.function), Builtin)
        return isinstance(expr, ast.Name | ast.Attr)

    def builtin(self, expr: ast.Expr) -> str:
        """The name of the builtin that an expression calls, or nothing."""
        if not isinstance(expr, ast.Call):
            return ""
        meaning = self.m.checked.resolutions.get(expr.function)
        return meaning.name if isinstance(meaning, Builtin) else ""

    def source(self, formula: Formula) -> Formula | None:
        """The formula behind a name, member or call."""
        read = self.follow(formula) if self.is_reference(formula.expr) else None
        return None if read is None else self.behind(read)

    # --- lists and choices -----------------------------------------------------------------------

    def elements(self, formula: Formula) -> list[Formula] | None:
        """The formulas of the elements of a list, or of what a reducer goes through."""
        expr = formula.expr
        if isinstance(expr, ast.ListLit):
            return self.inside(formula)
        over = self.comprehension(expr)
        if over is not None:
            return self._candidates(formula, over)
        if isinstance(expr, ast.Call) and self.builtin(expr) in REDUCERS:
            return self.elements(self.part(formula, expr.arguments[0].value))
        behind = self.source(formula) or self.arm(formula)
        return None if behind is None else self.elements(behind)

    def comprehension(self, expr: ast.Expr) -> ast.Comprehension | None:
        """What an expression goes through, itself or as the argument of a reducer."""
        if isinstance(expr, ast.Call) and len(expr.arguments) == 1 and self.builtin(expr):
            expr = expr.arguments[0].value
        return expr if isinstance(expr, ast.Comprehension) else None

    def _candidates(self, formula: Formula, over: ast.Comprehension) -> list[Formula] | None:
        loops = (p for p in formula.node.parts if isinstance(p, Rounds))
        if any(self.rounds(loop, formula.at) is None for loop in loops):
            return None
        return [part for part in self.inside(formula) if part.expr is over.element]

    def arm(self, formula: Formula) -> Formula | None:
        """The arm of an `if` or `match` that its value comes from."""
        expr = formula.expr
        if isinstance(expr, ast.Cond):
            arms = [expr.yes, expr.no]
        elif isinstance(expr, ast.Match):
            arms = [a.value for a in expr.arms]
        elif isinstance(meant := self.m.checked.resolutions.get(expr), ShortFor):
            arms = [meant.expr]
        else:
            return None
        return next((p for p in reversed(self.inside(formula)) if p.expr in arms), None)

    def chosen(self, formula: Formula) -> Formula | None:
        """The arm, the larger argument or the element that gave the value."""
        expr = formula.expr
        if isinstance(expr, ast.Index):
            among, at = self.elements(self.part(formula, expr.base)), self.index(formula)
            return among[at] if among is not None and at is not None else None
        if self.builtin(expr) not in ("max", "min"):
            return self.arm(formula)
        assert isinstance(expr, ast.Call)
        among = self.inside(formula) if len(expr.arguments) > 1 else self.elements(formula)
        return self.equal(among, formula)

    def index(self, formula: Formula) -> int | None:
        """Which element an index reads; None if there is none."""
        assert isinstance(formula.expr, ast.Index)
        at = self.value(self.part(formula, formula.expr.index))
        return int(at) if 0 <= at < self.length(formula) else None

    def length(self, formula: Formula) -> float:
        """How many elements the list has from which an index reads."""
        assert isinstance(formula.expr, ast.Index)
        over = self.part(formula, formula.expr.base).value
        if isinstance(over, RangeValue):
            return formula.at.number(over.high) - formula.at.number(over.low) + 1
        return len(over.items) if isinstance(over, ListValue) else 0

    def chosen_value(self, formula: Formula) -> Formula | None:
        """The candidate behind `best.value`, where `best` is a `lowest(…)` or `highest(…)`."""
        expr = formula.expr
        if not (isinstance(expr, ast.Attr) and expr.name.name == "value"):
            return None
        base = next((p for p in self.inside(formula) if p.expr is expr.base), None)
        base = base and (self.source(base) or base)
        if base is None or self.builtin(base.expr) not in ("lowest", "highest"):
            return None
        return self.equal(self.elements(base), formula)

    def equal(self, among: list[Formula] | None, whole: Formula) -> Formula | None:
        """The first formula with the value of the whole."""
        value = self.value(whole)
        return next((f for f in among or () if self.value(f) == value), None)

    def names(self, formula: Formula) -> Iterator[Formula]:
        """The names in an expression."""
        for part in self.inside(formula):
            if isinstance(part.expr, ast.Name):
                yield part
            else:
                yield from self.names(part)


def _refs(value: Value | None) -> Iterator[Ref]:
    """The numbers of the graph that a value consists of."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, EnumValue):
        yield value.ref
    elif isinstance(value, TextValue | SelectRecord) and value.selector is not None:
        yield value.selector.ref
    elif isinstance(value, RangeValue):
        yield from (value.low, value.high)
    elif isinstance(value, ListValue):
        for item in value.items:
            yield from _refs(item)
