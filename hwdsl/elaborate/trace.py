"""Provenance recording: a trace of one elaboration (as in dynamic slicing).

Input: the calls of a `PartialEvaluator` that elaborates with a `Trace`. Output: for each thunk a
`TraceNode` whose parts are the expressions evaluated and the thunks read on its behalf, in order,
each with its path condition. Recording changes nothing in the graph, which is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref, Region
from hwdsl.elaborate.values import (
    Component,
    Env,
    LoopRounds,
    Record,
    SelectIndex,
    SelectRecord,
    Thunk,
    Value,
)
from hwdsl.syntax import ast

T = TypeVar("T")

Guard = tuple[SelectIndex, int]
"""A selector and the alternative that it has to take."""


@define(eq=False)
class TraceItem:
    """An evaluation or a read on behalf of a node; it is active where all `guards` hold."""

    guards: tuple[Guard, ...]


@define(eq=False)
class TraceNode(TraceItem):
    """An expression that was evaluated in an environment; the node of a thunk has neither."""

    expr: ast.Expr | None = None
    env: Env | None = None
    value: Value | None = None
    parts: list[TraceItem] = field(factory=list)


@define(eq=False)
class ThunkRead(TraceItem):
    """The read of a thunk."""

    thunk: Thunk


@define(eq=False)
class Entered(TraceItem):
    """A thunk of an evaluator that is called: its numbers are those of the callee's graph.

    `arguments` gives, for a param of `callee` by its index, the caller's value.
    """

    thunk: Thunk
    callee: GraphBuilder
    arguments: Callable[[int], Ref]


@define(eq=False)
class Rounds(TraceNode):
    """The body of a loop of the graph, evaluated once for all rounds.

    One without a `loop` is of an attempt that was given up, and is ignored.
    """

    loop: LoopRounds | None = None


@define(eq=False)
class Trace:
    """The recording of one elaboration.

    `nodes` are those of thunks. `bodies` are, by the identity of its variables, those of calls: the
    variables, the node of the thunk and the call that read it first. `owners` say in which
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
        with self._inside(node):
            node.value = compute()
        if self._within:
            self._within[-1].parts.append(node)
        return node.value

    def running(self, thunk: Thunk) -> Value:
        """Force a thunk, recording under its own node."""
        node = self.nodes[thunk] = TraceNode(())
        with self._inside(node):
            node.value = thunk.compute()
        return node.value

    @contextmanager
    def _inside(self, node: TraceNode) -> Iterator[None]:
        guards, self._guards = self._guards, ()
        self._within.append(node)
        try:
            yield
        finally:
            self._within.pop()
            self._guards = guards

    def read(self, thunk: Thunk) -> None:
        """Record that a thunk was read."""
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
        """Record that the node under evaluation has its value from a thunk of a called
        evaluator."""
        if self._within:
            self._within[-1].parts.append(Entered(self._guards, thunk, callee, arguments))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Within it, evaluations for a called evaluator are recorded apart from the caller's."""
        within, guards = self._within, self._guards
        self._within, self._guards = [], ()
        try:
            yield
        finally:
            self._within, self._guards = within, guards

    def where(self, guard: Guard, compute: Callable[[], T]) -> Callable[[], T]:
        """The computation, with the guard added to the path condition of its parts."""

        def guarded() -> T:
            before, self._guards = self._guards, (*self._guards, guard)
            try:
                return compute()
            finally:
                self._guards = before

        return guarded

    def body(self, names: Mapping[str, Value | Thunk]) -> None:
        """Note the variables of a function's body that is about to be evaluated for a call."""
        # The last is the node of the call's thunk; the one before it reads that thunk.
        reader = self._within[-2] if len(self._within) > 1 else None
        if reader is not None and isinstance(reader.expr, ast.Call):
            self.bodies[id(names)] = names, self._within[-1], reader

    @contextmanager
    def rounds(self, region: Region) -> Iterator[None]:
        """The body of a loop is evaluated here."""
        node = self._rounds[id(region)] = Rounds(self._guards)
        with self._inside(node):
            yield
        if self._within:
            self._within[-1].parts.append(node)

    def closed(self, loop: LoopRounds) -> None:
        """Note what a loop is closed with."""
        self._rounds[id(loop.region)].loop = loop
