"""Declarations: what each module adds to its three namespaces, bodies left for later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from hwdsl.base.csv_table import Column, CsvTable
from hwdsl.base.units import ONE, PREFIXES, Dim, Unit
from hwdsl.semantics.citations import checked_reference
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.modules import BUILTINS, Loaded
from hwdsl.semantics.scopes import declare, duplicate, enter
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
    Symbol,
    TableInfo,
    Type,
    ValueInfo,
)
from hwdsl.semantics.type_relations import POISON, TEXT, dimension
from hwdsl.semantics.typeexprs import find_kind, resolve_type, resolve_unit, unit_value
from hwdsl.syntax import ast

_SPACES: Mapping[type, tuple[str, ...]] = {
    ast.Dimension: ("type",),
    ast.Enum: ("value", "type"),
    ast.Kind: ("value", "type"),
    ast.Reference: ("reference",),
}
"""The namespaces that an item declares its name in, where it is not only that of values."""


_NAMELESS = ast.Use | ast.Allow | ast.Display | ast.Basis
"""Items that declare no name, but for displays, whose names stand apart."""


def declare_module(state: CheckerState, scope: ModuleScope, loaded: Loaded) -> None:
    """Enter everything a module declares."""
    for item in loaded.tree.items:
        if isinstance(item, ast.UnitDecl):
            _unit(state, scope, item)
        elif isinstance(item, ast.TypeAlias):
            _alias(state, scope, item)
        elif isinstance(item, ast.ExternFn):
            _extern(state, scope, item)
        elif not isinstance(item, _NAMELESS):
            spaces = _SPACES.get(type(item), ("value",))
            if declare(state, scope, spaces, item.name):
                enter(state, scope, spaces, item.name.name, _symbol(state, scope, item))
    for use, raw in loaded.tables.items():
        _table(state, scope, use, raw)
    # Signatures need types and units; the texts of these may stand in any order, so they are read
    # only now that every name is declared.
    for key in [k for k in state.pending if isinstance(k, tuple) and k[1] is scope]:
        state.force(key)


def _symbol(
    state: CheckerState, scope: ModuleScope, item: ast.Item
) -> Symbol | Dim | ast.Reference:
    """What an item declares, as far as that can be said before its text is read."""
    assert not isinstance(item, ast.Use | ast.Allow | ast.Basis)
    name = item.name.name
    if isinstance(item, ast.Dimension):
        return Dim.base(f"{scope.name}.{name}")
    if isinstance(item, ast.Enum):
        return EnumInfo(name, _cases(state, item), scope, item)
    if isinstance(item, ast.Kind):
        return KindInfo(name, f"{scope.name}.{name}", state.component, scope, item)
    if isinstance(item, ast.Fn):
        return FunctionInfo(name, (), (), POISON, scope, item)
    if isinstance(item, ast.Part):
        return ComponentInfo(name, state.component, None, EMPTY_SHAPE, scope, item)
    if isinstance(item, ast.Evaluator):
        return EvaluatorInfo(name, scope, item)
    if isinstance(item, ast.Claim):
        return ClaimInfo(name, scope, item)
    if isinstance(item, ast.Reference):
        return checked_reference(state, item)
    assert isinstance(item, ast.Let | ast.Calibrated)
    return ValueInfo(name, POISON, scope, item)


def _cases(state: CheckerState, item: ast.Enum) -> tuple[str, ...]:
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
    return tuple(seen)


def _alias(state: CheckerState, scope: ModuleScope, item: ast.TypeAlias) -> None:
    if not declare(state, scope, ("type",), item.name):
        return
    name = item.name.name

    def work() -> None:
        enter(state, scope, ("type",), name, POISON)  # what the name means if this is in error
        enter(state, scope, ("type",), name, resolve_type(state, TypeEnv(scope), item.type))

    # Named by a tuple: the type of an alias is needed before there is a symbol to name it by.
    state.defer(("type", scope, name), item.name, work)


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
            prefixed = Unit(name, unit.dim, unit.factor * factor, unit.offset)
            enter(state, scope, ("unit",), name, prefixed)

    key = ("unit", scope, item.name.name)

    def force_base() -> None:
        state.force(key)

    state.defer(key, item.name, work)
    for name in names[1:]:
        state.defer(("unit", scope, name), item.name, force_base)


def _base_unit(state: CheckerState, scope: ModuleScope, item: ast.UnitDecl) -> Unit | None:
    env, name = TypeEnv(scope), item.name.name
    if item.value is None:
        type_ = resolve_type(state, env, item.type) if item.type is not None else POISON
        dim = dimension(type_)
        if dim is None and type_ is not POISON:
            state.error("type-mismatch", "a unit measures a dimension", item.span, f"not {type_}")
        return None if dim is None else Unit(name, dim)
    value = unit_value(state, env, item.value)
    zero = (ONE, Fraction(0)) if item.offset is None else unit_value(state, env, item.offset)
    if value is None or zero is None:
        return None
    dim, factor = value
    if factor <= 0:
        state.error("bad-unit", f"the unit `{name}` must be a positive quantity", item.value.span)
        return None
    return Unit(name, dim, factor, zero[1])


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
    info = TableInfo(alias.name, columns, table.digest)
    enter(state, scope, ("value",), alias.name, info)


def _column(
    state: CheckerState,
    scope: ModuleScope,
    use: ast.Use,
    name: str,
    raw: Column,
    lines: Sequence[int],
) -> tuple[Type, tuple[float | str, ...]] | None:
    numbers = [exact(cell) for cell in raw.cells]
    # Only a unit says that a column must be numbers: one slip in a column without turns it to text.
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


def link_kinds(state: CheckerState, scope: ModuleScope) -> None:
    """Set each kind's base; report circles and cut them."""
    kinds = [k for k in scope.values.values() if isinstance(k, KindInfo)]
    for kind in kinds:
        if kind.decl is None:
            continue
        span = kind.decl.span
        if any(span.start <= at <= span.end for at in state.unread.get(span.source.name, ())):
            state.broken.add(kind)  # what was left out may be a field
        if kind.decl.base is not None:
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
