"""Lark told what to call: our lexer, the rules for line ends and what builds the tree."""

from collections.abc import Iterator
from functools import cache

from lark import Lark

from hwdsl.syntax.grammar import load
from hwdsl.syntax.lexer import TextLexer
from hwdsl.syntax.reductions import NOW, reductions
from hwdsl.syntax.tokens import Token


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
            "transformer": reductions(),
            "postlex": LineEnds(),
            "_plugins": {"BasicLexer": TextLexer},
        }
    )
