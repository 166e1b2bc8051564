"""Finding out why: steps with values, from the trace of the elaboration that made the graph.

Input: a traced evaluator, outputs, one point. Output: an `Explanation` of each. Each name, member
and call that a formula reads is followed to the formula behind it; a formula that is a sum, or a
multiple of one, becomes terms. What is chosen (`if`, `match`, `max`, `lowest`) is followed where it
was chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import define, evolve, field, frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.fingerprint import package_folder
from hwdsl.base.source import Span
from hwdsl.base.units import Dim
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import nearest
from hwdsl.codegen.runtime.message import number_text
from hwdsl.elaborate import Elaboration, ParamInfo, elaborate_traced
from hwdsl.elaborate.large_stack import with_large_stack
from hwdsl.elaborate.messages import literal_unit
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import items_of
from hwdsl.elaborate.trace import TraceNode
from hwdsl.elaborate.valuation import Valuation
from hwdsl.elaborate.values import ListValue, Record, ResultValue, SelectRecord, Thunk, Value
from hwdsl.explain.cited_numbers import SourceIndex
from hwdsl.explain.explanation import Explanation, Term
from hwdsl.explain.provenance import LITERAL, Formula, Provenance, Read
from hwdsl.explain.term_labels import distinguishing_bindings
from hwdsl.semantics.literal_values import reading
from hwdsl.semantics.symbols import Checked, EvaluatorInfo, ModuleScope
from hwdsl.syntax import ast

LONGEST = 60
"""Characters of a formula that are shown."""

MOST_STEPS = 100_000
"""Steps of one output after which none is opened any more."""


@frozen
class Coefficient:
    """A number by which a step is multiplied, kept as a fraction as it is written.

    `written` is the product's text where the product is of another dimension than the step."""

    up: float = 1.0
    down: float = 1.0
    written: str = ""

    @property
    def value(self) -> float:
        """The number."""
        return self.up / self.down if self.down else math.nan

    def by(self, other: Coefficient) -> Coefficient:
        """The product."""
        written = other.written or self.written
        return Coefficient(self.up * other.up, self.down * other.down, written)

    def plus(self, other: Coefficient | None) -> Coefficient:
        """The sum."""
        if other is None:
            return self
        if self.down == other.down:
            return Coefficient(self.up + other.up, self.down)
        return Coefficient(self.value + other.value)

    def text(self) -> str:
        """How it stands before a step: `64 ×`, `2/0.95 ×`, `-`; nothing if it is one."""
        if self.value in (1.0, -1.0):
            return "" if self.value > 0 else "-"
        if self.down == 1 or self.value.is_integer():
            return f"{number_text(self.value)} ×"
        return f"{number_text(self.up)}/{number_text(self.down)} ×"


@frozen(eq=False)
class Traced:
    """An evaluator's graph, with the partial evaluator that traced where its values come from."""

    elaboration: Elaboration
    partial_evaluator: PartialEvaluator


def trace(checked: Checked, info: EvaluatorInfo, free: Collection[str] = ()) -> Traced:
    """Elaborate an evaluator, with coefficients in `free`, to derive its outputs at any point.

    It has to be one without errors.
    """
    return Traced(*elaborate_traced(checked, info, Diagnostics(), free))


def trace_provenance(
    traced: Traced,
    outputs: Sequence[str],
    point: Mapping[str, float],
    given: Collection[str],
    most: int | None = None,
) -> dict[str, Explanation]:
    """Derive outputs (`name`, or `name.label` of a vector) at a point in base units.

    `given` names the params that the user set; the others are said to be at their defaults. After
    `most` steps of an output nothing further is opened.
    """

    def work() -> dict[str, Explanation]:
        found = Provenance(traced.partial_evaluator, point)
        steps = MOST_STEPS if most is None else most
        walk = _ProvenanceWalk(found, traced.elaboration, frozenset(given), steps)
        return {name: walk.output(name) for name in outputs}

    return with_large_stack(work)


@define(eq=False)
class _ProvenanceWalk:
    """Turns formulas into steps, one for each thunk or formula."""

    p: Provenance
    elaboration: Elaboration
    given: frozenset[str]
    most: int
    left: int = 0
    scope: ModuleScope = field(init=False)
    cited: SourceIndex = field(init=False)
    params: dict[Thunk, ParamInfo] = field(factory=dict)
    steps: dict[Read | Formula, Explanation] = field(factory=dict)
    sums: dict[Formula, bool] = field(factory=dict)
    calls: dict[tuple[TraceNode, Valuation], Formula] = field(factory=dict)
    given_steps: dict[tuple[int, str, Valuation], Explanation | None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.scope = self.p.m.checked.main
        self.cited = SourceIndex(self.p.m.checked.modules)
        for info in self.elaboration.params:
            thunk = self.p.trace.names.get(info.name)
            if isinstance(thunk, Thunk):
                self.params[thunk] = info

    def output(self, name: str) -> Explanation:
        """The step of an output."""
        self.left = self.most
        base, _, label = name.partition(".")
        described = next(o for o in self.elaboration.outputs if o.name == base)
        thunk = self.p.trace.names[base]
        assert isinstance(thunk, Thunk)
        value, formula = thunk.value, self.p.behind(Read(thunk, self.p.start))
        assert value is not None
        if label:
            at = described.labels.index(label)
            value = items_of(self.p.m, value, described.span)[at]
            among = None if formula is None else self.p.elements(formula)
            formula = None if among is None else among[at]
        dim = described.unit.dim
        if formula is None:
            return self.leaf(name, value, self.p.start, dim, described.span)
        step = self.named(name, formula, value, dim, described.span)
        number = self.p.float_of(value, self.p.start)
        cases = described.cases
        text = cases[nearest(number, len(cases))] if cases else step.label
        return evolve(step, value=number, label=text, unit=described.unit)

    # --- values --------------------------------------------------------------------------------

    def leaf(self, name: str, value: Value, at: Valuation, dim: Dim, span: Span) -> Explanation:
        """A step whose formula is not known, or is a literal."""
        number, label = self.p.float_of(value, at), self.p.label(value, at)
        return Explanation(
            name, number, dim, self.scope, label, place=place(span), sources=self.cited.at(span)
        )

    # --- steps ---------------------------------------------------------------------------------

    def step(self, formula: Formula) -> Explanation | None:
        """The step of an expression; None for what has no value to show, such as a component."""
        expr, value = formula.expr, formula.value
        argument = self.argument(formula)
        if argument is not None:
            return argument
        dim, text = self.p.dim(expr), _text(expr.span)
        if not self.p.is_reference(expr):
            if formula not in self.steps:
                self.steps[formula] = self.named(text, formula, value, dim, expr.span)
            return self.steps[formula]
        if isinstance(value, Record | SelectRecord | ListValue | ResultValue):
            return None
        chosen = self.p.chosen_value(formula)
        if chosen is not None:
            return self.named(text, chosen, value, dim, expr.span)
        read = self.p.follow(formula)
        if read is None:
            return self.leaf(text, value, formula.at, dim, expr.span)
        key = Read(read.thunk, self.p.home(read.thunk, read.at))
        if key not in self.steps:
            self.steps[key] = self.thunk(key, formula)
        return self.steps[key]

    def thunk(self, read: Read, by: Formula) -> Explanation:
        """The step of a field, variable, param or call that a formula reads."""
        thunk, value, dim = read.thunk, read.thunk.value, self.p.dim(by.expr)
        assert value is not None
        if thunk in self.params:
            return self.param(self.params[thunk], value)
        formula, name = self.p.behind(read), self.p.name(thunk, read.at)
        label = name
        if isinstance(by.expr, ast.Call):
            name = _text(by.expr.span, 40)
            if thunk in self.p.trace.nodes:
                self.calls.setdefault((self.p.trace.nodes[thunk], read.at), by)
        if formula is None or name.rpartition(".")[2] == "feasible":
            written = isinstance(by.expr, ast.Attr) and formula is None
            name = _text(by.expr.span) if written else name
            return self.leaf(name, value, read.at, dim, thunk.span)
        return self.named(name, formula, value, dim, formula.expr.span, label)

    def param(self, info: ParamInfo, value: Value) -> Explanation:
        """The step of a param of the evaluator."""
        step = self.leaf(info.name, value, self.p.start, info.dim, info.span)
        role = "given" if info.name in self.given else "default"
        sources = () if role == "given" else step.sources  # of its default
        return evolve(step, unit=info.unit, role=role, sources=sources)

    def named(
        self, name: str, formula: Formula, value: Value, dim: Dim, span: Span, path: str = ""
    ) -> Explanation:
        """A step with that name for a formula: its terms, and what else it reads."""
        expr = formula.expr
        written = self.written(formula)
        leaf = evolve(
            self.leaf(name, value, formula.at, dim, span),
            path=path,
            formula=_text(written),
            place=place(written),
            unit=literal_unit(self.p.m, expr) if isinstance(expr, LITERAL) else None,
        )
        if isinstance(expr, LITERAL):
            return evolve(leaf, formula="")
        if self.left <= 0:
            return evolve(leaf, formula=f"{leaf.formula} (not followed further)")
        self.left -= 1
        if self.p.is_reference(expr) or self.argument(formula) is not None:
            target = self.step(formula)
            if target is None:
                return leaf
            text = leaf.formula if isinstance(expr, ast.Call) else target.formula
            where = leaf.place if isinstance(expr, ast.Call) else target.place
            return evolve(target, name=name, formula=text, place=where)
        if isinstance(expr, ast.Index) and self.p.index(formula) is None:
            number = self.p.value(self.p.part(formula, expr.index))
            count = number_text(self.p.length(formula))
            missing = f"there is no element {number_text(number)}: the list has {count}"
            return evolve(leaf, formula=missing)
        terms: list[Term] = []
        told: frozenset[Formula] = frozenset()
        if isinstance(value, Ref) and value.type != "bool":
            terms, told = self.terms(formula)
        inputs = {id(s): s for s in self.inputs(formula, told)}
        return evolve(leaf, terms=tuple(terms), inputs=tuple(inputs.values()))

    def written(self, formula: Formula) -> Span:
        """What is shown of a formula: of a `match` the arm that was taken."""
        arm = self.p.arm(formula) if isinstance(formula.expr, ast.Match) else None
        arms = formula.expr.arms if isinstance(formula.expr, ast.Match) else ()
        taken = next((a for a in arms if arm is not None and a.value is arm.expr), None)
        return formula.expr.span if taken is None else taken.span

    def argument(self, formula: Formula) -> Explanation | None:
        """The step of a parameter: what the call gave for it."""
        expr = formula.expr
        if not isinstance(expr, ast.Name):
            return None
        frame = formula.env.frame
        while frame is not None and expr.name not in frame.names:
            frame = frame.parent
        body = None if frame is None else self.p.trace.bodies.get(id(frame.names))
        if frame is None or body is None:
            return None
        _, node, first = body
        key = (id(frame.names), expr.name, formula.at)
        if key not in self.given_steps:
            # Calls with equal arguments share a frame, so what one of them was given may be found
            # by a call like it: that one shows the number.
            self.given_steps[key] = None
            call = self.calls.get((node, formula.at), Formula(first, formula.at))
            given = self.given_for(expr.name, list(frame.names), call)
            step = None if given is None else self.step(given)
            self.given_steps[key] = step and evolve(step, name=expr.name)
        return self.given_steps[key]

    def given_for(self, name: str, names: list[str], call: Formula) -> Formula | None:
        """What a call gives for a parameter; the variables begin with those that it gives."""
        expr, at = call.expr, names.index(name)
        if not isinstance(expr, ast.Call) or at >= len(expr.arguments):
            return None
        call = Formula(call.node, self.p.home(call.node, call.at))
        return self.p.part(call, expr.arguments[at].value)

    # --- sums ----------------------------------------------------------------------------------

    def terms(self, formula: Formula) -> tuple[list[Term], frozenset[Formula]]:
        """The formula as multiples of steps that add up to it, and where they stand in it.

        Empty if it is only itself. A step that is added several times is one term.
        """
        found = list(self.linear(formula, Coefficient()))
        if len(found) == 1 and found[0][1] == formula:
            return [], frozenset()
        found = [x for x in found if not _is_zero(x[1].expr)] or found
        if any(isinstance(x.expr, ast.Number) for _, x in found):
            return [], frozenset()  # `ratio - 1` is no sum of parts
        factors: dict[int, Coefficient] = {}
        steps: dict[int, Explanation] = {}
        parts: dict[int, Formula] = {}
        products = Counter(factor.written for factor, _ in found)
        for factor, part in found:
            if factor.written and products[factor.written] > 1:
                # `(a + b) / c` is the text of both terms: what tells them apart is a and b
                factor = evolve(factor, written=_text(part.expr.span, 40))
            step = self.step(part)
            assert step is not None  # it is a number
            steps[id(step)] = step
            parts[id(step)] = part
            factors[id(step)] = factor.plus(factors.get(id(step)))
        terms = [
            Term(
                factors[i].value,
                "" if factors[i].written else factors[i].text(),
                step,
                factors[i].written,
            )
            for i, step in self.told_apart(steps, parts).items()
        ]
        return terms, frozenset(part for _, part in found)

    def told_apart(
        self, steps: Mapping[int, Explanation], parts: Mapping[int, Formula]
    ) -> dict[int, Explanation]:
        """The steps; the names of those that are written alike say what differs."""
        found = dict(steps)
        alike: dict[ast.Expr, list[int]] = {}
        for i in steps:
            alike.setdefault(parts[i].expr, []).append(i)
        for places in (p for p in alike.values() if len(p) > 1):
            texts = distinguishing_bindings(self.p, [parts[i] for i in places])
            for i, text in zip(places, texts, strict=True):
                if text:
                    found[i] = evolve(steps[i], name=f"{steps[i].name} [{text}]")
        return found

    def linear(
        self, formula: Formula, factor: Coefficient
    ) -> Iterator[tuple[Coefficient, Formula]]:
        """The terms of `factor` times the formula."""
        expr = formula.expr
        if isinstance(expr, ast.Binary) and expr.op in ("+", "-"):
            yield from self.linear(self.p.part(formula, expr.left), factor)
            sign = Coefficient(1.0 if expr.op == "+" else -1.0)
            yield from self.linear(self.p.part(formula, expr.right), factor.by(sign))
            return
        whole = reading(expr, self.p.m.checked.units) is not None
        if isinstance(expr, ast.Unary) and expr.op in ("+", "-") and not whole:
            sign = Coefficient(1.0 if expr.op == "+" else -1.0)
            yield from self.linear(self.p.part(formula, expr.operand), factor.by(sign))
            return
        chosen = self.p.chosen(formula)
        among = [chosen] if chosen is not None else None
        if self.p.builtin(expr) == "sum":
            among = self.p.elements(formula)
        if among is not None:
            for part in among:
                yield from self.linear(part, factor)
            return
        times, core = self.multiple(formula)
        if core is formula:
            yield factor, formula
        else:
            yield from self.linear(core, factor.by(times))

    def multiple(self, formula: Formula) -> tuple[Coefficient, Formula]:
        """A product as a number times the one factor worth following.

        That is the one of the product's dimension, or else the one that is a sum.
        """
        expr = formula.expr
        if not (isinstance(expr, ast.Binary) and expr.op in ("*", "/")):
            return Coefficient(), formula
        above, below = self.factors(formula)
        cores = [f for f in above if not isinstance(f.expr, LITERAL)]
        dim, dim_of = self.p.dim(expr), self.p.dim
        same = [] if dim.is_dimensionless else [f for f in cores if dim_of(f.expr) == dim]
        if len(same) != 1:
            whole = [
                f for f in cores if dim.is_dimensionless or not dim_of(f.expr).is_dimensionless
            ]
            same = [f for f in whole if self.is_sum(f)]
        if len(same) != 1:
            return Coefficient(), formula
        up = math.prod(self.p.value(f) for f in above if f is not same[0])
        down = math.prod(self.p.value(f) for f in below)
        written = "" if dim_of(same[0].expr) == dim else _text(expr.span, 40)
        return Coefficient(up, down, written), same[0]

    def factors(self, formula: Formula) -> tuple[list[Formula], list[Formula]]:
        """What stands above and below the line of a product."""
        expr = formula.expr
        if not (isinstance(expr, ast.Binary) and expr.op in ("*", "/")):
            return [formula], []
        above, below = self.factors(self.p.part(formula, expr.left))
        over, under = self.factors(self.p.part(formula, expr.right))
        if expr.op == "*":
            return [*above, *over], [*below, *under]
        return [*above, *under], [*below, *over]

    def is_sum(self, formula: Formula) -> bool:
        """Whether an expression, or the formula behind a name, is a sum or a multiple of one."""
        if formula not in self.sums:
            self.sums[formula] = False  # the formula of a name may be found by itself
            self.sums[formula] = self._is_sum(formula)
        return self.sums[formula]

    def _is_sum(self, formula: Formula) -> bool:
        if self.p.is_reference(formula.expr):
            read = self.p.follow(formula)
            behind = None if read is None or read.thunk in self.params else self.p.behind(read)
            return behind is not None and self.is_sum(behind)
        parts = [x for _, x in self.linear(formula, Coefficient())]
        if len(parts) > 1:
            return not any(isinstance(x.expr, ast.Number) for x in parts)
        return bool(parts) and parts[0] != formula and self.is_sum(parts[0])

    # --- what a formula reads ------------------------------------------------------------------

    def inputs(self, formula: Formula, told: frozenset[Formula]) -> Iterator[Explanation]:
        """The steps of all that a formula reads on the way that was taken, in its order."""
        for item in self.reads(formula, told):
            step = self.step(item)
            if step is not None:
                yield step
            else:  # of a list its elements, if they are numbers
                found = (self.step(e) for e in self.p.elements(item) or ())
                yield from (each for each in found if each is not None)

    def reads(self, formula: Formula, told: frozenset[Formula]) -> Iterator[Formula]:
        """The names, members and calls in a formula, without what is in expressions `told`."""
        expr = formula.expr
        if formula in told:
            return
        if self.p.is_reference(expr):
            yield formula
            return
        if self.p.builtin(expr) == "known":
            return  # what is asked about is not read, and may have no value
        chosen = self.p.chosen(formula) if isinstance(expr, ast.Index) else None
        over = self.p.comprehension(expr)
        for part in self.p.inside(formula):
            if chosen is not None and isinstance(expr, ast.Index) and part.expr is expr.base:
                continue  # of the list only the element is read
            if over is None or part.expr is over.element:
                yield from self.reads(part, told)
        if chosen is not None:
            yield from self.reads(chosen, told)


def _is_zero(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Number | ast.Quantity) and float(expr.text.replace("_", "")) == 0


def _text(span: Span, longest: int = LONGEST) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def place(span: Span) -> str:
    """`std/memory.hw:12` in the library, elsewhere the file from the working directory.

    A file that is not in it has its whole path.
    """
    return f"{_file(span.source.name, Path.cwd())}:{span.source.position(span.start)[0]}"


@cache
def _file(name: str, here: Path) -> str:
    # Not as the file was named: what the store holds has an absolute name for the same file.
    library, whole = package_folder("hwdsl.library").resolve(), Path(name).resolve()
    base = next((base for base in (library, here) if whole.is_relative_to(base)), None)
    return str(whole if base is None else whole.relative_to(base))
