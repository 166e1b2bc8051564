"""Many values of a param at once: from what a user gives to base units, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import CallError
from .kernel import Floats
from .spec import NEAR, ParamSpec, joined

_PLAIN: dict[str, tuple[str, set[type]]] = {"bool": ("b", {bool}), "choice": ("", set())}
"""Kinds of arrays, and types of elements, that are numbers as they stand."""


class InUnit(np.ndarray[Any, np.dtype[np.float64]]):
    """Numbers known to be in the param's unit, which may be given where plain ones may not."""


class Masked(CallError):
    """A masked array of which some values are hidden: there is no point to evaluate for them."""


def frame(value: Any) -> dict[str, Any] | None:
    """The columns of a table by name; None for what is no table.

    A table is what speaks Arrow's protocol and has columns by name: a DataFrame of pandas or
    Polars, an Arrow table.
    """
    if not hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__dataframe__"):
        return None
    names = getattr(value, "column_names", None) or list(value.columns)
    return {str(name): np.asarray(value[name]) for name in names}


def is_vector(value: Any) -> bool:
    """Whether what is given for a param is several values."""
    if isinstance(value, str):
        return False
    return isinstance(value, Sequence) or np.ndim(value) > 0  # a list may hold what NumPy cannot


def to_base(param: ParamSpec, value: Any, base: Callable[[Any], float]) -> Floats:
    """Values in base units.

    `base` converts one value and raises CallError for one that does not fit: it is asked for the
    first of those, and for what is no plain number, once for each text that differs.
    """
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise Masked("some values are masked: leave those points out, or fill them in")
        value = value.data
    if isinstance(value, np.matrix):  # stays two-dimensional whatever is asked of it
        value = np.asarray(value)
    in_unit = isinstance(value, InUnit)
    numbers = _numbers(param, value) if in_unit or param.plain else None
    if numbers is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            column = np.ascontiguousarray(clamp_to_range(param, param.scale.to_base(numbers)))
        if param.values:
            column, fits = _nearest(np.sort(param.values), column)
        else:
            fits = (column >= param.low) & (column <= param.high)
        fits &= np.isfinite(column) | ~np.isfinite(numbers)
        if param.kind == "int":
            fits &= (column == np.floor(column)) & np.isfinite(column)
        if not fits.all():
            bad = numbers[np.argmin(fits)].item()
            if param.kind == "int" and bad.is_integer():
                bad = int(bad)
            base(joined(repr(bad), param.scale.unit) if in_unit or not param.plain else bad)
        return column
    cells = value.ravel().tolist() if isinstance(value, np.ndarray) else list(value)
    if all(type(cell) is str for cell in cells):
        known = {cell: base(cell) for cell in dict.fromkeys(cells)}
        return np.array([known[cell] for cell in cells], np.float64)
    return np.array([base(cell) for cell in cells], np.float64)


def clamp_to_range(param: ParamSpec, base: Any) -> Any:
    """A number or an array in base units, what differs from an end of the range by rounding at it.

    The end of a real in its unit is a rounded number: read again, it may lie beyond that end.
    """
    if param.kind != "real" or param.values:
        return base
    least = param.low - NEAR * abs(param.low)
    most = param.high + NEAR * abs(param.high)
    ends = np.clip(base, param.low, param.high)
    return np.where((base >= least) & (base <= most), ends, base)


def to_display_unit(param: ParamSpec, values: Floats) -> NDArray[Any]:
    """Base values as the user reads them."""
    if param.kind == "choice":
        return np.asarray(np.array(param.labels)[values.astype(np.int64)])
    if param.kind == "bool":
        return np.asarray(values != 0.0)
    if param.kind == "int" and np.all(np.abs(values) < 2.0**63):
        return values.astype(np.int64)
    return np.asarray(param.scale.from_base(values))


def _numbers(param: ParamSpec, value: Any) -> Floats | None:
    """Plain numbers (bools for a bool) as an array; None for everything else."""
    kinds, types = _PLAIN.get(param.kind, ("iuf", {int, float}))
    if isinstance(value, np.ndarray):
        return value.astype(np.float64).ravel() if value.dtype.kind in kinds else None
    if isinstance(value, Sequence) and {type(cell) for cell in value} <= types:
        try:
            return np.array(value, np.float64)
        except OverflowError:
            return None
    return None


def _nearest(known: Floats, column: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Each value's closest of the known ones, which ascend, and whether it is that one."""
    above = np.clip(np.searchsorted(known, column), 1, max(len(known) - 1, 1)) % len(known)
    below = np.maximum(above - 1, 0)
    with np.errstate(invalid="ignore"):  # infinities are at no distance from themselves
        upper = np.abs(known[above] - column) < np.abs(known[below] - column)
        near = np.where(upper, known[above], known[below])
        close = np.isfinite(near) & (np.abs(near - column) <= NEAR * np.abs(near))
    same = (known[above] == column) | (known[below] == column)
    return np.where(same, column, near), np.asarray(same | close)
