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


def _selected(args: Sequence[Range], row: Sequence[float]) -> Range:
    condition, yes, no = args
    if not condition.has(0.0):
        return yes
    never = condition.low == condition.high == 0.0 and not condition.nan
    return no if never else intervals.hull((yes, no))


def _entry(args: Sequence[Range], row: Sequence[float]) -> Range:
    return Range(min(row), max(row)) if row and all(v == v for v in row) else ANY


def _count(args: Sequence[Range], row: Sequence[float]) -> Range:
    return Range(0.0, float(len(row)))


def _structure(
    code: str, doc: str, arity: int = 0, variadic: bool = False, indexed: bool = False
) -> Operation:
    return Operation(
        code=code,
        doc=doc,
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
        doc="a where c is not 0, else b",
        arity=3,
        needs=(BOOL,),
        type=ONE_OF_THE_REST,
        compute=Elementwise(select, c=lambda args: f"{args[0]} != 0.0 ? {args[1]} : {args[2]}"),
        interval=_selected,
        derivative=Chosen(1, lambda b, args: args[0]),
        picks=lambda first, count: 1 if first else 2,
    ),
    Operation(
        code="gather",
        doc="x[i] of i, x, …; an i outside, where a rule is broken, reads the nearest entry, and "
        "NaN the first",
        arity=2,
        variadic=True,
        needs=(INT,),
        type=ONE_OF_THE_REST,
        compute=Gather(),
        interval=intervals.of_all(lambda args: intervals.hull(args[1:])),
        derivative=Chosen(1, lambda b, args: args[0], many=True),
        picks=lambda first, count: 1 + nearest(first, count - 1),
    ),
    Operation(
        code="table",
        doc="entry i of the table that `index` names; outside as in `gather`",
        arity=1,
        needs=(INT,),
        type=ENTRY_TYPE,
        compute=Entry(),
        interval=_entry,
        indexed=True,
        derivative=FLAT,
    ),
    Operation(
        code="bucket",
        doc="how many entries of the increasing table that `index` names are <= x; NaN gives 0",
        arity=1,
        type=WHOLE,
        compute=Count(),
        interval=_count,
        indexed=True,
        derivative=FLAT,
    ),
    _structure("const", "the number `value`"),
    _structure("param", "entry `index` of the graph's params", indexed=True),
    _structure(
        "input", "in a body: the loop variable (0), states, then captures, by `index`", indexed=True
    ),
    _structure("loop", "lo, hi, initial states, captures; `body`, `bound`: see `Body`", 2, True),
    _structure("proj", "result `index` of a loop", 1, indexed=True),
)
"""The operations that choose, read tables or hold a graph together."""
