"""Comparisons, which are IEEE (false on NaN, `ne` true), and what is made of truths."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from hwdsl.codegen.numerics.backend import Backend
from hwdsl.codegen.operations import intervals
from hwdsl.codegen.operations.derivatives import FLAT
from hwdsl.codegen.operations.intervals import Transfer
from hwdsl.codegen.operations.record import BOOL, TRUTH_VALUE, Elementwise, Operation


def not_(m: Backend, x: Any) -> Any:
    """1 where x is 0, else 0."""
    return m.where(x == 0.0, 1.0, 0.0)


def and_(m: Backend, a: Any, b: Any) -> Any:
    """1 where neither is 0."""
    return m.where((a != 0.0) & (b != 0.0), 1.0, 0.0)


def or_(m: Backend, a: Any, b: Any) -> Any:
    """1 where one is not 0."""
    return m.where((a != 0.0) | (b != 0.0), 1.0, 0.0)


def _comparison(
    code: str,
    sign: str,
    test: Callable[[Any, Any], Any],
    interval: Transfer,
) -> Operation:
    return Operation(
        code=code,
        arity=2,
        type=TRUTH_VALUE,
        compute=Elementwise(
            lambda m, a, b: m.where(test(a, b), 1.0, 0.0),
            python=f"1.0 if {{0}} {sign} {{1}} else 0.0",
        ),
        interval=interval,
        derivative=FLAT,
    )


def _connective(
    code: str, compute: Elementwise, interval: Transfer, decider: float | None = None
) -> Operation:
    return Operation(
        code=code,
        arity=1 if decider is None else 2,
        needs=(BOOL,) if decider is None else (BOOL, BOOL),
        type=TRUTH_VALUE,
        compute=compute,
        interval=interval,
        derivative=FLAT,
        decider=decider,
    )


RECORDS = (
    _comparison("lt", "<", operator.lt, intervals.below),
    _comparison("le", "<=", operator.le, intervals.not_above),
    _comparison("eq", "==", operator.eq, intervals.equal),
    _comparison("ne", "!=", operator.ne, lambda a, b: intervals.denied(intervals.equal(a, b))),
    _connective(
        "and",
        Elementwise(
            and_,
            python="1.0 if {0} and {1} else 0.0",
        ),
        intervals.least,
        0.0,
    ),
    _connective(
        "or",
        Elementwise(
            or_,
            python="1.0 if {0} or {1} else 0.0",
        ),
        intervals.greatest,
        1.0,
    ),
    _connective("not", Elementwise(not_, python="0.0 if {0} else 1.0"), intervals.denied),
)
"""The comparisons and connectives."""
