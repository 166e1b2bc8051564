"""Exact derivatives of an output, as a graph.

Flat code is differentiated in reverse, so the cost does not grow with the number of params. Loops
carry tangents forward, in the directions of their own moving arguments or, where those are more, of
the params asked for. See `partials` for the rules and `tangents` for loops that stop early.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import REAL, Graph, Op
from hwdsl.codegen.passes.dead_code import eliminate_dead_code
from hwdsl.codegen.passes.derivative_rules import passes, weigh
from hwdsl.codegen.passes.forward_mode import ForwardModeAD, Moves, activity, total
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
    """The number of a param that can be differentiated in."""
    for i, param in enumerate(graph.params):
        if param.name == name:
            if param.type != REAL:
                raise ValueError(f"{name} is {param.type}: only real params have a derivative")
            return i
    raise ValueError(f"there is no param named {name}")


@define(eq=False)
class ReverseModeAD(ForwardModeAD):
    """Copies a graph and adds the adjoints of its one output."""

    output: str = ""
    wrt: list[int] = field(factory=list)
    values: list[Ref] = field(factory=list)
    rows: list[Moves | None] = field(factory=list)
    sources: dict[int, list[tuple[int, int]]] = field(factory=dict)
    tangents: dict[int, list[Moves]] = field(factory=dict)

    def derive(self) -> Graph:
        """The graph with its derivatives."""
        graph = self.graph
        bits = [0] * len(graph.params)
        for d, p in enumerate(self.wrt):
            bits[p] |= 1 << d
        moving = activity(graph.ops, bits, ())
        root = graph.outputs[0][1]
        ancestors = transitive_operands(graph.ops, [root])
        ahead = self._forward_loops(moving, ancestors)
        self._copy(moving, ancestors, transitive_operands(graph.ops, sorted(ahead)), ahead)
        gradient = self._backward(root, moving)
        names = [graph.params[p].name for p in self.wrt]
        derived = [(f"d.{self.output}.{n}", g) for n, g in zip(names, gradient, strict=True)]
        return self.builder.finish(
            [(self.output, self.values[root]), *derived],
            [(name, self.values[i]) for name, i in graph.rules],
        )

    def _forward_loops(self, moving: Sequence[int], ancestors: set[int]) -> set[int]:
        """The loops that have more moving arguments than there are params to differentiate in,
        and those that such loops depend on."""
        ops = self.graph.ops
        many = [
            i for i in ancestors
            if ops[i].code == "loop" and len(active_inputs(ops, i, moving)) > len(self.wrt)
        ]  # fmt: skip
        return {i for i in transitive_operands(ops, many) if ops[i].code == "loop"}

    def _copy(
        self, moving: Sequence[int], ancestors: set[int], forward: set[int], ahead: set[int]
    ) -> None:
        """Copy the list; loops with tangents, and what lies above a forward loop with them too."""
        ops = self.graph.ops
        results: Results = {}
        still: Moves = (None,) * len(self.wrt)
        for i, op in enumerate(ops):
            if op.code == "loop" and i in ancestors and active_inputs(ops, i, moving):
                results[i] = self._loop(i, op, moving, i in ahead)
                self.values.append(results[i][-1])
                self.rows.append(still)
                continue
            self.values.append(self.place(ops, i, self.values, results, ()))
            self.rows.append(self._row(i, op, still) if i in forward else None)

    def _row(self, i: int, op: Op, still: Moves) -> Moves:
        """The tangents of an operation above a forward loop, in the directions of `wrt`."""
        if op.code == "param":
            one = self.builder.const(1.0)
            return tuple(one if p == op.index else None for p in self.wrt)
        if op.code == "proj":
            made = self.tangents.get(op.args[0])
            return made[op.index] if made is not None else still
        if not op.args or op.code == "loop":
            return still
        moves = [self.rows[a] or still for a in op.args]
        return self.move(op, [self.values[a] for a in op.args], moves, self.values[i])

    def _loop(self, i: int, op: Op, moving: Sequence[int], ahead: bool) -> tuple[Ref, ...]:
        """A loop with tangents, in the directions of `wrt` or of its own arguments."""
        args = [self.values[a] for a in op.args]
        if ahead:
            still: Moves = (None,) * len(self.wrt)
            moves = [self.rows[a] or still for a in op.args]
        else:
            own = active_inputs(self.graph.ops, i, moving)
            one = self.builder.const(1.0)
            moves = [tuple(one if a == s else None for s in own) for a in op.args]
            self.sources[i] = [(s, d) for d, s in enumerate(own)]
        results, self.tangents[i] = self.moving_loop(op, args, moves)
        return results

    def _backward(self, root: int, moving: Sequence[int]) -> list[Ref]:
        """The adjoints, from the output back to the params."""
        ops, b = self.graph.ops, self.builder
        parts: dict[int, list[Ref]] = {root: [b.const(1.0)]}
        direct: list[list[Ref]] = [[] for _ in self.wrt]
        of_param: dict[int, Ref] = {}
        for i in range(root, -1, -1):
            terms = parts.pop(i, None)
            if not terms or not moving[i]:
                continue
            op = ops[i]
            weight = total(self, reversed(terms))  # in the order of the operations, for `roll`
            if op.code == "param":
                of_param[op.index] = weight
            elif op.code == "proj":
                self._through_loop(op, weight, parts, direct)
            else:
                self._through(i, op, weight, moving, parts)
        zero = b.const(0.0)
        return [
            total(self, [of_param.get(p, zero), *reversed(direct[d])])
            for d, p in enumerate(self.wrt)
        ]

    def _through(
        self, i: int, op: Op, weight: Ref, moving: Sequence[int], parts: dict[int, list[Ref]]
    ) -> None:
        args = [self.values[a] for a in op.args]
        for n in range(len(op.args) - 1, -1, -1):
            a = op.args[n]
            if moving[a] and passes(op, n):
                share = weigh(self.partials, op, args, self.values[i], n, weight)
                parts.setdefault(a, []).append(share)

    def _through_loop(
        self, op: Op, weight: Ref, parts: dict[int, list[Ref]], direct: list[list[Ref]]
    ) -> None:
        loop = op.args[0]
        moves = self.tangents[loop][op.index]
        if loop not in self.sources:
            for d, m in enumerate(moves):
                if m is not None:
                    direct[d].append(self.partials.times(weight, m))
            return
        for source, d in self.sources[loop]:
            m = moves[d]
            if m is not None:
                parts.setdefault(source, []).append(self.partials.times(weight, m))


def active_inputs(ops: Sequence[Op], loop: int, moving: Sequence[int]) -> list[int]:
    """The distinct arguments of a loop that move."""
    return list(dict.fromkeys(a for a in ops[loop].args[2:] if moving[a]))


def transitive_operands(ops: Sequence[Op], roots: Sequence[int]) -> set[int]:
    """These operations and all they depend on."""
    seen = set(roots)
    todo = list(roots)
    while todo:
        for a in ops[todo.pop()].args:
            if a not in seen:
                seen.add(a)
                todo.append(a)
    return seen
