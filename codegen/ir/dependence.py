"""What a graph's answers depend on."""

from __future__ import annotations

from collections.abc import Sequence

from hwdsl.codegen.ir.graph import Graph, Op


def param_masks(ops: Sequence[Op]) -> list[int]:
    """Per operation of a graph's list, the params that it depends on, as bits."""
    # Ints as bit sets: the large graphs have 40,000 operations, and a set for each is slow.
    masks: list[int] = []
    for op in ops:
        mask = 1 << op.index if op.code == "param" else 0
        for arg in op.args:
            mask |= masks[arg]
        masks.append(mask)
    return masks


def param_dependences(graph: Graph) -> dict[int, frozenset[str]]:
    """For the operation of each output and each rule the names of the params that it depends on."""
    masks = param_masks(graph.ops)
    return {
        root: frozenset(p.name for k, p in enumerate(graph.params) if masks[root] >> k & 1)
        for root in set(graph.roots)
    }
