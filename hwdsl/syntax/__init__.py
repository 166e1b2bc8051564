"""Text to syntax tree, and back."""

from hwdsl.syntax.format import format_module
from hwdsl.syntax.read import parse, parse_expression, parse_unit, read_source

__all__ = ["format_module", "parse", "parse_expression", "parse_unit", "read_source"]
