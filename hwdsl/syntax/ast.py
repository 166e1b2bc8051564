"""The syntax tree: what a .hw file says, before anything is known about what it means.

All nodes are frozen, compare by identity (so that tables may be keyed by node), hold children as
tuples and carry the span they came from. `doc` is the text of the `##` comments before a node.
"""

from __future__ import annotations

from attrs import frozen

from hwdsl.base.source import Source
from hwdsl.syntax.ast_base import (
    Ident,
    Node,
    Rest,
    TypeBinary,
    TypeExpr,
    TypeList,
    TypeName,
    TypeOne,
    TypePower,
    TypeRef,
    UnitExpr,
    UnitFactor,
)  # fmt: skip
from hwdsl.syntax.ast_expr import (
    CONFIDENCES,
    Allow,
    Amend,
    Argument,
    Arm,
    Assign,
    Attr,
    Binary,
    Bool,
    Call,
    Compare,
    Comprehension,
    Cond,
    Expr,
    Field,
    FieldValue,
    Fn,
    Generator,
    Hole,
    Index,
    Iterate,
    Let,
    ListLit,
    Match,
    Member,
    Name,
    Next,
    Number,
    Parameter,
    Part,
    Pattern,
    Quantity,
    Rule,
    SourceNote,
    State,
    Template,
    Text,
    Unary,
    Unknown,
    Until,
    With,
)  # fmt: skip

__all__ = [  # what stands in `ast_base` and `ast_expr`; all else here is public too
    "CONFIDENCES",
    "Allow",
    "Amend",
    "Argument",
    "Arm",
    "Assign",
    "Attr",
    "Binary",
    "Bool",
    "Call",
    "Compare",
    "Comprehension",
    "Cond",
    "Expr",
    "Field",
    "FieldValue",
    "Fn",
    "Generator",
    "Hole",
    "Ident",
    "Index",
    "Iterate",
    "Let",
    "ListLit",
    "Match",
    "Member",
    "Name",
    "Next",
    "Node",
    "Number",
    "Parameter",
    "Part",
    "Pattern",
    "Quantity",
    "Rest",
    "Rule",
    "SourceNote",
    "State",
    "Template",
    "Text",
    "TypeBinary",
    "TypeExpr",
    "TypeList",
    "TypeName",
    "TypeOne",
    "TypePower",
    "TypeRef",
    "Unary",
    "UnitExpr",
    "UnitFactor",
    "Unknown",
    "Until",
    "With",
]  # fmt: skip

# --- members of evaluators and claims ----------------------------------------------------------

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
class ExternFn(Node):
    """`extern fn name[D](parameters) -> result`: a function of the language, without a body."""

    name: Ident
    dim_vars: tuple[Ident, ...]
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    doc: str = ""

    @property
    def signature(self) -> str:
        """Name, parameters and result as written, on one line."""
        text = self.span.source.text[self.name.span.start : self.result.span.end]
        return " ".join(text.split())


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
    | ExternFn
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
