"""How types relate: which value fits where, what two branches have in common, how types read."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from hwdsl.base.units import ONE, PREFIXES, Dim, dim_text, product_text
from hwdsl.semantics.composed import coherent, quotients
from hwdsl.semantics.symbols import (
    BoolType,
    Int,
    KindInfo,
    ListType,
    ModuleScope,
    Poison,
    Real,
    RecordType,
    RefType,
    ResultType,
    TextType,
    Type,
)
from hwdsl.syntax import ast
from hwdsl.syntax.print_expr import unit_text

POISON = Poison()
INT = Int()
REAL = Real()
BOOL = BoolType()
TEXT = TextType()


def dimension(type_: Type) -> Dim | None:
    """The dimension of a number, None for what is not a number."""
    if isinstance(type_, Real):
        return type_.dim
    return ONE if isinstance(type_, Int) else None


def is_generic(type_: Type) -> bool:
    """Whether a number, or the elements of a list, may have any dimension (`Real.generic`)."""
    type_ = innermost(type_)
    return isinstance(type_, Int | Real) and type_.generic


def plain(type_: Type) -> Type:
    """The type of a value that is left alone: a generic number is a pure one."""
    if not is_generic(type_):
        return type_
    if isinstance(type_, ListType):
        return ListType(plain(type_.element))
    return INT if isinstance(type_, Int) else REAL


def is_poison(type_: Type) -> bool:
    """Whether the type stems from an error reported already."""
    return isinstance(type_, Poison)


def kind_of(type_: Type) -> KindInfo | None:
    """The kind of a record or of what a ref points at."""
    return type_.kind if isinstance(type_, RecordType | RefType) else None


def element_of(type_: Type) -> Type:
    """The type of a list's elements; of anything else the type itself."""
    return type_.element if isinstance(type_, ListType) else type_


def innermost(type_: Type) -> Type:
    """What a list, or a list of lists, is made of in the end; of anything else the type itself."""
    while isinstance(type_, ListType):
        type_ = type_.element
    return type_


def dim_variable(type_: Type) -> str | None:
    """The dimension variable of a function (`'D`) that a type is, if it is one."""
    powers = type_.dim.powers if isinstance(type_, Real) else ()
    alone = len(powers) == 1 and powers[0][1] == 1 and powers[0][0].startswith("'")
    return powers[0][0] if alone else None


def substitute(type_: Type, bindings: Mapping[str, Dim | None]) -> Type:
    """A type of a function's signature in one call; in error if a variable it has is not bound."""
    if isinstance(type_, ListType):
        return ListType(substitute(type_.element, bindings))
    if not isinstance(type_, Real):
        return type_
    bound: dict[str, Dim] = {}
    for base, _ in type_.dim.powers:
        if base.startswith("'"):
            dim = bindings.get(base)
            if dim is None:
                return POISON
            bound[base] = dim
    return Real(type_.dim.substitute(bound)) if bound else type_


def is_assignable(actual: Type, expected: Type) -> bool:
    """Whether a value of type `actual` is assignable where `expected` is required (subtyping)."""
    if is_poison(actual) or is_poison(expected):
        return True
    if isinstance(expected, Real):
        return dimension(actual) == expected.dim or (
            isinstance(actual, Int | Real) and actual.generic
        )
    if isinstance(expected, ListType):
        return isinstance(actual, ListType) and is_assignable(actual.element, expected.element)
    wanted = kind_of(expected)
    if wanted is not None:
        kind = kind_of(actual)
        return kind is not None and kind.is_a(wanted)
    if isinstance(expected, ResultType):
        return isinstance(actual, ResultType) and _same_fields(actual, expected)
    return actual == expected


def _same_fields(a: ResultType, b: ResultType) -> bool:
    pairs = zip(a.fields, b.fields, strict=False)
    return len(a.fields) == len(b.fields) and all(
        m == n and is_assignable(x, y) and is_assignable(y, x) for (m, x), (n, y) in pairs
    )


def join(a: Type, b: Type) -> Type | None:
    """The type that covers both, or None if there is none."""
    if is_poison(a):
        return b
    if is_poison(b):
        return a
    if isinstance(a, ListType) and isinstance(b, ListType):
        element = join(a.element, b.element)
        return None if element is None else ListType(element)
    if isinstance(a, Int | Real) and isinstance(b, Int | Real):
        return _join_numbers(a, b)
    left, right = kind_of(a), kind_of(b)
    if left is not None and right is not None:
        return _join_kinds(a, b, left, right)
    if is_assignable(a, b):
        return b
    return a if is_assignable(b, a) else None


def _join_numbers(a: Int | Real, b: Int | Real) -> Type | None:
    left, right = dimension(a), dimension(b)
    if left == right:
        generic = a.generic and b.generic
        both_int = isinstance(a, Int) and isinstance(b, Int)
        return Int(generic) if both_int else Real(left or ONE, generic)
    if a.generic:
        return b
    return a if b.generic else None


def _join_kinds(a: Type, b: Type, left: KindInfo, right: KindInfo) -> Type | None:
    # The first kind above both; kinds have one base each, so there is no other candidate.
    common = next((k for k in left.lineage() if right.is_a(k)), None)
    if common is None:
        return None
    if isinstance(a, RefType) and isinstance(b, RefType):
        return RefType(common)
    same = isinstance(a, RecordType) and isinstance(b, RecordType) and a.shape is b.shape
    if same and isinstance(a, RecordType) and common is a.kind:
        return a
    return RecordType(common)


@lru_cache(maxsize=4096)
def times(a: Dim, b: Dim) -> Dim:
    """`a * b`, remembered: the same few come again and again, and each costs 10 us (2 us here)."""
    return a * b


@lru_cache(maxsize=4096)
def over(a: Dim, b: Dim) -> Dim:
    """`a / b`, remembered."""
    return a / b


def describe(type_: Type, scope: ModuleScope, expr: ast.Expr | None = None) -> str:
    """What a type is called in a message: `data/time (TB/s)`, `a number`, `text`, …"""
    dim = dimension(type_)
    if dim is None:
        return (
            f"a list of {describe(type_.element, scope)}"
            if isinstance(type_, ListType)
            else (f"{type_} (a record)" if isinstance(type_, RecordType) else str(type_))
        )
    if dim.is_dimensionless:
        return "an int" if isinstance(type_, Int) else "a pure number"
    unit = _written_unit(expr, dim, scope) or unit_for(dim, scope)
    name = dim_name(dim, scope)
    return f"{name} ({unit})" if unit else name


def dim_name(dim: Dim, scope: ModuleScope) -> str:
    """What a dimension is called: by the first type of it in sight, else by its bases."""
    for name, symbol in scope.visible_types.items():
        if symbol == dim or (isinstance(symbol, Real) and symbol.dim == dim):
            return name
    return dim_text(dim)


def units_to_write(dim: Dim, scope: ModuleScope, like: ast.UnitExpr | None = None) -> list[str]:
    """Units of a dimension to suggest; with a prefix as in `like` if there is such a one."""
    plain = unit_for(dim, scope)
    if plain is None:
        return []
    size = next((i for i, c in enumerate(plain) if c in "*/^"), len(plain))
    head, tail = plain[:size], plain[size:]
    same = {p: f"{p}{head}" for p in PREFIXES if f"{p}{head}" in scope.visible_units}
    written = like.factors[0].name if like is not None and like.factors else ""
    for prefix, name in same.items():
        if written.startswith(prefix) and written.removeprefix(prefix) in scope.visible_units:
            return [name + tail]
    return [plain, *(same[p] + tail for p in ("k", "M", "G", "T") if p in same)]


def _written_unit(expr: ast.Expr | None, dim: Dim, scope: ModuleScope) -> str | None:
    if not isinstance(expr, ast.Quantity):
        return None
    found = ONE
    for factor in expr.unit.factors:
        unit = scope.visible_units.get(factor.name)
        if unit is None:
            return None
        found = found * unit.dim**factor.power
    return unit_text(expr.unit) if found == dim else None


def unit_for(dim: Dim, scope: ModuleScope) -> str | None:
    """The plainest unit of a dimension: a declared one, one by a base, else a product of bases."""
    units = [u for u in scope.visible_units.values() if not u.offset]
    named = [u for u in units if u.dim == dim]
    if named:
        return min(named, key=lambda u: (u.factor != 1, len(u.name), u.name)).name
    for lead, rest in quotients(dim, units):
        ((base, power),) = rest.powers
        tail = coherent(Dim.base(base), units)
        if tail is not None:
            return product_text([(lead.name, 1), (tail.name, power)])
    factors: list[tuple[str, Fraction]] = []
    for base, power in sorted(dim.powers, key=lambda item: item[1] < 0):
        unit = min(
            (u for u in units if u.factor == 1 and u.dim == Dim.base(base)),
            key=lambda u: u.name,
            default=None,
        )
        if unit is None or power.denominator != 1:
            return None
        factors.append((unit.name, power))
    return product_text(factors)
