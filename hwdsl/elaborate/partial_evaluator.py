"""The partial evaluator: it forces thunks, collects assertions and adds operations to the graph.

Partial evaluation: what the file fixes is computed, and what depends on a param becomes an
operation of the graph (the residual program). The expressions themselves are evaluated by the
handlers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar

from attrs import define, evolve, field

from hwdsl.base.diagnostics import Severity
from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import GraphBuilder, LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.codegen.passes.case_analysis import is_always_true
from hwdsl.codegen.passes.interval_analysis import Range, Ranges
from hwdsl.elaborate.elaboration_info import ParamInfo
from hwdsl.elaborate.literals import VariedLiterals
from hwdsl.elaborate.trace import Trace
from hwdsl.elaborate.values import (
    AskedTogether,
    Assertion,
    Block,
    Component,
    ElaborationError,
    Env,
    Layer,
    MessageText,
    NotConstant,
    Record,
    SelectIndex,
    SelectRecord,
    Thunk,
    UnknownValue,
    Value,
    as_ref,
    distinct,
)
from hwdsl.semantics.symbols import Checked, EvaluatorInfo, KindInfo, ValueInfo
from hwdsl.syntax import ast

T = TypeVar("T")
# Bounds of one elaboration, so that a stranger's file ends (decision 14).
MAX_DEPTH = 4_000  # about ten frames of Python each, of the 100,000 that `large_stack` allows
MAX_OPS = 1_000_000
MAX_ITEMS = 100_000
MOST_INT = 2.0**53  # from here on float64 has no longer every int
MAX_STEPS = 1_500_000
MAX_RECORDS = 20_000

Handler = Callable[["PartialEvaluator", Any, Env], Value]


@define(eq=False)
class PartialEvaluator:
    """The state of one elaboration: the graph's builder, the thunks being forced (`running`), the
    assertions of the thunk under evaluation, the fuel used, and tables of what is evaluated once.

    `handlers` evaluate the expression nodes, by node type; `requires` says whether the rules of
    a component hold, which its member `feasible` is. Both belong to modules that stand on this one.
    """

    checked: Checked
    handlers: Mapping[type, Handler]
    requires: Callable[[PartialEvaluator, Component], Ref]
    overrides: Mapping[str, float] = field(factory=dict)
    free: frozenset[str] = frozenset()
    builder: GraphBuilder = field(factory=GraphBuilder)
    assertions: list[Assertion] = field(factory=list)
    running: list[Thunk] = field(factory=list)
    loops: list[LoopRegion] = field(factory=list)
    depth: int = 0
    steps: int = 0
    records: int = 0
    serial: int = 0
    literals: dict[ast.Node, Ref] = field(factory=dict)
    symbols: dict[object, Value | Thunk] = field(factory=dict)
    calls: dict[object, Thunk] = field(factory=dict)
    callees: dict[EvaluatorInfo, Instance] = field(factory=dict)  # may be shared
    blocks: dict[ast.Node, Block] = field(factory=dict)
    kind_layers: dict[KindInfo, tuple[Layer, ...]] = field(factory=dict)
    select_records: dict[object, SelectRecord] = field(factory=dict)
    ranges: Ranges = field(factory=Ranges)
    asked: dict[int, Assertion] = field(factory=dict)  # by the serials of what was read
    proved: dict[object, bool] = field(factory=dict)  # what `read_nowhere` has found
    free_params: dict[str, ValueInfo] = field(factory=dict)  # coefficients that are params
    assumed: frozenset[str] = frozenset()  # missing values taken as given, by their paths
    placeholders: dict[str, Ref] = field(factory=dict)
    missing_paths: set[str] = field(factory=set)  # paths of missing values that were reported
    trace: Trace | None = None  # notes where values come from, as derivations need it
    varied: VariedLiterals | None = None  # values of literals other than as written
    reads: list[Thunk] | None = None  # what is read on behalf of what is being evaluated, if noted
    rule_reads: list[Thunk] = field(factory=list)  # what rules read (see `reached`)
    waived_rules: list[tuple[ast.Rule, Env]] = field(factory=list)
    unknown_read: set[str] = field(factory=set)  # paths of values that nobody knows

    # --- evaluation ---------------------------------------------------------------------------

    def evaluate(self, expr: ast.Expr, env: Env) -> Value:
        """The value of an expression."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.check_fuel(0, expr.span)
        if self.depth == MAX_DEPTH:
            raise ElaborationError(
                "too-deep",
                "this expression depends on a chain of more than "
                f"{MAX_DEPTH:,} others, one inside the other",
                expr.span,
                "shorten the chain, for instance with `iterate`",
            )
        handle = self.handlers[type(expr)]
        self.depth += 1
        try:
            if self.trace is None:
                return handle(self, expr, env)
            return self.trace.evaluating(expr, env, partial(handle, self, expr, env))
        finally:
            self.depth -= 1

    def consume_fuel(self, steps: int, span: Span) -> None:
        """Count evaluated expressions; an error after `MAX_STEPS`."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            self.check_fuel(0, span)

    def check_fuel(self, steps: int, span: Span) -> None:
        """Refuse more steps than the fuel that is left, before they are done."""
        if self.steps + steps > MAX_STEPS:
            raise ElaborationError(
                "too-large",
                f"evaluating this takes more than {MAX_STEPS:,} steps",
                span,
                "use shorter lists or fewer rounds",
            )

    def number(self, expr: ast.Expr, env: Env) -> Ref:
        """The value of an expression that is a number or a bool."""
        return as_ref(self.evaluate(expr, env))

    def read(self, value: Value | Thunk) -> Value:
        """The value of a thunk, which is forced at its first reading; other values as they are."""
        if not isinstance(value, Thunk):
            return value
        if value.running:
            raise self._cycle(value)
        if self.reads is not None:
            self.reads.append(value)
        if value.value is None and value.failure is None:
            self._force(value)
        if value.failure is not None:
            raise value.failure
        self.assertions.extend(value.assertions)
        if self.trace is not None:
            self.trace.read(value)
        assert value.value is not None
        return value.value

    def _force(self, thunk: Thunk) -> None:
        # Assertions made on the way belong to the thunk, not to its first reader: a reader that
        # finds the value there must make them too.
        saved, self.assertions = self.assertions, []
        reads = self.reads
        if reads is not None:
            self.reads = thunk.reads = []
        thunk.running = True
        self.running.append(thunk)
        try:
            value = thunk.compute() if self.trace is None else self.trace.running(thunk)
            thunk.assertions = self._bundled(distinct(self.assertions)) if self.assertions else ()
            thunk.value = value
        except ElaborationError as failure:
            thunk.failure = failure
        finally:
            # Ended by another exception (an interrupt) it has neither: it may be read again.
            thunk.running = False
            self.running.pop()
            self.assertions, self.reads = saved, reads

    @contextmanager
    def noting(self, reads: list[Thunk]) -> Iterator[None]:
        """Within it, what is read is noted there and not for what is being evaluated."""
        before = self.reads
        self.reads = None if before is None else reads
        try:
            yield
        finally:
            self.reads = before

    def _bundled(self, assertions: Sequence[Assertion]) -> tuple[Assertion, ...]:
        """The assertions, those of components that were read as one."""
        asking = tuple([e for e in assertions if e.asks is not None])
        if len(asking) < 2:
            return tuple(assertions)
        together = AskedTogether(asking, self.next_serial())
        rest = [e for e in assertions if e.asks is None]
        return (*rest, self.asking(together, asking[0].span, self.truth(False)))

    def _cycle(self, thunk: Thunk) -> ElaborationError:
        chain = self.running[self.running.index(thunk) :]
        names = [c.label for c in chain] + [thunk.label]
        return ElaborationError(
            "field-cycle",
            f"`{thunk.label}` needs itself: " + " -> ".join(names),
            thunk.span,
            "give one of them a value of its own",
            [(c.span, f"`{c.label}` is needed here") for c in chain[1:4]],
        )

    def make_record(
        self, kind: KindInfo, layers: tuple[Layer, ...], name: str, path: str, span: Span
    ) -> Record:
        """A new component."""
        self.records += 1
        if self.records > MAX_RECORDS:
            raise ElaborationError(
                "too-large",
                f"evaluating this takes more than {MAX_RECORDS:,} components",
                span,
                "give a part a count (`part x[8]`) where there are many that are the same",
            )
        return Record(kind, layers, name, path, span, serial=self.next_serial())

    def next_serial(self) -> int:
        """A number above those of all components made so far."""
        self.serial += 1
        return self.serial

    # --- operations ---------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The name of what is being evaluated."""
        return self.running[-1].label if self.running else ""

    def op(
        self,
        node: ast.Node | Span,
        code: str,
        *args: Ref,
        index: int = 0,
        type: str | None = None,
    ) -> Ref:
        """Add an operation that `node` asks for; an int too large to be exact is its error."""
        ref = self.builder.op(code, *args, index=index, type=type)
        # Only a constant is an error of the text: what depends on a param may be too large at some
        # points.
        if ref.type == INT and ref.known is not None and MOST_INT <= abs(ref.known) < math.inf:
            raise ElaborationError(
                "int-too-large",
                "this int is not below 2^53 (about 9e15), where ints are exact",
                node if isinstance(node, Span) else node.span,
                "calculate with a real: write `1.0 *` before it",
            )
        if ref.index > MAX_OPS:
            raise ElaborationError(
                "too-large",
                f"this evaluator needs more than {MAX_OPS:,} operations",
                node if isinstance(node, Span) else node.span,
                "use shorter lists, or `iterate`, whose rounds are not written out",
            )
        return ref

    def const(self, value: float, type: str = REAL) -> Ref:
        """A known number."""
        return self.builder.const(value, type)

    def truth(self, value: bool) -> Ref:
        """A known bool."""
        return self.builder.const(1.0 if value else 0.0, BOOL)

    def placeholder(self, path: str, type: str) -> Ref:
        """A param in place of a missing number, so that elaboration goes on and finds all that is
        missing."""
        if path not in self.placeholders:
            self.placeholders[path] = self.builder.param(path, type)
        return self.placeholders[path]

    def widen(self, ref: Ref) -> Ref:
        """The same number as a real."""
        return self.builder.widen(ref, REAL)

    def all_of(self, refs: Sequence[Ref], node: ast.Node | Span) -> Ref:
        """The conjunction."""
        result = self.truth(True)
        for ref in refs:
            result = self.op(node, "and", result, ref)
        return result

    # --- rules --------------------------------------------------------------------------------

    def collect(self, compute: Callable[[], T]) -> tuple[T, list[Assertion]]:
        """Compute; return the value and the assertions made on the way, which are not made here."""
        saved, self.assertions = self.assertions, []
        try:
            return compute(), distinct(self.assertions)
        finally:
            self.assertions = saved

    def guarded_arms(
        self,
        arms: Sequence[tuple[SelectIndex, int, Callable[[], T]]],
        explain: Callable[[UnknownValue], UnknownValue] = lambda failure: failure,
    ) -> list[T]:
        """The values of the alternatives of a selection, each evaluated under its path condition.

        An alternative that reads a value that nobody knows gets the value of another one, with the
        assertion that it is not read. NaN would be the other way, but a comparison or `max` may
        lose it silently (decision 13). If all alternatives are unknown, the whole is.
        """
        values: dict[int, T] = {}
        failures: dict[int, UnknownValue] = {}
        for i, arm in enumerate(arms):
            try:
                values[i] = self.under_case(*arm)
            except UnknownValue as failure:
                failures[i] = failure
        if not values:
            raise explain(failures[0]) from None
        for i, each in failures.items():
            selector, index, _ = arms[i]
            self.assert_not_read(explain(each), selector, index)
        some = next(iter(values.values()))
        return [values.get(i, some) for i in range(len(arms))]

    def assert_not_read(self, failure: UnknownValue, choice: SelectIndex, index: int) -> None:
        """Assert that an alternative, whose value nobody knows, is not read where it is
        selected."""
        span = failure.diagnostic.labels[0].span
        holds = self.op(span, "not", self.case_condition(choice, index))
        text = MessageText(ast.Template(span, ()), Env(self.checked.main))
        assertion = Assertion(failure.diagnostic.name, self.path, holds, Severity.ERROR, span, text)
        self.assertions.append(evolve(assertion, absent=failure, choice=choice))

    def need_values(self, assertions: Sequence[Assertion]) -> list[Assertion]:
        """The rules; a failure if a value that nobody knows is read on the way to them."""
        rest, _, failure = self.where_known(assertions)
        if failure is not None:
            raise failure
        return rest

    def where_known(
        self, assertions: Sequence[Assertion]
    ) -> tuple[list[Assertion], Ref, UnknownValue | None]:
        """The assertions made on the way to a value, where that reads nothing unknown, and what is
        unknown elsewhere; a failure if that is everywhere."""
        # Those proved to be read nowhere are settled; the others limit where the value is known.
        rest = [e for e in assertions if e.absent is None]
        nowhere = {id(e) for e in self.read_nowhere(assertions)}
        absent = [e for e in assertions if e.absent is not None and id(e) not in nowhere]
        if not absent:
            return rest, self.truth(True), None
        where, failure = self.all_of([e.holds for e in absent], absent[0].span), absent[0].absent
        if where.known == 0.0 and failure is not None:
            raise failure
        return [self.guarded(where, e) for e in rest], where, failure

    def read_nowhere(self, assertions: Sequence[Assertion]) -> list[Assertion]:
        """The assertions about values that nobody knows which are proved to be read nowhere."""
        choices = {
            (id(e.choice.ref.region), e.choice.ref.index): (e.choice.ref, e.choice.count)
            for e in assertions
            if e.choice is not None
        }
        absent = [e for e in assertions if e.absent is not None]
        return [e for e in absent if self._is_proved(e.holds, choices)]

    def _is_proved(self, holds: Ref, choices: Mapping[tuple[int, int], tuple[Ref, int]]) -> bool:
        """Whether a condition holds in all cases of some choices; proved once, for each reader."""
        key = (id(holds.region), holds.index, frozenset(choices))
        found = self.proved.get(key)
        if found is None:
            found = is_always_true(self.builder, holds, list(choices.values()))
            self.proved[key] = found
        return found

    def is_known(self, compute: Callable[[], object]) -> Ref:
        """Where something can be computed without reading a field that is `unknown`."""
        try:
            _, assertions = self.collect(compute)
            return self.where_known(assertions)[1]
        except UnknownValue:
            return self.truth(False)

    def under_path_condition(self, condition: Ref, compute: Callable[[], T]) -> T:
        """Compute; the assertions made on the way need to hold only where `condition` does."""
        return self.under_case(SelectIndex(condition, 2), 0, compute)

    def under_case(self, selector: SelectIndex, index: int, compute: Callable[[], T]) -> T:
        """Compute; the assertions made on the way need to hold only where the selector takes that
        alternative.

        The value itself is computed for every point: all operations are total, so the value of an
        arm that is not taken does no harm (decision 3).
        """
        if self.trace is not None:
            compute = self.trace.where((selector, index), compute)
        value, assertions = self.collect(compute)
        if assertions:
            condition = self.case_condition(selector, index)
            masked = [self.guarded(condition, e) for e in assertions]
            # Proved here and not at the end: in a loop, an assertion that is left becomes a carry.
            nowhere = {id(e) for e in self.read_nowhere(masked)}
            self.assertions.extend(e for e in masked if id(e) not in nowhere)
        return value

    def guarded(self, condition: Ref, assertion: Assertion) -> Assertion:
        """The rule, needed only where the condition holds."""
        off, undecided = self.op(assertion.span, "not", condition), assertion.undecided
        if undecided is not None:
            undecided = self.op(assertion.span, "and", condition, undecided)
        holds = self.op(assertion.span, "or", off, assertion.holds)
        return evolve(assertion, holds=holds, undecided=undecided)

    def assert_rule(
        self, rule: str, holds: Ref, span: Span, text: str, env: Env, *, warns: bool = False
    ) -> None:
        """State an implicit rule: of a table, an index, a loop, `whole`."""
        # True constants are dropped. False ones are kept: a path condition may still exclude them.
        if holds.known:
            return
        message = MessageText(ast.Template(span, (text,)), env)
        severity = Severity.WARNING if warns else Severity.ERROR
        self.assertions.append(Assertion(rule, self.path, holds, severity, span, message))

    def ask(self, of: Component, span: Span) -> None:
        """State that a component is read, at `span`: its rules have to be asked, if no declaration
        does it."""
        if of.made:
            found = self.asked.get(of.serial)
            if found is None:
                found = self.asked[of.serial] = self.asking(of, span, self.truth(False))
            self.assertions.append(found)

    def asking(self, of: Component | AskedTogether, span: Span, unread: Ref) -> Assertion:
        """That the rules of what was read have to be asked, but where it is `unread`."""
        text = MessageText(ast.Template(span, ()), Env(self.checked.main))
        return Assertion("", "", unread, Severity.ERROR, span, text, asks=of)

    # --- choices ------------------------------------------------------------------------------

    def case_condition(self, selector: SelectIndex, index: int) -> Ref:
        """Whether the selector takes that alternative."""
        ref = selector.ref
        if ref.type == BOOL:
            return ref if index == 0 else self.builder.op("not", ref)
        return self.builder.op("eq", ref, self.const(index, INT))

    def select_number(self, selector: SelectIndex, refs: Sequence[Ref]) -> Ref:
        """The number of the alternative that is selected; of constants, a table's entry."""
        # Equal operations are one, so this also finds formulas that come to the same.
        if all(r == refs[0] for r in refs):
            return refs[0]
        b, choice = self.builder, selector.ref
        if choice.type == BOOL:
            return b.op("select", choice, refs[0], refs[1])
        values = [r.known for r in refs]
        known = [v for v in values if v is not None]
        if len(known) == len(values):
            kinds = {r.type for r in refs}
            return b.op(
                "table", choice, index=b.table(known), type=kinds.pop() if len(kinds) == 1 else REAL
            )
        return b.op("gather", choice, *refs)

    # --- loops --------------------------------------------------------------------------------

    @contextmanager
    def loop(self, carries: Sequence[str], low: Ref, high: Ref) -> Iterator[LoopRegion]:
        """A loop body to build in; loops opened meanwhile stand inside it."""
        # An inner loop whose range does not vary would else stand outside all loops, and its body
        # could not read the variable of the loop around it.
        within = [self.loops[-1].variable] if self.loops else []
        region = self.builder.open_loop(carries, within)
        self.ranges.note(region.variable, Range(self.interval(low)[0], self.interval(high)[1]))
        self.loops.append(region)
        try:
            with nullcontext() if self.trace is None else self.trace.rounds(region.region):
                yield region
        finally:
            self.loops.pop()

    # --- what is known of unknown numbers -------------------------------------------------------

    def interval(self, ref: Ref) -> tuple[float, float]:
        """Bounds of an unknown number that is not NaN, from the declared ranges of params."""
        found = self.ranges.of(ref, self.builder)
        return found.low, found.high

    def is_within(self, ref: Ref, low: float, high: float) -> bool:
        """Whether a number is known to be one from `low` to `high`, and so not NaN."""
        found = self.ranges.of(ref, self.builder)
        return not found.nan and low <= found.low and found.high <= high

    def depends_on(self, refs: Sequence[Ref]) -> list[str]:
        """The names of the params that numbers depend on."""
        found: dict[str, None] = {}
        seen: set[tuple[int, int]] = set()
        todo = list(refs)
        while todo:
            ref = todo.pop()
            key = (id(ref.region), ref.index)
            if key in seen:
                continue
            seen.add(key)
            if ref.op.code == "param":
                found[self.builder.params[ref.op.index].name] = None
            elif ref.op.code == "input":
                capture = ref.op.index - 1 - ref.region.carries
                # The variable and the states come from inside the loop, and name no param.
                if capture >= 0:
                    todo.append(ref.region.captured[capture])
            todo.extend(Ref(ref.region, a) for a in ref.op.args)
        return sorted(found)

    def require_constant(self, ref: Ref, what: str, span: Span) -> float:
        """The value, or a failure that names the params it depends on."""
        if ref.known is not None:
            return ref.known
        names = self.depends_on([ref])
        why = (
            "depends on " + ", ".join(f"`{n}`" for n in names)
            if names
            else "changes from round to round of a loop"
        )
        raise NotConstant(
            "not-known",
            f"{what} must be known when the file is compiled, but it {why}",
            span,
            "fix that param to a number, or use a reducer such as `sum`, whose filter may be "
            "unknown",
        )

    def require_whole(self, ref: Ref, what: str, span: Span) -> int:
        """The value of an int; a failure if that is unknown, NaN or infinite."""
        value = self.require_constant(ref, what, span)
        if not math.isfinite(value):
            raise ElaborationError("not-whole", f"{what} must be a whole number, not {value}", span)
        return int(value)


@define(eq=False)
class Instance:
    """An evaluator whose params are given, at their defaults or free: its names as thunks of `m`.

    `frees` are the params that were given no value, once they are read. One with its params free,
    in a partial evaluator of its own, is what a call inlines (see `calls`), so that it cannot
    differ from `run`. `rules` are its rules and what failed on the way to them, once
    `evaluator.rules_of` has collected them.
    """

    m: PartialEvaluator
    info: EvaluatorInfo
    env: Env
    names: dict[str, Value | Thunk]
    frees: dict[str, ParamInfo] = field(factory=dict)
    rules: tuple[list[Assertion], list[ElaborationError]] | None = None

    def output(self, name: str) -> tuple[Value, list[Assertion]]:
        """An output, with the rules implied by what it is calculated from."""
        return self.m.collect(partial(self.m.read, self.names[name]))
