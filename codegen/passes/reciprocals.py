"""Divisions by the same number become multiplications by its reciprocal.

This is the one pass that changes rounding (by at most 1 ulp of the quotient, but for divisors whose
reciprocal is not a normal number). It happens in the graph, so interpreter and kernel still agree.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir import REAL, Body, Graph, Op, Ref
from hwdsl.codegen.passes.dead import dead
from hwdsl.codegen.passes.rebuild import Rebuilder, body_roots

# An argument of these decides something by a whole number or an order: it must be exact.
EXACT = frozenset(
    ["floor", "ceil", "round", "floordiv", "ceildiv", "lt", "le", "eq", "ne", "and", "or", "not",
     "table", "bucket", "argmin", "argmax"]
)  # fmt: skip


def reciprocals(graph: Graph) -> Graph:
    """Replace `x / b` by `x * (1 / b)` where 1 / b is shared by two or more divisions, or is the
    same for all rounds of a loop (or all points), so that it is computed outside.

    Divisions of or by ints stay, and those whose quotient can reach a floor, ceil, round,
    comparison, table, bucket or index.
    """
    roots = [i for _, i in graph.rules]
    if not has_division(graph.ops):
        return graph
    chooser = Chooser(graph)
    chooser.list_(graph.ops, exact_values(graph.ops, roots, set()), chooser.uniform())
    return dead(Divider(graph, chosen=chooser.chosen).copy()) if chooser.chosen else graph


def has_division(ops: Sequence[Op]) -> bool:
    """Whether there is a division, bodies included."""
    return any(op.code == "div" or (op.body and has_division(op.body.ops)) for op in ops)


def exact_values(ops: Sequence[Op], roots: Sequence[int], results: set[int]) -> set[int]:
    """The operations of a list whose value can reach something that must be exact.

    `roots` do by themselves. Of a loop, any result may come from any argument; a body is taken to
    need exact results if anything that reads the loop does.
    """
    exact = set(roots) | results
    for i in range(len(ops) - 1, -1, -1):
        op = ops[i]
        if i in exact or (op.code in EXACT and not zero_test(ops, op)):
            exact.update(op.args)
        elif op.code in ("select", "gather"):
            exact.add(op.args[0])
        elif op.code == "loop":
            exact.update(op.args[:2])
            exact.update(op.args[1 + s] for s in exact_inputs(op, False) if s)
    return exact


def zero_test(ops: Sequence[Op], op: Op) -> bool:
    """Whether the operation asks if a value is 0: short of underflow a quotient is 0 just where
    the product with the reciprocal is. Derivatives ask so all the time."""
    return op.code in ("eq", "ne") and any(
        ops[a].code == "const" and ops[a].value == 0.0 for a in op.args
    )


def exact_inputs(op: Op, wanted: bool) -> set[int]:
    """The inputs of a loop's body that can reach something exact, in it or (if wanted) after it."""
    body = op.body
    assert body is not None
    return {body.ops[i].index for i in exact_in_body(body, wanted) if body.ops[i].code == "input"}


def exact_in_body(body: Body, wanted: bool) -> set[int]:
    """`exact_values` of a body: what a state feeds includes the state's later rounds."""
    roots = set(body_roots(body)) if wanted else set()
    if body.until is not None:
        roots.add(body.until)
    while True:
        exact = exact_values(body.ops, [], roots)
        slots = {body.ops[i].index for i in exact if body.ops[i].code == "input"}
        more = roots | {body.next[s - 1] for s in slots if 1 <= s <= body.carries}
        if more == roots:
            return exact
        roots = more


Key = tuple[tuple[int, ...], int]


@define(eq=False)
class Chooser:
    """Picks the divisions to replace, as (path of loops, index) pairs."""

    graph: Graph
    path: tuple[int, ...] = ()
    chosen: set[Key] = field(factory=set)

    def uniform(self) -> list[bool]:
        """Which operations of the graph are the same for all points of a kernel call."""
        flags: list[bool] = []
        for op in self.graph.ops:
            if op.code == "param":
                flags.append(self.graph.params[op.index].uniform)
            else:
                flags.append(all(flags[a] for a in op.args))
        return flags

    def list_(self, ops: Sequence[Op], exact: set[int], steady: Sequence[bool]) -> None:
        """Pick in a list; `steady` says which operations are computed once, not every round."""
        able = [
            i for i, op in enumerate(ops)
            if op.code == "div" and i not in exact and op.type == REAL
            and all(ops[a].type == REAL for a in op.args) and invertible(ops[op.args[1]])
        ]  # fmt: skip
        shared = Counter(ops[i].args[1] for i in able)
        for i in able:
            x, b = ops[i].args
            outside = (steady[b] or self._from_table(ops, b)) and not steady[i]
            is_one = ops[x].code == "const" and ops[x].value == 1.0
            if not is_one and (outside or shared[b] > 1):
                self.chosen.add((self.path, i))
        wanted = {op.args[0] for i, op in enumerate(ops) if op.code == "proj" and i in exact}
        for i, op in enumerate(ops):
            if op.body is not None:
                self._body(i, op.body, i in wanted)

    def _body(self, i: int, body: Body, wanted: bool) -> None:
        inner = Chooser(self.graph, (*self.path, i), self.chosen)
        steady: list[bool] = []
        for op in body.ops:
            fixed = op.code != "input" or op.index > body.carries
            steady.append(fixed and all(steady[a] for a in op.args))
        inner.list_(body.ops, exact_in_body(body, wanted), steady)

    def _from_table(self, ops: Sequence[Op], b: int) -> bool:
        return ops[b].code == "table" and all(
            normal(v) for v in self.graph.tables[ops[b].index]
        )  # fmt: skip


def invertible(divisor: Op) -> bool:
    """False for a constant whose reciprocal would lose digits or overflow."""
    return divisor.code != "const" or normal(divisor.value)


def normal(value: float) -> bool:
    """Whether value and reciprocal are normal numbers."""
    low = sys.float_info.min
    return math.isfinite(value) and low <= abs(value) <= 1 / low


@define(eq=False)
class Divider(Rebuilder):
    """Copies a graph with the chosen divisions replaced."""

    chosen: set[Key] = field(factory=set)
    path: tuple[int, ...] = ()
    inverse: dict[int, int] = field(factory=dict)

    def run(self, ops: Sequence[Op], roots: Sequence[int], inputs: Sequence[Ref]) -> list[Ref]:
        """Copy a list."""
        values: list[Ref] = []
        results: dict[int, tuple[Ref, ...]] = {}
        outer = self.path
        for i, op in enumerate(ops):
            if (outer, i) in self.chosen:
                values.append(self._times(op, values))
                continue
            if op.code == "loop":
                self.path = (*outer, i)
            values.append(self.place(ops, i, values, results, inputs))
            self.path = outer
        return values

    def _times(self, op: Op, values: Sequence[Ref]) -> Ref:
        x, divisor = (values[a] for a in op.args)
        b = self.builder
        if divisor.op.code == "table" and all(map(normal, b.tables[divisor.op.index])):
            index = self._inverse(divisor.op.index)
            place = Ref(divisor.region, divisor.op.args[0])
            return b.op("mul", x, b.op("table", place, index=index))
        return b.op("mul", x, b.op("div", b.const(1.0), divisor))

    def _inverse(self, index: int) -> int:
        if index not in self.inverse:
            row = self.builder.tables[index]
            self.inverse[index] = self.builder.table([1.0 / v for v in row])
        return self.inverse[index]
