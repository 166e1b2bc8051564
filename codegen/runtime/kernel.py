"""What runs a graph: the interface, and kernels of extension modules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .threads import on_a_thread

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Axis = tuple[Floats, int, int]
LONG = 1e7
"""Operations, some hundredths of a second, from which on a call can be interrupted."""


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

    def halt(self, on: bool) -> None:
        """While on, calls under way on other threads end soon, by KeyboardInterrupt."""


class CompiledKernel:
    """A kernel of an extension module.

    A long call on the main thread computes on another one, so that an interrupt is seen at once.
    """

    __slots__ = ("index", "module", "outputs", "params", "patience", "words")

    def __init__(self, module: Any, index: int) -> None:
        self.module, self.index = module, index
        self.params, self.outputs, self.words = module.shape(index)
        self.patience = LONG / max(module.work(index), 1.0)

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill outputs and rule words; the interpreter lock is released meanwhile."""
        if stop - start < self.patience:
            self.module.run(self.index, axes, start, stop, outputs, rules)
        else:
            self._apart(lambda: self.module.run(self.index, axes, start, stop, outputs, rules))

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: the outputs and the words of rule bits."""
        result: tuple[list[float], list[int]]
        if self.patience > 1.0:
            result = self.module.point(self.index, values)
        else:
            result = self._apart(lambda: self.module.point(self.index, values))
        return result

    def halt(self, on: bool) -> None:
        """While on, calls under way on other threads end soon, by KeyboardInterrupt."""
        self.module.halt(on)

    def _apart(self, work: Callable[[], Any]) -> Any:
        """Do some work on another thread, and stop it if this one, the main one, is interrupted."""
        if threading.current_thread() is not threading.main_thread():
            return work()

        def end(thread: threading.Thread, over: threading.Event) -> None:
            self.halt(True)
            try:
                over.wait()
            finally:  # a second interrupt leaves at once; later calls must not be halted
                self.halt(False)

        return on_a_thread(work, "hwdsl-kernel", end)
