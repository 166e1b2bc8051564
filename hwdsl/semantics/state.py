"""The state of the checker: findings, tables, deferred work, and the call graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from attrs import define, field, frozen

from hwdsl.base.diagnostics import Diagnostics, did_you_mean
from hwdsl.base.source import Span
from hwdsl.base.units import Dim, Unit
from hwdsl.semantics.import_suggestions import import_help
from hwdsl.semantics.renamed import new_name
from hwdsl.semantics.symbols import (
    BuiltinInfo,
    Checked,
    ComponentInfo,
    EvaluatorInfo,
    FunctionInfo,
    KindInfo,
    MemberInfo,
    ModuleScope,
    RecordType,
    Resolution,
    Symbol,
    TableInfo,
    Type,
    ValueInfo,
)
from hwdsl.semantics.type_relations import POISON
from hwdsl.syntax import ast
from hwdsl.syntax.habits import elsewhere

PERCENT = Unit("%", Dim(), Fraction(1, 100))
IMPLICIT = ("name", "count", "parts", "feasible")
RESERVED = (*IMPLICIT, "self", "outer")
MOST_COMPARED = 500_000
"""So many names are compared with unknown ones to suggest what was meant: about a second."""
_NAMES = (
    "unknown-name",
    "unknown-type",
    "unknown-kind",
    "unknown-function",
    "unknown-unit",
    "unknown-reference",
)


@define(eq=False)
class ScopeTables:
    """What the checker alone needs of a module besides its `ModuleScope`.

    `spaces` are its namespaces `value`, `type`, `unit` and `reference`: what it declares in each,
    what it sees. `clashes` are names that two imports bring, by namespace, with the two modules.
    """

    scope: ModuleScope
    spaces: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(init=False)
    clashes: dict[tuple[str, str], tuple[str, str]] = field(factory=dict)
    families: dict[str, tuple[str, ...]] = field(factory=dict)  # a unit's names, with prefixes
    places: dict[tuple[str, str], Span] = field(factory=dict)  # where names are declared
    products: dict[tuple[tuple[str, int], ...], Unit] = field(factory=dict)
    doubled: set[str] = field(factory=set)  # names declared twice: nothing is known of them

    def __attrs_post_init__(self) -> None:
        of = self.scope
        self.spaces = {
            "value": (of.values, of.visible_values),
            "type": (of.types, of.visible_types),
            "unit": (of.units, of.visible_units),
            "reference": (of.references, of.visible_references),
        }


@define(eq=False)
class LazyBinding:
    """A variable of a whole block, wherever it stands there: typed when first read."""

    decl: ast.Let | ast.Param | ast.Choice | ast.Output
    type: Type = POISON


Typed = MemberInfo | ValueInfo | LazyBinding
"""Declarations that are typed when first read."""


@frozen
class Variable:
    """A local variable: its type, where it is declared, inside how many record blocks."""

    type: Type
    span: Span
    depth: int
    lazy: LazyBinding | None = None


class TypeEnv(NamedTuple):
    """What names mean at some place of the text.

    `records` are the enclosing records, the innermost first. `owner` is the definition whose text
    this is (for recursion). `assigning` is the field whose value this is, if any. `given` are the
    members that the block around this sets to the variables of the same names.
    """

    # A tuple, since environments are made for every block and variable: `_replace` takes a third
    # of the time of `attrs.evolve`.
    scope: ModuleScope
    owner: Symbol | None = None
    locals: Mapping[str, Variable] = MappingProxyType({})
    records: tuple[RecordType, ...] = ()
    dim_vars: Mapping[str, Dim] = MappingProxyType({})
    assigning: str | None = None
    given: frozenset[str] = frozenset()

    def bind(self, name: ast.Ident, type_: Type) -> TypeEnv:
        """This environment with one more variable."""
        variable = Variable(type_, name.span, len(self.records))
        return self._replace(locals={**self.locals, name.name: variable})

    def bind_lazy(self, variables: Mapping[str, LazyBinding]) -> TypeEnv:
        """This environment with the variables of a block."""
        depth = len(self.records)
        own = {n: Variable(POISON, v.decl.name.span, depth, v) for n, v in variables.items()}
        return self._replace(locals={**self.locals, **own})

    def enter(self, record: RecordType, given: frozenset[str] = frozenset()) -> TypeEnv:
        """This environment inside the block of a record."""
        return self._replace(records=(record, *self.records), assigning=None, given=given)


@frozen(eq=False)
class MemberSetting:
    """Something a text sets: the path from the record, and the node (an Assign or a Part)."""

    path: tuple[str, ...]
    node: ast.Assign | ast.Part


def _home(key: object) -> ModuleScope | None:
    """The module of deferred work, if it follows from the key."""
    if isinstance(key, MemberInfo):
        return key.owner.scope
    return key.scope if isinstance(key, ComponentInfo | ValueInfo | EvaluatorInfo) else None


@define(eq=False)
class CheckerState:
    """The checker's state, shared by all its parts."""

    diagnostics: Diagnostics
    checked: Checked
    extras: dict[ModuleScope, ScopeTables] = field(factory=dict)
    pending: dict[object, Callable[[], None]] = field(factory=dict)
    active: list[tuple[object, ast.Ident]] = field(factory=list)  # keys of work under way
    lost: dict[str, set[str]] = field(factory=dict)
    incomplete: set[str] = field(factory=set)
    shadowed: set[tuple[Span, KindInfo]] = field(factory=set)  # variables that hide a member: told
    misread: set[tuple[str, int]] = field(factory=set)  # where the parser read no number
    unread: dict[str, list[int]] = field(factory=dict)  # by file: where the parser left text out
    broken: set[object] = field(factory=set)
    waivers: list[ast.Allow] = field(factory=list)  # those in blocks
    circular: set[object] = field(factory=set)  # definitions in a circle that has been reported
    settings: dict[ast.Node, list[MemberSetting]] = field(factory=dict)  # what a text sets
    inherited: dict[ComponentInfo, list[MemberSetting]] = field(
        factory=dict
    )  # with what its bases set
    complete: set[ast.Part] = field(factory=set)  # parts that lack nothing as they are declared
    lacking: set[tuple[ast.Part, ast.Part]] = field(factory=set)  # component, part: reported
    depth: int = 0
    compared: int = 0  # names, with those that are unknown
    methods: dict[ast.Fn, FunctionInfo] = field(factory=dict)
    builtins: dict[str, BuiltinInfo] = field(factory=dict)
    calls: dict[Symbol, dict[Symbol, Span]] = field(factory=dict)

    @property
    def component(self) -> KindInfo:
        """The root kind."""
        return self.checked.component

    def error(
        self,
        name: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        others: Sequence[tuple[Span, str]] = (),
        help: str | None = None,
    ) -> Type:
        """Report an error and return the type of what is in error."""
        self.diagnostics.error(name, message, span, label, others=others, help=help)
        return POISON

    def missing_help(self, module: ModuleScope, name: str) -> str | None:
        """What to write for a name that a module lacks, if it is known why it does."""
        if name in self.builtins:
            return f"every file sees `{name}` without a `use`"
        new = new_name(module.name, name)
        known = new in module.values or new in module.types or new in module.units
        return f"it is called `{new}` now" if known else None

    def unknown(
        self,
        name: str,
        what: str,
        ident: str,
        span: Span,
        known: Iterable[str],
        *,
        of: ModuleScope | None = None,
        otherwise: str | None = None,
    ) -> Type:
        """Report an unknown name, `of` a module if one is named, with the closest known one.

        `otherwise` is the help where none is close.
        Nothing is said of names that a failed import or an unread item would have brought.
        """
        source = span.source.name
        if name in _NAMES and (source in self.incomplete or ident in self.lost.get(source, ())):
            return POISON
        help = self.missing_help(of, ident) if of is not None else None
        help = help or (import_help(name, ident) if name in _NAMES else None)
        help = help or elsewhere(name, ident) or did_you_mean(ident, self.comparable(known))
        return self.error(name, f"unknown {what} `{ident}`", span, "", help=help or otherwise)

    def comparable(self, known: Iterable[str]) -> Sequence[str]:
        """The names that an unknown one is compared with, to suggest the closest.

        None if very many were compared before: thousands of unknown names have one cause.
        """
        if self.compared > MOST_COMPARED:
            return ()
        names = list(known)
        self.compared += len(names)
        return names

    def is_broken(self, kind: KindInfo) -> bool:
        """Whether a kind or a base of it is in error, so that what it lacks is not known."""
        return any(k in self.broken or self.is_doubled(k) for k in kind.lineage())

    def is_doubled(self, symbol: Symbol) -> bool:
        """Whether another declaration has the symbol's name, so that its type is not known."""
        scope = None if isinstance(symbol, TableInfo) else symbol.scope
        return scope is not None and symbol.name in self.extras[scope].doubled

    def resolve(self, node: ast.Node, resolution: Resolution) -> None:
        """Record the symbol that a name denotes."""
        self.checked.resolutions[node] = resolution

    def note_call(self, caller: Symbol | None, callee: Symbol, span: Span) -> None:
        """Note that the text of `caller` evaluates `callee`."""
        if caller is not None:
            self.calls.setdefault(caller, {}).setdefault(callee, span)

    def force(self, key: object) -> bool:
        """Do the deferred work of `key`; False if it is under way, which is a cycle."""
        # Taken out before it is done: what asks for it meanwhile finds it among `active`.
        work = self.pending.pop(key, None)
        if work is not None:
            work()
            return True
        return all(key != k for k, _ in self.active)

    def defer(self, key: object, ident: ast.Ident, work: Callable[[], None]) -> None:
        """Defer `work` until `key` is forced: declarations may stand in any order."""

        def run() -> None:
            self.active.append((key, ident))
            work()
            self.active.pop()

        self.pending[key] = run

    def defer_type(self, declared: Typed, type_of: Callable[[], Type]) -> None:
        """Defer the typing of a declaration until something reads it."""

        def work() -> None:
            declared.type = type_of()

        self.defer(declared, declared.decl.name, work)

    def force_all(self, *, but: Collection[ModuleScope]) -> None:
        """Do all deferred work, but for that of some modules."""
        kept = {}
        while self.pending:  # work may defer more work
            key = next(iter(self.pending))
            if _home(key) in but:
                kept[key] = self.pending.pop(key)
            else:
                self.force(key)
        self.pending.update(kept)

    def cycle(self, key: object, span: Span, name: str = "field-cycle") -> Type:
        """Report that the definition of `key` needs itself, with the chain."""
        start = next(i for i, (k, _) in enumerate(self.active) if k == key)
        chain = self.active[start:]
        self.circular.update(k for k, _ in chain)
        names = [ident.name for _, ident in chain]
        path = " -> ".join([*names, names[0]])
        return self.error(
            name,
            f"`{names[0]}` is defined by itself: {path}",
            span,
            f"this leads back to `{names[0]}`",
            others=[(ident.span, f"`{ident.name}` is declared here") for _, ident in chain],
            help="break the circle, for instance by stating a type or a value",
        )

    def type_of(self, declared: Typed, span: Span) -> Type:
        """The type of what is read at `span`, inferred now if need be."""
        return declared.type if self.force(declared) else self.cycle(declared, span)

    def component_type(self, component: ComponentInfo, span: Span) -> Type:
        """The type of a component, with its shape."""
        if not self.force(component):
            self.broken.add(component)
            return self.cycle(component, span)
        if component in self.broken:
            return POISON
        return RecordType(component.kind, component.shape)
