"""Loops on numbers: what a loop folds to, and what the interpreter makes of one at a single point.

A body is prepared once for all its rounds: what no state depends on is left out. Its first rounds
are run step by step; once it has run `WRITE_AFTER` of them it is written as a Python function,
which runs a round several times as fast. Both do the same float64 operations in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import define, field

from hwdsl.codegen.ir.graph import Body, Op, backward_slice, fold
from hwdsl.codegen.numerics.backend import SCALARS
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import PYTHON_NAMES, Elementwise, Fold

__all__ = ["run_loop"]

Tables = Sequence[tuple[float, ...]]
Meter = Callable[[int], None]
Run = Callable[[int, Sequence[float], Meter | None, int], tuple[float, ...]]
"""The results of a loop for its bound and arguments, the meter, and the rounds already run."""

WRITE_AFTER = 50
"""Rounds after which writing a body has paid: it takes about as long as so many (measured)."""
KEPT = 64
"""Bodies that are held for the next point or call."""
_kept: dict[tuple[int, int], Prepared] = {}


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
    # By identity, which costs nothing; what is kept holds the body, so no other has its place.
    key = id(body), id(tables)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= KEPT:
            _kept.clear()
        found = _kept[key] = Prepared(body, tables)
    return found.run(bound, args, meter)


@define(eq=False)
class Prepared:
    """A body to be run, by any number of threads. `order` has the operations that a state, or
    `until`, depends on; `steps` are those that compute."""

    body: Body
    tables: Tables
    order: list[int] = field(init=False)
    steps: int = field(init=False)
    inner: dict[int, Prepared] = field(init=False)
    rounds: int = 0
    _written: Run | None = None

    def __attrs_post_init__(self) -> None:
        ops = self.body.ops
        self.order = sorted(backward_slice(ops, self.body.roots))
        self.steps = sum(ops[i].code not in ("const", "input") for i in self.order)
        bodies = ((i, ops[i].body) for i in self.order)
        self.inner = {i: Prepared(b, self.tables) for i, b in bodies if b is not None}

    def run(
        self, bound: int, args: Sequence[float], meter: Meter | None = None
    ) -> tuple[float, ...]:
        """The results for the loop's arguments."""
        if self._written is not None:
            return self._written(bound, args, meter, 0)
        body = self.body
        (low, high), states, captures = body.split(args)
        values: list[Any] = [None] * len(body.ops)
        rounds, settled = 0, body.until is None
        while rounds < bound and low + rounds <= high:
            if self.rounds >= WRITE_AFTER:
                written = self._written = self._written or _compiled(self)
                return written(bound, (low, high, *states, *captures), meter, rounds)
            # All inputs are set before a step runs, so states are replaced at once.
            given = [low + rounds, *states, *captures]
            for i in self.order:
                values[i] = self._value(i, values, given, meter)
            states = [values[n] for n in body.next]
            rounds += 1
            self.rounds += 1
            # After each round and not at the end: by raising, the meter ends loops that are long.
            if meter is not None:
                meter(self.steps)
            if body.until is not None and values[body.until] != 0.0:
                settled = True
                break
        return (*states, float(rounds), float(settled))

    def _value(
        self, i: int, values: Sequence[Any], given: Sequence[float], meter: Meter | None
    ) -> Any:
        op = self.body.ops[i]
        if op.code == "const":
            return op.value
        if op.code == "input":
            return float(given[op.index])
        args = [values[a] for a in op.args]
        if op.code == "proj":
            return args[0][op.index]
        if op.body is not None:
            return self.inner[i].run(op.bound, args, meter)
        return fold(op.code, args, self.tables, op.index)


# --- a body as a Python function -----------------------------------------------------------------


def _compiled(prepared: Prepared) -> Run:
    """The loop as a Python function of its bound, its arguments and the meter."""
    writer = _Writer(prepared, dict(PYTHON_NAMES) | {"scalars": SCALARS, "inf": math.inf})
    text = "\n".join(writer.lines())
    exec(compile(text, "<a loop>", "exec"), writer.names)
    run: Run = writer.names["run"]
    return run


@define(eq=False)
class _Writer:
    """Writes a body: a statement for each step. `names` is what the function calls beside."""

    prepared: Prepared
    names: dict[str, Any]

    def lines(self) -> Iterator[str]:
        """The text of the function, of which `run` is the name."""
        body, carries = self.prepared.body, self.prepared.body.carries
        ops = [(i, body.ops[i]) for i in self.prepared.order]
        inputs = max((op.index for _, op in ops if op.code == "input"), default=0)
        states = "".join(f"i{1 + c}, " for c in range(carries))
        count = max(inputs, carries)
        first = "".join(f", i{k}" for k in range(1, count + 1))
        yield "def run(bound, args, meter, rounds):"
        yield f" low, high{first} = map(float, args[:{2 + count}])"
        yield f" settled = {float(body.until is None)}"
        yield " while rounds < bound and low + rounds <= high:"
        yield "  i0 = low + rounds"
        for i, op in ops:
            if op.code not in ("const", "input"):
                yield from (f"  v{i} = {text}" for text in self.expressions(i, op))
        if body.until is not None:
            yield f"  stop = {self.operand(body.until)} != 0.0"
        if carries:
            yield f"  {states}= {''.join(f'{self.operand(n)}, ' for n in body.next)}"
        yield "  rounds += 1"
        yield f"  if meter is not None: meter({self.prepared.steps})"
        if body.until is not None:
            yield "  if stop:"
            yield "   settled = 1.0"
            yield "   break"
        yield f" return ({states}float(rounds), settled)"

    def operand(self, i: int) -> str:
        """What stands for an operation where it is read."""
        op = self.prepared.body.ops[i]
        if op.code == "const":
            return f"({op.value!r})"  # floats are written so that they are read as the same one
        return f"i{op.index}" if op.code == "input" else f"v{i}"

    def expressions(self, i: int, op: Op) -> Iterator[str]:
        """What an operation is assigned, one after the other."""
        args = [self.operand(a) for a in op.args]
        together = f"({', '.join(args)},)"
        compute = OPERATIONS[op.code].compute
        if op.code == "proj":
            yield f"{args[0]}[{op.index}]"
        elif op.body is not None:
            self.names[f"f{i}"] = self.prepared.inner[i].run
            yield f"f{i}({op.bound}, {together}, meter)"
        elif isinstance(compute, Elementwise):
            if compute.python is not None:
                yield compute.python.format(*args)
            else:
                self.names[f"f_{op.code}"] = compute.formula
                yield f"float(f_{op.code}(scalars, {', '.join(args)}))"
        elif isinstance(compute, Fold) and compute.elementwise.python is not None:
            yield args[0]
            for arg in args[1:]:  # from the left, as everywhere
                yield compute.elementwise.python.format(f"v{i}", arg)
        else:
            self.names[f"f{i}"] = partial(_folded, op, self.prepared.tables)
            yield f"f{i}({together})"


def _folded(op: Op, tables: Tables, args: Sequence[float]) -> float:
    return fold(op.code, args, tables, op.index)
