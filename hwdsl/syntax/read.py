"""From a file or text to a tree: what the rest of the compiler calls."""

from functools import cache
from pathlib import Path
from typing import Any

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import LARGEST_FILE, Source, Span, read_bytes
from hwdsl.syntax import ast
from hwdsl.syntax.braces import with_missing
from hwdsl.syntax.build import EDITIONS, Builder
from hwdsl.syntax.joiner import join
from hwdsl.syntax.lexer import lex
from hwdsl.syntax.parser import Action, Parsed, Parser
from hwdsl.syntax.tables import load


def parse(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """Return the tree of a file: all items that parsed. Errors are in `diagnostics`."""
    lexed = lex(source, diagnostics)
    builder = Builder(source, diagnostics, lexed.docs, _hole_parser(source, diagnostics))
    tokens = with_missing(source, lexed.tokens, diagnostics)
    parser = Parser(source, join(source, tokens, diagnostics), actions(builder), diagnostics)
    parser.inner_heights = builder.inner_heights
    parsed = parser.run("start")
    if builder.edition_found is None and source.text.strip() and not parser.errors:
        diagnostics.warning(
            "missing-edition",
            "the file does not say which edition of the language it is written in",
            Span(source, 0, 0),
            help=f"start it with `edition {EDITIONS[-1]}`",
        )
    items = parsed.value if parsed is not None else ()
    if not items and not diagnostics.failed:
        diagnostics.warning(
            "empty-file",
            "this file declares nothing",
            Span(source, 0, 0),
            help="see the tutorial for what to write, or `hwdsl new`",
        )
    return ast.Module(source, builder.edition_found, items, lexed.comments, lexed.module_doc)


def parse_expression(source: Source, diagnostics: Diagnostics) -> ast.Expr | None:
    """Return the tree of a single expression, or None after reporting why there is none."""
    value: ast.Expr | None = _parse_whole(source, diagnostics, "lone")
    return value


def parse_unit(source: Source, diagnostics: Diagnostics) -> ast.UnitExpr | None:
    """Return the tree of a unit as it stands after `in`, such as `USD/Mtoken` or `%`."""
    value: ast.UnitExpr | None = _parse_whole(source, diagnostics, "lone_unit")
    return value


def read_source(
    path: Path | str, diagnostics: Diagnostics, name: str | None = None
) -> Source | None:
    """Return a file's text, or None after reporting that it is no UTF-8 text.

    What is no regular file or too large raises OSError: the caller knows why it was wanted.
    """
    shown = str(path) if name is None else name
    data = read_bytes(Path(path), LARGEST_FILE)
    try:
        return Source(shown, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        source = Source(shown, good)
        diagnostics.error(
            "not-utf8",
            f"byte {error.start + 1} of this file (hex {data[error.start]:02X}) is not UTF-8",
            Span(source, len(good), len(good)),
            help="save the file in the encoding UTF-8",
        )
        return None


def actions(builder: Builder) -> dict[str, Action]:
    """Return the builder's method for every rule of the grammar."""
    return {name: getattr(builder, name) for name in _action_names()}


@cache
def _action_names() -> tuple[str, ...]:
    """Return the rules that need a method: those that do more than pass one child up."""
    made = {r.action for r in load().rules if not (r.expand_one and len(r.plan) == 1)}
    return tuple(sorted(made - {""}))


def _parse_whole(source: Source, diagnostics: Diagnostics, start: str) -> Any:
    """Parse all of a text from a start symbol; None if that gave an error."""
    own = Diagnostics()
    parsed = _parse_stretch(source, own, start, 0, len(source.text))
    for item in own.items:
        diagnostics.add(item)
    return None if parsed is None or own.failed else parsed.value


def _parse_stretch(
    source: Source, diagnostics: Diagnostics, start: str, first: int, last: int
) -> Parsed | None:
    """Parse the characters `first` to `last` from a start symbol."""
    lexed = lex(source, diagnostics, first, last)
    builder = Builder(source, diagnostics, {}, _hole_parser(source, diagnostics))
    joined = join(source, lexed.tokens, diagnostics)
    parser = Parser(source, joined, actions(builder), diagnostics)
    parser.inner_heights = builder.inner_heights
    return parser.run(start)


def _hole_parser(source: Source, diagnostics: Diagnostics) -> Any:
    """Return the function that parses the inside of a message's braces, where it stands."""

    def parse_hole(first: int, last: int) -> tuple[ast.Hole, int] | None:
        parsed = _parse_stretch(source, diagnostics, "interp", first, last)
        return None if parsed is None else (parsed.value, parsed.height)

    return parse_hole
