"""The types expressions have. Quantities are reals with a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from hwdsl.base.units import ONE, Dim

if TYPE_CHECKING:
    from hwdsl.semantics.symbols import EnumInfo, KindInfo, Shape


@frozen
class Real:
    """A float64 with a dimension; `Real()` is a pure number."""

    dim: Dim = ONE

    def __str__(self) -> str:
        return "real" if self.dim.is_dimensionless else str(self.dim)


@frozen
class Int:
    """An integer (a double below 2^53); widens to a dimensionless real, never back."""

    def __str__(self) -> str:
        return "int"


@frozen
class BoolType:
    """`true` or `false`."""

    def __str__(self) -> str:
        return "bool"


@frozen
class TextType:
    """Text; always known."""

    def __str__(self) -> str:
        return "text"


@frozen
class EnumType:
    """A case of a declared enum."""

    enum: EnumInfo

    def __str__(self) -> str:
        return self.enum.name


@frozen
class ListType:
    """A list of known length; elements share a type."""

    element: Type

    def __str__(self) -> str:
        return f"[{self.element}]"


@frozen
class RecordType:
    """A component of a kind, with the parts known from how it was written (`shape`).

    Function parameters, fields, lists and choices keep only the kind: their shape is None.
    """

    kind: KindInfo
    shape: Shape | None = None

    def __str__(self) -> str:
        return self.kind.name


@frozen
class RefType:
    """`ref K`: points at a part of kind K; reads like the part, compares by identity."""

    kind: KindInfo

    def __str__(self) -> str:
        return f"ref {self.kind.name}"


@frozen
class ResultType:
    """A record without kind: of `iterate`, `lowest`, an evaluator's call or a CSV table."""

    fields: tuple[tuple[str, Type], ...]
    what: str = "result"

    def __str__(self) -> str:
        return self.what


@frozen
class Poison:
    """The type of an expression in error; agrees with everything and causes no second error."""

    def __str__(self) -> str:
        return "?"


Type = (
    Real
    | Int
    | BoolType
    | TextType
    | EnumType
    | ListType
    | RecordType
    | RefType
    | ResultType
    | Poison
)
