"""Blocks of components, parts and `with`: assignments, amendments, nested parts, rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hwdsl.base.diagnostics import fields_help, with_article
from hwdsl.base.source import Span
from hwdsl.semantics.expressions import HANDLERS, condition, infer, output_unit, require
from hwdsl.semantics.scopes import duplicate, unique
from hwdsl.semantics.signatures import (
    block_shape,
    member_names,
    member_of,
    part_names,
    part_type,
    reserved,
)
from hwdsl.semantics.state import RESERVED, CheckerState, LazyBinding, TypeEnv
from hwdsl.semantics.symbols import Int, RecordType, RefType, Type
from hwdsl.semantics.type_errors import unfit
from hwdsl.semantics.type_relations import POISON, describe, is_poison, kind_of, plain
from hwdsl.semantics.typeexprs import resolve_type
from hwdsl.syntax import ast


def _with(state: CheckerState, env: TypeEnv, node: ast.With, expected: Type | None) -> Type:
    base = infer(state, env, node.base, expected)
    if isinstance(base, RefType):
        base = RecordType(base.kind)
    if not isinstance(base, RecordType):
        return unfit(state, env, node.base, base, "`with` amends a component")
    shape = block_shape(state, env.scope, base, node.members)
    # Of a record known by its kind alone (a parameter, a field) other parts stay unknown, so that
    # it has no shape unless this block gives it one.
    result = RecordType(base.kind, shape if base.shape is not None or shape.parts else None)
    check_block(state, env, result, node.members)
    return result


def check_block(
    state: CheckerState, env: TypeEnv, record: RecordType, members: Sequence[ast.Member]
) -> None:
    """Check the members of a block that amends `record`."""
    lets = [m for m in members if isinstance(m, ast.Let)]
    for let in lets:  # a let that hid a member would change what other texts of the block mean
        _check_let_name(state, record, let)
    inner = bind_lets(state, env.enter(record, _given(env, record, members)), lets, {})
    _check_overlap(state, members)
    _check_names(state, members)
    for member in members:
        if isinstance(member, ast.Let):
            force_local(state, inner, member.name.name)
        elif isinstance(member, ast.Assign):
            _assign(state, inner, record, member)
        elif isinstance(member, ast.Amend):
            _amend(state, inner, record, member)
        elif isinstance(member, ast.Part):
            _part(state, inner, record, member)
        elif isinstance(member, ast.Rule):
            check_rule(state, inner, member)
        elif isinstance(member, ast.Allow):
            state.waivers.append(member)
        elif isinstance(member, ast.Field | ast.Fn):
            state.error(
                "misplaced-member",
                f"`{member.name.name}` declares a member, which only a kind can",
                member.span,
                help="write `name = value` to give a field a value, or move this into the kind",
            )


def _given(env: TypeEnv, record: RecordType, members: Sequence[ast.Member]) -> frozenset[str]:
    """The members that a block, or one around it, sets to the variables of their names."""
    # After `size = size` both are the same: to read either is no slip, so nothing is warned of.
    own = (m for m in members if isinstance(m, ast.Assign) and isinstance(m.value, ast.Name))
    names = {m.path[0].name for m in own if [p.name for p in m.path] == [m.value.span.text]}
    return frozenset(names | {n for n in env.given if record.kind.member(n) is None})


def _check_let_name(state: CheckerState, record: RecordType, node: ast.Let) -> None:
    name = node.name.name
    info = record.kind.member(name)
    if info is not None:
        state.error(
            "duplicate-name",
            f"`{record.kind.name}` has a member `{name}` already",
            node.name.span,
            others=[(info.decl.name.span, "declared here")],
            help=f"write `{name} = …` to set it, or choose another name",
        )


def bind_lets(
    state: CheckerState, env: TypeEnv, lets: Sequence[ast.Let], taken: Mapping[str, Span]
) -> TypeEnv:
    """The environment with the lets of a block, which may stand in any order."""
    return bind_lazy(state, env, lets, taken, lambda inner, let: let_type(state, inner, let))


_Decl = TypeVar("_Decl", ast.Let, ast.Let | ast.Param | ast.Choice | ast.Output)


def bind_lazy(
    state: CheckerState,
    env: TypeEnv,
    declarations: Sequence[_Decl],
    taken: Mapping[str, Span],
    type_of: Callable[[TypeEnv, _Decl], Type],
) -> TypeEnv:
    """The environment with variables of a block, each typed when first read.

    A name declared twice is reported, and its type is not known.
    """
    places, doubled = dict(taken), set[str]()
    first: dict[str, tuple[LazyBinding, _Decl]] = {}
    for node in declarations:
        if unique(state, places, node.name):
            first[node.name.name] = LazyBinding(node), node
        else:
            doubled.add(node.name.name)
    inner = env.bind_lazy({name: lazy for name, (lazy, _) in first.items()})

    def typed(node: _Decl) -> Type:
        type_ = type_of(inner, node)
        return POISON if node.name.name in doubled else type_

    for lazy, node in first.values():
        state.defer_type(lazy, partial(typed, node))
    return inner


def force_local(state: CheckerState, env: TypeEnv, name: str) -> None:
    """Type a variable of a block now, if that has not been done."""
    lazy = env.locals[name].lazy
    if lazy is not None:
        state.force(lazy)


def let_type(state: CheckerState, env: TypeEnv, node: ast.Let) -> Type:
    """The type of a `let`: as declared, or its value's."""
    if node.type is None:
        return plain(infer(state, env, node.value))
    declared = resolve_type(state, env, node.type)
    actual = require(state, env, node.value, declared, f"`{node.name.name}`", node.type.span)
    return actual if isinstance(declared, RecordType) and kind_of(actual) else declared


def _check_names(state: CheckerState, members: Sequence[ast.Member]) -> None:
    seen: dict[str, ast.Ident] = {}
    for member in members:
        if not isinstance(member, ast.Let | ast.Part | ast.Rule):
            continue
        name = member.name.name
        key = f"rule {name}" if isinstance(member, ast.Rule) else name
        if not isinstance(member, ast.Rule) and name in RESERVED:
            reserved(state, member.name)
        if key in seen and not isinstance(member, ast.Let):  # `bind_lets` has told of lets
            duplicate(state, name, member.name, seen[key].span)
        seen.setdefault(key, member.name)


def _check_overlap(state: CheckerState, members: Sequence[ast.Member]) -> None:
    """Two paths of a block, one of them the beginning of the other, contradict each other."""
    seen: dict[tuple[str, ...], Span] = {}
    for member in members:
        if isinstance(member, ast.Assign | ast.Amend):
            path = tuple(p.name for p in member.path)
            span = member.path[0].span.join(member.path[-1].span)
        elif isinstance(member, ast.Part):
            path, span = (member.name.name,), member.name.span
        else:
            continue
        for other, before in seen.items():
            if path[: len(other)] == other or other[: len(path)] == path:
                if path == other and isinstance(member, ast.Part):
                    break  # a name declared twice, which `_check_names` reports
                a, b = ".".join(other), ".".join(path)
                message = f"`{a}` and `{b}` set the same thing"
                state.error(
                    "path-overlap",
                    message,
                    span,
                    "again here",
                    others=[(before, "first here")],
                    help="say it once, or nest one block in the other",
                )
                break
        seen.setdefault(path, span)


def _walk(
    state: CheckerState, env: TypeEnv, record: RecordType, path: tuple[ast.Ident, ...]
) -> RecordType | None:
    """The record that all but the last step of a path lead to; None (and a finding) if none."""
    current: RecordType = record
    for ident in path:
        target = _step(state, env, current, ident)
        if target is None:
            return None
        if isinstance(target, RefType):
            state.error(
                "amend-through-ref",
                f"`{ident.name}` only refers to a part, which is amended where it stands",
                ident.span,
                f"this is a `ref {target.kind.name}`",
                help="amend the part itself by its own path",
            )
            return None
        if not isinstance(target, RecordType):
            have = describe(target, env.scope)
            state.error(
                "type-mismatch",
                f"`{ident.name}` has no fields to set",
                ident.span,
                f"this is {have}",
            )
            return None
        current = target
    return current


def _step(state: CheckerState, env: TypeEnv, record: RecordType, ident: ast.Ident) -> Type | None:
    target = member_of(state, record, ident.name, ident.span)
    if target is None and state.is_broken(record.kind):
        return None
    if target is None:
        settable = ("field", "part")
        names = member_names(record)
        known = [n for n in names if n == "count" or role_of(record, n) in settable]
        state.error(
            "unknown-field",
            f"`{record.kind.name}` has no field `{ident.name}`",
            ident.span,
            help=fields_help(ident.name, state.comparable(known)),
        )
        return None
    role = role_of(record, ident.name)
    if role in ("let", "fn"):
        state.error(
            "let-amended",
            f"`{ident.name}` is derived and cannot be set",
            ident.span,
            others=_declaration(record, ident.name),
            help="set what it is computed from, or make it a field with a default in the kind",
        )
        return None
    return None if is_poison(target) else target


def _declaration(record: RecordType, name: str) -> list[tuple[Span, str]]:
    info = record.kind.member(name)
    return [] if info is None else [(info.decl.name.span, "declared here")]


def role_of(record: RecordType, name: str) -> str:
    """`field`, `let`, `part`, `fn`, or `implicit`."""
    if name in part_names(record):
        return "part"
    info = record.kind.member(name)
    return info.role if info is not None else "implicit"


def _assign(state: CheckerState, env: TypeEnv, record: RecordType, node: ast.Assign) -> None:
    *steps, last = node.path
    target = _walk(state, env, record, tuple(steps))
    wanted = None if target is None else _wanted(state, env, target, last)
    if isinstance(node.value, ast.Unknown):
        if target is not None and wanted is not None and role_of(target, last.name) != "field":
            message = f"only a field can be unknown, and `{last.name}` is none"
            state.error("type-mismatch", message, node.value.span, help="give it a value")
        return
    # In `size = size` the variable is meant: the member cannot be its own value.
    valued = env._replace(assigning=None if steps else last.name)
    if target is None or wanted is None:
        infer(state, valued, node.value)
        return
    where = _declaration(target, last.name)
    what = "a count" if last.name == "count" else f"`{last.name}` of `{target.kind.name}`"
    require(state, valued, node.value, wanted, what, where[0][0] if where else None)


def _wanted(state: CheckerState, env: TypeEnv, target: RecordType, name: ast.Ident) -> Type | None:
    """The type that the value of a member must have; None (and a finding) if it takes none."""
    if name.name == "count":
        return Int()
    if name.name in RESERVED:
        reserved(state, name)
        return None
    wanted = _step(state, env, target, name)
    # A part may become any component of its kind, whatever parts it has where it is declared.
    return RecordType(wanted.kind) if isinstance(wanted, RecordType) else wanted


def _amend(state: CheckerState, env: TypeEnv, record: RecordType, node: ast.Amend) -> None:
    target = _walk(state, env, record, node.path)
    if target is not None:
        check_block(state, env, target, node.members)


def _part(state: CheckerState, env: TypeEnv, record: RecordType, node: ast.Part) -> None:
    """A part of a component: its place in the kind, its count, its own block."""
    name = node.name.name
    if node.count is not None:
        require(state, env, node.count, Int(), "a count")
    slot = record.kind.member(name)
    type_ = part_type(state, env.scope, node)
    if isinstance(type_, RecordType):
        if slot is not None:
            wanted = state.type_of(slot, node.name.span)
            slot_kind = kind_of(wanted)
            if slot.role not in ("part", "field") or (
                slot_kind is not None and not type_.kind.is_a(slot_kind)
            ):
                have = describe(wanted, env.scope)
                state.error(
                    "type-mismatch",
                    f"`{name}` is {have} in `{record.kind.name}`, "
                    f"not {with_article(type_.kind.name)}",
                    node.name.span,
                    others=[(slot.decl.name.span, "declared here")],
                )
        check_block(state, env, type_, node.members)


def check_rule(state: CheckerState, env: TypeEnv, node: ast.Rule) -> None:
    """Check a rule's condition and its messages."""
    word = "warn" if node.warns else "require"
    condition(state, env, node.condition, f"the condition of `{word}`")
    for template in (node.message, node.help):
        for part in template.parts if template is not None else ():
            if isinstance(part, ast.Hole):
                type_ = infer(state, env, part.value)
                if part.unit is not None:
                    output_unit(state, env, part.unit, part.value, type_)


HANDLERS[ast.With] = _with
