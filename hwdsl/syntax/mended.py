"""Tokens of other languages as they are written here.

Where it is clear what is meant, the error is reported and the tokens are replaced, so that the rest
of the statement is read, and what reads it has no errors of its own.
"""

import re

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax.habits import (
    CLOSE,
    OPEN,
    OPERATORS,
    THOUSANDS,
    VALUES,
    Slip,
    foreign_start,
    grouped,
    report_operator,
    statement,
)
from hwdsl.syntax.tokens import Token, new_token

_PAIRS = {  # signs that the lexer reads as two tokens: the kinds of these
    "**": ("MUL", "MUL"), "||": ("VBAR", "VBAR"), "<>": ("CMP", "CMP"),
    "===": ("CMP", "EQUAL"), "!==": ("CMP", "EQUAL"),
}  # fmt: skip

_LETTERS = frozenset(["f", "r", "b", "u", "rb", "br", "rf", "fr"])
_SUSPECT = re.compile(
    r'\b[a-zA-Z]{1,2}"|=[ \t]*[\w.]*[ \t]*\{|\w[ \t]*:[ \t]*(?:[0-9"]|true\b|false\b)'
)
"""What a stretch of text has that may need to be read as something else; most have none of it."""


def mended(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens, those of other languages as they are written here."""
    return _joined(source, _plain(source, tokens, diagnostics), diagnostics)


def _plain(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens without letters before texts and with the signs of components."""
    text = source.text
    if not _SUSPECT.search(text, tokens[0].start_pos, tokens[-1].end_pos):
        return tokens
    out: list[Token] = []
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token.type in OPEN:
            open_.append(at)
        elif token.type in CLOSE:
            del open_[-1:]
        slip = _letter(tokens, at) or _component(tokens, at)
        if slip is None and open_ and token.type == "COLON":
            slip = _field(tokens, at, open_[-1])
        if slip is None:
            out.append(token)
            continue
        span = Span(source, slip.start, slip.end)
        diagnostics.error("foreign-syntax", slip.message, span, help=slip.help)
        if token.type != "NAME":
            sign = "EQUAL" if token.type == "COLON" else "COLON"
            if tokens[at + 1].type != "LBRACE":
                out.append(new_token(sign, text, token.start_pos, token.end_pos))
    return out


def _letter(tokens: list[Token], at: int) -> Slip | None:
    """Explain letters that stand before a text."""
    token, after = tokens[at], tokens[min(at + 1, len(tokens) - 1)]
    if (token.type, after.type) != ("NAME", "STRING") or token.end_pos != after.start_pos:
        return None
    if token.lower() not in _LETTERS or tokens[max(at - 1, 0)].type in ("ALLOW", "DOT"):
        return None
    remedy = "leave it out: messages of rules take values in braces, as in `{size in GB}`"
    return Slip.at(token, f"`{token}` before a text means nothing", remedy)


def _component(tokens: list[Token], at: int) -> Slip | None:
    """Explain `memory hbm = { … }` and `memory hbm = base { … }`."""
    if tokens[at].type != "EQUAL" or at < 2 or not _begins(tokens, at - 2):
        return None
    if (tokens[at - 2].type, tokens[at - 1].type) != ("NAME", "NAME"):
        return None
    kind, name = tokens[at - 2 : at]
    last = at + 1
    while tokens[last].type in ("NAME", "DOT"):
        last += 1
    if tokens[last].type != "LBRACE" or foreign_start(kind):
        return None
    base = "".join(tokens[at + 1 : last])
    shown = f"{kind} {name} : {base} {{ … }}" if base else f"{kind} {name} {{ … }}"
    return Slip.at(tokens[at], "a component is declared without `=`", f"write `{shown}`")


def _field(tokens: list[Token], at: int, block: int) -> Slip | None:
    """Explain `rate : 3 TB/s` in a component, whose kind says the type; `block` is its brace."""
    if tokens[at + 1].type not in VALUES:
        return None
    name, value = tokens[at - 1], tokens[at + 1]
    if value == "1" or not name.isidentifier():  # 1 is the type of pure numbers
        return None
    if not _begins(tokens, at - 1) or not _of_component(tokens, block):
        return None
    return Slip.at(tokens[at], "`:` gives no value", f"write `{name} = {value}`")


def _begins(tokens: list[Token], at: int) -> bool:
    """Whether a token begins a statement."""
    return at == 0 or tokens[at - 1].type in ("_NL", "LBRACE", "COMMA")


def _of_component(tokens: list[Token], block: int) -> bool:
    """Whether a brace opens the block of a component, or one behind `with`."""
    if tokens[block].type != "LBRACE" or tokens[block - 1].type == "WITH":
        return tokens[block].type == "LBRACE"
    first = statement(tokens, block)
    return [t.type for t in tokens[first : first + 2]] == ["NAME", "NAME"]


def _joined(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens, those of other languages' operators and numbers put together."""
    text = source.text
    start, end = tokens[0].start_pos, tokens[-1].end_pos
    signs = [s for s in _PAIRS if text.find(s, start, end) >= 0]
    thousands = any(m.group().find(",0") > 0 for m in THOUSANDS.finditer(text, start, end))
    if not signs and not thousands:
        return tokens
    out: list[Token] = []
    for token in tokens:
        before = out[-1] if out else None
        if before is not None and before.end_pos == token.start_pos:
            sign = text[before.start_pos : token.end_pos]
            if sign in signs and (before.type, token.type) == _PAIRS[sign]:
                out[-1] = new_token(OPERATORS[sign][1], text, before.start_pos, token.end_pos)
                report_operator(source, before.start_pos, token.end_pos, diagnostics)
                continue
            if thousands and before.type == "COMMA" and len(out) > 1:
                first = grouped(text, out[-2], token)
                if first is not None and text[token.start_pos] == "0":
                    del out[-2:]
                    token = new_token("BADNUM", text, first, token.end_pos)
        out.append(token)
    return out
