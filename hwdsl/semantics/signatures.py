"""Signatures: members of kinds, parameters of functions, kinds and shapes of components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from hwdsl.base.diagnostics import with_article
from hwdsl.base.source import Span
from hwdsl.base.units import Dim
from hwdsl.semantics.scopes import (
    PREDECLARED,
    duplicate,
    duplicate_rule,
    find_value,
    module_of_path,
    unique,
)
from hwdsl.semantics.state import IMPLICIT, RESERVED, CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    EMPTY_SHAPE,
    ComponentInfo,
    FunctionInfo,
    Global,
    KindInfo,
    ListType,
    MemberInfo,
    ModuleScope,
    RecordType,
    Shape,
    Type,
)
from hwdsl.semantics.type_relations import (
    BOOL,
    INT,
    POISON,
    TEXT,
    describe,
    dim_variable,
    innermost,
    is_assignable,
    kind_of,
)
from hwdsl.semantics.typeexprs import find_kind, resolve_type
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import range_rule


def sign_module(state: CheckerState, scope: ModuleScope) -> None:
    """Fill in members of kinds, signatures of functions; defer shapes of components."""
    for symbol in scope.values.values():
        if isinstance(symbol, ComponentInfo):
            _defer_component(state, symbol)
    for symbol in scope.values.values():
        if isinstance(symbol, KindInfo):
            _sign_kind(state, symbol)
        elif isinstance(symbol, FunctionInfo):
            sign_function(state, symbol)


def _sign_kind(state: CheckerState, kind: KindInfo) -> None:
    assert kind.decl is not None
    assert kind.scope is not None
    for member in kind.decl.members:
        if isinstance(member, ast.Field | ast.Let | ast.Part | ast.Fn):
            _sign_member(state, kind, kind.scope, member)
        rule = range_rule(member) if isinstance(member, ast.Field) else member
        if isinstance(rule, ast.Rule):
            before = kind.rules.get(rule.name.name)
            if before is not None:
                duplicate_rule(state, rule, before)
            kind.rules[rule.name.name] = rule


_ROLES: Mapping[type, str] = {ast.Field: "field", ast.Let: "let", ast.Part: "part", ast.Fn: "fn"}


def _sign_member(
    state: CheckerState,
    kind: KindInfo,
    scope: ModuleScope,
    node: ast.Field | ast.Let | ast.Part | ast.Fn,
) -> None:
    name = node.name.name
    # `range_rule` takes `inf` for no bound by its text alone, before names are resolved.
    if name in (*RESERVED, *PREDECLARED):
        reserved(state, node.name)
        return
    before = kind.members.get(name)
    if before is not None:
        duplicate(state, name, node.name, before.decl.name.span)
        state.pending.pop(before, None)  # which of the two types holds is not known
        return
    info = MemberInfo(name, _ROLES[type(node)], POISON, node, kind)
    kind.members[name] = info
    if isinstance(node, ast.Field):
        state.defer_type(info, partial(resolve_type, state, TypeEnv(scope), node.type))
    elif isinstance(node, ast.Part):
        state.defer_type(info, partial(part_type, state, scope, node))
    elif isinstance(node, ast.Fn):
        method = FunctionInfo(name, (), (), POISON, scope, node, kind)
        sign_function(state, method)
        state.methods[node] = method
        info.type = method.result


def reserved(state: CheckerState, ident: ast.Ident) -> None:
    """Report a declaration of a reserved name."""
    state.error(
        "reserved-name",
        f"`{ident.name}` has a meaning of its own in every component",
        ident.span,
        help="choose another name",
    )


def override_conflicts(state: CheckerState, kind: KindInfo) -> None:
    """Report members that change what a base kind promises."""
    for info in kind.members.values():
        inherited = kind.base.member(info.name) if kind.base is not None else None
        if inherited is None:
            continue
        span = info.decl.name.span
        old = state.type_of(inherited, span)
        new = state.type_of(info, span)
        # A field may be derived, and a derived member given: both are read alike.
        if info.role != inherited.role and {info.role, inherited.role} != {"field", "let"}:
            _override(state, info, inherited, f"a {info.role}", f"a {inherited.role}")
        elif not is_assignable(new, old):
            scope = info.owner.scope
            assert scope is not None
            _override(state, info, inherited, describe(new, scope), describe(old, scope))


def _override(
    state: CheckerState, info: MemberInfo, inherited: MemberInfo, new: str, old: str
) -> None:
    state.error(
        "type-mismatch",
        f"`{info.name}` is {old} in `{inherited.owner.name}` and cannot become {new}",
        info.decl.name.span,
        f"here it is {new}",
        others=[(inherited.decl.name.span, f"there it is {old}")],
        help="keep the type, or choose another name",
    )


def sign_function(state: CheckerState, info: FunctionInfo) -> None:
    """Resolve a function's parameters and result."""
    info.dim_vars = tuple(d.name for d in info.decl.dim_vars)
    info.parameters, info.result = read_signature(state, info.scope, info.decl)


def read_signature(
    state: CheckerState, scope: ModuleScope, decl: ast.Fn | ast.ExternFn
) -> tuple[tuple[tuple[str, Type], ...], Type]:
    """The types of a function's parameters by their names, and of its result."""
    env = function_env(TypeEnv(scope), decl)
    seen: dict[str, Span] = {}
    parameters = [
        (parameter.name.name, resolve_type(state, env, parameter.type))
        for parameter in decl.parameters
        if unique(state, seen, parameter.name)
    ]
    result = resolve_type(state, env, decl.result)
    for ident in decl.dim_vars:
        if all(dim_variable(innermost(t)) != f"'{ident.name}" for _, t in parameters):
            state.error(
                "dimension-variable",
                f"no parameter of `{decl.name.name}` is plainly of dimension `{ident.name}`",
                ident.span,
                help=f"`{ident.name}` or `[{ident.name}]` must be the type of some parameter",
            )
    return tuple(parameters), result


def function_env(env: TypeEnv, decl: ast.Fn | ast.ExternFn) -> TypeEnv:
    """The environment of a function's signature: its dimension variables."""
    return env._replace(dim_vars={d.name: Dim.base(f"'{d.name}") for d in decl.dim_vars})


# --- components --------------------------------------------------------------------------------


def _defer_component(state: CheckerState, info: ComponentInfo) -> None:
    kind = find_kind(state, info.scope, (info.decl.kind,))
    if kind is not None:
        info.kind = kind
        state.resolve(info.decl.kind, Global(kind))

    def work() -> None:
        found = _base_of(state, info.scope, info.decl)
        if kind is None or (found is None and info.decl.base is not None) or found in state.broken:
            state.broken.add(info)
        if isinstance(found, ComponentInfo):
            info.base = found
        if kind is None and found is not None:  # the kind that is meant, most likely
            info.kind = found.kind if isinstance(found, ComponentInfo) else found
        type_ = part_type(state, info.scope, info.decl, info.kind)
        if isinstance(type_, RecordType):
            info.kind, info.shape = type_.kind, type_.shape or EMPTY_SHAPE

    state.defer(info, info.decl.name, work)


def _base_of(
    state: CheckerState, scope: ModuleScope, node: ast.Part
) -> ComponentInfo | KindInfo | None:
    """What stands after the `:` of a component or part; reported if it is nothing of the sort."""
    if node.base is None:
        return None
    last = node.base[-1]
    # Asked again for each block around the part: an ambiguous name is reported only once.
    noted = state.checked.resolutions.get(last)
    if isinstance(noted, Global) and isinstance(noted.symbol, ComponentInfo | KindInfo):
        return noted.symbol
    home = module_of_path(state, scope, node.base)
    if home is None:
        return None
    symbol = (
        find_value(state, scope, last.name, last.span)
        if len(node.base) == 1
        else home.values.get(last.name)
    )
    if isinstance(symbol, ComponentInfo | KindInfo):
        state.resolve(last, Global(symbol))
        return symbol
    if symbol is None:
        known = (n for n, s in home.visible_values.items() if isinstance(s, ComponentInfo))
        of = home if len(node.base) > 1 else None
        state.unknown("unknown-name", "component", last.name, last.span, known, of=of)
    else:
        state.error("type-mismatch", f"`{last.name}` is no component", last.span)
    return None


def part_type(
    state: CheckerState, scope: ModuleScope, node: ast.Part, known: KindInfo | None = None
) -> Type:
    """The type of a part or component: its kind, and the shape its base and block give it."""
    kind = known or find_kind(state, scope, (node.kind,))
    if kind is None:
        return POISON
    state.resolve(node.kind, Global(kind))
    base = _base_of(state, scope, node)
    shape = EMPTY_SHAPE
    if isinstance(base, KindInfo):
        kind = _narrow(state, node, kind, base)
    elif base is None and node.base is not None:
        return POISON
    elif base is not None:
        type_ = state.component_type(base, node.span)
        if not isinstance(type_, RecordType):
            return POISON
        kind, shape = _narrow(state, node, kind, type_.kind), type_.shape or EMPTY_SHAPE
    return RecordType(kind, block_shape(state, scope, RecordType(kind, shape), node.members))


def _narrow(state: CheckerState, node: ast.Part, kind: KindInfo, base: KindInfo) -> KindInfo:
    if base.is_a(kind):
        return base
    assert node.base is not None
    if not kind.is_a(base):
        last = node.base[-1]
        state.error(
            "type-mismatch",
            f"`{last.name}` is {with_article(base.name)}, not {with_article(kind.name)}",
            last.span,
            f"this is {with_article(base.name)}",
            others=[(node.kind.span, f"{with_article(kind.name)} is declared here")],
        )
    return kind


def block_shape(
    state: CheckerState, scope: ModuleScope, record: RecordType, members: Iterable[ast.Member]
) -> Shape:
    """The shape of a record after the parts and amendments of a block."""
    parts = dict(record.parts)
    for member in members:
        if isinstance(member, ast.Part):
            type_ = part_type(state, scope, member)
            if isinstance(type_, RecordType):
                parts[member.name.name] = (type_.kind, type_.shape or EMPTY_SHAPE)
        elif isinstance(member, ast.Amend):
            current = RecordType(record.kind, Shape(parts))
            _amend_shape(state, scope, current, parts, member.path, member.members)
    return Shape(parts)


def _amend_shape(
    state: CheckerState,
    scope: ModuleScope,
    record: RecordType,
    parts: dict[str, tuple[KindInfo, Shape]],
    path: tuple[ast.Ident, ...],
    members: tuple[ast.Member, ...],
) -> None:
    name = path[0].name
    target = member_of(state, record, name, path[0].span)
    if not isinstance(target, RecordType) or name not in part_names(record):
        return
    if len(path) == 1:
        shape = block_shape(state, scope, target, members)
    else:
        inner = dict(target.parts)
        _amend_shape(state, scope, target, inner, path[1:], members)
        shape = Shape(inner)
    parts[name] = (target.kind, shape)


def part_names(record: RecordType) -> list[str]:
    """The names of a record's known parts: slots of its kind, then those of its shape."""
    names = [
        m.name
        for k in reversed(list(record.kind.lineage()))
        for m in k.members.values()
        if m.role == "part"
    ]
    return list(dict.fromkeys([*names, *record.parts]))


def member_of(state: CheckerState, type_: Type, name: str, span: Span) -> Type | None:
    """The type of a record's member; None if there is none. A `fn` member has its result type."""
    if isinstance(type_, RecordType) and name in type_.parts:
        return RecordType(*type_.parts[name])
    kind = kind_of(type_)
    if kind is None:
        return None
    if name in IMPLICIT:
        own: dict[str, Type] = {"name": TEXT, "count": INT, "feasible": BOOL}
        return own.get(name) or ListType(RecordType(state.component))
    info = kind.member(name)
    return None if info is None else state.type_of(info, span)


def member_names(type_: Type) -> list[str]:
    """All member names of a record, for did-you-mean."""
    kind = kind_of(type_)
    if kind is None:
        return []
    names = [m for k in kind.lineage() for m in k.members]
    own = type_.parts if isinstance(type_, RecordType) else ()
    return [*names, *own, *IMPLICIT]
