"""Where values come from: what is partially evaluated, as a graph of nodes, each once.

Input: the calls of a `PartialEvaluator` that elaborates with a `Trace`. Output: for each cell a
`TraceNode` whose parts are the expressions evaluated and the cells read on its behalf, in order,
each with the conditions under which its value counts. Nothing here changes what is calculated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field, frozen

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.elaborate.values import Component, Env, Record, SelectIndex, SelectRecord, Thunk, Value
from hwdsl.syntax import ast

T = TypeVar("T")

Guard = tuple[SelectIndex, int]
"""A selector and the alternative that it has to take."""


@define(eq=False)
class TraceItem:
    """What was evaluated or read on behalf of something; it counts where all `guards` hold."""

    guards: tuple[Guard, ...]


@define(eq=False)
class TraceNode(TraceItem):
    """An expression that was evaluated in an environment; a cell's own node has none."""

    expr: ast.Expr | None = None
    env: Env | None = None
    value: Value | None = None
    parts: list[TraceItem] = field(factory=list)


@define(eq=False)
class ThunkRead(TraceItem):
    """A cell that was read."""

    thunk: Thunk


@define(eq=False)
class Entered(TraceItem):
    """A cell of an evaluator that is called: its numbers are those of the callee's graph.

    `arguments` gives, for a param of `callee` by its index, the caller's value.
    """

    thunk: Thunk
    callee: GraphBuilder
    arguments: Callable[[int], Ref]


@frozen(eq=False)
class Closing:
    """What a loop starts from and goes on with; see `codegen.ir.Body`."""

    low: Ref
    high: Ref
    bound: int
    initial: Sequence[Ref]
    following: Sequence[Ref]
    until: Ref | None


@define(eq=False)
class Rounds(TraceNode):
    """The body of a loop of the graph, evaluated once for all rounds.

    One that was never closed was an attempt, and counts for nothing.
    """

    region: Region | None = None
    closing: Closing | None = None


@define(eq=False)
class Trace:
    """The recording of one elaboration.

    `nodes` are those of cells. `bodies` are, by the identity of its variables, those of calls: the
    variables, the node of the cell and the call that first asked for it. `owners` say in which
    component another was built. `names` are the evaluator's params, variables and outputs.
    """

    nodes: dict[Thunk, TraceNode] = field(factory=dict)
    bodies: dict[int, tuple[object, TraceNode, TraceNode]] = field(factory=dict)
    owners: dict[Component, Component] = field(factory=dict)
    names: Mapping[str, Value | Thunk] = field(factory=dict)
    _within: list[TraceNode] = field(factory=list)
    _guards: tuple[Guard, ...] = ()
    _rounds: dict[int, Rounds] = field(factory=dict)

    def evaluating(self, expr: ast.Expr, env: Env, compute: Callable[[], Value]) -> Value:
        """Evaluate an expression, a part of what is being evaluated if it has a value."""
        node = TraceNode(self._guards, expr, env)
        node.value = self._inside(node, compute)
        if self._within:
            self._within[-1].parts.append(node)
        return node.value

    def running(self, thunk: Thunk) -> Value:
        """Compute a cell."""
        node = self.nodes[thunk] = TraceNode(())
        node.value = self._inside(node, thunk.compute)
        return node.value

    def _inside(self, node: TraceNode, compute: Callable[[], T]) -> T:
        guards, self._guards = self._guards, ()
        self._within.append(node)
        try:
            return compute()
        finally:
            self._within.pop()
            self._guards = guards

    def read(self, thunk: Thunk) -> None:
        """Note that a cell was read."""
        if self._within:
            self._within[-1].parts.append(ThunkRead(self._guards, thunk))
        value, of = thunk.value, thunk.keep
        if isinstance(value, Record | SelectRecord) and isinstance(of, Record | SelectRecord):
            self._own(value, of, thunk.label)

    def _own(self, built: Component, of: Component, path: str) -> None:
        if built.path == path:
            self.owners[built] = of
        for each in built.alternatives if isinstance(built, SelectRecord) else ():
            self._own(each, of, path)

    def entered(self, thunk: Thunk, callee: GraphBuilder, arguments: Callable[[int], Ref]) -> None:
        """Note that what is being evaluated has its value from a cell of a called evaluator."""
        if self._within:
            self._within[-1].parts.append(Entered(self._guards, thunk, callee, arguments))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is evaluated here, for a called evaluator, is no part of the rest."""
        within, guards = self._within, self._guards
        self._within, self._guards = [], ()
        try:
            yield
        finally:
            self._within, self._guards = within, guards

    def where(self, guard: Guard, compute: Callable[[], T]) -> Callable[[], T]:
        """The computation, whose parts count only where the selector takes the alternative."""

        def guarded() -> T:
            before, self._guards = self._guards, (*self._guards, guard)
            try:
                return compute()
            finally:
                self._guards = before

        return guarded

    def body(self, names: Mapping[str, Value | Thunk]) -> None:
        """Note the variables of a function's body that is about to be evaluated for a call."""
        reader = self._within[-2] if len(self._within) > 1 else None
        if reader is not None and isinstance(reader.expr, ast.Call):
            self.bodies[id(names)] = names, self._within[-1], reader

    @contextmanager
    def rounds(self, region: Region) -> Iterator[None]:
        """The body of a loop is evaluated here."""
        node = self._rounds[id(region)] = Rounds(self._guards, region=region)
        guards, self._guards = self._guards, ()
        self._within.append(node)
        try:
            yield
        finally:
            self._within.pop()
            self._guards = guards
        if self._within:
            self._within[-1].parts.append(node)

    def closed(self, region: Region, closing: Closing) -> None:
        """Note what a loop is closed with."""
        self._rounds[id(region)].closing = closing
