"""What to write for a `source` or an `assume` in which a token stands that may not follow."""

from __future__ import annotations

from hwdsl.syntax.kinds import BROKEN
from hwdsl.syntax.tokens import Token

_CLAUSES = ("SOURCE", "ASSUME")
_ONE = 'one `source` or `assume` ends a declaration; of several sources: `source (a "where", b)`'


def clause_help(tokens: list[Token], at: int) -> str | None:
    """Return how the clause is written that a token is in; None if it is in none."""
    token, first = tokens[at], at
    while first > 0 and tokens[first - 1].type not in ("_NL", "LBRACE", BROKEN):
        first -= 1
    if token.type == "STRING" and tokens[at - 1].split()[-1:] == ["from"]:
        return 'where a number is from: `source "…"`'
    begins = [i for i in range(first, at) if tokens[i].type in _CLAUSES]
    if not begins:
        return None
    if token.type in _CLAUSES:
        return _ONE
    inside = _in_assumption if tokens[begins[-1]].type == "ASSUME" else _in_source
    return inside(tokens, begins[-1], at)


def _in_assumption(tokens: list[Token], clause: int, at: int) -> str | None:
    if tokens[at].type == "CONFIDENCE":
        return "leave `confidence` out: that of an assumption is low"
    return 'an assumption is one text: `assume "why"`' if at == clause + 1 else None


def _in_source(tokens: list[Token], clause: int, at: int) -> str | None:
    token, before = tokens[at], tokens[at - 1]
    if token.type == "EQUAL":
        return "a `source` stands behind the value: `= 4 GB source name`"
    if token.type == "STRING" and tokens[at - 2].type == "CONFIDENCE":
        return 'a text stands before `confidence`: `source name "where"`'
    if token.type == "CONFIDENCE" and before.type == "RPAR":
        return "each citation in parentheses has a `confidence` of its own"
    if token.isidentifier() and before.type == "STRING" and at == clause + 2:
        return 'a name stands before the text: `source name "where"`'
    between = [tokens[i].type for i in range(clause + 1, at)]
    if "LPAR" not in between and "COMMA" in between[-2:]:  # it began another member of the block
        return _ONE
    return None
