"""Texts as values: the one reader of numbers with units, and of ranges and lists of them.

`read` takes what the language takes for a literal with a sign, and gives the same float64:
`-4.8 TB/s`, `80%`, `1_000`, `5 s^-1`; and `inf`, which needs no unit. `spread` takes what stands
for many values: `1..10 TB/s:4`, `0..1 step 0.1`, `1, 2, 4`, `all`. What is wrong is a `CallError`
that says what was expected.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .errors import CallError
from .kernel import Floats
from .spec import ParamSpec, Scale, dims_text, joined

MOST_STEPS = 10_000_000
"""Values of one axis beyond which a range is taken for a mistake."""
TOO_MANY = f"more than {MOST_STEPS:,} values of one axis"

DIGITS = r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]+)?"
_WORDS = (
    "if|then|else|match|iterate|for|in|is|and|or|not|with|let|fn|true|false|within|until|help|as|"
    "offset|prefix|relative|absolute|baseline|missed|source|assume"
)
_POWER = r"(?:\^-?[0-9]+)?"
UNIT = rf"(?:%|[A-Za-z]+){_POWER}(?:[*/][A-Za-z]+{_POWER})*"
_GAP = rf"(?:[ \t]+(?!(?:{_WORDS})\b)(?=[A-Za-z])|[ \t]*(?=%))"
_LITERAL = re.compile(rf"([+-]?)[ \t]*({DIGITS}|inf)(?:{_GAP}({UNIT}))?")
_FACTOR = re.compile(r"([*/]?)([A-Za-z]+|%)(?:\^(-?[0-9]+))?")
_BLANK = " \t\r\n"
_MOST_DIGITS, _MOST_EXPONENT, _MOST_POWER = 400, 400, 99


@dataclass(frozen=True)
class UnitProduct:
    """A product of units, exact: `base = value * factor + offset`."""

    name: str
    factor: Fraction
    offset: Fraction
    dims: Mapping[str, Fraction]


@dataclass(frozen=True)
class WrittenQuantity:
    """A number as it is written; `unit` is None if there is none. The sign of a zero is kept.

    `size` is None where it is infinite.
    """

    text: str
    negative: bool
    size: Fraction | None
    unit: UnitProduct | None

    def exact(self, plain: Scale) -> Fraction:
        """In base units; a number without unit is in `plain`, of which the dimension must be."""
        unit = self._in(plain)
        return self._finite() * unit.factor + unit.offset

    def step(self, plain: Scale) -> Fraction:
        """A difference in base units: a scale's zero does not count."""
        return self._finite() * self._in(plain).factor

    def _finite(self) -> Fraction:
        if self.size is None:
            raise CallError(f"`{self.text}` is no number that values are counted from or to")
        return -self.size if self.negative else self.size

    def base(self, plain: Scale) -> float:
        """The float64 in base units, rounded once."""
        if self.size is None:
            self._in(plain)
            return -math.inf if self.negative else math.inf
        exact = self.exact(plain)
        try:
            found = float(exact)
        except OverflowError:
            raise CallError(f"`{self.text}` is beyond what a float64 holds") from None
        return -0.0 if self.negative and not exact else found

    def _in(self, plain: Scale) -> UnitProduct:
        if self.unit is None:
            return _exact(plain)
        have, want = self.unit.dims, _exact(plain).dims
        if have != want:
            have_text, want_text = (
                dims_text({base: float(e) for base, e in dims.items()}) for dims in (have, want)
            )
            raise CallError(
                f"`{self.text}` is {have_text}, but {want_text} is wanted, such as "
                f"`{joined('1', plain.unit)}`"
            )
        return self.unit


def written(text: str, plain: Scale, units: Mapping[str, Scale]) -> WrittenQuantity:
    """A text as a number; `plain` is the unit to name in an example."""
    found = _LITERAL.fullmatch(text.strip(_BLANK))
    if found is None:
        raise CallError(_no_number(text, plain))
    sign, digits, unit = found.groups()
    size = None if digits == "inf" else _size(digits)
    return WrittenQuantity(text, sign == "-", size, None if unit is None else _unit(unit, units))


def read(text: str, plain: Scale, units: Mapping[str, Scale]) -> float:
    """A text such as `4.8 TB/s` in base units; a number without unit is in `plain`.

    Raises CallError for a text that is no number, for one that no float64 holds, for a unit that
    is not in `units` and for another dimension than `plain` has.
    """
    return written(text, plain, units).base(plain)


def _no_number(text: str, plain: Scale) -> str:
    stripped = text.strip(_BLANK)
    end = next((i for i, c in enumerate(stripped) if c.isalpha() or c == "%"), len(stripped))
    apart = f"{stripped[:end].rstrip()} {stripped[end:]}"
    if _LITERAL.fullmatch(apart):
        return f"a blank is missing between number and unit: `{apart}`"
    tight = re.sub(r"[ \t]*([*/^])[ \t]*", r"\1", stripped)
    if _LITERAL.fullmatch(tight):
        return f"a unit has no blanks within: `{tight}`"
    foreign = next((f"; write `{FOREIGN[n]}`" for n in FOREIGN if stripped.endswith(n)), "")
    return f"`{text}` is not a number with a unit, such as `{joined('1', plain.unit)}`{foreign}"


def _size(digits: str) -> Fraction:
    """The digits exactly; CallError for a number that no float64 holds."""
    plain = digits.replace("_", "")
    mantissa, _, exponent = plain.lower().partition("e")
    bounded = len(mantissa) <= _MOST_DIGITS and len(exponent) <= 5
    if bounded and abs(int(exponent or 0)) <= _MOST_EXPONENT:
        rounded = float(plain)
        lost = rounded == 0 and any(c in "123456789" for c in mantissa)
        if math.isfinite(rounded) and not lost:
            return Fraction(plain)
    shown = digits if len(digits) <= 20 else f"{digits[:17]}..."
    raise CallError(f"the number {shown} is out of range")


def _exact(scale: Scale) -> UnitProduct:
    """A declared unit, exact."""
    dims = {base: Fraction(power).limit_denominator(1000) for base, power in scale.dims.items()}
    return UnitProduct(scale.unit, Fraction(scale.factor), Fraction(scale.offset), dims)


def _unit(text: str, units: Mapping[str, Scale]) -> UnitProduct:
    """What a product of units such as `GB/s` is."""
    factors = _FACTOR.findall(text)
    if len(factors) == 1 and factors[0][2] in ("", "1", "01"):
        return _exact(_named(factors[0][1], units))
    factor, dims = Fraction(1), dict[str, Fraction]()
    for sign, name, power in factors:
        one = _exact(_named(name, units))
        if one.offset:
            raise CallError(f"{name} is a reading; it cannot be part of `{text}`")
        if len(power.removeprefix("-")) > 2:
            raise CallError(f"the exponent {power[:20]} must be an integer of up to {_MOST_POWER}")
        exponent = int(power or 1) * (-1 if sign == "/" else 1)
        factor *= one.factor**exponent
        for base, e in one.dims.items():
            dims[base] = dims.get(base, Fraction()) + e * exponent
    return UnitProduct(text, factor, Fraction(), {base: e for base, e in dims.items() if e})


def _named(name: str, units: Mapping[str, Scale]) -> Scale:
    if name in units:
        return units[name]
    if name == "%":
        return Scale("%", "1/100")
    help = meant_unit(name, units)
    close = difflib.get_close_matches(name, sorted(units), 1)
    help = help or (f"did you mean `{close[0]}`?" if close else "")
    raise CallError(f"no unit is called `{name}`" + (f"; {help}" if help else ""))


FOREIGN = {"µs": "us", "µm": "um", "°C": "degC", "percent": "%", "pct": "%"}
"""Units as they are written elsewhere."""
_SPELT = {
    "byte": "B", "second": "s", "sec": "s", "min": "minute", "hr": "hour", "meter": "m",
    "metre": "m", "gram": "g", "watt": "W", "joule": "J", "volt": "V", "ampere": "A", "amp": "A",
    "ohm": "Ohm", "hertz": "Hz", "kelvin": "K", "celsius": "degC", "dollar": "USD",
}  # fmt: skip
"""Names of units, for what they are declared as."""


def meant_unit(name: str, units: Collection[str]) -> str | None:
    """A help text with the unit that is meant for sure, if `name` is one written another way.

    That is a foreign letter, small letters for capitals, or units run together: `GBps` for `GB/s`,
    `TFLOPS` for `TFLOP/s`.
    """
    spelt = name.lower() if len(name) > 2 else name
    for word in (name, spelt, spelt.removesuffix("s")):
        known = FOREIGN.get(word) or _SPELT.get(word, word)
        if word in FOREIGN or known in units:
            return f"write `{known}`"
    close = [u for u in units if u.casefold() == name.casefold()]
    if close:
        return f"did you mean `{min(close)}`?"
    splits = [(name[:i], name[i + 1 :]) for i in range(1, len(name) - 1) if name[i] == "p"]
    if name.endswith("S"):
        splits.append((name[:-1], "s"))
    found = next((f"{up}/{down}" for up, down in splits if up in units and down in units), None)
    return f"did you mean `{found}`?" if found else None


# --- many values ------------------------------------------------------------------------------


def is_many(text: str) -> bool:
    """Whether a text is written as several values."""
    return ".." in text or "," in text or text == "all"


def spread(text: str, param: ParamSpec, units: Mapping[str, Scale]) -> list[str | bool] | Floats:
    """Values written for a sweep: `lo..hi:n`, `lo..hi step s`, `a,b,c`, or `all` of a choice.

    A plain `lo` takes the unit of `hi`, so `1..10 TB/s:4` is 1, 4, 7 and 10 TB/s. A range of an
    int needs no steps: it is all whole numbers. A range comes back as numbers in the param's unit,
    all else as single values still to be read.
    """
    if text == "all" and param.kind == "bool":
        return [False, True]
    if text == "all" and param.labels:
        return list(param.labels)
    if text == "all":
        raise CallError(f"{param.name}=all: {param.name} is {param.describe()}; give its values")
    if ".." not in text:
        return [cell.strip(_BLANK) for cell in text.split(",")]
    if param.kind not in ("real", "int"):
        raise CallError(f"{param.name}={text}: {param.name} is {param.describe()}")
    try:
        return _range(text, param, units)
    except OverflowError:
        raise CallError(f"{param.name}={text}: beyond what a float64 holds") from None
    except CallError as error:
        raise CallError(f"{param.name}={text}: {error}") from None


def _range(text: str, param: ParamSpec, units: Mapping[str, Scale]) -> Floats:
    """The values of `lo..hi:n` or `lo..hi step s`, in the param's unit."""
    low, _, rest = text.partition("..")
    high, colon, count = rest.rpartition(":")
    high, stepped, step = (high if colon else rest).partition(" step ")
    end = written(high, param.scale, units)
    if end.unit is None and end.size is not None and not param.plain:
        raise CallError(param.needs_unit(high.strip(_BLANK)))
    own = _exact(param.scale)
    last = (end.exact(param.scale) - own.offset) / own.factor
    unit = param.scale if end.unit is None else scale_of(end.unit)
    first = (written(low, unit, units).exact(unit) - own.offset) / own.factor
    if stepped and not colon:
        return _paced(first, last, written(step, unit, units).step(unit) / own.factor)
    if not colon and param.kind == "int":
        return _paced(first, last, Fraction(1))
    count = count.strip(_BLANK)
    if count and not count.strip("0"):
        raise CallError("a range has at least one point")
    count = count.lstrip("0")
    if stepped or not colon or not (count.isascii() and count.isdecimal()):
        ends = f"{low.strip(_BLANK)}..{high.strip(_BLANK)}"
        raise CallError(f"a range says how many values it has, as `{ends}:5`, or their step")
    if len(count) > 18 or int(count) > MOST_STEPS:
        raise CallError(TOO_MANY)
    column = np.linspace(float(first), float(last), int(count))
    if param.kind == "int" and (column != np.round(column)).any():
        raise CallError(f"{count} steps do not fall on whole numbers")
    return column


def scale_of(unit: UnitProduct) -> Scale:
    """A unit as it is declared."""
    dims = {base: float(power) for base, power in unit.dims.items()}
    return Scale(unit.name, str(unit.factor), str(unit.offset), dims)


def _paced(first: Fraction, last: Fraction, pace: Fraction) -> Floats:
    """From first to last by steps of `pace`; the last is met, or not reached."""
    steps = (last - first) / pace if pace else Fraction(-1)
    if steps < 0:
        raise CallError("the steps do not lead from the one end to the other")
    if steps >= MOST_STEPS:
        raise CallError(TOO_MANY)
    column: Floats = float(first) + float(pace) * np.arange(math.floor(steps) + 1.0)
    if steps.denominator == 1:
        column[-1] = float(last)
    return column
