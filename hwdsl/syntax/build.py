"""Reductions to tree nodes: one method per rule of the grammar."""

from collections.abc import Callable
from typing import Any

from attrs import evolve

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast
from hwdsl.syntax.habits import operator
from hwdsl.syntax.literals import Literals
from hwdsl.syntax.tokens import Token

EDITIONS = (2026,)

ParseHole = Callable[[int, int], tuple[ast.Hole, int] | None]
Children = list[Any]


class ExpressionBuilder(Literals):
    """Builds expressions and types."""

    def name(self, c: Children, start: int, end: int) -> ast.Ident:
        """Build a name."""
        return ast.Ident(self.span(start, end), self.source_text[start:end])

    def path(self, c: Children, start: int, end: int) -> tuple[ast.Ident, ...]:
        """Build a dotted path."""
        return tuple(c)

    names = path

    def binary(self, c: Children, start: int, end: int) -> ast.Binary:
        """Build a binary operation."""
        left, op, right = c
        return ast.Binary(
            self.span(start, end), operator(self.text_of(op)), left, right, self.at(op)
        )

    def floor_division(self, c: Children, start: int, end: int) -> ast.Binary:
        """Report `//` and go on as if it were `/`."""
        left, op, right = c
        self.error(
            "floor-division",
            "`//` is not an operator: `/` always divides exactly",
            self.at(op),
            f"write `floor({self.short(left)} / {self.short(right)})`; a comment begins with `#`",
        )
        return ast.Binary(self.span(start, end), "/", left, right, self.at(op))

    def unary(self, c: Children, start: int, end: int) -> ast.Unary:
        """Build a unary operation."""
        return ast.Unary(self.span(start, end), operator(self.text_of(c[0])), c[1])

    def cmp(self, c: Children, start: int, end: int) -> ast.Compare:
        """Build a chain of comparisons."""
        ops = tuple(operator(self.text_of(t)) for t in c[1::2])
        return ast.Compare(self.span(start, end), tuple(c[::2]), ops)

    def cond(self, c: Children, start: int, end: int) -> ast.Cond:
        """Build an `if`."""
        return ast.Cond(self.span(start, end), *c)

    def match(self, c: Children, start: int, end: int) -> ast.Match:
        """Build a `match`."""
        return ast.Match(self.span(start, end), c[0], tuple(c[1:]))

    def arm(self, c: Children, start: int, end: int) -> ast.Arm:
        """Build an arm of a `match`."""
        return ast.Arm(self.span(start, end), tuple(c[:-1]), c[-1])

    def pat(self, c: Children, start: int, end: int) -> ast.Pattern:
        """Build one alternative of an arm."""
        span = self.span(start, end)
        if isinstance(c[0], tuple):
            return ast.Pattern(span, path=c[0])
        if isinstance(c[0], str):
            return ast.Pattern(span, number=c[0])
        return ast.Pattern(span)

    def number_pattern(self, c: Children, start: int, end: int) -> str:
        """Return the number of a pattern, its sign included."""
        text = self.number_text(c[1])
        return f"-{text}" if c[0] is not None and self.text_of(c[0]) == "-" else text

    def iterate(self, c: Children, start: int, end: int) -> ast.Iterate:
        """Build a loop."""
        return ast.Iterate(self.span(start, end), *c)

    def attr(self, c: Children, start: int, end: int) -> ast.Attr:
        """Build an attribute."""
        return ast.Attr(self.span(start, end), c[0], c[1])

    def call(self, c: Children, start: int, end: int) -> ast.Call:
        """Build a call."""
        arguments = tuple(a for a in c[1:] if a is not None)
        return ast.Call(self.span(start, end), c[0], arguments)

    def index(self, c: Children, start: int, end: int) -> ast.Index:
        """Build an index."""
        return ast.Index(self.span(start, end), c[0], c[1])

    def with_(self, c: Children, start: int, end: int) -> ast.With:
        """Build an amended copy."""
        return ast.With(self.span(start, end), c[0], c[1])

    def ref(self, c: Children, start: int, end: int) -> ast.Name:
        """Build a name used as an expression."""
        return ast.Name(self.span(start, end), c[0].name)

    def true(self, c: Children, start: int, end: int) -> ast.Bool:
        """Build `true`."""
        return ast.Bool(self.span(start, end), True)

    def false(self, c: Children, start: int, end: int) -> ast.Bool:
        """Build `false`."""
        return ast.Bool(self.span(start, end), False)

    def list(self, c: Children, start: int, end: int) -> ast.ListLit:
        """Build a list."""
        return ast.ListLit(self.span(start, end), tuple(e for e in c if e is not None))

    def list_comprehension(self, c: Children, start: int, end: int) -> ast.Comprehension:
        """Build a list made by generators."""
        generators, condition = c[1]
        return ast.Comprehension(self.span(start, end), c[0], generators, condition, True)

    def arg(self, c: Children, start: int, end: int) -> ast.Argument:
        """Build an argument by position."""
        return ast.Argument(self.span(start, end), None, c[0])

    def named_arg(self, c: Children, start: int, end: int) -> ast.Argument:
        """Build an argument by name."""
        return ast.Argument(self.span(start, end), c[0], c[1])

    def reduced_arg(self, c: Children, start: int, end: int) -> ast.Argument:
        """Build what a reducer goes over."""
        span = self.span(start, end)
        generators, condition = c[1]
        return ast.Argument(span, None, ast.Comprehension(span, c[0], generators, condition, False))

    def gens(
        self, c: Children, start: int, end: int
    ) -> tuple[tuple[ast.Generator, ...], ast.Expr | None]:
        """Return generators and their condition."""
        return tuple(c[:-1]), c[-1]

    def gen(self, c: Children, start: int, end: int) -> ast.Generator:
        """Build a generator."""
        return ast.Generator(self.span(start, end), c[0], c[1])

    # --- types ---------------------------------------------------------------------------

    def type_binary(self, c: Children, start: int, end: int) -> ast.TypeBinary:
        """Build a product or quotient of types."""
        return ast.TypeBinary(self.span(start, end), self.text_of(c[1]), c[0], c[2])

    def type_power(self, c: Children, start: int, end: int) -> ast.TypePower:
        """Build a power of a type."""
        return ast.TypePower(self.span(start, end), c[0], *c[2])

    def texp(self, c: Children, start: int, end: int) -> tuple[int, int]:
        """Return an exponent as numerator and denominator."""
        return self.signed(c[0], c[1]), 1

    def texp_ratio(self, c: Children, start: int, end: int) -> tuple[int, int]:
        """Return a fraction as numerator and denominator."""
        sign, top, bar, bottom = c
        if self.text_of(bar) != "/":
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

    def type_name(self, c: Children, start: int, end: int) -> ast.TypeName:
        """Build a named type."""
        return ast.TypeName(self.span(start, end), c[0])

    def type_one(self, c: Children, start: int, end: int) -> ast.TypeOne:
        """Build the 1 of `1 / time`."""
        self.only_one(c[0], "a type")
        return ast.TypeOne(self.span(start, end))

    def type_list(self, c: Children, start: int, end: int) -> ast.TypeList:
        """Build a list type."""
        return ast.TypeList(self.span(start, end), c[0])

    def type_ref(self, c: Children, start: int, end: int) -> ast.TypeRef:
        """Build a reference type."""
        return ast.TypeRef(self.span(start, end), c[0])


class Builder(ExpressionBuilder):
    """Builds members and items too, and messages with the help of `parse_hole`."""

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
        self.inner_heights: dict[int, int] = {}

    def doc(self, start: int) -> str:
        """Return the doc comment before what starts there."""
        return self.docs.get(start, "")

    def start(self, c: Children, start: int, end: int) -> tuple[Any, ...]:
        """Return the items of a file, without what `edition` left."""
        return tuple(item for item in c if item is not None)

    def edition(self, c: Children, start: int, end: int) -> None:
        """Note the edition."""
        text = self.text_of(c[0])
        known = ", ".join(str(e) for e in EDITIONS)
        if text.isdigit() and len(text) < 9 and int(text) in EDITIONS:
            self.edition_found = int(text)
        else:
            self.error(
                "unknown-edition",
                f"this compiler does not know edition {text[:20]}",
                self.at(c[0]),
                f"it knows {known}: write `edition {EDITIONS[-1]}`",
            )
            self.edition_found = EDITIONS[-1]

    def lone(self, c: Children, start: int, end: int) -> ast.Expr:
        """Pass a lone expression up."""
        expr: ast.Expr = c[0]
        return expr

    lone_unit = lone

    def interp(self, c: Children, start: int, end: int) -> ast.Hole:
        """Build what stands in the braces of a message."""
        return ast.Hole(self.span(start, end), c[0], c[1])

    def template(self, token: Token | None, owner: int) -> ast.Template | None:
        """Build a message from its literal; `owner` is where the rule starts."""
        if token is None:
            return None
        template, height = self.template_parts(token, self.parse_hole)
        self.inner_heights[owner] = max(self.inner_heights.get(owner, 0), height)
        return template

    # --- members -------------------------------------------------------------------------

    def rblock(self, c: Children, start: int, end: int) -> tuple[Any, ...]:
        """Return the members of a block."""
        return tuple(c)

    eblock = cblock = dblock = iblock = fblock = dimvars = fparams = rblock

    def field(self, c: Children, start: int, end: int) -> ast.Field:
        """Build a field."""
        name, kind, default = c
        return ast.Field(self.span(start, end), name, kind, default, self.doc(start))

    def assign(self, c: Children, start: int, end: int) -> ast.Assign:
        """Build an assignment."""
        return ast.Assign(self.span(start, end), *c)

    def unknown(self, c: Children, start: int, end: int) -> ast.Unknown:
        """Build the value of a field that is not known."""
        return ast.Unknown(self.span(start, end), self.string(c[0]))

    def amend(self, c: Children, start: int, end: int) -> ast.Amend:
        """Build the amendment of a part."""
        return ast.Amend(self.span(start, end), *c)

    def let(self, c: Children, start: int, end: int) -> ast.Let:
        """Build a `let`."""
        name, kind, value = c
        return ast.Let(self.span(start, end), name, kind, value, self.doc(start))

    def rule(self, c: Children, start: int, end: int) -> ast.Rule:
        """Build a `require` or `warn`."""
        word, name, condition, message, remedy = c
        return ast.Rule(
            self.span(start, end),
            name,
            self.text_of(word) == "warn",
            condition,
            self.template(message, start),
            self.template(remedy, start),
            self.doc(start),
        )

    def source(self, c: Children, start: int, end: int) -> ast.SourceNote:
        """Build a note of where something comes from."""
        return ast.SourceNote(self.span(start, end), self.string(c[0]))

    def cited(self, c: Children, start: int, end: int) -> ast.SourceNote:
        """Build a claim's source and how sure it is."""
        return ast.SourceNote(self.span(start, end), self.string(c[0]), c[1])

    def allow(self, c: Children, start: int, end: int) -> ast.Allow:
        """Build a waiver."""
        return ast.Allow(self.span(start, end), c[0], self.string(c[1]))

    def part(self, c: Children, start: int, end: int) -> ast.Part:
        """Build a component or part."""
        kind, name, count, base, members = c
        made = ast.Ident(self.at(kind), self.text_of(kind))
        return ast.Part(
            self.span(start, end), made, name, count, base, members or (), self.doc(start)
        )

    def fparam(self, c: Children, start: int, end: int) -> ast.Parameter:
        """Build a parameter of a function."""
        known, name, kind, default = c
        return ast.Parameter(self.span(start, end), name, kind, default, known is not None)

    def fn(self, c: Children, start: int, end: int) -> ast.Fn:
        """Build a function."""
        name, dims, parameters, result, body = c
        *lets, value = body if isinstance(body, tuple) else (body,)
        return ast.Fn(
            self.span(start, end),
            name,
            dims or (),
            parameters or (),
            result,
            tuple(lets),
            value,
            self.doc(start),
        )

    def state(self, c: Children, start: int, end: int) -> ast.State:
        """Build a state of a loop."""
        return ast.State(self.span(start, end), *c)

    def next(self, c: Children, start: int, end: int) -> ast.Next:
        """Build a state's next value."""
        return ast.Next(self.span(start, end), *c)

    def until(self, c: Children, start: int, end: int) -> ast.Until:
        """Build the end of a loop."""
        return ast.Until(self.span(start, end), *c)

    def param(self, c: Children, start: int, end: int) -> ast.Param:
        """Build a param of an evaluator."""
        name, kind, default, bounds, chance = c
        if isinstance(chance, ast.Call):
            place = chance.function.span
            even = ast.Argument(place, None, ast.Name(place, ast.CHANCE))
            chance = evolve(chance, arguments=(even, *chance.arguments))
        return ast.Param(
            self.span(start, end), name, kind, default, bounds, chance, self.doc(start)
        )

    def choice(self, c: Children, start: int, end: int) -> ast.Choice:
        """Build a choice of an evaluator."""
        name, kind, among, default = c
        return ast.Choice(self.span(start, end), name, kind, among, default, self.doc(start))

    def output(self, c: Children, start: int, end: int) -> ast.Output:
        """Build an output of an evaluator."""
        name, what, value = c
        unit = what if isinstance(what, ast.UnitExpr) else None
        kind = what if unit is None else None
        return ast.Output(self.span(start, end), name, unit, kind, value, self.doc(start))

    def expect(self, c: Children, start: int, end: int) -> ast.Expect:
        """Build an expectation of a claim."""
        status, condition, tolerance, missed = c
        width, mode = tolerance or (None, "")
        word = self.text_of(status) if status is not None else ""
        why = self.string(missed) if missed is not None else None
        return ast.Expect(self.span(start, end), condition, width, mode, word, why)

    def tolerance(self, c: Children, start: int, end: int) -> tuple[ast.Expr, str]:
        """Return a tolerance and how it is meant."""
        return c[0], self.text_of(c[1]) if c[1] is not None else ""

    def factor(self, c: Children, start: int, end: int) -> tuple[ast.Expr, str]:
        """Return a tolerance that is a factor."""
        return ast.Number(self.at(c[0]), self.number_text(c[0])), "factor"

    def assume(self, c: Children, start: int, end: int) -> ast.Assume:
        """Build an assumption of a claim."""
        return ast.Assume(self.span(start, end), self.string(c[0]))

    # --- items ---------------------------------------------------------------------------

    def use(self, c: Children, start: int, end: int) -> ast.Use:
        """Build an import."""
        what, alias, names = c
        path, file = (what, None) if isinstance(what, tuple) else ((), self.string(what))
        return ast.Use(self.span(start, end), path, file, alias, names)

    def dimension(self, c: Children, start: int, end: int) -> ast.Dimension:
        """Build a dimension."""
        return ast.Dimension(self.span(start, end), c[0], self.doc(start))

    def unit(self, c: Children, start: int, end: int) -> ast.UnitDecl:
        """Build a unit defined by others."""
        name, value, offset, prefixes = c
        span = self.span(start, end)
        return ast.UnitDecl(span, name, value, None, offset, prefixes or (), self.doc(start))

    def base_unit(self, c: Children, start: int, end: int) -> ast.UnitDecl:
        """Build the unit of a base dimension."""
        name, kind, prefixes = c
        span = self.span(start, end)
        return ast.UnitDecl(span, name, None, kind, None, prefixes or (), self.doc(start))

    def type_alias(self, c: Children, start: int, end: int) -> ast.TypeAlias:
        """Build a type's other name."""
        name, kind = c
        return ast.TypeAlias(self.span(start, end), name, kind, self.doc(start))

    def enum(self, c: Children, start: int, end: int) -> ast.Enum:
        """Build an enum."""
        return ast.Enum(self.span(start, end), c[0], tuple(c[1:]), self.doc(start))

    def kind(self, c: Children, start: int, end: int) -> ast.Kind:
        """Build a kind."""
        name, base, members = c
        return ast.Kind(self.span(start, end), name, base, members, self.doc(start))

    def evaluator(self, c: Children, start: int, end: int) -> ast.Evaluator:
        """Build an evaluator."""
        name, members = c
        return ast.Evaluator(self.span(start, end), name, members, self.doc(start))

    def claim(self, c: Children, start: int, end: int) -> ast.Claim:
        """Build a claim."""
        name, members = c
        return ast.Claim(self.span(start, end), name, members, self.doc(start))

    def calibrated(self, c: Children, start: int, end: int) -> ast.Calibrated:
        """Build a fitted coefficient."""
        name, kind, value, bounds, data = c
        span, doc = self.span(start, end), self.doc(start)
        return ast.Calibrated(span, name, kind, value, bounds, self.string(data), doc)

    def display(self, c: Children, start: int, end: int) -> ast.Display:
        """Build a table or figure."""
        form, name, settings = c
        return ast.Display(
            self.span(start, end), self.text_of(form), name, settings, self.doc(start)
        )
