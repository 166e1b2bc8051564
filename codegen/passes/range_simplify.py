"""Value-range propagation (GCC VRP, LLVM CorrelatedValuePropagation): comparisons, selections,
`min` and `max` that the declared ranges of params decide.

Values stay the same to the bit at every point within the ranges, and no other point reaches a
kernel: calls, sweeps and draws check their values. The pass runs after elaboration, not in it: a
rule that the ranges decide is still a rule of each point, and `check` reports it (decision 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, Graph, Op, state_types
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.intervals import ANY, TRUTH, Range
from hwdsl.codegen.passes.interval_analysis import param_range, range_transfer
from hwdsl.codegen.passes.rewriter import GraphRewriter, Results

ZERO = Range(0.0, 0.0)


def simplify_by_ranges(graph: Graph) -> Graph:
    """The graph with what its ranges decide replaced; dead operations are left to a later pass."""
    return RangeSimplifier(graph).rewrite()


@define(eq=False)
class RangeSimplifier(GraphRewriter):
    """Copies a graph; `ranges` has those of each operation list so far, by the list's identity,
    and `inputs` those of the inputs of bodies.

    Ranges are those of the copies, which may be narrower: `exp(x)` is a constant where x is 3, and
    a selection that is decided is the arm taken. So a second run finds nothing more to do.
    """

    ranges: dict[int, list[Range]] = field(factory=dict)
    inputs: dict[int, list[Range]] = field(factory=dict)

    def copy_operation(
        self,
        ops: Sequence[Op],
        i: int,
        values: Sequence[Ref],
        results: Results,
        inputs: Sequence[Ref],
    ) -> Ref:
        """Copy one operation, or the simpler one that ranges allow, and note its range."""
        if i == 0:
            self.ranges[id(ops)] = []  # a body may be copied several times
        op, ranges = ops[i], self.ranges[id(ops)]
        operands = [ranges[a] for a in op.args]
        found = self._range(ops, op, operands)
        if op.body is not None:
            self.inputs[id(op.body.ops)] = loop_inputs(ops, i, operands)
        copied = self._simpler(op, found, values, operands)
        if copied is None:
            copied = super().copy_operation(ops, i, values, results, inputs)
        if copied.known is not None and not math.isnan(copied.known):
            found = Range(copied.known, copied.known)
        else:
            found = next((ranges[a] for a in op.args if values[a] == copied), found)
        ranges.append(found)
        return copied

    def _range(self, ops: Sequence[Op], op: Op, operands: Sequence[Range]) -> Range:
        if op.code == "param":
            return param_range(self.graph.params[op.index])
        if op.code == "input":
            return self.inputs[id(ops)][op.index]
        return range_transfer(op, operands, self.graph.tables)

    def _simpler(
        self, op: Op, found: Range, values: Sequence[Ref], operands: Sequence[Range]
    ) -> Ref | None:
        """What ranges allow instead of an operation. It must have the operation's type too: users
        of the value, and the interface, go by it."""
        value = singleton_value(op, found)
        if value is not None:
            return self.builder.const(value, op.type)
        term = identity_operand(op, operands)
        if term is not None and values[term].type == op.type:
            return values[term]
        zeros = redundant_zero_start(operands) if op.code == "sum" else 0
        if zeros:
            terms = [values[a] for a in op.args[zeros:]]
            if len(terms) > 1 or terms[0].type == op.type:
                return self.builder.op("sum", *terms, type=op.type)
        if OPERATIONS[op.code].takes_least or OPERATIONS[op.code].takes_greatest:
            kept = [values[op.args[k]] for k in possible_extrema(op.code, operands)]
            if len(kept) == 1 and kept[0].type == op.type:
                return kept[0]
            if 1 < len(kept) < len(operands):
                return self.builder.op(op.code, *kept, type=op.type)
        return None


def singleton_value(op: Op, ranges: Range) -> float | None:
    """The one value that an operation can have. Not a real zero: a range does not tell 0.0 from
    -0.0, and the two differ as divisors."""
    if ranges.nan or ranges.low != ranges.high or op.code == "const":
        return None
    return ranges.low if ranges.low or op.type == BOOL else None


def identity_operand(op: Op, operands: Sequence[Range]) -> int | None:
    """The operand that equals a sum or difference with 0 (additive identity). It must not be 0
    itself: -0.0 + 0.0 is 0.0, so the bits would change."""
    if op.code not in ("add", "sub"):
        return None
    first, second = operands
    if second == ZERO and not first.has(0.0):
        return op.args[0]
    if op.code == "add" and first == ZERO and not second.has(0.0):
        return op.args[1]
    return None


def redundant_zero_start(operands: Sequence[Range]) -> int:
    """On how many first terms of a sum, all 0, no bit of it depends. Up to the first term that is
    not 0 the partial sums are zeros, of whatever sign; that term takes them to the same number, or
    to NaN."""
    zeros = next((k for k, a in enumerate(operands) if a != ZERO), len(operands))
    return zeros if any(not a.has(0.0) for a in operands[zeros:]) else 0


def possible_extrema(code: str, operands: Sequence[Range]) -> list[int]:
    """Which operands may be the least (greatest), in order.

    An operand that lies beyond another cannot be the extremum unless it is NaN, which every minimum
    passes on. Of two equal numbers the later is taken, which matters for zeros.
    """
    if OPERATIONS[code].takes_greatest:
        operands = [Range(-a.high, -a.low, a.nan) for a in operands]
    bound = min(a.high for a in operands)
    kept = [k for k, a in enumerate(operands) if a.nan or a.low <= bound]
    # The first operands go one by one: each must be beaten, for every value, by the one after it.
    while len(kept) > 1:
        first, second = operands[kept[0]], operands[kept[1]]
        if first.nan or first.low < second.high:
            break
        del kept[0]
    return kept


def loop_inputs(ops: Sequence[Op], loop: int, args: Sequence[Range]) -> list[Range]:
    """The ranges of the inputs of a loop's body: its variable, its carries, its captures.

    A carry may be anything: there is no iteration to a fixed point with widening here.
    """
    body, starts = ops[loop].body, ops[loop].args[2:]
    assert body is not None
    low, high = args[0].low, args[1].high
    variable = Range(low, high) if low <= high else ANY
    types = state_types(body, [ops[a].type for a in starts[: body.carries]])
    states = [TRUTH if t == BOOL else ANY for t in types]
    return [variable, *states, *args[2 + body.carries :]]
