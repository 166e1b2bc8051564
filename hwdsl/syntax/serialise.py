"""Trees as JSON data and back, so that parsed library modules can be cached.

The data is flat: one row per node, children before parents, `[class, start, end, field …]`, where a
child is the index of its row. Reading checks every class, index, place and field, so that no data
can make anything but a tree; what is wrong raises `DataError`. The version is part of the data.

The data is split: the head of a module declares its names, and apart from it there is the rest of
each item (bodies, values, conditions), which is read when something asks for it. Most of a library
module is never asked for.
"""

import json
import threading
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import attrs

from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast
from hwdsl.syntax.parser import MAX_HEIGHT

VERSION = 2

LATER: Mapping[type[ast.Node], tuple[str, ...]] = {
    ast.Part: ("members",),
    ast.Fn: ("lets", "body"),
    ast.Let: ("value",),
    ast.Field: ("default",),
    ast.Assign: ("value",),
    ast.Rule: ("condition", "message", "help"),
    ast.Evaluator: ("members",),
    ast.Claim: ("members",),
    ast.Calibrated: ("value", "range"),
    ast.Display: ("settings",),
}
"""The fields of a split tree that are read when they are asked for."""

# A field's type that stands for itself in the data.
_PLAIN = (str, int, bool)
# Behind the class of a row that lacks the fields in LATER.
_LACKING = "-"


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
    nodes = {
        name: (cls, [f for f in attrs.fields(cls) if f.name != "span"])
        for name, cls in sorted(vars(ast).items())
        if isinstance(cls, type) and issubclass(cls, ast.Node) and cls is not ast.Node
    }
    # Few annotations are different: reading each once takes a fifth of the time of `get_type_hints`
    # for each class.
    texts = {str(f.type): f.type for _, fields in nodes.values() for f in fields}
    known = {**vars(ast), "Span": Span}
    hints = typing.get_type_hints(type("Texts", (), {"__annotations__": texts}), known)
    return {
        name: (cls, tuple(_shape(f.name, hints[str(f.type)]) for f in fields))
        for name, (cls, fields) in nodes.items()
    }


# --- writing -----------------------------------------------------------------------------------


class _Writer:
    """Rows written so far; `lacking` are the nodes written without their fields in LATER."""

    def __init__(self, *, split: bool = False) -> None:
        self.rows: list[list[Any]] = []
        self.split = split
        self.lacking: list[ast.Node] = []

    def value(self, item: Any) -> Any:
        """Return a field's value as data."""
        if isinstance(item, ast.Node):
            return self.add(item)
        if isinstance(item, Span):
            return [item.start, item.end]
        if isinstance(item, tuple):
            return [self.value(part) for part in item]
        return item

    def add(self, node: ast.Node) -> int:
        """Write a node and all below it; return its index."""
        name = type(node).__name__
        late = LATER.get(type(node), ()) if self.split else ()
        shapes = [s for s in _schema()[name][1] if s.name not in late]
        row = [name + _LACKING if late else name, node.span.start, node.span.end]
        row += [self.value(getattr(node, shape.name)) for shape in shapes]
        self.rows.append(row)
        if late:
            self.lacking.append(node)
        return len(self.rows) - 1


def to_lines(module: ast.Module) -> list[str]:
    """Return a module without its comments as lines of JSON: its head, then each item's rest."""
    head = _Writer(split=True)
    items, rests = [], []
    for item in module.items:
        head.lacking.clear()
        items.append(head.add(item))
        rest = _Writer()
        fields = [
            [rest.value(getattr(node, name)) for name in LATER[type(node)]] for node in head.lacking
        ]
        rests.append({"fields": fields, "rows": rest.rows})
    data = {
        "version": VERSION,
        "edition": module.edition,
        "doc": module.doc,
        "items": items,
        "rows": head.rows,
    }
    return [json.dumps(each, separators=(",", ":")) for each in (data, *rests)]


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
def _readers() -> dict[str, tuple[Callable[..., ast.Node], tuple[_Reader, ...]]]:
    """Return, by name, what makes each class of node, with the functions that read its fields."""
    known: dict[str, tuple[Callable[..., ast.Node], tuple[_Reader, ...]]] = {}
    for name, (cls, shapes) in _schema().items():
        known[name] = cls, tuple(map(_reader, shapes))
        if cls in LATER:
            first = [s for s in shapes if s.name not in LATER[cls]]
            made = partial(_lacking, cls, ("span", *(s.name for s in first)))
            known[name + _LACKING] = made, tuple(map(_reader, first))
    return known


def _lacking(cls: type[ast.Node], names: tuple[str, ...], *values: Any) -> ast.Node:
    """Make a node without its fields in LATER."""
    node = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(node, name, value)
    return node


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


def from_lines(
    lines: Sequence[str], source: Source, again: Callable[[], Sequence[ast.Item]]
) -> ast.Module:
    """Return the module that `to_lines` wrote; `source` is the text it came from.

    Raises DataError if the head is not sound. The rest is read when something asks for it; where it
    is not sound then, the items that `again` gives are taken in its place.
    """
    data = _object(lines[0])
    if data.get("version") != VERSION:
        raise DataError(f"not version {VERSION} of this data")
    edition, doc = data.get("edition"), data.get("doc")
    if not (edition is None or type(edition) is int) or type(doc) is not str:
        raise DataError("edition or doc has the wrong type")
    reading = _Nodes(source)
    rows, places = _list(data, "rows"), _list(data, "items")
    reading.add(rows)
    if len(lines) != len(places) + 1:
        raise DataError("not each item has a rest")
    items: list[ast.Item] = []
    first = 0
    for place in places:
        items.append(_item(reading, first, place))
        lacking = [
            reading.nodes[i] for i in range(first, place + 1) if rows[i][0].endswith(_LACKING)
        ]
        if lacking:
            rest = _Rest(lines[len(items)], source, lacking, len(items) - 1, again)
            for node in lacking:
                object.__setattr__(node, "rest", rest)
        first = place + 1
    if first != len(rows):
        raise DataError("a row belongs to no item")
    return ast.Module(source, edition, tuple(items), (), doc)


def _item(reading: _Nodes, first: int, place: Any) -> ast.Item:
    """Return the item whose rows are those from `first` to `place`."""
    if type(place) is not int or not first <= place < len(reading.nodes):
        raise DataError("an item is no row")
    item = reading.nodes[place]
    if not isinstance(item, ast.Item):
        raise DataError(f"a {type(item).__name__} is no item")
    return item


_filling = threading.RLock()


@attrs.define(eq=False)
class _Rest:
    """The rest of an item: the fields that its nodes lack, in the order of the nodes."""

    line: str
    source: Source
    nodes: list[ast.Node]
    number: int
    again: Callable[[], Sequence[ast.Item]]

    def fill(self) -> None:
        """Give the nodes their fields, once."""
        with _filling:
            if self.nodes:
                try:
                    found = self._read()
                except ValueError:  # written by nobody we know, since the cache's hash is right
                    whole = _Writer(split=True)
                    whole.add(self.again()[self.number])
                    found = [[getattr(n, f) for f in LATER[type(n)]] for n in whole.lacking]
                for node, values in zip(self.nodes, found, strict=True):
                    for name, value in zip(LATER[type(node)], values, strict=True):
                        object.__setattr__(node, name, value)
                self.nodes = []

    def _read(self) -> list[list[Any]]:
        data = _object(self.line)
        reading = _Nodes(self.source)
        reading.add(_list(data, "rows"))
        fields = _list(data, "fields")
        readers = _readers_later()
        if [len(f) if type(f) is list else -1 for f in fields] != [
            len(readers[type(n)]) for n in self.nodes
        ]:
            raise DataError("not each node gets its fields")
        return [
            [read(reading, value) for read, value in zip(readers[type(n)], row, strict=True)]
            for n, row in zip(self.nodes, fields, strict=True)
        ]


@cache
def _readers_later() -> dict[type[ast.Node], list[_Reader]]:
    """Return the functions that read the fields in LATER."""
    shapes = {cls: {s.name: s for s in shapes} for cls, shapes in _schema().values()}
    return {cls: [_reader(shapes[cls][n]) for n in names] for cls, names in LATER.items()}


def _object(line: str) -> dict[str, Any]:
    """Read a line of JSON. Raises ValueError."""
    data = json.loads(line)
    if type(data) is not dict:
        raise DataError("no object")
    return data


def _list(data: dict[str, Any], key: str) -> list[Any]:
    """Return the list under a key."""
    value = data.get(key)
    if type(value) is not list:
        raise DataError(f"no list of {key}")
    return value
