"""Walking trees whatever their nodes are."""

from collections.abc import Iterator

from attrs import fields

from hwdsl.syntax import ast


def children(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes directly below one, in the order of its fields."""
    for attribute in fields(type(node)):
        value = getattr(node, attribute.name)
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, ast.Node))
