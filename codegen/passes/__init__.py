"""Passes over graphs: each takes a graph and returns one. All keep the values to the bit, so no
pass reorders a sum, contracts to a fused multiply-add, or replaces a division by a product with a
reciprocal (decision 7)."""

from __future__ import annotations

from hwdsl.base.collector import collector_rests
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.passes.constant_folding import fold_constants_and_cse
from hwdsl.codegen.passes.dead_code import eliminate_dead_code
from hwdsl.codegen.passes.range_simplify import simplify_by_ranges
from hwdsl.codegen.passes.reverse_mode import differentiate

__all__ = [
    "differentiate",
    "eliminate_dead_code",
    "fold_constants_and_cse",
    "optimise",
    "simplify_by_ranges",
]


def optimise(graph: Graph) -> Graph:
    """Folding, then simplification by ranges, then folding again.

    Ranges are found once per operation, so they are found on the smaller, folded graph; operations
    that become constants by their ranges make others foldable.
    """
    with collector_rests():
        return fold_constants_and_cse(simplify_by_ranges(fold_constants_and_cse(graph)))
