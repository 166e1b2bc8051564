"""Liveness and uniformity of a graph's operations.

Liveness: which operations an output or rule needs. Uniformity (LLVM: UniformityAnalysis, for GPUs
divergence analysis): an operation is *scalar* if its value cannot differ between the lanes of a
tile; it is then computed once instead of per lane. Inside a loop that includes the loop variable
if the loop starts at a scalar, so a table read by it is one load and no gather.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, frozen

from hwdsl.codegen.ir.graph import Graph, Op, backward_slice
from hwdsl.codegen.operations import OPERATIONS


@define(eq=False)
class ListAnalysis:
    """Liveness and uniformity of one operation list, and those of the bodies of its loops."""

    ops: tuple[Op, ...]
    live: set[int]
    scalar: list[bool]
    loops: dict[int, LoopAnalysis]

    def steps(self) -> list[int]:
        """The live operations that compute something, in order."""
        return [i for i, op in enumerate(self.ops) if i in self.live and computes(op)]


def computes(op: Op) -> bool:
    """Whether an operation is a step of its own: a loop is, its results and leaves are not."""
    return op.body is not None or not OPERATIONS[op.code].structural


@frozen(eq=False)
class LoopAnalysis:
    """Uniformity of a loop.

    `uniform_control`: all lanes run the same number of rounds, so the loop needs no mask and is
    left by a scalar test. `scalar_carries`: the loop-carried values that are scalar.
    """

    body: ListAnalysis
    uniform_control: bool
    scalar_carries: tuple[bool, ...]

    @property
    def all_scalar(self) -> bool:
        """Whether every result of the loop is scalar."""
        return self.uniform_control and all(self.scalar_carries)


def analyze_graph(graph: Graph) -> ListAnalysis:
    """Analyse the top level of a graph."""
    return analyze_operations(graph.ops, graph.roots, [p.uniform for p in graph.params])


def analyze_operations(
    ops: tuple[Op, ...], roots: Sequence[int], uniform: Sequence[bool]
) -> ListAnalysis:
    """Analyse an operation list whose params or inputs are scalar as `uniform` says."""
    analysis = ListAnalysis(ops, backward_slice(ops, roots), [False] * len(ops), {})
    for i, op in enumerate(ops):
        if i not in analysis.live:
            continue
        if op.code in ("param", "input"):
            analysis.scalar[i] = uniform[op.index]
        elif op.code == "loop":
            loop = _analyze_loop(op, [analysis.scalar[a] for a in op.args])
            analysis.loops[i] = loop
            analysis.scalar[i] = loop.all_scalar
        elif op.code == "proj":
            loop = analysis.loops[op.args[0]]
            inside = op.index < len(loop.scalar_carries)
            analysis.scalar[i] = loop.scalar_carries[op.index] if inside else loop.uniform_control
        else:
            analysis.scalar[i] = all(analysis.scalar[a] for a in op.args)
    return analysis


def call_invariant(analysis: ListAnalysis) -> set[int]:
    """The operations of the top level that have one value for a whole kernel call."""
    found: set[int] = set()
    for i, op in enumerate(analysis.ops):
        # A constant is scalar without operands; a varying param is not scalar, so by induction only
        # values of constants and uniform params remain.
        if i in analysis.live and analysis.scalar[i] and found.issuperset(op.args):
            found.add(i)
    return found


def _analyze_loop(op: Op, args: Sequence[bool]) -> LoopAnalysis:
    """The greatest fixed point: assume that every loop-carried value that starts scalar stays
    scalar, analyse the body, drop what it contradicts, and repeat."""
    body = op.body
    assert body is not None
    (low, high), carries, captures = body.split(args)
    uniform_control = low and high
    while True:
        inside = analyze_operations(body.ops, body.roots, [low, *carries, *captures])
        stop = uniform_control and (body.until is None or inside.scalar[body.until])
        # Where lanes stop in different rounds, a stopped lane keeps its value and the others go on:
        # not even a carry that is computed from scalars is the same in all lanes then.
        kept = [c and stop and inside.scalar[x] for c, x in zip(carries, body.next, strict=True)]
        if kept == carries and stop == uniform_control:
            return LoopAnalysis(inside, uniform_control, tuple(carries))
        carries, uniform_control = kept, stop
