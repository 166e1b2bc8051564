"""Evaluators: opened for given params, called from anywhere, or elaborated to a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from hwdsl.base.diagnostics import Diagnostics, Label
from hwdsl.base.units import Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.dependence import param_dependences
from hwdsl.codegen.ir.graph import REAL, Graph, rounds
from hwdsl.elaborate import messages, params
from hwdsl.elaborate.asked import parted
from hwdsl.elaborate.elaboration_info import (
    UNKNOWN,
    Elaboration,
    LoweredHole,
    OutputInfo,
    ParamInfo,
    RuleInfo,
)
from hwdsl.elaborate.findings import (
    deduplicate,
    made_labels,
    report_static_violations,
    undecided_note,
)
from hwdsl.elaborate.large_stack import with_large_stack
from hwdsl.elaborate.loop_lowering import check_rounds
from hwdsl.elaborate.partial_evaluator import Instance, PartialEvaluator
from hwdsl.elaborate.quantities import coherent_unit, dim_of
from hwdsl.elaborate.range_tests import is_range_test
from hwdsl.elaborate.reached import Reached
from hwdsl.elaborate.rules import RuleCollector, lower_rule, module_waivers, waived
from hwdsl.elaborate.select_lowering import items_of
from hwdsl.elaborate.values import (
    ASKED,
    Assertion,
    ElaborationError,
    EnumValue,
    Env,
    Frame,
    ListValue,
    Thunk,
    UnknownValue,
    Value,
)
from hwdsl.semantics.symbols import EnumType, EvaluatorInfo, ListType, Type
from hwdsl.semantics.waivers import waives
from hwdsl.syntax import ast


def open_evaluator(
    m: PartialEvaluator,
    info: EvaluatorInfo,
    given: Mapping[str, Value],
    free: Callable[[params.InputSpec], Value] | None = None,
) -> Instance:
    """An instance with params as given; others by `free`, or at their defaults."""
    names: dict[str, Value | Thunk] = {}
    # The frame is filled below: each may read all others, in whatever order they are written.
    env = Env(info.scope, Frame(names))
    instance = Instance(m, info, env, names)
    for node in info.decl.members:
        if isinstance(node, ast.Param | ast.Choice):
            name = node.name.name
            if name in given:
                names[name] = given[name]
            else:
                names[name] = Thunk(
                    name, node.name.span, partial(_free_value, instance, node, free)
                )
        elif isinstance(node, ast.Let | ast.Output):
            names[node.name.name] = Thunk(
                node.name.name, node.name.span, partial(m.evaluate, node.value, env)
            )
    return instance


def _free_value(
    instance: Instance,
    node: ast.Param | ast.Choice,
    free: Callable[[params.InputSpec], Value] | None,
) -> Value:
    m, name = instance.m, node.name.name
    declared = params.declare(m, node, instance.info.free[name], instance.env)
    instance.frees[name] = declared.info
    if free is not None:
        return free(declared)
    if declared.info.default is None:
        raise ElaborationError(
            "missing-argument", f"`{instance.info.name}` also needs `{name}`", node.name.span
        )
    return params.fixed(m, declared, declared.info.default)


def rules_of(instance: Instance) -> tuple[list[Assertion], list[ElaborationError]]:
    """All rules of an evaluator, and what failed on the way to them; found once."""
    if instance.rules is None:
        instance.rules = _find_rules(instance)
    return instance.rules


def _find_rules(instance: Instance) -> tuple[list[Assertion], list[ElaborationError]]:
    """Its own rules, implied ones, those of the components in its reach."""
    m = instance.m
    info = instance.info
    own = (x for x in info.decl.members if isinstance(x, ast.Allow))
    waivers = (*own, *module_waivers(info.scope))
    found: list[Assertion] = []
    failures: list[ElaborationError] = []
    walk = RuleCollector(m)
    for node in info.decl.members:
        try:
            if isinstance(node, ast.Rule | ast.Param):
                rule = info.rules.get(node.name.name)
                if rule is not None and rule.name is node.name:  # of a param: its range
                    name = f"{info.name}.{node.name.name}"
                    found.extend(walk.rules(lower_rule(m, name, rule, instance.env, "")))
            elif isinstance(node, ast.Let | ast.Output):
                name = node.name.name
                value, assertions = m.collect(partial(m.read, instance.names[name]))
                assertions, where, unknown = m.where_known(assertions)
                if isinstance(node, ast.Output) and unknown is not None:
                    raise unknown
                found.extend(walk.rules(assertions))
                walk.value(value, name, waivers, None if where.known else where)
        except ElaborationError as failure:
            # A variable may be unknown: what reads it reports it. An output is read by the caller.
            if not (isinstance(node, ast.Let) and isinstance(failure, UnknownValue)):
                failures.append(failure)
    # Last, so that what a variable holds is named by it.
    walk.settle(waivers, failures.append)
    # The walk applies the waivers of components itself; these are those of the evaluator.
    asked = [e.result for e in found if e.rule == ASKED]
    kept = [
        e
        for e in found
        if not waived(waivers, e.rule, f"{e.path}.{e.rule}")
        if e.result is None or not any(e.result is r for r in asked)
    ]
    return [*kept, *walk.found], failures


# --- to a graph --------------------------------------------------------------------------------


def elaborate_evaluator(
    m: PartialEvaluator, info: EvaluatorInfo, diagnostics: Diagnostics
) -> Elaboration:
    """The evaluator as a graph over its params."""
    m.checked.ensure(info)
    frees: list[ParamInfo] = []

    def free(declared: params.InputSpec) -> Value:
        if declared.info.name in m.overrides:
            return params.fixed(m, declared, m.overrides[declared.info.name])
        frees.append(declared.info)
        return params.as_input(m, declared)

    def report(failure: ElaborationError) -> None:
        diagnostics.add(failure.diagnostic)
        if failure.diagnostic.missing:
            m.missing_paths.add(failure.diagnostic.missing)

    instance = open_evaluator(m, info, {}, free)
    # With overrides the params are not free, so the graph is no callee's for other arguments.
    if not m.overrides:
        m.callees[info] = instance
    if m.trace is not None:
        m.trace.names = instance.names
    # All of them, in the order of the text: a param that nothing reads is one too.
    for name in info.free:
        try:
            m.read(instance.names[name])
        except ElaborationError as failure:
            report(failure)
    found, failures = rules_of(instance)
    for each in failures:
        report(each)
    try:
        # What the defaults and ranges of params state; that of outputs came with the rules.
        stated, _ = parted(m.need_values(m.assertions))
    except UnknownValue as failure:
        report(failure)
        stated = []
    assertions = deduplicate(m, [*found, *stated])
    outputs: list[OutputInfo] = []
    refs: list[tuple[str, Ref]] = []
    for node in info.decl.members:
        if isinstance(node, ast.Output):
            try:
                described, numbers = _output(m, instance, node)
            except ElaborationError as failure:
                report(failure)
                continue
            outputs.append(described)
            refs.extend(numbers)
    rules = decide(m, assertions, diagnostics)
    frees.extend(params.calibrated_info(m, *c) for c in m.free_params.items())
    graph = m.builder.finish(refs, [(r.name, ref) for r, ref in rules])
    try:
        check_rounds(rounds(graph.ops), f"`{info.name}`", info.decl.name.span)
    except ElaborationError as failure:
        report(failure)
    order = {p.name: i for i, p in enumerate(graph.params)}
    notes = tuple(undecided_note(e, e.unknown) for e in assertions if e.unknown is not None)
    undecided = [e.undecided for e in assertions if e.undecided is not None]
    where = [(str(i), ref) for i, ref in enumerate(undecided)]
    # A param may be read by what failed or is undecided alone, which the graph does not show.
    own = (*info.decl.members, *module_waivers(info.scope))
    if not (diagnostics.failed or notes or waives(own, "unread-param")):
        _warn_of_unread(graph, frees, diagnostics)
    return Elaboration(
        info.name,
        graph,
        tuple(sorted(frees, key=lambda p: order[p.name])),
        tuple(outputs),
        tuple(r for r, _ in rules),
        m.builder.finish,
        undecided=notes,
        # Most rules that are not decided are so at each point, which needs no graph.
        undecided_where=m.builder.finish(where, [])
        if any(ref.known != 1.0 for ref in undecided)
        else None,
        reached=None if m.reads is None else _reached(instance),
    )


def _warn_of_unread(graph: Graph, frees: list[ParamInfo], diagnostics: Diagnostics) -> None:
    """Warn of params that nothing depends on; a choice of one alternative is no question."""
    read = frozenset[str]().union(*param_dependences(graph).values())
    for info in frees:
        if info.name not in read and len(info.labels) != 1:
            diagnostics.warning(
                "unread-param",
                f"no output and no rule depends on `{info.name}`",
                info.span,
                help="remove it, or read it where it should matter",
            )


def _reached(instance: Instance) -> Reached:
    """What the outputs and the rules of an evaluator read, once both are evaluated."""
    m = instance.m
    read_waived_rules(m)
    outputs = (instance.names[name] for name in instance.info.outputs)
    roots = [x for x in outputs if isinstance(x, Thunk)]
    return Reached((*roots, *m.rule_reads), frozenset(m.unknown_read))


def read_waived_rules(m: PartialEvaluator) -> None:
    """Note what rules that are waived would read: who waives one has not written that in vain."""
    while m.waived_rules:
        rule, env = m.waived_rules.pop()
        if not is_range_test(m, rule, env):
            with m.noting(m.rule_reads), suppress(ElaborationError):  # whatever it says
                m.collect(partial(m.evaluate, rule.condition, env))


def draws(m: PartialEvaluator, info: EvaluatorInfo, diagnostics: Diagnostics) -> Graph | None:
    """The distributions as a graph: from even numbers to the params drawn, both by their names."""
    env = Env(info.scope)
    refs: list[tuple[str, Ref]] = []
    for node in info.decl.members:
        if not isinstance(node, ast.Param) or node.distribution is None:
            continue
        even = m.builder.param(node.name.name, REAL, low=0.0, high=1.0)
        try:
            values = env.extend({ast.CHANCE: even})
            drawn, assertions = m.collect(partial(m.number, node.distribution, values))
            m.need_values(assertions)
            refs.append((node.name.name, drawn))
        except ElaborationError as failure:
            diagnostics.add(failure.diagnostic)
    return m.builder.finish(refs, []) if refs else None


def _output(
    m: PartialEvaluator, instance: Instance, node: ast.Output
) -> tuple[OutputInfo, list[tuple[str, Ref]]]:
    name = node.name.name
    value = m.read(instance.names[name])
    declared = instance.info.outputs[name]
    type_ = declared.element if isinstance(declared, ListType) else declared
    labels: tuple[str, ...] = ()
    if isinstance(declared, ListType):
        items = items_of(m, value, node.value.span)
        if not items:
            raise ElaborationError("empty-list", f"`{name}` is an empty list", node.value.span)
        named = value.labels if isinstance(value, ListValue) else None
        labels = named or tuple(str(i) for i in range(len(items)))
        refs = [
            (f"{name}.{label}", _scalar(v, node)) for label, v in zip(labels, items, strict=True)
        ]
    else:
        refs = [(name, _scalar(value, node))]
    cases = type_.enum.cases if isinstance(type_, EnumType) else ()
    unit = _output_unit(m, node, type_, instance.env)
    info = OutputInfo(name, node.doc, unit, labels, params.type_name(type_), cases, node.name.span)
    return info, refs


def _scalar(value: Value, node: ast.Output) -> Ref:
    if isinstance(value, Ref):
        return value
    if isinstance(value, EnumValue):
        return value.ref
    raise ElaborationError(
        "not-a-number", f"`{node.name.name}` is no number, bool or enum case", node.value.span
    )


def _output_unit(m: PartialEvaluator, node: ast.Output, type_: Type, env: Env) -> Unit:
    if node.unit is not None:
        return m.checked.units[node.unit]
    return coherent_unit(dim_of(type_), env.scope)


# --- rules -------------------------------------------------------------------------------------


def decide(
    m: PartialEvaluator, assertions: Sequence[Assertion], diagnostics: Diagnostics
) -> list[tuple[RuleInfo, Ref]]:
    """Report the known rules that are broken; the unknown ones by name, with their bits.

    Rules of one name (elements of a list, rounds of a function) share a bit.
    """
    groups: dict[str, list[Assertion]] = {}
    for assertion in assertions:
        if report_static_violations(m, assertion, diagnostics):
            continue
        short = assertion.rule.rsplit(".", 1)[-1]
        groups.setdefault(f"{assertion.path}.{short}" if assertion.path else short, []).append(
            assertion
        )
    return [
        (_rule_info(m, n, g), m.all_of([e.holds for e in g], g[0].span)) for n, g in groups.items()
    ]


def _pieces(m: PartialEvaluator, rule: Assertion) -> list[str | LoweredHole]:
    """The pieces of a rule's message; what varies with the rounds of a loop is none."""
    found = messages.pieces(m, rule.text)
    inner = (isinstance(p, LoweredHole) and p.ref.region is not m.builder.root for p in found)
    return [UNKNOWN if hidden else p for p, hidden in zip(found, inner, strict=True)]


def _rule_info(m: PartialEvaluator, name: str, group: Sequence[Assertion]) -> RuleInfo:
    def broken(point: Sequence[float]) -> Assertion:
        held = messages.at_point(m, point)([e.holds for e in group])
        return next((e for e, h in zip(group, held, strict=True) if h != 1.0), group[0])

    def message(point: Sequence[float]) -> str:
        return with_large_stack(lambda: messages.said(m, broken(point), point))

    def made(point: Sequence[float]) -> Sequence[Label]:
        return with_large_stack(lambda: made_labels(m, broken(point)))

    def said() -> list[tuple[Ref, list[str | LoweredHole]]]:
        return with_large_stack(lambda: [(e.holds, _pieces(m, e)) for e in group])

    first = group[0]
    help = next((e.help for e in group if e.help is not None), None)
    return RuleInfo(
        name,
        first.rule,
        first.severity,
        first.span,
        message,
        said,
        None if help is None else messages.render(m, help, messages.known_only),
        made,
    )
