"""Points of an evaluator, as a user gives them, and the texts that say the same numbers."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from hwdsl.codegen.runtime import ParamSpec, Spec

SPECIAL = (0.0, -0.0, 1.0, 0.1, 1 / 3, 0.5, 2.0, 3.0, -1.0, 1e-300, 1e280, 5e-324, 7.0, math.inf,
           -math.inf, 1e16)  # fmt: skip

MOST = 1e280  # more is beyond float64 in units that are multiples of others
# Ways of writing numbers; `#` stands for one that is in the param's range. Some are no numbers.
WRITTEN = ("#", " # ", "+#", "#_0", "#.", ".#", "#e0", "#E+0", "1_000", "1__0", "_1", "1e5",
           "1e400", "0x10", "inf", "-inf", "nan", "Infinity", "1e-400", "٣", "1 000", "1,5",
           "--1", "- 1", "-0.0", "", "1e", "1.5.2", "50 %", "(1)", "1/2", "#\n", "1\u00a0", "0.1",
           "1.", "1.e3")  # fmt: skip
ENDINGS = ("", " GB", "GB", " GB ", " gb", " GB/s", " B*1", " s", " ms", " B/s", " %", " furlong",
           " B^1", " 1", " GB*s/s", " kGB", " MiB", " GB / s", "  B", "\tB", " B^0",
           " B/1")  # fmt: skip


def point(spec: Spec, random: Random) -> dict[str, Any]:
    """Values for all params, in their declared units."""
    if random.random() < 0.2:  # zero, or the lowest end, in all
        return {p.name: _lowest(p) if p.plain else value(p, random) for p in spec.params}
    return {p.name: value(p, random) for p in spec.params}


def _lowest(param: ParamSpec) -> Any:
    if param.labels:
        return param.labels[0]
    if param.kind == "bool":
        return False
    if param.low <= 0 <= param.high:
        return 0
    return shown(param, param.low) if math.isfinite(param.low) else shown(param, param.high)


def value(param: ParamSpec, random: Random) -> Any:
    """A value of a param; with its unit as a text where the file gives none for plain numbers."""
    found = _value(param, random)
    return found if param.plain else as_text(param, found)


def _value(param: ParamSpec, random: Random) -> Any:
    """A value of a param: its default, an end of its range, or a number within it."""
    if param.labels:
        return random.choice(param.labels)
    if param.kind == "bool":
        return random.random() < 0.5
    default = param.default
    low, high = (shown(param, end) for end in (param.low, param.high))
    pick = random.random()
    if pick < 0.15 and default is not None and (param.plain or math.isfinite(default)):
        return shown(param, default)
    if not param.plain:  # a number needs a unit, and infinity cannot be written with one
        low, high = max(low, -MOST), min(high, MOST)
    ends = [e for e in (low, high) if math.isfinite(e) or param.kind == "real"]
    if pick < 0.45 and ends:
        return random.choice(ends)
    if pick < 0.65:
        fits = [v for v in SPECIAL if low <= v <= high and (param.kind != "int" or v % 1 == 0)]
        fits = [v for v in fits if abs(v) < 2**53 or param.kind == "real"]
        if fits:
            found = random.choice(fits)
            return int(found) if param.kind == "int" else found
    first = low if math.isfinite(low) else min(high, 0.0) - 8.0
    last = high if math.isfinite(high) else max(low, 0.0) + 8.0
    found = random.uniform(first, last)
    if param.kind == "int":
        return min(max(math.floor(found), math.ceil(first)), math.floor(last))
    return min(max(found, low), high)


def shown(param: ParamSpec, base: float) -> Any:
    """A value in base units as a user gives it."""
    found = param.scale.from_base(base)
    return int(found) if param.kind == "int" and math.isfinite(found) else float(found)


def as_text(param: ParamSpec, given: Any) -> Any:
    """The same number as a text with its unit; labels and truths as they are."""
    if isinstance(given, str | bool):
        return given
    return f"{given!r} {param.scale.unit}".rstrip()


def texts(param: ParamSpec, random: Random, count: int) -> list[str]:
    """Texts that might be numbers for a param."""
    number = str(_value(param, random))
    found = []
    for _ in range(count):
        written = random.choice(WRITTEN).replace("#", number)
        ending = random.choice(ENDINGS) if random.random() < 0.6 else f" {param.scale.unit}"
        found.append(written + ending)
    return found


def literal(base: float, unit: str) -> str:
    """A value in base units as the language writes it, exactly; `unit` has the factor 1."""
    if math.isinf(base):
        written = f"inf * 1 {unit}" if unit != "1" else "inf"
    else:
        written = f"{abs(base)!r}" + (f" {unit}" if unit != "1" else "")
    return f"(-({written}))" if math.copysign(1.0, base) < 0 else f"({written})"
