"""What the emitter must know of a graph before printing it: which operations are needed, and
which have one value for all lanes of a tile.

An operation is *scalar* if its value cannot differ between the points of a tile; it is then
computed once instead of per lane. Inside a loop that includes the loop variable when the loop
starts at a scalar, so a table read by it is a plain load.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, frozen

from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.operations import OPERATIONS


@define(eq=False)
class ListAnalysis:
    """One operation list: what is live, what is scalar, and the same for its loops' bodies."""

    ops: tuple[Op, ...]
    live: list[bool]
    scalar: list[bool]
    loops: dict[int, LoopAnalysis]

    def steps(self) -> list[int]:
        """The live operations that compute something, in order."""
        return [i for i, op in enumerate(self.ops) if self.live[i] and computes(op)]


def computes(op: Op) -> bool:
    """Whether an operation is a step of its own: a loop is, its results and leaves are not."""
    return op.body is not None or not OPERATIONS[op.code].structural


@frozen(eq=False)
class LoopAnalysis:
    """A loop: its body, whether all lanes run the same rounds, and which states are scalar."""

    body: ListAnalysis
    control: bool
    carries: tuple[bool, ...]

    @property
    def whole(self) -> bool:
        """Whether every result is scalar."""
        return self.control and all(self.carries)


def analyze_graph(graph: Graph) -> ListAnalysis:
    """Analyse the top level of a graph."""
    roots = [i for _, i in graph.outputs] + [i for _, i in graph.rules]
    uniform = [p.uniform for p in graph.params]
    return analyze_operations(graph.ops, roots, uniform)


def analyze_operations(
    ops: tuple[Op, ...], roots: Sequence[int], uniform: Sequence[bool]
) -> ListAnalysis:
    """Analyse an operation list whose params or inputs are scalar as `uniform` says."""
    shape = ListAnalysis(ops, _live(ops, roots), [False] * len(ops), {})
    for i, op in enumerate(ops):
        if not shape.live[i]:
            continue
        if op.code in ("param", "input"):
            shape.scalar[i] = uniform[op.index]
        elif op.code == "loop":
            loop = _loop(op, [shape.scalar[a] for a in op.args])
            shape.loops[i] = loop
            shape.scalar[i] = loop.whole
        elif op.code == "proj":
            loop = shape.loops[op.args[0]]
            inside = op.index < len(loop.carries)
            shape.scalar[i] = loop.carries[op.index] if inside else loop.control
        else:
            shape.scalar[i] = all(shape.scalar[a] for a in op.args)
    return shape


def call_invariant(shape: ListAnalysis) -> list[bool]:
    """Which operations of the top level have one value for a whole kernel call."""
    result = [False] * len(shape.ops)
    for i, op in enumerate(shape.ops):
        if shape.live[i]:
            result[i] = shape.scalar[i] and all(result[a] for a in op.args)
    return result


def _live(ops: Sequence[Op], roots: Sequence[int]) -> list[bool]:
    live = [False] * len(ops)
    for r in roots:
        live[r] = True
    for i in range(len(ops) - 1, -1, -1):
        if live[i]:
            for a in ops[i].args:
                live[a] = True
    return live


def _loop(op: Op, args: Sequence[bool]) -> LoopAnalysis:
    """Find the scalar states: assume those that start scalar, drop what the body contradicts."""
    body = op.body
    assert body is not None
    n = body.carries
    carries = list(args[2 : 2 + n])
    control = args[0] and args[1]
    roots = [*body.next, *(() if body.until is None else (body.until,))]
    while True:
        inside = analyze_operations(body.ops, roots, [args[0], *carries, *args[2 + n :]])
        stop = control and (body.until is None or inside.scalar[body.until])
        kept = [c and stop and inside.scalar[x] for c, x in zip(carries, body.next, strict=True)]
        if kept == carries and stop == control:
            return LoopAnalysis(inside, control, tuple(carries))
        carries, control = kept, stop
