"""Solving for a param: the values at which an output meets a target, or two designs tie.

Input: an evaluator, a param, an output and what it is to equal: a value, another output, or the
output of another design. Output: `Solutions`: the roots with their slopes, where the output jumps
past the target, where it stays at it, which parts of the range are infeasible, and, without a root,
how near the output comes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from hwdsl.api.evaluator import Evaluator
from hwdsl.codegen.runtime import (
    CallError,
    ExecutionPlan,
    InUnit,
    OutputSpec,
    ParamSpec,
    Scale,
    Sweep,
    read,
)
from hwdsl.search.crossings import (
    UNDEFINED,
    Change,
    Floats,
    Function,
    Scan,
    grid,
    runs,
    same_place,
    scan,
)
from hwdsl.search.proof import OutputIntervals, unproven
from hwdsl.search.solutions import Gap, Jump, Nearest, Root, Solutions, Stretch

POINTS = 4096
"""Points of the range that are looked at first."""
SAME = 1e-12
"""Stretches of at most this share of their ends are one value."""


@frozen
class Design:
    """An output of an evaluator; params that are not in `given` and not solved for are defaults."""

    evaluator: Evaluator = field(repr=False)
    output: str
    given: Mapping[str, Any] = field(factory=dict)

    @property
    def spec(self) -> OutputSpec:
        """The output; CallError if there is none of that name, or if it is no number."""
        found = self.evaluator._output(self.output)
        if found.labels:
            raise CallError(f"{self.evaluator.name}.{self.output} is no number")
        return found


def solve(
    evaluator: Evaluator,
    param: str,
    output: str,
    target: Any = None,
    at: Mapping[str, Any] | None = None,
    *,
    against: Design | None = None,
    low: Any = None,
    high: Any = None,
    points: int = POINTS,
    raw: bool = False,
) -> Solutions:
    """The values of `param`, from `low` to `high` in its range, at which `output` is `target`.

    `target` is a text with a unit, a number in the output's unit or the name of another output;
    `at` gives the other params. With `against` the output is to equal that of another design, in
    which the param has the same value if it has such a param and it is not given there. With `raw`
    no rule counts. Raises CallError for what does not fit.
    """
    here = Design(evaluator, output, dict(at or {}))
    question = question_of(here, param, target, against, raw)
    span = span_of(question, low, high)
    first = question.values(span[0], span[1], points)
    return question.answer(first, span)


def question_of(
    here: Design, name: str, target: Any, against: Design | None, raw: bool
) -> Question:
    """What is asked, checked; CallError for what does not fit."""
    param = here.evaluator.param(name)
    if param.labels and not param.values:
        raise CallError(f"{name} is a choice: sweep it, as in {name}=all")
    if param.kind == "bool":
        raise CallError(f"{name} is true or false: ask for both")
    if name in here.given:
        raise CallError(f"{name} is given, and is to be solved for")
    spec = here.spec
    if target is not None and against is not None:
        raise CallError("give a target or a design to tie with, not both")
    if against is None and isinstance(target, str):
        outputs = [o.name for o in here.evaluator.spec.outputs]
        if target in outputs:
            against, target = Design(here.evaluator, target, here.given), None
    if against is not None:
        if dict(against.spec.scale.dims) != dict(spec.scale.dims):
            raise CallError(f"{against.output} and {spec.name} are of different dimensions")
        return Question(here, param, against, None, raw)
    if target is None:
        raise CallError(f"say what {spec.name} is to be")
    if isinstance(target, str):
        target = spec.scale.from_base(read(target, spec.scale, here.evaluator.units))
    target = float(target)
    if not math.isfinite(target):
        raise CallError("a target is a finite number")
    return Question(here, param, None, target, raw)


def span_of(question: Question, low: Any, high: Any) -> tuple[float, float]:
    """The range in base units."""
    param, evaluator = question.param, question.here.evaluator
    ends = []
    for given, limits, inner in (
        (low, [p.low for p in question.params], max), (high, [p.high for p in question.params], min)
    ):  # fmt: skip
        end = inner(limits)
        if given is None and not math.isfinite(end) and not param.values:
            raise CallError(f"{evaluator.name}.{param.name} has no ends: say from where to where")
        ends.append(end if given is None else inner(end, evaluator.base(param, given)))
    if param.values:
        ends = [max(ends[0], min(param.values)), min(ends[1], max(param.values))]
    if ends[0] > ends[1] or (ends[0] == ends[1] and not param.values):
        raise CallError(f"the range of {param.name} that is to be looked at is empty")
    return ends[0], ends[1]


@frozen
class Question:
    """Where the output of one design is a constant, or that of the other design."""

    here: Design
    param: ParamSpec
    other: Design | None
    target: float | None
    raw: bool

    @property
    def params(self) -> list[ParamSpec]:
        """The param, and that of the other design if it is solved for there too."""
        other = [] if self.other is None or self.param.name in self.other.given else [
            p for p in self.other.evaluator.spec.params if p.name == self.param.name
        ]  # fmt: skip
        return [self.param, *other]

    @property
    def listed(self) -> Floats:
        """The values in order of a param that has only some; empty for any other."""
        return np.sort(np.array(self.param.values, np.float64))

    @property
    def whole(self) -> bool:
        """Whether one value has a next."""
        return self.param.kind == "int" or bool(self.param.values)

    def values(self, low: float, high: float, points: int) -> Floats:
        """Values to look at first: of a listed param their places."""
        if len(self.listed):
            inside = (self.listed >= low) & (self.listed <= high)
            return np.flatnonzero(inside).astype(np.float64)
        scale = self.param.scale
        ends = scale.from_base(low), scale.from_base(high)
        return grid(min(ends), max(ends), points, self.whole)

    def shown(self, x: float) -> float:
        """A value looked at, in the param's unit."""
        if not len(self.listed):
            return x
        return float(self.param.scale.from_base(self.listed[int(x)]))

    def answer(self, start: Floats, span: tuple[float, float]) -> Solutions:
        """Scan the range and say what was found."""
        found = scan(self._differences(start), start, self.whole)
        roots, met = self._roots(found)
        first, last = (float(self.param.scale.from_base(end)) for end in span)
        return Solutions(
            self.param, self.here.spec, first, last, roots, met, self._jumps(found),
            self._at_least(found), self._gaps(found), self._nearest(found), len(found.x),
            self._unproven(found, roots, met),
        )  # fmt: skip

    def _differences(self, start: Floats) -> Function:
        """What is zero where the target is met, and its size."""
        floor = 0.0
        if self.target == 0.0:  # what is zero but for rounding is told by the output's own size
            sizes = np.abs(self.outputs(start)[0])
            floor = float(np.nanmedian(sizes)) if np.isfinite(sizes).any() else 0.0

        def difference(x: Floats) -> Floats:
            mine, theirs = self.outputs(x)
            size = np.maximum(np.maximum(abs(mine), abs(theirs)), floor)
            with np.errstate(invalid="ignore"):
                return np.array([mine - theirs, size])

        return difference

    # --- evaluating -----------------------------------------------------------------------------

    @property
    def designs(self) -> list[Design]:
        """The design, and the other if there is one."""
        return [self.here] if self.other is None else [self.here, self.other]

    def varies(self, design: Design) -> bool:
        """Whether the param is solved for in a design."""
        known = (p.name for p in design.evaluator.spec.params)
        return self.param.name in known and self.param.name not in design.given

    def _sweeps(
        self, x: Floats, beside: Sequence[Mapping[str, Floats]] = ()
    ) -> list[tuple[Design, Sweep]]:
        """Each design at values of the param; `beside` has columns of others, in their units."""
        column = x
        if len(self.listed):
            column = np.asarray(self.param.scale.from_base(self.listed[x.astype(np.int64)]))
        found = []
        for i, design in enumerate(self.designs):
            columns = dict(beside[i]) if beside else {}
            if self.varies(design):
                columns[self.param.name] = column
            given = {**design.given, **{n: c.view(InUnit) for n, c in columns.items()}}
            found.append((design, design.evaluator.plan(zipped=given).run()))
        return found

    def _plan(self, design: Design, at: float) -> ExecutionPlan:
        """The one point of a design in which the param has a value."""
        held = {self.param.name: np.array([at]).view(InUnit)}
        return design.evaluator.plan(zipped={**design.given, **held})

    def outputs(
        self, x: Floats, beside: Sequence[Mapping[str, Floats]] = ()
    ) -> tuple[Floats, Floats]:
        """The output and what it is to equal, NaN where they are infeasible."""
        columns = []
        for design, swept in self._sweeps(x, beside):
            swept = swept.raw if self.raw else swept
            column = np.broadcast_to(swept.column(design.output).ravel(), x.shape)
            if design.spec.scale != self.here.spec.scale:
                base = design.spec.scale.to_base(column)
                column = np.asarray(self.here.spec.scale.from_base(base))
            columns.append(column)
        if self.target is not None:
            columns.append(np.full(x.shape, self.target))
        return columns[0], columns[1]

    def _at(self, x: float) -> tuple[float, float]:
        mine, theirs = self.outputs(np.array([x]))
        return float(mine[0]), float(theirs[0])

    # --- proving --------------------------------------------------------------------------------

    def _unproven(
        self, found: Scan, roots: Sequence[Root], met: Sequence[Stretch]
    ) -> tuple[Stretch, ...]:
        """Stretches in which other roots cannot be excluded."""
        low, high = float(found.x[0]), float(found.x[-1])
        if self.whole:
            every = len(self.listed) or len(found.x) == high - low + 1
            return () if every else (Stretch(low, high),)
        known = [root.value for root in roots]
        known += [end for each in met for end in (each.low, each.high)]
        if not self.raw and np.isnan(found.y).any():
            # Of what is infeasible the formulas may have roots too, which are none here: known
            # ones are told apart, so that the proof is of all.
            known += [root.value for root in evolve(self, raw=True).roots_between(low, high)]
        scale = self.param.scale
        left = unproven(
            *self._sides(low), sorted_pair(scale, low, high), [scale.to_base(x) for x in known],
            [sorted_pair(scale, each.low, each.high) for each in met],
        )  # fmt: skip
        ends = [(float(scale.from_base(a)), float(scale.from_base(b))) for a, b in left]
        return tuple(Stretch(min(pair), max(pair)) for pair in ends)

    def roots_between(self, low: float, high: float) -> tuple[Root, ...]:
        """The roots in a range, in the param's unit."""
        start = grid(low, high, POINTS, False)
        return self._roots(scan(self._differences(start), start))[0]

    def _sides(self, at: float) -> tuple[list[OutputIntervals], float]:
        """The outputs that depend on the param, and the constant that the one is to equal.

        `at` is any value of the param that is looked at.
        """
        sides, target = [], 0.0 if self.target is None else self.target
        target = float(self.here.spec.scale.to_base(target))
        for design in self.designs:
            if not self.varies(design):
                _, theirs = self.outputs(np.array([at]))
                target = float(self.here.spec.scale.to_base(theirs[0]))
                continue
            evaluator, name = design.evaluator, self.param.name
            point = [float(column[0]) for column, _, _ in self._plan(design, at).grid.axes]
            slot = [p.name for p in evaluator.spec.params].index(name)
            graph = evaluator.derivative_graph(design.output, (name,))
            sides.append(OutputIntervals(graph, slot, point))
        return sides, target

    # --- reading the scan -----------------------------------------------------------------------

    def _roots(self, found: Scan) -> tuple[tuple[Root, ...], tuple[Stretch, ...]]:
        """Roots in order, and stretches on which the difference is zero."""
        crossed = [c for c in found.changes if self._crosses(c.signs)]
        places = [(self._between(c), False) for c in crossed if not (self.whole or c.is_jump)]
        places += [(x, True) for x in found.touches]
        met = []
        for sign, low, high in runs(found):
            if sign == 0 and (high - low <= SAME * max(abs(low), abs(high)) or low == high):
                places.append((low, False))
            elif sign == 0:
                met.append(Stretch(self.shown(low), self.shown(high)))
        places.sort()
        apart: list[tuple[float, bool]] = []
        for x, touches in places:
            if not apart or not same_place(found, apart[-1][0], x):
                apart.append((x, touches))
        return tuple(self._root(*each) for each in apart), tuple(met)

    def _between(self, change: Change) -> float:
        """The zero between two numbers, by the straight line if that comes nearer."""
        share = abs(change.at_low) / (abs(change.at_low) + abs(change.at_high))
        between = change.low + (change.high - change.low) * share
        mine, theirs = self._at(between)
        ends = min(abs(change.at_low), abs(change.at_high))
        return between if abs(mine - theirs) <= ends else change.nearest

    @staticmethod
    def _crosses(signs: tuple[int, int]) -> bool:
        return set(signs) == {-1, 1}

    def _root(self, x: float, touches: bool) -> Root:
        output, _ = self._at(x)
        slope = elasticity = math.nan
        if self.param.kind == "real" and not self.param.values:
            slopes = [self._slope(design, x) for design, _ in self._sweeps(np.array([x]))]
            slope = slopes[0] - sum(slopes[1:])
            elasticity = slopes[0] * x / output if output and self.target != 0 else math.nan
        return Root(self.shown(x), output, slope, elasticity, touches)

    def _slope(self, design: Design, x: float) -> float:
        """The derivative of a design's output by the param, in the units of the question."""
        if not self.varies(design):
            return 0.0
        name = self.param.name
        value = np.array([x]).view(InUnit)
        given = {**design.given, name: value}
        by = design.evaluator.gradient(design.output, given, wrt=name, raw=self.raw or None)
        up, down, _ = design.spec.scale.parts()
        own_up, own_down, _ = self.here.spec.scale.parts()
        return by[design.output][name] * (up / down) / (own_up / own_down)

    def _jumps(self, found: Scan) -> tuple[Jump, ...]:
        jumps = []
        for c in found.changes:
            if self._crosses(c.signs) and (self.whole or c.is_jump):
                (low, past), (high, beyond) = self._at(c.low), self._at(c.high)
                jumps.append(Jump(self.shown(c.low), self.shown(c.high), low, high, past, beyond))
        return tuple(jumps)

    def _at_least(self, found: Scan) -> tuple[Stretch, ...]:
        ends: list[list[float]] = []
        open_run = False
        for sign, low, high in runs(found):
            if sign not in (0, 1):
                open_run = False
            elif open_run:
                ends[-1][1] = high
            else:
                ends.append([low, high])
                open_run = True
        least = 0.0 if self.whole else SAME
        return tuple(
            Stretch(self.shown(low), self.shown(high)) for low, high in ends
            if self.whole or high - low > least * max(abs(low), abs(high))
        )  # fmt: skip

    def _gaps(self, found: Scan) -> tuple[Gap, ...]:
        stretches = runs(found)
        gaps = []
        for i, (sign, low, high) in enumerate(stretches):
            if sign != UNDEFINED:
                continue
            beside = {stretches[j][0] for j in (i - 1, i + 1) if 0 <= j < len(stretches)}
            inside = found.x[(found.x >= low) & (found.x <= high)]
            picked = inside[np.linspace(0, len(inside) - 1, min(len(inside), 256)).astype(int)]
            gaps.append(
                Gap(
                    self.shown(low),
                    self.shown(high),
                    self._broken(picked),
                    self._crosses((min(beside), max(beside))) if beside else False,
                )
            )
        return tuple(gaps)

    def _broken(self, x: Floats) -> tuple[str, ...]:
        """The rules that make values infeasible, those first that do so most often."""
        counts: dict[str, int] = {}
        for design, swept in self._sweeps(x):
            warnings = {r.name for r in design.evaluator.spec.rules if r.severity == "warn"}
            for rule, count in swept.violations.items():
                if rule not in warnings:
                    counts[rule] = counts.get(rule, 0) + count
        return tuple(sorted(counts, key=lambda rule: -counts[rule]))

    def _nearest(self, found: Scan) -> Nearest | None:
        x = found.nearest
        return None if x is None else Nearest(self.shown(x), *self._at(x))


def sorted_pair(scale: Scale, low: float, high: float) -> tuple[float, float]:
    """Two numbers in base units, the lower first."""
    ends = float(scale.to_base(low)), float(scale.to_base(high))
    return min(ends), max(ends)
