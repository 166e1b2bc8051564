"""A `{` left out: found by its `}`, which closes nothing, and by how the lines are indented.

Without this the members of the block would be errors each. It does nothing where braces match.
"""

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax.tokens import Token, new_token

_MOST = 10  # each is looked for from the start of the file


def insert_missing(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> list[Token]:
    """Return the tokens, with a `{` at the end of the line that lacks one, which is reported."""
    for _ in range(_MOST):
        stray = _stray(tokens)
        at = None if stray is None else _header(source, tokens, stray)
        if at is None:
            break
        header = tokens[at - 1]
        diagnostics.error(
            "syntax-error",
            "expected `{`, found the end of the line",
            Span(source, header.end_pos, header.end_pos),
            help="write `{` here: the block below ends with `}`",
        )
        brace = new_token("LBRACE", source.text, header.end_pos, header.end_pos)
        tokens = [*tokens[:at], brace, *tokens[at:]]
    return tokens


def _stray(tokens: list[Token]) -> int | None:
    """The index of the first `}` that is one too many."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.type == "LBRACE":
            depth += 1
        elif token.type == "RBRACE":
            depth -= 1
            if depth < 0:
                return i
    return None


def _header(source: Source, tokens: list[Token], stray: int) -> int | None:
    """The index of the line end where a `{` is missing, for the first block not opened.

    That is the line before a deeper one, indented like the first `}` that stands further to the
    right than the line of the brace it would close.
    """
    open_: list[int] = []  # how far the lines of the open braces are indented
    lines: list[tuple[int, int]] = []  # of each line: how far it is indented, where it ends
    start = 0
    for i in range(stray + 1):
        kind = tokens[i].type
        if kind == "_NL":
            if i > start:
                lines.append((_column(source, tokens[start]), i))
            start = i + 1
        elif kind == "LBRACE":
            open_.append(_column(source, tokens[start]))
        elif kind == "RBRACE":
            column = _column(source, tokens[i])
            if i == start and column > (open_[-1] if open_ else -1):
                return _last(tokens, lines, column)
            if open_:
                open_.pop()
    return None


def _last(tokens: list[Token], lines: list[tuple[int, int]], column: int) -> int | None:
    """Where the last line of an indentation ends, if deeper ones follow and it opens nothing."""
    deeper = False
    for indent, end in reversed(lines):
        if indent <= column:
            plain = tokens[end - 1].type in ("NAME", "RSQB")
            return end if deeper and indent == column and plain else None
        deeper = True
    return None


def _column(source: Source, token: Token) -> int:
    """How many characters stand before a token on its line."""
    return token.start_pos - (source.text.rfind("\n", 0, token.start_pos) + 1)
