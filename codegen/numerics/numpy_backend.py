"""Formulas on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.codegen.numerics.backend import Formula, WordOperators

Array = NDArray[np.float64]


class Arrays(WordOperators):
    """NumPy arrays of at least one dimension."""

    div, sqrt = staticmethod(np.divide), staticmethod(np.sqrt)
    floor, ceil = staticmethod(np.floor), staticmethod(np.ceil)
    rint, where = staticmethod(np.rint), staticmethod(np.where)

    def bits(self, a: Any) -> Any:  # noqa: D102 - the protocol says it
        return np.ascontiguousarray(a).view(np.uint64)

    def real(self, w: Any) -> Any:  # noqa: D102
        return w.view(np.float64)

    def left(self, w: Any, count: int) -> Any:  # noqa: D102
        return w << count

    def plus(self, w: Any, constant: int) -> Any:  # noqa: D102
        return w + constant


ARRAYS = Arrays()


def on_arrays(formula: Formula) -> Callable[..., Array]:
    """The formula as a function of arrays, which broadcast; numbers are taken as well."""

    def run(*args: Any) -> Array:
        arrays = [np.atleast_1d(np.asarray(a, np.float64)) for a in args]
        with np.errstate(all="ignore"):
            result: Array = np.asarray(formula(ARRAYS, *arrays), np.float64)
        return result if any(np.ndim(a) for a in args) else result.reshape(())

    return run
