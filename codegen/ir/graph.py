"""The graph: flat, topologically ordered, hash-consed lists of operations on float64 values.

A `Graph` has params, operations, named outputs and rule bits. An operation's arguments are the
indices of earlier operations of the same list. A `loop` operation holds a `Body`, which is such a
list again; what a body needs from outside is passed in as a capture, so every list is closed.

Every value is a float64; its type says how to read it: `real`, `int` (an integer below 2^53) or
`bool` (0.0 or 1.0). Units are gone: the graph computes in base units. `GraphBuilder` is the only
way to make graphs; it folds constants and shares equal operations as they are added. Equal includes
the sign of zero and every NaN. The verifier is in `hwdsl.codegen.ir.verifier`, the text form in
`hwdsl.codegen.ir.serialization`.

The operations, with their arguments, are the records of `hwdsl.codegen.operations`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field, frozen

from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import BOOL as BOOL
from hwdsl.codegen.operations.record import INT as INT
from hwdsl.codegen.operations.record import RANK as RANK
from hwdsl.codegen.operations.record import REAL as REAL
from hwdsl.codegen.operations.record import Fold
from hwdsl.codegen.operations.record import nearest as nearest


def _bits(value: float) -> bytes:
    """What equal constants share: all NaNs are one, the zeros are two."""
    return struct.pack("<d", value if value == value else math.nan)


@frozen
class Op:
    """One operation: its code, arguments and type, and what the code says it also has."""

    code: str
    args: tuple[int, ...] = ()
    type: str = REAL
    value: float = field(default=0.0, eq=lambda v: _bits(v))
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
    def work(self) -> int:
        """How many operations a round takes at most, loops inside with all their rounds."""
        return work(self.ops)


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
    def words(self) -> int:
        """How many 64-bit words the rule bits take, the `undefined` bit included."""
        return len(self.rules) // 64 + 1


@define(eq=False)
class Region:
    """An operation list under construction: the graph's own, or a loop body's."""

    parent: Region | None
    depth: int
    ops: list[Op] = field(factory=list)
    shared: dict[Op, int] = field(factory=dict)
    captures: dict[tuple[int, int], int] = field(factory=dict)
    captured: list[Ref] = field(factory=list)
    carries: int = 0


@frozen
class Ref:
    """A value under construction: an operation of a region."""

    region: Region = field(eq=id, repr=False)
    index: int

    @property
    def op(self) -> Op:
        """The operation referred to."""
        return self.region.ops[self.index]

    @property
    def type(self) -> str:
        """`real`, `int` or `bool`."""
        return self.op.type

    @property
    def known(self) -> float | None:
        """The value, if it is a constant."""
        op = self.op
        return op.value if op.code == "const" else None


@define(eq=False)
class GraphBuilder:
    """Makes a graph. Operations are placed in the outermost region that has their arguments.

    Inside a loop body, outer values may be used freely: they become captures by themselves, and
    what does not depend on the loop is placed outside it.
    """

    params: list[GraphParam] = field(factory=list)
    tables: list[tuple[float, ...]] = field(factory=list)
    root: Region = field(factory=lambda: Region(None, 0))
    _constants: dict[tuple[bytes, str], Ref] = field(factory=dict, init=False)
    _names: set[str] = field(factory=set, init=False)

    def const(self, value: float, type: str = REAL) -> Ref:
        """A constant."""
        key = _bits(value), type
        found = self._constants.get(key)
        if found is None:
            found = self._place(self.root, Op("const", (), type, value=float(value)))
            self._constants[key] = found
        return found

    def param(
        self,
        name: str,
        type: str = REAL,
        *,
        uniform: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> Ref:
        """A new free input; names are unique."""
        if name in self._names:
            raise ValueError(f"two params named {name}")
        self._names.add(name)
        self.params.append(GraphParam(name, type, uniform, low, high))
        return self._place(self.root, Op("param", (), type, index=len(self.params) - 1))

    def table(self, values: Iterable[float]) -> int:
        """Intern a constant table and return its index, for `table` and `bucket`."""
        row = tuple(float(v) for v in values)
        packed = struct.pack(f"<{len(row)}d", *row)
        for i, old in enumerate(self.tables):
            if struct.pack(f"<{len(old)}d", *old) == packed:
                return i
        self.tables.append(row)
        return len(self.tables) - 1

    def op(self, code: str, *args: Ref, index: int = 0, type: str | None = None) -> Ref:
        """Add an operation and return its value, folded if all arguments are known.

        The type follows from the code and the arguments unless given; the value has it also where
        the operation turns out to be one of its arguments.
        """
        result = type or OPERATIONS[code].type.result([a.type for a in args])
        if code == "pow":
            # Before folding, so that known and unknown bases go through the same products.
            product = self._power(args[0], args[1].known, type)
            if product is not None:
                return product
        values = [a.known for a in args]
        if args and code != "proj" and None not in values:
            known = [v for v in values if v is not None]
            return self.const(fold(code, known, self.tables, index), result)
        simpler = self._simplify(code, args, result)
        if simpler is not None:
            return self.widen(simpler, result)
        region = self._deepest(args)
        inner = tuple(self._inside(a, region) for a in args)
        return self._place(region, Op(code, inner, result, index=index))

    def widen(self, ref: Ref, type: str) -> Ref:
        """The same number as one of a type that its own is part of: a product with 1, which keeps
        every bit. A value that has the type, or a wider one, is returned as it is."""
        if RANK[ref.type] >= RANK[type]:
            return ref
        return self.op("mul", self.const(1.0, type), ref, type=type)

    def open_loop(self, carries: Sequence[str], within: Iterable[Ref] = ()) -> LoopRegion:
        """Start a loop body with states of the given types.

        `within` are values that place the loop: it is built inside their deepest region.
        """
        parent = self._deepest(list(within))
        region = Region(parent, parent.depth + 1, carries=len(carries))
        types = [INT, *carries]
        inputs = [self._place(region, Op("input", (), t, index=i)) for i, t in enumerate(types)]
        return LoopRegion(self, region, inputs[0], tuple(inputs[1:]))

    def finish(
        self, outputs: Sequence[tuple[str, Ref]], rules: Sequence[tuple[str, Ref]] = ()
    ) -> Graph:
        """Close the graph. Dead operations are kept; `passes.dead` removes them."""
        return Graph(
            tuple(self.params),
            tuple(self.root.ops),
            tuple((n, self._inside(r, self.root)) for n, r in outputs),
            tuple((n, self._inside(r, self.root)) for n, r in rules),
            tuple(self.tables),
        )

    def _place(self, region: Region, op: Op) -> Ref:
        index = region.shared.setdefault(op, len(region.ops))
        if index == len(region.ops):
            region.ops.append(op)
        return Ref(region, index)

    def _deepest(self, args: Sequence[Ref]) -> Region:
        region = self.root
        for a in args:
            if a.region.depth > region.depth:
                region = a.region
        return region

    def _inside(self, ref: Ref, region: Region) -> int:
        """The index in `region` of a value of it or of a region around it."""
        if ref.region is region:
            return ref.index
        if ref.known is not None:
            return self._place(region, ref.op).index
        if region.parent is None:
            raise ValueError("a value of a loop body is used outside it")
        key = (id(ref.region), ref.index)
        if key not in region.captures:
            slot = 1 + region.carries + len(region.captured)
            region.captured.append(ref)
            region.captures[key] = self._place(region, Op("input", (), ref.type, index=slot)).index
        return region.captures[key]

    def _simplify(self, code: str, args: Sequence[Ref], type: str) -> Ref | None:
        """Identities that hold for every float64, NaN, infinities and signed zeros included."""
        record = OPERATIONS[code]
        if record.picks is not None and args[0].known is not None:
            return args[record.picks(args[0].known, len(args))]
        if record.decider is not None:
            for a, b in (args, args[::-1]):
                if a.known is not None:
                    return a if bool(a.known) == bool(record.decider) else b
        elif isinstance(record.compute, Fold) and len(args) == 1:
            return args[0]
        elif code == "select":
            if args[1] == args[2]:
                return args[1]
        elif code == "mul":
            for a, b in (args, args[::-1]):
                if a.known == 1.0 and b.type == type:
                    return b
        elif code == "div":
            if args[1].known == 1.0 and args[0].type == type:
                return args[0]
            inverse = exact_inverse(args[1].known)
            if inverse is not None:
                return self.op("mul", args[0], self.const(inverse), type=type)
        elif code == "pow" and args[0].known == 1.0:
            return self.const(1.0, type)
        return None

    def _power(self, base: Ref, exponent: float | None, type: str | None) -> Ref | None:
        """Constant powers as products; the formula makes the same of a known base. They are
        of the base's type unless one is given."""
        if exponent == 0.5:
            return self.op("sqrt", base)
        if exponent == -1.0:
            return self.op("div", self.const(1.0), base)
        if exponent not in (1.0, 2.0, 3.0, 4.0):
            return None
        if exponent == 1.0:
            return self.widen(base, type or base.type)
        square = self.op("mul", base, base, type=type)
        if exponent == 2.0:
            return square
        return self.op("mul", square, base if exponent == 3.0 else square, type=type)


@frozen
class LoopRegion:
    """A loop body being built: use `variable` and `states`, then `close` it."""

    builder: GraphBuilder
    region: Region
    variable: Ref
    states: tuple[Ref, ...]

    def close(
        self,
        lo: Ref,
        hi: Ref,
        bound: int,
        initial: Sequence[Ref],
        next: Sequence[Ref],
        until: Ref | None = None,
    ) -> tuple[Ref, ...]:
        """Build the loop; return its results: the states, rounds run, whether `until` held.

        The loop is placed in the outermost region that has all it needs, as any operation is.
        """
        b, region = self.builder, self.region
        inside = tuple(b._inside(n, region) for n in next)
        stop = None if until is None else b._inside(until, region)
        outer = b._deepest([lo, hi, *initial, *region.captured])
        captures = tuple(b._inside(c, outer) for c in region.captured)
        body = Body(tuple(region.ops), region.carries, inside, stop)
        args = (
            b._inside(lo, outer),
            b._inside(hi, outer),
            *(b._inside(i, outer) for i in initial),
            *captures,
        )
        types = [*(s.type for s in self.states), INT, BOOL]
        if all(outer.ops[a].code == "const" for a in args):
            known = [outer.ops[a].value for a in args]
            return tuple(map(b.const, fold_loop(body, bound, known, b.tables), types))
        loop = b._place(outer, Op("loop", args, REAL, bound=bound, body=body))
        return tuple(
            b._place(outer, Op("proj", (loop.index,), t, index=i)) for i, t in enumerate(types)
        )


def state_types(body: Body, starts: Sequence[str]) -> list[str]:
    """The types of a loop's states: as the body reads them, else the wider of what they start from,
    of these types, and what they go on with."""
    after = [body.ops[n].type for n in body.next]
    types = [max(pair, key=RANK.__getitem__) for pair in zip(starts, after, strict=True)]
    for op in body.ops:
        if op.code == "input" and 1 <= op.index <= body.carries:
            types[op.index - 1] = op.type
    return types


def work(ops: Iterable[Op]) -> int:
    """How many operations a list takes at most, loops with all their rounds."""
    return sum(1 if op.body is None else 1 + op.bound * op.body.work for op in ops)


def exact_inverse(divisor: float | None) -> float | None:
    """1 / divisor for a power of two: the product with it is the quotient, to the bit."""
    if divisor is None or not math.isfinite(divisor) or abs(math.frexp(divisor)[0]) != 0.5:
        return None
    return 1.0 / divisor if 2.0**-1022 <= abs(divisor) <= 2.0**1022 else None


def fold(
    code: str, args: Sequence[float], tables: Sequence[Sequence[float]] = (), index: int = 0
) -> float:
    """Evaluate one operation on known values, by the functions the interpreter uses."""
    record = OPERATIONS[code]
    return record.fold(args, tables[index]) if record.reads_table else record.fold(args)


def fold_loop(
    body: Body,
    bound: int,
    args: Sequence[float],
    tables: Sequence[tuple[float, ...]],
    meter: Callable[[int], None] | None = None,
) -> tuple[float, ...]:
    """The results of a loop on known values; `meter` as in `run_loop`."""
    from hwdsl.codegen.ir.loop_folding import run_loop  # it imports this module

    return run_loop(body, bound, args, tables, meter)


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
