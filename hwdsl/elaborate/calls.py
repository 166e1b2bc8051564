"""Calls of evaluators: the callee's graph is inlined in the caller's, with arguments for params.

The callee is elaborated once with its params free, as `run` elaborates it, and the operations that
the outputs read by a call need are added to the caller's graph, or folded where the arguments are
constant. So a call has the decisions of the callee's elaboration (what is unrolled, what is a loop,
what is guarded), and gives the outputs and the feasibility that `run` gives at the same point, to
the bit (decision 12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from attrs import define, evolve, field

from hwdsl.base.diagnostics import Severity
from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.passes.inlining import Inliner
from hwdsl.elaborate import messages, params
from hwdsl.elaborate.asked import parted
from hwdsl.elaborate.evaluator import open_evaluator, rules_of
from hwdsl.elaborate.module_values import symbol_value
from hwdsl.elaborate.partial_evaluator import MAX_OPS, Instance, PartialEvaluator
from hwdsl.elaborate.values import (
    ASKED,
    FEASIBLE,
    Assertion,
    ElaborationError,
    EnumValue,
    Env,
    ListValue,
    MessageText,
    RangeValue,
    ResultValue,
    SelectIndex,
    Thunk,
    Value,
    as_ref,
    numbers_of,
)
from hwdsl.semantics.symbols import EvaluatorInfo
from hwdsl.syntax import ast

STEP = 10
"""Operations inlined for the fuel of one evaluated expression (measured, about)."""


def callee_of(m: PartialEvaluator, info: EvaluatorInfo) -> Instance:
    """The evaluator, with its params free; made once for all that share `callees`."""
    found = m.callees.get(info)
    if found is None:
        inner = PartialEvaluator(
            m.checked, m.handlers, m.requires, m.overrides, m.free, callees=m.callees
        )
        inner.assumed, inner.trace, inner.varied = m.assumed, m.trace, m.varied
        inner.reads = None if m.reads is None else []
        found = open_evaluator(inner, info, {}, partial(params.as_input, inner))
        m.callees[info] = found
    return found


def called(
    m: PartialEvaluator,
    info: EvaluatorInfo,
    given: Mapping[str, Value],
    spans: Mapping[str, Span],
    span: Span,
) -> ResultValue:
    """The result of an evaluator for params that fit their ranges; `spans` is where they stand."""
    here = open_evaluator(m, info, given)  # declares the params in the caller's values
    call = EvaluatorCall(m, callee_of(m, info), given, span)
    for node in info.decl.members:
        if isinstance(node, ast.Param | ast.Choice) and node.name.name in given:
            name = node.name.name
            declared = params.declare(m, node, info.free[name], here.env)
            params.check_given(m, declared, given[name], here.env, spans[name])
            call.declared[name] = declared
    return call.result()


@define(eq=False)
class EvaluatorCall:
    """One call of an evaluator, at the arguments `given`; the others are at their defaults."""

    m: PartialEvaluator
    callee: Instance
    given: Mapping[str, Value]
    span: Span
    declared: dict[str, params.InputSpec] = field(factory=dict)
    replay: Inliner = field(init=False)
    spent: int = 0
    _arguments: dict[int, Ref] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        source = self.callee.m.builder
        self.replay = Inliner(source, self.argument, self.consume_fuel, builder=self.m.builder)

    @property
    def info(self) -> EvaluatorInfo:
        """The evaluator that is called."""
        return self.callee.info

    def result(self) -> ResultValue:
        """The outputs, and `feasible`."""
        fields: dict[str, Value | Thunk] = {}
        result = ResultValue(f"result of `{self.info.name}`", fields)
        reasons: list[str] = []
        verdict = Thunk(FEASIBLE, self.info.decl.name.span, partial(self.feasible, reasons))

        def read(name: str) -> Value:
            value = self.m.read(verdict) if name == FEASIBLE else self.output(name)
            self.m.assertions.append(self._watched(name, result, verdict, reasons))
            return value

        # Thunks: what the caller does not read is not inlined.
        for name in (*self.info.outputs, FEASIBLE):
            fields[name] = Thunk(name, self.info.decl.name.span, partial(read, name))
        return result

    def _watched(
        self, name: str, result: ResultValue, verdict: Thunk, reasons: Sequence[str]
    ) -> Assertion:
        """That something of the result was read, which therefore has to be feasible."""
        asked = name == FEASIBLE
        with self._inside():  # the verdict is no input of the value in a derivation
            holds = self.m.truth(True) if asked else as_ref(self.m.read(verdict))
        said = ": ".join([f"`{self.span.text}` is not feasible", *reasons])
        text = MessageText(ast.Template(self.span, (said,)), Env(self.info.scope))
        rule = ASKED if asked else f"{self.info.name}.{FEASIBLE}"
        return Assertion(rule, "", holds, Severity.ERROR, self.span, text, result=result)

    def output(self, name: str) -> Value:
        """An output at the arguments; the rules that it implies are the caller's too."""
        with self._inside():
            value, assertions = self.callee.output(name)
        # The rules of components and of calls are the callee's, and in its `feasible`.
        assertions, _ = parted([e for e in assertions if e.result is None])
        nowhere = {id(e) for e in self.callee.m.read_nowhere(assertions)}
        # What is proved in the callee, for all its arguments, is not carried over; the rest is
        # looked at again with the arguments of this call.
        for assertion in (e for e in assertions if id(e) not in nowhere):
            choice = assertion.choice
            holds = self.number(assertion.holds)
            if holds.known != 1.0:
                if choice is not None:
                    choice = SelectIndex(self.number(choice.ref), choice.count)
                self.m.assertions.append(evolve(assertion, holds=holds, choice=choice))
        found = self.value(value)
        thunk = self.callee.names[name]
        if self.m.reads is not None and isinstance(thunk, Thunk):
            self.m.reads.append(thunk)
        if self.m.trace is not None and isinstance(thunk, Thunk):
            self.m.trace.entered(thunk, self.callee.m.builder, self.argument)
        return found

    def feasible(self, reasons: list[str]) -> Ref:
        """Whether all rules hold and all outputs are numbers; the first known reason why not."""
        m, info = self.m, self.info
        with self._inside():
            assertions, failures = rules_of(self.callee)
        for failure in failures:
            raise failure
        if m.reads is not None:
            m.reads += self.callee.m.rule_reads
        errors = [e for e in assertions if e.severity is Severity.ERROR]
        hard = [self.number(e.holds) for e in errors]
        known = [e.text for e, holds in zip(errors, hard, strict=True) if holds.known == 0.0]
        with self._inside():
            inner = self.callee.m
            reasons.extend(messages.render(inner, text, self._known) for text in known[:1])
            outputs = [self.callee.output(name)[0] for name in info.outputs]
        for value in outputs:
            # x == x is false for NaN alone: the rule `undefined` that `run` has.
            hard.extend(m.op(info.decl, "eq", ref, ref) for ref in numbers_of(self.value(value)))
        return m.all_of(hard, info.decl)

    # --- the callee's values as the caller's ------------------------------------------------------

    def value(self, value: Value) -> Value:
        """An output of the callee's graph as a value of the caller's."""
        if isinstance(value, Ref):
            return self.number(value)
        if isinstance(value, EnumValue):
            return EnumValue(value.enum, self.number(value.ref))
        if isinstance(value, RangeValue):
            return RangeValue(self.number(value.low), self.number(value.high))
        if isinstance(value, ListValue):
            return ListValue(tuple(self.value(v) for v in value.items), value.labels)
        raise ElaborationError(
            "not-a-number", "an output of an evaluator is a number, bool or enum case", self.span
        )

    def number(self, ref: Ref) -> Ref:
        """A number of the callee's graph as one of the caller's."""
        found = self.replay.value(ref)
        if len(self.m.builder.root.ops) > MAX_OPS:
            raise ElaborationError(
                "too-large",
                f"with this call the evaluator needs more than {MAX_OPS:,} operations",
                self.span,
                "call it less often, or write `iterate`, whose rounds are not written out",
            )
        return found

    def _known(self, refs: Sequence[Ref]) -> Sequence[float | None]:
        return [self.number(ref).known for ref in refs]

    def consume_fuel(self, operations: int) -> None:
        """Count the operations of the replay as steps of the caller's."""
        self.spent += operations
        # The remainder is kept, so that many small parts of a graph cost what one large part does.
        self.m.consume_fuel(self.spent // STEP, self.span)
        self.spent %= STEP

    def argument(self, index: int) -> Ref:
        """The caller's value of a param of the callee's graph."""
        if index not in self._arguments:
            self._arguments[index] = self._argument(index)
        return self._arguments[index]

    def _argument(self, index: int) -> Ref:
        inner = self.callee.m
        name = inner.builder.params[index].name
        if name in self.given:
            value = self.given[name]
            return params.argument(self.m, self.declared[name], value, self.span)
        free = self.callee.frees.get(name)
        if free is None:
            return self._of_the_file(name)
        found = params.default(self.m, free)
        if found is None:
            message = f"`{self.info.name}` also needs `{name}`"
            raise ElaborationError("missing-argument", message, free.span)
        return found

    def _of_the_file(self, name: str) -> Ref:
        """A coefficient that is a param, or the placeholder of a missing value."""
        inner = self.callee.m
        if name in inner.placeholders:
            return self.m.placeholder(name, inner.placeholders[name].type)
        return as_ref(symbol_value(self.m, inner.free_params[name]))

    def _inside(self) -> AbstractContextManager[None]:
        """Around what is evaluated for the callee."""
        return nullcontext() if self.m.trace is None else self.m.trace.apart()
