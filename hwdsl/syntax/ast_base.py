"""What all nodes of the syntax tree have, and names, units and types; see `ast`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import fields, frozen

from hwdsl.base.source import Span


class Rest(Protocol):
    """What knows the fields that a node still lacks."""

    def fill(self, node: Any) -> None:
        """Give the node its fields."""


class _Waiting:
    """A node may be made without some fields, to get them when one is asked for (`stored`)."""

    __slots__ = ("rest",)
    rest: Rest

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A field without a value: Python calls this for nothing else."""
            if name == "rest" or not hasattr(self, "rest"):
                raise AttributeError(f"{type(self).__name__} has no {name}")
            self.rest.fill(self)
            return object.__getattribute__(self, name)


@frozen(eq=False, repr=False)
class Node(_Waiting):
    """What every node has."""

    span: Span

    def __repr__(self) -> str:
        """The class and its fields; one for all, since making one per class takes start-up time."""
        values = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(type(self)))
        return f"{type(self).__name__}({', '.join(values)})"


@frozen(eq=False, repr=False)
class Ident(Node):
    """A name where it is written."""

    name: str


# --- units and types -------------------------------------------------------------------------


@frozen(eq=False, repr=False)
class UnitFactor(Node):
    """`name^power`, power an integer written as text ("1" if left out), sign folded with `/`."""

    name: str
    power: int


@frozen(eq=False, repr=False)
class UnitExpr(Node):
    """A product of unit factors; `%` is a unit named `%`. Empty means a pure number (`1`)."""

    factors: tuple[UnitFactor, ...]


@frozen(eq=False, repr=False)
class TypeName(Node):
    """A path to a dimension, type alias, enum, kind or one of `real int bool text`."""

    path: tuple[Ident, ...]


@frozen(eq=False, repr=False)
class TypeOne(Node):
    """The literal `1` in a type such as `1 / time`."""


@frozen(eq=False, repr=False)
class TypeBinary(Node):
    """A product or quotient of dimensions; op is `*` or `/`."""

    op: str
    left: TypeExpr
    right: TypeExpr


@frozen(eq=False, repr=False)
class TypePower(Node):
    """A dimension to a literal rational power, numerator and denominator."""

    base: TypeExpr
    numerator: int
    denominator: int


@frozen(eq=False, repr=False)
class TypeList(Node):
    """`[T]`."""

    element: TypeExpr


@frozen(eq=False, repr=False)
class TypeRef(Node):
    """`ref K`."""

    path: tuple[Ident, ...]


TypeExpr = TypeName | TypeOne | TypeBinary | TypePower | TypeList | TypeRef
