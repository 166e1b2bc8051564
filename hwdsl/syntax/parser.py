"""The parser: drives the LALR tables over the joined tokens, building the tree as it reduces.

After an error it goes back to the last place where a member or item could start, skips the rest of
that statement and goes on, so one run reports several errors and keeps what is right. It never
recurses, and refuses trees deeper than `MAX_HEIGHT`, so later stages may recurse.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax.habits import Slip, beside, slip, start_word, statement, without_let
from hwdsl.syntax.joiner import Joined
from hwdsl.syntax.tables import Rule, Tables, load
from hwdsl.syntax.tokens import BROKEN, END, MAX_ERRORS, Token
from hwdsl.syntax.words import describe, meant, misspelt

MAX_HEIGHT = 200

Action = Callable[[list[Any], int, int], Any]


@frozen
class Parsed:
    """What a start symbol was reduced to, and the height of that tree."""

    value: Any
    height: int


class Parser:
    """One run over one stretch of tokens."""

    def __init__(
        self,
        source: Source,
        joined: Joined,
        actions: dict[str, Action],
        diagnostics: Diagnostics,
    ) -> None:
        self.tables: Tables = load()
        self.source = source
        self.tokens = joined.tokens
        self.unclosed = joined.unclosed
        self.actions = actions
        self.diagnostics = diagnostics
        self.errors = 0
        self.deep = False
        self.misspelt: set[int] = set()  # braces behind a misspelt word that was reported
        # Heights of nodes that hold text with expressions of its own, by where they start.
        self.inner_heights: dict[int, int] = {}

    def run(self, start: str) -> Parsed | None:
        """Parse from a start symbol; None if nothing could be made of the tokens."""
        self.states = [self.tables.starts[start]]
        self.values: list[Any] = [None]
        self.begins, self.ends, self.heights, self.depths = [0], [0], [0], [0]
        table, rules, end_state = self.tables.states, self.tables.rules, self.tables.ends[start]
        states, at, tokens = self.states, 0, self.tokens
        while True:
            token = tokens[at]
            code = table[states[-1]].get(token.kind, 0)
            if code > 0:
                states.append(code - 1)
                self.values.append(token)
                self.begins.append(token.start)
                self.ends.append(token.end)
                self.heights.append(0)
                self.depths.append(token.depth)
                at += 1
            elif code < 0:
                rule = rules[-code - 1]
                if rule.renames:
                    states[-1] = table[states[-2]][rule.origin] - 1
                elif not self.reduce(rule, token):
                    resumed = self.recover(at)
                    if resumed is None:
                        return None
                    at = resumed
                elif states[-1] == end_state and token.kind == END:
                    return Parsed(self.values[-1], self.heights[-1])
            else:
                self.report(at)
                resumed = self.recover(at)
                if resumed is None:
                    return None
                at = resumed

    def reduce(self, rule: Rule, token: Token) -> bool:
        """Replace the top symbols by the one of `rule`; False if the tree would get too deep."""
        size = rule.size
        base = len(self.states) - size
        values = self.values
        if rule.expand_one and len(rule.plan) == 1:
            value = values[base + rule.plan[0][0]]
            height = self.heights[base + rule.plan[0][0]]
        else:
            plan = rule.plan
            children: list[Any] = []
            if not rule.action and plan and plan[0][1]:
                # A list grows in place: copying it for each element would be quadratic.
                children, plan = values[base + plan[0][0]], plan[1:]
            for index, inline in plan:
                if index < 0:
                    children.append(None)
                elif inline:
                    children.extend(values[base + index])
                else:
                    children.append(values[base + index])
            height = max(self.heights[base:], default=0)
            if rule.action:
                start = self.begins[base] if size else token.start
                end = self.ends[-1] if size else token.start
                height += 1
                if height > MAX_HEIGHT:
                    self.too_deep(start, end)
                    return False
                value = self.actions[rule.action](children, start, end)
                if rule.action == "rule":
                    height = max(height, self.inner_heights.pop(start, 0) + 1)
            else:
                value = children
        if size:
            depth, start, end = self.depths[-1], self.begins[base], self.ends[-1]
            self.truncate(base)
        else:
            depth, start, end = self.depths[-1], token.start, token.start
        self.states.append(self.tables.states[self.states[-1]][rule.origin] - 1)
        values.append(value)
        self.begins.append(start)
        self.ends.append(end)
        self.heights.append(height)
        self.depths.append(depth)
        return True

    def truncate(self, size: int) -> None:
        """Forget all but the first `size` entries of the stack."""
        del self.states[size:], self.values[size:], self.begins[size:]
        del self.ends[size:], self.heights[size:], self.depths[size:]

    # --- errors ------------------------------------------------------------------------------

    def accepts(self, kind: str) -> bool:
        """Whether a token of this kind could come next, without changing anything."""
        states = self.states[-1:]
        below = len(self.states) - 1  # how much of the real stack lies under `states`
        table = self.tables.states
        while True:
            code = table[states[-1]].get(kind, 0)
            if code >= 0:
                return code > 0
            rule = self.tables.rules[-code - 1]
            for _ in range(rule.size):
                states.pop()
                if not states:
                    below -= 1
                    states.append(self.states[below])
            goto = table[states[-1]].get(rule.origin)
            if goto is None:
                return False
            states.append(goto - 1)
            if kind == END and states[-1] in self.tables.ends.values():
                return True

    def report(self, at: int) -> None:
        """Say what was expected instead of a token, unless its place was reported already."""
        token = self.tokens[at]
        self.errors += 1
        if token.kind == BROKEN or self.errors > MAX_ERRORS:
            return
        if any(start <= token.start <= end for start, end in self.unclosed):
            return
        wanted = [k for k in self.tables.states[self.states[-1]] if k.isupper()]
        kinds = {k for k in [*wanted, END] if self.accepts(k)}
        block = self.foreign_block() or self.misspelt_block()
        if block is not None:
            if block[0].start in self.misspelt:
                return  # all inside it follows from that
            self.misspelt.add(block[0].start)
        found = block[1] if block is not None else slip(self.source, self.tokens, at, kinds)
        if isinstance(found, Slip):
            span = Span(self.source, found.start, found.end)
            self.diagnostics.error(found.name, found.message, span, help=found.help)
            return
        message, remedy = describe(kinds).message(token, self.source)
        first = self.first_word(token.start)
        help = found or self.without_let(at) or meant(token, self.source.text, kinds, first)
        help = help or remedy or beside(self.tokens, at, kinds)
        end = token.start if token.kind == "_NL" else token.end
        span = Span(self.source, token.start, end)
        self.diagnostics.error("syntax-error", message, span, help=help)

    def without_let(self, at: int) -> str | None:
        """What to do if a `let` is missing at the start of the statement that a token is in."""
        level = self.resume_level(len(self.states))
        if level is None or self.depths[level] != self.tokens[at].depth:
            return None
        return without_let(self.source.text, self.tokens, at)

    def foreign_block(self) -> tuple[Token, Slip] | None:
        """The outermost open brace behind a word that starts a block in other languages."""
        for value in self.values:
            if isinstance(value, Token) and value.kind == "LBRACE":
                at = statement(self.tokens, self.tokens.index(value))
                found = start_word(self.source.text, self.tokens, at)
                if found is not None:
                    return value, found
        return None

    def misspelt_block(self) -> tuple[Token, str] | None:
        """The innermost open brace, with what to do if the word before it is misspelt."""
        for value in reversed(self.values):
            if isinstance(value, Token) and value.kind == "LBRACE":
                remedy = misspelt(self.first_word(value.start))
                return None if remedy is None else (value, remedy)
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

    def recover(self, at: int) -> int | None:
        """Go back to where a statement could start; return the index of the token to go on with."""
        level = self.resume_level(len(self.states))
        if level is None:
            return None
        while True:
            token = self.tokens[at]
            if token.kind == END:
                while self.depths[level] > 0 or not self.fits(END, level):
                    outer = self.resume_level(level)
                    if outer is None:
                        return None
                    level = outer
                self.truncate(level + 1)
                return at
            if token.kind in ("_NL", BROKEN) and token.depth <= self.depths[level]:
                if token.kind == BROKEN and not self.line_ends(at):
                    at += 1
                    continue
                while token.depth < self.depths[level]:
                    outer = self.resume_level(level)
                    if outer is None:
                        return None
                    level = outer
                if self.tokens[at + 1].kind != "RBRACE" or self.fits("RBRACE", level):
                    self.truncate(level + 1)
                    return at + 1
            if token.kind == "RBRACE" and token.depth < self.depths[level]:
                if self.fits("RBRACE", level):
                    self.truncate(level + 1)
                    return at
                while self.depths[level] > token.depth:
                    outer = self.resume_level(level)
                    if outer is None:
                        return None
                    level = outer
            at += 1

    def line_ends(self, at: int) -> bool:
        """Whether a broken token stands for a line end."""
        return self.source.text.startswith(("\n", "\r"), self.tokens[at].start)

    def fits(self, kind: str, level: int) -> bool:
        """Whether a token of this kind could come next if the stack were cut to a level."""
        saved = self.states
        self.states = saved[: level + 1]
        fits = self.accepts(kind)
        self.states = saved
        return fits

    def resume_level(self, below: int) -> int | None:
        """Return the highest stack index under `below` where a statement could start."""
        table = self.tables.states
        for level in range(below - 1, -1, -1):
            if table[self.states[level]].get("LET", 0) > 0:
                return level
        return None
