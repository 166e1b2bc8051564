"""A kernel computes outputs and rule bits for a range of points; there are two kinds of them.

At point `p` a param has the value `values[(p // stride) % count]` of its axis, so grids, columns
and constants are one thing, and no column is ever written out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from hwdsl.codegen.interpret import interpret
from hwdsl.codegen.ir import Graph
from hwdsl.codegen.runtime import Axis, CompiledKernel, Kernel

__all__ = ["Axis", "CompiledKernel", "InterpreterKernel", "Kernel"]


@frozen(eq=False)
class InterpreterKernel:
    """Runs a graph without compiling it: slow to sweep, ready at once, and the same to the bit."""

    graph: Graph
    params: int = field(init=False)
    outputs: int = field(init=False)
    words: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "params", len(self.graph.params))
        object.__setattr__(self, "outputs", len(self.graph.outputs))
        object.__setattr__(self, "words", self.graph.words)

    def run(
        self,
        axes: Sequence[Axis],
        start: int,
        stop: int,
        outputs: Sequence[NDArray[np.float64] | None],
        rules: NDArray[np.uint64],
    ) -> None:
        """Fill the outputs (None: not wanted) and the words of rule bits of points start..stop."""
        if len(axes) != self.params or len(outputs) != self.outputs or not 0 <= start <= stop:
            raise ValueError("wrong number of axes or outputs, or an empty range")
        points = np.arange(start, stop)
        columns: list[float | NDArray[np.float64]] = [
            values[(points // stride) % count] for values, stride, count in axes
        ]
        results = interpret(self.graph, columns)
        for column, (name, _) in zip(outputs, self.graph.outputs, strict=True):
            if column is not None:
                column[: stop - start] = results.outputs[name]
        rules[: stop - start] = np.asarray(results.rules).reshape(-1, self.words)

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: its outputs and its words of rule bits."""
        out = [np.empty(1) for _ in range(self.outputs)]
        rules = np.empty((1, self.words), np.uint64)
        axes = [(np.array([v], np.float64), 1, 1) for v in values]
        self.run(axes, 0, 1, out, rules)
        return [float(c[0]) for c in out], [int(w) for w in rules[0]]
