"""The interpreter: what a graph means. Kernels must give the same bits.

`interpret` runs a graph over many points with NumPy, in blocks; a `Point` is one point in Python
floats, of which the value of any operation can be asked. Both stand on `hwdsl.codegen.operations`.

An index of a `gather` or `table` that lies outside (where a rule is broken, or the lane is masked)
reads the nearest entry; NaN reads the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from hwdsl.codegen.ir.graph import Body, Graph, Op, backward_slice, fold
from hwdsl.codegen.ir.loop_folding import run_loop
from hwdsl.codegen.numerics.numpy_backend import on_arrays
from hwdsl.codegen.operations import FORMULAS, OPERATIONS
from hwdsl.codegen.operations.record import Entry, FirstBest, Fold, Gather

__all__ = ["BLOCK", "Point", "Results", "interpret"]

BLOCK = 4096
"""Points per block: few enough that a block's values stay in the cache."""

Array = NDArray[np.float64]
Value = float | Array
Tables = Sequence[tuple[float, ...]]

ARRAY: Mapping[str, Callable[..., Array]] = {c: on_arrays(f) for c, f in FORMULAS.items()}
"""The elementwise codes on arrays."""


@frozen(eq=False)
class Results:
    """The outputs by name, numbers if all columns were numbers, and the rule words per point."""

    outputs: dict[str, Value]
    rules: NDArray[np.uint64]


def interpret(
    graph: Graph,
    columns: Sequence[float | Array],
    block: int = BLOCK,
    halted: Callable[[], bool] = lambda: False,
) -> Results:
    """Run a graph on a column per param; columns are numbers or arrays of one length.

    Raises KeyboardInterrupt soon after `halted` says so, as another thread may want it to.
    """
    if len(columns) != len(graph.params):
        raise ValueError(f"{len(graph.params)} params but {len(columns)} columns")
    inputs: list[Value] = [
        np.ascontiguousarray(c, np.float64) if np.ndim(c) else float(c) for c in columns
    ]
    lengths = {len(c) for c in inputs if isinstance(c, np.ndarray)}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths {sorted(lengths)}")
    if not lengths:
        return _block(graph, inputs, 1, halted)
    count = lengths.pop()
    outputs = {name: np.empty(count) for name, _ in graph.outputs}
    rules = np.zeros((count, graph.words), np.uint64)
    # A point's value depends on no other point, so where blocks are cut changes no bit.
    for start in range(0, count, block):
        stop = min(start + block, count)
        part = [c[start:stop] if isinstance(c, np.ndarray) else c for c in inputs]
        done = _block(graph, part, stop - start, halted)
        rules[start:stop] = done.rules
        for name, column in outputs.items():
            column[start:stop] = done.outputs[name]
    return Results(dict(outputs), rules)


@define(eq=False)
class Point:
    """Lazy evaluation of a list of operations at one point: each value is computed on demand, once.

    `inputs` gives the values of params, or of what goes into a body. The list may go on growing.
    """

    ops: Sequence[Op]
    inputs: Callable[[int], float]
    tables: Tables = ()
    _values: dict[int, Any] = field(factory=dict)

    def value(self, index: int) -> float:
        """The value of an operation; a loop's is its rounds run."""
        if index not in self._values:
            missing = backward_slice(self.ops, [index], self._values)
            for i in sorted(missing):  # in the order of the list: operands come first
                self._values[i] = _value(self.ops[i], self._values, self.inputs, self.tables)
        found = self._values[index]
        body = self.ops[index].body
        return float(found if body is None else found[body.carries])


def _value(
    op: Op,
    values: Mapping[int, Any] | Sequence[Any],
    inputs: Callable[[int], float],
    tables: Tables,
) -> float | tuple[float, ...]:
    """The value of one operation on numbers; a loop's are its results."""
    if op.code == "const":
        return op.value
    if op.code in ("param", "input"):
        return float(inputs(op.index))
    args = [values[a] for a in op.args]
    if op.code == "proj":
        return float(args[0][op.index])
    if op.body is not None:
        return run_loop(op.body, op.bound, args, tables)
    return fold(op.code, args, tables, op.index)


def _block(
    graph: Graph, inputs: Sequence[Value], count: int, halted: Callable[[], bool]
) -> Results:
    # Infinities and NaN are values of a graph, and the rule `undefined` reports them.
    with np.errstate(all="ignore"):
        values = _Run(graph.tables, halted).values(graph.ops, inputs, graph.roots)
        outputs = {name: values[i] for name, i in graph.outputs}
        rules = np.zeros((count, graph.words), np.uint64)
        for bit, (_, i) in enumerate(graph.rules):
            _set_bit(rules, bit, np.not_equal(values[i], 1.0))  # true for NaN: it breaks a rule
        for value in outputs.values():
            _set_bit(rules, len(graph.rules), np.isnan(value))
    return Results(outputs, rules)


def _set_bit(rules: NDArray[np.uint64], bit: int, where: Any) -> None:
    rules[:, bit // 64] |= np.where(where, np.uint64(1 << bit % 64), np.uint64(0))


@define(eq=False)
class _Run:
    """One pass over a block of points. Values that are uniform over its lanes stay numbers.

    `deaths` has, for each operation of a list, the values whose live range ends there: dropping
    them keeps the memory of a block small, however long the list is.
    """

    tables: Tables
    halted: Callable[[], bool]
    rows: dict[int, Array] = field(factory=dict)
    deaths: dict[tuple[int, ...], list[list[int]]] = field(factory=dict)

    def values(self, ops: Sequence[Op], inputs: Sequence[Value], kept: Sequence[int]) -> list[Any]:
        """The values of an operation list; those not kept are dropped after their last use."""
        if self.halted():  # at each block, and at each round of a loop
            raise KeyboardInterrupt
        # By identity, which costs nothing: the graph holds its lists for as long as this runs.
        key = (id(ops), *kept)
        deaths = self.deaths.get(key)
        if deaths is None:
            deaths = self.deaths[key] = _last_uses(ops, kept)
        values: list[Any] = [None] * len(ops)
        for i, op in enumerate(ops):
            values[i] = self.value(op, values, inputs)
            for dead in deaths[i]:
                values[dead] = None
        return values

    def value(self, op: Op, values: Sequence[Any], inputs: Sequence[Value]) -> Any:
        """The value of one operation; of a loop, all its results."""
        if op.code == "const":
            return op.value
        if op.code in ("param", "input"):
            return inputs[op.index]
        args = [values[a] for a in op.args]
        if op.code == "proj":
            return args[0][op.index]
        if op.body is not None:
            return self.loop(op, op.body, args)
        # What is the same in all lanes is one Python float, as in a kernel a scalar slot.
        if not any(isinstance(a, np.ndarray) for a in args):
            return fold(op.code, args, self.tables, op.index)
        record = OPERATIONS[op.code]
        if record.reads_table:
            return _lookup(isinstance(record.compute, Entry), args[0], self.row(op.index))
        if isinstance(record.compute, Gather):
            return _gather(args[0], args[1:])
        if isinstance(record.compute, Fold | FirstBest):
            return _reduce(record.compute, args)
        return ARRAY[op.code](*args)

    def row(self, index: int) -> Array:
        """A table as an array."""
        if index not in self.rows:
            self.rows[index] = np.array(self.tables[index], np.float64)
        return self.rows[index]

    def loop(self, op: Op, body: Body, args: Sequence[Value]) -> tuple[Value, ...]:
        """The results of a loop whose lanes stop each for itself."""
        numbers = [a for a in args if not isinstance(a, np.ndarray)]
        if len(numbers) == len(args):
            return run_loop(body, op.bound, numbers, self.tables, self._check)
        (low, high), states, captures = body.split(args)
        active: Any = True
        settled: Any = body.until is None
        rounds: Value = 0.0
        # All lanes run all rounds that one of them needs; a lane that has stopped keeps its states
        # by masked updates (predicated execution), as in the kernel.
        for turn in range(op.bound):
            variable = low + turn
            active = np.logical_and(active, variable <= high)
            if not np.any(active):
                break
            values = self.values(body.ops, [variable, *states, *captures], body.roots)
            states = [
                _masked_update(active, values[n], old)
                for n, old in zip(body.next, states, strict=True)
            ]
            rounds = _masked_update(active, rounds + 1.0, rounds)
            if body.until is not None:
                held = np.logical_and(active, values[body.until] != 0.0)
                settled = np.logical_or(settled, held)
                active = np.logical_and(active, np.logical_not(held))
        return (*states, rounds, _masked_update(settled, 1.0, 0.0))

    def _check(self, operations: int) -> None:
        if self.halted():
            raise KeyboardInterrupt


def _last_uses(ops: Sequence[Op], kept: Sequence[int]) -> list[list[int]]:
    """Per operation, the values that are not needed once it is done."""
    last: dict[int, int] = {}
    for i, op in enumerate(ops):
        last[i] = i
        for a in op.args:
            last[a] = i
    deaths: list[list[int]] = [[] for _ in ops]
    stay = set(kept)
    for value, i in last.items():
        if value not in stay:
            deaths[i].append(value)
    return deaths


def _masked_update(active: Any, new: Value, old: Value) -> Value:
    """The new state in the lanes that run, the old one in those that stopped; a number while it is
    the same in all lanes."""
    if isinstance(active, np.ndarray):
        return np.where(active, new, old)
    return new if active else old


def _indices(i: Value, count: int) -> NDArray[np.intp]:
    # NaN first: what it becomes as an integer differs between processors.
    inside = np.clip(np.where(np.isnan(i), 0.0, i), 0.0, count - 1.0)
    return np.asarray(inside).astype(np.intp)


def _lookup(entry: bool, x: Array, row: Array) -> Array:
    if entry:
        return row[_indices(x, len(row))]
    found = np.searchsorted(row, x, side="right").astype(np.float64)
    return np.where(np.isnan(x), 0.0, found)


def _gather(i: Value, rows: Sequence[Value]) -> Value:
    if not isinstance(i, np.ndarray):
        return rows[int(_indices(i, len(rows)))]
    lanes = np.arange(len(i))
    stacked = np.stack(np.broadcast_arrays(*rows, i)[:-1])
    return np.asarray(stacked[_indices(i, len(rows)), lanes])


def _reduce(compute: Fold | FirstBest, args: Sequence[Value]) -> Value:
    if isinstance(compute, Fold):
        step = ARRAY[compute.step]
        total = args[0]
        for x in args[1:]:
            total = step(total, x)
        return total
    # In the order of the kernel's `_arg`, so that ties and NaN are broken alike.
    best, found = args[0], np.zeros(np.shape(args[0]))
    for i, x in enumerate(args[1:], 1):
        nearer = compute.better(np.asarray(x), np.asarray(best))
        best = np.where(nearer, x, best)
        found = np.where(nearer, float(i), found)
    return found
