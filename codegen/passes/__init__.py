"""Passes over graphs: each takes a graph and returns one. All keep the values to the bit."""

from __future__ import annotations

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
    """All passes in a good order: what ranges decide on a folded graph, then folded again."""
    return fold_constants_and_cse(simplify_by_ranges(fold_constants_and_cse(graph)))
