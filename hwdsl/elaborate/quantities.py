"""Numbers as people read them: four digits, in a unit that suits the size."""

from __future__ import annotations

import math
from fractions import Fraction

from hwdsl.base.units import ONE, Dim, Unit, product_text
from hwdsl.codegen.runtime.message import number_text
from hwdsl.semantics.composed import coherent, quotients
from hwdsl.semantics.symbols import ModuleScope, Real, Type

SUITS = 0.9999
"""How many of a unit there must be, at least, to show a number in it."""
PURE = Unit("1", ONE)
LONG = 1e5
"""Numbers from this on have another unit if there is a larger one."""


def dim_of(type_: Type | None) -> Dim:
    """The dimension of a real; that of a pure number of everything else."""
    return type_.dim if isinstance(type_, Real) else ONE


def quantity_text(value: float, dim: Dim, scope: ModuleScope, unit: Unit | None = None) -> str:
    """A value in base units as text; in `unit` if that is given and of the dimension."""
    if unit is None or unit.dim != dim:
        if dim.is_dimensionless:
            return number_text(value)
        unit = suited_unit(value, dim, scope)
    return in_unit(value, unit)


def in_unit(value: float, unit: Unit) -> str:
    """A value in base units as text, in a unit."""
    shown = number_text(unit.from_base(value))
    if unit.name in ("1", ""):
        return shown
    return f"{shown}{unit.name}" if unit.name == "%" else f"{shown} {unit.name}"


def coherent_unit(dim: Dim, scope: ModuleScope) -> Unit:
    """A unit of the dimension whose factor is 1."""
    return PURE if dim.is_dimensionless else _compose(dim, scope, 1.0)


def suited_unit(value: float, dim: Dim, scope: ModuleScope) -> Unit:
    """A unit of the dimension in which a value of that size is a short number."""
    return _compose(dim, scope, abs(value) if math.isfinite(value) and value else 1.0)


def _compose(dim: Dim, scope: ModuleScope, size: float) -> Unit:
    """The simplest product of declared units: one, one and a base, or bases only."""
    units = [u for u in scope.visible_units.values() if not u.offset]
    for lead, rest in quotients(dim, units):
        scaled = _scaled(lead, 1, size, units)
        if not rest.powers:
            return scaled if size / scaled.factor < LONG else _longer(scaled, size, units)
        ((base, power),) = rest.powers
        tail = coherent(Dim.base(base), units)
        if tail is not None:
            return Unit(product_text([(scaled.name, 1), (tail.name, power)]), dim, scaled.factor)
    return _product(dim, size, units)


def _scaled(unit: Unit, power: int, size: float, units: list[Unit]) -> Unit:
    """The thousandfold or thousandth of a unit that makes the number short."""
    family = [u for u in units if u.dim == unit.dim and u.name.endswith(unit.name) and prefixed(u)]
    fitting = [u for u in family if size >= least_size(u, power)]
    if fitting:
        return max(fitting, key=lambda u: (u.factor, -len(u.name)))
    return min(family, key=lambda u: u.factor, default=unit)


def _longer(unit: Unit, size: float, units: list[Unit]) -> Unit:
    """The largest unit that the size is a multiple of, be it no thousandfold: days, years."""
    fitting = [u for u in units if u.dim == unit.dim and unit.factor < u.factor <= size]
    return max(fitting, key=lambda u: u.factor, default=unit)


def least_size(unit: Unit, power: int) -> float:
    """The size from which on a number is shown in a power of a unit; infinity beyond doubles."""
    try:
        return float(unit.factor) ** power * SUITS
    except OverflowError:
        return math.inf


def prefixed(unit: Unit) -> bool:
    """Whether a unit is a thousandfold of the base unit, which `suited_unit` finds itself."""
    top, bottom = unit.factor.numerator, unit.factor.denominator
    while top % 1000 == 0:
        top //= 1000
    while bottom % 1000 == 0:
        bottom //= 1000
    return top == 1 and bottom == 1


def _product(dim: Dim, size: float, units: list[Unit]) -> Unit:
    factors: list[tuple[str, Fraction]] = []
    factor = Fraction(1)
    ordered = sorted(dim.powers, key=lambda item: item[1] < 0)
    for base, power in ordered:
        unit = coherent(Dim.base(base), units)
        if unit is None:
            factors.append((base.rsplit(".", 1)[-1], power))
            continue
        if len(dim.powers) == 1 and power.denominator == 1 and power > 0:
            unit = _scaled(unit, int(power), size, units)
            factor = unit.factor ** int(power)
        factors.append((unit.name, power))
    if len(factors) > 1 and ordered[0][1] < 0:
        factors.insert(0, ("1", Fraction(1)))
    return Unit(product_text(factors), dim, factor)
