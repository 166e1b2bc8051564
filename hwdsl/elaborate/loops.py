"""`iterate`: unrolled where the loop is short or all is constant, else lowered to a `loop`
operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import frozen

from hwdsl.codegen.ir.builder import LoopRegion, Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.elaborate.loop_lowering import (
    MAX_UNROLLED,
    LoopRound,
    build_loop,
    most_rounds,
    rebuild,
)
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.records import with_lets
from hwdsl.elaborate.select_lowering import (
    check_index,
    check_size,
    ends_of,
    items_of,
    known_index,
    merge_select,
    pick_value,
)
from hwdsl.elaborate.values import (
    ElaborationError,
    Env,
    ListValue,
    RangeValue,
    ResultValue,
    SelectIndex,
    Thunk,
    Value,
    numbers_of,
)
from hwdsl.semantics.symbols import BoolType, EnumType, Int, ListType, ResultType, Type
from hwdsl.syntax import ast

ROUNDS_BEFORE_ESTIMATE = 4096
"""Rounds after which the rest is estimated, at the cost of the cheapest round so far: what would
exceed the fuel is refused before it is done."""
MAX_ROUNDS = 1_000_000


@frozen(eq=False)
class Loop:
    """An `iterate` with its range and initial states evaluated.

    `variable` gives the loop variable's value for a counter that runs through `over`.
    """

    expr: ast.Iterate
    env: Env
    over: RangeValue
    initial: Mapping[str, Value]
    carries: Mapping[str, str]
    variable: Callable[[Ref], Value]
    until: ast.Until | None


def iterate(m: PartialEvaluator, expr: ast.Iterate, env: Env) -> Value:
    """The result of `iterate`: its states, `rounds`, `settled` and `trace`."""
    loop = _prepare(m, expr, env)
    result = _try_unroll(m, loop) or _lower_to_loop(m, loop)
    if loop.until is not None:
        settled = result.fields["settled"]
        assert isinstance(settled, Ref)
        m.assert_rule(
            "not-settled",
            settled,
            loop.until.span,
            f"`until {loop.until.condition.span.text}` never held",
            env,
        )
    return result


def _prepare(m: PartialEvaluator, expr: ast.Iterate, env: Env) -> Loop:
    over = m.evaluate(expr.range, env)
    states = [s for s in expr.members if isinstance(s, ast.State)]
    initial = {s.name.name: m.evaluate(s.initial, env) for s in states}
    declared = m.checked.types[expr]
    assert isinstance(declared, ResultType)
    types = dict(declared.fields)
    carries = {name: _carry(types[name]) for name in initial}
    until = next((u for u in expr.members if isinstance(u, ast.Until)), None)
    if isinstance(over, RangeValue):
        for end in (over.low, over.high):
            if end.known is not None:
                m.require_whole(end, "an end of this range", expr.range.span)
        return Loop(expr, env, over, initial, carries, lambda ref: ref, until)
    items = items_of(m, over, expr.range.span)
    if not items:
        raise ElaborationError("empty-list", "there is nothing to iterate over", expr.range.span)
    places = RangeValue(m.const(0, INT), m.const(len(items) - 1, INT))

    def element(place: Ref) -> Value:
        return pick_value(m, place, items, expr.range.span)

    return Loop(expr, env, places, initial, carries, element, until)


def _carry(type_: Type) -> str:
    while isinstance(type_, ListType):
        type_ = type_.element
    if isinstance(type_, Int | EnumType):
        return INT
    return BOOL if isinstance(type_, BoolType) else REAL


def _iteration(
    m: PartialEvaluator, loop: Loop, variable: Value, states: Mapping[str, Value]
) -> tuple[dict[str, Value], Ref | None]:
    """One round of the body: the states after it, and whether `until` held."""
    lets = [x for x in loop.expr.members if isinstance(x, ast.Let)]
    # One environment for all members: every `next` and `until` reads the states before the round.
    env = loop.env.extend({**states, loop.expr.variable.name: variable})
    env = with_lets(m, env, lets)
    after = dict(states)
    for member in loop.expr.members:
        if isinstance(member, ast.Next):
            name = member.name.name
            value = m.evaluate(member.value, env)
            after[name] = (
                value
                if member.index is None
                else _replaced(m, after[name], m.number(member.index, env), value, member, env)
            )
    stop = None if loop.until is None else m.number(loop.until.condition, env)
    return after, stop


def _replaced(
    m: PartialEvaluator, old: Value, index: Ref, value: Value, node: ast.Next, env: Env
) -> ListValue:
    """The list with one element replaced."""
    assert isinstance(old, ListValue)
    items = list(old.items)
    if index.known is not None:
        at = known_index(m, index, len(items), f"`{node.name.name}`", node.span)
        items[at] = value
        return ListValue(tuple(items), old.labels)
    check_index(m, index, len(items), node, env)
    # The graph has no arrays to store into: each element selects between the new value and its own.
    for i, item in enumerate(items):
        here = m.op(node, "eq", index, m.const(i, INT))
        items[i] = merge_select(m, SelectIndex(here, 2), (value, item), node.span)
    return ListValue(tuple(items), old.labels)


# --- unrolled ----------------------------------------------------------------------------------


def _try_unroll(m: PartialEvaluator, loop: Loop) -> ResultValue | None:
    if loop.over.low.known is None or loop.over.high.known is None:
        return None
    low, high = ends_of(m, loop.over, loop.expr.range.span)
    count = max(high - low + 1, 0)
    long = count > MAX_UNROLLED
    # A long loop is unrolled only while every state is constant: it then folds and adds nothing.
    if long and not _all_constant(loop.initial):
        return None
    found, assertions = m.collect(lambda: _unroll(m, loop, low, count, long))
    if found is None:
        return None
    m.assertions.extend(assertions)
    return found


def _unroll(
    m: PartialEvaluator, loop: Loop, low: int, count: int, long: bool
) -> ResultValue | None:
    states = dict(loop.initial)
    trace: list[dict[str, Value]] = []
    settled = loop.until is None
    rounds, least = 0, MAX_ROUNDS
    for i in range(count):
        if i > MAX_ROUNDS:
            raise ElaborationError(
                "too-large", f"this loop runs more than {MAX_ROUNDS:,} rounds", loop.expr.span
            )
        if i == ROUNDS_BEFORE_ESTIMATE and loop.until is None:
            # What will be too much in the end is refused before it is done.
            m.check_fuel(least * (count - i), loop.expr.span)
        before = m.steps
        variable = loop.variable(m.const(low + i, INT))
        states, stop = _iteration(m, loop, variable, states)
        rounds = i + 1
        least = min(least, m.steps - before)
        if (stop is not None and stop.known is None) or (long and not _all_constant(states)):
            return None
        trace.append(states)
        if stop is not None and stop.known:
            settled = True
            break
    # After a stop the states stay: the history has an entry for each round of the range.
    trace.extend([states] * (min(count, MAX_ROUNDS) - len(trace)))
    return ResultValue(
        "result of `iterate`",
        {
            **states,
            "rounds": m.const(rounds, INT),
            "settled": m.truth(settled),
            "trace": _history(loop, trace),
        },
    )


def _history(loop: Loop, trace: Sequence[Mapping[str, Value]]) -> ResultValue:
    return ResultValue(
        "trace", {name: ListValue(tuple(t[name] for t in trace)) for name in loop.initial}
    )


def _all_constant(states: Mapping[str, Value]) -> bool:
    return all(r.known is not None for value in states.values() for r in numbers_of(value))


# --- lowered to a loop -------------------------------------------------------------------------


def _lower_to_loop(m: PartialEvaluator, loop: Loop) -> ResultValue:
    bound = most_rounds(m, loop.over)
    if bound is None:
        low, high = loop.over.low, loop.over.high
        names = ", ".join(
            f"`{n}`" for n in m.depends_on([high if math.isfinite(m.interval(low)[0]) else low])
        )
        raise ElaborationError(
            "not-known",
            "how often this loop runs at most must be known when the file is compiled"
            + (f"; it depends on {names}" if names else ""),
            loop.expr.range.span,
            "give the param a range, or write `min(e, 1000)` for the last round",
        )
    if bound > MAX_ROUNDS:
        raise ElaborationError(
            "too-large",
            f"this loop may run {bound:,} rounds; {MAX_ROUNDS:,} are allowed",
            loop.expr.range.span,
        )
    initial = _carried(m, loop, loop.initial)
    types = [loop.carries[name] for name, value in loop.initial.items() for _ in numbers_of(value)]

    def body(region: LoopRegion) -> LoopRound:
        inputs = iter(region.states)
        states = {name: rebuild(value, inputs) for name, value in loop.initial.items()}
        after, stop = _iteration(m, loop, loop.variable(region.variable), states)
        following = _carried(m, loop, after)
        if len(following) != len(initial):
            raise ElaborationError(
                "unequal-lengths",
                "the lists of a state must keep their lengths",
                loop.expr.span,
            )
        return LoopRound(following, stop)

    results = build_loop(m, loop.over, types, initial, body, loop.expr)
    assert results is not None
    refs = iter(results)
    fields: dict[str, Value | Thunk] = {n: rebuild(v, refs) for n, v in loop.initial.items()}
    fields["rounds"], fields["settled"] = next(refs), next(refs)
    span = loop.expr.span
    # A thunk: nothing is unrolled unless the history is read.
    fields["trace"] = Thunk("trace", span, lambda: _unrolled_history(m, loop))
    return ResultValue("result of `iterate`", fields)


def _carried(m: PartialEvaluator, loop: Loop, states: Mapping[str, Value]) -> list[Ref]:
    # Every carry has the declared type of its state: an int that starts a real state is widened.
    return [
        m.widen(ref) if loop.carries[name] == REAL else ref
        for name in loop.initial
        for ref in numbers_of(states[name])
    ]


def _unrolled_history(m: PartialEvaluator, loop: Loop) -> ResultValue:
    """The states after each round. A `loop` operation returns the last states only, so its rounds
    are unrolled for this, when something reads it; the range must be constant."""
    what, span = "the range of a loop whose trace is read", loop.expr.span
    low, high = (m.require_whole(end, what, span) for end in (loop.over.low, loop.over.high))
    check_size(high - low + 1, loop.expr.span)
    states: dict[str, Value] = dict(loop.initial)
    stopped = m.truth(False)
    trace: list[dict[str, Value]] = []
    for i in range(low, high + 1):
        before = states
        runs = m.op(loop.expr, "not", stopped)
        after, stop = m.under_path_condition(
            runs, partial(_iteration, m, loop, loop.variable(m.const(i, INT)), before)
        )
        selector = SelectIndex(stopped, 2)
        states = {
            n: merge_select(m, selector, (before[n], v), loop.expr.span) for n, v in after.items()
        }
        trace.append(states)
        if stop is not None:
            stopped = m.op(loop.expr, "or", stopped, stop)
    return _history(loop, trace)
