"""What a graph's answers depend on."""

from __future__ import annotations

from hwdsl.codegen.ir.graph import Graph


def param_dependences(graph: Graph) -> dict[int, frozenset[str]]:
    """For the operation of each output and each rule the names of the params that it depends on."""
    masks: list[int] = []  # per operation a bit for each param
    for op in graph.ops:
        mask = 1 << op.index if op.code == "param" else 0
        for arg in op.args:
            mask |= masks[arg]
        masks.append(mask)
    return {
        root: frozenset(p.name for k, p in enumerate(graph.params) if masks[root] >> k & 1)
        for root in {i for _, i in (*graph.outputs, *graph.rules)}
    }
