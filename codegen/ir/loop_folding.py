"""Loops on numbers: what a loop folds to, and what the interpreter makes of one at a single point.

A body is prepared once for all its rounds: what no state depends on is left out, constants stand in
their places, and the commonest operations are plain Python ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from hwdsl.codegen.ir.graph import Body, Op, backward_slice, fold
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import Elementwise

__all__ = ["run_loop"]

Tables = Sequence[tuple[float, ...]]
Meter = Callable[[int], None]
Values = list[Any]


def run_loop(
    body: Body,
    bound: int,
    args: Sequence[float],
    tables: Tables = (),
    meter: Meter | None = None,
) -> tuple[float, ...]:
    """The results of a loop on numbers: the states, the rounds run, whether `until` held.

    `meter` is told after each round how many operations it took; it may raise.
    """
    return Prepared(body, tables, meter).run(bound, args)


@define(eq=False)
class Prepared:
    """A body to be run. A step is its place, a function, and two arguments or none (-1)."""

    body: Body
    tables: Tables
    meter: Meter | None
    _values: Values = field(init=False)
    _inputs: list[tuple[int, int]] = field(factory=list)
    _steps: list[tuple[int, Callable[..., Any], int, int]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        ops = self.body.ops
        # One list for all rounds: a round overwrites what the one before it left, in order.
        self._values = [None] * len(ops)
        for i in sorted(backward_slice(ops, self.body.roots)):
            op = ops[i]
            if op.code == "const":
                self._values[i] = op.value
            elif op.code == "input":
                self._inputs.append((i, op.index))
            elif (direct := _direct(op.code)) is not None:
                self._steps.append((i, direct, op.args[0], op.args[1]))
            else:
                self._steps.append((i, self._step(op), -1, -1))

    def _step(self, op: Op) -> Callable[[Values], Any]:
        code, args, index, tables = op.code, op.args, op.index, self.tables
        if code == "proj":
            return lambda values: values[args[0]][index]
        if code == "select":
            condition, yes, no = args
            return lambda values: values[yes] if values[condition] != 0.0 else values[no]
        if op.body is not None:
            inner = Prepared(op.body, tables, self.meter)
            return lambda values: inner.run(op.bound, [values[a] for a in args])
        return lambda values: fold(code, [values[a] for a in args], tables, index)

    def run(self, bound: int, args: Sequence[float]) -> tuple[float, ...]:
        """The results for the loop's arguments."""
        body, values, steps = self.body, self._values, self._steps
        (low, high), states, captures = body.split(args)
        rounds, settled = 0, body.until is None
        while rounds < bound and low + rounds <= high:
            # All inputs are set before a step runs, so states are replaced at once.
            given = [low + rounds, *states, *captures]
            for i, slot in self._inputs:
                values[i] = float(given[slot])
            for i, function, a, b in steps:
                values[i] = function(values) if a < 0 else function(values[a], values[b])
            states = [values[n] for n in body.next]
            rounds += 1
            # After each round and not at the end: by raising, the meter ends loops that are long.
            if self.meter is not None:
                self.meter(len(steps))
            if body.until is not None and values[body.until] != 0.0:
                settled = True
                break
        return (*states, float(rounds), float(settled))


def _direct(code: str) -> Callable[[float, float], float] | None:
    """What an operation of two is on numbers, if that is plain Python."""
    compute = OPERATIONS[code].compute
    return compute.direct if isinstance(compute, Elementwise) else None
