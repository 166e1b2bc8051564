"""Trees as plain data and back, so that parsed library modules can be kept.

A node is a list: the number of its class, where it starts and ends in the text, its fields. A tuple
is a list that starts with `TUPLE`, a place one that starts with `PLACE`; texts, numbers, truths and
None stand for themselves.

The head of a module declares its names. The fields in `LATER` (bodies, values, conditions) are the
last element of a node's list, as bytes; they become nodes when something asks for one of them. Most
of a library module is never asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from attrs import define, fields, frozen

from hwdsl.base.source import Source, Span
from hwdsl.base.structuring import packed, unpacked
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

TUPLE, PLACE = -1, -2
UNSOUND = (AttributeError, IndexError, TypeError, ValueError)
"""What reading data raises that are no tree, though their hash is right."""

LATER: Mapping[type[ast.Node], tuple[str, ...]] = {
    ast.Part: ("members",),
    ast.Fn: ("lets", "body"),
    ast.ExternFn: ("parameters", "result"),
    ast.Let: ("value",),
    ast.Field: ("default",),
    ast.Assign: ("value",),
    ast.Rule: ("condition", "message", "help"),
    ast.Evaluator: ("members",),
    ast.Claim: ("members",),
    ast.Calibrated: ("value", "range"),
    ast.Display: ("settings",),
}
"""The fields of a kept tree that are read when they are asked for."""


@frozen
class KeptTree:
    """A module without its comments: what stands in its head, and each item's data."""

    edition: int | None
    doc: str
    items: list[Any]


@frozen
class _Form:
    """The names of a class's fields after its span: those read at once, and later."""

    number: int
    cls: type[ast.Node]
    first: tuple[str, ...]
    later: tuple[str, ...]


@cache
def _forms() -> dict[type, _Form]:
    """How each class of node is written, in the order of their numbers."""
    classes = [
        cls
        for _, cls in sorted(vars(ast).items())
        if isinstance(cls, type) and issubclass(cls, ast.Node) and cls is not ast.Node
    ]
    found = {}
    for number, cls in enumerate(classes):
        later = LATER.get(cls, ())
        first = tuple(f.name for f in fields(cls) if f.name not in ("span", *later))
        found[cls] = _Form(number, cls, first, later)
    return found


@cache
def _by_number() -> list[_Form]:
    return list(_forms().values())


def to_kept(module: ast.Module) -> KeptTree:
    """A module as it is kept."""
    return KeptTree(module.edition, module.doc, [_data(item) for item in module.items])


def _data(value: Any) -> Any:
    if isinstance(value, ast.Node):
        form, span = _forms()[type(value)], value.span
        row = [form.number, span.start, span.end, *(_data(getattr(value, n)) for n in form.first)]
        if form.later:
            row.append(packed([_data(getattr(value, name)) for name in form.later]))
        return row
    if isinstance(value, tuple):
        return [TUPLE, *map(_data, value)]
    return [PLACE, value.start, value.end] if isinstance(value, Span) else value


def from_kept(kept: KeptTree, source: Source, again: Callable[[], ast.Module]) -> ast.Module:
    """The module that `to_kept` wrote; `source` is the text that it came from.

    Data that are no tree raise one of `UNSOUND`. Where they are found later, in what is read when
    it is asked for, `again` parses the text.
    """
    reader = _Reader(source, _by_number(), again)
    items = tuple([reader.value(item) for item in kept.items])
    return ast.Module(source, kept.edition, items, (), kept.doc)


@define
class _Reader:
    """Makes nodes of one text."""

    source: Source
    forms: list[_Form]
    again: Callable[[], ast.Module]

    def value(self, data: Any) -> Any:
        """What some data stands for."""
        if type(data) is not list:
            return data
        number = data[0]
        if number == TUPLE:
            return tuple([self.value(part) for part in data[1:]])
        span = Span(self.source, data[1], data[2])
        if number == PLACE:
            return span
        form = self.forms[number]
        if not form.later:
            return form.cls(span, *[self.value(part) for part in data[3:]])
        node = object.__new__(form.cls)
        set_field = object.__setattr__
        set_field(node, "span", span)
        for name, part in zip(form.first, data[3:-1], strict=True):
            set_field(node, name, self.value(part))
        set_field(node, "rest", _Rest(self, form.later, data[-1]))
        return node


_filling = threading.Lock()


@define(eq=False)
class _Rest:
    """The fields that a node lacks."""

    reader: _Reader
    names: tuple[str, ...]
    data: bytes

    def fill(self, node: ast.Node) -> None:
        """Give the node its fields, once: what is read stands for itself from then on."""
        with _filling:
            if self.data:
                try:
                    values = [self.reader.value(part) for part in unpacked(self.data, list)]
                except UNSOUND:
                    values = self.parsed(node)
                for name, value in zip(self.names, values, strict=True):
                    object.__setattr__(node, name, value)
                self.data = b""

    def parsed(self, node: ast.Node) -> list[Any]:
        """The fields of a node, from its text."""
        waiting: list[Any] = list(self.reader.again().items)
        while True:
            found = waiting.pop()
            if type(found) is type(node) and found.span == node.span:
                return [getattr(found, name) for name in self.names]
            waiting.extend(children(found))
