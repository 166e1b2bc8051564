"""Replaying what one builder holds in another, with arguments in place of its params.

This is how a call of an evaluator takes the callee's own graph: what was decided when that was made
(written out or a loop, masks, selections) holds for the call too, so both give the same bits. What
the arguments make known is calculated at once, by the functions that the interpreter uses; of a
selection that is known only the arm taken.
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

Number = Ref | float


@define(eq=False)
class Inliner(Copier):
    """Copies values of `source`, each when it is first asked for.

    `argument` gives the value of a param by its index. `spend` is told how many operations are
    calculated, those of a loop once for each round.
    """

    source: GraphBuilder
    argument: Callable[[int], Ref]
    consume_fuel: Callable[[int], None]
    _numbers: dict[int, Number] = field(factory=dict)
    _results: dict[int, tuple[Number, ...]] = field(factory=dict)
    _tables: dict[int, int] = field(factory=dict)

    def value(self, ref: Ref) -> Ref:
        """A value of the source's own list, as one of the builder."""
        if ref.known is not None:
            return self.builder.const(ref.known, ref.type)
        assert ref.region is self.source.root
        before = len(self._numbers)
        found = self._find(ref.index)
        self.consume_fuel(len(self._numbers) - before)
        return found if isinstance(found, Ref) else self.builder.const(found, ref.type)

    def _find(self, index: int) -> Number:
        todo = [index]
        while todo:  # not recursive: chains of operations are as long as the file makes them
            i = todo[-1]
            if i in self._numbers:
                todo.pop()
                continue
            op = self.source.root.ops[i]
            passed_on, needed = self._needed(op)
            lacking = [a for a in needed if a not in self._numbers]
            if lacking:
                todo.extend(lacking)
            else:
                found = self._numbers[needed[-1]] if passed_on else self._calculated(i, op)
                self._numbers[i] = self._kept(op, found)
        return self._numbers[index]

    def _needed(self, op: Op) -> tuple[bool, Sequence[int]]:
        """The arguments that have a say, and whether the last of them is the value.

        Where the first decides, which others count is not known before its value is.
        """
        record = OPERATIONS[op.code]
        if record.picks is None and record.decider is None:
            return False, op.args
        first = op.args[0]
        if first not in self._numbers:
            return False, (first,)
        decides = self._numbers[first]
        if isinstance(decides, Ref):
            return False, op.args
        if record.picks is not None:
            return True, (first, op.args[record.picks(decides, len(op.args))])
        return True, (first,) if bool(decides) == bool(record.decider) else op.args

    def _calculated(self, i: int, op: Op) -> Number:
        if op.code == "const":
            return op.value
        if op.code == "param":
            return _number(self.argument(op.index))
        if op.code == "proj":
            return self._results[op.args[0]][op.index]
        args = [self._numbers[a] for a in op.args]
        known = [a for a in args if not isinstance(a, Ref)]
        if op.body is not None:
            self._results[i] = self._loop(op, args, known)
            return self._results[i][-1]
        if len(known) == len(args):
            return fold(op.code, known, self.source.tables, op.index)
        return _number(self.visit(op, self._refs(op, args)))

    def _kept(self, op: Op, found: Number) -> Number:
        """The number of an operation, of the operation's type; a loop has none of its own."""
        if op.body is not None or not isinstance(found, Ref):
            return found
        return _number(self.builder.widen(found, op.type))

    def _loop(self, op: Op, args: Sequence[Number], known: Sequence[float]) -> tuple[Number, ...]:
        body = op.body
        assert body is not None
        if len(known) == len(args):
            return run_loop(body, op.bound, known, self.source.tables, self.consume_fuel)
        return tuple(_number(ref) for ref in self.loop(op, self._refs(op, args)))

    def _refs(self, op: Op, args: Sequence[Number]) -> list[Ref]:
        ops = self.source.root.ops
        return [
            a if isinstance(a, Ref) else self.builder.const(a, ops[i].type)
            for a, i in zip(args, op.args, strict=True)
        ]

    def visit(self, op: Op, args: list[Ref]) -> Ref:
        """Copy an ordinary operation; tables have other numbers here."""
        if OPERATIONS[op.code].reads_table:
            if op.index not in self._tables:
                self._tables[op.index] = self.builder.table(self.source.tables[op.index])
            op = evolve(op, index=self._tables[op.index])
        return self.builder.op(op.code, *args, index=op.index, type=op.type)


def _number(ref: Ref) -> Number:
    return ref if ref.known is None else ref.known
