"""The tree where a rule takes more than to fill the fields of a node; see `reductions`."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.habits import operator
from hwdsl.syntax.literals import Literals
from hwdsl.syntax.tokens import Built, Token

EDITIONS = (2026,)

ParseHole = Callable[[int, int], Built | None]
Generators = tuple[tuple[ast.Generator, ...], ast.Expr | None]  # and their condition


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
            chance = replace(chance, arguments=(even, *chance.arguments))
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
