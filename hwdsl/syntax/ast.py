"""The syntax tree: what a .hw file says, before anything is known about what it means.

All nodes are frozen, compare by identity (so that tables may be keyed by node), hold children as
tuples and carry the span they came from. `doc` is the text of the `##` comments before a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import fields, frozen

from hwdsl.source import Source, Span


class Rest(Protocol):
    """What knows the fields that a node still lacks."""

    def fill(self) -> None:
        """Give all nodes that wait for this their fields."""


class _Waiting:
    """A node may be made without some fields, to get them when one is asked for (`stored`)."""

    __slots__ = ("rest",)
    rest: Rest

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A field without a value: Python calls this for nothing else."""
            if name == "rest" or not hasattr(self, "rest"):
                raise AttributeError(f"{type(self).__name__} has no {name}")
            self.rest.fill()
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


# --- members ---------------------------------------------------------------------------------


@frozen(eq=False, repr=False)
class Unknown(Node):
    """`unknown "why"`: the value of a field that nobody knows, with the reason."""

    reason: str


FieldValue = Expr | Unknown


@frozen(eq=False, repr=False)
class Field(Node):
    """`name : type = default` in a kind."""

    name: Ident
    type: TypeExpr
    default: FieldValue | None
    doc: str = ""


@frozen(eq=False, repr=False)
class Assign(Node):
    """`path = value` in a component or `with` block."""

    path: tuple[Ident, ...]
    value: FieldValue


@frozen(eq=False, repr=False)
class Amend(Node):
    """`path { members }`: amends an inherited part."""

    path: tuple[Ident, ...]
    members: tuple[Member, ...]


@frozen(eq=False, repr=False)
class Let(Node):
    """`let name : type = value`, anywhere."""

    name: Ident
    type: TypeExpr | None
    value: Expr
    doc: str = ""


@frozen(eq=False, repr=False)
class Rule(Node):
    """`require` (or, if `warns`, `warn`) `name: condition else message help text`."""

    name: Ident
    warns: bool
    condition: Expr
    message: Template | None
    help: Template | None
    doc: str = ""


CONFIDENCES = ("low", "medium", "high")
"""How sure a source is, the least first."""


@frozen(eq=False, repr=False)
class SourceNote(Node):
    """`source "where this comes from" confidence medium`; only of a claim it is said how sure."""

    text: str
    confidence: Ident | None = None


@frozen(eq=False, repr=False)
class Allow(Node):
    """`allow path "reason"`: a waiver for the rule of that path."""

    path: tuple[Ident, ...]
    reason: str


@frozen(eq=False, repr=False)
class Part(Node):
    """`kind name[count] : base { members }`, at top level a component, inside one a part."""

    kind: Ident
    name: Ident
    count: Expr | None
    base: tuple[Ident, ...] | None
    members: tuple[Member, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class Parameter(Node):
    """A function's parameter; `known` ones must not depend on a param of the evaluator."""

    name: Ident
    type: TypeExpr
    default: Expr | None
    known: bool


@frozen(eq=False, repr=False)
class Fn(Node):
    """`fn name[D](parameters) -> result { lets value }`."""

    name: Ident
    dim_vars: tuple[Ident, ...]
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    lets: tuple[Let, ...]
    body: Expr
    doc: str = ""


Member = Field | Assign | Amend | Let | Rule | SourceNote | Part | Fn | Allow


@frozen(eq=False, repr=False)
class State(Node):
    """`state name : type = initial` of an `iterate`."""

    name: Ident
    type: TypeExpr
    initial: Expr


@frozen(eq=False, repr=False)
class Next(Node):
    """`next name[index] = value`."""

    name: Ident
    index: Expr | None
    value: Expr


@frozen(eq=False, repr=False)
class Until(Node):
    """`until condition`."""

    condition: Expr


CHANCE = "~"  # an even number between 0 and 1; no text can spell this name


@frozen(eq=False, repr=False)
class Param(Node):
    """`param name : type = default in range ~ distribution`.

    The distribution is a call whose first argument, not written, is the variable `CHANCE`.
    """

    name: Ident
    type: TypeExpr
    default: Expr | None
    range: Expr | None
    distribution: Expr | None
    doc: str = ""


@frozen(eq=False, repr=False)
class Choice(Node):
    """`choice name : type in alternatives = default`."""

    name: Ident
    type: TypeExpr
    alternatives: Expr
    default: Expr | None
    doc: str = ""


@frozen(eq=False, repr=False)
class Output(Node):
    """`output name in unit = value` or `output name : type = value`."""

    name: Ident
    unit: UnitExpr | None
    type: TypeExpr | None
    value: Expr
    doc: str = ""


@frozen(eq=False, repr=False)
class Expect(Node):
    """`[calibration|identity] expect condition within tolerance relative|absolute missed "why"`.

    `status` is `""`, `calibration` or `identity`; `mode` is `""`, `relative`, `absolute` or
    `factor`. With a tolerance, `condition` must be a Compare with one `==`. `missed` says why it is
    known not to hold.
    """

    condition: Expr
    tolerance: Expr | None
    mode: str
    status: str = ""
    missed: str | None = None


@frozen(eq=False, repr=False)
class Assume(Node):
    """`assume "what is taken for granted"` in a claim."""

    text: str


# --- items -----------------------------------------------------------------------------------


@frozen(eq=False, repr=False)
class Use(Node):
    """`use path [as alias] [: names]`, or `use "file.csv" as alias`."""

    path: tuple[Ident, ...]
    file: str | None
    alias: Ident | None
    names: tuple[Ident, ...] | None


@frozen(eq=False, repr=False)
class Dimension(Node):
    """`dimension name`."""

    name: Ident
    doc: str = ""


@frozen(eq=False, repr=False)
class UnitDecl(Node):
    """`unit name = value offset value prefix …`; a base unit is `unit name : type prefix …`."""

    name: Ident
    value: Expr | None
    type: TypeExpr | None
    offset: Expr | None
    prefixes: tuple[Ident, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class TypeAlias(Node):
    """`type name = type`."""

    name: Ident
    type: TypeExpr
    doc: str = ""


@frozen(eq=False, repr=False)
class Enum(Node):
    """`enum name { cases }`."""

    name: Ident
    cases: tuple[Ident, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class Kind(Node):
    """`kind name : base { members }`."""

    name: Ident
    base: tuple[Ident, ...] | None
    members: tuple[Member, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class Evaluator(Node):
    """`evaluator name { members }`."""

    name: Ident
    members: tuple[Param | Choice | Let | Output | Rule | Allow | SourceNote, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class Claim(Node):
    """`claim name { members }`."""

    name: Ident
    members: tuple[Let | Expect | SourceNote | Allow | Assume, ...]
    doc: str = ""


@frozen(eq=False, repr=False)
class Calibrated(Node):
    """`calibrated name : type = value in low .. high from "data"`."""

    name: Ident
    type: TypeExpr
    value: Expr
    range: Expr | None
    data: str
    doc: str = ""


@frozen(eq=False, repr=False)
class Display(Node):
    """`table name { of evaluator … }` or `figure name { … }`: pairs of setting and value.

    Each setting is `ident = value`; `form` is `table` or `figure`.
    """

    form: str
    name: Ident
    settings: tuple[Assign, ...]
    doc: str = ""


Item = (
    Use
    | Dimension
    | UnitDecl
    | TypeAlias
    | Enum
    | Kind
    | Fn
    | Part
    | Evaluator
    | Claim
    | Let
    | Allow
    | Calibrated
    | Display
)


@frozen(eq=False)
class Comment:
    """A `#` comment, for the formatter: where it starts, its text with the `#`, own line or not."""

    start: int
    text: str
    own_line: bool


@frozen(eq=False)
class Module:
    """A parsed file. `doc` is the text of its `#!` comments."""

    source: Source
    edition: int | None
    items: tuple[Item, ...]
    comments: tuple[Comment, ...]
    doc: str = ""
