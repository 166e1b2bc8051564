"""Bodies of definitions: kinds, functions, components, evaluators, claims."""

from __future__ import annotations

from functools import partial

from hwdsl.semantics.blocks import bind_lets, check_block, check_rule, force_local, let_type
from hwdsl.semantics.builtins import check_declarations
from hwdsl.semantics.displays import check_display
from hwdsl.semantics.evaluators import check_bounds, check_claim, check_evaluator
from hwdsl.semantics.expressions import check_default, require
from hwdsl.semantics.modules import BUILTINS
from hwdsl.semantics.ranges import check_field_range
from hwdsl.semantics.required_fields import check_missing
from hwdsl.semantics.scopes import duplicate_rule
from hwdsl.semantics.signatures import function_env, override_conflicts, part_type
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    ClaimInfo,
    ComponentInfo,
    EvaluatorInfo,
    FunctionInfo,
    Int,
    KindInfo,
    ModuleScope,
    RecordType,
    Symbol,
    Type,
    ValueInfo,
)
from hwdsl.semantics.type_relations import dimension, is_poison
from hwdsl.semantics.typeexprs import resolve_type
from hwdsl.syntax import ast


def defer_bodies(state: CheckerState, scope: ModuleScope) -> None:
    """Put off what must be typed on demand: lets of kinds, module values, evaluators."""
    for symbol in scope.values.values():
        if isinstance(symbol, KindInfo):
            env = kind_env(symbol)
            for info in symbol.members.values():
                if isinstance(info.decl, ast.Let):
                    state.defer_type(info, partial(let_type, state, env, info.decl))
        elif isinstance(symbol, ValueInfo):
            state.defer_type(symbol, partial(_value_type, state, symbol))
        elif isinstance(symbol, EvaluatorInfo):
            state.defer(symbol, symbol.decl.name, partial(check_evaluator, state, symbol))


def kind_env(kind: KindInfo, owner: Symbol | None = None) -> TypeEnv:
    """The environment of a kind's members."""
    assert kind.scope is not None
    return TypeEnv(kind.scope, owner, records=(RecordType(kind),))


def _value_type(state: CheckerState, info: ValueInfo) -> Type:
    env, node = TypeEnv(info.scope, info), info.decl
    if isinstance(node, ast.Let):
        return let_type(state, env, node)
    type_ = resolve_type(state, env, node.type)
    if dimension(type_) is None and not is_poison(type_):
        state.error("not-a-number", f"a coefficient is a number, not {type_}", node.type.span)
    require(state, env, node.value, type_, f"`{info.name}`", node.type.span)
    if node.range is not None:
        check_bounds(state, env, node.range, type_, f"the bounds of `{info.name}`")
    return type_


def check_bodies(state: CheckerState, scope: ModuleScope) -> None:
    """Check every definition of a module."""
    for symbol in scope.values.values():
        _check_body(state, symbol)
    if scope.name == BUILTINS:
        check_declarations(state)
    for item in scope.tree.items:
        if isinstance(item, ast.Display):
            check_display(state, scope, item)


def check_bodies_later(state: CheckerState, scope: ModuleScope) -> None:
    """Check the definitions of a module one by one, when something asks for them."""
    for symbol in scope.values.values():
        state.checked.bodies[symbol] = partial(_check_body, state, symbol)


def _check_body(state: CheckerState, symbol: Symbol) -> None:
    if isinstance(symbol, KindInfo):
        _check_kind(state, symbol)
    elif isinstance(symbol, FunctionInfo):
        check_function(state, symbol, TypeEnv(symbol.scope, symbol))
    elif isinstance(symbol, ComponentInfo):
        _check_component(state, symbol)
    elif isinstance(symbol, ClaimInfo):
        check_claim(state, symbol)
    elif isinstance(symbol, ValueInfo | EvaluatorInfo):
        state.force(symbol)


def _check_kind(state: CheckerState, kind: KindInfo) -> None:
    assert kind.decl is not None
    override_conflicts(state, kind)
    _check_rule_names(state, kind)
    env = kind_env(kind, kind)
    others: list[ast.Member] = []
    for member in kind.decl.members:
        if isinstance(member, ast.Field):
            field = kind.members.get(member.name.name)
            if field is not None and (member.default is not None or member.range is not None):
                type_ = state.type_of(field, member.name.span)
                check_default(state, env, member, type_)
                check_field_range(state, env, member, type_, kind.rules.get(field.name))
        elif isinstance(member, ast.Let):
            info = kind.members.get(member.name.name)
            if info is not None:
                state.type_of(info, member.name.span)
        elif isinstance(member, ast.Part):
            _check_slot(state, env, member)
        elif isinstance(member, ast.Fn):
            method = state.methods.get(member)
            if method is not None:
                check_function(state, method, env._replace(owner=method))
        elif isinstance(member, ast.Rule):
            check_rule(state, env, member)
        else:
            others.append(member)
    check_block(state, TypeEnv(env.scope, kind), RecordType(kind), others)
    # Members are typed when read: the rest now, or what is wrong in them would not be found.
    for info in kind.members.values():
        state.force(info)


def _check_rule_names(state: CheckerState, kind: KindInfo) -> None:
    for name, rule in kind.rules.items():
        for base in kind.base.lineage() if kind.base is not None else ():
            # The range of a field that is declared again takes the place of the one before.
            if name in base.rules and not (_is_range(kind, name) and _is_range(base, name)):
                duplicate_rule(state, rule, base.rules[name])


def _is_range(kind: KindInfo, name: str) -> bool:
    """Whether the rule of that name is the range of a field."""
    member = kind.members.get(name)
    return member is not None and member.decl.name is kind.rules[name].name


def _check_slot(state: CheckerState, env: TypeEnv, node: ast.Part) -> None:
    if node.count is not None:
        require(state, env, node.count, Int(), "a count")
    type_ = part_type(state, env.scope, node)
    if isinstance(type_, RecordType):
        state.note_call(env.owner, type_.kind, node.span)
        check_block(state, env, type_, node.members)


def check_function(state: CheckerState, info: FunctionInfo, env: TypeEnv) -> None:
    """Check a function's defaults, lets and body."""
    env = function_env(env, info.decl)
    types = dict(info.parameters)
    for parameter in info.decl.parameters:
        check_default(state, env, parameter, types[parameter.name.name])
    for parameter in info.decl.parameters:
        env = env.bind(parameter.name, types[parameter.name.name])
    taken = {p.name.name: p.name.span for p in info.decl.parameters}
    env = bind_lets(state, env, info.decl.lets, taken)
    for let in info.decl.lets:
        force_local(state, env, let.name.name)
    what = f"the result of `{info.name}`"
    require(state, env, info.decl.body, info.result, what, info.decl.result.span)


def _check_component(state: CheckerState, info: ComponentInfo) -> None:
    type_ = state.component_type(info, info.decl.span)
    if info.decl.count is not None:
        state.error(
            "misplaced-member",
            "a component at top level is one; parts have counts",
            info.decl.count.span,
            help="leave out the count",
        )
    if isinstance(type_, RecordType):
        check_block(state, TypeEnv(info.scope, info), type_, info.decl.members)
        check_missing(state, info)
