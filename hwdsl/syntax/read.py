"""From a file or text to a tree: what the rest of the compiler calls."""

from typing import TYPE_CHECKING, Any

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast

if TYPE_CHECKING:
    from hwdsl.syntax.parser import Reading
    from hwdsl.syntax.tokens import Built


def parse(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """Return the tree of a file: all items that parsed. Errors are in `diagnostics`."""
    from hwdsl.syntax.build import EDITIONS

    reading = prepare(source, diagnostics, 0, len(source.text), whole=True)
    parsed = reading.run("start")
    edition = reading.builder.edition_found
    if edition is None and source.text.strip() and not reading.errors:
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
    text = reading.text
    return ast.Module(source, edition, items, tuple(text.comments), "\n".join(text.module_doc))


def parse_expression(source: Source, diagnostics: Diagnostics) -> ast.Expr | None:
    """Return the tree of a single expression, or None after reporting why there is none."""
    value: ast.Expr | None = _parse_whole(source, diagnostics, "lone")
    return value


def parse_unit(source: Source, diagnostics: Diagnostics) -> ast.UnitExpr | None:
    """Return the tree of a unit as it stands after `in`, such as `USD/Mtoken` or `%`."""
    value: ast.UnitExpr | None = _parse_whole(source, diagnostics, "lone_unit")
    return value


def _parse_whole(source: Source, diagnostics: Diagnostics, start: str) -> Any:
    """Parse all of a text from a start symbol; None if that gave an error."""
    # A list of its own tells whether this text failed: the caller's may hold errors of others.
    own = Diagnostics()
    parsed = prepare(source, own, 0, len(source.text)).run(start)
    for item in own.items:
        diagnostics.add(item)
    return None if parsed is None or own.failed else parsed.value


def prepare(
    source: Source, diagnostics: Diagnostics, first: int, last: int, whole: bool = False
) -> "Reading":
    """Return what reads the characters `first` to `last`; `whole` if they are a file.

    Lark is imported here: a command that finds all trees in the store needs none of it.
    """
    from hwdsl.syntax.build import Builder
    from hwdsl.syntax.lexer import LexedText
    from hwdsl.syntax.parser import Reading

    def parse_hole(start: int, end: int) -> "Built | None":
        """Parse the inside of a message's braces, where it stands."""
        return prepare(source, diagnostics, start, end).run("interp")

    text = LexedText(source, diagnostics, first, last)
    return Reading(text, Builder(source, diagnostics, text.docs, parse_hole), whole)
