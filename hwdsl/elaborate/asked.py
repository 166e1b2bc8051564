"""Which components were read on the way to values, and where: their rules are to be asked there.

The reads stand among the assertions of thunks, under the path conditions of each reader, a thunk's
as one (`AskedTogether`). Here they become a graph again: its nodes are what was read, its edges
the reads that a thunk or the rules of a component make, each with its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import define, field

from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.values import AskedTogether, Assertion, Component

Read = Component | AskedTogether


def parted(assertions: Sequence[Assertion]) -> tuple[list[Assertion], list[Assertion]]:
    """The rules, and the components that were read."""
    rules = [e for e in assertions if e.asks is None]
    return rules, [e for e in assertions if e.asks is not None]


def read_where(
    m: PartialEvaluator,
    read: Sequence[Assertion],
    ask: Callable[[Read], Sequence[Assertion]],
    since: int = 0,
) -> list[tuple[Read, Ref]]:
    """The components read, each once, with the condition under which it is read at all.

    `ask` gives what the rules of a component read. What was read together before `since` is not
    taken apart.
    """
    graph = _Reads(m, ask, since)
    roots = [graph.edge(each) for each in read]
    for key, _ in roots:
        graph.visit(key)
    conditions: dict[int, Ref] = {}
    for key, where in roots:
        graph.either(conditions, key, where)
    found: list[tuple[Read, Ref]] = []
    # Readers before what they read. Components whose rules read each other are read together:
    # where one of them is, all are.
    for members in reversed(graph.cycles):
        known = [conditions[key] for key in members if key in conditions]
        where = m.truth(False)
        for each in known:
            where = m.builder.op("or", where, each)
        if where.known == 0.0:
            continue
        for key in members:
            if not graph.taken_apart(graph.nodes[key]):
                found.append((graph.nodes[key], where))
            for inner, here in graph.edges[key]:
                if inner not in members:
                    graph.either(conditions, inner, m.builder.op("and", where, here))
    return found


@define(eq=False)
class _Reads:
    """The graph, and its strongly connected components in Tarjan's order: what is read first."""

    m: PartialEvaluator
    ask: Callable[[Read], Sequence[Assertion]]
    since: int
    nodes: dict[int, Read] = field(factory=dict)
    edges: dict[int, list[tuple[int, Ref]]] = field(factory=dict)
    cycles: list[Mapping[int, None]] = field(factory=list)
    _low: dict[int, int] = field(factory=dict)
    _stack: list[int] = field(factory=list)

    def taken_apart(self, of: Read) -> bool:
        """Whether it stands for others."""
        return isinstance(of, AskedTogether) and of.serial > self.since

    def edge(self, each: Assertion) -> tuple[int, Ref]:
        """What was read, and the condition."""
        assert each.asks is not None
        self.nodes[id(each.asks)] = each.asks
        return id(each.asks), self.m.builder.op("not", each.holds)

    def either(self, conditions: dict[int, Ref], key: int, where: Ref) -> None:
        """Note a further condition under which something is read."""
        before = conditions.get(key)
        if before is None or before == where:
            conditions[key] = where
        else:
            conditions[key] = self.m.builder.op("or", before, where)

    def visit(self, key: int) -> int:
        """Find what is read from here on; the number of the earliest node of its cycle."""
        if key in self._low:
            return self._low[key]
        at = self._low[key] = len(self._low)
        self._stack.append(key)
        of = self.nodes[key]
        taken = isinstance(of, AskedTogether) and of.serial > self.since
        read = of.members if taken and isinstance(of, AskedTogether) else self.ask(of)
        edges = [self.edge(each) for each in read]
        self.edges[key] = [(inner, here) for inner, here in edges if here.known != 0.0]
        low = min([at, *[self.visit(inner) for inner, _ in self.edges[key]]])
        self._low[key] = low
        if low == at:
            members: dict[int, None] = {}
            while key not in members:
                members[self._stack.pop()] = None
            for each in members:
                self._low[each] = NEVER
            self.cycles.append(members)
        return low


NEVER = 2**62
"""The number of a node whose cycle is complete: it leads to none that is not."""
