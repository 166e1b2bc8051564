"""Partial evaluation: from a checked program to graphs, rules, models and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from contextlib import suppress
from functools import partial

from attrs import evolve

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate.claims import ClaimResult, confidence, verify_claim
from hwdsl.elaborate.displays import Picture, picture_of
from hwdsl.elaborate.elaboration_info import Elaboration, OutputInfo, ParamInfo, RuleInfo
from hwdsl.elaborate.evaluator import draws, elaborate_evaluator, read_waived_rules
from hwdsl.elaborate.expressions import new_partial_evaluator
from hwdsl.elaborate.findings import deduplicate, report_static_violations
from hwdsl.elaborate.large_stack import with_large_stack
from hwdsl.elaborate.literals import VariedLiterals
from hwdsl.elaborate.module_values import symbol_value
from hwdsl.elaborate.partial_evaluator import Instance, PartialEvaluator
from hwdsl.elaborate.reached import Reached
from hwdsl.elaborate.records import component, find_definition, member
from hwdsl.elaborate.rules import RuleCollector, Waivers, module_waivers
from hwdsl.elaborate.trace import Trace
from hwdsl.elaborate.values import (
    ElaborationError,
    Record,
    SelectRecord,
    Thunk,
    UnknownValue,
    Value,
)
from hwdsl.semantics.displays import is_measured, settings_of
from hwdsl.semantics.symbols import (
    Checked,
    ClaimInfo,
    ComponentInfo,
    EvaluatorInfo,
    Global,
    KindInfo,
    ValueInfo,
)
from hwdsl.syntax import ast

Callees = dict[EvaluatorInfo, Instance]
"""Evaluators as they are called; claims and evaluators of a file may share them."""

ROUNDS = 20
"""Chains of missing values, one behind the other, are followed so far."""

__all__ = [
    "Callees",
    "ClaimResult",
    "Elaboration",
    "OutputInfo",
    "ParamInfo",
    "Picture",
    "RuleInfo",
    "check_rules",
    "confidence",
    "displays",
    "elaborate",
    "elaborate_traced",
    "picture",
    "pictures",
    "shown_by",
    "verify",
]


def elaborate(
    checked: Checked,
    evaluator: EvaluatorInfo,
    diagnostics: Diagnostics,
    overrides: Mapping[str, float] | None = None,
    free: Collection[str] = (),
    callees: Callees | None = None,
    literals: VariedLiterals | None = None,
    *,
    reached: bool = False,
) -> Elaboration:
    """Elaborate an evaluator to a graph over its params and choices.

    `overrides` fixes params and `calibrated` coefficients by name, at values in base units (an
    index for enums and components). `free` names coefficients that become params. Findings go to
    `diagnostics`; if that has failed, the result lacks what is wrong. `callees` holds what was
    elaborated of other evaluators of the file with the same `free`, and of this one afterwards.
    `literals` gives literals other values, for which no `callees` may be shared. `reached` asks
    what outputs and rules read; `callees` are then those of evaluators of which that is asked too.
    """
    m = new_partial_evaluator(
        checked, overrides, frozenset(free), callees=None if overrides else callees
    )
    m.varied = literals
    m.reads = [] if reached else None
    found = with_large_stack(lambda: elaborate_evaluator(m, evaluator, diagnostics))
    if m.missing_paths:
        _find_lacking(checked, evaluator, diagnostics, m.missing_paths)
    # In a graph of its own: the inputs of the sampler have the names of the evaluator's params.
    apart = new_partial_evaluator(checked)
    return evolve(found, sampler=with_large_stack(lambda: draws(apart, evaluator, diagnostics)))


def reached_in_all(
    checked: Checked,
    evaluator: EvaluatorInfo,
    diagnostics: Diagnostics,
    unknown: Set[str] = frozenset(),
) -> Reached:
    """All that an evaluator reads, with what the first elaboration of it does not show.

    That is what would be read if values were known that nobody knows (given by their paths), since
    what reads one stops there; and what is read by the rules of the file's own components of which
    the evaluator reads something, which are decided once for all evaluators. What is wrong with the
    evaluator goes to `diagnostics`.
    """
    given, met = frozenset[str](), frozenset(unknown)
    found: list[Thunk] = []
    for _ in range(ROUNDS):
        given |= met
        said = Diagnostics() if given else diagnostics
        m = new_partial_evaluator(checked)
        m.reads, m.assumed = [], given
        found += with_large_stack(partial(_read_in_all, m, evaluator, said))
        met = frozenset(m.unknown_read)
        if met <= given:
            break
    return Reached(tuple(found))


def _read_in_all(
    m: PartialEvaluator, evaluator: EvaluatorInfo, diagnostics: Diagnostics
) -> tuple[Thunk, ...]:
    """What outputs and rules read, those of the file's components included that are reached."""
    made = elaborate_evaluator(m, evaluator, diagnostics).reached
    assert made is not None
    walk, todo, roots = RuleCollector(m), list(m.checked.main.values.values()), made.roots
    while True:
        of = {t.keep for t in Reached(roots).thunks() if isinstance(t.keep, Record | SelectRecord)}
        infos = [x for x in todo if isinstance(x, ComponentInfo) and m.symbols.get(x) in of]
        if not infos:
            return roots
        todo = [x for x in todo if x not in infos]
        for info in infos:
            with suppress(ElaborationError):
                _assert(walk, info, module_waivers(m.checked.main))
        read_waived_rules(m)
        roots = (*made.roots, *m.rule_reads)


def elaborate_traced(
    checked: Checked,
    evaluator: EvaluatorInfo,
    diagnostics: Diagnostics,
    free: Collection[str] = (),
) -> tuple[Elaboration, PartialEvaluator]:
    """The same graph, with the partial evaluator whose `trace` says where values come from."""
    m = new_partial_evaluator(checked, None, frozenset(free), Trace())
    return with_large_stack(lambda: elaborate_evaluator(m, evaluator, diagnostics)), m


def _find_lacking(
    checked: Checked, evaluator: EvaluatorInfo, diagnostics: Diagnostics, missing_paths: Set[str]
) -> None:
    """Report the values that an evaluator lacks beside those that were met first.

    Each output and rule stops at its first missing value. So the evaluator is elaborated again as
    if those were given, until nothing more is missing. Only what is missing is reported: what
    becomes of the rest depends on the values.
    """
    given: frozenset[str] = frozenset()
    for _ in range(ROUNDS):
        if missing_paths <= given:
            return
        given |= missing_paths
        m, found = new_partial_evaluator(checked), Diagnostics()
        m.assumed = given
        with_large_stack(partial(elaborate_evaluator, m, evaluator, found))
        for item in found.items:
            if item.missing:
                diagnostics.add(item)
        missing_paths = m.missing_paths


def pictures(
    checked: Checked, elaborations: Mapping[str, Elaboration], diagnostics: Diagnostics
) -> list[Picture]:
    """What the figures and tables of a file show, those of measured data left out, in order."""
    found = (
        picture(checked, node, elaborations[shown_by(checked, node).name], diagnostics)
        for node in displays(checked)
    )
    return [each for each in found if each is not None]


def displays(checked: Checked) -> list[ast.Display]:
    """The figures and tables of a file, those of measured data left out."""
    items = checked.main.tree.items
    return [x for x in items if isinstance(x, ast.Display) and not is_measured(x)]


def shown_by(checked: Checked, node: ast.Display) -> EvaluatorInfo:
    """The evaluator that a figure or table shows."""
    shown = checked.resolutions[settings_of(node)["of"]]
    assert isinstance(shown, Global)
    assert isinstance(shown.symbol, EvaluatorInfo)
    return shown.symbol


def picture(
    checked: Checked, node: ast.Display, elaboration: Elaboration, diagnostics: Diagnostics
) -> Picture | None:
    """What a figure or table shows of its elaborated evaluator; None if it cannot be shown."""
    m, info = new_partial_evaluator(checked), shown_by(checked, node)
    try:
        return with_large_stack(partial(picture_of, m, info, elaboration, node))
    except ElaborationError as failure:
        diagnostics.add(failure.diagnostic)
        return None


def check_rules(checked: Checked, diagnostics: Diagnostics) -> None:
    """Decide the rules of the top-level components of the main file, and evaluate its values."""
    m = new_partial_evaluator(checked)
    with_large_stack(lambda: _check_main(m, diagnostics))


def _check_main(m: PartialEvaluator, diagnostics: Diagnostics) -> None:
    walk = RuleCollector(m)
    top = module_waivers(m.checked.main)

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except ElaborationError as failure:
            diagnostics.add(failure.diagnostic)

    for symbol in m.checked.main.values.values():
        if isinstance(symbol, ComponentInfo):
            attempt(partial(_assert, walk, symbol, top))
            for name in _fields(symbol.kind):
                attempt(partial(_assert_value, walk, partial(_read, m, symbol, name), "", ()))
        elif isinstance(symbol, ValueInfo):
            value = partial(symbol_value, m, symbol)
            attempt(partial(_assert_value, walk, value, symbol.name, top))
    walk.settle(top, lambda failure: diagnostics.add(failure.diagnostic))
    for assertion in deduplicate(m, walk.found):
        report_static_violations(m, assertion, diagnostics)


def _assert(walk: RuleCollector, symbol: ComponentInfo, waivers: Waivers) -> None:
    walk.component(component(walk.m, symbol), symbol.name, waivers)


def _assert_value(
    walk: RuleCollector, compute: Callable[[], Value | None], name: str, waivers: Waivers
) -> None:
    """The rules of a value's components, and of what is read on the way to it."""
    try:
        value, assertions = walk.m.collect(compute)
        assertions, where, _ = walk.m.where_known(assertions)
    except UnknownValue:
        return  # A value that nobody knows is told of where it is needed.
    walk.take(assertions, waivers)
    if value is not None:
        walk.value(value, name, waivers, None if where.known else where)


def _fields(kind: KindInfo) -> list[str]:
    infos = [i for k in kind.lineage() for i in k.members.values()]
    return list(dict.fromkeys(i.name for i in infos if i.role == "field"))


def _read(m: PartialEvaluator, symbol: ComponentInfo, name: str) -> None:
    of = component(m, symbol)
    if not isinstance(of, Record) or find_definition(m, of, name) is not None:
        member(m, of, name, of.span)


def verify(
    checked: Checked, claim: ClaimInfo, diagnostics: Diagnostics, callees: Callees | None = None
) -> list[ClaimResult]:
    """Evaluate a claim: one verdict for each expectation.

    `callees` holds the evaluators that the claims before have called, each elaborated once.
    """
    m = new_partial_evaluator(checked, callees=callees)
    return with_large_stack(lambda: verify_claim(m, claim, diagnostics))
