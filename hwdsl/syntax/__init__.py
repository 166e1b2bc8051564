"""Text to syntax tree, and back."""

from typing import TYPE_CHECKING, Any

from hwdsl.syntax.read import parse, parse_expression, parse_unit

if TYPE_CHECKING:
    from hwdsl.syntax.format import format_module

__all__ = ["format_module", "parse", "parse_expression", "parse_unit"]


def __getattr__(name: str) -> Any:
    """The formatter, imported when it is asked for: most commands write no text."""
    if name != "format_module":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hwdsl.syntax.format import format_module

    return format_module
