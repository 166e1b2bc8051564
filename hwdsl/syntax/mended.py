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
from hwdsl.syntax.tokens import Token

_PAIRS = {  # signs that the lexer reads as two tokens: the kinds of these
    "**": ("MUL", "MUL"), "||": ("VBAR", "VBAR"), "<>": ("CMP", "CMP"),
    "===": ("CMP", "EQUAL"), "!==": ("CMP", "EQUAL"),
}  # fmt: skip

_LETTERS = frozenset(["f", "r", "b", "u", "rb", "br", "rf", "fr"])
_SUSPECT = re.compile(
    r'\b[a-zA-Z]{1,2}"|=[ \t]*[\w.]*[ \t]*\{|\w[ \t]*:[ \t]*(?:[0-9"]|true\b|false\b)'
)
"""What a text has that may need to be read as something else; most have none of it."""


def mended(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens, those of other languages as they are written here."""
    return _joined(source, _plain(source, tokens, diagnostics), diagnostics)


def _plain(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens without letters before texts and with the signs of components."""
    text = source.text
    if not _SUSPECT.search(text):
        return tokens
    out: list[Token] = []
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind in OPEN:
            open_.append(at)
        elif token.kind in CLOSE:
            del open_[-1:]
        slip = _letter(text, tokens, at) or _component(text, tokens, at)
        if slip is None and open_ and token.kind == "COLON":
            slip = _field(text, tokens, at, open_[-1])
        if slip is None:
            out.append(token)
            continue
        span = Span(source, slip.start, slip.end)
        diagnostics.error("foreign-syntax", slip.message, span, help=slip.help)
        if token.kind != "NAME":
            sign = "EQUAL" if token.kind == "COLON" else "COLON"
            if tokens[at + 1].kind != "LBRACE":
                out.append(Token(sign, token.start, token.end))
    return out


def _letter(text: str, tokens: list[Token], at: int) -> Slip | None:
    """Explain letters that stand before a text."""
    token, after = tokens[at], tokens[min(at + 1, len(tokens) - 1)]
    letters = text[token.start : token.end]
    if (token.kind, after.kind) != ("NAME", "STRING") or token.end != after.start:
        return None
    if letters.lower() not in _LETTERS or tokens[max(at - 1, 0)].kind in ("ALLOW", "DOT"):
        return None
    remedy = "leave it out: messages of rules take values in braces, as in `{size in GB}`"
    return Slip(f"`{letters}` before a text means nothing", token.start, token.end, remedy)


def _component(text: str, tokens: list[Token], at: int) -> Slip | None:
    """Explain `memory hbm = { … }` and `memory hbm = base { … }`."""
    if tokens[at].kind != "EQUAL" or at < 2 or not _begins(tokens, at - 2):
        return None
    if (tokens[at - 2].kind, tokens[at - 1].kind) != ("NAME", "NAME"):
        return None
    kind, name = (text[t.start : t.end] for t in tokens[at - 2 : at])
    last = at + 1
    while tokens[last].kind in ("NAME", "DOT"):
        last += 1
    if tokens[last].kind != "LBRACE" or foreign_start(kind):
        return None
    base = "".join(text[t.start : t.end] for t in tokens[at + 1 : last])
    shown = f"{kind} {name} : {base} {{ … }}" if base else f"{kind} {name} {{ … }}"
    return Slip(
        "a component is declared without `=`", tokens[at].start, tokens[at].end, f"write `{shown}`"
    )


def _field(text: str, tokens: list[Token], at: int, block: int) -> Slip | None:
    """Explain `rate : 3 TB/s` in a component, whose kind says the type; `block` is its brace."""
    if tokens[at + 1].kind not in VALUES:
        return None
    name, value = (text[t.start : t.end] for t in (tokens[at - 1], tokens[at + 1]))
    if value == "1" or not name.isidentifier():  # 1 is the type of pure numbers
        return None
    if not _begins(tokens, at - 1) or not _of_component(tokens, block):
        return None
    return Slip("`:` gives no value", tokens[at].start, tokens[at].end, f"write `{name} = {value}`")


def _begins(tokens: list[Token], at: int) -> bool:
    """Whether a token begins a statement."""
    return at == 0 or tokens[at - 1].kind in ("_NL", "LBRACE", "COMMA")


def _of_component(tokens: list[Token], block: int) -> bool:
    """Whether a brace opens the block of a component, or one behind `with`."""
    if tokens[block].kind != "LBRACE" or tokens[block - 1].kind == "WITH":
        return tokens[block].kind == "LBRACE"
    first = statement(tokens, block)
    return [t.kind for t in tokens[first : first + 2]] == ["NAME", "NAME"]


def _joined(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens, those of other languages' operators and numbers put together."""
    text = source.text
    signs = [s for s in _PAIRS if s in text]
    thousands = any(m.group().find(",0") > 0 for m in THOUSANDS.finditer(text))
    if not signs and not thousands:
        return tokens
    out: list[Token] = []
    for token in tokens:
        before = out[-1] if out else None
        if before is not None and before.end == token.start:
            sign = text[before.start : token.end]
            if sign in signs and (before.kind, token.kind) == _PAIRS[sign]:
                out[-1] = Token(OPERATORS[sign][1], before.start, token.end)
                report_operator(source, before.start, token.end, diagnostics)
                continue
            if thousands and before.kind == "COMMA" and len(out) > 1:
                first = grouped(text, out[-2], token)
                if first is not None and text[token.start] == "0":
                    del out[-2:]
                    token = Token("BADNUM", first, token.end)
        out.append(token)
    return out
