"""What the parser expected, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from hwdsl.base.diagnostics import closest
from hwdsl.base.source import Source
from hwdsl.syntax.grammar import keywords, signs, soft_kinds
from hwdsl.syntax.kinds import END

if TYPE_CHECKING:
    from hwdsl.syntax.tokens import Token

_SIGNS = {
    "_NL": "the end of the line",
    END: "the end of the text",
    "CMP": "a comparison",
    "ADD": "`+` or `-`",
    "MUL": "`*` or `/`",
    "STRING": "a text in quotes",
    "NUMBER": "a number",
    "QUANTITY": "a number with its unit",
    "NAME": "a name",
}
# Kinds that say nothing where the others stand: they would only make the list long.
_HIDDEN = frozenset(("BADNUM", "FLOORDIV"))
_EXPRESSION = frozenset(("QUANTITY", "NUMBER", "STRING", "NAME", "LPAR", "LSQB", "TRUE"))
_STARTS = frozenset(("ADD", "NOT", "FALSE", "IF", "MATCH", "ITERATE"))
_CONTINUES = frozenset(
    ("CMP", "ADD", "MUL", "POW", "RANGE", "AND", "OR", "DOT", "LPAR", "LSQB", "WITH", "IF", "FOR")
)
# Of a longer list nobody reads the end; words for whole groups (`an expression`) come behind it.
_MOST = 6


def unexpected(token: Token, kinds: set[str], source: Source) -> tuple[str, str | None]:
    """Return the message and the remedy for a token that is of none of the kinds expected."""
    words = _described(kinds)
    if not words:
        return f"unexpected {_found(token)}", "remove it"
    *most, last = words
    wanted = f"{', '.join(most)} or {last}" if most else last
    return f"expected {wanted}, found {_found(token)}", _remedy(token, source)


def _found(token: Token) -> str:
    """Name a token as it is written."""
    if token.type in ("_NL", END):
        return _SIGNS[token.type]
    shown = token if len(token) <= 30 else token[:27] + "..."
    return f"the word `{shown}`" if token.type in _keyword_kinds() else f"`{shown}`"


def _remedy(token: Token, source: Source) -> str | None:
    """Return what to do where the token alone tells."""
    power = power_help(token) if token.type == "NAME" else None
    if power is not None and source.text[: token.start_pos].rstrip()[-1:].isdigit():
        return power
    if token.type in ("RPAR", "RSQB", "RBRACE"):
        return f"remove the `{token}`, or add what is missing before it"
    if token.type == "EQUAL":
        return "`==` compares; `=` only defines"
    if token.type in ("IF", "MATCH", "ITERATE"):
        return f"put the `{token}` in parentheses, or name it with `let` before"
    if token.type in _keyword_kinds() and token.type not in soft_kinds():
        return f"`{token}` is a word of the language and cannot be a name"
    return None


def suggest_keyword(token: Token, text: str, kinds: set[str], first: str) -> str | None:
    """Return what to do if a word of the language is misspelt at a token or before it.

    `kinds` may stand where the token does; `first` is the first word of its line.
    """
    # `1 .. 3 : 0.5` is how other languages write a range with a step.
    if token.type == "COLON" and text[: token.start_pos].rstrip()[-1:].isdigit():
        return "a range has two ends; how many points it has is said where it is swept"
    spelt = {kind: word for word, kind in keywords().items()}
    if token.type == "NAME":
        here = close(token, [spelt[k] for k in kinds if k in spelt])
        if here is not None:
            return f"did you mean `{here}`?"
    *introducing, before = ["", *text[: token.start_pos].split()][-2:]
    named = introducing in (["source"], ["confidence"])  # `before` is a name there, not a word
    for word in (
        *([] if named else [before]),
        *([] if _defines(text, token.start_pos) else [first]),
    ):
        if word.isidentifier() and word not in keywords():
            known = close(word, keywords())
            if known is not None:
                return f"did you mean `{known}` for `{word}`?"
    return None


def _defines(text: str, at: int) -> bool:
    """Whether the line on which a character stands begins `name =` or `name :`."""
    return _DEFINITION.match(text, text.rfind("\n", 0, at) + 1) is not None


def suggest_block_keyword(word: str) -> str | None:
    """Return what to do about a word that resembles one with which a block begins."""
    found = None if word in keywords() else close(word, _BLOCKS)
    return None if found is None else f"did you mean `{found}` for `{word}`?"


def close(word: str, known: Iterable[str]) -> str | None:
    """Return the word of the language that one must have been meant for, if there is one."""
    return closest(word, known, 0.75) if len(word) > 1 else None


_DEFINITION = re.compile(r"[ \t]*\w+[ \t]*[=:]")
_BLOCKS = ("claim", "enum", "evaluator", "figure", "iterate", "kind", "match", "table")


def power_help(text: str) -> str | None:
    """What to say of a unit with a power run together: `cm2` for `cm^2`."""
    unit = text.rstrip("0123456789")
    power = text[len(unit) :]
    return f"a power is written `{unit}^{power}`" if power and unit.isalpha() else None


@cache
def _keyword_kinds() -> frozenset[str]:
    """Return the kinds of all keywords."""
    return frozenset(keywords().values())


def _described(kinds: set[str]) -> list[str]:
    """Return what may stand at a place in words, the most telling first."""
    left = set(kinds) - _HIDDEN
    words: list[str] = []
    if left >= _EXPRESSION:
        words.append("an expression")
        left -= _EXPRESSION | soft_kinds() | _STARTS
    elif "LET" in left and len(left) > 8:
        words.append("a declaration")
        left -= soft_kinds() | frozenset(("LET", "FN", "NAME", "REF"))
    elif "NAME" in left:
        words.append("a name")
        left -= soft_kinds() | {"NAME"}
    if left >= {"ADD", "MUL", "CMP"}:
        words.append("an operator")
        left -= _CONTINUES
    spelt = {kind: text for text, kind in {**signs(), **keywords()}.items()}
    more = [_SIGNS.get(k) or f"`{spelt.get(k, k.lower())}`" for k in sorted(left)]
    return list(dict.fromkeys([*more[:_MOST], *words]))
