"""Text to tokens: the terminals of the grammar, comments set aside, bad characters named."""

import re
from functools import cache

from attrs import field, frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.habits import OPERATORS, is_comment, report_operator
from hwdsl.syntax.mended import mended
from hwdsl.syntax.tables import load
from hwdsl.syntax.tokens import BROKEN, END, MAX_ERRORS, Token

_SUGGESTIONS = {
    "µ": "write the prefix micro as `u`, as in `us`",
    "μ": "write the prefix micro as `u`, as in `us`",
    "°": "write degrees Celsius as `degC`",
    "×": "write `*` for a product",
    "·": "write `*` for a product",
    "÷": "write `/` for a quotient",
    "−": "write `-` for minus",
    "–": "write `-` for minus",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "→": "write `->`",
    "“": 'text stands between plain quotes: `"`',
    "”": 'text stands between plain quotes: `"`',
    "'": 'text stands between double quotes: `"`',
    "²": "write a power as `^2`",
    "³": "write a power as `^3`",
    "?": "write `if c then a else b` for `c ? a : b`",
    "Ω": "write the unit's name in plain letters",
    "\t": None,
    "\r": "lines end with a line feed, or a carriage return and a line feed",
    "\x00": "a .hw file is UTF-8 text",
}


@frozen
class Lexed:
    """A file's tokens (line ends among them) and what its comments say.

    `docs` maps the start of a token to the text of the `##` comments on the lines before it.
    """

    tokens: list[Token]
    comments: tuple[ast.Comment, ...] = ()
    docs: dict[int, str] = field(factory=dict)
    module_doc: str = ""


@cache
def _scanner() -> re.Pattern[str]:
    """Return the pattern of all terminals but keywords."""
    return load().lexer()


class _Lexer:
    """Walks through a text once; see `lex`."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self.tokens: list[Token] = []
        self.comments: list[ast.Comment] = []
        self.docs: dict[int, str] = {}
        self.module_doc: list[str] = []
        self.waiting: list[str] = []
        self.comments_elsewhere: list[int] = []
        self.semicolons: list[int] = []
        self.errors = 0

    def run(self, start: int, end: int) -> None:
        """Lex the characters `start` to `end`."""
        text, match, keywords = self.source.text, _scanner().match, load().keywords
        tokens = self.tokens
        at = start + (text.startswith("\ufeff", start) and start == 0)
        while at < end:
            found = match(text, at, end)
            if found is None:
                at = self.unknown(at, end)
                continue
            kind, stop = str(found.lastgroup), found.end()
            if kind == "NAME":
                kind = keywords.get(found.group(), "NAME")
            if kind == "COMMENT":
                self.comment(at, found.group())
            elif kind == "FLOORDIV" and is_comment(text, at, self.at_start()):
                stop = self.slashes(at, end)
            elif kind != "WS":
                if self.waiting and kind != "_NL":
                    self.docs[at] = "\n".join(self.waiting)
                    self.waiting.clear()
                tokens.append(Token(kind, at, stop))
            at = stop
        tokens.append(Token(END, end, end))
        remedy = "begin a comment with `#`, or with `##` if it documents what follows"
        self.report_habit(self.comments_elsewhere, "//", "begins no comment", remedy)
        remedy = "end a statement with a new line"
        self.report_habit(self.semicolons, ";", "ends no statement here", remedy)

    def at_start(self) -> bool:
        """Whether nothing stands on the line yet."""
        return not self.tokens or self.tokens[-1].kind == "_NL"

    def slashes(self, at: int, end: int) -> int:
        """Pass over a comment that begins with `//`; return where it ends."""
        stop = self.source.text.find("\n", at, end)
        self.comments_elsewhere.append(at)
        return stop if stop >= 0 else end

    def report_habit(self, places: list[int], sign: str, what: str, remedy: str) -> None:
        """Report a sign of other languages once, however many lines have it."""
        if places:
            more = len(places) - 1
            also = f", as on {more} more line{'s' * (more > 1)} below" if more else ""
            start = places[0]
            self.report(
                "foreign-syntax", f"`{sign}` {what}{also}", start, start + len(sign), remedy
            )

    def comment(self, at: int, text: str) -> None:
        """Set a comment aside, as documentation where it is that."""
        text = text.rstrip()
        own_line = self.at_start()
        self.comments.append(ast.Comment(at, text, own_line))
        if own_line and text.startswith("##"):
            self.waiting.append(text[2:].removeprefix(" "))
        elif own_line and text.startswith("#!"):
            self.module_doc.append(text[2:].removeprefix(" "))

    def unknown(self, at: int, end: int) -> int:
        """Report what begins no token; return where to go on."""
        text = self.source.text
        if text[at] == '"':
            stop = min(i for i in (text.find("\n", at, end), end) if i >= 0)
            self.report(
                "unterminated-text",
                "this text has no closing quote on its line",
                at,
                stop,
                'close it with `"`; a quote inside a text is written `\\"`',
            )
            self.tokens.append(Token("STRING", at, stop))
            return stop
        if text[at] == "'" and (stop := self.quoted(at, end)):
            return stop
        stop, match = at + 1, _scanner().match
        while stop < end and text[stop] != '"' and match(text, stop, end) is None:
            stop += 1
        found = text[at:stop]
        if found in OPERATORS:
            report_operator(self.source, at, stop, self.diagnostics)
            self.tokens.append(Token(OPERATORS[found][1], at, stop))
            return stop
        if set(found) == {";"}:
            self.semicolons.append(at)
            self.tokens.append(Token("_NL", at, stop))
            return stop
        first = text[at]
        shown = f"`{first}`" if first.isprintable() else f"U+{ord(first):04X}"
        more = f" (and {stop - at - 1} more)" if stop - at > 1 else ""
        self.report(
            "unknown-character",
            f"the character {shown}{more} means nothing here",
            at,
            stop,
            _SUGGESTIONS.get(first) or "remove it, or put it in a text or a comment",
        )
        self.tokens.append(Token(BROKEN, at, stop))
        return stop

    def quoted(self, at: int, end: int) -> int:
        """Read a text in single quotes as one, after reporting it; 0 if it has no end."""
        stop = self.source.text.find("'", at + 1, end) + 1
        inside = self.source.text[at + 1 : stop - 1]
        if not stop or "\n" in inside:
            return 0
        shown = inside if len(inside) <= 40 and inside.isprintable() else "…"
        remedy = f'write `"{shown}"`' if '"' not in inside else _SUGGESTIONS["'"]
        self.report("foreign-syntax", "a text stands between double quotes", at, stop, remedy or "")
        self.tokens.append(Token("STRING", at, stop))
        return stop

    def report(self, name: str, message: str, start: int, end: int, remedy: str) -> None:
        """Report an error, unless very many have been."""
        self.errors += 1
        if self.errors <= MAX_ERRORS:
            span = Span(self.source, start, end)
            self.diagnostics.error(name, message, span, help=remedy)


def lex(source: Source, diagnostics: Diagnostics, start: int = 0, end: int | None = None) -> Lexed:
    """Return the tokens of a source, or of a stretch of it; the last one is `END`."""
    lexer = _Lexer(source, diagnostics)
    lexer.run(start, len(source.text) if end is None else end)
    tokens = mended(source, lexer.tokens, diagnostics)
    return Lexed(tokens, tuple(lexer.comments), lexer.docs, "\n".join(lexer.module_doc))
