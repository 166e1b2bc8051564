"""Graphs as bytes, for the store and for keys, and as text, for people.

Equal graphs have equal bytes, in every run. In the text numbers are hexadecimal, so exact, names
are JSON strings at the end of the line, and a loop's body is indented between `{` and `}`:

    graph 2
    param real 0x1p+0 inf uniform "batch"
    table 0x1p+0 0x1p+1
    0 param real #0
    1 const int 0x1p+0
    2 loop real <256 carries 1 next 2 until - ( 1 0 0 ) {
      0 input int #0
      …
    }
    3 proj real #0 ( 2 )
    output 3 "time"
    rule 4 "chip.fits"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hwdsl.base.structuring import Unfit, packed, unpacked
from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.ir.verifier import GraphError, verify_graph
from hwdsl.codegen.operations import OPERATIONS

__all__ = ["decode", "dump", "encode"]


def encode(graph: Graph) -> bytes:
    """The graph as bytes, which are equal exactly for equal graphs; for the store and its keys."""
    return packed(graph)


def decode(data: bytes) -> Graph:
    """The graph that `encode` wrote; `GraphError` if the bytes are no graph, or one that breaks
    rules. They come from disk: nothing is computed from them that the verifier has not seen."""
    try:
        graph = unpacked(data, Graph)
    except Unfit as error:
        raise GraphError(f"no graph: {error}") from error
    verify_graph(graph)
    return graph


def dump(graph: Graph) -> str:
    """The graph as text."""
    lines = ["graph 2"]
    for p in graph.params:
        uniform = " uniform" if p.uniform else ""
        ends = f"{p.low.hex()} {p.high.hex()}"
        lines.append(f"param {p.type} {ends}{uniform} {json.dumps(p.name)}")
    lines += [" ".join(["table", *map(float.hex, row)]) for row in graph.tables]
    lines += _operations(graph.ops, "")
    lines += [f"output {i} {json.dumps(name)}" for name, i in graph.outputs]
    lines += [f"rule {i} {json.dumps(name)}" for name, i in graph.rules]
    return "\n".join([*lines, ""])


def _operations(ops: Sequence[Op], indent: str) -> Iterator[str]:
    for i, op in enumerate(ops):
        words = [f"{indent}{i} {op.code} {op.type}"]
        if op.code == "const":
            words.append(op.value.hex())
        if OPERATIONS[op.code].indexed:
            words.append(f"#{op.index}")
        body = op.body
        if body is not None:
            until = "-" if body.until is None else str(body.until)
            words += [f"<{op.bound}", "carries", str(body.carries), "next", *map(str, body.next)]
            words += ["until", until]
        if op.args:
            words += ["(", *map(str, op.args), ")"]
        if body is None:
            yield " ".join(words)
            continue
        yield " ".join([*words, "{"])
        yield from _operations(body.ops, indent + "  ")
        yield indent + "}"
