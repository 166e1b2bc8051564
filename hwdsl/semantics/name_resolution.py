"""What names mean: variables, members of enclosing records, module names, enum cases, paths."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from hwdsl.base.diagnostics import closest, fields_help
from hwdsl.base.source import Span
from hwdsl.base.units import ONE
from hwdsl.semantics.expressions import HANDLERS, infer, iterated, literal_exponent
from hwdsl.semantics.scopes import PREDECLARED, find_value, has_member, levels
from hwdsl.semantics.signatures import member_names, member_of
from hwdsl.semantics.state import CheckerState, TypeEnv, Variable
from hwdsl.semantics.symbols import (
    Builtin,
    Case,
    ClaimInfo,
    ComponentInfo,
    EnclosingRecord,
    EnumInfo,
    EnumType,
    EvaluatorInfo,
    FunctionInfo,
    Global,
    Int,
    KindInfo,
    ListType,
    Local,
    MemberOf,
    ModuleScope,
    Poison,
    Real,
    RecordType,
    ResultType,
    Symbol,
    TableInfo,
    Type,
    ValueInfo,
)
from hwdsl.semantics.type_relations import (
    POISON,
    REAL,
    describe,
    is_poison,
    join,
    kind_of,
)
from hwdsl.syntax import ast
from hwdsl.syntax.expected_tokens import power_help


def _name(state: CheckerState, env: TypeEnv, node: ast.Name, expected: Type | None) -> Type:
    name = node.name
    # A case comes before all else where its enum is expected, or a new variable of that name
    # elsewhere in the file would change what the text means.
    if isinstance(expected, EnumType) and name in expected.enum.cases:
        state.resolve(node, Case(expected.enum, expected.enum.cases.index(name)))
        return expected
    if name in ("self", "outer"):
        return _enclosing(state, env, node)
    found = _variable_or_member(state, env, node, name)
    if found is not None:
        return found
    if name in PREDECLARED:
        state.resolve(node, Builtin(name))
        return Real(ONE, generic=True) if name == "inf" else REAL
    symbol = find_value(state, env.scope, name, node.span)
    if symbol is None:
        return _unknown(state, env, node, expected)
    return use_symbol(state, env, node, symbol)


def _enclosing(state: CheckerState, env: TypeEnv, node: ast.Name) -> Type:
    level = 0 if node.name == "self" else 1
    if level >= len(env.records):
        return state.error(
            "unknown-name",
            f"there is no record around this that `{node.name}` could mean",
            node.span,
        )
    state.resolve(node, EnclosingRecord(level))
    return env.records[level]


def _variable_or_member(
    state: CheckerState, env: TypeEnv, node: ast.Name, name: str
) -> Type | None:
    variable = env.locals.get(name)
    if variable is not None:
        state.resolve(node, Local(name))
        lazy = variable.lazy
        type_ = variable.type if lazy is None else state.type_of(lazy, node.span)
        if name != env.assigning:
            _shadows(state, env, node, variable, type_)
        return type_
    found = levels(env, name)
    if not found:
        return None
    if len(found) > 1:
        kinds = " and ".join(f"`{env.records[i].kind.name}`" for i in found)
        return state.error(
            "ambiguous-name",
            f"`{name}` is a member of {kinds}, both around this",
            node.span,
            help=f"write `self.{name}` or `outer.{name}`",
        )
    state.resolve(node, MemberOf(name, found[0]))
    return read_member(state, env.records[found[0]], name, node.span)


def _shadows(
    state: CheckerState, env: TypeEnv, node: ast.Name, variable: Variable, type_: Type
) -> None:
    """Warn, once a variable, where a variable is read that hides a member which might be meant."""
    name = node.name
    # Only a record that was entered after the variable was declared is hidden by it.
    inner = env.records[: len(env.records) - variable.depth]
    record = next((r for r in inner if has_member(r, name)), None)
    if record is None or (variable.span, record.kind) in state.shadowed:
        return
    if name in env.given or not _might_be(state, record, name, type_):
        return
    state.shadowed.add((variable.span, record.kind))
    state.diagnostics.warning(
        "shadows-member",
        f"`{name}` is the variable, not the member of the record",
        node.span,
        others=[(variable.span, "the variable")],
        help=f"rename the variable, write `self.{name}` for the member, "
        'or say that it is meant: `allow shadows_member "the reason"`',
    )


def _might_be(state: CheckerState, record: RecordType, name: str, type_: Type) -> bool:
    """Whether a member could stand where a variable of a type does."""
    if name in record.parts:
        return kind_of(type_) is not None
    info = record.kind.member(name)
    if info is None:  # one that every record has
        return name != "count" or isinstance(type_, Int)
    if info.role == "fn":
        return False
    if info.role == "let" and info in state.pending:
        return True  # to type it now might be to type what needs this
    return join(type_, read_member(state, record, name, info.decl.name.span)) is not None


def read_member(state: CheckerState, record: Type, name: str, span: Span) -> Type:
    """The type of reading a member that exists."""
    kind = kind_of(record)
    info = kind.member(name) if kind is not None else None
    if info is not None and info.role == "fn":
        return state.error(
            "type-mismatch",
            f"`{name}` is a function of `{info.owner.name}`",
            span,
            help=f"call it: `{name}(…)`",
        )
    return member_of(state, record, name, span) or POISON


def _unknown(state: CheckerState, env: TypeEnv, node: ast.Name, expected: Type | None) -> Type:
    broken = any(state.is_broken(record.kind) for record in env.records)
    if broken or isinstance(expected, Poison) or node.span.source.name in state.incomplete:
        return POISON
    own = (name for record in env.records for name in member_names(record))
    cases = expected.enum.cases if isinstance(expected, EnumType) else ()
    values, modules = env.scope.visible_values, env.scope.namespaces
    known = state.comparable(chain(env.locals, values, modules, PREDECLARED, own, cases))
    if node.name in env.scope.visible_units and closest(node.name, known) is None:
        return state.error(
            "unknown-name",
            f"unknown name `{node.name}`",
            node.span,
            help=f"a unit follows a number: `1 {node.name}`",
        )
    if node.name in env.scope.visible_references:
        return state.error(
            "unknown-name",
            f"`{node.name}` is a reference, which has no value",
            node.span,
            help=f"it is cited behind a value: `= 3 source {node.name}`",
        )
    # `9.8 m/s2`: the parser takes `/ s2` for a division, as no unit is called so.
    before = node.span.source.text[: node.span.start]
    if before.endswith("/") and node.name.rstrip("0123456789") in env.scope.visible_units:
        help = power_help(node.name)
        return state.error("unknown-name", f"unknown name `{node.name}`", node.span, help=help)
    return state.unknown("unknown-name", "name", node.name, node.span, known)


def use_symbol(
    state: CheckerState, env: TypeEnv, node: ast.Name | ast.Attr, symbol: Symbol
) -> Type:
    """The type of a module-level symbol read as a value."""
    state.resolve(node, Global(symbol))
    if state.is_doubled(symbol):
        return POISON
    if isinstance(symbol, ValueInfo):
        return state.type_of(symbol, node.span)
    if isinstance(symbol, ComponentInfo):
        state.note_call(env.owner, symbol, node.span)
        return state.component_type(symbol, node.span)
    if isinstance(symbol, TableInfo):
        fields = tuple((n, ListType(t)) for n, (t, _) in symbol.columns.items())
        return ResultType(fields, f"table {symbol.name}")
    if isinstance(symbol, EnumInfo):
        return ListType(EnumType(symbol))
    what = {
        FunctionInfo: "a function",
        EvaluatorInfo: "an evaluator",
        KindInfo: "a kind",
        ClaimInfo: "a claim",
    }[type(symbol)]
    help = None if isinstance(symbol, ClaimInfo) else f"call it: `{symbol.name}(…)`"
    return state.error(
        "type-mismatch", f"`{symbol.name}` is {what}, not a value", node.span, help=help
    )


# --- paths -------------------------------------------------------------------------------------


def qualified(env: TypeEnv, node: ast.Attr) -> tuple[ModuleScope, Symbol | None] | None:
    """What `namespace.name` means; None if the base is no namespace."""
    scope = namespace(env, node.base)
    if scope is None:
        return None
    return scope, scope.values.get(node.name.name)


def namespace(env: TypeEnv, base: ast.Expr) -> ModuleScope | None:
    """The module that a name denotes, if nothing nearer has that name."""
    if not isinstance(base, ast.Name) or base.name in env.locals or levels(env, base.name):
        return None
    return env.scope.namespaces.get(base.name)


def _enum_path(state: CheckerState, env: TypeEnv, node: ast.Attr) -> Type | None:
    """`yield_model.poisson`, also where a field of that name is nearer."""
    base = node.base
    symbol: object = None
    if isinstance(base, ast.Name):
        symbol = env.scope.visible_types.get(base.name)
    elif isinstance(base, ast.Attr):
        scope = namespace(env, base.base)
        symbol = scope.types.get(base.name.name) if scope is not None else None
    if not isinstance(symbol, EnumInfo) or node.name.name not in symbol.cases:
        return None
    if isinstance(base, ast.Name):
        variable = env.locals.get(base.name)
        if variable is not None and (variable.lazy or kind_of(variable.type)):
            return None
        for level in levels(env, base.name)[:1]:
            if kind_of(member_of(state, env.records[level], base.name, base.span) or POISON):
                return None
    state.resolve(node, Case(symbol, symbol.cases.index(node.name.name)))
    return EnumType(symbol)


def _attr(state: CheckerState, env: TypeEnv, node: ast.Attr, expected: Type | None) -> Type:
    case = _enum_path(state, env, node)
    if case is not None:
        return case
    found = qualified(env, node)
    # Where a value has the name of a module, what the module lacks is looked for in the value.
    base_value = isinstance(node.base, ast.Name) and node.base.name in env.scope.visible_values
    if found is not None and (found[1] is not None or not base_value):
        scope, symbol = found
        if symbol is None:
            what, name = f"name in `{scope.name}`:", node.name
            known = scope.values
            return state.unknown("unknown-name", what, name.name, name.span, known, of=scope)
        return use_symbol(state, env, node, symbol)
    if is_parts(node.base):
        return _parts_of(state, env, node)
    return field_type(state, env, node, infer(state, env, node.base))


def is_parts(expr: ast.Expr) -> bool:
    """Whether an expression is `parts` or `x.parts`."""
    if isinstance(expr, ast.Name):
        return expr.name == "parts"
    return isinstance(expr, ast.Attr) and expr.name.name == "parts"


def _parts_of(state: CheckerState, env: TypeEnv, node: ast.Attr) -> Type:
    """`parts.K`: the direct parts of kind K."""
    parts = infer(state, env, node.base)
    if is_poison(parts):
        return POISON
    found = env.scope.visible_types.get(node.name.name)
    if not isinstance(found, KindInfo):
        kinds = [n for n, t in env.scope.visible_types.items() if isinstance(t, KindInfo)]
        return state.unknown("unknown-kind", "kind", node.name.name, node.name.span, kinds)
    state.resolve(node, Global(found))
    return ListType(RecordType(found))


def field_type(state: CheckerState, env: TypeEnv, node: ast.Attr, base: Type) -> Type:
    """The type of `base.name`."""
    name = node.name.name
    if is_poison(base):
        return POISON
    if isinstance(base, ResultType):
        found = next((type_ for field, type_ in base.fields if field == name), None)
        return found or _no_field(state, node, base, [field for field, _ in base.fields])
    if kind_of(base) is None:
        help = None
        if isinstance(base, ListType):
            help = f"take it of each element: `[x.{name} for x in …]`"
        have = describe(base, env.scope, node.base)
        return state.error(
            "unknown-field",
            f"{have} has no fields",
            node.name.span,
            others=[(node.base.span, f"this is {have}")],
            help=help,
        )
    if not has_member(base, name):
        return _no_field(state, node, base, member_names(base))
    return read_member(state, base, name, node.name.span)


def _no_field(state: CheckerState, node: ast.Attr, base: Type, known: Iterable[str]) -> Type:
    name = node.name.name
    kind = kind_of(base)
    if kind is not None and state.is_broken(kind):
        return POISON
    known = state.comparable(known)
    help = fields_help(name, known)
    # A function knows of its parameter only the kind, though callers give components with more.
    of_kind = isinstance(base, RecordType) and base.shape is None
    if kind is not None and of_kind and known and closest(name, known) is None:
        help = f"only what kind `{kind.name}` declares is known here; {help}"
    what = f"`{base}`" if not isinstance(base, ResultType) else f"this {base.what}"
    return state.error("unknown-field", f"{what} has no field `{name}`", node.name.span, help=help)


def _index(state: CheckerState, env: TypeEnv, node: ast.Index, expected: Type | None) -> Type:
    element = iterated(state, env, node.base, "an index")
    index = infer(state, env, node.index)
    if not isinstance(index, Int) and not is_poison(index):
        have = describe(index, env.scope, node.index)
        state.error(
            "int-from-real" if index == REAL else "type-mismatch",
            "an index is an int",
            node.index.span,
            f"this is {have}",
        )
    at = literal_exponent(node.index)
    if isinstance(node.base, ast.ListLit) and at is not None:
        count = len(node.base.items)
        if not 0 <= at < count:
            message = f"there is no element {at}: the list has {count}, the first is 0"
            state.error("index-out-of-range", message, node.span)
    return element


HANDLERS.update({ast.Name: _name, ast.Attr: _attr, ast.Index: _index})
