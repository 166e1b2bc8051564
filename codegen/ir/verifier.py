"""The verifier: what every graph must be before anything consumes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import frozen

from hwdsl.codegen.ir.graph import BOOL, INT, REAL, Graph, Op, state_types
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.record import RANK, Count, Operation

__all__ = ["GraphError", "verify_graph"]

_NEEDED = {BOOL: "bools", INT: "an int"}


class GraphError(Exception):
    """A graph that breaks the rules; the message says where."""


def verify_graph(graph: Graph) -> None:
    """Raise `GraphError` unless the graph is well formed and its types agree."""
    _names("params", (p.name for p in graph.params))
    _names("outputs", (n for n, _ in graph.outputs))
    _names("rules", (n for n, _ in graph.rules))
    for param in graph.params:
        _expect(param.type in RANK, f"param {param.name}", f"no type {param.type!r}")
        ordered = param.low <= param.high
        _expect(ordered, f"param {param.name}", f"no range {param.low} to {param.high}")
    params = {i: p.type for i, p in enumerate(graph.params)}
    _List(graph, "", "param", params).check(graph.ops)
    for what, named in (("output", graph.outputs), ("rule", graph.rules)):
        for name, i in named:
            where = f"{what} {name}"
            _value(where, i, graph.ops)
            if what == "rule":
                _expect(graph.ops[i].type == BOOL, where, f"is {graph.ops[i].type}, not bool")


def _expect(holds: bool, where: str, message: str) -> None:
    if not holds:
        raise GraphError(f"{where}: {message}")


def _names(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        _expect(bool(name) and name.isprintable(), what, f"{name!r} is no name")
        _expect(name not in seen, what, f"two are named {name}")
        seen.add(name)


def _value(where: str, i: int, ops: Sequence[Op]) -> None:
    """Check that an index names an operation with a value; a loop only has results."""
    _expect(0 <= i < len(ops), where, f"operation {i} does not exist")
    _expect(ops[i].code != "loop", where, f"operation {i} is a loop; its results need a proj")


def _widens(narrow: str, wide: str) -> bool:
    return RANK[narrow] <= RANK[wide]


@frozen
class _List:
    """One operation list being checked, and what its inputs may be."""

    graph: Graph
    path: str
    input: str
    inputs: dict[int, str]

    def check(self, ops: Sequence[Op]) -> None:
        """Check every operation of the list."""
        for i, op in enumerate(ops):
            where = f"{self.path}operation {i} ({op.code})"
            _expect(op.type in RANK, where, f"no type {op.type!r}")
            for a in op.args:
                _expect(0 <= a < i, where, f"argument {a} is not an earlier operation")
                _expect(
                    ops[a].code != "loop" or op.code == "proj", where, f"argument {a} is a loop"
                )
            _expect(op.code == "loop" or (op.body is None and op.bound == 0), where, "is no loop")
            self.operation(where, op, ops)

    def operation(self, where: str, op: Op, ops: Sequence[Op]) -> None:
        """Check one operation whose arguments exist."""
        if op.code == "const":
            _expect(not op.args, where, "takes no arguments")
        elif op.code in ("param", "input"):
            self.source(where, op)
        elif op.code == "loop":
            self.loop(where, op, ops)
        elif op.code == "proj":
            self.projection(where, op, ops)
        else:
            record = OPERATIONS.get(op.code)
            if record is None:
                raise GraphError(f"{where}: no such code")
            self.arity(where, op, record)
            self.types(where, op, record, [ops[a].type for a in op.args])

    def source(self, where: str, op: Op) -> None:
        """Check a param or an input of a body."""
        _expect(op.code == self.input, where, f"has no place here, where {self.input} has")
        _expect(not op.args, where, "takes no arguments")
        _expect(op.index in self.inputs, where, f"{op.code} {op.index} does not exist")
        given = self.inputs[op.index]
        _expect(_widens(given, op.type), where, f"is {op.type}, but is given {given}")

    def arity(self, where: str, op: Op, record: Operation) -> None:
        """Check how many arguments there are, and the table."""
        need, given = record.arity, len(op.args)
        fits = given >= need if record.variadic else given == need
        takes = f"takes {'at least ' * record.variadic}{need} argument{'s' * (need != 1)}"
        _expect(fits, where, f"{takes}, not {given}")
        if record.reads_table:
            exists = 0 <= op.index < len(self.graph.tables)
            _expect(exists, where, f"table {op.index} does not exist")
            row = self.graph.tables[op.index]
            # A kernel counts or bisects, by the table's size: the same only if the table rises.
            if isinstance(record.compute, Count):
                rises = all(a < b for a, b in pairwise(row)) and all(a == a for a in row)
                _expect(rises, where, f"table {op.index} does not increase")
            else:
                _expect(bool(row), where, f"table {op.index} is empty")

    def types(self, where: str, op: Op, record: Operation, types: Sequence[str]) -> None:
        """Check operand and result types against the record."""
        for type, wide in zip(types, record.needs, strict=False):
            _expect(_widens(type, wide), where, f"needs {_NEEDED[wide]}, not {', '.join(types)}")
        # Not `result`: values may have told the builder more than the operands' types do.
        fits = _widens(record.type.narrowest(types), op.type)
        _expect(fits, where, f"of {', '.join(types)} cannot be {op.type}")

    def projection(self, where: str, op: Op, ops: Sequence[Op]) -> None:
        """Check that a proj names a result of a loop."""
        _expect(len(op.args) == 1, where, "takes one loop")
        loop = ops[op.args[0]]
        body = loop.body
        if body is None:
            raise GraphError(f"{where}: operation {op.args[0]} is no loop")
        _expect(0 <= op.index < body.carries + 2, where, f"the loop has no result {op.index}")
        _, starts, _ = body.split([ops[a].type for a in loop.args])
        given = [*state_types(body, starts), INT, BOOL]
        _expect(
            _widens(given[op.index], op.type), where, f"is {op.type}, the result {given[op.index]}"
        )

    def loop(self, where: str, op: Op, ops: Sequence[Op]) -> None:
        """Check a loop's arguments and its body."""
        body = op.body
        if body is None:
            raise GraphError(f"{where}: has no body")
        _expect(op.bound >= 0, where, f"the bound {op.bound} is negative")
        _expect(body.carries >= 0, where, "a negative number of states")
        _expect(len(body.next) == body.carries, where, "not one next per state")
        _expect(len(op.args) >= 2 + body.carries, where, "too few arguments for its states")
        ends, starts, captures = body.split([ops[a].type for a in op.args])
        _expect(REAL not in ends, where, "its ends must be ints")
        # A body is checked as a list of its own: nothing outside it is in reach but its inputs.
        given = [INT, *starts, *captures]
        inside = f"{where}, "
        _List(self.graph, inside, "input", dict(enumerate(given))).check(body.ops)
        for k, i in enumerate(body.next):
            _value(f"{inside}next {k}", i, body.ops)
        states = state_types(body, starts)
        for k, i in enumerate(body.next):
            _expect(
                _widens(body.ops[i].type, states[k]),
                f"{inside}next {k}",
                f"is {body.ops[i].type}, the state {states[k]}",
            )
        if body.until is not None:
            _value(f"{inside}until", body.until, body.ops)
            kind = body.ops[body.until].type
            _expect(kind == BOOL, f"{inside}until", f"is {kind}, not bool")
