"""Text to tokens: the terminals of the grammar, comments set aside, bad characters named.

Lark's lexer has the patterns and tells keywords from names. Its own loop is replaced: it stops at
the first bad character and counts lines and columns, and takes six times as long.
"""

from collections.abc import Iterator

from attrs import define, field
from lark import TextSlice
from lark.lexer import BasicLexer, LexerState

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.habits import OPERATORS, is_comment, report_operator
from hwdsl.syntax.kinds import BROKEN, END, MAX_ERRORS
from hwdsl.syntax.tokens import Token, new_token

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


@define
class LexedText:
    """A stretch of a source to be read, and what its comments say once it is lexed.

    `docs` maps the start of a token to the text of the `##` comments on the lines before it.
    """

    source: Source
    diagnostics: Diagnostics
    start: int
    end: int
    comments: list[ast.Comment] = field(factory=list)
    docs: dict[int, str] = field(factory=dict)
    module_doc: list[str] = field(factory=list)


class TextLexer(BasicLexer):
    """Lark's lexer for a `LexedText`: it reports what begins no token and goes on."""

    def lex(self, state: LexerState, parser_state: object) -> Iterator[Token]:
        """Yield the tokens of the text; the last one is `END`."""
        text: LexedText = state.text  # type: ignore[assignment]  # what `Lark.parse` was given
        yield from _Walk(self, text).run()


class _Walk:
    """Walks through a text once."""

    def __init__(self, lexer: TextLexer, text: LexedText) -> None:
        self.match = lexer.scanner.match
        self.ignored = lexer.ignore_types
        self.retype = lexer.callback  # of names: a keyword is one of another kind
        self.slice = TextSlice(text.source.text, text.start, text.end)
        self.source = text.source
        self.diagnostics = text.diagnostics
        self.comments = text.comments
        self.docs = text.docs
        self.module_doc = text.module_doc
        self.tokens: list[Token] = []
        self.waiting: list[str] = []
        self.comments_elsewhere: list[int] = []
        self.semicolons: list[int] = []
        self.errors = 0

    def run(self) -> list[Token]:
        """Return the tokens."""
        match, retype, ignored, tokens = self.match, self.retype, self.ignored, self.tokens
        text, start, end = self.slice.text, self.slice.start, self.slice.end
        kinds: dict[str, str] = {}  # of the names met: most come again
        # Editors put a byte order mark at the start of a file; anywhere else it is an error.
        at = start + (text.startswith("\ufeff", start) and start == 0)
        while at < end:
            matched = match(self.slice, at)
            if matched is None:
                at = self.unknown(at, end)
                continue
            value, kind = matched
            stop = at + len(value)
            if kind in ignored:
                if kind == "COMMENT":
                    self.comment(at, value)
            elif kind == "FLOORDIV" and is_comment(text, at, self.at_start()):
                stop = self.slashes(at, end)
            else:
                if self.waiting and kind != "_NL":
                    self.docs[at] = "\n".join(self.waiting)
                    self.waiting.clear()
                found = Token(kind, value, at, None, None, None, None, stop)
                if kind in retype:
                    if value not in kinds:
                        kinds[value] = retype[kind](found).type
                    found.type = kinds[value]
                tokens.append(found)
            at = stop
        tokens.append(new_token(END, text, end, end))
        remedy = "begin a comment with `#`, or with `##` if it documents what follows"
        self.report_habit(self.comments_elsewhere, "//", "begins no comment", remedy)
        remedy = "end a statement with a new line"
        self.report_habit(self.semicolons, ";", "ends no statement here", remedy)
        return tokens

    def at_start(self) -> bool:
        """Whether nothing stands on the line yet."""
        return not self.tokens or self.tokens[-1].type == "_NL"

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
            self.tokens.append(new_token("STRING", text, at, stop))
            return stop
        if text[at] == "'" and (stop := self.quoted(at, end)):
            return stop
        stop = at + 1
        # Bad characters in a row are one error. A quote ends the row: a text is read from there.
        while stop < end and text[stop] != '"' and self.match(self.slice, stop) is None:
            stop += 1
        found = text[at:stop]
        if found in OPERATORS:
            report_operator(self.source, at, stop, self.diagnostics)
            self.tokens.append(new_token(OPERATORS[found][1], text, at, stop))
            return stop
        if set(found) == {";"}:
            self.semicolons.append(at)
            # As a line end it lets the next statement be read without errors of its own.
            self.tokens.append(new_token("_NL", text, at, stop))
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
        self.tokens.append(new_token(BROKEN, text, at, stop))
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
        self.tokens.append(new_token("STRING", self.source.text, at, stop))
        return stop

    def report(self, name: str, message: str, start: int, end: int, remedy: str) -> None:
        """Report an error, unless very many have been."""
        self.errors += 1
        if self.errors <= MAX_ERRORS:
            span = Span(self.source, start, end)
            self.diagnostics.error(name, message, span, help=remedy)
