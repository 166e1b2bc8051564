"""Reductions to tree nodes: a table of the grammar's rules, and a method where one does more.

A rule's children are all its symbols, in order: those of an optional part that is left out are
None, and those of a list stand in its place. The table says which of them count, and what is made
of them: `node(ast.Let, 1, 3, 5)` puts the second, fourth and sixth in the fields of a `Let`, after
its span.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol

from attrs import evolve, fields_dict, frozen
from lark.exceptions import UnexpectedToken

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.habits import operator
from hwdsl.syntax.kinds import MAX_HEIGHT
from hwdsl.syntax.literals import Literals
from hwdsl.syntax.tokens import Built, Token, new_token

EDITIONS = (2026,)

ParseHole = Callable[[int, int], Built | None]
Generators = tuple[tuple[ast.Generator, ...], ast.Expr | None]  # and their condition


class TooDeep(UnexpectedToken):
    """A tree is higher than `MAX_HEIGHT`: an error like those that Lark finds."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(new_token("TOO_DEEP", "", start, start), set())  # type: ignore[no-untyped-call]
        self.start = start
        self.end = end


class Builder(Literals):
    """Builds what takes more than to fill the fields of a node.

    A method gets the span of what is reduced and the children that its rule's entry in `RULES`
    names: tokens, and of what was reduced before the values.
    """

    def __init__(
        self,
        source: Source,
        diagnostics: Diagnostics,
        docs: dict[int, str],
        parse_hole: ParseHole,
    ) -> None:
        super().__init__(source, diagnostics)
        self.docs = docs
        self.parse_hole = parse_hole
        self.edition_found: int | None = None
        # The height of the expressions in the texts of the rule that is built.
        self.inner_height = 0

    def several(self, span: Span, *values: Any) -> tuple[Any, ...]:
        """Return the parts of a list or block."""
        return values

    def one(self, span: Span, value: Any) -> Any:
        """Pass up what brackets hold, or a text that is one expression or unit."""
        return value

    # --- expressions ---------------------------------------------------------------------

    def name(self, span: Span, word: Token) -> ast.Ident:
        """Build a name."""
        return ast.Ident(span, str(word))

    def binary(self, span: Span, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        """Build a binary operation."""
        return ast.Binary(span, operator(str(op)), left, right, self.at(op))

    def floor_division(self, span: Span, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        """Report `//` and go on as if it were `/`."""
        self.error(
            "floor-division",
            "`//` is not an operator: `/` always divides exactly",
            self.at(op),
            f"write `floor({self.short(left)} / {self.short(right)})`; a comment begins with `#`",
        )
        return ast.Binary(span, "/", left, right, self.at(op))

    def unary(self, span: Span, op: Token, operand: ast.Expr) -> ast.Unary:
        """Build a unary operation."""
        return ast.Unary(span, operator(str(op)), operand)

    def cmp(self, span: Span, *c: Any) -> ast.Compare:
        """Build a chain of comparisons."""
        return ast.Compare(span, c[::2], tuple(operator(str(op)) for op in c[1::2]))

    def match(self, span: Span, subject: ast.Expr, *arms: ast.Arm) -> ast.Match:
        """Build a `match`."""
        return ast.Match(span, subject, arms)

    def arm(self, span: Span, *c: Any) -> ast.Arm:
        """Build an arm of a `match`."""
        return ast.Arm(span, c[:-1], c[-1])

    def pat(self, span: Span, what: Token | str | tuple[ast.Ident, ...]) -> ast.Pattern:
        """Build one alternative of an arm."""
        if isinstance(what, Token):
            return ast.Pattern(span)
        if isinstance(what, str):
            return ast.Pattern(span, number=what)
        return ast.Pattern(span, path=what)

    def number_pattern(self, span: Span, sign: Token | None, number: Token) -> str:
        """Return the number of a pattern, its sign included."""
        text = self.number_text(number)
        return f"-{text}" if sign is not None and sign == "-" else text

    def call(self, span: Span, function: ast.Expr, *arguments: ast.Argument) -> ast.Call:
        """Build a call."""
        return ast.Call(span, function, arguments)

    def ref(self, span: Span, name: ast.Ident) -> ast.Name:
        """Build a name used as an expression."""
        return ast.Name(span, name.name)

    def true(self, span: Span) -> ast.Bool:
        """Build `true`."""
        return ast.Bool(span, True)

    def false(self, span: Span) -> ast.Bool:
        """Build `false`."""
        return ast.Bool(span, False)

    def list(self, span: Span, *elements: ast.Expr) -> ast.ListLit:
        """Build a list."""
        return ast.ListLit(span, elements)

    def list_comprehension(
        self, span: Span, element: ast.Expr, gens: Generators
    ) -> ast.Comprehension:
        """Build a list made by generators."""
        return ast.Comprehension(span, element, *gens, True)

    def arg(self, span: Span, value: ast.Expr) -> ast.Argument:
        """Build an argument by position."""
        return ast.Argument(span, None, value)

    def reduced_arg(self, span: Span, element: ast.Expr, gens: Generators) -> ast.Argument:
        """Build what a reducer goes over."""
        return ast.Argument(span, None, ast.Comprehension(span, element, *gens, False))

    def gens(self, span: Span, *c: Any) -> Generators:
        """Return generators and their condition."""
        *generators, _, condition = c
        return tuple(generators), condition

    # --- types ---------------------------------------------------------------------------

    def type_power(self, span: Span, base: ast.TypeExpr, power: tuple[int, int]) -> ast.TypePower:
        """Build a power of a type."""
        return ast.TypePower(span, base, *power)

    def texp(self, span: Span, sign: Token | None, number: Token) -> tuple[int, int]:
        """Return an exponent as numerator and denominator."""
        return self.signed(sign, number), 1

    def texp_ratio(
        self, span: Span, sign: Token | None, top: Token, bar: Token, bottom: Token
    ) -> tuple[int, int]:
        """Return a fraction as numerator and denominator."""
        if bar != "/":
            self.error(
                "syntax-error",
                "an exponent in parentheses is a fraction",
                self.at(bar),
                "write it as `(1/2)`",
            )
        under = self.signed(None, bottom)
        if under == 0:
            self.error("bad-number", "this divides by zero", self.at(bottom), "write `(1/2)`")
        return self.signed(sign, top), under or 1

    def type_one(self, span: Span, number: Token) -> ast.TypeOne:
        """Build the 1 of `1 / time`."""
        self.only_one(number, "a type")
        return ast.TypeOne(span)

    def type_binary(
        self, span: Span, left: ast.TypeExpr, op: Token, right: ast.TypeExpr
    ) -> ast.TypeBinary:
        """Build a product or quotient of types."""
        return ast.TypeBinary(span, str(op), left, right)

    # --- members -------------------------------------------------------------------------

    def template(self, token: Token | None) -> ast.Template | None:
        """Build a message from its literal."""
        if token is None:
            return None
        template, height = self.template_parts(token, self.parse_hole)
        self.inner_height = max(self.inner_height, height)
        return template

    def rule(
        self,
        span: Span,
        word: Token,
        name: ast.Ident,
        condition: ast.Expr,
        message: Token | None,
        remedy: Token | None,
    ) -> ast.Rule:
        """Build a `require` or `warn`."""
        shown, remedied = self.template(message), self.template(remedy)
        return ast.Rule(span, name, word == "warn", condition, shown, remedied, self.doc(span))

    def part(
        self,
        span: Span,
        kind: Token,
        name: ast.Ident,
        count: ast.Expr | None,
        base: tuple[ast.Ident, ...] | None,
        members: tuple[ast.Member, ...] | None,
    ) -> ast.Part:
        """Build a component or part."""
        made = ast.Ident(self.at(kind), str(kind))
        return ast.Part(span, made, name, count, base, members or (), self.doc(span))

    def fparam(
        self,
        span: Span,
        known: Token | None,
        name: ast.Ident,
        kind: ast.TypeExpr,
        default: ast.Expr | None,
    ) -> ast.Parameter:
        """Build a parameter of a function."""
        return ast.Parameter(span, name, kind, default, known is not None)

    def fn(
        self,
        span: Span,
        name: ast.Ident,
        dims: tuple[ast.Ident, ...] | None,
        parameters: tuple[ast.Parameter, ...] | None,
        result: ast.TypeExpr,
        body: Any,
    ) -> ast.Fn:
        """Build a function, whose body is an expression or a block that ends with one."""
        *lets, value = body if isinstance(body, tuple) else (body,)
        return ast.Fn(
            span, name, dims or (), parameters or (), result, tuple(lets), value, self.doc(span)
        )

    def extern_fn(
        self,
        span: Span,
        name: ast.Ident,
        dims: tuple[ast.Ident, ...] | None,
        parameters: tuple[ast.Parameter, ...] | None,
        result: ast.TypeExpr,
    ) -> ast.ExternFn:
        """Build a function of the language."""
        return ast.ExternFn(span, name, dims or (), parameters or (), result, self.doc(span))

    def param(
        self,
        span: Span,
        name: ast.Ident,
        kind: ast.TypeExpr,
        default: ast.Expr | None,
        bounds: ast.Expr | None,
        chance: ast.Expr | None,
    ) -> ast.Param:
        """Build a param of an evaluator."""
        if isinstance(chance, ast.Call):
            place = chance.function.span
            even = ast.Argument(place, None, ast.Name(place, ast.CHANCE))
            chance = evolve(chance, arguments=(even, *chance.arguments))
        return ast.Param(span, name, kind, default, bounds, chance, self.doc(span))

    def output(
        self,
        span: Span,
        name: ast.Ident,
        what: ast.UnitExpr | ast.TypeExpr | None,
        value: ast.Expr,
    ) -> ast.Output:
        """Build an output of an evaluator."""
        unit = what if isinstance(what, ast.UnitExpr) else None
        kind = what if not isinstance(what, ast.UnitExpr) else None
        return ast.Output(span, name, unit, kind, value, self.doc(span))

    def expect(
        self,
        span: Span,
        status: Token | None,
        condition: ast.Expr,
        tolerance: tuple[ast.Expr, str] | None,
        missed: Token | None,
    ) -> ast.Expect:
        """Build an expectation of a claim."""
        width, mode = tolerance or (None, "")
        word = str(status) if status is not None else ""
        why = self.string(missed) if missed is not None else None
        return ast.Expect(span, condition, width, mode, word, why)

    def tolerance(self, span: Span, width: ast.Expr, mode: Token | None) -> tuple[ast.Expr, str]:
        """Return a tolerance and how it is meant."""
        return width, str(mode) if mode is not None else ""

    def factor(self, span: Span, number: Token) -> tuple[ast.Expr, str]:
        """Return a tolerance that is a factor."""
        return ast.Number(self.at(number), self.number_text(number)), "factor"

    # --- items ---------------------------------------------------------------------------

    def items(self, span: Span, *found: ast.Item | None) -> tuple[ast.Item, ...]:
        """Return the items of a file, without what `edition` left."""
        return tuple(item for item in found if item is not None)

    def edition(self, span: Span, number: Token) -> None:
        """Note the edition."""
        text = str(number)
        known = ", ".join(str(e) for e in EDITIONS)
        if text.isdigit() and len(text) < 9 and int(text) in EDITIONS:
            self.edition_found = int(text)
        else:
            self.error(
                "unknown-edition",
                f"this compiler does not know edition {text[:20]}",
                self.at(number),
                f"it knows {known}: write `edition {EDITIONS[-1]}`",
            )
            self.edition_found = EDITIONS[-1]

    def use(
        self,
        span: Span,
        what: Token | tuple[ast.Ident, ...],
        alias: ast.Ident | None,
        names: tuple[ast.Ident, ...] | None,
    ) -> ast.Use:
        """Build an import."""
        path, file = (what, None) if isinstance(what, tuple) else ((), self.string(what))
        return ast.Use(span, path, file, alias, names)

    def unit(
        self,
        span: Span,
        name: ast.Ident,
        value: ast.Expr,
        offset: ast.Expr | None,
        prefixes: tuple[ast.Ident, ...] | None,
    ) -> ast.UnitDecl:
        """Build a unit defined by others."""
        return ast.UnitDecl(span, name, value, None, offset, prefixes or (), self.doc(span))

    def base_unit(
        self,
        span: Span,
        name: ast.Ident,
        kind: ast.TypeExpr,
        prefixes: tuple[ast.Ident, ...] | None,
    ) -> ast.UnitDecl:
        """Build the unit of a base dimension."""
        return ast.UnitDecl(span, name, None, kind, None, prefixes or (), self.doc(span))

    def enum(self, span: Span, name: ast.Ident, *cases: ast.Ident) -> ast.Enum:
        """Build an enum."""
        return ast.Enum(span, name, cases, self.doc(span))

    def doc(self, span: Span) -> str:
        """Return the doc comment before what starts there."""
        return self.docs.get(span.start, "")

    def plain(self, token: Token) -> str:
        """Return what a token stands for in a field."""
        if token.type == "STRING":
            return self.string(token)
        return self.number_text(token) if token.type == "NUMBER" else str(token)


# --- the table -------------------------------------------------------------------------------

Children = list[Any]
Pick = Callable[[Children], Children]
Make = Callable[..., Any]  # of a builder, a span and what was picked


@frozen
class Reduction:
    """How a rule is reduced: which children count, and what is made of them.

    `grows` tells whether the tree gets higher, which it does not by brackets around an expression.
    """

    pick: Pick
    make: Make
    grows: bool = True


def _places(*places: int) -> Pick:
    """Pick the children at some places."""
    return lambda children: [children[place] for place in places]


def _reduced(children: Children) -> Children:
    """Pick the children that were reduced before, and no token."""
    return [child for child in children if isinstance(child, Built)]


def _all(children: Children) -> Children:
    """Pick all children."""
    return children


def node(kind: type[ast.Node], *places: int) -> Reduction:
    """Put the children at some places in the fields of a node; it takes the doc comment, if any."""
    documented = "doc" in fields_dict(kind)

    def make(builder: Builder, span: Span, *values: Any) -> ast.Node:
        given = [builder.plain(v) if isinstance(v, Token) else v for v in values]
        if documented:
            return kind(span, *given, doc=builder.doc(span))  # type: ignore[call-arg]
        return kind(span, *given)

    return Reduction(_places(*places), make)


def built(make: Make, *places: int) -> Reduction:
    """Give the children at some places to a method of the builder."""
    return Reduction(_places(*places), make)


RULES: Mapping[str, Reduction] = {
    "start": Reduction(_reduced, Builder.items),
    "edition": built(Builder.edition, 1),
    "interp": node(ast.Hole, 0, 2),
    "lone": Reduction(_reduced, Builder.one),
    "lone_unit": built(Builder.one, 0),
    # Items.
    "use": built(Builder.use, 1, 3, 5),
    "names": Reduction(_reduced, Builder.several),
    "dimension": node(ast.Dimension, 1),
    "unit": built(Builder.unit, 1, 3, 5, 7),
    "base_unit": built(Builder.base_unit, 1, 3, 5),
    "type_alias": node(ast.TypeAlias, 1, 3),
    "enum": Reduction(_reduced, Builder.enum),
    "kind": node(ast.Kind, 1, 3, 4),
    "fn": built(Builder.fn, 1, 2, 4, 7, -1),
    "extern_fn": built(Builder.extern_fn, 2, 3, 5, 8),
    "dimvars": Reduction(_reduced, Builder.several),
    "fparams": Reduction(_reduced, Builder.several),
    "fparam": built(Builder.fparam, 0, 1, 3, 5),
    "evaluator": node(ast.Evaluator, 1, 2),
    "claim": node(ast.Claim, 1, 2),
    "calibrated": node(ast.Calibrated, 1, 3, 5, 7, 9),
    "display": node(ast.Display, 0, 1, 2),
    "part": built(Builder.part, 0, 1, 2, 4, 5),
    "count": Reduction(_places(1), Builder.one, grows=False),
    "path": Reduction(_reduced, Builder.several),
    # Blocks and their members.
    **{
        f"{kind}block": Reduction(_reduced, Builder.several)
        for kind in ("r", "f", "e", "c", "d", "i")
    },
    "field": node(ast.Field, 0, 2, 4),
    "assign": node(ast.Assign, 0, 2),
    "unknown": node(ast.Unknown, 1),
    "amend": node(ast.Amend, 0, 1),
    "let": node(ast.Let, 1, 3, 5),
    "rule": built(Builder.rule, 0, 1, 3, 5, 7),
    "source": node(ast.SourceNote, 1),
    "cited": node(ast.SourceNote, 1, 3),
    "allow": node(ast.Allow, 1, 2),
    "param": built(Builder.param, 1, 3, 5, 7, 9),
    "choice": node(ast.Choice, 1, 3, 5, 7),
    "output": built(Builder.output, 1, 3, 5),
    "expect": built(Builder.expect, 0, 2, 3, 5),
    "tolerance": built(Builder.tolerance, 1, 2),
    "factor": built(Builder.factor, 2),
    "assume": node(ast.Assume, 1),
    "state": node(ast.State, 1, 3, 5),
    "next": node(ast.Next, 1, 2, 4),
    "until": node(ast.Until, 1),
    # Expressions.
    "cond": node(ast.Cond, 1, 3, 5),
    "match": Reduction(_reduced, Builder.match),
    "arm": Reduction(_reduced, Builder.arm),
    "pat": built(Builder.pat, 0),
    "number_pattern": built(Builder.number_pattern, 0, 1),
    "iterate": node(ast.Iterate, 1, 3, 4),
    "binary": built(Builder.binary, 0, 1, 2),
    "floor_division": built(Builder.floor_division, 0, 1, 2),
    "unary": built(Builder.unary, 0, 1),
    "cmp": Reduction(_all, Builder.cmp),
    "attr": node(ast.Attr, 0, 2),
    "call": Reduction(_reduced, Builder.call),
    "index": node(ast.Index, 0, 2),
    "with_": node(ast.With, 0, 2),
    "quantity": built(Builder.quantity, 0),
    "number": node(ast.Number, 0),
    "bad_number": built(Builder.bad_number, 0),
    "text": node(ast.Text, 0),
    "ref": built(Builder.ref, 0),
    "true": built(Builder.true),
    "false": built(Builder.false),
    "group": Reduction(_places(1), Builder.one, grows=False),
    "list": Reduction(_reduced, Builder.list),
    "list_comprehension": built(Builder.list_comprehension, 1, 2),
    "arg": built(Builder.arg, 0),
    "named_arg": node(ast.Argument, 0, 2),
    "reduced_arg": built(Builder.reduced_arg, 0, 1),
    "gens": Reduction(_all, Builder.gens),
    "gen": node(ast.Generator, 1, 3),
    # Types and units.
    "type_binary": built(Builder.type_binary, 0, 1, 2),
    "type_power": built(Builder.type_power, 0, 2),
    "texp": built(Builder.texp, 0, 1),
    "texp_ratio": built(Builder.texp_ratio, 1, 2, 3, 4),
    "type_name": node(ast.TypeName, 0),
    "type_one": built(Builder.type_one, 0),
    "type_list": node(ast.TypeList, 1),
    "type_ref": node(ast.TypeRef, 1),
    "unit_expr": Reduction(_all, Builder.unit_expr),
    "ufactor": built(Builder.ufactor, 0, 2, 3),
    "unit_one": built(Builder.unit_one, 0),
    "name": built(Builder.name, 0),
}


class HasBuilder(Protocol):
    """What is read, as far as the reductions need it."""

    builder: Builder


def reductions(now: "ContextVar[Any]") -> SimpleNamespace:
    """Return Lark's transformer: for each rule what it calls, which finds the builder by `now`."""
    return SimpleNamespace(**{name: partial(_reduce, now, how) for name, how in RULES.items()})


def _reduce(now: "ContextVar[HasBuilder]", how: Reduction, children: Children) -> Built:
    """Make what a rule stands for of its children. Raises TooDeep."""
    builder = now.get().builder
    start = end = -1
    height = 0
    for child in children:
        if child is not None:
            end = child.end_pos
            if start < 0:
                start = child.start_pos
            if type(child) is Built and child.height > height:
                height = child.height
    if how.grows:
        height += 1
        if height > MAX_HEIGHT:
            raise TooDeep(start, end)
    values = [child.value if type(child) is Built else child for child in how.pick(children)]
    value = how.make(builder, Span(builder.origin, start, end), *values)
    if builder.inner_height:
        height = max(height, builder.inner_height + 1)
        builder.inner_height = 0
    return Built(value, start, end, height)
