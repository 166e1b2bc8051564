"""Selections, tables, and what holds a graph together: constants, inputs, loops, their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hwdsl.codegen.numerics.backend import Backend
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import CARRIED, FLAT, Chosen
from hwdsl.codegen.operations.intervals import ANY, Range
from hwdsl.codegen.operations.record import (
    BOOL,
    ENTRY_TYPE,
    INT,
    NUMBER,
    ONE_OF_THE_REST,
    WHOLE,
    Count,
    Elementwise,
    Entry,
    Gather,
    Operation,
    Structure,
    nearest,
)


def select(m: Backend, c: Any, a: Any, b: Any) -> Any:
    """A where c is not 0, else b."""
    return m.where(c != 0.0, a, b)


def _selected(condition: Range, yes: Range, no: Range) -> Range:
    if not condition.has(0.0):
        return yes
    never = condition.low == condition.high == 0.0 and not condition.nan
    return no if never else intervals.hull(yes, no)


def _entry(row: Sequence[float]) -> Range:
    return Range(min(row), max(row)) if row and all(v == v for v in row) else ANY


def _structure(
    code: str, arity: int = 0, variadic: bool = False, indexed: bool = False
) -> Operation:
    return Operation(
        code=code,
        arity=arity,
        variadic=variadic,
        type=NUMBER,
        compute=Structure(),
        interval=intervals.anything,
        derivative=CARRIED,
        indexed=indexed,
    )


RECORDS = (
    Operation(
        code="select",
        arity=3,
        needs=(BOOL,),
        type=ONE_OF_THE_REST,
        compute=Elementwise(
            select,
            c=lambda args: f"{args[0]} != 0.0 ? {args[1]} : {args[2]}",
            python="{1} if {0} else {2}",
        ),
        interval=_selected,
        derivative=Chosen(1, lambda b, args: args[0]),
        picks=lambda first, count: 1 if first else 2,
    ),
    # x[i] of i, x, …. An i outside (a broken rule, or an arm not taken) reads the nearest entry and
    # NaN the first, so that the operation is total, as every other.
    Operation(
        code="gather",
        arity=2,
        variadic=True,
        needs=(INT,),
        type=ONE_OF_THE_REST,
        compute=Gather(),
        interval=lambda index, *entries: intervals.hull(*entries),
        derivative=Chosen(1, lambda b, args: args[0], many=True),
        picks=lambda first, count: 1 + nearest(first, count - 1),
    ),
    # Entry i of the table that `index` names; outside as in `gather`.
    Operation(
        code="table",
        arity=1,
        needs=(INT,),
        type=ENTRY_TYPE,
        compute=Entry(),
        interval=_entry,
        indexed=True,
        derivative=FLAT,
    ),
    # How many entries of the increasing table that `index` names are <= x; NaN gives 0.
    Operation(
        code="bucket",
        arity=1,
        type=WHOLE,
        compute=Count(),
        interval=lambda row: Range(0.0, float(len(row))),
        indexed=True,
        derivative=FLAT,
    ),
    _structure("const"),  # the number `value`
    _structure("param", indexed=True),  # entry `index` of the graph's params
    # In a body: the loop variable (0), states, then captures, by `index`.
    _structure("input", indexed=True),
    _structure("loop", 2, variadic=True),  # lo, hi, initial states, captures: see `Body`
    _structure("proj", 1, indexed=True),  # result `index` of a loop
)
"""The operations that choose, read tables or hold a graph together."""
