"""Declarations: what each module adds to its three namespaces, bodies left for later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hwdsl.base.csv_table import Column, CsvTable
from hwdsl.base.units import ONE, PREFIXES, Dim, Unit
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.modules import BUILTINS, Loaded
from hwdsl.semantics.scopes import declare, duplicate, own_type, own_unit, own_value
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    EMPTY_SHAPE,
    BuiltinInfo,
    ClaimInfo,
    ComponentInfo,
    EnumInfo,
    EvaluatorInfo,
    FunctionInfo,
    KindInfo,
    ModuleScope,
    Real,
    TableInfo,
    Type,
    ValueInfo,
)
from hwdsl.semantics.type_relations import POISON, TEXT, dimension
from hwdsl.semantics.typeexprs import find_kind, resolve_type, resolve_unit, unit_value
from hwdsl.syntax import ast


def declare_module(state: CheckerState, scope: ModuleScope, loaded: Loaded) -> None:
    """Enter everything a module declares."""
    for item in loaded.tree.items:
        handler = _HANDLERS.get(type(item))
        if handler is not None:
            handler(state, scope, item)
    for use, raw in loaded.tables.items():
        _table(state, scope, use, raw)
    for key in [k for k in state.pending if isinstance(k, tuple) and k[1] is scope]:
        state.force(key)


def _dimension(state: CheckerState, scope: ModuleScope, item: ast.Dimension) -> None:
    if declare(state, scope, ("type",), item.name):
        own_type(state, scope, item.name.name, Dim.base(f"{scope.name}.{item.name.name}"))


def _alias(state: CheckerState, scope: ModuleScope, item: ast.TypeAlias) -> None:
    if not declare(state, scope, ("type",), item.name):
        return
    key = ("type", scope, item.name.name)

    def work() -> None:
        own_type(state, scope, item.name.name, POISON)
        own_type(state, scope, item.name.name, resolve_type(state, TypeEnv(scope), item.type))

    _put_off_name(state, key, item.name, work)


def _put_off_name(
    state: CheckerState,
    key: tuple[str, ModuleScope, str],
    ident: ast.Ident,
    work: Callable[[], None],
) -> None:
    state.defer(key, ident.name, ident.span, work)


def _enum(state: CheckerState, scope: ModuleScope, item: ast.Enum) -> None:
    if not declare(state, scope, ("value", "type"), item.name):
        return
    seen: dict[str, ast.Ident] = {}
    for case in item.cases:
        if case.name in seen:
            state.error(
                "duplicate-name",
                f"the case `{case.name}` stands twice in `{item.name.name}`",
                case.span,
                "again here",
                others=[(seen[case.name].span, "first here")],
                help="remove one of them",
            )
        seen.setdefault(case.name, case)
    info = EnumInfo(item.name.name, tuple(seen), scope, item)
    own_value(state, scope, info.name, info)
    own_type(state, scope, info.name, info)


def _kind(state: CheckerState, scope: ModuleScope, item: ast.Kind) -> None:
    if not declare(state, scope, ("value", "type"), item.name):
        return
    name = item.name.name
    info = KindInfo(name, f"{scope.name}.{name}", state.component, scope, item)
    own_value(state, scope, name, info)
    own_type(state, scope, name, info)


def _fn(state: CheckerState, scope: ModuleScope, item: ast.Fn) -> None:
    if declare(state, scope, ("value",), item.name):
        info = FunctionInfo(item.name.name, (), (), POISON, scope, item)
        own_value(state, scope, info.name, info)


def _extern(state: CheckerState, scope: ModuleScope, item: ast.ExternFn) -> None:
    name = item.name.name
    if scope.name != BUILTINS:
        state.error(
            "misplaced-extern",
            f"`{name}` is declared `extern`, as only functions of the language are",
            item.name.span,
            "this function has no body",
            help=f"give it one: `fn {item.signature} = …`",
        )
    elif name in state.builtins:
        duplicate(state, name, item.name, state.builtins[name].decl.name.span)
    else:
        state.builtins[name] = BuiltinInfo(name, scope, item)


def _part(state: CheckerState, scope: ModuleScope, item: ast.Part) -> None:
    if declare(state, scope, ("value",), item.name):
        info = ComponentInfo(item.name.name, state.component, None, EMPTY_SHAPE, scope, item)
        own_value(state, scope, info.name, info)


def _evaluator(state: CheckerState, scope: ModuleScope, item: ast.Evaluator) -> None:
    if declare(state, scope, ("value",), item.name):
        own_value(state, scope, item.name.name, EvaluatorInfo(item.name.name, scope, item))


def _claim(state: CheckerState, scope: ModuleScope, item: ast.Claim) -> None:
    if declare(state, scope, ("value",), item.name):
        own_value(state, scope, item.name.name, ClaimInfo(item.name.name, scope, item))


def _value(state: CheckerState, scope: ModuleScope, item: ast.Let | ast.Calibrated) -> None:
    if declare(state, scope, ("value",), item.name):
        own_value(state, scope, item.name.name, ValueInfo(item.name.name, POISON, scope, item))


def _unit(state: CheckerState, scope: ModuleScope, item: ast.UnitDecl) -> None:
    if not declare(state, scope, ("unit",), item.name):
        return
    names = [item.name.name]
    for prefix in item.prefixes:
        if prefix.name not in PREFIXES:
            state.unknown("unknown-prefix", "prefix", prefix.name, prefix.span, PREFIXES)
        elif declare(state, scope, ("unit",), prefix, prefix.name + item.name.name):
            names.append(prefix.name + item.name.name)
    state.extras[scope].families[item.name.name] = tuple(names)

    def work() -> None:
        unit = _base_unit(state, scope, item)
        if unit is None:
            return
        for name in names:
            factor = PREFIXES.get(name.removesuffix(unit.name), Fraction(1))
            own_unit(state, scope, Unit(name, unit.dim, unit.factor * factor, unit.offset))

    key = ("unit", scope, item.name.name)
    _put_off_name(state, key, item.name, work)
    for name in names[1:]:
        _put_off_name(state, ("unit", scope, name), item.name, lambda: _need(state, key))


def _need(state: CheckerState, key: object) -> None:
    state.force(key)


def _base_unit(state: CheckerState, scope: ModuleScope, item: ast.UnitDecl) -> Unit | None:
    env, name = TypeEnv(scope), item.name.name
    if item.value is None:
        type_ = resolve_type(state, env, item.type) if item.type is not None else POISON
        dim = dimension(type_)
        if dim is None and type_ is not POISON:
            state.error("type-mismatch", "a unit measures a dimension", item.span, f"not {type_}")
        return None if dim is None else Unit(name, dim)
    value = unit_value(state, env, item.value)
    offset = _offset(state, env, item.offset)
    if value is None or offset is None:
        return None
    dim, factor = value
    if factor <= 0:
        state.error("bad-unit", f"the unit `{name}` must be a positive quantity", item.value.span)
        return None
    return Unit(name, dim, factor, offset)


def _offset(state: CheckerState, env: TypeEnv, node: ast.Expr | None) -> Fraction | None:
    if node is None:
        return Fraction(0)
    value = unit_value(state, env, node)
    return None if value is None else value[1]


def _table(state: CheckerState, scope: ModuleScope, use: ast.Use, table: CsvTable) -> None:
    alias = use.alias
    if alias is None:
        state.error(
            "missing-argument",
            "an imported table needs a name",
            use.span,
            help='write `use "file.csv" as name`',
        )
        return
    if not declare(state, scope, ("value",), alias):
        return
    columns: dict[str, tuple[Type, tuple[float | str, ...]]] = {}
    for number, (name, raw) in enumerate(table.columns.items()):
        if name.isidentifier():
            columns[name] = _column(state, scope, use, name, raw, table.lines) or (POISON, ())
        else:
            state.error(
                "bad-table",
                f"column {number + 1} of `{use.file}` needs a name that can be read, not `{name}`",
                use.span,
                help="head each column with `name` or `name [unit]`",
            )
    own_value(state, scope, alias.name, TableInfo(alias.name, columns, table.digest))


def _column(
    state: CheckerState,
    scope: ModuleScope,
    use: ast.Use,
    name: str,
    raw: Column,
    lines: Sequence[int],
) -> tuple[Type, tuple[float | str, ...]] | None:
    numbers = [exact(cell) for cell in raw.cells]
    if raw.unit is None and any(n is None for n in numbers):
        return TEXT, raw.cells
    unit = _header_unit(state, scope, use, raw.unit or "1")
    if unit is None:
        return None
    values: list[float | str] = []
    for line, cell, number in zip(lines, raw.cells, numbers, strict=True):
        try:
            values.append(unit.to_base(number) if number is not None else "")
        except OverflowError:
            number = None
        if number is None:
            state.error(
                "bad-table",
                f"line {line} of `{use.file}`: `{cell}` in `{name}` is no number",
                use.span,
                help="leave out the unit of a column of text",
            )
            return None
    return Real(unit.dim), tuple(values)


def _header_unit(state: CheckerState, scope: ModuleScope, use: ast.Use, text: str) -> Unit | None:
    """Read `TB/s`, `cm^-2`, `J/s/K`: factors joined by `*` and `/`, each with an integer power."""
    factors: list[ast.UnitFactor] = []
    for number, dividend in enumerate(text.split("/")):
        for piece in dividend.split("*"):
            name, _, power = piece.strip().partition("^")
            sign = -1 if number else 1
            if name == "1":
                continue
            digits = power.lstrip("-")
            if power and not digits.isdigit():
                state.error("unknown-unit", f"`{text}` is no unit", use.span)
                return None
            factors.append(ast.UnitFactor(use.span, name, sign * int(power or "1")))
    if not factors:
        return Unit("1", ONE)
    return resolve_unit(state, TypeEnv(scope), ast.UnitExpr(use.span, tuple(factors)))


_HANDLERS: dict[type, Callable[[CheckerState, ModuleScope, Any], None]] = {
    ast.Dimension: _dimension,
    ast.TypeAlias: _alias,
    ast.Enum: _enum,
    ast.Kind: _kind,
    ast.Fn: _fn,
    ast.ExternFn: _extern,
    ast.Part: _part,
    ast.Evaluator: _evaluator,
    ast.Claim: _claim,
    ast.Let: _value,
    ast.Calibrated: _value,
    ast.UnitDecl: _unit,
}


def link_kinds(state: CheckerState, scope: ModuleScope) -> None:
    """Set each kind's base; report circles and cut them."""
    kinds = [k for k in scope.values.values() if isinstance(k, KindInfo)]
    for kind in kinds:
        if kind.decl is not None and kind.decl.base is not None:
            base = find_kind(state, scope, kind.decl.base)
            if base is None:
                state.broken.add(kind)
            kind.base = base or state.component
    sound: set[KindInfo] = set()
    for kind in kinds:
        _cut_circle(state, kind, sound)


def _cut_circle(state: CheckerState, kind: KindInfo, sound: set[KindInfo]) -> None:
    """Report and cut a circle that a kind is in; `sound` are those that come down to a root."""
    seen = {kind: None}
    base = kind.base
    while base is not None and base not in sound and base not in seen:
        seen[base] = None
        base = base.base
    if base is None or base in sound:
        sound.update(seen)
        return
    if base is not kind or kind.decl is None:
        return  # A circle above: reported where its own kinds are looked at.
    chain = " -> ".join(k.name for k in [*seen, kind])
    state.error(
        "kind-cycle",
        f"kinds extend each other: {chain}",
        kind.decl.name.span,
        others=[(k.decl.name.span, "part of the circle") for k in list(seen)[1:] if k.decl],
        help="a kind must come down to `component`",
    )
    kind.base = state.component
