"""Walking trees whatever their nodes are."""

from collections.abc import Iterator

from hwdsl.syntax import ast


def children(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes directly below one, in the order of its fields."""
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, ast.Node))
