"""The tree of components as one can walk it: names, kinds, counts, known fields, parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from hwdsl.codegen.ir import Ref
from hwdsl.elaborate import records
from hwdsl.elaborate.machine import Machine
from hwdsl.elaborate.values import (
    Component,
    EnumValue,
    Failure,
    Merged,
    Record,
    TextValue,
    Value,
)
from hwdsl.semantics.types import BoolType, Real, Type
from hwdsl.source import Span
from hwdsl.units import ONE, Dim


@frozen
class ModelField:
    """A field's or let's value in base units, if it is known, with its dimension."""

    name: str
    value: float | str | bool | None
    dim: Dim
    doc: str


@frozen
class ModelComponent:
    """A component: how many of it (None if that is unknown), its fields and its parts."""

    name: str
    path: str
    kind: str
    count: int | None
    fields: Mapping[str, ModelField]
    parts: tuple[ModelComponent, ...]
    span: Span

    def walk(self) -> Iterator[ModelComponent]:
        """This component and all within it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def model_of(m: Machine, of: Component, name: str) -> ModelComponent:
    """The tree below a component; what fails to evaluate is left out."""
    shown: dict[str, ModelField] = {}
    for kind in reversed(list(of.kind.lineage())):
        for info in kind.members.values():
            if info.role in ("field", "let") and _plain(info.type):
                value = _read(m, of, info.name)
                if value is not None:
                    dim = info.type.dim if isinstance(info.type, Real) else ONE
                    doc = getattr(info.decl, "doc", "")
                    shown[info.name] = ModelField(info.name, _known(value, info.type), dim, doc)
    count = _read(m, of, "count")
    number = count.known if isinstance(count, Ref) else None
    return ModelComponent(
        name,
        of.path,
        of.kind.name,
        None if number is None else int(number),
        shown,
        tuple(_parts(m, of)),
        of.span,
    )


def _plain(type_: Type) -> bool:
    from hwdsl.semantics.types import EnumType, Int, TextType

    return isinstance(type_, Real | Int | BoolType | EnumType | TextType)


def _parts(m: Machine, of: Component) -> Iterator[ModelComponent]:
    first = of
    while isinstance(first, Merged):
        first = first.alternatives[0]
    for name in records.part_names(first):
        value = _read(m, of, name)
        if isinstance(value, Record | Merged):
            yield model_of(m, value, name)


def _read(m: Machine, of: Component, name: str) -> Value | None:
    try:
        value, _ = m.collect(lambda: records.member(m, of, name, of.span))
    except Failure:
        return None
    return value


def _known(value: Value, type_: Type) -> float | str | bool | None:
    if isinstance(value, Ref):
        if value.known is None:
            return None
        return bool(value.known) if isinstance(type_, BoolType) else value.known
    if isinstance(value, TextValue):
        return value.options[0] if value.selector is None else None
    if isinstance(value, EnumValue) and value.ref.known is not None:
        return value.enum.cases[int(value.ref.known)]
    return None
