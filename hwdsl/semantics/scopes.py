"""Scopes: what a module imports, and looking names up in its three namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from hwdsl.base.diagnostics import closest
from hwdsl.base.source import Span
from hwdsl.base.units import Unit
from hwdsl.semantics.import_suggestions import elsewhere_help
from hwdsl.semantics.modules import PRELUDES, Loaded
from hwdsl.semantics.state import IMPLICIT, PERCENT, RESERVED, CheckerState, ScopeTables, TypeEnv
from hwdsl.semantics.symbols import (
    BoolType,
    Int,
    ModuleScope,
    RecordType,
    Symbol,
    TextType,
    Type,
    TypeSymbol,
    ValueInfo,
)
from hwdsl.semantics.type_relations import REAL, kind_of
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import is_range_rule

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
    extra = state.extras[scope] = ScopeTables(scope)
    scope.visible_types.update({**PRIMITIVE, "component": state.component})
    scope.visible_units["%"] = PERCENT
    for prelude in PRELUDES:
        if prelude in scopes:
            # Noted as coming from nowhere: an imported name hides the prelude's without a clash.
            _import_all(extra, state.extras[scopes[prelude]], {})
    origin: dict[tuple[str, str], str] = {}
    uses = [(use, scopes[name]) for use, name in loaded.modules.items() if name in scopes]
    for use, module in uses:
        alias = use.alias or use.path[-1]
        if use.names is None:
            _import_all(extra, state.extras[module], origin)
        scope.namespaces[alias.name] = module
    _note_lost(state, loaded, scopes)
    # After the imports of whole modules, so that a name asked for ends a clash between those.
    for use, module in uses:
        for name in use.names or ():
            _import_one(state, extra, module, name)
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
        if failed and use.names is None and use.file is None:  # may have brought any name
            state.incomplete.add(source)
        if failed:
            names = {n.name for n in use.names or ()} | ({alias.name} if alias else set())
            state.lost.setdefault(source, set()).update(names)


def _import_all(
    extra: ScopeTables, imported: ScopeTables, origin: dict[tuple[str, str], str]
) -> None:
    """Bring in every public name of a module; `origin` says which module brought each so far."""
    module = imported.scope.name
    for space, (declared, _) in imported.spaces.items():
        visible = extra.spaces[space][1]
        for name, symbol in declared.items():
            if name.startswith("_"):
                continue
            before = origin.get((space, name))
            if before is not None and visible.get(name) is not symbol:
                extra.clashes[space, name] = (before, module)
            origin[space, name] = module
            visible[name] = symbol


def _import_one(
    state: CheckerState, extra: ScopeTables, module: ModuleScope, ident: ast.Ident
) -> None:
    """Bring in one name from all the namespaces of a module that have it; it settles a clash."""
    name, imported = ident.name, state.extras[module]
    found = False
    for space, (declared, _) in imported.spaces.items():
        for each in imported.families.get(name, (name,)) if space == "unit" else (name,):
            if each in declared:
                found = True
                extra.spaces[space][1][each] = declared[each]
                extra.clashes.pop((space, each), None)
    if not found:
        if module.tree.source.name in state.incomplete:
            return
        known = state.comparable(chain(*(declared for declared, _ in imported.spaces.values())))
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


def duplicate(
    state: CheckerState, name: str, ident: ast.Ident, before: Span, help: str | None = None
) -> None:
    """Report a name declared twice."""
    state.error(
        "duplicate-name",
        f"`{name}` is declared twice",
        ident.span,
        "declared again here",
        others=[(before, "first declared here")],
        help=help or "rename one of them",
    )


def duplicate_rule(state: CheckerState, rule: ast.Rule, before: ast.Rule) -> None:
    """Report a rule whose name another has, which may be that of a range."""
    name = rule.name.name
    ranged = is_range_rule(rule) or is_range_rule(before)
    help = f"the range of `{name}` is a rule of that name: rename the `require`" if ranged else None
    duplicate(state, name, rule.name, before.name.span, help)


def unique(state: CheckerState, seen: dict[str, Span], ident: ast.Ident) -> bool:
    """Note a name in `seen`; False (and a finding) if it is there already."""
    before = seen.get(ident.name)
    if before is not None:
        duplicate(state, ident.name, ident, before)
        return False
    seen[ident.name] = ident.span
    return True


def enter(
    state: CheckerState,
    scope: ModuleScope,
    spaces: Iterable[str],
    name: str,
    symbol: Symbol | TypeSymbol | Unit | ast.Reference,
) -> None:
    """Enter what a module declares itself, which hides what it imports."""
    extra = state.extras[scope]
    for space in spaces:
        declared, visible = extra.spaces[space]
        declared[name] = visible[name] = symbol
        extra.clashes.pop((space, name), None)


def _report_clash(
    state: CheckerState, scope: ModuleScope, space: str, name: str, span: Span
) -> None:
    """Report a name that two imports bring, if this is one."""
    clash = state.extras[scope].clashes.get((space, name))
    if clash is not None:
        state.error(
            "ambiguous-name",
            f"`{name}` comes from `{clash[0]}` and from `{clash[1]}`",
            span,
            help=f"import it by name from one of them: `use {clash[0]}: {name}`",
        )


def find_value(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> Symbol | None:
    """The module-level value of that name; ambiguity is reported here."""
    _report_clash(state, scope, "value", name, span)
    return scope.visible_values.get(name)


def find_type(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> TypeSymbol | None:
    """The type of that name; ambiguity is reported here."""
    _report_clash(state, scope, "type", name, span)
    return scope.visible_types.get(name)


def find_unit(state: CheckerState, scope: ModuleScope, name: str, span: Span) -> Unit | None:
    """The unit of that name; ambiguity is reported here."""
    _report_clash(state, scope, "unit", name, span)
    return scope.visible_units.get(name)


def find_reference(state: CheckerState, scope: ModuleScope, cited: ast.Ident) -> None:
    """Report a citation of a reference that there is not, or that two imports bring."""
    _report_clash(state, scope, "reference", cited.name, cited.span)
    if cited.name in scope.visible_references:
        return
    help = f'declare it, as in `reference {cited.name} : paper 2024 "…"`, or import it'
    known = scope.visible_references
    if cited.name == "assume":
        known, help = {}, 'an assumption stands alone, without a source: `assume "why"`'
    elif cited.name in (*scope.visible_values, *scope.visible_types):
        known, help = {}, f"`{cited.name}` is no reference: {help}"
    state.unknown("unknown-reference", "reference", cited.name, cited.span, known, otherwise=help)


def module_of_path(
    state: CheckerState, scope: ModuleScope, path: Sequence[ast.Ident]
) -> ModuleScope | None:
    """The module in which the last name of a dotted path is looked up; reported if none."""
    for ident in path[:-1]:
        inner = scope.namespaces.get(ident.name)
        if inner is None:
            state.unknown("unknown-module", "module", ident.name, ident.span, scope.namespaces)
            return None
        scope = inner
    return scope


# --- names as they are read --------------------------------------------------------------------


def has_member(type_: Type, name: str) -> bool:
    """Whether a record, or what a ref points at, has a member of that name."""
    kind = kind_of(type_)
    if kind is None:
        return False
    if isinstance(type_, RecordType) and name in type_.parts:
        return True
    return name in IMPLICIT or kind.member(name) is not None


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
