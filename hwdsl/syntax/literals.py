"""Literals: numbers, quantities, units, texts and messages, checked as they are read."""

import math
import re
from collections.abc import Callable, Sequence

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.habits import grouped_help
from hwdsl.syntax.text import pieces
from hwdsl.syntax.tokens import Built, Token

# Later stages read literals exactly, as rationals: these bounds keep that quick.
MAX_DIGITS = 400
MAX_POWER = 99
_NUMBER = re.compile(r"(?:[0-9._]|[eE](?=[0-9+-])|(?<=[eE])[+-])*")
_FACTOR = re.compile(r"([*/]?)([^*/^]+)(?:\^([^*/]*))?")


class Literals:
    """The part of the builder that reads literals, with what all parts need."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source_text = source.text
        self.origin = source
        self.diagnostics = diagnostics

    def span(self, start: int, end: int) -> Span:
        """Return a span of this source."""
        return Span(self.origin, start, end)

    def at(self, token: Token) -> Span:
        """Return a token's place."""
        return Span(self.origin, token.start_pos, token.end_pos)

    def short(self, node: ast.Node) -> str:
        """Return a node's text if it is short, else dots."""
        text = node.span.text
        return text if len(text) <= 30 and "\n" not in text else "…"

    def error(self, name: str, message: str, span: Span, remedy: str) -> None:
        """Report an error."""
        self.diagnostics.error(name, message, span, help=remedy)

    # --- numbers -------------------------------------------------------------------------

    def number_text(self, token: Token) -> str:
        """Return a number's text, or `0` after reporting one that no float64 can hold."""
        return self.checked(str(token), self.at(token))

    def checked(self, text: str, span: Span) -> str:
        """Return a number's text unless it is out of range."""
        mantissa, _, exponent = text.replace("_", "").lower().partition("e")
        too_long = len(mantissa) > MAX_DIGITS or len(exponent) > 5
        value = math.inf if too_long else float(text)
        # Not 0 as written, but 0 as a float64: 1e-400.
        lost = value == 0 and any(c in "123456789" for c in mantissa)
        if math.isinf(value) or lost:
            shown = text if len(text) <= 20 else f"{text[:17]}..."
            self.error(
                "bad-number",
                f"the number {shown} is out of range",
                span,
                "numbers have up to 400 digits and lie between 1e-308 and 1e308",
            )
            return "0"
        return text

    def bad_number(self, span: Span, token: Token) -> ast.Number:
        """Report a number run together with letters; the checker knows the place as misread."""
        text = str(token)
        size = _length(text)
        front, back = text[:size].rstrip("_"), text[size:]
        shown = text if len(text) <= 30 else f"{text[:27]}..."
        message = f"`{shown}` is not a number"
        if front == "0" and back[:1] in ("x", "X", "b", "B", "o", "O"):
            remedy = "write numbers in decimal digits"
        elif back[:1].isalpha() and "_" not in back:
            message = f"`{shown}` lacks the blank between a number and its unit"
            remedy = f"write `{front} {back}`; a product needs `*`"
        elif "," in text:
            remedy = grouped_help(text)
        elif "_" in text:
            remedy = "an underscore stands between two digits"
        else:
            remedy = "write one number, with one point"
        self.error("bad-number", message, span, remedy)
        return ast.Number(span, "0")

    def quantity(self, span: Span, token: Token) -> ast.Quantity:
        """Build a number with its unit."""
        text, start = str(token), span.start
        size = _length(text)
        digits = self.checked(text[:size], self.span(start, start + size))
        blanks = len(text[size:]) - len(text[size:].lstrip())
        return ast.Quantity(span, digits, self.tight_unit(text, start, size + blanks))

    def tight_unit(self, text: str, start: int, at: int) -> ast.UnitExpr:
        """Build the unit that fills `text` from `at`; `start` is the text's own offset."""
        factors = []
        for found in _FACTOR.finditer(text, at):
            sign, name, power = found.groups()
            number = 1
            if power is not None:
                at_power = self.span(start + found.start(3), start + found.end(3))
                number = self.bounded(power, at_power)
            place = self.span(start + found.start(2), start + found.end())
            factors.append(ast.UnitFactor(place, name, -number if sign == "/" else number))
        return ast.UnitExpr(self.span(start + at, start + len(text)), tuple(factors))

    def bounded(self, text: str, span: Span) -> int:
        """Return a small integer, or 1 after reporting that it is none."""
        digits = text.removeprefix("-")
        if digits.isdigit() and len(digits) <= 2:
            return int(text)
        self.error(
            "bad-number",
            f"the exponent {text[:20]} must be an integer of up to {MAX_POWER}",
            span,
            "write a small integer, or a fraction in parentheses in a type",
        )
        return 1

    def signed(self, sign: Token | None, token: Token) -> int:
        """Return an integer exponent with its sign."""
        value = self.bounded(str(token), self.at(token))
        return -value if sign is not None and sign == "-" else value

    def only_one(self, token: Token, where: str) -> None:
        """Report a number other than 1 where only that makes sense."""
        if str(token) != "1":
            self.error(
                "syntax-error",
                f"the only number in {where} is 1, as in `1 / ...`",
                self.at(token),
                "write 1, or a name",
            )

    # --- units ---------------------------------------------------------------------------

    def unit_expr(
        self, span: Span, children: Sequence[ast.UnitFactor | Token | None]
    ) -> ast.UnitExpr:
        """Build a unit of several factors, folding `/` into their powers."""
        factors: list[ast.UnitFactor] = []
        sign = 1
        for child in children:
            if isinstance(child, Token):
                sign = -1 if child == "/" else 1
            elif child is not None:
                factors.append(ast.UnitFactor(child.span, child.name, sign * child.power))
        return ast.UnitExpr(span, tuple(factors))

    def ufactor(
        self, span: Span, head: ast.Ident | Token, sign: Token | None, power: Token | None
    ) -> ast.UnitFactor:
        """Build a unit with its power."""
        name = head.name if isinstance(head, ast.Ident) else "%"
        return ast.UnitFactor(span, name, 1 if power is None else self.signed(sign, power))

    def unit_one(self, span: Span, number: Token) -> None:
        """Read the 1 of `1/s`, which stands for no factor."""
        self.only_one(number, "a unit")

    # --- texts ---------------------------------------------------------------------------

    def inside(self, token: Token) -> tuple[int, int]:
        """Return where a text's inside starts and ends."""
        quote = self.source_text[token.start_pos]
        closed = (
            token.end_pos - token.start_pos > 1 and self.source_text[token.end_pos - 1] == quote
        )
        return token.start_pos + 1, token.end_pos - 1 if closed else token.end_pos

    def string(self, token: Token) -> str:
        """Return what a text stands for, reporting unknown escapes."""
        start, end = self.inside(token)
        raw = self.source_text[start:end]
        if "\\" not in raw:
            return raw
        read = list(pieces(raw))
        for offset, character, _ in read:
            if not character:
                self.bad_escape(start + offset)
        return "".join(character for _, character, _ in read)

    def bad_escape(self, at: int) -> None:
        """Report a backslash before something it does not escape."""
        self.error(
            "syntax-error",
            f"`{self.source_text[at : at + 2]}` is not an escape",
            self.span(at, at + 2),
            'the escapes are `\\"`, `\\\\`, `\\n` and `\\t`',
        )

    def template_parts(
        self, token: Token, parse_hole: Callable[[int, int], Built | None]
    ) -> tuple[ast.Template, int]:
        """Build a message; also return the height of its highest hole."""
        start, end = self.inside(token)
        parts: list[str | ast.Hole] = []
        literal: list[str] = []
        height = skip = 0
        raw = self.source_text[start:end]
        for offset, character, escaped in pieces(raw):
            if offset < skip:
                continue
            pair = raw[offset : offset + 2]
            if escaped and not character:
                self.bad_escape(start + offset)
            elif escaped or character not in "{}":
                literal.append(character)
            elif pair in ("{{", "}}"):
                literal.append(character)
                skip = offset + 2
            elif character == "}" or (close := raw.find("}", offset)) < 0:
                self.error(
                    "syntax-error",
                    f"a single `{character}` in a message",
                    self.span(start + offset, start + offset + 1),
                    f"write `{character * 2}` for the sign itself; a value stands in `{{...}}`",
                )
            else:
                skip = close + 1
                hole = parse_hole(start + offset + 1, start + close)
                if hole is not None:
                    if literal:
                        parts.append("".join(literal))
                        literal.clear()
                    parts.append(hole.value)
                    height = max(height, hole.height)
        if literal:
            parts.append("".join(literal))
        return ast.Template(self.at(token), tuple(parts)), height


def _length(text: str) -> int:
    """How many characters at the start of a text belong to its number."""
    found = _NUMBER.match(text)
    return 0 if found is None else found.end()
