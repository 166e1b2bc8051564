"""Partial evaluation: from a checked program to graphs, rules, models and verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import evolve

from hwdsl.diagnostics import Diagnostics
from hwdsl.elaborate.claims import Verdict, verify_claim
from hwdsl.elaborate.evaluator import broken, draws, elaborate_evaluator
from hwdsl.elaborate.expressions import new_machine
from hwdsl.elaborate.infos import Elaboration, OutputInfo, ParamInfo, RuleInfo
from hwdsl.elaborate.machine import Machine, Origin, run_deep
from hwdsl.elaborate.model import ModelComponent, ModelField, model_of
from hwdsl.elaborate.records import component
from hwdsl.elaborate.rules import Walk
from hwdsl.elaborate.values import Failure
from hwdsl.semantics.symbols import Checked, ClaimInfo, ComponentInfo, EvaluatorInfo
from hwdsl.syntax import ast

__all__ = [
    "Elaboration",
    "ModelComponent",
    "ModelField",
    "Origin",
    "OutputInfo",
    "ParamInfo",
    "RuleInfo",
    "Verdict",
    "check_rules",
    "elaborate",
    "elaborate_constants",
    "verify",
]


def elaborate(
    checked: Checked,
    evaluator: EvaluatorInfo,
    diagnostics: Diagnostics,
    overrides: Mapping[str, float] | None = None,
    free: Collection[str] = (),
) -> Elaboration:
    """Elaborate an evaluator to a graph over its params and choices.

    `overrides` fixes params and `calibrated` coefficients by name, at values in base units (an
    index for enums and components). `free` names coefficients that become params. Findings go to
    `diagnostics`; if that has failed, the result lacks what is wrong.
    """
    m = new_machine(checked, overrides, frozenset(free))
    found = run_deep(lambda: elaborate_evaluator(m, evaluator, diagnostics))
    apart = new_machine(checked)
    return evolve(found, sampler=run_deep(lambda: draws(apart, evaluator, diagnostics)))


def check_rules(checked: Checked, diagnostics: Diagnostics) -> None:
    """Decide the rules of the top-level components of the main file."""
    m = new_machine(checked)
    symbols = [s for s in checked.main.values.values() if isinstance(s, ComponentInfo)]
    run_deep(lambda: _check_components(m, symbols, diagnostics))


def _check_components(m: Machine, symbols: list[ComponentInfo], diagnostics: Diagnostics) -> None:
    walk = Walk(m)
    top = tuple(i for i in m.checked.main.tree.items if isinstance(i, ast.Allow))
    for symbol in symbols:
        try:
            walk.component(component(m, symbol), symbol.name, top)
        except Failure as failure:
            diagnostics.add(failure.diagnostic)
            m.depth = 0
    for effect in walk.found:
        if effect.holds.known != 1.0:
            diagnostics.add(broken(m, effect))


def elaborate_constants(
    checked: Checked, symbol: ComponentInfo, diagnostics: Diagnostics
) -> ModelComponent | None:
    """A top-level component with everything known, as a tree to walk."""
    m = new_machine(checked)

    def work() -> ModelComponent | None:
        try:
            return model_of(m, component(m, symbol), symbol.name)
        except Failure as failure:
            diagnostics.add(failure.diagnostic)
            return None

    return run_deep(work)


def verify(checked: Checked, claim: ClaimInfo, diagnostics: Diagnostics) -> list[Verdict]:
    """Evaluate a claim: one verdict for each expectation."""
    m = new_machine(checked)
    return run_deep(lambda: verify_claim(m, claim, diagnostics))
