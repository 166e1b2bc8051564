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

    # --- fields that are a token -----------------------------------------------------------

    def plain(self, token: Token) -> str:
        """Return what a token stands for in a field."""
        if token.type == "STRING":
            return self.string(token)
        return self.number_text(token) if token.type == "NUMBER" else operator(str(token))

    def ident(self, token: Token) -> ast.Ident:
        """Build the name that a token is."""
        return ast.Ident(self.at(token), str(token))

    def template(self, token: Token) -> ast.Template:
        """Build a message from its literal."""
        template, height = self.template_parts(token, self.parse_hole)
        self.inner_height = max(self.inner_height, height)
        return template

    def doc(self, span: Span) -> str:
        """Return the doc comment before what starts there."""
        return self.docs.get(span.start, "")

    # --- expressions ---------------------------------------------------------------------

    def floor_division(self, span: Span, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        """Report `//` and go on as if it were `/`."""
        self.error(
            "floor-division",
            "`//` is not an operator: `/` always divides exactly",
            self.at(op),
            f"write `floor({self.short(left)} / {self.short(right)})`; a comment begins with `#`",
        )
        return ast.Binary(span, "/", left, right, self.at(op))

    def number_pattern(self, span: Span, sign: Token | None, number: Token) -> ast.Pattern:
        """Build the alternative of an arm that is a number, its sign included."""
        text = self.number_text(number)
        return ast.Pattern(span, number=f"-{text}" if sign == "-" else text)

    def ref(self, span: Span, name: ast.Ident) -> ast.Name:
        """Build a name used as an expression."""
        return ast.Name(span, name.name)

    # --- types ---------------------------------------------------------------------------

    def type_power(
        self,
        span: Span,
        base: ast.TypeExpr,
        sign: Token | None,
        top: Token,
        bar: Token | None = None,
        bottom: Token | None = None,
    ) -> ast.TypePower:
        """Build a power of a type; with a `bar`, of a fraction."""
        if bar is not None and bar != "/":
            self.error(
                "syntax-error",
                "an exponent in parentheses is a fraction",
                self.at(bar),
                "write it as `(1/2)`",
            )
        under = 1 if bottom is None else self.signed(None, bottom)
        if bottom is not None and under == 0:
            self.error("bad-number", "this divides by zero", self.at(bottom), "write `(1/2)`")
        return ast.TypePower(span, base, self.signed(sign, top), under or 1)

    def type_one(self, span: Span, number: Token) -> ast.TypeOne:
        """Build the 1 of `1 / time`."""
        self.only_one(number, "a type")
        return ast.TypeOne(span)

    # --- members and items -----------------------------------------------------------------

    def fn(
        self,
        span: Span,
        name: ast.Ident,
        dims: tuple[ast.Ident, ...] | None,
        parameters: tuple[ast.Parameter, ...] | None,
        result: ast.TypeExpr,
        body: Any,
        basis: ast.Basis | None,
    ) -> ast.Fn:
        """Build a function, whose body is an expression or a block that ends with one."""
        *lets, value = body if isinstance(body, tuple) else (body,)
        head = (name, dims or (), parameters or (), result)
        return ast.Fn(span, *head, tuple(lets), value, basis, self.doc(span))

    def drawn(self, span: Span, distribution: ast.Expr) -> ast.Expr:
        """Build a distribution: a call gets the even number that it is given at each draw."""
        if not isinstance(distribution, ast.Call):
            return distribution
        place = distribution.function.span
        # The checker and `elaborate` then treat a distribution as any call of a function.
        even = ast.Argument(place, None, ast.Name(place, ast.CHANCE))
        return replace(distribution, arguments=(even, *distribution.arguments))

    def edition(self, span: Span, number: Token) -> None:
        """Note the edition."""
        text = str(number)
        known = ", ".join(str(e) for e in EDITIONS)
        # The length comes first: Python refuses to read an int of thousands of digits.
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
