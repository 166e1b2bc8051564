"""Interval analysis (abstract interpretation): the ranges of the values of graphs, from the ranges
of params.

What an operation makes of ranges is in its record (`hwdsl.codegen.operations.intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.codegen.ir.graph import BOOL, GraphParam, Op
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.intervals import ANY, TRUTH, Range

__all__ = ["ANY", "TRUTH", "Range", "Ranges", "param_range", "range_transfer"]


def param_range(param: GraphParam) -> Range:
    """The range of a param; NaN lies in no range that has an end."""
    if param.type == BOOL:
        return TRUTH
    # A param with a declared end is checked against it by every caller, and NaN fails the check.
    bounded = math.isfinite(param.low) or math.isfinite(param.high)
    return Range(param.low, param.high, nan=not bounded)


@define(eq=False)
class Ranges:
    """Interval analysis of a graph under construction, on demand; each operation is done once.

    Operations are only ever added to a region, so what was found for one stays true.
    """

    _found: dict[Region, dict[int, Range]] = field(factory=dict)

    def note(self, variable: Ref, found: Range) -> None:
        """Note the range of a loop's variable, before anything asks for it."""
        self._found.setdefault(variable.region, {})[variable.index] = found

    def of(self, ref: Ref, builder: GraphBuilder) -> Range:
        """The range of a value, from the ranges of the params and loop variables it depends on."""
        found, ops = self._found.setdefault(ref.region, {}), ref.region.ops
        todo = [ref.index]
        while todo:  # not recursive: chains of operations are as long as the file makes them
            i = todo[-1]
            missing = [a for a in ops[i].args if a not in found]
            if missing:
                todo += missing
                continue
            if i not in found:
                found[i] = self._one(ops[i], [found[a] for a in ops[i].args], builder)
            todo.pop()
        return found[ref.index]

    def _one(self, op: Op, args: Sequence[Range], builder: GraphBuilder) -> Range:
        if op.code == "param":
            return param_range(builder.params[op.index])
        return range_transfer(op, args, builder.tables)


def range_transfer(op: Op, args: Sequence[Range], tables: Sequence[Sequence[float]] = ()) -> Range:
    """The transfer function: the range of an operation from those of its arguments; of params,
    inputs and loops it is `ANY`, or `TRUTH` for a bool."""
    if op.code == "const":
        return Range(op.value, op.value) if op.value == op.value else ANY
    record = OPERATIONS[op.code]
    if record.structural:
        return TRUTH if op.type == BOOL else ANY
    return record.interval(*([tables[op.index]] if record.reads_table else args))
