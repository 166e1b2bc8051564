"""Claims: published numbers beside reproduced ones."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from hwdsl.base.diagnostics import Diagnostics, Severity
from hwdsl.base.source import Span
from hwdsl.base.units import Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate.messages import known_only, literal_unit, render
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.quantities import PURE, coherent_unit, dim_of
from hwdsl.elaborate.records import with_lets
from hwdsl.elaborate.rules import RuleCollector, Waivers, module_waivers
from hwdsl.elaborate.values import ASKED, ElaborationError, EnumValue, Env, Value
from hwdsl.semantics.symbols import ClaimInfo
from hwdsl.syntax import ast


@frozen
class ClaimResult:
    """One expectation: `got` and `expected` in base units where two numbers are compared.

    `tolerance` is absolute in base units, relative, or a factor, as `mode` says. `baseline` is what
    a null model says instead of `got`, 1 or 0 for an ordering. `status` is `calibration`,
    `identity`, `assumed`, `unsure` (a source has low confidence), `no baseline`, `no better` (than
    its baseline, which is as near or meets the expectation too) or empty: a claim that counts.
    `note` says why it fails if not by its number, `missed` why it is known not to hold.
    """

    text: str
    expected: float | None
    got: float | None
    tolerance: float | None
    mode: str
    ok: bool
    status: str
    unit: Unit
    note: str
    span: Span
    missed: str = ""
    baseline: float | None = None

    @property
    def as_expected(self) -> bool:
        """Whether it came out as its file says: it holds, or is missed where that is said."""
        return self.ok == (not self.missed)


def verify_claim(
    m: PartialEvaluator, claim: ClaimInfo, diagnostics: Diagnostics
) -> list[ClaimResult]:
    """Evaluate a claim's expectations."""
    m.checked.ensure(claim)
    lets = [x for x in claim.decl.members if isinstance(x, ast.Let)]
    env = with_lets(m, Env(claim.scope), lets)
    verdicts: list[ClaimResult] = []
    own = (x for x in claim.decl.members if isinstance(x, ast.Allow))
    waivers = (*own, *module_waivers(claim.scope))
    rests = "unsure" if confidence(claim.decl) == ast.CONFIDENCES[0] else ""
    for member in claim.decl.members:
        if isinstance(member, ast.Assume):
            rests = "assumed"
        elif isinstance(member, ast.Expect):
            try:
                status = member.status or rests
                verdicts.append(_judged(m, member, env, status, waivers))
            except ElaborationError as failure:
                diagnostics.add(failure.diagnostic)
                text = failure.diagnostic.message
                verdicts.append(_failed(member, text, member.status or rests))
    return verdicts


def confidence(claim: ast.Claim) -> str:
    """Confidence of the least sure source of a claim; empty if none says."""
    cited = [c for m in claim.members if isinstance(m, ast.Sources) for c in m.citations]
    said = [c.confidence.name for c in cited if c.confidence is not None]
    return min(said, key=ast.CONFIDENCES.index, default="")


def _judged(
    m: PartialEvaluator, node: ast.Expect, env: Env, status: str, waivers: Waivers
) -> ClaimResult:
    """The verdict. Against it is an implied rule (`whole`, a loop that must settle) that is broken,
    one of a component that the claim makes, and an infeasible result that was read, unless the
    expectation read its `feasible` too.
    """
    verdict, assertions = m.collect(lambda: _expect(m, node, env, status))
    walk = RuleCollector(m)
    assertions = walk.rules(m.need_values(assertions))
    walk.settle(waivers)
    assertions += walk.found
    asked = [e.result for e in assertions if e.rule == ASKED]
    verdict = evolve(verdict, **_beside_baseline(m, node, env, verdict))
    broken = [
        render(m, e.text, known_only)
        for e in assertions
        if e.severity is Severity.ERROR and e.holds.known != 1.0
        if e.result is None or not any(e.result is r for r in asked)
    ]
    if not broken:
        return verdict
    note = "; ".join(dict.fromkeys([*filter(None, [verdict.note]), *broken]))
    return evolve(verdict, ok=False, note=note)


def _beside_baseline(
    m: PartialEvaluator, node: ast.Expect, env: Env, verdict: ClaimResult
) -> dict[str, Any]:
    """What the baseline says, and whether the claim says more than it does.

    A claim counts where its baseline misses what is expected: where it is further from the
    published number and outside of the tolerance, or does not order things as published. A number
    that the null model meets as well is no evidence for the model. A rule that the baseline breaks
    is not held against it.
    """
    if node.baseline is None:
        return {"status": verdict.status or "no baseline"}
    expr = node.baseline
    value, _ = m.collect(lambda: m.require_constant(m.number(expr, env), "a baseline", expr.span))
    if verdict.tolerance is None or verdict.expected is None or verdict.got is None:
        worse = value != 1.0
    else:
        nearer = abs(value - verdict.expected) <= abs(verdict.got - verdict.expected)
        meets = _within(value, verdict.expected, verdict.tolerance, verdict.mode)
        worse = not nearer and not meets
    return {"baseline": value, "status": verdict.status or ("" if worse else "no better")}


def _failed(node: ast.Expect, note: str, status: str) -> ClaimResult:
    return ClaimResult(
        node.condition.span.text, None, None, None, node.mode, False, status, PURE, note, node.span
    )


def _expect(m: PartialEvaluator, node: ast.Expect, env: Env, status: str) -> ClaimResult:
    condition = node.condition
    got = expected = tolerance = None
    mode, unit = node.mode, PURE
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        got, expected = (_value(m, m.evaluate(e, env)) for e in condition.operands)
        unit = _unit(m, condition, env)
    if node.tolerance is not None and got is not None and expected is not None:
        tolerance = m.require_constant(m.number(node.tolerance, env), "a tolerance", node.span)
        mode = mode or _mode(m, node)
        ok = _within(got, expected, tolerance, mode)
    else:
        ok = m.require_constant(m.number(condition, env), "what is expected", node.span) == 1.0
    return ClaimResult(
        condition.span.text,
        expected,
        got,
        tolerance,
        mode,
        ok,
        status,
        unit,
        "",
        node.span,
        node.missed or "",
    )


def _value(m: PartialEvaluator, value: Value) -> float | None:
    if isinstance(value, Ref):
        return value.known
    return value.ref.known if isinstance(value, EnumValue) else None


def _mode(m: PartialEvaluator, node: ast.Expect) -> str:
    """A tolerance without a word is absolute if it has a dimension."""
    assert node.tolerance is not None
    dim = dim_of(m.checked.types.get(node.tolerance))
    return "relative" if dim.is_dimensionless else "absolute"


def _within(got: float, expected: float, tolerance: float, mode: str) -> bool:
    if mode == "factor":
        low, high = sorted((abs(got), abs(expected)))
        return got * expected > 0 and high <= tolerance * low
    room = tolerance * abs(expected) if mode == "relative" else tolerance
    # An ulp of slack: a bound that is met exactly is met.
    return abs(got - expected) <= room * (1 + 1e-12)


def _unit(m: PartialEvaluator, condition: ast.Compare, env: Env) -> Unit:
    for operand in reversed(condition.operands):
        unit = literal_unit(m, operand)
        if unit is not None:
            return unit
    return coherent_unit(dim_of(m.checked.types.get(condition.operands[0])), env.scope)
