"""Passes over graphs: each takes a graph and returns one. All keep the values to the bit."""

from __future__ import annotations

from hwdsl.codegen.ir import Graph
from hwdsl.codegen.passes.dead import dead
from hwdsl.codegen.passes.differentiate import differentiate
from hwdsl.codegen.passes.fold import fold_and_share
from hwdsl.codegen.passes.narrow import narrow
from hwdsl.codegen.passes.roll import roll

__all__ = ["dead", "differentiate", "fold_and_share", "narrow", "optimise", "roll"]


def optimise(graph: Graph) -> Graph:
    """All passes in a good order: rolling first, since the rest is quick once it is done, but on a
    folded graph, since folding makes shapes alike; and what ranges decide after it, since it may
    be decided in some of the repetitions only."""
    return fold_and_share(narrow(roll(fold_and_share(graph))))
