"""Whether two trees say the same, wherever they stand."""

from typing import Any

import attrs

from hwdsl.base.source import Span
from hwdsl.syntax import ast


def shape(value: Any) -> Any:
    """Return a tree as nested tuples without places and comments: equal if they say the same."""
    if isinstance(value, ast.Node | ast.Module):
        skip = ("span", "op_span", "source", "comments")
        names = [f.name for f in attrs.fields(type(value)) if f.name not in skip]
        return (type(value).__name__, *(shape(getattr(value, name)) for name in names))
    if isinstance(value, tuple):
        return tuple(shape(v) for v in value)
    assert not isinstance(value, Span)
    return value
