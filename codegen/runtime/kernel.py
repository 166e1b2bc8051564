"""What runs a graph: the interface, and kernels of extension modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Axis = tuple[Floats, int, int]


class Kernel(Protocol):
    """What runs a graph. At point p a param is `values[(p // stride) % count]` of its axis."""

    @property
    def params(self) -> int:
        """How many params."""

    @property
    def outputs(self) -> int:
        """How many outputs."""

    @property
    def words(self) -> int:
        """How many words of rule bits a point has."""

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill outputs (None: not wanted) and rule words (one row a point) of start..stop."""

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: the outputs and the words of rule bits."""


class CompiledKernel:
    """A kernel of an extension module."""

    __slots__ = ("index", "module", "outputs", "params", "words")

    def __init__(self, module: Any, index: int) -> None:
        self.module, self.index = module, index
        self.params, self.outputs, self.words = module.shape(index)

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill outputs and rule words; the interpreter lock is released meanwhile."""
        self.module.run(self.index, axes, start, stop, outputs, rules)

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: the outputs and the words of rule bits."""
        result: tuple[list[float], list[int]] = self.module.point(self.index, values)
        return result
