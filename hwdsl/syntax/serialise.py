"""Trees as JSON data and back, so that parsed library modules can be cached.

The data is flat: one row per node, children before parents, `[class, start, end, field …]`, where a
child is the index of its row. Reading checks every class, index, place and field, so that no data
can make anything but a tree; what is wrong raises `DataError`. The version is part of the data.
"""

import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

import attrs

from hwdsl.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.parser import MAX_HEIGHT

VERSION = 1

# A field's type that stands for itself in the data.
_PLAIN = (str, int, bool)


class DataError(ValueError):
    """The data is not what `to_data` makes."""


@attrs.frozen
class _Shape:
    """How a field is written: plain values, one node, or a tuple of these."""

    name: str
    many: bool
    optional: bool
    plain: frozenset[type]
    nodes: frozenset[type]
    is_span: bool


def _classes(hint: Any) -> frozenset[type]:
    """Return the classes of a type or a union of types."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return frozenset().union(*(_classes(h) for h in typing.get_args(hint)))
    return frozenset([hint])


def _shape(name: str, hint: Any) -> _Shape:
    """Read a field's annotation."""
    found = _classes(hint)
    optional = type(None) in found
    found -= {type(None)}
    inner = next(iter(found)) if len(found) == 1 else None
    many = typing.get_origin(inner) is tuple
    if many:
        found = _classes(typing.get_args(inner)[0])
    plain = found & frozenset(_PLAIN)
    return _Shape(name, many, optional, plain, found - plain - {Span}, Span in found)


@cache
def _schema() -> dict[str, tuple[type[ast.Node], tuple[_Shape, ...]]]:
    """Return, by name, each class of node with the fields after its span."""
    known: dict[str, tuple[type[ast.Node], tuple[_Shape, ...]]] = {}
    for name, cls in sorted(vars(ast).items()):
        if isinstance(cls, type) and issubclass(cls, ast.Node) and cls is not ast.Node:
            hints = typing.get_type_hints(cls)
            names = [f.name for f in attrs.fields(cls) if f.name != "span"]
            known[name] = cls, tuple(_shape(n, hints[n]) for n in names)
    return known


# --- writing -----------------------------------------------------------------------------------


def to_data(module: ast.Module) -> dict[str, Any]:
    """Return a module as data that `json` can write."""
    rows: list[list[Any]] = []
    schema = _schema()

    def value(item: Any) -> Any:
        if isinstance(item, ast.Node):
            return add(item)
        if isinstance(item, Span):
            return [item.start, item.end]
        if isinstance(item, tuple):
            return [value(part) for part in item]
        return item

    def add(node: ast.Node) -> int:
        name = type(node).__name__
        row = [name, node.span.start, node.span.end]
        row += [value(getattr(node, shape.name)) for shape in schema[name][1]]
        rows.append(row)
        return len(rows) - 1

    return {
        "version": VERSION,
        "edition": module.edition,
        "doc": module.doc,
        "items": [add(item) for item in module.items],
        "comments": [[c.start, c.text, c.own_line] for c in module.comments],
        "rows": rows,
    }


# --- reading -----------------------------------------------------------------------------------

_Reader = Callable[["_Nodes", Any], Any]


class _Nodes:
    """The nodes read so far, and how high each tree is."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.length = len(source.text)
        self.nodes: list[ast.Node] = []
        self.heights: list[int] = []
        self.height = 0  # of the highest child of the row being read

    def place(self, start: Any, end: Any) -> Span:
        """Read a place."""
        if type(start) is not int or type(end) is not int or not 0 <= start <= end <= self.length:
            raise DataError("a place is outside the text")
        return Span(self.source, start, end)

    def add(self, rows: list[Any]) -> None:
        """Read rows."""
        known, nodes, heights = _readers(), self.nodes, self.heights
        for row in rows:
            if type(row) is not list or len(row) < 3 or type(row[0]) is not str:
                raise DataError("a row is no list with a class and a place")
            cls, readers = known.get(row[0], (None, ()))
            if cls is None or len(row) != len(readers) + 3:
                raise DataError(f"no class {row[0][:40]} with {len(row) - 3} fields")
            self.height = 0
            at, fields = 3, []
            for read in readers:
                fields.append(read(self, row[at]))
                at += 1
            if self.height >= MAX_HEIGHT:
                raise DataError("the tree is too deep")
            heights.append(self.height + 1)
            nodes.append(cls(self.place(row[1], row[2]), *fields))


@cache
def _readers() -> dict[str, tuple[type[ast.Node], tuple[_Reader, ...]]]:
    """Return, by name, each class of node with the functions that read its fields."""
    return {n: (cls, tuple(map(_reader, shapes))) for n, (cls, shapes) in _schema().items()}


def _reader(shape: _Shape) -> _Reader:
    """Return the function that reads a field."""
    one = _one(shape)
    if shape.many:

        def many(reading: _Nodes, value: Any) -> tuple[Any, ...]:
            if type(value) is not list:
                raise DataError(f"{shape.name} is no list")
            return tuple([one(reading, v) for v in value])

        whole: _Reader = many
    else:
        whole = one
    if not shape.optional:
        return whole
    return lambda reading, value: None if value is None else whole(reading, value)


def _one(shape: _Shape) -> _Reader:
    """Return the function that reads a single value."""
    plain, allowed = shape.plain, shape.nodes

    def span(reading: _Nodes, value: Any) -> Span:
        if type(value) is not list or len(value) != 2:
            raise DataError("a place has two ends")
        return reading.place(value[0], value[1])

    def text(reading: _Nodes, value: Any) -> Any:
        if type(value) not in plain:
            raise DataError(f"{shape.name} has a value of the wrong type")
        return value

    def node(reading: _Nodes, value: Any) -> Any:
        if type(value) is not int or not 0 <= value < len(reading.nodes):
            if type(value) in plain and type(value) is not int:
                return value
            raise DataError(f"{shape.name} is no earlier row")
        found = reading.nodes[value]
        if type(found) not in allowed:
            raise DataError(f"{shape.name} cannot be a {type(found).__name__}")
        if reading.heights[value] > reading.height:
            reading.height = reading.heights[value]
        return found

    if shape.is_span:
        return span
    return node if allowed else text


def from_data(data: Any, source: Source) -> ast.Module:
    """Return the module that data from `to_data` describes; `source` is the text it came from."""
    if type(data) is not dict or data.get("version") != VERSION:
        raise DataError(f"not version {VERSION} of this data")
    edition, doc = data.get("edition"), data.get("doc")
    if not (edition is None or type(edition) is int) or type(doc) is not str:
        raise DataError("edition or doc has the wrong type")
    reading = _Nodes(source)
    reading.add(_list(data, "rows"))
    items = []
    allowed = frozenset(typing.get_args(ast.Item))
    for index in _list(data, "items"):
        if type(index) is not int or not 0 <= index < len(reading.nodes):
            raise DataError("an item is no row")
        item = reading.nodes[index]
        if type(item) not in allowed:
            raise DataError(f"a {type(item).__name__} is no item")
        items.append(typing.cast(ast.Item, item))
    comments = tuple(_comment(entry) for entry in _list(data, "comments"))
    return ast.Module(source, edition, tuple(items), comments, doc)


def _list(data: dict[str, Any], key: str) -> list[Any]:
    """Return the list under a key."""
    value = data.get(key)
    if type(value) is not list:
        raise DataError(f"no list of {key}")
    return value


def _comment(entry: Any) -> ast.Comment:
    """Read a comment."""
    if type(entry) is list and [type(e) for e in entry] == [int, str, bool]:
        return ast.Comment(*entry)
    raise DataError("a comment has the wrong form")
