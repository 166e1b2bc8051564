"""Formulas on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.codegen.numerics.backend import Formula

Array = NDArray[np.float64]


class Arrays:
    """NumPy arrays of at least one dimension."""

    def div(self, a: Any, b: Any) -> Any:  # noqa: D102 - the protocol says it
        return np.divide(a, b)

    def sqrt(self, a: Any) -> Any:  # noqa: D102
        return np.sqrt(a)

    def floor(self, a: Any) -> Any:  # noqa: D102
        return np.floor(a)

    def ceil(self, a: Any) -> Any:  # noqa: D102
        return np.ceil(a)

    def rint(self, a: Any) -> Any:  # noqa: D102
        return np.rint(a)

    def where(self, c: Any, a: Any, b: Any) -> Any:  # noqa: D102
        return np.where(c, a, b)

    def bits(self, a: Any) -> Any:  # noqa: D102
        return np.ascontiguousarray(a).view(np.uint64)

    def real(self, w: Any) -> Any:  # noqa: D102
        return w.view(np.float64)

    def mask(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w & np.uint64(constant)

    def merge(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w | np.uint64(constant)

    def left(self, w: Any, count: int) -> Any:  # noqa: D102
        return w << np.uint64(count)

    def right(self, w: Any, count: int) -> Any:  # noqa: D102
        return w >> np.uint64(count)

    def plus(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w + np.uint64(constant)

    def same(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w == np.uint64(constant)

    def take(self, name: str, values: Sequence[float], w: Any) -> Any:  # noqa: D102
        return np.asarray(values)[w.astype(np.intp)]


ARRAYS = Arrays()


def on_arrays(formula: Formula) -> Callable[..., Array]:
    """The formula as a function of arrays, which broadcast; numbers are taken as well."""

    def run(*args: Any) -> Array:
        arrays = [np.atleast_1d(np.asarray(a, np.float64)) for a in args]
        with np.errstate(all="ignore"):
            result: Array = np.asarray(formula(ARRAYS, *arrays), np.float64)
        return result if any(np.ndim(a) for a in args) else result.reshape(())

    return run
