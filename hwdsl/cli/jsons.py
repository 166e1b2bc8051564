"""Answers of commands in JSON: what they found, in the shapes of `hwdsl.cli.answers`.

Only commands that are asked for JSON import this: the shapes take a while to be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hwdsl.cli import answers

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.base.diagnostics import Diagnostic
    from hwdsl.base.source import Span
    from hwdsl.base.units import Dim
    from hwdsl.cli.errors import CommandError
    from hwdsl.codegen.runtime import OutputSpec, ParamSpec, Result, Samples
    from hwdsl.elaborate import ClaimResult
    from hwdsl.explain.cited_numbers import CitedNumber
    from hwdsl.explain.explanation import Explanation
    from hwdsl.explain.sensitivity import Sensitivity
    from hwdsl.help.page import Page
    from hwdsl.measure.validate import PredictionErrors, Validation
    from hwdsl.search import Optimum, Solutions
    from hwdsl.semantics.citations import CitedSource
    from hwdsl.semantics.symbols import Checked
    from hwdsl.uncertainty import Decision, Estimate, Indices, RootDraws


def write(answer: object) -> None:
    """Print an answer as JSON."""
    print(answers.as_json(answer))


# --- findings ------------------------------------------------------------------------------------


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Findings as JSON, a line each."""
    return "".join(answers.as_json(finding(d), indent=None) + "\n" for d in diagnostics)


def finding(diagnostic: Diagnostic) -> answers.Finding:
    """A diagnostic as programs get it."""
    return answers.Finding(
        diagnostic.name,
        diagnostic.severity.value,
        diagnostic.message,
        [place(label.span, label.text) for label in diagnostic.labels],
        diagnostic.help,
        diagnostic.missing or None,
    )


def place(span: Span, text: str = "") -> answers.Place:
    """A place of a file as programs get it."""
    ends = (*span.source.position(span.start), *span.source.position(span.end))
    return answers.Place(span.source.name, *ends, text)


def write_failure(failure: CommandError) -> None:
    """Print why a command gives no answer."""
    found = [finding(each) for each in failure.findings]
    write(answers.Failure(failure.code, str(failure), found))


def write_needs(
    name: str, missing: Iterable[Diagnostic], params: Sequence[str], others: int
) -> None:
    """Print what an evaluator lacks, in a line."""
    needs = answers.Needs(name, [finding(each) for each in missing], params, others)
    print(answers.as_json(needs, indent=None))


# --- run and why ---------------------------------------------------------------------------------


def dimension(dims: Mapping[str, float]) -> str:
    """A dimension as `data/time`; `1` for a pure number."""
    from hwdsl.codegen.runtime.spec import dims_text

    return dims_text(dims) if dims else "1"


def dimension_of(dim: Dim) -> str:
    """The same of the language's own dimensions."""
    from hwdsl.base.units import dim_text

    return "1" if dim.is_dimensionless else dim_text(dim)


def inputs(result: Result, given: Iterable[str]) -> list[answers.Input]:
    """The params of a point; those in `given` were given."""
    from hwdsl.codegen.runtime.result import described

    known = set(given)
    return [answers.Input(*_amount(*each), each[0].name in known) for each in described(result)[0]]


def outputs(result: Result) -> list[answers.Amount]:
    """The outputs at a point; those of a vector by `name.label`."""
    from hwdsl.codegen.runtime.result import described

    return [answers.Amount(*_amount(*each)) for each in described(result)[1]]


def _amount(
    info: ParamSpec | OutputSpec, shown: Any, base: float
) -> tuple[str, Any, str, float, str]:
    return info.name, shown, info.scale.unit, base, dimension(info.scale.dims)


def run(
    evaluator: Evaluator, result: Result, given: Mapping[str, str], sums: Sequence[answers.Sum]
) -> answers.Run:
    """A point, the rules it breaks, and its outputs as sums."""
    kinds = {rule.name: rule.severity for rule in evaluator.spec.rules}
    broken = [
        answers.Broken(
            rule.name,
            "warn" if kinds.get(rule.name) == "warn" else "require",
            rule.message,
            rule.help or None,
            [place(at.span, at.text) for at in rule.places],
        )
        for rule in evaluator.violations_at(result.violations, given)
    ]
    left = [answers.Undecided(name, text) for name, text in evaluator.undecided_rules(given)]
    return answers.Run(
        evaluator.name, inputs(result, given), outputs(result), result.feasible, result.is_raw,
        broken, left, sums,
    )  # fmt: skip


def sum_of(output: str, of: Explanation, depth: int, least: float) -> answers.Sum:
    """An output as a sum."""
    unit = of.unit
    assert unit is not None  # an output's
    rows = [
        answers.SumRow(r.level, r.name, r.times, unit.from_base(r.value), r.value, r.share)
        for r in of.breakdown(depth, least)
    ]
    return answers.Sum(output, _name(unit.name), rows)


def why(evaluator: Evaluator, output: str, of: Explanation, depth: int | None) -> answers.Why:
    """A derivation: its steps by numbers, each once, down to a depth if one is given."""
    numbers, level = {id(of): 0}, [of]
    found, deep = [of], 0
    while level and (depth is None or deep < depth):
        deep += 1
        below = []
        for step in level:
            for each in (*(t.step for t in step.terms), *step.inputs):
                if id(each) not in numbers:
                    numbers[id(each)] = len(found)
                    found.append(each)
                    below.append(each)
        level = below
    return answers.Why(evaluator.name, output, [_step(step, numbers) for step in found])


def _step(step: Explanation, numbers: Mapping[int, int]) -> answers.Step:
    from hwdsl.elaborate.quantities import suited_unit

    value: Any = {"true": True, "false": False}.get(step.label, step.label)
    unit = ""
    if not step.label:
        shown = step.unit if step.unit is not None and step.unit.dim == step.dim else None
        if shown is None and not step.dim.is_dimensionless:
            shown = suited_unit(step.value, step.dim, step.scope)
        value = step.value if shown is None else shown.from_base(step.value)
        unit = "" if shown is None else _name(shown.name)
    terms = [
        answers.StepTerm(numbers[id(t.step)], t.factor, t.written or t.text)
        for t in step.terms
        if id(t.step) in numbers
    ]
    cited = [source(one) for one in step.sources]
    return answers.Step(
        step.name, value, unit, step.value, dimension_of(step.dim), step.formula, step.place,
        step.role, step.path, terms, [numbers[id(i)] for i in step.inputs if id(i) in numbers],
        cited,
    )  # fmt: skip


def sensitivities(
    evaluator: Evaluator, output: str, found: Sequence[Sensitivity]
) -> answers.Sensitivities:
    """The numbers that move an output, with their sources."""
    from hwdsl.explain.derivation import place

    numbers = [
        answers.NumberSensitivity(
            f"{one.number.module}.{one.number.path}",
            one.literal,
            place(one.number.node.span),
            one.elasticity,
            [source(each) for each in one.number.sources],
        )
        for one in found
    ]
    return answers.Sensitivities(evaluator.name, output, numbers)


def sources(found: Sequence[CitedNumber]) -> answers.SourcesAnswer:
    """Numbers of files with their sources."""
    from hwdsl.explain.derivation import place

    return answers.SourcesAnswer([
        answers.NumberSources(
            f"{one.module}.{one.path}",
            one.value,
            place(one.node.span),
            one.level,
            one.confidence,
            [source(each) for each in one.sources],
        )
        for one in found
    ])  # fmt: skip


def source(of: CitedSource) -> answers.SourceAnswer:
    """A source with what its reference says."""
    return answers.SourceAnswer(of.key, of.kind, of.year, of.title, of.place, of.confidence)


def _name(unit: str) -> str:
    return "" if unit == "1" else unit


# --- explain -------------------------------------------------------------------------------------


def explained(page: Page) -> answers.Explain:
    """What there is to say of a name."""
    sections = [
        answers.Section(
            section.title,
            [answers.Named(r.name, r.role, r.type, r.value, r.doc) for r in section.rows],
        )
        for section in page.sections
    ]
    return answers.Explain(
        page.name, page.what, page.lead, page.place, page.notes, sections, page.text, page.others,
        page.whole,
    )  # fmt: skip


# --- sample, validate, verify


def sample(
    evaluator: Evaluator, samples: Samples, seed: int, shares: Sequence[float]
) -> answers.Sample:
    """Draws: how each output is distributed, with its quantiles at `shares`."""
    from hwdsl.uncertainty import tails

    scales = {o.name: o.scale for o in evaluator.spec.outputs}

    def found(name: str) -> answers.Distribution:
        scale = scales[name]
        up, down, _ = scale.parts()
        mean, deviation = samples.mean(name), samples.std(name)
        quantiles = [
            answers.Quantile(q.value, scale.to_base(q.value), share, q.standard_error)
            for share, q in zip(shares, tails.quantiles(samples, name, shares), strict=True)
        ]
        goes_with = samples.rank_correlation(name).items()
        return answers.Distribution(
            name,
            scale.unit,
            dimension(scale.dims),
            answers.Statistic(mean, scale.to_base(mean)),
            tails.mean(samples, name).standard_error,
            answers.Statistic(deviation, deviation * up / down),
            quantiles,
            [answers.Correlation(param, value) for param, value in goes_with],
        )

    return answers.Sample(
        evaluator.name,
        len(samples),
        seed,
        float(samples.feasible.mean()),
        samples.is_raw,
        samples.violations,
        [answers.Drawn(name, share) for name, share in samples.clipped.items()],
        [found(name) for name in samples.computed],
    )


def solve(
    evaluator: Evaluator, found: Solutions, draws: RootDraws | None, shares: Sequence[float]
) -> answers.Solve:
    """Where an output meets a target, and quantiles of the roots at draws."""
    spread = None if draws is None else answers.SolvedDraws(
        len(draws.values), draws.drawn, draws.share, float(draws.several.mean()),
        float(draws.below.mean()), float(draws.above.mean()),
        [answers.RootQuantile(share, q.value, q.standard_error)
         for share, q in zip(shares, draws.quantiles(shares), strict=True)],
    )  # fmt: skip
    near = found.nearest
    return answers.Solve(
        evaluator.name, found.param.name, found.param.scale.unit, found.output.name,
        found.output.scale.unit, found.low, found.high, found.points,
        [answers.SolvedRoot(r.value, r.output, r.slope, r.elasticity, r.touches)
         for r in found.roots],
        [answers.SolvedStretch(s.low, s.high) for s in found.met],
        [answers.SolvedJump(j.below, j.above, j.output_below, j.output_above, j.target_below,
                            j.target_above) for j in found.jumps],
        [answers.SolvedStretch(s.low, s.high) for s in found.at_least],
        [answers.SolvedGap(g.low, g.high, g.rules, g.hides) for g in found.infeasible],
        None if near is None else answers.SolvedNearest(near.value, near.output, near.target),
        [answers.SolvedStretch(s.low, s.high) for s in found.unproven],
        spread,
    )  # fmt: skip


def uncertainty(
    evaluator: Evaluator, of: Indices | None, decision: Decision | None, seed: int
) -> answers.Uncertainty:
    """Sobol indices of outputs, or a decision between two designs."""

    def told(estimate: Estimate) -> answers.Estimated:
        return answers.Estimated(estimate.value, estimate.standard_error, *estimate.interval)

    units = {o.name: o.scale.unit for o in evaluator.spec.outputs}
    outputs = [] if of is None else [
        answers.OutputIndices(
            name, units[name], of.deviations[name],
            [answers.ParamIndices(i.param, told(i.first_order), told(i.total_order))
             for i in indices],
        ) for name, indices in of.outputs.items()
    ]  # fmt: skip
    choice = None if decision is None else answers.DecisionAnswer(
        decision.output, decision.unit, told(decision.first), told(decision.second),
        told(decision.first_better), told(decision.second_better), told(decision.advantage),
        told(decision.perfect_information),
        [answers.PartialInformation(p.param, told(p.value)) for p in decision.partial],
    )  # fmt: skip
    found = of or decision
    assert found is not None
    return answers.Uncertainty(
        evaluator.name, found.draws, seed, found.feasible_share, outputs, choice
    )


def optimize(found: Optimum, given: Iterable[str]) -> answers.Optimize:
    """The best design, or the front, and what is around it."""
    named = set(given)

    def design(result: Result) -> answers.FoundDesign:
        return answers.FoundDesign(inputs(result, named), outputs(result))

    front = [] if found.front is None else [found.front.result(k) for k in range(len(found.front))]
    return answers.Optimize(
        found.space.evaluator.name, [answers.Aim(g.name, g.most) for g in found.goals],
        found.conditions, found.space.size, None if found.point is None else design(found.point),
        [design(each) for each in front],
        None if found.nearest is None else design(found.nearest), found.violates, found.warnings,
        [answers.BesideDesign(n.param, n.value, n.change, n.better, n.violates)
         for n in found.neighbours],
        found.binding, found.at_ends,
        [answers.ParamElasticity(n, v) for n, v in found.elasticities.items()],
        found.restarts, found.agree, found.evaluations, found.seconds, found.ended,
    )  # fmt: skip


def validate(found: Sequence[tuple[str, Validation]]) -> answers.Validate:
    """Validations by their names, with all rows."""
    return answers.Validate([_table(*each) for each in found])


def _table(name: str, of: Validation) -> answers.ValidatedTable:
    request, scale = of.request, of.scale
    baseline = of.baseline_errors

    def group(
        name: str, errors: PredictionErrors, beside: PredictionErrors | None
    ) -> answers.Group:
        ours, theirs = _summary(errors), None if beside is None else _summary(beside)
        return answers.Group(name, len(errors.relative), ours, theirs)

    columns = [of.measured, of.predicted, scale.to_base(of.measured), scale.to_base(of.predicted),
               of.errors.relative]  # fmt: skip
    rows = list(zip(of.labels, *(column.tolist() for column in columns), strict=True))
    beside: list[tuple[Any, ...]] = [(None, None, None)] * len(rows)
    if of.baseline is not None and baseline is not None:
        theirs = (of.baseline, scale.to_base(of.baseline), baseline.relative)
        beside = list(zip(*(column.tolist() for column in theirs), strict=True))
    return answers.ValidatedTable(
        name, request.evaluator, request.output, str(request.data), request.measured,
        request.baseline, of.unit, dimension(scale.dims), group("all", of.errors, baseline),
        [group(label, *errors) for label, errors in of.by_group().items()],
        [answers.Row(*row, *more) for row, more in zip(rows, beside, strict=True)],
        dict(sorted(of.broken.items())), of.infeasible, of.unread,
        answers.Agreement(of.compiled, of.interpreter_differs, of.swept_differs, of.repeated,
                          of.repeated_differs),
    )  # fmt: skip


def _summary(errors: PredictionErrors) -> answers.Errors:
    return answers.Errors(errors.median, errors.p90, errors.bias)


def verify(
    claims: Sequence[tuple[str, Checked, str, Sequence[ClaimResult]]], wrong: Sequence[Diagnostic]
) -> answers.Verify:
    """Claims, each with its file's name, and what is wrong in files."""
    return answers.Verify([_claim(*each) for each in claims], [finding(each) for each in wrong])


def _claim(
    file: str, checked: Checked, name: str, verdicts: Sequence[ClaimResult]
) -> answers.ClaimAnswer:
    from hwdsl.elaborate import confidence
    from hwdsl.semantics.symbols import ClaimInfo
    from hwdsl.show.claim_report import sources
    from hwdsl.syntax import ast

    info = checked.main.values[name]
    assert isinstance(info, ClaimInfo)
    notes = [" ".join(source.text.split()) for source in sources(info)]
    assumed = [" ".join(m.text.split()) for m in info.decl.members if isinstance(m, ast.Assume)]
    found = [_expectation(verdict) for verdict in verdicts]
    return answers.ClaimAnswer(file, name, notes, assumed, confidence(info.decl), found)


def _expectation(verdict: ClaimResult) -> answers.Expectation:
    from hwdsl.show.claim_report import notes

    def shown(base: float | None) -> float | None:
        return None if base is None else verdict.unit.from_base(base)

    published = None if verdict.tolerance is None else verdict.expected
    return answers.Expectation(
        " ".join(verdict.text.split()), verdict.status or "claim", verdict.ok, verdict.as_expected,
        shown(published), shown(verdict.got), published, verdict.got,
        "" if verdict.unit.name == "1" else verdict.unit.name, verdict.tolerance, verdict.mode,
        notes(verdict), place(verdict.span), verdict.baseline,
    )  # fmt: skip
