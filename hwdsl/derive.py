"""Finding out why: evaluates an evaluator again with all params known, and remembers from what.

Input: a checked evaluator, outputs, one point. Output: a `Derivation` of each. Each name, member
and call that a formula reads is followed to the formula behind it; a formula that is a sum, or a
multiple of one, becomes terms. What is chosen (`if`, `match`, `max`, `lowest`) is followed where it
was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define, evolve, field, frozen

from hwdsl.apart import differences
from hwdsl.codegen.ir import Ref
from hwdsl.elaborate.evaluator import Instance, open_evaluator
from hwdsl.elaborate.expressions import HANDLERS
from hwdsl.elaborate.infos import Elaboration, OutputInfo, ParamInfo
from hwdsl.elaborate.machine import MAX_STEPS, run_deep
from hwdsl.elaborate.messages import literal_unit
from hwdsl.elaborate.params import Free, fixed
from hwdsl.elaborate.quantities import number_text
from hwdsl.elaborate.values import (
    Cell,
    EnumValue,
    Env,
    Failure,
    ListValue,
    Merged,
    Record,
    ResultValue,
    TextValue,
    Value,
)
from hwdsl.installed import package_folder
from hwdsl.recorder import LITERAL, Formula, Recorder, factors, operands
from hwdsl.semantics.exact import reading
from hwdsl.semantics.symbols import (
    Checked,
    EvaluatorInfo,
    FunctionInfo,
    Global,
    Local,
)
from hwdsl.source import Span
from hwdsl.syntax import ast
from hwdsl.units import Dim
from hwdsl.why import Derivation, Term

LONGEST = 60
"""Characters of a formula that are shown."""

MOST_STEPS = MAX_STEPS // 2
"""Evaluations for one output after which steps are no longer opened; the other half is for those
whose values are still to be found."""
MOST_NAMES = 16
"""Names and multiples that are followed to find out whether there is a sum behind them."""


@frozen
class Factor:
    """A number by which a step is multiplied, kept as a fraction as it is written.

    `written` is the product's text where the product is of another dimension than the step."""

    up: float = 1.0
    down: float = 1.0
    written: str = ""

    @property
    def value(self) -> float:
        """The number."""
        return self.up / self.down if self.down else math.nan

    def by(self, other: Factor) -> Factor:
        """The product."""
        written = other.written or self.written
        return Factor(self.up * other.up, self.down * other.down, written)

    def plus(self, other: Factor | None) -> Factor:
        """The sum."""
        if other is None:
            return self
        if self.down == other.down:
            return Factor(self.up + other.up, self.down)
        return Factor(self.value + other.value)

    def text(self) -> str:
        """How it stands before a step: `64 ×`, `2/0.95 ×`, `-`; nothing if it is one."""
        if self.value in (1.0, -1.0):
            return "" if self.value > 0 else "-"
        if self.down == 1 or self.value == round(self.value):
            return f"{number_text(self.value)} ×"
        return f"{number_text(self.up)}/{number_text(self.down)} ×"


def derive(
    checked: Checked,
    info: EvaluatorInfo,
    elaboration: Elaboration,
    outputs: Sequence[str],
    point: Mapping[str, float],
    given: Collection[str],
) -> dict[str, Derivation]:
    """Derive outputs (`name`, or `name.label` of a vector) at a point in base units.

    `given` names the params that the user set; the others are said to be at their defaults.
    """
    m = Recorder(checked, HANDLERS, point)

    def free(declared: Free) -> Value:
        return fixed(m, declared, point[declared.info.name])

    def work() -> dict[str, Derivation]:
        walk = _Walk(m, open_evaluator(m, info, {}, free), elaboration, point, frozenset(given))
        return {name: walk.output_or_reason(name) for name in outputs}

    return run_deep(work)


@define(eq=False)
class _Walk:
    """Turns formulas into steps; that of a cell is made once."""

    m: Recorder
    instance: Instance
    elaboration: Elaboration
    point: Mapping[str, float]
    given: frozenset[str]
    steps: dict[Cell, Derivation] = field(factory=dict)
    params: dict[Cell, ParamInfo] = field(factory=dict)
    arguments: dict[tuple[int, str], Formula] = field(factory=dict)
    given_steps: dict[tuple[int, str], Derivation | None] = field(factory=dict)

    def output_or_reason(self, name: str) -> Derivation:
        """The step of an output, or a step that says why it has no value at this point."""
        self.m.steps = 0
        try:
            return self.output(name)
        except Failure as failure:
            self.m.depth = 0
            found = failure.diagnostic
            unit = self.described(name).unit
            span = found.labels[0].span
            scope = self.instance.env.scope
            return Derivation(
                name, math.nan, unit.dim, scope, unit=unit, formula=found.message, place=place(span)
            )

    def described(self, name: str) -> OutputInfo:
        """What is known of an output, or of the vector that it is an element of."""
        base = name.partition(".")[0]
        return next(o for o in self.elaboration.outputs if o.name == base)

    def output(self, name: str) -> Derivation:
        """The step of an output."""
        for info in self.elaboration.params:
            cell = self.instance.names.get(info.name)
            if isinstance(cell, Cell):
                self.params[cell] = info
        base, _, label = name.partition(".")
        described = self.described(name)
        node = next(
            x
            for x in self.instance.info.decl.members
            if isinstance(x, ast.Output) and x.name.name == base
        )
        formula: Formula | None = Formula(node.value, self.instance.env)
        value = self.m.evaluate(node.value, self.instance.env)
        if label and isinstance(value, ListValue) and formula is not None:
            at = described.labels.index(label)
            value, formula = value.items[at], self.m.element(formula, at)
        span = node.name.span
        if formula is None:
            return self.leaf(name, value, described.unit.dim, span)
        step = self.named(name, formula, value, described.unit.dim, span)
        number = self.m.float_of(value)
        text = described.cases[int(number)] if described.cases else ""
        return evolve(step, label=text or step.label, unit=described.unit)

    # --- values --------------------------------------------------------------------------------

    def leaf(self, name: str, value: Value, dim: Dim, span: Span) -> Derivation:
        """A step whose formula is not known, or is a literal."""
        number = self.m.float_of(value)
        label = ""
        if isinstance(value, EnumValue):
            label = value.enum.cases[int(number)]
        elif isinstance(value, TextValue):
            label = value.options[0]
        elif isinstance(value, Ref) and value.type == "bool":
            label = "true" if number else "false"
        return Derivation(name, number, dim, self.instance.env.scope, label, place=place(span))

    # --- steps ---------------------------------------------------------------------------------

    def step(self, formula: Formula) -> Derivation | None:
        """The step of an expression; None for what has no value to show, such as a component."""
        expr = formula.expr
        argument = self.argument(formula)
        if argument is not None:
            return argument
        if not self.m.is_reference(expr):
            value = self.m.evaluate(expr, formula.env)
            return self.named(_text(expr.span), formula, value, self.m.dim(expr), expr.span)
        value, cell = self.m.follow(formula)
        if isinstance(value, Record | Merged | ListValue | ResultValue):
            return None
        chosen = self.m.chosen_value(formula)
        if chosen is not None:
            return self.named(_text(expr.span), chosen, value, self.m.dim(expr), expr.span)
        if cell is None:
            return self.leaf(_text(expr.span), value, self.m.dim(expr), expr.span)
        if cell not in self.steps:
            self.steps[cell] = self.cell(cell, value, formula)
        return self.steps[cell]

    def cell(self, cell: Cell, value: Value, read_by: Formula) -> Derivation:
        """The step of a field, variable, param or call."""
        dim, name = self.m.dim(read_by.expr), cell.label
        if cell in self.params:
            return self.param(self.params[cell], value)
        formula = self.m.formulas.get(cell)
        if isinstance(read_by.expr, ast.Call):
            name = _text(read_by.expr.span, 40)
            self.note_arguments(read_by, formula)
        if formula is None or name.rpartition(".")[2] == "feasible":
            written = isinstance(read_by.expr, ast.Attr) and formula is None
            name = _text(read_by.expr.span) if written else name
            return self.leaf(name, value, dim, cell.span)
        return self.named(name, formula, value, dim, formula.expr.span, cell.label)

    def param(self, info: ParamInfo, value: Value) -> Derivation:
        """The step of a param of the evaluator."""
        step = self.leaf(info.name, value, info.dim, info.span)
        label = info.labels[int(step.value)] if info.type == "component" else step.label
        role = "given" if info.name in self.given else "default"
        return evolve(step, label=label, unit=info.unit, role=role)

    def named(
        self, name: str, formula: Formula, value: Value, dim: Dim, span: Span, path: str = ""
    ) -> Derivation:
        """A step with that name for a formula: its terms, and what else it reads."""
        expr = formula.expr
        written = self.written(formula)
        leaf = evolve(
            self.leaf(name, value, dim, span),
            path=path,
            formula=_text(written),
            place=place(written),
            unit=literal_unit(self.m, expr) if isinstance(expr, LITERAL) else None,
        )
        if isinstance(expr, LITERAL):
            return evolve(leaf, formula="")
        if self.m.is_reference(expr) or self.argument(formula) is not None:
            target = self.step(formula)
            if target is None:
                return leaf
            text = leaf.formula if isinstance(expr, ast.Call) else target.formula
            where = leaf.place if isinstance(expr, ast.Call) else target.place
            return evolve(target, name=name, formula=text, place=where)
        if self.m.steps > MOST_STEPS:
            return evolve(leaf, formula=f"{leaf.formula} (not followed further)")
        terms: list[Term] = []
        told: frozenset[ast.Expr] = frozenset()
        if isinstance(value, Ref) and value.type != "bool":
            terms, told = self.terms(formula)
        inputs = {id(s): s for s in self.inputs(formula, told)}
        return evolve(leaf, terms=tuple(terms), inputs=tuple(inputs.values()))

    def written(self, formula: Formula) -> Span:
        """What is shown of a formula: of a `match` the arm that was taken."""
        chosen = self.m.chosen(formula) if isinstance(formula.expr, ast.Match) else None
        arms = formula.expr.arms if isinstance(formula.expr, ast.Match) else ()
        arm = next((a for a in arms if chosen is not None and a.value is chosen.expr), None)
        return formula.expr.span if arm is None else arm.span

    # --- calls ---------------------------------------------------------------------------------

    def note_arguments(self, call: Formula, body: Formula | None) -> None:
        """Remember what the parameters of a function stand for."""
        assert isinstance(call.expr, ast.Call)
        meaning = self.m.checked.resolutions.get(call.expr.function)
        symbol = meaning.symbol if isinstance(meaning, Global) else None
        decl = symbol.decl if isinstance(symbol, FunctionInfo) else None
        frame = None if body is None else body.env.frame
        if decl is None or not decl.parameters:
            return
        names = [p.name.name for p in decl.parameters]
        while frame is not None and (
            names[0] not in frame.names or isinstance(frame.names[names[0]], Cell)
        ):
            frame = frame.parent
        if frame is None:
            return
        for i, argument in enumerate(call.expr.arguments):
            name = argument.name.name if argument.name is not None else names[i]
            key = (id(frame.names), name)
            self.arguments.setdefault(key, Formula(argument.value, call.env))

    def argument(self, formula: Formula) -> Derivation | None:
        """The step of a parameter: what the call gave for it."""
        expr, frame = formula.expr, formula.env.frame
        if not isinstance(expr, ast.Name):
            return None
        while frame is not None and expr.name not in frame.names:
            frame = frame.parent
        key = (id(frame.names if frame is not None else None), expr.name)
        given = self.arguments.get(key)
        if given is not None and key not in self.given_steps:
            # Calls with equal arguments share a frame, so what one of them was given may be found
            # by a call like it: that one shows the number.
            self.given_steps[key] = None
            step = self.step(given)
            self.given_steps[key] = step and evolve(step, name=expr.name)
        return self.given_steps.get(key)

    # --- sums ----------------------------------------------------------------------------------

    def terms(self, formula: Formula) -> tuple[list[Term], frozenset[ast.Expr]]:
        """The formula as multiples of steps that add up to it, and where they stand in it.

        Empty if it is only itself. A step that is added several times is one term.
        """
        found = list(self.linear(formula, Factor()))
        if len(found) == 1 and found[0][1].expr is formula.expr:
            return [], frozenset()
        found = [x for x in found if not _is_zero(x[1].expr)] or found
        if any(isinstance(x.expr, ast.Number) for _, x in found):
            return [], frozenset()  # `ratio - 1` is no sum of parts
        factors: dict[int, Factor] = {}
        steps: dict[int, Derivation] = {}
        parts: dict[int, Formula] = {}
        products = [factor.written for factor, _ in found]
        for factor, part in found:
            if factor.written and products.count(factor.written) > 1:
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
        return terms, frozenset(part.expr for _, part in found)

    def told_apart(
        self, steps: Mapping[int, Derivation], parts: Mapping[int, Formula]
    ) -> dict[int, Derivation]:
        """The steps; the names of those that are written alike say what differs."""
        found = dict(steps)
        alike: dict[ast.Expr, list[int]] = {}
        for i in steps:
            alike.setdefault(parts[i].expr, []).append(i)
        for places in (p for p in alike.values() if len(p) > 1):
            texts = differences(self.m, [parts[i] for i in places])
            for i, text in zip(places, texts, strict=True):
                if text:
                    found[i] = evolve(steps[i], name=f"{steps[i].name} [{text}]")
        return found

    def linear(self, formula: Formula, factor: Factor) -> Iterator[tuple[Factor, Formula]]:
        """The terms of `factor` times the formula."""
        expr, env = formula.expr, formula.env
        if isinstance(expr, ast.Binary) and expr.op in ("+", "-"):
            yield from self.linear(Formula(expr.left, env), factor)
            sign = Factor(1.0 if expr.op == "+" else -1.0)
            yield from self.linear(Formula(expr.right, env), factor.by(sign))
            return
        whole = reading(expr, self.m.checked.units) is not None
        if isinstance(expr, ast.Unary) and expr.op in ("+", "-") and not whole:
            sign = Factor(1.0 if expr.op == "+" else -1.0)
            yield from self.linear(Formula(expr.operand, env), factor.by(sign))
            return
        chosen = self.m.chosen(formula)
        among = [chosen] if chosen is not None else self.m.summed(formula)
        if among is not None:
            for part in among:
                yield from self.linear(part, factor)
            return
        times, core = self.multiple(formula)
        if core is formula:
            yield factor, formula
        else:
            yield from self.linear(core, factor.by(times))

    def multiple(self, formula: Formula) -> tuple[Factor, Formula]:
        """A product as a number times the one factor worth following.

        That is the one of the product's dimension, or else the one that is a sum.
        """
        expr, env = formula.expr, formula.env
        if not (isinstance(expr, ast.Binary) and expr.op in ("*", "/")):
            return Factor(), formula
        above, below = factors(expr)
        cores = [e for e in above if not isinstance(e, LITERAL)]
        dim = self.m.dim(expr)
        same = [] if dim.is_one else [e for e in cores if self.m.dim(e) == dim]
        if len(same) != 1:
            whole = [e for e in cores if dim.is_one or not self.m.dim(e).is_one]
            same = [e for e in whole if self.is_sum(Formula(e, env))]
        if len(same) != 1:
            return Factor(), formula
        up = math.prod(self.m.value(Formula(e, env)) for e in above if e is not same[0])
        down = math.prod(self.m.value(Formula(e, env)) for e in below)
        written = "" if self.m.dim(same[0]) == dim else _text(expr.span, 40)
        return Factor(up, down, written), Formula(same[0], env)

    def is_sum(self, formula: Formula) -> bool:
        """Whether an expression, or the formula behind a name, is a sum or a multiple of one."""
        for _ in range(MOST_NAMES):
            if self.m.is_reference(formula.expr):
                _, cell = self.m.follow(formula)
                behind = None if cell is None or cell in self.params else self.m.formulas.get(cell)
            else:
                parts = [x for _, x in self.linear(formula, Factor())]
                if len(parts) > 1:
                    return not any(isinstance(x.expr, ast.Number) for x in parts)
                behind = parts[0] if parts and parts[0].expr is not formula.expr else None
            if behind is None:
                return False
            formula = behind
        return False

    # --- what a formula reads ------------------------------------------------------------------

    def inputs(self, formula: Formula, told: frozenset[ast.Expr]) -> Iterator[Derivation]:
        """The steps of all that a formula reads on the way that was taken, in its order."""
        for item in self.reads(formula, told):
            step = self.step(item)
            if step is not None:
                yield step
            else:  # of a list its elements, if they are numbers
                found = (self.step(e) for e in self.m.elements(item) or ())
                yield from (each for each in found if each is not None)

    def reads(self, formula: Formula, told: frozenset[ast.Expr]) -> Iterator[Formula]:
        """The names, members and calls in a formula, without what is in expressions `told`."""
        expr, env = formula.expr, formula.env
        if expr in told:
            return
        if self.m.is_reference(expr):
            if not isinstance(expr, ast.Name) or self.readable(expr, env):
                yield formula
            return
        if self.m.builtin(expr) == "known":
            return  # what is asked about is not read, and may have no value
        chosen = self.m.chosen(formula)
        if isinstance(expr, ast.Cond | ast.Match) and chosen is not None:
            subject = expr.condition if isinstance(expr, ast.Cond) else expr.subject
            yield from self.reads(Formula(subject, env), told)
            yield from self.reads(chosen, told)
        elif isinstance(expr, ast.Index) and chosen is not None:
            yield from self.reads(Formula(expr.index, env), told)
            yield from self.reads(chosen, told)
        elif isinstance(expr, ast.Comprehension):
            for element in self.m.elements(formula) or []:
                yield from self.reads(element, told)
        else:
            for inner in operands(expr):
                yield from self.reads(Formula(inner, env), told)

    def readable(self, expr: ast.Name, env: Env) -> bool:
        """Whether a name has a value here: variables inside an `iterate` have none."""
        meaning = self.m.checked.resolutions.get(expr)
        if isinstance(meaning, Local):
            return env.frame is not None and env.frame.lookup(expr.name) is not None
        return meaning is not None


def _is_zero(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Number | ast.Quantity) and float(expr.text.replace("_", "")) == 0


def _text(span: Span, longest: int = LONGEST) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def place(span: Span) -> str:
    """`std/memory.hw:12` in the library, elsewhere the file as it was named."""
    path = Path(span.source.name)
    library = package_folder("hwdsl.library").resolve()
    whole = path.resolve()
    name = whole.relative_to(library) if whole.is_relative_to(library) else path
    return f"{name}:{span.source.position(span.start)[0]}"
