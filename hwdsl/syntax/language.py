"""Lark told what to call: our lexer, the rules for line ends and what builds the tree.

Lark is told once, and a text may be read within another: what is read now stands in `NOW`.
"""

from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import Protocol

from lark import Lark

from hwdsl.syntax.build import Builder
from hwdsl.syntax.grammar import load
from hwdsl.syntax.lexer import TextLexer
from hwdsl.syntax.reductions import reductions
from hwdsl.syntax.tokens import Token


class Reader(Protocol):
    """What is read: it finishes the tokens, and has what builds the tree."""

    builder: Builder

    def feed(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens from where the parser is to go on."""


NOW: ContextVar[Reader] = ContextVar("NOW")


class LineEnds:
    """Lark's `postlex`: the tokens after all that is done to them before they are parsed."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens from where the parser is to go on."""
        return NOW.get().feed(stream)


@cache
def language() -> Lark:
    """Return the parser of the language."""
    return load(
        {
            "transformer": reductions(NOW),
            "postlex": LineEnds(),
            "_plugins": {"BasicLexer": TextLexer},
        }
    )
