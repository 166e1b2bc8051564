"""The parser: Lark's, with the rules for line ends before it and recovery from errors behind it.

Lark's own loop takes the tokens and calls what builds the tree (`build`). At an error it calls
`Reading.on_error`, which goes back to the last place where a member or item could start, skips the
rest of that statement and lets Lark go on, so one run reports several errors and keeps what is
right. Nothing recurses, and trees deeper than `MAX_HEIGHT` are refused, so later stages
may recurse.
"""

from collections.abc import Iterator
from typing import Any

from lark.exceptions import UnexpectedInput, UnexpectedToken

from hwdsl.base.source import Span
from hwdsl.syntax.brace_recovery import insert_missing
from hwdsl.syntax.build import Builder
from hwdsl.syntax.clause_help import clause_help
from hwdsl.syntax.expected_tokens import suggest_block_keyword, suggest_keyword, unexpected
from hwdsl.syntax.habits import Slip, beside, slip, start_word, statement, without_let
from hwdsl.syntax.kinds import BROKEN, END, MAX_ERRORS, MAX_HEIGHT
from hwdsl.syntax.language import language
from hwdsl.syntax.lexer import LexedText
from hwdsl.syntax.line_joining import join
from hwdsl.syntax.mended import mended
from hwdsl.syntax.reductions import NOW, TooDeep
from hwdsl.syntax.stack import Stack
from hwdsl.syntax.tokens import Built, Token


class Reading:
    """One run over one stretch of text."""

    def __init__(self, text: LexedText, builder: Builder, whole: bool = False) -> None:
        self.text = text
        self.builder = builder
        self.whole = whole  # a file, which has blocks
        self.source = text.source
        self.diagnostics = text.diagnostics
        self.tokens: list[Token] = []
        self.unclosed: list[tuple[int, int]] = []
        self.following = 0  # the index of the token after the one that Lark is at
        self.errors = 0
        self.deep = False
        self.misspelt: set[int] = set()  # braces behind a misspelt word that was reported

    def run(self, start: str) -> Built | None:
        """Parse from a start symbol; None if nothing could be made of the tokens."""
        before = NOW.set(self)
        try:
            made: Any = language().parse(self.text, start, self.on_error)
        except UnexpectedInput:  # reported, and there is nowhere to go on
            return None
        finally:
            NOW.reset(before)
        return made if isinstance(made, Built) else None

    def feed(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens, after an error those from where to go on; Lark adds the end itself."""
        # Lark asks again after each error; the text is lexed once.
        if not self.tokens:
            tokens = mended(self.source, list(stream), self.diagnostics)
            if self.whole:
                tokens = insert_missing(self.source, tokens, self.diagnostics)
            joined = join(self.source, tokens, self.diagnostics)
            self.tokens, self.unclosed = joined.tokens, joined.unclosed
        last = len(self.tokens) - 1
        while self.following < last:
            self.following += 1
            yield self.tokens[self.following - 1]
        self.following = last + 1

    # --- errors ------------------------------------------------------------------------------

    def on_error(self, error: UnexpectedInput) -> bool:
        """Report an error and go back to where a statement could start; False if there is none."""
        at, stack = self.following - 1, Stack(error.interactive_parser)
        if isinstance(error, TooDeep):
            self.too_deep(error.start, error.end)
        elif isinstance(error, UnexpectedToken):
            self.report(at, stack, error)
        resumed = self.recover(at, stack)
        if resumed is None:
            return False
        self.following = resumed
        return True

    def report(self, at: int, stack: Stack, error: UnexpectedToken) -> None:
        """Say what was expected instead of a token, unless its place was reported already."""
        token = self.tokens[at]
        self.errors += 1
        if token.type == BROKEN or self.errors > MAX_ERRORS:
            return
        if any(start <= token.start_pos <= end for start, end in self.unclosed):
            return
        kinds = error.accepts
        block = self.foreign_block(stack) or self.misspelt_block(stack)
        if block is not None:
            if block[0].start_pos in self.misspelt:
                return  # all inside it follows from that
            self.misspelt.add(block[0].start_pos)
        found = block[1] if block is not None else slip(self.source, self.tokens, at, kinds)
        if isinstance(found, Slip):
            span = Span(self.source, found.start, found.end)
            self.diagnostics.error(found.name, found.message, span, help=found.help)
            return
        message, remedy = unexpected(token, kinds, self.source)
        first = self.first_word(token.start_pos)
        help = found or self.without_let(at, stack)
        help = help or clause_help(self.tokens, at)
        help = help or suggest_keyword(token, self.source.text, kinds, first)
        help = help or remedy or beside(self.tokens, at, kinds)
        end = token.start_pos if token.type == "_NL" else token.end_pos
        span = Span(self.source, token.start_pos, end)
        self.diagnostics.error("syntax-error", message, span, help=help)

    def without_let(self, at: int, stack: Stack) -> str | None:
        """What to do if a `let` is missing at the start of the statement that a token is in."""
        level = stack.resume(stack.height)
        if level is None or stack.depth(level) != self.tokens[at].depth:
            return None
        return without_let(self.tokens, at)

    def foreign_block(self, stack: Stack) -> tuple[Token, Slip] | None:
        """The outermost open brace behind a word that starts a block in other languages."""
        for brace in stack.braces():
            # Tokens of one text are equal, so `index` would find the first brace of all.
            at = next(i for i, token in enumerate(self.tokens) if token is brace)
            found = start_word(self.tokens, statement(self.tokens, at))
            if found is not None:
                return brace, found
        return None

    def misspelt_block(self, stack: Stack) -> tuple[Token, str] | None:
        """The innermost open brace, with what to do if the word before it is misspelt."""
        for brace in stack.braces()[-1:]:
            remedy = suggest_block_keyword(self.first_word(brace.start_pos))
            return None if remedy is None else (brace, remedy)
        return None

    def first_word(self, at: int) -> str:
        """The first word of the line on which a character stands."""
        text = self.source.text
        line = text[text.rfind("\n", 0, at) + 1 : at].split()
        return line[0] if line else ""

    def too_deep(self, start: int, end: int) -> None:
        """Report a tree of too many levels."""
        self.errors += 1
        if not self.deep:  # one that is very deep is too deep many times over
            self.deep = True
            self.diagnostics.error(
                "too-deep",
                f"this is nested more than {MAX_HEIGHT} levels deep",
                Span(self.source, start, end),
                help="name parts of it with `let`, or use a list and `sum`, `max` or the like",
            )

    def recover(self, at: int, stack: Stack) -> int | None:
        """Go back to where a statement could start; return the index of the token to go on with."""
        level = stack.resume(stack.height)
        while level is not None:
            token = self.tokens[at]
            # At the end of the text go out of all blocks, to where the text may end.
            if token.type == END:
                while level is not None and (stack.depth(level) > 0 or not stack.fits(END, level)):
                    level = stack.resume(level)
                return stack.cut(level, at)
            # Deeper line ends stand in blocks of the broken statement, and are skipped with it.
            if self.ends_line(at) and token.depth <= stack.depth(level):
                level = stack.outside(level, token.depth)
                follows = self.tokens[at + 1].type
                if level is None or follows != "RBRACE" or stack.fits("RBRACE", level):
                    return stack.cut(level, at + 1)
            elif token.type == "RBRACE" and token.depth < stack.depth(level):
                if stack.fits("RBRACE", level):
                    return stack.cut(level, at)
                level = stack.outside(level, token.depth)
            at += 1
        return None

    def ends_line(self, at: int) -> bool:
        """Whether a token stands for a line end: a broken one may."""
        token = self.tokens[at]
        if token.type == BROKEN:
            return self.source.text.startswith(("\n", "\r"), token.start_pos)
        return token.type == "_NL"
