"""The smaller half of the syntax tree: names, units, types and expressions; see `ast`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import fields, frozen

from hwdsl.base.source import Span

if TYPE_CHECKING:
    from hwdsl.syntax.ast import Let, Member, Next, State, Until


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


# --- expressions -----------------------------------------------------------------------------


@frozen(eq=False, repr=False)
class Number(Node):
    """A literal without unit. `text` keeps the digits as written (underscores included)."""

    text: str

    @property
    def is_int(self) -> bool:
        """Whether the literal is an int: digits only."""
        return self.text.replace("_", "").isdigit()


@frozen(eq=False, repr=False)
class Quantity(Node):
    """A literal with its unit."""

    text: str
    unit: UnitExpr


@frozen(eq=False, repr=False)
class Text(Node):
    """A string literal, escapes resolved. `parts` is its reading as a template (see Template)."""

    value: str


@frozen(eq=False, repr=False)
class Bool(Node):
    """`true` or `false`."""

    value: bool


@frozen(eq=False, repr=False)
class Name(Node):
    """A bare name."""

    name: str


@frozen(eq=False, repr=False)
class Attr(Node):
    """`base.name`."""

    base: Expr
    name: Ident


@frozen(eq=False, repr=False)
class Index(Node):
    """`base[index]`."""

    base: Expr
    index: Expr


@frozen(eq=False, repr=False)
class Argument(Node):
    """An argument; `name` is None for a positional one."""

    name: Ident | None
    value: Expr


@frozen(eq=False, repr=False)
class Call(Node):
    """`function(arguments)`; a reducer over generators is a Call of one Comprehension."""

    function: Expr
    arguments: tuple[Argument, ...]


@frozen(eq=False, repr=False)
class ListLit(Node):
    """`[a, b, c]`."""

    items: tuple[Expr, ...]


@frozen(eq=False, repr=False)
class Generator(Node):
    """`for name in iterable`."""

    name: Ident
    iterable: Expr


@frozen(eq=False, repr=False)
class Comprehension(Node):
    """`element for … for … if condition`, in brackets (`is_list`) or as a reducer's argument."""

    element: Expr
    generators: tuple[Generator, ...]
    condition: Expr | None
    is_list: bool


@frozen(eq=False, repr=False)
class Unary(Node):
    """op is `-`, `+` or `not`."""

    op: str
    operand: Expr


@frozen(eq=False, repr=False)
class Binary(Node):
    """op is one of `+ - * / ^ and or ..`."""

    op: str
    left: Expr
    right: Expr
    op_span: Span


@frozen(eq=False, repr=False)
class Compare(Node):
    """A chain `a < b <= c`; `ops` has one entry less than `operands`."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


@frozen(eq=False, repr=False)
class Cond(Node):
    """`if condition then yes else no`."""

    condition: Expr
    yes: Expr
    no: Expr


@frozen(eq=False, repr=False)
class Pattern(Node):
    """One alternative: a path to an enum case, a literal number as text, or neither for `else`."""

    path: tuple[Ident, ...] | None = None
    number: str | None = None


@frozen(eq=False, repr=False)
class Arm(Node):
    """`patterns => value`."""

    patterns: tuple[Pattern, ...]
    value: Expr


@frozen(eq=False, repr=False)
class Match(Node):
    """`match subject { arms }`."""

    subject: Expr
    arms: tuple[Arm, ...]


@frozen(eq=False, repr=False)
class Iterate(Node):
    """`iterate variable in range { members }`; members are State, Next, Until and Let."""

    variable: Ident
    range: Expr
    members: tuple[State | Next | Until | Let, ...]


@frozen(eq=False, repr=False)
class With(Node):
    """`base with { members }`."""

    base: Expr
    members: tuple[Member, ...]


Expr = (
    Number
    | Quantity
    | Text
    | Bool
    | Name
    | Attr
    | Index
    | Call
    | ListLit
    | Comprehension
    | Unary
    | Binary
    | Compare
    | Cond
    | Match
    | Iterate
    | With
)


@frozen(eq=False, repr=False)
class Hole(Node):
    """`{expr}` or `{expr in unit}` in a message."""

    value: Expr
    unit: UnitExpr | None


@frozen(eq=False, repr=False)
class Template(Node):
    """A message: literal text and holes, in order."""

    parts: tuple[str | Hole, ...]
