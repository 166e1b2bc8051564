"""From a file or text to a tree: what the rest of the compiler calls."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import LARGEST_FILE, Source, Span, read_bytes
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


def _parse_whole(source: Source, diagnostics: Diagnostics, start: str) -> Any:
    """Parse all of a text from a start symbol; None if that gave an error."""
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
    from hwdsl.syntax.lexer import Text
    from hwdsl.syntax.parser import Reading

    def parse_hole(start: int, end: int) -> "Built | None":
        """Parse the inside of a message's braces, where it stands."""
        return prepare(source, diagnostics, start, end).run("interp")

    text = Text(source, diagnostics, first, last)
    return Reading(text, Builder(source, diagnostics, text.docs, parse_hole), whole)
