"""Fitting: values of `calibrated` coefficients from a measured table.

Input: a loaded module, an evaluator's name and a table whose columns are params and outputs.
Output: a `Fit`: least squares over relative (or absolute) errors, with exact slopes and within the
declared bounds, by SciPy, which is imported when the first fit is made. The search starts at the
declared values and finds the least beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from hwdsl.api import driver
from hwdsl.api.evaluator import DescriptionError, Evaluator, Module, file_of
from hwdsl.api.program import LoadedProgram
from hwdsl.base.diagnostics import Diagnostics, did_you_mean
from hwdsl.base.packages import needed
from hwdsl.base.source import Source
from hwdsl.codegen import runtime
from hwdsl.codegen.runtime import CallError, ExecutionPlan, Floats
from hwdsl.elaborate import ParamInfo
from hwdsl.measure.measurements import MeasurementTable
from hwdsl.measure.validate import (
    PredictionErrors,
    check_relative,
    groups,
    inputs,
    numbers,
    output_of,
    validation_requests,
)
from hwdsl.semantics.symbols import ValueInfo
from hwdsl.syntax import ast

FITTED = "#! Fitted:"
"""How a file of fitted coefficients starts, behind its edition."""
CONFIDENCE = 0.95
LARGEST_ERROR = 1e150
"""The square of a larger one, or a sum of squares, may not be finite."""
SINGULAR = 1e-6
"""Slopes whose smallest singular value is this share of the largest do not tell all values."""
AT_END = 1e-4
"""How near to a bound, in shares of the range, a coefficient ends at it."""


@frozen
class Target:
    """An output and the column that it was measured in."""

    output: str
    column: str


@frozen(eq=False)
class Problem:
    """What is to be fitted: rows measured, coefficients free.

    `measured` has a line for each target, in base units. `slots` are the places of the coefficients
    among the params of the plans, one for each target.
    """

    evaluator: Evaluator
    table: MeasurementTable
    coefficients: tuple[ParamInfo, ...]
    unused: tuple[str, ...]
    targets: tuple[Target, ...]
    measured: Floats = field(repr=False)
    relative: bool
    plans: tuple[ExecutionPlan, ...] = field(repr=False)
    slots: tuple[int, ...]

    @property
    def start(self) -> Floats:
        """The declared values, held to their bounds, in base units."""
        low, high = self.bounds
        return np.clip([float(c.default or 0.0) for c in self.coefficients], low, high)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The declared ranges, infinite where there is none."""
        lows = [-np.inf if c.low is None else c.low for c in self.coefficients]
        highs = [np.inf if c.high is None else c.high for c in self.coefficients]
        return np.array(lows), np.array(highs)

    @property
    def scales(self) -> Floats:
        """A size of each coefficient, to count in: the one it has, or that of its range."""
        low, high = self.bounds
        spans = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
        return np.where(self.start != 0, np.abs(self.start), spans)

    @property
    def weights(self) -> Floats:
        """What a residual in base units is multiplied with, a line for each target."""
        if self.relative:
            return 1 / self.measured
        outputs = [output_of(self.evaluator, t.output) for t in self.targets]
        sizes = np.array([float(o.scale.to_base(1.0) - o.scale.to_base(0.0)) for o in outputs])
        return np.broadcast_to(1 / sizes[:, None], self.measured.shape)

    def unit(self, target: int) -> str:
        """The unit of a target's absolute errors."""
        return output_of(self.evaluator, self.targets[target].output).scale.unit

    def evaluate(self, values: Floats) -> tuple[Floats, Floats]:
        """Errors (targets x rows) and their slopes (x coefficients) at values in base units."""
        errors, slopes = [], []
        for target, plan in zip(self.targets, self.plans, strict=True):
            axes = list(plan.grid.axes)
            for slot, value in zip(self.slots, values, strict=True):
                axes[slot] = (np.array([value], np.float64), 1, 1)
            # Rows were measured: what they break the rules of has been built nevertheless.
            swept = plan.at(replace(plan.grid, axes=tuple(axes))).run(threads=1).raw
            errors.append(swept.column(target.output))
            by = [swept.column(f"d.{target.output}.{c.name}") for c in self.coefficients]
            slopes.append(np.stack(by, axis=-1) if by else np.empty((len(swept), 0)))
        weights = self.weights
        return (np.array(errors) - self.measured) * weights, np.array(slopes) * weights[..., None]


@frozen(eq=False)
class Fit:
    """Coefficients found, in base units, with their intervals (NaN where there is none).

    `errors` has a line for each target: of all rows of the table, whether they were fitted or not.
    `covariance` is that of the values, in base units; NaN for what has no interval.
    """

    problem: Problem
    values: Floats
    low: Floats
    high: Floats
    covariance: Floats
    errors: Floats
    notes: tuple[str, ...]

    def of(self, target: int, rows: NDArray[Any] | slice = slice(None)) -> PredictionErrors:
        """The errors of some rows."""
        return PredictionErrors(self.errors[target][rows])


def prepare(
    module: Module,
    name: str,
    table: MeasurementTable,
    *,
    targets: Sequence[Target] = (),
    only: Sequence[str] = (),
    relative: bool = True,
) -> Problem:
    """What is to be fitted; without targets all outputs that have a column.

    Without `only` the coefficients are all that some row depends on. Raises CallError for what
    does not fit together.
    """
    if name not in module.evaluators:
        raise CallError(f"{module.path} has no evaluator {name}")
    known = module.evaluators[name]
    targets = tuple(targets) or tuple(
        Target(o.name, o.name) for o in known.spec.outputs if o.name in table.columns
    )
    if not targets:
        outputs = ", ".join(o.name for o in known.spec.outputs)
        raise CallError(f"no column of {table.path} is an output of {name}: {outputs}")
    problem = _reduced(module, name, table, targets, only, relative)
    if not problem.coefficients:
        raise CallError(f"no row of {table.path} depends on any of {', '.join(problem.unused)}")
    return problem


def baselines(
    module: Module, problem: Problem, named: str | None = None
) -> tuple[Problem | None, ...]:
    """What is to be fitted of the baseline of each target, as far as it has coefficients.

    A target's baseline is the one `named`, or that of the file's `table` of the same output; None
    where there is none.
    """
    name, table = problem.evaluator.name, problem.table
    declared = {r.output: r.baseline for r in validation_requests(module) if r.evaluator == name}
    found = []
    for target in problem.targets:
        output = named or declared.get(target.output)
        targets = (Target(output, target.column),) if output else ()
        found.append(
            _reduced(module, name, table, targets, (), problem.relative) if output else None
        )
    return tuple(found)


def _reduced(
    module: Module,
    name: str,
    table: MeasurementTable,
    targets: tuple[Target, ...],
    only: Sequence[str],
    relative: bool,
) -> Problem:
    """The problem with those coefficients that some row depends on."""
    known = module.evaluators[name]
    measured = np.array(
        [numbers(known, table, t.column, output_of(known, t.output).name) for t in targets]
    )
    if relative:
        check_relative(table, measured, "; fit absolute ones")
    evaluator, coefficients = with_free_coefficients(module, name, only)
    problem = _problem(evaluator, table, coefficients, targets, measured, relative)
    errors, slopes = problem.evaluate(problem.start)
    _check_finite(problem, errors)
    used = [i for i in range(len(coefficients)) if slopes[..., i].any()]
    return evolve(
        problem,
        coefficients=tuple(coefficients[i] for i in used),
        slots=tuple(problem.slots[i] for i in used),
        unused=tuple(c.name for i, c in enumerate(coefficients) if i not in used),
    )


def _problem(
    evaluator: Evaluator,
    table: MeasurementTable,
    coefficients: tuple[ParamInfo, ...],
    targets: tuple[Target, ...],
    measured: Floats,
    relative: bool,
) -> Problem:
    names = [c.name for c in coefficients]
    given = inputs(evaluator, table, {*names, *(t.column for t in targets)})
    grid = evaluator.plan(zipped=given).grid
    graphs = {t.output: driver.differentiate(evaluator.graph, t.output, names) for t in targets}
    kernels, _ = driver.kernels(graphs, compiled=evaluator.compiled)
    plans = []
    for name, graph in graphs.items():
        outputs = tuple(runtime.OutputSpec(n) for n, _ in graph.outputs)
        spec = replace(evaluator.spec, outputs=outputs)
        plans.append(ExecutionPlan(spec, kernels[name], grid))
    places = {p.name: i for i, p in enumerate(evaluator.spec.params)}
    slots = tuple(places[n] for n in names)
    return Problem(
        evaluator, table, coefficients, (), targets, measured, relative, tuple(plans), slots
    )


def with_free_coefficients(
    module: Module, name: str, only: Sequence[str]
) -> tuple[Evaluator, tuple[ParamInfo, ...]]:
    """The evaluator with coefficients as params (all that it reads, or `only` some), and those."""
    declared = [d.name.name for d in _calibrated(module)]
    for wanted in only:
        if wanted not in declared:
            hint = did_you_mean(wanted, declared) or f"there are {', '.join(declared) or 'none'}"
            raise CallError(f"no coefficient `calibrated {wanted}` is in reach; {hint}")
    diagnostics = Diagnostics()
    program = driver.lower(module.checked, diagnostics, name, free=only or declared)
    if diagnostics.failed:
        raise DescriptionError(diagnostics)
    info = driver.evaluators(module.checked)[name]
    kernel = driver.interpreter(program.graphs[name])
    file = file_of(program, diagnostics)
    known = module.evaluators[name]
    main = module.checked.main.tree.source
    loaded = LoadedProgram(main, file, program, free=only or declared)
    evaluator = Evaluator(main, file, name, loaded, kernel, compiled=known.compiled)
    places = {d.span: i for i, d in enumerate(_calibrated(module))}
    found = [p for p in evaluator.elaboration.params if p.name not in info.free]
    if not found:
        raise CallError(f"{name} reads no `calibrated` coefficient")
    return evaluator, tuple(sorted(found, key=lambda p: places[p.span]))


def _calibrated(module: Module) -> Iterator[ast.Calibrated]:
    """The coefficients that the file and all it uses declare."""
    for scope in module.checked.modules.values():
        for symbol in scope.values.values():
            if isinstance(symbol, ValueInfo) and isinstance(symbol.decl, ast.Calibrated):
                yield symbol.decl


def _check_finite(problem: Problem, errors: Floats) -> None:
    for target, line in zip(problem.targets, errors, strict=True):
        bad = np.flatnonzero(~(np.abs(line) < LARGEST_ERROR))
        if len(bad):
            what = "not finite" if not np.isfinite(line[bad[0]]) else "too far off to be fitted"
            raise CallError(
                f"{target.output} is {what} at the declared values for row {bad[0] + 1} of "
                f"{problem.table.path}"
            )


def fit(problem: Problem, rows: NDArray[np.bool_] | None = None) -> Fit:
    """The coefficients with the least squares of the errors of the rows (all if none are given).

    What no row depends on keeps its declared value. Raises ModuleNotFoundError, with the remedy,
    without SciPy.
    """
    optimize, stats = _scipy()
    chosen = np.ones(problem.table.rows, np.bool_) if rows is None else rows
    scales, start = problem.scales, problem.start
    low, high = problem.bounds
    fixed = [c.name for c, a, b in zip(problem.coefficients, low, high, strict=True) if a >= b]
    if fixed:
        raise CallError(f"the range of {fixed[0]} leaves nothing to fit")

    # A search moves what no row depends on wherever its steps lead: that is left out of it.
    declared, at_start = problem.evaluate(start)
    free = np.asarray(at_start[:, chosen].any(axis=(0, 1)))
    if not free.any():
        none = np.full(len(start), np.nan)
        unknown = np.full((len(start), len(start)), np.nan)
        notes = ["no row of the fit tells anything"]
        return Fit(problem, start, none, none, unknown, declared, tuple(notes))

    def values_at(x: Floats) -> Floats:
        values = start.copy()
        values[free] = x * scales[free]
        return values

    def errors(x: Floats) -> Floats:
        return problem.evaluate(values_at(x))[0][:, chosen].ravel()

    def slopes(x: Floats) -> Floats:
        found = problem.evaluate(values_at(x))[1][:, chosen][..., free]
        return np.asarray(found.reshape(-1, found.shape[-1]) * scales[free])

    found = optimize.least_squares(
        errors, (start / scales)[free], slopes, ((low / scales)[free], (high / scales)[free]),
        ftol=1e-12, xtol=1e-12, gtol=1e-12, max_nfev=400,
    )  # fmt: skip
    values = values_at(found.x)
    every = problem.evaluate(values)[1][:, chosen].reshape(-1, len(free)) * scales
    every[:, ~free] = 0.0
    half, covariance, notes = _precision(problem, values, every, errors(found.x), stats)
    if found.status == 0:
        notes.append("no least was found in 400 steps: what is printed is the best met")
    half *= scales
    covariance *= np.outer(scales, scales)
    after = problem.evaluate(values)[0]
    return Fit(problem, values, values - half, values + half, covariance, after, tuple(notes))


def _precision(
    problem: Problem, values: Floats, slopes: Floats, errors: Floats, stats: Any
) -> tuple[Floats, Floats, list[str]]:
    """Half the length of each interval and the covariance, in scales, and what is ill-posed.

    source: G. Seber and C. Wild, Nonlinear Regression, 1989, section 5.1: linear in the
    neighbourhood of the least, errors independent and of one variance.
    """
    names = [c.name for c in problem.coefficients]
    free, notes = _between(problem, values, slopes)
    half = np.full(len(names), np.nan)
    covariance = np.full((len(names), len(names)), np.nan)
    telling = slopes.any(axis=1)  # the others say nothing of the spread either
    if not telling.all():
        notes.append(f"{telling.sum()} of {len(errors)} measurements depend on what was fitted")
    spare = int(telling.sum()) - len(free)
    if not free:
        return half, covariance, notes
    sizes = np.linalg.norm(slopes[:, free], axis=0)
    _, singular, right = np.linalg.svd(slopes[:, free] / sizes, full_matrices=False)
    if len(singular) < len(free) or singular[-1] < SINGULAR * singular[0]:
        mixed = [names[free[i]] for i in np.flatnonzero(np.abs(right[-1]) > 0.1)]
        notes.append(f"the rows do not tell {' and '.join(mixed)} apart: no intervals")
    elif spare < 1:
        notes.append(f"{len(errors)} measurements for {len(free)} coefficients: no intervals")
    else:
        squares = errors[telling] @ errors[telling]
        axes = right / singular[:, None] / sizes
        covariance[np.ix_(free, free)] = squares / spare * (axes.T @ axes)
        half[free] = stats.t.ppf((1 + CONFIDENCE) / 2, spare) * np.sqrt(np.diag(covariance)[free])
    return half, covariance, notes


def _between(problem: Problem, values: Floats, slopes: Floats) -> tuple[list[int], list[str]]:
    """The coefficients that ended between their bounds, and what is to be said of the others."""
    notes, held, free, kept = list[str](), list[str](), list[int](), list[str]()
    low, high = problem.bounds
    spans = np.where(np.isfinite(high - low), high - low, problem.scales)
    for i, info in enumerate(problem.coefficients):
        ends = [e for e in (low[i], high[i]) if abs(values[i] - e) <= AT_END * spans[i]]
        if not slopes[:, i].any():
            kept.append(info.name)
        elif ends:
            held.append(f"{info.name} {shown(info, ends[0])}")
        else:
            free.append(i)
    if kept:
        notes.append(f"no row of the fit depends on {', '.join(kept)}: kept as declared")
    if held:
        notes.append(f"held at a bound, where the fit would leave it: {', '.join(held)}")
    return free, notes


def cross_validate(problem: Problem, column: str) -> list[tuple[str, NDArray[np.bool_], Fit]]:
    """For each group of rows a fit of all the others: the group, its rows, the fit."""
    cells = groups(problem.table, column)
    names = list(dict.fromkeys(cells))
    if len(names) < 2:
        raise CallError(f"column {column} of {problem.table.path} holds one group only")
    found = []
    for name in names:
        held = np.array([cell == name for cell in cells])
        found.append((name, held, fit(problem, ~held)))
    return found


def to_source(found: Fit, module: Module) -> str:
    """The coefficients as a `.hw` file: new values, declared bounds, and where they are from."""
    from hwdsl.syntax.format import format_module

    problem = found.problem
    declared = {d.span: d for d in _calibrated(module)}
    digest = problem.table.digest[:12]
    data = f"{problem.table.path.name} (sha256 {digest}), {problem.table.rows} rows"
    outputs = ", ".join(t.output for t in problem.targets)
    lines = ["edition 2026", f"{FITTED} {outputs} of {problem.evaluator.name} to {data}."]
    for i, info in enumerate(problem.coefficients):
        node = declared[info.span]
        bounds = "" if node.range is None else f" in {node.range.span.text}"
        about = data.replace('"', "'").replace("\\", "/")
        if np.isfinite(found.low[i]):
            ends = f"{shown(info, found.low[i], 4)} .. {shown(info, found.high[i], 4)}"
            about += f"; {100 * CONFIDENCE:g} % interval {ends}"
        lines += ["", *(f"## {line}" for line in node.doc.splitlines())]
        value = shown(info, found.values[i])
        lines.append(
            f"calibrated {node.name.name} : {node.type.span.text} = {value}{bounds} "
            f'source "{about}"'
        )
    diagnostics = Diagnostics()
    return format_module(driver.parse(Source("fit", "\n".join(lines) + "\n"), diagnostics))


def is_fragment(head: str) -> bool:
    """Whether a text starts as those of `to_source` do."""
    return any(line.startswith(FITTED) for line in head.splitlines()[:3])


def shown(info: ParamInfo, value: float, digits: int = 6) -> str:
    """A coefficient in base units as a text in its unit."""
    unit = "" if info.unit.name == "1" else f" {info.unit.name}"
    return f"{info.unit.from_base(value):.{digits}g}{unit}"


def _scipy() -> tuple[Any, Any]:
    optimize, stats = (
        needed(f"scipy.{part}", "a fit needs SciPy", "fit") for part in ("optimize", "stats")
    )
    return optimize, stats
