"""Lark's stack after an error: where a statement could start, and what could come next there."""

from copy import copy
from typing import Any

from lark import Tree
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser

from hwdsl.syntax.tokens import Token, new_token


class Stack:
    """The stack of a parser that stopped. Level 0 is its start; a level's symbol leads to it."""

    def __init__(self, parser: InteractiveParser) -> None:
        self.parser = parser
        self.states: list[Any] = parser.parser_state.state_stack
        self.values: list[Any] = parser.parser_state.value_stack

    @property
    def height(self) -> int:
        """The number of levels."""
        return len(self.states)

    def resume(self, below: int) -> int | None:
        """Return the highest level under `below` where a statement could start."""
        table = self.parser.parser_state.parse_conf.states
        for level in range(below - 1, -1, -1):
            # Every block of statements and the file itself take a `let`; an enum, a `match` and the
            # settings of a table do not, and are given up together with what holds them.
            action = table[self.states[level]].get("LET")
            if action is not None and action[0] is Shift:
                return level
        return None

    def outside(self, level: int, depth: int) -> int | None:
        """Return the highest level from `level` down, in at most `depth` braces, to resume at."""
        found: int | None = level
        while found is not None and self.depth(found) > depth:
            found = self.resume(found)
        return found

    def depth(self, level: int) -> int:
        """Count the open braces at a level where a statement could start."""
        if level == 0:
            return 0
        value = self.values[level - 1]
        while isinstance(value, Tree):  # of a list of statements: its last token separates two
            value = value.children[-1]
        depth: int = value.depth
        return depth

    def fits(self, kind: str, level: int) -> bool:
        """Whether a token of this kind could come next if the stack were cut to a level.

        This is what `InteractiveParser.accepts` finds, of one kind instead of all.
        """
        probe = self.parser.copy(deepcopy_values=False)  # type: ignore[no-untyped-call]
        state = probe.parser_state
        del state.state_stack[level + 1 :], state.value_stack[level:]
        # Without callbacks nothing is built: a probe must report no errors.
        state.parse_conf = copy(state.parse_conf)
        state.parse_conf.callbacks = {}
        try:
            probe.feed_token(new_token(kind, "", 0, 0))
        except UnexpectedToken:
            return False
        return True

    def cut(self, level: int | None, at: int) -> int | None:
        """Forget what stands above a level, and return `at`; None if there is no level."""
        if level is None:
            return None
        del self.states[level + 1 :], self.values[level:]
        return at

    def braces(self) -> list[Token]:
        """The open braces, the outermost first: the blocks they begin are not reduced."""
        return [v for v in self.values if isinstance(v, Token) and v.type == "LBRACE"]
