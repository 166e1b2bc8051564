"""`if`, `match`, `is` and list comprehensions; `iterate` is in `loops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hwdsl.codegen.ir.builder import Ref, Region
from hwdsl.codegen.ir.graph import INT
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.elaborate.generators import unroll
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import merge_select
from hwdsl.elaborate.values import (
    EnumValue,
    Env,
    ListValue,
    Record,
    SelectIndex,
    SelectRecord,
    TextValue,
    Value,
)
from hwdsl.semantics.symbols import CaseArms
from hwdsl.syntax import ast


def cond(m: PartialEvaluator, expr: ast.Cond, env: Env) -> Value:
    """`if condition then yes else no`."""
    condition = m.number(expr.condition, env)
    if condition.known is not None:
        return m.evaluate(expr.yes if condition.known else expr.no, env)
    return _select(
        m, condition, expr, lambda: m.evaluate(expr.yes, env), lambda: m.evaluate(expr.no, env)
    )


def _select(
    m: PartialEvaluator,
    condition: Ref,
    expr: ast.Expr,
    yes: Callable[[], Value],
    no: Callable[[], Value],
) -> Value:
    selector = SelectIndex(condition, 2)
    arms = m.guarded_arms([(selector, 0, yes), (selector, 1, no)])
    return merge_select(m, selector, arms, expr.span)


def match(m: PartialEvaluator, expr: ast.Match, env: Env) -> Value:
    """`match subject { arms }`."""
    subject = m.evaluate(expr.subject, env)
    if isinstance(subject, EnumValue):
        return _match_cases(m, expr, subject, env)
    assert isinstance(subject, Ref)
    return _match_ints(m, expr, subject, env, 0)


def _match_cases(m: PartialEvaluator, expr: ast.Match, subject: EnumValue, env: Env) -> Value:
    noted = m.checked.resolutions[expr]
    assert isinstance(noted, CaseArms)
    arms, count = [expr.arms[i] for i in noted.arms], len(noted.arms)
    if subject.ref.known is not None:
        return m.evaluate(arms[int(subject.ref.known)].value, env)
    selector = SelectIndex(subject.ref, count)
    # Arms of cases that the subject cannot be are not evaluated: an error in one is no error here.
    possible = _possible(m, subject.ref.region, subject.ref.index)
    reached = [i for i in range(count) if possible is None or i in possible]
    if len({arms[i] for i in reached}) == 1:
        return m.evaluate(arms[reached[0]].value, env)
    among: list[tuple[SelectIndex, int, Callable[[], Value]]] = []
    taken: list[ast.Arm] = []
    leading: dict[ast.Arm, list[int]] = {}
    for i in reached:
        leading.setdefault(arms[i], []).append(i)
    for arm in expr.arms:
        cases = leading.get(arm)
        if cases:
            here = SelectIndex(_in_cases(m, arm, selector, cases), 2)
            taken.append(arm)
            among.append((here, 0, partial(m.evaluate, arm.value, env)))
    values = dict(zip(taken, m.guarded_arms(among), strict=True))
    some = next(iter(values.values()))  # stands where no case leads
    # A selection by the case, not a chain of conditions: one `gather`, or a table of constants.
    return merge_select(m, selector, [values.get(arm, some) for arm in arms], expr.span)


def _possible(m: PartialEvaluator, region: Region, index: int) -> frozenset[float] | None:
    """The cases that a choice, or a choice among constants, can be; None if that is not known."""
    op = region.ops[index]
    if op.code == "const":
        return frozenset([op.value])
    if op.code == "param":
        param = m.builder.params[op.index]
        return frozenset(float(i) for i in range(int(param.low), int(param.high) + 1))
    if op.code == "table":
        return frozenset(m.builder.tables[op.index])
    if OPERATIONS[op.code].picks is None:
        return None
    among = [_possible(m, region, arg) for arg in op.args[1:]]
    known = [each for each in among if each is not None]
    return frozenset().union(*known) if len(known) == len(among) else None


def _match_ints(m: PartialEvaluator, expr: ast.Match, subject: Ref, env: Env, start: int) -> Value:
    arm = expr.arms[start]
    if start == len(expr.arms) - 1 or any(p.number is None for p in arm.patterns):
        return m.evaluate(arm.value, env)
    here = _in_numbers(m, arm, subject)
    if here.known is not None:
        if here.known:
            return m.evaluate(arm.value, env)
        return _match_ints(m, expr, subject, env, start + 1)
    return _select(
        m,
        here,
        expr,
        lambda: m.evaluate(arm.value, env),
        lambda: _match_ints(m, expr, subject, env, start + 1),
    )


def is_case(m: PartialEvaluator, expr: ast.Is, env: Env) -> Value:
    """`subject is patterns`."""
    subject = m.evaluate(expr.subject, env)
    if isinstance(subject, Ref):
        return _in_numbers(m, expr, subject)
    assert isinstance(subject, EnumValue)
    noted = m.checked.resolutions[expr]
    assert isinstance(noted, CaseArms)
    selector = SelectIndex(subject.ref, len(noted.arms))
    return _in_cases(m, expr, selector, [i for i, arm in enumerate(noted.arms) if arm == 0])


def _in_cases(
    m: PartialEvaluator, node: ast.Node, selector: SelectIndex, cases: Sequence[int]
) -> Ref:
    """Whether a case is one of several."""
    here = m.case_condition(selector, cases[0])
    for i in cases[1:]:
        here = m.op(node, "or", here, m.case_condition(selector, i))
    return here


def _in_numbers(m: PartialEvaluator, node: ast.Arm | ast.Is, subject: Ref) -> Ref:
    """Whether an int is one of those that the patterns are."""
    here = m.truth(False)
    for pattern in node.patterns:
        assert pattern.number is not None
        value = m.const(float(pattern.number.replace("_", "")), INT)
        here = m.op(node, "or", here, m.op(node, "eq", subject, value))
    return here


def list_comprehension(m: PartialEvaluator, expr: ast.Comprehension, env: Env) -> Value:
    """`[element for x in xs if condition]`: the condition must be known."""
    items: list[Value] = []
    labels: list[str | None] = []
    for candidate in unroll(m, expr, env):
        if candidate.guard is not None:
            m.require_constant(candidate.guard, "the filter of a list", expr.span)
        items.append(m.evaluate(expr.element, candidate.env))
        labels.append(_label(candidate.bindings))
    named = tuple(label for label in labels if label is not None)
    complete = len(named) == len(items) and len(set(named)) == len(named)
    return ListValue(tuple(items), named if complete and named else None)


def _label(picks: dict[str, Value]) -> str | None:
    """What to call the element for the variables' values: names of parts, cases, numbers."""
    words: list[str] = []
    for value in picks.values():
        word: str | None = None
        if isinstance(value, Record | SelectRecord):
            word = value.name
        elif isinstance(value, TextValue) and len(value.options) == 1:
            word = value.options[0]
        elif isinstance(value, EnumValue) and value.ref.known is not None:
            word = value.enum.cases[int(value.ref.known)]
        elif isinstance(value, Ref) and value.known is not None and value.type == INT:
            word = str(int(value.known))
        if word is None:
            return None
        words.append(word)
    return "_".join(words)
