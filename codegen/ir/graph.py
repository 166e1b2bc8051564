"""The graph: flat, topologically ordered, hash-consed lists of operations on float64 values.

A `Graph` has params, operations, named outputs and rule bits. An operation's arguments are the
indices of earlier operations of the same list. A `loop` operation holds a `Body`, which is such a
list again; what a body needs from outside is passed in as a capture, so every list is closed.

Every value is a float64; its type says how to read it: `real`, `int` (an integer below 2^53) or
`bool` (0.0 or 1.0). Units are gone: the graph computes in base units. `GraphBuilder`
(`hwdsl.codegen.ir.builder`) is the only way to make graphs. The verifier is in
`hwdsl.codegen.ir.verifier`, the text form in `hwdsl.codegen.ir.serialization`.

The operations, with their arguments, are the records of `hwdsl.codegen.operations`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Iterable, Sequence
from typing import TypeVar

from attrs import field, frozen

from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import BOOL as BOOL
from hwdsl.codegen.operations.record import INT as INT
from hwdsl.codegen.operations.record import RANK as RANK
from hwdsl.codegen.operations.record import REAL as REAL
from hwdsl.codegen.operations.record import nearest as nearest

T = TypeVar("T")
# By code: the values of operations that need no table, as `Operation.fold` finds them.
_SCALARS = {
    code: record.fold
    for code, record in OPERATIONS.items()
    if not (record.reads_table or record.structural)
}


def constant_bits(value: float) -> bytes:
    """What equal constants share: all NaNs are one, the zeros are two."""
    return struct.pack("<d", value if value == value else math.nan)


@frozen
class Op:
    """One operation: its code, arguments and type, and what the code says it also has."""

    code: str
    args: tuple[int, ...] = ()
    type: str = REAL
    # By its bits: 0.0 and -0.0 differ as divisors, and a NaN that did not equal itself would be a
    # new operation wherever it is used.
    value: float = field(default=0.0, eq=lambda v: constant_bits(v))
    index: int = 0
    bound: int = 0
    body: Body | None = None


@frozen
class Body:
    """The inside of a loop.

    Inputs are the loop variable, then `carries` states, then captures, as `input` operations.
    The loop variable runs from `lo` while it is `<= hi` and at most `bound` rounds. In each
    round every state takes the value of its operation in `next` at once. If `until` names an
    operation, the lane stops after the round in which it is not 0; the states of that round are
    kept. A stopped lane's states do not change.

    The loop's results are the states, then the number of rounds run, then whether `until` held
    (1.0 if there is no `until`).
    """

    ops: tuple[Op, ...]
    carries: int
    next: tuple[int, ...]
    until: int | None = None

    @property
    def roots(self) -> tuple[int, ...]:
        """The operations that the loop reads. `until` is one: it says how many rounds are run."""
        return self.next if self.until is None else (*self.next, self.until)

    def split(self, args: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
        """The arguments of the loop: its two ends, what the states start from, the captures."""
        first = 2 + self.carries
        return args[:2], args[2:first], args[first:]


@frozen
class GraphParam:
    """A free input, from `low` to `high`: whoever calls a kernel sees to that.

    A `uniform` one is the same for all points of a call. One that has an end is never NaN.
    """

    name: str
    type: str = REAL
    uniform: bool = False
    low: float = -math.inf
    high: float = math.inf


@frozen
class Graph:
    """A closed computation: params in, outputs and rule bits out.

    `outputs` are (name, operation); `rules` are (name, operation of type bool that is 1 where the
    rule HOLDS). A point's bit is set where the operation is not 1, so NaN breaks a rule. Bit
    `len(rules)` ("undefined") is set where any output is NaN.
    """

    params: tuple[GraphParam, ...]
    ops: tuple[Op, ...]
    outputs: tuple[tuple[str, int], ...]
    rules: tuple[tuple[str, int], ...] = ()
    tables: tuple[tuple[float, ...], ...] = ()

    @property
    def roots(self) -> tuple[int, ...]:
        """The operations of the outputs, then of the rules."""
        return tuple(i for _, i in (*self.outputs, *self.rules))

    @property
    def words(self) -> int:
        """How many 64-bit words the rule bits take, the `undefined` bit included."""
        return len(self.rules) // 64 + 1


def state_types(body: Body, starts: Sequence[str]) -> list[str]:
    """The types of a loop's states: as the body reads them, else the wider of what they start from,
    of these types, and what they go on with."""
    # Where the body reads a state its input says the type, which may be wider than that of what the
    # state starts from; a state that is never read has no input.
    after = [body.ops[n].type for n in body.next]
    types = [max(pair, key=RANK.__getitem__) for pair in zip(starts, after, strict=True)]
    for op in body.ops:
        if op.code == "input" and 1 <= op.index <= body.carries:
            types[op.index - 1] = op.type
    return types


def backward_slice(ops: Sequence[Op], roots: Iterable[int], known: Container[int] = ()) -> set[int]:
    """The roots and all that they depend on, but for what is known, and what that alone needs."""
    found: set[int] = set()
    todo = list(roots)
    while todo:  # not recursive: chains of operations are as long as the file makes them
        i = todo.pop()
        if i not in found and i not in known:
            found.add(i)
            todo.extend(ops[i].args)
    return found


def work(ops: Iterable[Op]) -> int:
    """How many operations a list takes at most, loops with all their rounds."""
    return sum(1 if op.body is None else 1 + op.bound * work(op.body.ops) for op in ops)


def exact_inverse(divisor: float | None) -> float | None:
    """1 / divisor for a power of two: the product with it is the quotient, to the bit."""
    if divisor is None or not math.isfinite(divisor) or abs(math.frexp(divisor)[0]) != 0.5:
        return None
    return 1.0 / divisor if 2.0**-1022 <= abs(divisor) <= 2.0**1022 else None


def fold(
    code: str, args: Sequence[float], tables: Sequence[Sequence[float]] = (), index: int = 0
) -> float:
    """Evaluate one operation on known values, by the functions the interpreter uses."""
    # One function for folding, the interpreter's numbers, inlining and case analysis: each of them
    # must give the bits of the kernel, so none may compute by itself.
    scalar = _SCALARS.get(code)
    return OPERATIONS[code].fold(args, tables[index]) if scalar is None else scalar(args)


def count_operations(ops: Sequence[Op], *, rounds: bool) -> int:
    """How many operations a list has, those inside loops included: once, or for each round."""
    return sum(
        1 if op.body is None
        else (op.bound if rounds else 1) * count_operations(op.body.ops, rounds=rounds)
        for op in ops
    )  # fmt: skip


def rounds(ops: Sequence[Op]) -> int:
    """How many rounds of loops, of loops inside them too, a list takes at most at one point."""
    return sum(op.bound * (1 + rounds(op.body.ops)) for op in ops if op.body is not None)
