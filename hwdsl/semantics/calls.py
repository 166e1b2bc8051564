"""Calls: functions, methods, constructors and evaluators; dimension variables are bound here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from attrs import frozen

from hwdsl.base.source import Span
from hwdsl.base.units import Dim
from hwdsl.semantics.builtins import call_builtin
from hwdsl.semantics.expressions import infer, require
from hwdsl.semantics.generic_numbers import settle
from hwdsl.semantics.name_resolution import qualified
from hwdsl.semantics.scopes import find_value, has_member, levels
from hwdsl.semantics.signatures import member_names
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    EMPTY_SHAPE,
    Builtin,
    ClaimInfo,
    ComponentInfo,
    EvaluatorInfo,
    FunctionInfo,
    Global,
    KindInfo,
    ListType,
    MemberOf,
    Method,
    RecordType,
    ResultType,
    Shape,
    Symbol,
    Type,
)
from hwdsl.semantics.type_errors import mismatch, short
from hwdsl.semantics.type_relations import (
    BOOL,
    POISON,
    describe,
    dim_variable,
    dimension,
    is_assignable,
    is_generic,
    is_poison,
    kind_of,
    substitute,
)
from hwdsl.syntax import ast

_Callable = FunctionInfo | KindInfo | EvaluatorInfo


def call_type(state: CheckerState, env: TypeEnv, node: ast.Call, expected: Type | None) -> Type:
    """The type of a call."""
    type_ = _called(state, env, node)
    state.checked.types[node.function] = type_  # the name of a function is no value with a type
    return type_


def _called(state: CheckerState, env: TypeEnv, node: ast.Call) -> Type:
    function = node.function
    if isinstance(function, ast.Name):
        return _by_name(state, env, node, function)
    if isinstance(function, ast.Attr):
        found = qualified(env, function)
        if found is not None and found[1] is not None:
            state.resolve(function, Global(found[1]))
            return _call_symbol(state, env, node, found[1])
        # A value may have the name of a module: `x.f()` is then a method of the value.
        if found is not None and function.base.span.text not in env.scope.visible_values:
            of, name = found[0], function.name
            state.unknown("unknown-function", "function", name.name, name.span, of.values, of=of)
            return _arguments_alone(state, env, node)
        return _method(state, env, node, function)
    type_ = infer(state, env, function)
    if not is_poison(type_):
        state.error("unknown-function", f"{short(function)} is no function", function.span)
    return _arguments_alone(state, env, node)


def _arguments_alone(state: CheckerState, env: TypeEnv, node: ast.Call) -> Type:
    """Check the arguments of a call that leads nowhere; bare names may be cases of any enum."""
    for argument in node.arguments:
        infer(state, env, argument.value, POISON)
    return POISON


def _by_name(state: CheckerState, env: TypeEnv, node: ast.Call, function: ast.Name) -> Type:
    name = function.name
    for level in levels(env, name):
        info = env.records[level].kind.member(name)
        if info is not None and isinstance(info.decl, ast.Fn):
            state.resolve(function, MemberOf(name, level))
            return _call_function(state, env, node, state.methods[info.decl])
    symbol = find_value(state, env.scope, name, function.span)
    # What can be called hides a function of the language; a component of that name does not.
    if isinstance(symbol, _Callable) or (symbol is not None and name not in state.builtins):
        state.resolve(function, Global(symbol))
        return _call_symbol(state, env, node, symbol)
    # An import that failed may have brought a function that hides the language's.
    if name in state.builtins and name not in state.lost.get(function.span.source.name, ()):
        state.resolve(function, Builtin(name))
        return call_builtin(state, env, node, state.builtins[name])
    visible = (n for n, s in env.scope.visible_values.items() if isinstance(s, _Callable))
    kinds = (k for record in env.records for k in record.kind.lineage())
    own = (n for k in kinds for n, m in k.members.items() if m.role == "fn")
    known = chain(state.builtins, visible, own)
    state.unknown("unknown-function", "function", name, function.span, known)
    return _arguments_alone(state, env, node)


def _call_symbol(state: CheckerState, env: TypeEnv, node: ast.Call, symbol: Symbol) -> Type:
    if state.is_doubled(symbol):
        return _arguments_alone(state, env, node)
    if isinstance(symbol, FunctionInfo):
        return _call_function(state, env, node, symbol)
    if isinstance(symbol, KindInfo):
        return _construct(state, env, node, symbol)
    if isinstance(symbol, EvaluatorInfo):
        return _call_evaluator(state, env, node, symbol)
    help = None
    if isinstance(symbol, ComponentInfo):
        help = f"to amend a component write `{symbol.name} with {{ … }}`"
    elif isinstance(symbol, ClaimInfo):
        help = "a claim is evaluated by `hwdsl verify`"
    span = node.function.span
    state.error("unknown-function", f"`{symbol.name}` cannot be called", span, help=help)
    return _arguments_alone(state, env, node)


def _method(state: CheckerState, env: TypeEnv, node: ast.Call, function: ast.Attr) -> Type:
    base = infer(state, env, function.base)
    name = function.name.name
    kind = kind_of(base)
    info = kind.member(name) if kind is not None else None
    if info is not None and isinstance(info.decl, ast.Fn):
        state.resolve(function, Method(name))
        return _call_function(state, env, node, state.methods[info.decl])
    if not is_poison(base):
        if kind is not None and has_member(base, name):
            state.error(
                "unknown-function",
                f"`{name}` of `{kind.name}` is no function",
                function.name.span,
                help="leave out the parentheses",
            )
        else:
            have = describe(base, env.scope, function.base)
            what = f"function of {have}:"
            known = member_names(base)
            state.unknown("unknown-function", what, name, function.name.span, known)
    return _arguments_alone(state, env, node)


# --- arguments ---------------------------------------------------------------------------------


@frozen
class Slot:
    """A parameter to be given: its name, type, whether it may be left out, where it stands."""

    name: str
    type: Type
    optional: bool
    span: Span


def _pair(
    state: CheckerState,
    env: TypeEnv,
    node: ast.Call,
    slots: Sequence[Slot],
    what: str,
    positional: bool,
) -> dict[str, ast.Expr] | None:
    """Which argument goes to which parameter; None (and findings) if that does not work out."""
    by_name = {slot.name: slot for slot in slots}
    given: dict[str, ast.Expr] = {}
    fine = True
    for number, argument in enumerate(node.arguments):
        if argument.name is None and (not positional or number >= len(slots)):
            many = f"{len(slots)} argument{'' if len(slots) == 1 else 's'}"
            message = f"{what} takes {many if positional else 'its arguments by name'}"
            help = "it takes " + ", ".join(f"`{s.name}`" for s in slots) if slots else None
            state.error("unknown-argument", message, argument.value.span, help=help)
            fine = False
            continue
        name = argument.name.name if argument.name is not None else slots[number].name
        place = argument.name.span if argument.name is not None else argument.value.span
        if name not in by_name:
            state.unknown("unknown-argument", f"argument of {what}:", name, place, by_name)
            fine = False
        elif name in given:
            state.error(
                "duplicate-name",
                f"`{name}` is given twice",
                place,
                others=[(given[name].span, "first given here")],
            )
            fine = False
        else:
            given[name] = argument.value
    missing = [s for s in slots if not s.optional and s.name not in given]
    if missing and fine:
        names = ", ".join(f"`{s.name}`" for s in missing)
        state.error(
            "missing-argument",
            f"{what} also needs {names}",
            node.span,
            others=[(s.span, f"`{s.name}` is {describe(s.type, env.scope)}") for s in missing],
        )
        fine = False
    return given if fine else None


def _call_function(state: CheckerState, env: TypeEnv, node: ast.Call, info: FunctionInfo) -> Type:
    state.note_call(env.owner, info, node.span)
    decls = {p.name.name: p for p in info.decl.parameters}
    slots = [
        Slot(name, type_, decls[name].default is not None, decls[name].span)
        for name, type_ in info.parameters
    ]
    given = _pair(state, env, node, slots, f"`{info.name}`", positional=True)
    if given is None:
        _arguments_alone(state, env, node)
        return substitute(info.result, {})
    actual = {s.name: infer(state, env, given[s.name], s.type) for s in slots if s.name in given}
    bindings = _bind(info, actual)
    for slot in slots:
        if slot.name not in given:
            continue
        wanted = substitute(slot.type, bindings)
        if not is_assignable(actual[slot.name], wanted):
            what = f"`{slot.name}` of `{info.name}`"
            mismatch(state, env, given[slot.name], actual[slot.name], wanted, what, slot.span)
        else:
            settle(state, env, given[slot.name], wanted)
    return substitute(info.result, bindings)


def _bind(info: FunctionInfo, actual: Mapping[str, Type]) -> dict[str, Dim]:
    """Dimension variables, from the first argument in whose parameter each stands alone.

    A literal `0` or `inf` says nothing of the dimension if another argument does.
    """
    bindings: dict[str, Dim] = {}
    generic: dict[str, Dim] = {}
    for name, declared in info.parameters:
        type_ = actual.get(name, POISON)
        while isinstance(declared, ListType) and isinstance(type_, ListType):
            declared, type_ = declared.element, type_.element
        variable, dim = dim_variable(declared), dimension(type_)
        if variable is not None and dim is not None:
            (generic if is_generic(type_) else bindings).setdefault(variable, dim)
    return generic | bindings


def _construct(state: CheckerState, env: TypeEnv, node: ast.Call, kind: KindInfo) -> Type:
    state.note_call(env.owner, kind, node.span)
    fields = {
        m.name: m
        for k in reversed(list(kind.lineage()))
        for m in k.members.values()
        if m.role in ("field", "part")
    }
    texts = (k.decl.members for k in kind.lineage() if k.decl is not None)
    settings = (m for m in chain.from_iterable(texts) if isinstance(m, ast.Assign))
    given_defaults = {m.path[0].name for m in settings if len(m.path) == 1}
    slots = []
    for member in fields.values():
        decl = member.decl
        optional = (
            isinstance(decl, ast.Part)
            or member.name in given_defaults
            or (isinstance(decl, ast.Field) and decl.default is not None)
        )
        type_ = state.type_of(member, node.span)
        slots.append(Slot(member.name, type_, optional, decl.name.span))
    given = _named_arguments(state, env, node, slots, kind.name)
    return RecordType(
        kind,
        Shape(
            {
                name: (type_.kind, type_.shape or EMPTY_SHAPE)
                for name, type_ in given.items()
                if fields[name].role == "part" and isinstance(type_, RecordType)
            }
        ),
    )


def _call_evaluator(state: CheckerState, env: TypeEnv, node: ast.Call, info: EvaluatorInfo) -> Type:
    state.note_call(env.owner, info, node.span)
    if not state.force(info):
        state.cycle(info, node.span)
        return _arguments_alone(state, env, node)
    decls = {m.name.name: m for m in info.decl.members if isinstance(m, ast.Param | ast.Choice)}
    slots = []
    for name, type_ in info.free.items():
        decl = decls[name]
        optional = isinstance(decl, ast.Choice) or decl.default is not None
        slots.append(Slot(name, type_, optional, decl.name.span))
    _named_arguments(state, env, node, slots, info.name)
    return ResultType((*info.outputs.items(), ("feasible", BOOL)), f"result of `{info.name}`")


def _named_arguments(
    state: CheckerState, env: TypeEnv, node: ast.Call, slots: Sequence[Slot], of: str
) -> dict[str, Type]:
    """The types of the arguments of a call that takes all of them by name; none if that fails."""
    given = _pair(state, env, node, slots, f"`{of}`", positional=False)
    if given is None:
        _arguments_alone(state, env, node)
        return {}
    return {
        s.name: require(state, env, given[s.name], s.type, f"`{s.name}` of `{of}`", s.span)
        for s in slots
        if s.name in given
    }
