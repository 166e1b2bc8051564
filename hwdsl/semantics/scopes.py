"""Scopes: what a module imports, and looking names up in its three namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from itertools import chain
from typing import TypeVar

from hwdsl.base.diagnostics import closest
from hwdsl.base.source import Span
from hwdsl.base.units import Unit
from hwdsl.semantics.import_suggestions import elsewhere_help
from hwdsl.semantics.modules import PRELUDE, Loaded
from hwdsl.semantics.state import IMPLICIT, PERCENT, RESERVED, CheckerState, ScopeTables, TypeEnv
from hwdsl.semantics.symbols import (
    BoolType,
    Int,
    ModuleScope,
    RecordType,
    Symbol,
    TextType,
    TypeSymbol,
    ValueInfo,
)
from hwdsl.semantics.type_relations import REAL
from hwdsl.syntax import ast

T = TypeVar("T")

PRIMITIVE: Mapping[str, TypeSymbol] = {
    "real": REAL,
    "int": Int(),
    "bool": BoolType(),
    "text": TextType(),
}
PREDECLARED = ("pi", "inf")


def open_scope(
    state: CheckerState, loaded: Loaded, scopes: Mapping[str, ModuleScope]
) -> ModuleScope:
    """Make a module's scope with all it imports; what it declares itself comes later."""
    scope = ModuleScope(loaded.name, loaded.tree)
    extra = state.extras[scope] = ScopeTables()
    scope.visible_types.update({**PRIMITIVE, "component": state.component})
    scope.visible_units["%"] = PERCENT
    if loaded.name != PRELUDE and PRELUDE in scopes:
        _import_all(scope, scopes[PRELUDE], ScopeTables(), {})
    origin: dict[tuple[str, str], str] = {}
    uses = [(use, scopes[name]) for use, name in loaded.modules.items() if name in scopes]
    for use, module in uses:
        alias = use.alias or use.path[-1]
        if use.names is None:
            _import_all(scope, module, extra, origin)
        scope.namespaces[alias.name] = module
    _note_lost(state, loaded, scopes)
    for use, module in uses:
        for name in use.names or ():
            _import_one(state, scope, module, name, extra)
    return scope


def _note_lost(state: CheckerState, loaded: Loaded, scopes: Mapping[str, ModuleScope]) -> None:
    """Note the names that a failed import would have brought."""
    source = loaded.tree.source.name
    for use in loaded.tree.items:
        if not isinstance(use, ast.Use):
            continue
        module = scopes.get(loaded.modules.get(use, ""))
        alias = use.alias or (use.path[-1] if use.path else None)
        if use.file is not None:
            failed = use not in loaded.tables
        else:
            failed = module is None or module.tree.source.name in state.incomplete
        if failed and use.names is None and use.file is None:
            state.incomplete.add(source)
        if failed:
            names = {n.name for n in use.names or ()} | ({alias.name} if alias else set())
            state.lost.setdefault(source, set()).update(names)


def _public(name: str) -> bool:
    return not name.startswith("_")


def _import_all(
    scope: ModuleScope, module: ModuleScope, extra: ScopeTables, origin: dict[tuple[str, str], str]
) -> None:
    _merge("value", scope.visible_values, module, module.values, extra.ambiguous_values, origin)
    _merge("type", scope.visible_types, module, module.types, extra.ambiguous_types, origin)
    _merge("unit", scope.visible_units, module, module.units, extra.ambiguous_units, origin)


def _merge(
    space: str,
    visible: MutableMapping[str, T],
    module: ModuleScope,
    own: Mapping[str, T],
    ambiguous: dict[str, tuple[str, str]],
    origin: dict[tuple[str, str], str],
) -> None:
    for name, symbol in own.items():
        if not _public(name):
            continue
        before = origin.get((space, name))
        if before is not None and visible.get(name) is not symbol:
            ambiguous[name] = (before, module.name)
        origin[space, name] = module.name
        visible[name] = symbol


def _import_one(
    state: CheckerState,
    scope: ModuleScope,
    module: ModuleScope,
    ident: ast.Ident,
    extra: ScopeTables,
) -> None:
    name = ident.name
    found = False
    if name in module.values:
        found = True
        scope.visible_values[name] = module.values[name]
        extra.ambiguous_values.pop(name, None)
    if name in module.types:
        found = True
        scope.visible_types[name] = module.types[name]
        extra.ambiguous_types.pop(name, None)
    for unit in state.extras[module].families.get(name, (name,)):
        if unit in module.units:
            found = True
            scope.visible_units[unit] = module.units[unit]
            extra.ambiguous_units.pop(unit, None)
    if not found:
        if module.tree.source.name in state.incomplete:
            return
        known = state.comparable(chain(module.values, module.types, module.units))
        close = closest(name, known)
        state.error(
            "unknown-name",
            f"`{module.name}` has nothing called `{name}`",
            ident.span,
            help=state.missing_help(module, name)
            or elsewhere_help(name)
            or (close and f"did you mean `{close}`?"),
        )
        lost = state.lost.setdefault(ident.span.source.name, set())
        lost.update({name, close or name})  # the text below may spell it right
        return
    for space in ("value", "type", "unit"):
        extra.places.setdefault((f"import {space}", name), ident.span)


def declare(
    state: CheckerState, scope: ModuleScope, spaces: Iterable[str], ident: ast.Ident, name: str = ""
) -> bool:
    """Claim a name in some of a module's namespaces; False (and a finding) if it is taken."""
    extra = state.extras[scope]
    name = name or ident.name
    spaces = tuple(spaces)
    if (
        name in RESERVED
        or (name in PREDECLARED and "value" in spaces)
        or (name in (*PRIMITIVE, "component") and "type" in spaces)
    ):
        state.error(
            "reserved-name",
            f"`{name}` has a meaning of its own in the language",
            ident.span,
            help="choose another name",
        )
        return False
    for space in spaces:
        before = extra.places.get((space, name))
        if before is not None:
            duplicate(state, name, ident, before)
            extra.doubled.add(name)
            return False
    for space in spaces:
        extra.places[space, name] = ident.span
    return True


def duplicate(state: CheckerState, name: str, ident: ast.Ident, before: Span) -> None:
    """Report a name declared twice."""

    state.error(
        "duplicate-name",
        f"`{name}` is declared twice",
        ident.span,
        "declared again here",
        others=[(before, "first declared here")],
        help="rename one of them",
    )


def own_value(state: CheckerState, scope: ModuleScope, name: str, symbol: Symbol) -> None:
    """Enter a module's own value."""
    scope.values[name] = scope.visible_values[name] = symbol
    state.extras[scope].ambiguous_values.pop(name, None)


def own_type(state: CheckerState, scope: ModuleScope, name: str, symbol: TypeSymbol) -> None:
    """Enter a module's own type."""
    scope.types[name] = scope.visible_types[name] = symbol
    state.extras[scope].ambiguous_types.pop(name, None)


def own_unit(state: CheckerState, scope: ModuleScope, unit: Unit) -> None:
    """Enter a module's own unit."""
    scope.units[unit.name] = scope.visible_units[unit.name] = unit
    state.extras[scope].ambiguous_units.pop(unit.name, None)


def ambiguous(
    state: CheckerState, name: str, clashes: Mapping[str, tuple[str, str]], span: Span
) -> bool:
    """Report a name that two imports bring, if this is one."""
    clash = clashes.get(name)
    if clash is None:
        return False
    state.error(
        "ambiguous-name",
        f"`{name}` comes from `{clash[0]}` and from `{clash[1]}`",
        span,
        help=f"import it by name from one of them: `use {clash[0]}: {name}`",
    )
    return True


def find_value(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> Symbol | None:
    """The module-level value of that name; ambiguity is reported here."""
    extra = state.extras[scope]
    if name in extra.ambiguous_values:
        ambiguous(state, name, extra.ambiguous_values, span)
    return scope.visible_values.get(name)


def find_type(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> TypeSymbol | None:
    """The type of that name; ambiguity is reported here."""
    extra = state.extras[scope]
    if name in extra.ambiguous_types:
        ambiguous(state, name, extra.ambiguous_types, span)
    return scope.visible_types.get(name)


def find_unit(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> Unit | None:
    """The unit of that name; ambiguity is reported here."""
    extra = state.extras[scope]
    if name in extra.ambiguous_units:
        ambiguous(state, name, extra.ambiguous_units, span)
    return scope.visible_units.get(name)


# --- names as they are read --------------------------------------------------------------------


def has_member(record: RecordType, name: str) -> bool:
    """Whether a record has a member that a bare name can mean."""
    if record.shape is not None and name in record.shape.parts:
        return True
    return name in IMPLICIT or record.kind.member(name) is not None


def levels(env: TypeEnv, name: str) -> list[int]:
    """The enclosing records that have a member of that name, the innermost first."""
    found = [i for i, record in enumerate(env.records) if has_member(record, name)]
    return found[:1] if name in IMPLICIT else found


def may_be_case(env: TypeEnv, expr: ast.Expr) -> int:
    """How readily a bare name gives way to an enum's case of that name, where one is expected.

    0 for what does not, as variables and members; 1 for values of the module, 2 for its other
    names, 3 for a name that means nothing else.
    """
    if not isinstance(expr, ast.Name):
        return 0
    name = expr.name
    if name in env.locals or name in PREDECLARED or name in ("self", "outer") or levels(env, name):
        return 0
    if name not in env.scope.visible_values:
        return 3
    return 1 if isinstance(env.scope.visible_values[name], ValueInfo) else 2
