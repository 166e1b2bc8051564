"""Values as people write them: texts such as `4.8 TB/s`.

Input: a text, the units in sight, and what is wanted. Output: a float in base units. What is
wrong is a `CallError` that says what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hwdsl.codegen.runtime import CallError
from hwdsl.diagnostics import Diagnostics, did_you_mean
from hwdsl.source import Source
from hwdsl.syntax import ast
from hwdsl.units import ONE, Dim, Unit, dim_text, meant_unit


def combine(expression: ast.UnitExpr, units: Mapping[str, Unit]) -> Unit:
    """The unit that a product of unit factors is."""
    factors = expression.factors
    found = [_unit(f.name, units) for f in factors]
    name = expression.span.text.strip()
    if len(factors) == 1 and factors[0].power == 1:
        return found[0]
    dim, factor = Dim(), Fraction(1)
    for unit, written in zip(found, factors, strict=True):
        if unit.offset:
            raise CallError(f"{unit.name} is a reading; it cannot be part of `{name}`")
        dim *= unit.dim**written.power
        factor *= unit.factor**written.power
    return Unit(name, dim, factor)


def _unit(name: str, units: Mapping[str, Unit]) -> Unit:
    if name in units:
        return units[name]
    if name == "%":
        return Unit("%", ONE, Fraction(1, 100))
    hint = meant_unit(name, units) or did_you_mean(name, units)
    raise CallError(f"no unit is called `{name}`" + (f"; {hint}" if hint else ""))


def quantity(text: str, plain: Unit, units: Mapping[str, Unit]) -> float:
    """Read `4.8 TB/s`, or a number without unit taken in `plain`; the result is in base units.

    Raises CallError for text that is no quantity and for another dimension than `plain` has.
    """
    sign, parsed = _parse(text)
    if not isinstance(parsed, ast.Number | ast.Quantity):
        apart = _apart(text.strip())
        if isinstance(_parse(apart)[1], ast.Quantity):
            raise CallError(f"a blank is missing between number and unit: `{apart}`")
        raise CallError(f"`{text}` is not a number with a unit, such as {_example(plain)}")
    unit = plain if isinstance(parsed, ast.Number) else combine(parsed.unit, units)
    if unit.dim != plain.dim:
        have, want = dim_text(unit.dim), dim_text(plain.dim)
        raise CallError(f"`{text}` is {have}, but {want} is wanted, such as {_example(plain)}")
    try:
        return unit.to_base(sign * Fraction(parsed.text.replace("_", "")))
    except OverflowError:
        raise CallError(f"`{text}` is beyond what a float64 holds") from None


def _apart(text: str) -> str:
    """A text with a blank before its first letter or `%`."""
    end = next((i for i, c in enumerate(text) if c.isalpha() or c == "%"), len(text))
    return f"{text[:end]} {text[end:]}"


def written_unit(text: str, otherwise: Unit, units: Mapping[str, Unit]) -> Unit:
    """The unit written in a quantity such as `10 TB/s`, or `otherwise` if it is a plain number."""
    _, parsed = _parse(text)
    return combine(parsed.unit, units) if isinstance(parsed, ast.Quantity) else otherwise


def is_plain(text: str) -> bool:
    """Whether a text is a number without unit."""
    return isinstance(_parse(text)[1], ast.Number)


def _parse(text: str) -> tuple[int, ast.Expr | None]:
    """The sign of an expression and what stands behind it; None if it is no expression."""
    from hwdsl.syntax import parse_expression

    diagnostics = Diagnostics()
    parsed = parse_expression(Source("value", text), diagnostics)
    sign = 1
    while isinstance(parsed, ast.Unary) and parsed.op in ("-", "+"):
        sign *= -1 if parsed.op == "-" else 1
        parsed = parsed.operand
    return sign, None if diagnostics.failed else parsed


def _example(unit: Unit) -> str:
    return "`1`" if unit.name == "1" else f"`1 {unit.name}`"
