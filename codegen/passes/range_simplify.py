"""Leaving out what the ranges of params decide: comparisons, selections, least and greatest.

Values stay the same to the bit at every point within the ranges, and no other reaches a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, Graph, Op, state_types
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.intervals import ANY, TRUTH, Range
from hwdsl.codegen.passes.interval_analysis import ranges_of
from hwdsl.codegen.passes.rewriter import GraphRewriter, Results

ZERO = Range(0.0, 0.0)


def simplify_by_ranges(graph: Graph) -> Graph:
    """The graph without what can have one value only; what nothing reads any more is kept."""
    return RangeSimplifier(graph).copy()


@define(eq=False)
class RangeSimplifier(GraphRewriter):
    """Copies a graph; `known` has the ranges of each operation list by the list's identity."""

    known: dict[int, list[Range]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        GraphRewriter.__attrs_post_init__(self)
        self.known[id(self.graph.ops)] = ranges_of(self.graph, self.graph.ops)

    def place(
        self,
        ops: Sequence[Op],
        i: int,
        values: Sequence[Ref],
        results: Results,
        inputs: Sequence[Ref],
    ) -> Ref:
        """Copy one operation, or what its range says that it is."""
        op, ranges = ops[i], self.known[id(ops)]
        value = singleton_value(op, ranges[i])
        if value is not None:
            return self.builder.const(value, op.type)
        among = [ranges[a] for a in op.args]
        term = identity_operand(op, among)
        if term is not None and values[term].type == op.type:
            return values[term]
        if op.code == "sum" and starts_in_vain(among):
            terms = [values[a] for a in op.args[1:]]
            if len(terms) > 1 or terms[0].type == op.type:
                return self.builder.op("sum", *terms, type=op.type)
        if op.body is not None:
            body = op.body.ops
            self.known[id(body)] = ranges_of(self.graph, body, loop_inputs(ops, i, among))
        elif OPERATIONS[op.code].takes_least or OPERATIONS[op.code].takes_greatest:
            kept = [values[op.args[k]] for k in possible_extrema(op.code, among)]
            if len(kept) == 1 and kept[0].type == op.type:
                return kept[0]
            if 1 < len(kept) < len(among):
                return self.builder.op(op.code, *kept, type=op.type)
        return super().place(ops, i, values, results, inputs)


def singleton_value(op: Op, known: Range) -> float | None:
    """The one value that an operation can have, if its sign is known too where it is zero."""
    if known.nan or known.low != known.high or op.code == "const":
        return None
    return known.low if known.low or op.type == BOOL else None


def identity_operand(op: Op, among: Sequence[Range]) -> int | None:
    """The argument that a sum or difference with 0 is: one that is not 0, for 0 has two signs."""
    if op.code not in ("add", "sub"):
        return None
    first, second = among
    if second == ZERO and not first.has(0.0):
        return op.args[0]
    if op.code == "add" and first == ZERO and not second.has(0.0):
        return op.args[1]
    return None


def starts_in_vain(among: Sequence[Range]) -> bool:
    """Whether a sum starts from a 0 that no bit depends on: up to the first term that is not 0, the
    sums are 0, of whatever sign; that term brings them to the same number, or to NaN."""
    return among[0] == ZERO and any(not a.has(0.0) for a in among[1:])


def possible_extrema(code: str, among: Sequence[Range]) -> list[int]:
    """Which operands may be the least (greatest), in order.

    One that is beyond another has no say unless it is NaN. Of two equal numbers the later is
    taken, which matters for zeros.
    """
    if OPERATIONS[code].takes_greatest:
        among = [Range(-a.high, -a.low, a.nan) for a in among]
    bar = min(a.high for a in among)
    kept = [k for k, a in enumerate(among) if a.nan or a.low <= bar]
    while len(kept) > 1:
        first, second = among[kept[0]], among[kept[1]]
        if first.nan or first.low < second.high:
            break
        del kept[0]
    return kept


def loop_inputs(ops: Sequence[Op], loop: int, args: Sequence[Range]) -> list[Range]:
    """The ranges of the inputs of a loop's body: its variable, its states, its captures."""
    body, starts = ops[loop].body, ops[loop].args[2:]
    assert body is not None
    low, high = args[0].low, args[1].high
    variable = Range(low, high) if low <= high else ANY
    types = state_types(body, [ops[a].type for a in starts[: body.carries]])
    states = [TRUTH if t == BOOL else ANY for t in types]
    return [variable, *states, *args[2 + body.carries :]]
