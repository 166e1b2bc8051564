"""Inlining: the operations of one builder's graph are added to another's, with arguments in place
of its params.

A call of an evaluator inlines the callee's graph instead of elaborating its text again with the
arguments. The decisions made when that graph was built (unrolled or a loop, guards, selections)
then hold for the call too, so both give the same bits; a second elaboration with known arguments
would decide otherwise (decision 12). What the arguments make constant is folded at once, by the
functions that the interpreter uses, and of a selection by a constant only the arm taken is inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from hwdsl.codegen.ir.builder import GraphBuilder, Ref
from hwdsl.codegen.ir.graph import Op, fold
from hwdsl.codegen.ir.loop_folding import run_loop
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.passes.rewriter import Copier

__all__ = ["Inliner"]

Value = Ref | float


@define(eq=False)
class Inliner(Copier):
    """Copies values of `source` on demand, each once.

    `argument` gives the value of a param by its index. `consume_fuel` is called with the number of
    operations evaluated, those of a loop once for each round; it may raise. A value is a float
    while it is constant, and becomes an operation of the builder only where one that is not needs
    it: a loop that folds leaves nothing behind.
    """

    source: GraphBuilder
    argument: Callable[[int], Ref]
    consume_fuel: Callable[[int], None]
    _values: dict[int, Value] = field(factory=dict)
    _results: dict[int, tuple[Value, ...]] = field(factory=dict)
    _tables: dict[int, int] = field(factory=dict)

    def value(self, ref: Ref) -> Ref:
        """The copy in the builder of a value of the source's top-level list."""
        if ref.known is not None:
            return self.builder.const(ref.known, ref.type)
        # Values inside a loop's body have no meaning outside it; only top-level ones are asked for.
        assert ref.region is self.source.root
        before = len(self._values)
        found = self._evaluate(ref.index)
        self.consume_fuel(len(self._values) - before)
        return found if isinstance(found, Ref) else self.builder.const(found, ref.type)

    def _evaluate(self, index: int) -> Value:
        todo = [index]
        while todo:  # not recursive: chains of operations are as long as the file makes them
            i = todo[-1]
            if i in self._values:
                todo.pop()
                continue
            op = self.source.root.ops[i]
            passed_on, needed = self._operands_needed(op)
            lacking = [a for a in needed if a not in self._values]
            # Looked at again once its first argument is there: only then is it known which others
            # are needed.
            if lacking:
                todo.extend(lacking)
            else:
                found = self._values[needed[-1]] if passed_on else self._compute(i, op)
                self._values[i] = self._widened(op, found)
        return self._values[index]

    def _operands_needed(self, op: Op) -> tuple[bool, Sequence[int]]:
        """The arguments to evaluate first, and whether the last of them is the result.

        Of a selection, and of `and` and `or`, the first argument is evaluated alone: if it is
        constant, the arms that it excludes are never looked at, however large they are.
        """
        record = OPERATIONS[op.code]
        if record.picks is None and record.decider is None:
            return False, op.args
        first = op.args[0]
        if first not in self._values:
            return False, (first,)
        decides = self._values[first]
        if isinstance(decides, Ref):
            return False, op.args
        if record.picks is not None:
            return True, (first, op.args[record.picks(decides, len(op.args))])
        return True, (first,) if bool(decides) == bool(record.decider) else op.args

    def _compute(self, i: int, op: Op) -> Value:
        if op.code == "const":
            return op.value
        if op.code == "param":
            return _value(self.argument(op.index))
        if op.code == "proj":
            return self._results[op.args[0]][op.index]
        args = [self._values[a] for a in op.args]
        known = [a for a in args if not isinstance(a, Ref)]
        if op.body is not None:
            self._results[i] = self._loop(op, args, known)
            return self._results[i][-1]
        if len(known) == len(args):
            return fold(op.code, known, self.source.tables, op.index)
        return _value(self.visit(op, self._refs(op, args)))

    def _widened(self, op: Op, found: Value) -> Value:
        """The value, of the operation's type, which may be wider than that of the arm taken."""
        if op.body is not None or not isinstance(found, Ref):
            return found
        return _value(self.builder.widen(found, op.type))

    def _loop(self, op: Op, args: Sequence[Value], known: Sequence[float]) -> tuple[Value, ...]:
        body = op.body
        assert body is not None
        if len(known) == len(args):
            return run_loop(body, op.bound, known, self.source.tables, self.consume_fuel)
        return tuple(_value(ref) for ref in self.visit_loop(op, self._refs(op, args)))

    def _refs(self, op: Op, args: Sequence[Value]) -> list[Ref]:
        ops = self.source.root.ops
        return [
            a if isinstance(a, Ref) else self.builder.const(a, ops[i].type)
            for a, i in zip(args, op.args, strict=True)
        ]

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an ordinary operation; tables have other indices in this builder."""
        if OPERATIONS[op.code].reads_table:
            if op.index not in self._tables:
                self._tables[op.index] = self.builder.table(self.source.tables[op.index])
            op = evolve(op, index=self._tables[op.index])
        return self.builder.op(op.code, *args, index=op.index, type=op.type)


def _value(ref: Ref) -> Value:
    return ref if ref.known is None else ref.known
