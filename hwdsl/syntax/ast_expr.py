"""The expressions of the syntax tree and the members of blocks, which hold each other."""

from __future__ import annotations

from attrs import frozen

from hwdsl.base.source import Span
from hwdsl.syntax.ast_base import Ident, Node, TypeExpr, UnitExpr

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
