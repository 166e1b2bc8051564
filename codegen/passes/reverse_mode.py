"""Reverse-mode automatic differentiation: exact derivatives of an output, as a graph.

Flat code is differentiated in reverse mode, so the cost does not grow with the number of params.
Reverse mode through a loop would need the values of all rounds, last round first (a tape), and a
graph has nothing to store them in. So a loop is differentiated in forward mode, in the directions
of its own active arguments, and the adjoints of its results are multiplied by its Jacobian. Where a
loop has more active arguments than there are params asked for, the directions are those params, and
all that the loop depends on carries tangents too. See `operations.derivatives` for the
rules of operations and `forward_mode` for loops that stop early.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import REAL, Graph, Op, backward_slice
from hwdsl.codegen.passes.dead_code import eliminate_dead_code
from hwdsl.codegen.passes.forward_mode import (
    ForwardModeAD,
    Tangents,
    activity,
    is_differentiable_in,
    sum_of_nonzero,
)
from hwdsl.codegen.passes.rewriter import Results


def differentiate(graph: Graph, output: str, wrt: Sequence[str]) -> Graph:
    """The graph of one output, its rules, and the output's derivative in each param of `wrt`.

    Derivatives are outputs named `d.<output>.<param>`, after the output itself. Raises ValueError
    for an output or param that is not there or not real.
    """
    root = dict(graph.outputs).get(output)
    if root is None:
        raise ValueError(f"there is no output named {output}")
    directions = [real_param(graph, name) for name in wrt]
    lean = eliminate_dead_code(attrs.evolve(graph, outputs=((output, root),)))
    return eliminate_dead_code(ReverseModeAD(lean, output=output, wrt=directions).derive())


def real_param(graph: Graph, name: str) -> int:
    """The index of a param; it must be real, to be differentiated in."""
    for i, param in enumerate(graph.params):
        if param.name == name:
            if param.type != REAL:
                raise ValueError(f"{name} is {param.type}: only real params have a derivative")
            return i
    raise ValueError(f"there is no param named {name}")


@define(eq=False)
class ReverseModeAD(ForwardModeAD):
    """Copies a graph and adds the adjoints of its one output.

    `loop_tangents` are the tangents of the results of each loop. For a loop differentiated in its
    own arguments, `sources` lists these as (operation, direction); a loop that is not in `sources`
    has the directions of `wrt`. `forward_tangents` are the tangents of what such a loop depends on.
    """

    output: str = ""
    wrt: list[int] = field(factory=list)
    values: list[Ref] = field(factory=list)
    forward_tangents: list[Tangents | None] = field(factory=list)
    sources: dict[int, list[tuple[int, int]]] = field(factory=dict)
    loop_tangents: dict[int, list[Tangents]] = field(factory=dict)

    def derive(self) -> Graph:
        """The graph with its derivatives."""
        graph = self.graph
        bits = [0] * len(graph.params)
        for d, p in enumerate(self.wrt):
            bits[p] |= 1 << d
        active = activity(graph.ops, bits, ())
        root = graph.outputs[0][1]
        ancestors = backward_slice(graph.ops, [root])
        forward_loops = self._forward_loops(active, ancestors)
        self._copy(
            active, ancestors, backward_slice(graph.ops, sorted(forward_loops)), forward_loops
        )
        gradient = self._backward(root, active)
        names = [graph.params[p].name for p in self.wrt]
        derived = [(f"d.{self.output}.{n}", g) for n, g in zip(names, gradient, strict=True)]
        return self.builder.finish(
            [(self.output, self.values[root]), *derived],
            [(name, self.values[i]) for name, i in graph.rules],
        )

    def _forward_loops(self, active: Sequence[int], ancestors: set[int]) -> set[int]:
        """The loops that have more active arguments than there are params to differentiate in, and
        the loops that these depend on."""
        ops = self.graph.ops
        many = [
            i for i in ancestors
            if ops[i].code == "loop" and len(active_inputs(ops, i, active)) > len(self.wrt)
        ]  # fmt: skip
        return {i for i in backward_slice(ops, many) if ops[i].code == "loop"}

    def _copy(
        self,
        active: Sequence[int],
        ancestors: set[int],
        needs_tangents: set[int],
        forward_loops: set[int],
    ) -> None:
        """Copy the list: active loops with tangents, and what a forward loop depends on too."""
        ops = self.graph.ops
        results: Results = {}
        zero: Tangents = (None,) * len(self.wrt)
        for i, op in enumerate(ops):
            if op.code == "loop" and i in ancestors and active_inputs(ops, i, active):
                results[i] = self._loop(i, op, active, i in forward_loops)
                self.values.append(results[i][-1])
                self.forward_tangents.append(zero)
                continue
            self.values.append(self.copy_operation(ops, i, self.values, results, ()))
            self.forward_tangents.append(
                self._forward_tangents(i, op, zero) if i in needs_tangents else None
            )

    def _forward_tangents(self, i: int, op: Op, zero: Tangents) -> Tangents:
        """The tangents, in the directions of `wrt`, of an operation that a forward loop needs."""
        if op.code == "param":
            one = self.builder.const(1.0)
            return tuple(one if p == op.index else None for p in self.wrt)
        if op.code == "proj":
            made = self.loop_tangents.get(op.args[0])
            return made[op.index] if made is not None else zero
        if not op.args or op.code == "loop":
            return zero
        tangents = [self.forward_tangents[a] or zero for a in op.args]
        return self.jvp(op, [self.values[a] for a in op.args], tangents, self.values[i])

    def _loop(self, i: int, op: Op, active: Sequence[int], forward_loops: bool) -> tuple[Ref, ...]:
        """A loop with tangents, in the directions of `wrt` or of its own arguments."""
        args = [self.values[a] for a in op.args]
        if forward_loops:
            zero: Tangents = (None,) * len(self.wrt)
            tangents = [self.forward_tangents[a] or zero for a in op.args]
        else:
            # The Jacobian of the loop in its own active arguments: unit tangents as seeds.
            own = active_inputs(self.graph.ops, i, active)
            one = self.builder.const(1.0)
            tangents = [tuple(one if a == s else None for s in own) for a in op.args]
            self.sources[i] = [(s, d) for d, s in enumerate(own)]
        results, self.loop_tangents[i] = self.visit_jvp_loop(op, args, tangents)
        return results

    def _backward(self, root: int, active: Sequence[int]) -> list[Ref]:
        """The adjoints, from the output back to the params."""
        ops, b = self.graph.ops, self.builder
        adjoints: dict[int, list[Ref]] = {root: [b.const(1.0)]}
        forward_parts: list[list[Ref]] = [[] for _ in self.wrt]
        param_adjoints: dict[int, Ref] = {}
        # Users of an operation come after it, so all contributions to its adjoint are there when
        # the walk backwards reaches it.
        for i in range(root, -1, -1):
            terms = adjoints.pop(i, None)
            if not terms or not active[i]:
                continue
            op = ops[i]
            # Contributions arrive last use first; the sum is in the order of the uses.
            adjoint = sum_of_nonzero(self, reversed(terms))
            if op.code == "param":
                param_adjoints[op.index] = adjoint
            elif op.code == "proj":
                self._propagate_through_loop(op, adjoint, adjoints, forward_parts)
            else:
                self._propagate(i, op, adjoint, active, adjoints)
        zero = b.const(0.0)
        return [
            sum_of_nonzero(self, [param_adjoints.get(p, zero), *reversed(forward_parts[d])])
            for d, p in enumerate(self.wrt)
        ]

    def _propagate(
        self, i: int, op: Op, adjoint: Ref, active: Sequence[int], adjoints: dict[int, list[Ref]]
    ) -> None:
        args = [self.values[a] for a in op.args]
        for n in range(len(op.args) - 1, -1, -1):
            a = op.args[n]
            if active[a] and is_differentiable_in(op, n):
                share = self.vjp(op, args, self.values[i], n, adjoint)
                adjoints.setdefault(a, []).append(share)

    def _propagate_through_loop(
        self, op: Op, adjoint: Ref, adjoints: dict[int, list[Ref]], forward_parts: list[list[Ref]]
    ) -> None:
        loop = op.args[0]
        tangents = self.loop_tangents[loop][op.index]
        # The directions of this loop are the params themselves: its part of the gradient is
        # complete and goes no further back.
        if loop not in self.sources:
            for d, m in enumerate(tangents):
                if m is not None:
                    forward_parts[d].append(self.partials.times(adjoint, m))
            return
        for source, d in self.sources[loop]:
            m = tangents[d]
            if m is not None:
                adjoints.setdefault(source, []).append(self.partials.times(adjoint, m))


def active_inputs(ops: Sequence[Op], loop: int, active: Sequence[int]) -> list[int]:
    """The distinct arguments of a loop that are active (carries and captures; not its bounds)."""
    return list(dict.fromkeys(a for a in ops[loop].args[2:] if active[a]))
