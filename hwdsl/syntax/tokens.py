"""What stands on the parser's stack: tokens as Lark has them, and what was built of some."""

from typing import Any

from attrs import define
from lark import Token as LarkToken


class Token(LarkToken):
    """A terminal, its text and its place. `depth` counts the open braces after it (the joiner's).

    Lines and columns are left out: a `Source` finds them where a message needs them.
    """

    __slots__ = ("depth",)

    start_pos: int
    end_pos: int
    depth: int


def new_token(kind: str, text: str, start: int, end: int) -> Token:
    """Return the token of a kind that fills the characters `start` to `end` of a text."""
    return Token(kind, text[start:end], start, None, None, None, None, end)


@define(eq=False)
class Built:
    """What a rule was reduced to, the characters it fills, and the height of the tree."""

    value: Any
    start_pos: int
    end_pos: int
    height: int
