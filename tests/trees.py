"""Whether two trees say the same, wherever they stand."""

from typing import Any

import attrs

from hwdsl.syntax import ast

_APART = ("span", "op_span", "source", "comments")


def shape(value: Any) -> Any:
    """Return a tree as nested tuples without places and comments: equal if they say the same."""
    if isinstance(value, ast.Module):
        names = [f.name for f in attrs.fields(ast.Module)]
    elif isinstance(value, ast.Node):
        names = list(value.__struct_fields__)
    else:
        return tuple(map(shape, value)) if isinstance(value, tuple) else value
    return (type(value).__name__, *(shape(getattr(value, n)) for n in names if n not in _APART))
