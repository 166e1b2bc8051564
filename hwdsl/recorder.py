"""Evaluating with all params known, and knowing afterwards where each value came from.

Input: a checked program and a point. Output: a `Recorder`, a machine of partial evaluation that can
be asked for the formula behind a name, the branch that was taken, the elements of a list.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field, frozen

from hwdsl.codegen.ir import Ref
from hwdsl.elaborate.machine import Machine
from hwdsl.elaborate.messages import at_point
from hwdsl.elaborate.reducers import candidates
from hwdsl.elaborate.values import Cell, EnumValue, Env, Value
from hwdsl.semantics.symbols import Builtin
from hwdsl.semantics.types import Real
from hwdsl.syntax import ast
from hwdsl.units import ONE, Dim

LITERAL = (ast.Number, ast.Quantity, ast.Text, ast.Bool)
"""Expressions that are a value as written."""


@frozen(eq=False)
class Formula:
    """An expression and where it is read."""

    expr: ast.Expr
    env: Env


@define(eq=False)
class Recorder(Machine):
    """A machine that knows of each cell the formula it came from, and which cell was read last."""

    formulas: dict[Cell, Formula] = field(factory=dict)
    latest: Cell | None = None
    watched: dict[ast.Expr, Env | None] = field(factory=dict)

    def evaluate(self, expr: ast.Expr, env: Env) -> Value:
        """The value; the last formula evaluated on behalf of a cell is the cell's own."""
        value = super().evaluate(expr, env)
        if self.running:
            self.formulas[self.running[-1]] = Formula(expr, env)
        if expr in self.watched:
            self.watched[expr] = env
        return value

    def read(self, value: Value | Cell) -> Value:
        """The value, noting whether it is a cell's."""
        result = super().read(value)
        self.latest = value if isinstance(value, Cell) else None
        return result

    def follow(self, formula: Formula) -> tuple[Value, Cell | None]:
        """The value of a name, member or call, and the cell it stands for, if it does."""
        self.latest = None
        value = self.evaluate(formula.expr, formula.env)
        return value, self.latest

    def taken(self, formula: Formula, arms: list[ast.Expr]) -> Formula | None:
        """Which of the arms of an `if` or `match` its value came from."""
        self.watched = dict.fromkeys(arms)
        self.evaluate(formula.expr, formula.env)
        found = [Formula(arm, env) for arm, env in self.watched.items() if env is not None]
        self.watched = {}
        return found[0] if len(found) == 1 else None

    def float_of(self, value: Value) -> float:
        """A number, bool or case as a float in base units; NaN for anything else."""
        ref = value.ref if isinstance(value, EnumValue) else value
        if not isinstance(ref, Ref):
            return float("nan")
        return ref.known if ref.known is not None else at_point(self, [])([ref])[0]

    def value(self, formula: Formula) -> float:
        """The value of a formula that is a number."""
        return self.float_of(self.evaluate(formula.expr, formula.env))

    def dim(self, expr: ast.Expr) -> Dim:
        """The dimension the checker found."""
        found = self.checked.types.get(expr)
        return found.dim if isinstance(found, Real) else ONE

    def is_reference(self, expr: ast.Expr) -> bool:
        """Whether an expression stands for something written elsewhere."""
        if isinstance(expr, ast.Call):
            meaning = self.checked.resolutions.get(expr.function)
            return not isinstance(meaning, Builtin)
        return isinstance(expr, ast.Name | ast.Attr)

    def summed(self, formula: Formula) -> list[Formula] | None:
        """What a `sum(…)` adds up."""
        if self.builtin(formula.expr) != "sum":
            return None
        assert isinstance(formula.expr, ast.Call)
        return self.elements(Formula(formula.expr.arguments[0].value, formula.env))

    def elements(self, formula: Formula) -> list[Formula] | None:
        """The formulas of the elements of a list, or of what a reducer goes through."""
        expr = formula.expr
        if isinstance(expr, ast.ListLit):
            return [Formula(e, formula.env) for e in expr.items]
        if isinstance(expr, ast.Comprehension):
            return [Formula(expr.element, c.env) for c in candidates(self, expr, formula.env)]
        if self.is_reference(expr):
            _, cell = self.follow(formula)
            behind = None if cell is None else self.formulas.get(cell)
            return None if behind is None else self.elements(behind)
        return None

    def element(self, formula: Formula, at: int) -> Formula | None:
        """The formula of one element of a list."""
        found = self.elements(formula)
        return None if found is None else found[at]

    # --- what was chosen -----------------------------------------------------------------------

    def builtin(self, expr: ast.Expr) -> str:
        """The name of the builtin that an expression calls, or nothing."""
        if not isinstance(expr, ast.Call):
            return ""
        meaning = self.checked.resolutions.get(expr.function)
        return meaning.name if isinstance(meaning, Builtin) else ""

    def chosen(self, formula: Formula) -> Formula | None:
        """The branch, the larger argument or the element that gave the value."""
        expr, env = formula.expr, formula.env
        if isinstance(expr, ast.Cond):
            return self.taken(formula, [expr.yes, expr.no])
        if isinstance(expr, ast.Match):
            return self.taken(formula, [a.value for a in expr.arms])
        if isinstance(expr, ast.Index):
            at = self.value(Formula(expr.index, env))
            return self.element(Formula(expr.base, env), int(at))
        if self.builtin(expr) not in ("max", "min"):
            return None
        assert isinstance(expr, ast.Call)
        given = [Formula(a.value, env) for a in expr.arguments]
        among = self.elements(given[0]) if len(given) == 1 else given
        return None if among is None else self.equal(among, self.value(formula))

    def chosen_value(self, formula: Formula) -> Formula | None:
        """The candidate behind `best.value`, where `best` is a `lowest(…)` or `highest(…)`."""
        expr = formula.expr
        if not (isinstance(expr, ast.Attr) and expr.name.name == "value"):
            return None
        base = Formula(expr.base, formula.env)
        if self.is_reference(expr.base):
            _, cell = self.follow(base)
            found = None if cell is None else self.formulas.get(cell)
            if found is None:
                return None
            base = found
        if self.builtin(base.expr) not in ("lowest", "highest"):
            return None
        assert isinstance(base.expr, ast.Call)
        among = self.elements(Formula(base.expr.arguments[0].value, base.env))
        return None if among is None else self.equal(among, self.value(formula))

    def equal(self, among: list[Formula], value: float) -> Formula | None:
        """The first formula with that value."""
        return next((f for f in among if self.value(f) == value), None)


def factors(expr: ast.Expr) -> tuple[list[ast.Expr], list[ast.Expr]]:
    """What stands above and below the line of a product."""
    if isinstance(expr, ast.Binary) and expr.op in ("*", "/"):
        above, below = factors(expr.left)
        over, under = factors(expr.right)
        if expr.op == "*":
            return [*above, *over], [*below, *under]
        return [*above, *under], [*below, *over]
    return [expr], []


def operands(expr: ast.Expr) -> Iterator[ast.Expr]:
    """The expressions directly inside another."""
    if isinstance(expr, ast.Binary):
        yield from (expr.left, expr.right)
    elif isinstance(expr, ast.Unary):
        yield expr.operand
    elif isinstance(expr, ast.Compare):
        yield from expr.operands
    elif isinstance(expr, ast.ListLit):
        yield from expr.items
    elif isinstance(expr, ast.Call):
        yield from (a.value for a in expr.arguments)
    elif isinstance(expr, ast.Cond):
        yield from (expr.condition, expr.yes, expr.no)
    elif isinstance(expr, ast.Index):
        yield from (expr.base, expr.index)
    elif isinstance(expr, ast.Iterate):
        yield expr.range
        for member in expr.members:
            if isinstance(member, ast.State):
                yield member.initial
            elif isinstance(member, ast.Let | ast.Next):
                yield member.value
