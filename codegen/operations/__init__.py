"""The operations of the graph: one record for each, which is all that any pass knows of it.

The records stand beside their formulas, grouped by area. Every other list of operations (those that
C has operators for, that have derivatives, that are dear, …) is a property of the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hwdsl.codegen.numerics.backend import Formula
from hwdsl.codegen.operations import arithmetic, exponential, logic, selection
from hwdsl.codegen.operations.record import Elementwise, Operation

__all__ = ["FORMULAS", "OPERATIONS"]

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        record.code: record
        for area in (arithmetic, exponential, logic, selection)
        for record in area.RECORDS
    }
)
"""The records by their codes."""

FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {c: o.compute.formula for c, o in OPERATIONS.items() if isinstance(o.compute, Elementwise)}
)
"""The elementwise codes as formulas of a back end and the operands."""
