"""What names stand for and which types expressions have: what the checker says to the elaborator.

Types name kinds and enums, whose members have types: so they stand in one module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import define, field, frozen

from hwdsl.base.units import ONE, Dim, Unit
from hwdsl.syntax import ast

# --- types: quantities are reals with a dimension ------------------------------------------------


@frozen
class Real:
    """A float64 with a dimension; `Real()` is a pure number.

    `generic` numbers are the literals `0`, `inf` and `-inf`, and what consists of them: their
    dimension is the one wanted, a pure number's where none is. No name has a generic type.
    """

    dim: Dim = ONE
    generic: bool = field(default=False, eq=False)

    def __str__(self) -> str:
        return "real" if self.dim.is_dimensionless else str(self.dim)


@frozen
class Int:
    """An integer (a double below 2^53); widens to a dimensionless real, never back.

    `generic` as of `Real`.
    """

    generic: bool = field(default=False, eq=False)

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

    @property
    def parts(self) -> Mapping[str, tuple[KindInfo, Shape]]:
        """The parts that are known beyond the slots of the kind."""
        return self.shape.parts if self.shape is not None else EMPTY_SHAPE.parts

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


# --- symbols --------------------------------------------------------------------------------------


class _Named:
    """A short text: all that hangs on a symbol may be gigabytes of it."""

    __slots__ = ()
    name: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


@define(eq=False, repr=False)
class ModuleScope(_Named):
    """One module with what it declares and imports.

    `name` is the dotted path (`std.memory`, or the stem of a user's file). The four namespaces:
    `values` (lets, components, functions, evaluators, claims, calibrated, tables, enums and kinds
    by name), `types` (dimensions, aliases, enums, kinds), `units` and `references`. `visible_*`
    also hold what is imported.
    """

    name: str
    tree: ast.Module
    values: dict[str, Symbol] = field(factory=dict)
    types: dict[str, TypeSymbol] = field(factory=dict)
    units: dict[str, Unit] = field(factory=dict)
    references: dict[str, ast.Reference] = field(factory=dict)
    visible_values: dict[str, Symbol] = field(factory=dict)
    visible_types: dict[str, TypeSymbol] = field(factory=dict)
    visible_units: dict[str, Unit] = field(factory=dict)
    visible_references: dict[str, ast.Reference] = field(factory=dict)
    namespaces: dict[str, ModuleScope] = field(factory=dict)


@define(eq=False, repr=False)
class EnumInfo(_Named):
    """A declared enum; a case's value is its index."""

    name: str
    cases: tuple[str, ...]
    scope: ModuleScope
    decl: ast.Enum


@define(eq=False)
class MemberInfo:
    """A member of a kind: `role` is `field`, `let`, `part` or `fn`.

    `owner` is the kind whose text declares it (the elaborator merges choices on it). `type` of a
    `fn` member is its result type. `decl.default`/`decl.value`/`decl.body` is evaluated in the
    scope of `owner`'s module with the record as `self`. A part slot has kind and shape in `type`.
    """

    name: str
    role: str
    type: Type
    decl: ast.Field | ast.Let | ast.Part | ast.Fn
    owner: KindInfo


@define(eq=False, repr=False)
class KindInfo(_Named):
    """A kind: its own members and rules, of ranges too; `lineage` leads to those of its bases.

    The root kind is `component`; its `decl` is None. `qualified` is `module.kind`.
    """

    name: str
    qualified: str
    base: KindInfo | None
    scope: ModuleScope | None
    decl: ast.Kind | None
    members: dict[str, MemberInfo] = field(factory=dict)
    rules: dict[str, ast.Rule] = field(factory=dict)

    def lineage(self) -> Iterator[KindInfo]:
        """This kind, then its base, and so on to `component`."""
        kind: KindInfo | None = self
        while kind is not None:
            yield kind
            kind = kind.base

    def member(self, name: str) -> MemberInfo | None:
        """The member of that name, the most derived first."""
        for kind in self.lineage():
            if name in kind.members:
                return kind.members[name]
        return None

    def is_a(self, other: KindInfo) -> bool:
        """Whether this kind is `other` or extends it."""
        return any(kind is other for kind in self.lineage())


@frozen(eq=False)
class Shape:
    """The parts a component expression is known to have beyond its kind's slots.

    Maps a part's name to its kind and its own shape.
    """

    parts: Mapping[str, tuple[KindInfo, Shape]]


EMPTY_SHAPE = Shape({})


@define(eq=False, repr=False)
class ComponentInfo(_Named):
    """A top-level component (`memory HBM3E : HBM3 { … }`)."""

    name: str
    kind: KindInfo
    base: ComponentInfo | None
    shape: Shape
    scope: ModuleScope
    decl: ast.Part


@define(eq=False, repr=False)
class FunctionInfo(_Named):
    """A function or method; `parameters` in order, with default expressions in `decl`."""

    name: str
    dim_vars: tuple[str, ...]
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    scope: ModuleScope
    decl: ast.Fn
    kind: KindInfo | None = None


@define(eq=False, repr=False)
class BuiltinInfo(_Named):
    """A function of the language; its signature is resolved when it is first called."""

    name: str
    scope: ModuleScope
    decl: ast.ExternFn
    signature: tuple[tuple[tuple[str, Type], ...], Type] | None = None


@define(eq=False, repr=False)
class ValueInfo(_Named):
    """A module-level `let` or `calibrated`."""

    name: str
    type: Type
    scope: ModuleScope
    decl: ast.Let | ast.Calibrated


@define(eq=False, repr=False)
class TableInfo(_Named):
    """An imported CSV: columns of equal length, numbers converted to base units."""

    name: str
    columns: Mapping[str, tuple[Type, tuple[float | str, ...]]]
    digest: str


@define(eq=False, repr=False)
class EvaluatorInfo(_Named):
    """An evaluator; `free` maps params and choices to their types, `outputs` outputs to theirs.

    `rules` has those of ranges of params too.
    """

    name: str
    scope: ModuleScope
    decl: ast.Evaluator
    free: dict[str, Type] = field(factory=dict)
    outputs: dict[str, Type] = field(factory=dict)
    rules: dict[str, ast.Rule] = field(factory=dict)


@define(eq=False, repr=False)
class ClaimInfo(_Named):
    """A claim."""

    name: str
    scope: ModuleScope
    decl: ast.Claim


Symbol = (
    ComponentInfo
    | FunctionInfo
    | ValueInfo
    | TableInfo
    | EvaluatorInfo
    | ClaimInfo
    | KindInfo
    | EnumInfo
)
TypeSymbol = Dim | Type | KindInfo | EnumInfo
"""What a name in type position stands for: a dimension, an alias's type, a kind or an enum."""


# --- what the checker says of an expression ----------------------------------------------------


@frozen
class Local:
    """A variable of the enclosing text: let, param, choice, parameter, loop variable, state."""

    name: str


@frozen
class MemberOf:
    """A member of an enclosing record: `level` 0 is `self`, 1 the record around it, …"""

    name: str
    level: int


@frozen
class EnclosingRecord:
    """The name `self` (level 0) or `outer` (level 1)."""

    level: int


@frozen(eq=False)
class Global:
    """A module-level symbol."""

    symbol: Symbol


@frozen(eq=False)
class Case:
    """A case of an enum."""

    enum: EnumInfo
    index: int


@frozen
class Builtin:
    """A function of the language itself, such as `max` or `exp`."""

    name: str


@frozen(eq=False)
class Method:
    """`record.f` where f is a `fn` of the record's kind; look it up again in the actual kind."""

    name: str


@frozen
class CaseArms:
    """Of a `match` over an enum: for each case the index of the arm that takes it.

    Of an `is`: 0 for the cases that it names, 1 for the others.
    """

    arms: tuple[int, ...]


@frozen
class ExactQuotient:
    """Of `a / b` of ints in `floor(a / b)` or `ceil(a / b)`: the operation that does both exactly.

    `code` is `floordiv` or `ceildiv`. A real quotient has been rounded before `floor` sees it, and
    may be an int where the exact one lies below it.
    """

    code: str


@frozen
class ShortFor:
    """Of a call that is written shorter than what it means: the expression that it stands for."""

    expr: ast.Expr


Resolution = (
    Local
    | MemberOf
    | EnclosingRecord
    | Global
    | Case
    | Builtin
    | Method
    | CaseArms
    | ExactQuotient
    | ShortFor
)


@define(eq=False, repr=False)
class Checked:
    """The checked program: the main module, all modules, and what the checker found out.

    `resolutions` has an entry for every Name, for every Attr that is a qualified name (module or
    enum path), for every Attr that is the function of a method call, for the kind and base of every
    Part, for every Match and Is over an enum (`CaseArms`), for every quotient of ints under `floor`
    or `ceil` (`ExactQuotient`), and for every call that is `ShortFor` another expression. `types`
    has one for every expression, `units` one for every UnitExpr. A body is checked before its
    entries are read: call `ensure(decl)` first, which does nothing if it is done already. `inputs`
    are the files read for the main one: paths and hashes. `bodies` are the checks still to be done,
    of modules that were found clean before.
    """

    main: ModuleScope
    modules: dict[str, ModuleScope]
    component: KindInfo
    resolutions: dict[ast.Node, Resolution] = field(factory=dict)
    types: dict[ast.Node, Type] = field(factory=dict)
    units: dict[ast.UnitExpr, Unit] = field(factory=dict)
    inputs: Mapping[str, str] = field(factory=dict)
    bodies: dict[Symbol, Callable[[], None]] = field(factory=dict)

    def __repr__(self) -> str:
        return f"<checked {self.main.name}>"

    def ensure(self, owner: Symbol) -> None:
        """Check the bodies of a symbol (and of its members) if that has not been done."""
        work = self.bodies.pop(owner, None)
        if work is not None:
            work()
