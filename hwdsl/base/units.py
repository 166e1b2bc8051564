"""Dimension algebra and units, exact: rational exponents, rational factors, no hardware names."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property

from attrs import field, frozen


@frozen(order=False)
class Dim:
    """A dimension: base dimensions with rational exponents, in canonical order.

    Bases are qualified names such as `std.units.data`; a dimension variable of a function is a
    base that starts with `'` (such as `'D`), replaced by `substitute` when the function is called.
    """

    powers: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(cls, powers: Mapping[str, Fraction | int]) -> "Dim":
        """Build from a mapping, dropping zero exponents."""
        return cls(tuple(sorted((b, Fraction(p)) for b, p in powers.items() if p)))

    @classmethod
    def base(cls, name: str) -> "Dim":
        """The dimension of one base."""
        return cls(((name, Fraction(1)),))

    @property
    def is_dimensionless(self) -> bool:
        """Whether this is the dimension of a pure number."""
        return not self.powers

    def __mul__(self, other: "Dim") -> "Dim":
        # Pure numbers change nothing: no powers are added and sorted for them.
        if not other.powers:
            return self
        if not self.powers:
            return other
        powers = dict(self.powers)
        for base, power in other.powers:
            powers[base] = powers.get(base, Fraction(0)) + power
        return Dim.of(powers)

    def __truediv__(self, other: "Dim") -> "Dim":
        return self * other ** Fraction(-1)

    def __pow__(self, exponent: Fraction | int) -> "Dim":
        return Dim.of({base: power * exponent for base, power in self.powers})

    def substitute(self, bindings: Mapping[str, "Dim"]) -> "Dim":
        """Replace dimension variables by the dimensions bound to them."""
        result = Dim()
        for base, power in self.powers:
            result *= bindings.get(base, Dim.base(base)) ** power
        return result

    def __str__(self) -> str:
        if not self.powers:
            return "1"
        return " * ".join(
            _power(base.rsplit(".", 1)[-1].lstrip("'"), power) for base, power in self.powers
        )


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


ONE = Dim()


def dim_text(dim: Dim) -> str:
    """A dimension in the way people write it: `data/time`, `1/length^2`."""
    above = [(b, p) for b, p in dim.powers if p > 0]
    below = [(b, -p) for b, p in dim.powers if p < 0]
    top = str(Dim(tuple(above))) if above else "1"
    if not below:
        return "a pure number" if not above else top
    return "/".join([top, *(str(Dim((item,))) for item in below)])


def product_text(factors: Iterable[tuple[str, Fraction | int]]) -> str:
    """Units with their powers as one unit: `kW/m^2`, `s^-1`; `1` without any."""
    text = ""
    for name, power in factors:
        sign = "" if not text else "/" if power < 0 else "*"
        size = abs(power) if text else power
        text += sign + (name if size == 1 else f"{name}^{size}")
    return text or "1"


@frozen(slots=False)
class Unit:
    """A unit: `value_in_base = value * factor + offset`, with exact rationals.

    Only a temperature scale has an offset; a unit with one cannot be multiplied.
    """

    name: str
    dim: Dim
    factor: Fraction = Fraction(1)
    offset: Fraction = field(default=Fraction(0))

    def to_base(self, value: Fraction | int) -> float:
        """Convert exactly, rounding once at the end. Raises OverflowError beyond float64."""
        return float(Fraction(value) * self.factor + self.offset)

    def from_base(self, value: float) -> float:
        """Convert a float in base units to this unit, to the bit as the runtime does."""
        up, down = self._ratio
        # The runtime's operations in the runtime's order: another order rounds otherwise.
        return (value - float(self.offset)) * down / up

    @cached_property
    def _ratio(self) -> tuple[float, float]:
        """Numerator and denominator; one number and 1 if they are beyond float64."""
        try:
            return float(self.factor.numerator), float(self.factor.denominator)
        except OverflowError:
            return float(self.factor), 1.0


_DECIMAL = {"a": -18, "f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "c": -2, "d": -1,
            "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18, "Z": 21}  # fmt: skip
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
PREFIXES: Mapping[str, Fraction] = {
    **{prefix: Fraction(10) ** power for prefix, power in _DECIMAL.items()},
    **{prefix: Fraction(1024) ** power for prefix, power in _BINARY.items()},
}
"""The prefixes a `unit … prefix …` declaration may name."""
