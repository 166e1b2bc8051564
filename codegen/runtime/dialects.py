"""Values of a sweep as they are written elsewhere, and how they are written here."""

from __future__ import annotations

import re

from .quantity import DIGITS, UNIT
from .spec import ParamSpec

_NUMBER = rf"[+-]?{DIGITS}(?:[ \t]*{UNIT})?"
_TO = r"[ \t]*(?::|-|–|\.\.\.?=?|\bto\b)[ \t]*"
_THEN = r"[ \t]*(?::|,|/|;|\bby\b|\bin\b|\bx\b)[ \t]*"
_SPAN = re.compile(rf"({_NUMBER}){_TO}({_NUMBER})(?:{_THEN}([+-]?{DIGITS})[ \t]*({UNIT})?)?")
_OURS = re.compile(rf"{_NUMBER}[ \t]*\.\.[ \t]*{_NUMBER}(?:[ \t]*:[ \t]*[0-9]+)?")
_BRACKETS = re.compile(r"([A-Za-z_.]*)[ \t]*[\[({](.*)[\])}]")
_PACED = ("range", "arange", "np.arange")
_FEW = 5


def elsewhere(text: str, param: ParamSpec) -> str | None:
    """How the values are written that a text such as `1:64:8` or `[1, 2]` means; None if unknown.

    A text that is written as it is here, or stands for one value, gives None.
    """
    text = text.strip()
    if param.kind not in ("real", "int") or text in param.labels or _OURS.fullmatch(text):
        return None
    if re.fullmatch(_NUMBER, text):
        return None
    bracketed = _BRACKETS.fullmatch(text)
    if bracketed is None:
        return _span(text, param) or _list(re.split(r"[;|]|[ \t]+", text))
    word, inside = bracketed.groups()
    cells = [cell.strip() for cell in re.split("[,;]", inside)]
    if word and len(cells) > 1 and _list(cells):
        low, high, *count = cells
        sign = " step " if word in _PACED else ":"
        return f"`{low}..{high}{sign}{count[0]}`" if count else _ends(low, high, param)
    if word:
        return None
    ours = _OURS.fullmatch(inside.strip())
    return f"`{ours.group()}`" if ours else _span(inside, param) or _list(cells)


def _list(cells: list[str]) -> str | None:
    """Values with commas between them; None if one is no number."""
    cells = [cell.strip() for cell in cells if cell.strip()]
    if not all(re.fullmatch(_NUMBER, cell) for cell in cells):
        return None
    return f"`{','.join(cells)}`" if cells else None


def _span(text: str, param: ParamSpec) -> str | None:
    """A range of two ends, and how many values or which step it has."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        return None
    low, high, third, unit = found.groups()
    if unit:
        high = f"{high} {unit}"
    if third is None:
        return _ends(low, high, param)
    step = f"{third}{f' {unit}' * bool(unit)}"
    counted = ""
    if _fits(low, high, third, param):
        counted = f"`{low}..{high}:{third}` for {third} values"
    if _size(high) < _size(third):  # the step stands between the ends
        shown = [f"`{low}..{step} step {high}`", counted]
    else:
        shown = [counted, f"`{low}..{high} step {step}`"]
    return ", or ".join(each for each in shown if each)


def _size(number: str) -> float:
    found = re.match(rf"[+-]?{DIGITS}", number)
    return float(found.group()) if found else 0.0


def _fits(low: str, high: str, count: str, param: ParamSpec) -> bool:
    """Whether so many values lie between two ends; of an int, all on whole numbers."""
    gaps = _size(count) - 1
    if not count.isdecimal() or gaps < 1:
        return False
    return param.kind == "real" or (_size(high) - _size(low)) % gaps == 0


def _ends(low: str, high: str, param: ParamSpec) -> str:
    if param.kind == "int":
        return f"`{low}..{high}` for all whole numbers, or `{low}..{high} step 2`"
    return f"`{low}..{high}:{_FEW}` for {_FEW} values"
