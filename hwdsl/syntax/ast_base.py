"""What all nodes of the syntax tree have, and names, units and types; see `ast`."""

from __future__ import annotations

from msgspec import Struct

from hwdsl.base.source import Span


class Node(Struct, frozen=True, eq=False, gc=False, array_like=True, tag=True, tag_field="node"):
    """What every node has. Nodes compare by identity, so that tables may be keyed by node."""

    # Structs of msgspec, and not attrs classes as elsewhere: msgspec makes trees of them from the
    # store in C (it knows no unions of attrs classes), and to define 65 of them takes 2 ms, not 15.
    # No node refers to one above it, so the garbage collector may pass them over (`gc=False`).

    span: Span


class Ident(Node, frozen=True):
    """A name where it is written."""

    name: str


# --- units and types -------------------------------------------------------------------------


class UnitFactor(Node, frozen=True):
    """`name^power`, power an integer written as text ("1" if left out), sign folded with `/`."""

    name: str
    power: int


class UnitExpr(Node, frozen=True):
    """A product of unit factors; `%` is a unit named `%`. Empty means a pure number (`1`)."""

    factors: tuple[UnitFactor, ...]


class TypeName(Node, frozen=True):
    """A path to a dimension, type alias, enum, kind or one of `real int bool text`."""

    path: tuple[Ident, ...]


class TypeOne(Node, frozen=True):
    """The literal `1` in a type such as `1 / time`."""


class TypeBinary(Node, frozen=True):
    """A product or quotient of dimensions; op is `*` or `/`."""

    op: str
    left: TypeExpr
    right: TypeExpr


class TypePower(Node, frozen=True):
    """A dimension to a literal rational power, numerator and denominator."""

    base: TypeExpr
    numerator: int
    denominator: int


class TypeList(Node, frozen=True):
    """`[T]`."""

    element: TypeExpr


class TypeRef(Node, frozen=True):
    """`ref K`."""

    path: tuple[Ident, ...]


TypeExpr = TypeName | TypeOne | TypeBinary | TypePower | TypeList | TypeRef
