"""The line joiner: drops the line ends that do not end a statement.

A line end goes inside `(` and `[`, after a token that cannot end a statement and before one that
cannot start one. A bracket left open is closed where a line clearly starts a declaration, so that a
missing `)` cannot swallow the file.
"""

from attrs import field, frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax.kinds import BROKEN, END, MAX_ERRORS
from hwdsl.syntax.tokens import Token

_OPERATORS = frozenset(
    ("ADD", "MUL", "FLOORDIV", "POW", "CMP", "RANGE", "DOT", "EQUAL", "ARROW", "VBAR", "TILDE")
)
_WORDS = frozenset(["AND", "OR", "THEN", "ELSE", "IN", "WITH", "WITHIN"])
_AFTER = _OPERATORS | _WORDS | frozenset(["COLON", "COMMA", "LBRACE", "DARROW", "NOT"])
_BEFORE = _OPERATORS | _WORDS
_BEFORE_TEXT = frozenset(("HELP", "MISSED"))  # with a text behind them: else names

_OPENING = {"LPAR": "(", "LSQB": "[", "LBRACE": "{"}
_CLOSING = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
_MEMBERS = frozenset(
    ("PARAM", "CHOICE", "OUTPUT", "REQUIRE", "WARN", "TYPE", "UNIT", "STATE", "NEXT", "EXPECT")
)
_ITEMS = frozenset(
    ["EVALUATOR", "CLAIM", "KIND", "ENUM", "DIMENSION", "USE", "CALIBRATED", "EXTERN", "REFERENCE"]
)
_NOTES = frozenset(["SOURCE", "ASSUME"])


@frozen
class Joined:
    """The tokens left, and the ranges inside brackets that were reported as unclosed."""

    tokens: list[Token]
    unclosed: list[tuple[int, int]] = field(factory=list)


class _Joiner:
    """Goes through the tokens once; see `join`."""

    def __init__(self, source: Source, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.source = source
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.out: list[Token] = []
        self.open: list[Token] = []
        self.citing: set[int] = (
            set()
        )  # where the `(` of citations stand, which may be named `source`
        self.claims: set[int] = set()  # where the `{` of claims stand
        self.braces = 0
        self.unclosed: list[tuple[int, int]] = []

    def run(self) -> None:
        """Fill `out`."""
        i = 0
        while i < len(self.tokens):
            token = self.tokens[i]
            i += 1
            if token.type == "_NL":
                while self.tokens[i].type == "_NL":
                    i += 1
                self.line_end(token, i)
                continue
            if token.type in _OPENING:
                if token.type == "LPAR" and self.out and self.out[-1].type == "SOURCE":
                    self.citing.add(token.start_pos)
                elif len(self.out) > 1 and self.out[-2].type == "CLAIM":
                    self.claims.add(token.start_pos)
                self.open.append(token)
                self.braces += token.type == "LBRACE"
            elif token.type in _CLOSING:
                self.close(token)
            elif token.type == END and self.open:
                self.give_up(0, token.start_pos)
            token.depth = self.braces
            self.out.append(token)

    def line_end(self, token: Token, following: int) -> None:
        """Keep or drop a line end, given the index of the token after it."""
        # An item in the first column closes all brackets, even braces: what was left open above
        # costs one error, and the rest of the file is read.
        if self.open and self.starts_item(following):
            self.give_up(0, token.start_pos)
            token.type = BROKEN
        elif self.open and self.open[-1].type != "LBRACE":
            # Inside `(` or `[` a line that declares something gives up the brackets of its block.
            if not self.starts_declaration(following):
                return
            keep = len(self.open)
            while keep and self.open[keep - 1].type != "LBRACE":
                keep -= 1
            self.give_up(keep, token.start_pos)
            token.type = BROKEN
        elif self.unfinished(following) or self.continues(following):
            return
        token.depth = self.braces
        self.out.append(token)

    def close(self, token: Token) -> None:
        """Take back the opening bracket that a closing one belongs to, if there is one."""
        wanted = _CLOSING[token.type]
        at = len(self.open) - 1
        while at >= 0 and self.open[at].type != wanted:
            # A `)` does not reach out of its block: it is left to the parser as a stray one.
            if self.open[at].type == "LBRACE":
                return
            at -= 1
        if at < 0:
            return
        if at + 1 < len(self.open):
            self.give_up(at + 1, token.start_pos)
        self.open.pop()
        self.braces -= wanted == "LBRACE"

    def give_up(self, keep: int, end: int) -> None:
        """Report the innermost bracket open and forget those beyond the first `keep`."""
        token = self.open[-1]
        sign = _OPENING[token.type]
        partner = {"(": ")", "[": "]", "{": "}"}[sign]
        line = self.source.position(end)[0]
        if len(self.unclosed) < MAX_ERRORS:
            self.diagnostics.error(
                "unclosed-bracket",
                f"this `{sign}` is never closed",
                Span(self.source, token.start_pos, token.end_pos),
                "opened here",
                help=f"add the missing `{partner}`; it was looked for up to line {line}",
            )
        for gone in self.open[keep:]:
            self.braces -= gone.type == "LBRACE"
        # The parser is silent in this range: what it finds there follows from the bracket.
        brackets = [t for t in self.open[keep:] if t.type != "LBRACE"]
        start = brackets[0].start_pos if brackets else end
        self.unclosed.append((start, end))
        del self.open[keep:]

    def kinds(self, at: int) -> tuple[str, str]:
        """Return the kinds of the token at an index and of the one after it."""
        first = self.tokens[at].type
        return first, self.tokens[at + 1].type if first != END else END

    def unfinished(self, following: int) -> bool:
        """Whether the line before goes on: not where a declaration follows an operator."""
        before = self.out[-1].type if self.out else END
        if before in ("LBRACE", "COMMA"):
            return True
        return before in _AFTER and not self.starts_declaration(following)

    def continues(self, at: int) -> bool:
        """Whether the line starting with the token at an index continues the one before."""
        first, second = self.kinds(at)
        if first == "ELSE" or first == "ADD":  # an arm's pattern starts a statement
            after = self.kinds(at + 1)[1] if first == "ADD" else second
            return after not in ("DARROW", "VBAR")
        if first == "CONFIDENCE":
            return second == "NAME" and bool(self.out) and self.out[-1].type == "STRING"
        if first == "BASELINE":  # elsewhere a name, with which no line of a claim begins
            return bool(self.open) and self.open[-1].start_pos in self.claims
        return first in _BEFORE or (first in _BEFORE_TEXT and second == "STRING")

    def starts_declaration(self, at: int) -> bool:
        """Whether a line inside brackets can only be a declaration of its own."""
        first, second = self.kinds(at)
        if first in ("LET", "FN"):
            return True
        if first in _NOTES:
            if self.open and self.open[-1].start_pos in self.citing:
                return False
            return second in ("STRING", "NAME")
        # With a name behind it: nearly all these words may be names themselves.
        return first in _MEMBERS | _ITEMS and second == "NAME"

    def starts_item(self, at: int) -> bool:
        """Whether a line can only be an item of the file: such a word in the first column."""
        first, second = self.kinds(at)
        start = self.tokens[at].start_pos
        first_column = start == 0 or self.source.text[start - 1] == "\n"
        return first in _ITEMS and second == "NAME" and first_column


def join(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> Joined:
    """Return the tokens without the line ends that end no statement, with their depths set."""
    joiner = _Joiner(source, tokens, diagnostics)
    joiner.run()
    return Joined(joiner.out, joiner.unclosed)
