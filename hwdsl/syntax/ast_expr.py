"""The expressions of the syntax tree and the members of blocks, which hold each other."""

from __future__ import annotations

from hwdsl.base.source import Span
from hwdsl.syntax.ast_base import Ident, Node, TypeExpr, UnitExpr

# --- expressions -----------------------------------------------------------------------------


class Number(Node, frozen=True):
    """A literal without unit. `text` keeps the digits as written (underscores included)."""

    text: str

    @property
    def is_int(self) -> bool:
        """Whether the literal is an int: digits only."""
        return self.text.replace("_", "").isdigit()


class Quantity(Node, frozen=True):
    """A literal with its unit."""

    text: str
    unit: UnitExpr


class Text(Node, frozen=True):
    """A string literal, escapes resolved. `parts` is its reading as a template (see Template)."""

    value: str


class Bool(Node, frozen=True):
    """`true` or `false`."""

    value: bool


class Name(Node, frozen=True):
    """A bare name."""

    name: str


class Attr(Node, frozen=True):
    """`base.name`."""

    base: Expr
    name: Ident


class Index(Node, frozen=True):
    """`base[index]`."""

    base: Expr
    index: Expr


class Argument(Node, frozen=True):
    """An argument; `name` is None for a positional one."""

    name: Ident | None
    value: Expr


class Call(Node, frozen=True):
    """`function(arguments)`; a reducer over generators is a Call of one Comprehension."""

    function: Expr
    arguments: tuple[Argument, ...]


class ListLit(Node, frozen=True):
    """`[a, b, c]`."""

    items: tuple[Expr, ...]


class Generator(Node, frozen=True):
    """`for name in iterable`, or `for name, name in zip(iterable, iterable)`."""

    names: tuple[Ident, ...]
    iterables: tuple[Expr, ...]


class Comprehension(Node, frozen=True):
    """`element for … for … if condition`, in brackets (`is_list`) or as a reducer's argument."""

    element: Expr
    generators: tuple[Generator, ...]
    condition: Expr | None
    is_list: bool


class Unary(Node, frozen=True):
    """op is `-`, `+` or `not`."""

    op: str
    operand: Expr


class Binary(Node, frozen=True):
    """op is one of `+ - * / ^ and or ..`, or a range without an end: `<.. ..< <..<`."""

    op: str
    left: Expr
    right: Expr
    op_span: Span


class Compare(Node, frozen=True):
    """A chain `a < b <= c`; `ops` has one entry less than `operands`."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


class Cond(Node, frozen=True):
    """`if condition then yes else no`."""

    condition: Expr
    yes: Expr
    no: Expr


class Pattern(Node, frozen=True):
    """One alternative: a path to an enum case, a literal number as text, or neither for `else`."""

    path: tuple[Ident, ...] | None = None
    number: str | None = None


class Is(Node, frozen=True):
    """`subject is patterns`, none of which is `else`."""

    subject: Expr
    patterns: tuple[Pattern, ...]


class Arm(Node, frozen=True):
    """`patterns => value`."""

    patterns: tuple[Pattern, ...]
    value: Expr


class Match(Node, frozen=True):
    """`match subject { arms }`."""

    subject: Expr
    arms: tuple[Arm, ...]


class Iterate(Node, frozen=True):
    """`iterate variable in range { members }`; members are State, Next, Until and Let."""

    variable: Ident
    range: Expr
    members: tuple[State | Next | Until | Let, ...]


class With(Node, frozen=True):
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
    | Is
    | Cond
    | Match
    | Iterate
    | With
)


class Hole(Node, frozen=True):
    """`{expr}` or `{expr in unit}` in a message."""

    value: Expr
    unit: UnitExpr | None


class Template(Node, frozen=True):
    """A message: literal text and holes, in order."""

    parts: tuple[str | Hole, ...]


# --- members ---------------------------------------------------------------------------------


class Unknown(Node, frozen=True):
    """`unknown "why"`: the value of a field that nobody knows, with the reason."""

    reason: str


FieldValue = Expr | Unknown


class Field(Node, frozen=True):
    """`name : type = default in low .. high` in a kind."""

    name: Ident
    type: TypeExpr
    default: FieldValue | None
    range: Expr | None = None
    sources: Basis | None = None
    doc: str = ""


class Assign(Node, frozen=True):
    """`path = value` in a component or `with` block."""

    path: tuple[Ident, ...]
    value: FieldValue
    sources: Basis | None = None


class Amend(Node, frozen=True):
    """`path { members }`: amends an inherited part."""

    path: tuple[Ident, ...]
    members: tuple[Member, ...]


class Let(Node, frozen=True):
    """`let name : type = value`, anywhere."""

    name: Ident
    type: TypeExpr | None
    value: Expr
    sources: Basis | None = None
    doc: str = ""


class Rule(Node, frozen=True):
    """`require` (or, if `warns`, `warn`) `name: condition else message help text`."""

    name: Ident
    warns: bool
    condition: Expr
    message: Template | None
    help: Template | None
    sources: Basis | None = None
    doc: str = ""


CONFIDENCES = ("low", "medium", "high")
"""How sure a source is, the least first."""


class Citation(Node, frozen=True):
    """`reference "where in it" confidence medium`, or the source itself as a text."""

    reference: Ident | None
    text: str | None
    confidence: Ident | None


class Sources(Node, frozen=True):
    """`source (citation, citation)`: of the declaration it ends, else of the block it stands in."""

    citations: tuple[Citation, ...]


class Assume(Node, frozen=True):
    """`assume "what is taken for granted"`: in a claim, or of the declaration it ends."""

    text: str


Basis = Sources | Assume


class Allow(Node, frozen=True):
    """`allow path "reason"`: a waiver for the rule of that path."""

    path: tuple[Ident, ...]
    reason: str


class Part(Node, frozen=True):
    """`kind name[count] : base { members }`, at top level a component, inside one a part."""

    kind: Ident
    name: Ident
    count: Expr | None
    base: tuple[Ident, ...] | None
    members: tuple[Member, ...]
    sources: Basis | None = None
    doc: str = ""


class Parameter(Node, frozen=True):
    """A function's parameter; `known` ones must not depend on a param of the evaluator."""

    name: Ident
    type: TypeExpr
    default: Expr | None
    known: bool


class Fn(Node, frozen=True):
    """`fn name[D](parameters) -> result { lets value }`."""

    name: Ident
    dim_vars: tuple[Ident, ...]
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    lets: tuple[Let, ...]
    body: Expr
    sources: Basis | None = None
    doc: str = ""


Member = Field | Assign | Amend | Let | Rule | Sources | Assume | Part | Fn | Allow


class State(Node, frozen=True):
    """`state name : type = initial` of an `iterate`."""

    name: Ident
    type: TypeExpr
    initial: Expr


class Next(Node, frozen=True):
    """`next name[index] = value`."""

    name: Ident
    index: Expr | None
    value: Expr


class Until(Node, frozen=True):
    """`until condition`."""

    condition: Expr
