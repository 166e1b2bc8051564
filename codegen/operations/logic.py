"""Comparisons, which are IEEE (false on NaN, `ne` true), and what is made of truths."""

from __future__ import annotations

from typing import Any

from hwdsl.codegen.numerics.backend import Backend
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import FLAT
from hwdsl.codegen.operations.record import BOOL, TRUTH_VALUE, Elementwise, Operation


def not_(m: Backend, x: Any) -> Any:
    """1 where x is 0, else 0."""
    return m.where(x == 0.0, 1.0, 0.0)


def lt(m: Backend, a: Any, b: Any) -> Any:
    """1 where a < b."""
    return m.where(a < b, 1.0, 0.0)


def le(m: Backend, a: Any, b: Any) -> Any:
    """1 where a <= b."""
    return m.where(a <= b, 1.0, 0.0)


def eq(m: Backend, a: Any, b: Any) -> Any:
    """1 where a == b."""
    return m.where(a == b, 1.0, 0.0)


def ne(m: Backend, a: Any, b: Any) -> Any:
    """1 where a != b, NaN included."""
    return m.where(a != b, 1.0, 0.0)


def and_(m: Backend, a: Any, b: Any) -> Any:
    """1 where neither is 0."""
    return m.where((a != 0.0) & (b != 0.0), 1.0, 0.0)


def or_(m: Backend, a: Any, b: Any) -> Any:
    """1 where one is not 0."""
    return m.where((a != 0.0) | (b != 0.0), 1.0, 0.0)


RECORDS = (
    Operation(
        code="lt",
        doc="whether a < b",
        arity=2,
        type=TRUTH_VALUE,
        compute=Elementwise(lt, lambda a, b: 1.0 if a < b else 0.0),
        interval=intervals.of_two(intervals.below),
        derivative=FLAT,
    ),
    Operation(
        code="le",
        doc="whether a <= b",
        arity=2,
        type=TRUTH_VALUE,
        compute=Elementwise(le, lambda a, b: 1.0 if a <= b else 0.0),
        interval=intervals.of_two(intervals.not_above),
        derivative=FLAT,
    ),
    Operation(
        code="eq",
        doc="whether a == b",
        arity=2,
        type=TRUTH_VALUE,
        compute=Elementwise(eq, lambda a, b: 1.0 if a == b else 0.0),
        interval=intervals.of_two(intervals.equal),
        derivative=FLAT,
    ),
    Operation(
        code="ne",
        doc="whether a != b, true on NaN",
        arity=2,
        type=TRUTH_VALUE,
        compute=Elementwise(ne),
        interval=intervals.of_two(lambda a, b: intervals.denied(intervals.equal(a, b))),
        derivative=FLAT,
    ),
    Operation(
        code="and",
        doc="whether neither a nor b is 0",
        arity=2,
        needs=(BOOL, BOOL),
        type=TRUTH_VALUE,
        compute=Elementwise(and_, lambda a, b: 1.0 if a and b else 0.0),
        interval=intervals.of_all(intervals.least),
        derivative=FLAT,
        decider=0.0,
    ),
    Operation(
        code="or",
        doc="whether a or b is not 0",
        arity=2,
        needs=(BOOL, BOOL),
        type=TRUTH_VALUE,
        compute=Elementwise(or_, lambda a, b: 1.0 if a or b else 0.0),
        interval=intervals.of_all(intervals.greatest),
        derivative=FLAT,
        decider=1.0,
    ),
    Operation(
        code="not",
        doc="whether x is 0",
        arity=1,
        needs=(BOOL,),
        type=TRUTH_VALUE,
        compute=Elementwise(not_),
        interval=intervals.of_one(intervals.denied),
        derivative=FLAT,
    ),
)
"""The comparisons and connectives."""
