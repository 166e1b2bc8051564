"""A kernel computes outputs and rule bits for a range of points: compiled, interpreted, or compiled
once that pays.

At point `p` a param has the value `values[(p // stride) % count]` of its axis, so grids, columns
and constants are one thing, and no column is ever written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from hwdsl.codegen.build.toolchain import abandon
from hwdsl.codegen.ir.graph import Graph, count_operations
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.runtime import Axis, CompiledKernel, Floats, Kernel

__all__ = ["Axis", "CompiledKernel", "InterpreterKernel", "Kernel", "TieredKernel"]

# Seconds, as measured on one core: of the interpreter by operation, and by operation and point;
# of the C compiler by module, and by operation.
STEP, LANE = 4e-6, 5e-9
MODULE, OPERATION = 0.4, 4e-4


@define(eq=False)
class InterpreterKernel:
    """Runs a graph without compiling it: slow to sweep, ready at once, and the same to the bit."""

    graph: Graph
    params: int = field(init=False)
    outputs: int = field(init=False)
    words: int = field(init=False)
    halted: Event = field(factory=Event, init=False)

    def __attrs_post_init__(self) -> None:
        self.params, self.outputs = len(self.graph.params), len(self.graph.outputs)
        self.words = self.graph.words

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: NDArray[np.uint64],
    ) -> None:  # fmt: skip
        """Fill the outputs (None: not wanted) and the words of rule bits of points start..stop."""
        if len(axes) != self.params or len(outputs) != self.outputs or not 0 <= start <= stop:
            raise ValueError("wrong number of axes or outputs, or an empty range")
        points = np.arange(start, stop)
        # What is the same at all points stays a number, and so does all that follows from it.
        columns: list[float | Floats] = [
            values[(points // stride) % count] if count > 1 else float(values[0])
            for values, stride, count in axes
        ]
        results = interpret(self.graph, columns, halted=self.halted.is_set)
        for column, (name, _) in zip(outputs, self.graph.outputs, strict=True):
            if column is not None:
                column[: stop - start] = results.outputs[name]
        rules[: stop - start] = np.asarray(results.rules).reshape(-1, self.words)

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: its outputs and its words of rule bits."""
        results = interpret(self.graph, values, halted=self.halted.is_set)
        rules = results.rules.reshape(-1).tolist()
        return [float(results.outputs[name]) for name, _ in self.graph.outputs], rules

    def halt(self, on: bool) -> None:
        """While on, calls under way on other threads end soon, by KeyboardInterrupt."""
        self.halted.set() if on else self.halted.clear()


@define(eq=False)
class TieredKernel:
    """Tiered execution: it interprets until the time spent, by its own estimate, equals the cost of
    building the kernel, and then builds it.

    That is the ski-rental rule: at most twice the time of the better choice, without knowing how
    many points are to come (decision 9). Which tier runs is seen in the time alone: both agree to
    the bit.
    """

    interpreter: InterpreterKernel
    compile: Callable[[], Kernel]
    spent: float = field(default=0.0, init=False)
    compiled: Kernel | None = field(default=None, init=False)
    params: int = field(init=False)
    outputs: int = field(init=False)
    words: int = field(init=False)
    rounds: int = field(init=False)
    price: float = field(init=False)
    lock: Lock = field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        kernel, ops = self.interpreter, self.interpreter.graph.ops
        self.params, self.outputs, self.words = kernel.params, kernel.outputs, kernel.words
        self.rounds = count_operations(ops, rounds=True)
        self.price = MODULE + OPERATION * count_operations(ops, rounds=False)

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: NDArray[np.uint64],
    ) -> None:  # fmt: skip
        """Fill the outputs (None: not wanted) and the words of rule bits of points start..stop."""
        self._for(stop - start).run(axes, start, stop, outputs, rules)

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: its outputs and its words of rule bits."""
        return self._for(1).point(values)

    def halt(self, on: bool) -> None:
        """While on, calls under way on other threads end soon, by KeyboardInterrupt."""
        if on:
            abandon()
        for kernel in (self.interpreter, self.compiled):
            if kernel is not None:
                kernel.halt(on)

    def _for(self, points: int) -> Kernel:
        if self.compiled is not None:
            return self.compiled
        with self.lock:  # threads of a sweep come here at once, and one of them is to compile
            self.spent += self.rounds * (STEP + LANE * points)
            if self.spent >= self.price:
                self.compiled = self.compiled or self.compile()
            return self.compiled or self.interpreter
