"""The items of a file in the syntax tree, and the members of evaluators and claims."""

from __future__ import annotations

from attrs import frozen

from hwdsl.base.source import Source
from hwdsl.syntax.ast_base import Ident, Node, TypeExpr, UnitExpr
from hwdsl.syntax.ast_expr import (
    Allow,
    Assign,
    Assume,
    Basis,
    Expr,
    Fn,
    Let,
    Member,
    Parameter,
    Part,
    Rule,
    Sources,
)  # fmt: skip

# --- members of evaluators and claims ----------------------------------------------------------

CHANCE = "~"  # an even number between 0 and 1; no text can spell this name


class Param(Node, frozen=True):
    """`param name : type = default in range ~ distribution`.

    The distribution is a call whose first argument, not written, is the variable `CHANCE`.
    """

    name: Ident
    type: TypeExpr
    default: Expr | None
    range: Expr | None
    distribution: Expr | None
    sources: Basis | None = None
    doc: str = ""


class Choice(Node, frozen=True):
    """`choice name : type in alternatives = default`."""

    name: Ident
    type: TypeExpr
    alternatives: Expr
    default: Expr | None
    sources: Basis | None = None
    doc: str = ""


class Output(Node, frozen=True):
    """`output name in unit = value` or `output name : type = value`."""

    name: Ident
    unit: UnitExpr | None
    type: TypeExpr | None
    value: Expr
    sources: Basis | None = None
    doc: str = ""


class Expect(Node, frozen=True):
    """`[calibration|identity] expect condition within tolerance relative|absolute` with tails.

    `status` is `""`, `calibration` or `identity`; `mode` is `""`, `relative`, `absolute` or
    `factor`. With a tolerance, `condition` must be a Compare with one `==`. Tails are `baseline`,
    what a null model says instead, and `missed "why"`: it is known not to hold.
    """

    condition: Expr
    tolerance: Expr | None
    mode: str
    status: str = ""
    missed: str | None = None
    baseline: Expr | None = None


# --- items -----------------------------------------------------------------------------------


class Use(Node, frozen=True):
    """`use path [as alias] [: names]`, or `use "file.csv" as alias`."""

    path: tuple[Ident, ...]
    file: str | None
    alias: Ident | None
    names: tuple[Ident, ...] | None


class Dimension(Node, frozen=True):
    """`dimension name`."""

    name: Ident
    doc: str = ""


class UnitDecl(Node, frozen=True):
    """`unit name = value offset value prefix …`; a base unit is `unit name : type prefix …`."""

    name: Ident
    value: Expr | None
    type: TypeExpr | None
    offset: Expr | None
    prefixes: tuple[Ident, ...]
    doc: str = ""


class TypeAlias(Node, frozen=True):
    """`type name = type`."""

    name: Ident
    type: TypeExpr
    doc: str = ""


class Enum(Node, frozen=True):
    """`enum name { cases }`."""

    name: Ident
    cases: tuple[Ident, ...]
    sources: Basis | None = None
    doc: str = ""


class Kind(Node, frozen=True):
    """`kind name : base { members }`."""

    name: Ident
    base: tuple[Ident, ...] | None
    members: tuple[Member, ...]
    doc: str = ""


class Evaluator(Node, frozen=True):
    """`evaluator name { members }`."""

    name: Ident
    members: tuple[Param | Choice | Let | Output | Rule | Allow | Basis, ...]
    doc: str = ""


class Claim(Node, frozen=True):
    """`claim name { members }`."""

    name: Ident
    members: tuple[Let | Expect | Sources | Allow | Assume, ...]
    doc: str = ""


class ExternFn(Node, frozen=True):
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


class Calibrated(Node, frozen=True):
    """`calibrated name : type = value in low .. high source …`."""

    name: Ident
    type: TypeExpr
    value: Expr
    range: Expr | None
    sources: Sources
    doc: str = ""


class Reference(Node, frozen=True):
    """`reference name : kind year "title and where it was published"`."""

    name: Ident
    kind: Ident
    year: str
    title: str
    doc: str = ""


class Display(Node, frozen=True):
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
    | Reference
    | Sources
    | Assume
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
