"""Building graphs: constant folding, value numbering and loop-invariant code motion by
construction.

Every operation goes through `GraphBuilder.op`, which folds it if its operands are constant, returns
the equal operation if there is one (hash consing), and places it in the outermost region that has
its operands. So no caller needs to know whether it is inside a loop, and no pass has to find what
is invariant (decision 3). Equal includes the sign of zero and every NaN.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from hwdsl.codegen.ir.graph import (
    BOOL,
    INT,
    RANK,
    REAL,
    Body,
    Graph,
    GraphParam,
    Op,
    constant_bits,
    exact_inverse,
    fold,
)
from hwdsl.codegen.ir.loop_folding import run_loop
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import Fold


@define(eq=False)
class Region:
    """An operation list under construction: the graph's own, or a loop body's.

    `shared` numbers the operations by value. `captured` are the values of outer regions that the
    body reads, in the order of its inputs; `captures` finds the input of one.
    """

    parent: Region | None
    depth: int
    ops: list[Op] = field(factory=list)
    shared: dict[object, int] = field(factory=dict)
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
        return self.region.ops[self.index].type

    @property
    def known(self) -> float | None:
        """The value, if it is a constant."""
        op = self.region.ops[self.index]
        return op.value if op.code == "const" else None


@define(eq=False)
class GraphBuilder:
    """Builds one graph. Operations are placed in the outermost region that has their arguments.

    Inside a loop body, outer values may be used freely: they become captures by themselves, and
    loop-invariant operations are placed outside. Hoisting is safe although the loop may run no
    round, since every operation is total: there is nothing to trap.
    """

    params: list[GraphParam] = field(factory=list)
    tables: list[tuple[float, ...]] = field(factory=list)
    root: Region = field(factory=lambda: Region(None, 0))
    _constants: dict[tuple[float | bytes, str], Ref] = field(factory=dict, init=False)
    _names: set[str] = field(factory=set, init=False)
    _table_numbers: dict[bytes, int] = field(factory=dict, init=False)

    def const(self, value: float, type: str = REAL) -> Ref:
        """A constant."""
        # Most numbers are their own key; not the two zeros, which are equal, nor NaN, which is not.
        key = value if value and value == value else constant_bits(value), type
        found = self._constants.get(key)
        if found is None:
            # One NaN for all, whatever its payload: equal graphs are to have equal bytes.
            number = float(value) if value == value else math.nan
            found = self._intern_made(self.root, Op("const", (), type, value=number))
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
        # Callers and kernels go by position, outputs of derivatives and the text form by name.
        if name in self._names:
            raise ValueError(f"two params named {name}")
        self._names.add(name)
        self.params.append(GraphParam(name, type, uniform, low, high))
        return self._intern(self.root, "param", (), type, len(self.params) - 1)

    def table(self, values: Iterable[float]) -> int:
        """Intern a constant table and return its index, for `table` and `bucket`."""
        row = tuple(float(v) if v == v else math.nan for v in values)
        number = self._table_numbers.setdefault(_row_bits(row), len(self.tables))
        if number == len(self.tables):
            self.tables.append(row)
        return number

    def keep_tables(self, rows: Iterable[tuple[float, ...]]) -> None:
        """Take over the tables of a graph to be copied, under the numbers they have there."""
        for row in rows:
            self._table_numbers.setdefault(_row_bits(row), len(self.tables))
            self.tables.append(row)

    def op(self, code: str, *args: Ref, index: int = 0, type: str | None = None) -> Ref:
        """Add an operation and return its value, folded if all arguments are known.

        The type follows from the code and the arguments unless given; the value has it also where
        the operation turns out to be one of its arguments.
        """
        ops = [a.region.ops[a.index] for a in args]
        result = type or OPERATIONS[code].type.result([op.type for op in ops])
        if code == "pow":
            # Before folding, so that known and unknown bases go through the same products.
            product = self._expand_power(args[0], args[1].known, type)
            if product is not None:
                return product
        known = [op.value for op in ops if op.code == "const"]
        if len(known) == len(args):
            return self.const(fold(code, known, self.tables, index), result)
        simpler = self._algebraic_simplify(code, args, result)
        if simpler is not None:
            return self.widen(simpler, result)
        region = self._outermost_region(args)
        inner = tuple([a.index if a.region is region else self._capture(a, region) for a in args])
        return self._intern(region, code, inner, result, index)

    def widen(self, ref: Ref, type: str) -> Ref:
        """The same number as one of a type that its own is part of: a product with 1, which keeps
        every bit. A value that has the type, or a wider one, is returned as it is."""
        if RANK[ref.type] >= RANK[type]:
            return ref
        return self.op("mul", self.const(1.0, type), ref, type=type)

    def open_loop(self, carries: Sequence[str], within: Iterable[Ref] = ()) -> LoopRegion:
        """Start a loop body with loop-carried values of the given types.

        `within` are values that place the loop: it is built inside their deepest region.
        """
        parent = self._outermost_region(list(within))
        region = Region(parent, parent.depth + 1, carries=len(carries))
        types = [INT, *carries]
        inputs = [self._intern(region, "input", (), t, i) for i, t in enumerate(types)]
        return LoopRegion(self, region, inputs[0], tuple(inputs[1:]))

    def finish(
        self, outputs: Sequence[tuple[str, Ref]], rules: Sequence[tuple[str, Ref]] = ()
    ) -> Graph:
        """Close the graph. Dead operations are kept; `passes.dead_code` removes them."""
        return Graph(
            tuple(self.params),
            tuple(self.root.ops),
            tuple((n, self._capture(r, self.root)) for n, r in outputs),
            tuple((n, self._capture(r, self.root)) for n, r in rules),
            tuple(self.tables),
        )

    def _intern(
        self, region: Region, code: str, args: tuple[int, ...], type: str, index: int
    ) -> Ref:
        """The operation of a region, neither a constant nor a loop; made if there is none."""
        key = (code, args, type, index)
        found = region.shared.get(key)
        if found is None:
            found = region.shared[key] = len(region.ops)
            region.ops.append(Op(code, args, type, index=index))
        return Ref(region, found)

    def _intern_made(self, region: Region, op: Op) -> Ref:
        """A constant or a loop: operations that have more than code, arguments and index."""
        found = region.shared.setdefault(op, len(region.ops))
        if found == len(region.ops):
            region.ops.append(op)
        return Ref(region, found)

    def _outermost_region(self, args: Sequence[Ref]) -> Region:
        """The outermost region in which all arguments are available: the deepest of their own,
        since they are all on one chain of nested regions."""
        region = self.root
        for a in args:
            if a.region.depth > region.depth:
                region = a.region
        return region

    def _capture(self, ref: Ref, region: Region) -> int:
        """The index in `region` of a value of it or of a region around it."""
        if ref.region is region:
            return ref.index
        # A constant is repeated in each region instead of captured: passes and the emitter then see
        # it where it is used.
        if ref.known is not None:
            return self._intern_made(region, ref.op).index
        if region.parent is None:
            raise ValueError("a value of a loop body is used outside it")
        key = (id(ref.region), ref.index)
        if key not in region.captures:
            slot = 1 + region.carries + len(region.captured)
            region.captured.append(ref)
            region.captures[key] = self._intern(region, "input", (), ref.type, slot).index
        return region.captures[key]

    def _algebraic_simplify(self, code: str, args: Sequence[Ref], type: str) -> Ref | None:
        """Identities that hold for every float64, NaN, infinities and signed zeros included: so not
        x + 0 (-0.0), x * 0 (NaN) or x - x (infinity)."""
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
            # Refs are equal if they are the same operation: value numbering has made one of equals.
            if args[1] == args[2]:
                return args[1]
        elif code == "mul":
            # Not where the type is a wider one: the product with 1 is how `widen` writes that.
            for a, b in (args, args[::-1]):
                if a.known == 1.0 and b.type == type:
                    return b
        elif code == "div":
            if args[1].known == 1.0 and args[0].type == type:
                return args[0]
            # Only then are product and quotient the same bits (decision 7); a product is cheaper.
            inverse = exact_inverse(args[1].known)
            if inverse is not None:
                return self.op("mul", args[0], self.const(inverse), type=type)
        elif code == "pow" and args[0].known == 1.0:
            return self.const(1.0, type)
        return None

    def _expand_power(self, base: Ref, exponent: float | None, type: str | None) -> Ref | None:
        """Constant powers as products, of the base's type unless one is given."""
        # In the order of `_short_power` of the formula: the bits must not depend on whether the
        # exponent is known when the graph is built or only at a point.
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


def _row_bits(row: Sequence[float]) -> bytes:
    """The key of a table: floats would not do, as NaN differs from itself and 0.0 equals -0.0."""
    return struct.pack(f"<{len(row)}d", *row)


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
        next_inside = tuple(b._capture(n, region) for n in next)
        stop = None if until is None else b._capture(until, region)
        outer = b._outermost_region([lo, hi, *initial, *region.captured])
        captures = tuple(b._capture(c, outer) for c in region.captured)
        body = Body(tuple(region.ops), region.carries, next_inside, stop)
        # The layout that `Body.split` reads: ends, what the states start from, captures.
        args = (
            b._capture(lo, outer),
            b._capture(hi, outer),
            *(b._capture(i, outer) for i in initial),
            *captures,
        )
        types = [*(s.type for s in self.states), INT, BOOL]
        if all(outer.ops[a].code == "const" for a in args):
            known = [outer.ops[a].value for a in args]
            return tuple(map(b.const, run_loop(body, bound, known, b.tables), types))
        # Its own type means nothing, as a loop has many results; each `proj` has one.
        loop = b._intern_made(outer, Op("loop", args, REAL, bound=bound, body=body))
        return tuple(b._intern(outer, "proj", (loop.index,), t, i) for i, t in enumerate(types))
