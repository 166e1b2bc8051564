"""Text to syntax tree, and back."""

from hwdsl.syntax.read import parse, parse_expression, parse_unit, read_source

__all__ = ["parse", "parse_expression", "parse_unit", "read_source"]
