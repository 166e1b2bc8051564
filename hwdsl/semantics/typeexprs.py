"""Type expressions, unit expressions and the values of unit declarations."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from hwdsl.base.diagnostics import did_you_mean
from hwdsl.base.source import Span
from hwdsl.base.units import ONE, Dim, Unit
from hwdsl.semantics.import_suggestions import import_help
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.scopes import find_type, find_unit, module_of_path
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    EnumInfo,
    EnumType,
    KindInfo,
    ListType,
    ModuleScope,
    Real,
    RecordType,
    RefType,
    Type,
    TypeSymbol,
)
from hwdsl.semantics.type_relations import POISON, REAL, dimension, is_poison
from hwdsl.syntax import ast
from hwdsl.syntax.print_expr import unit_text

_SHORT, _BITS = 100, 600


def find_path_type(
    state: CheckerState, scope: ModuleScope, path: tuple[ast.Ident, ...], what: str = "type"
) -> TypeSymbol | None:
    """The type symbol of a dotted path, reported if there is none."""
    home, last = module_of_path(state, scope, path), path[-1]
    if home is None:
        return None
    if len(path) == 1:
        key = ("type", scope, last.name)
        if not state.force(key):
            return state.cycle(key, last.span, "type-cycle")
        found, known = find_type(state, scope, last.name, last.span), scope.visible_types
    else:
        found, known = home.types.get(last.name), home.types
    if found is None:
        of = home if len(path) > 1 else None
        state.unknown(f"unknown-{what}", what, last.name, last.span, known, of=of)
    return found


def find_kind(
    state: CheckerState, scope: ModuleScope, path: tuple[ast.Ident, ...]
) -> KindInfo | None:
    """The kind of a dotted path, reported if there is none."""
    if len(path) == 1 and path[0].name not in scope.visible_types:
        kinds = (n for n, t in scope.visible_types.items() if isinstance(t, KindInfo))
        state.unknown("unknown-kind", "kind", path[0].name, path[0].span, kinds)
        return None
    found = find_path_type(state, scope, path, "kind")
    if isinstance(found, RecordType):
        found = found.kind
    if found is None or isinstance(found, KindInfo):
        return found
    last = path[-1]
    state.error("unknown-kind", f"`{last.name}` is a type, but no kind", last.span)
    return None


def as_type(symbol: TypeSymbol) -> Type:
    """The type of the values that a type symbol denotes."""
    if isinstance(symbol, Dim):
        return Real(symbol)
    if isinstance(symbol, KindInfo):
        return RecordType(symbol)
    return EnumType(symbol) if isinstance(symbol, EnumInfo) else symbol


def resolve_type(state: CheckerState, env: TypeEnv, node: ast.TypeExpr) -> Type:
    """The type a type expression denotes."""
    if isinstance(node, ast.TypeName):
        if len(node.path) == 1 and node.path[0].name in env.dim_vars:
            return Real(env.dim_vars[node.path[0].name])
        found = find_path_type(state, env.scope, node.path)
        return POISON if found is None else as_type(found)
    if isinstance(node, ast.TypeOne):
        return REAL
    if isinstance(node, ast.TypeList):
        return ListType(resolve_type(state, env, node.element))
    if isinstance(node, ast.TypeRef):
        kind = find_kind(state, env.scope, node.path)
        return POISON if kind is None else RefType(kind)
    if isinstance(node, ast.TypePower):
        base = _factor(state, env, node.base)
        if base is None:
            return POISON
        if node.denominator == 0:
            return state.error("bad-exponent", "an exponent cannot divide by zero", node.span)
        if abs(node.numerator) > 1000 or node.denominator > 1000:
            return state.error("bad-exponent", "this exponent is out of all bounds", node.span)
        return Real(base ** Fraction(node.numerator, node.denominator))
    left, right = _factor(state, env, node.left), _factor(state, env, node.right)
    if left is None or right is None:
        return POISON
    return Real(left * right if node.op == "*" else left / right)


def _factor(state: CheckerState, env: TypeEnv, node: ast.TypeExpr) -> Dim | None:
    type_ = resolve_type(state, env, node)
    if is_poison(type_):
        return None
    dim = dimension(type_)
    if dim is None:
        state.error(
            "type-mismatch",
            "only dimensions can be multiplied, divided or raised to a power",
            node.span,
            f"this is {type_}",
        )
    return dim


def resolve_unit(state: CheckerState, env: TypeEnv, node: ast.UnitExpr) -> Unit | None:
    """The unit a unit expression denotes, noted in `units`; None if it is in error."""
    known = state.checked.units.get(node)
    if known is not None:
        return known
    extra = state.extras[env.scope]
    # Where nothing else is to be said of its names, an expression means the same everywhere.
    plain = not any(f.name in env.locals or ("unit", f.name) in extra.clashes for f in node.factors)
    key = tuple((f.name, f.power) for f in node.factors)
    unit = extra.products.get(key) if plain else None
    if unit is None:
        unit = _product(state, env, node)
        if plain and unit is not None:
            extra.products[key] = unit
    if unit is not None:
        state.checked.units[node] = unit
    return unit


def _product(state: CheckerState, env: TypeEnv, node: ast.UnitExpr) -> Unit | None:
    dim, size, fine = ONE, Fraction(1), True
    for factor in node.factors:
        found = _unit_named(state, env, factor)
        if found is None or not fine:
            fine = False  # the other names are still looked up: each unknown one is reported
        elif found.offset and len(node.factors) == 1 and factor.power == 1:
            return Unit(unit_text(node), found.dim, found.factor, found.offset)
        elif found.offset:
            state.error(
                "affine-unit",
                f"`{found.name}` has a zero point of its own and cannot be part of a product",
                factor.span,
                help="use the unit it counts in, such as K",
            )
            fine = False
        elif abs(factor.power) > 100:
            state.error("bad-exponent", "this exponent is out of all bounds", factor.span)
            fine = False
        else:
            dim, size = dim * found.dim**factor.power, size * found.factor**factor.power
    return Unit(unit_text(node), dim, size) if fine else None


def _unit_named(state: CheckerState, env: TypeEnv, factor: ast.UnitFactor) -> Unit | None:
    scope, name = env.scope, factor.name
    # Whether it is under way does not matter: a unit in terms of itself is unknown at this point.
    state.force(("unit", scope, name))
    found = find_unit(state, scope, name, factor.span)
    if found is None:
        # The table of spellings is the runtime's: compiled modules, which stand alone, need it to
        # read arguments. Imported here, since only findings need it.
        from hwdsl.codegen.runtime import meant_unit

        help = meant_unit(name, scope.visible_units) or import_help("unknown-unit", name)
        help = help or did_you_mean(name, state.comparable(scope.visible_units))
        if name in env.locals:
            help = f"`{name}` is a variable here: write `* {name}` to multiply by it"
        state.error("unknown-unit", f"unknown unit `{name}`", factor.span, help=help)
    return found


def literal_unit(state: CheckerState, env: TypeEnv, node: ast.UnitExpr) -> Unit | None:
    """The unit of a number, as `resolve_unit` has it.

    A name in it that is a variable's, too, is reported if the variable has the unit's dimension: no
    check of dimensions finds `2 h` for `2 * h` then. After `in`, nothing but a unit can stand.
    """
    if node not in state.checked.units:
        for factor in node.factors:
            if factor.name in env.locals:
                # Once all is declared: to type the variable here could seem to be a circle.
                key = ("shadows-unit", factor.span)
                work = partial(_report_shadowing, state, env, factor)
                state.defer(key, ast.Ident(factor.span, factor.name), work)
    return resolve_unit(state, env, node)


def _report_shadowing(state: CheckerState, env: TypeEnv, factor: ast.UnitFactor) -> None:
    name, variable = factor.name, env.locals[factor.name]
    if variable.lazy is not None:
        state.force(variable.lazy)
    type_ = variable.type if variable.lazy is None else variable.lazy.type
    unit = find_unit(state, env.scope, name, factor.span)
    if unit is not None and dimension(type_) == unit.dim:
        meant = f"* {name}" if factor.power > 0 else f"/ ({name})"
        state.diagnostics.warning(
            "shadows-unit",
            f"`{name}` is read as the unit, not as the variable, which has the same dimension",
            factor.span,
            others=[(variable.span, "the variable")],
            help=f"rename the variable, or write `{meant}` if it is meant",
        )


def unit_value(state: CheckerState, env: TypeEnv, node: ast.Expr) -> tuple[Dim, Fraction] | None:
    """The exact value, in base units, of the quantity expression that defines a unit."""
    if isinstance(node, ast.Number):
        return _literal(state, node, node.text, None)
    if isinstance(node, ast.Quantity):
        unit = resolve_unit(state, env, node.unit)
        return None if unit is None else _literal(state, node, node.text, unit)
    if isinstance(node, ast.Unary) and node.op in "+-":
        inner = unit_value(state, env, node.operand)
        return inner and (inner[0], -inner[1] if node.op == "-" else inner[1])
    if isinstance(node, ast.Binary) and node.op in "*/":
        left, right = unit_value(state, env, node.left), unit_value(state, env, node.right)
        if left is None or right is None:
            return None
        if node.op == "*":
            return left[0] * right[0], left[1] * right[1]
        if right[1]:
            return left[0] / right[0], left[1] / right[1]
    if isinstance(node, ast.Binary) and node.op == "^" and isinstance(node.right, ast.Number):
        base, power = unit_value(state, env, node.left), exact(node.right.text)
        if base is None:
            return None
        if power is not None and power.denominator == 1 and power <= 100:
            return base[0] ** power, base[1] ** int(power)
    state.error(
        "bad-unit",
        "a unit is defined by a quantity: literals, `*`, `/` and whole powers",
        node.span,
    )
    return None


def _literal(
    state: CheckerState, node: ast.Expr, text: str, unit: Unit | None
) -> tuple[Dim, Fraction] | None:
    value = exact(text)
    if value is None:
        state.error("number-too-large", f"`{text}` is out of range", node.span)
        return None
    if unit is None:
        return ONE, value
    return unit.dim, value * unit.factor + unit.offset


def literal_fits(state: CheckerState, text: str, unit: Unit | None, span: Span) -> None:
    """Report a literal that no float64 can hold."""
    if len(text) < _SHORT and "e" not in text.lower() and (unit is None or _moderate(unit)):
        return  # far below the largest float64: the exact way takes a tenth of a module's check
    value = exact(text)
    try:
        if value is not None:
            (unit or Unit("1", ONE)).to_base(value)
            return
    except OverflowError:
        pass
    state.error("number-too-large", f"`{text}` is out of range", span)


def _moderate(unit: Unit) -> bool:
    """Whether a hundred digits of a unit are below 2^1000, told without exact arithmetic."""
    factor = unit.factor.numerator.bit_length() - unit.factor.denominator.bit_length()
    return factor < _BITS and unit.offset.numerator.bit_length() < _BITS
