"""Monte Carlo: evaluators at points drawn from the distributions of their params.

`param x : money = 5 USD ~ lognormal(5 USD, 1.3)` declares how sure its author is. Distributions are
quantile functions written in the language; here even numbers between 0 and 1 are drawn, one stream
for each chunk of points, so that a seed gives the same samples on any number of threads. What is
kept is the outputs, and the draws only if asked for: memory is flat in the number of params.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import html, violated
from .errors import CallError
from .execution_plan import ExecutionPlan
from .kernel import Floats, Kernel, Words
from .point_grid import PointGrid
from .sweep import Sweep
from .workers import pool_of, workers

CHUNK = 1 << 16
RANKED = 20_000
"""Draws whose ranks are compared: chance makes correlations of 0.007 of so many."""
_GRAIN = 2.0**-52

EvenNumbers = Callable[[int, int], Mapping[str, Floats]]
"""From the numbers of the first draw and of the one behind the last to numbers between 0 and 1, a
column for each param that is drawn; several threads ask, each for its draws."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Outputs at points drawn at random: `samples["cost"]`, `.quantile("cost", [.05, .95])`.

    The outputs of infeasible draws are NaN, and statistics are over the feasible ones; `raw` is the
    same with what the formulas give at all draws, and statistics over all. `words` has the bits of
    the `rules` that a draw breaks. `feasible` says of each point whether it breaks no rule,
    `clipped` what share of each param's draws lay outside its range and was moved to the end.
    `drawn` holds the first draws of each uncertain param in its unit, as many as
    `rank_correlation` looks at, or all that were kept. `reads` names the params that each output
    depends on, where that is known.
    """

    computed: Mapping[str, Floats] = field(repr=False)
    units: Mapping[str, str]
    feasible: NDArray[np.bool_] = field(repr=False)
    clipped: Mapping[str, float]
    drawn: Mapping[str, Floats] = field(repr=False)
    reads: Mapping[str, tuple[str, ...] | None] = field(repr=False)
    rules: Sequence[str] = field(repr=False)
    words: Words = field(repr=False)
    is_raw: bool = False

    @property
    def raw(self) -> Samples:
        """The same with what the formulas give, at infeasible draws too. Nothing is copied."""
        return replace(self, is_raw=True)

    @cached_property
    def outputs(self) -> Mapping[str, Floats]:
        """The columns by output, in its unit."""
        if self.is_raw or self.feasible.all():
            return self.computed
        return {n: np.where(self.feasible, c, np.nan) for n, c in self.computed.items()}

    @property
    def violations(self) -> dict[str, int]:
        """How many draws break each rule that any breaks, `undefined` included."""
        return violated.counts(self.words, self.rules)

    def violation_texts(self) -> NDArray[Any]:
        """Of each draw the names of the rules it breaks, blanks between; empty for none."""
        return violated.texts(self.words, self.rules)

    def counted(self, output: str) -> Floats:
        """The values that statistics are over: those of feasible draws, or all if raw."""
        values = self[output]
        return values if self.is_raw or self.feasible.all() else values[self.feasible]

    @cached_property
    def ranked(self) -> NDArray[np.bool_]:
        """Which of the first draws `rank_correlation` compares."""
        first = self.feasible[:RANKED]
        return np.ones_like(first) if self.is_raw else first

    def __len__(self) -> int:
        return len(self.feasible)

    def __getitem__(self, output: str) -> Floats:
        if output not in self.computed:
            raise KeyError(f"no output {output}; there are {', '.join(self.computed)}")
        return self.outputs[output]

    def unit(self, output: str) -> str:
        """The unit of an output; empty for a pure number."""
        self[output]
        return self.units[output]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.computed)

    def _repr_html_(self) -> str:
        shares = (0.05, 0.5, 0.95)
        rows = [
            (name, self.units[name], *(html.number(float(x)) for x in (
                self.mean(name), self.std(name), *self.quantile(name, shares))))
            for name in self.computed
        ]  # fmt: skip
        head = ("output", "unit", "mean", "deviation", "5 %", "50 %", "95 %")
        return html.table(repr(self)[1:-1], head, rows)

    def quantile(self, output: str, shares: ArrayLike) -> Any:
        """Values that the given shares of the draws counted lie below, in the output's unit."""
        values, shares = self.counted(output), np.asarray(shares, np.float64)
        return np.quantile(values, shares) if len(values) else np.full_like(shares, np.nan)

    def mean(self, output: str) -> float:
        """The mean over the draws counted, in the output's unit; NaN if there are none."""
        values = self.counted(output)
        return float(values.mean()) if len(values) else float("nan")

    def std(self, output: str) -> float:
        """The standard deviation over the draws counted, in the output's unit."""
        values = self.counted(output)
        if not len(values):
            return float("nan")
        return float((values - values[0]).std())  # a constant deviates by nothing at all

    def rank_correlation(self, output: str) -> dict[str, float]:
        """Spearman's rank correlation of an output with each uncertain param, the largest first.

        Params that the output does not read are left out: theirs would be chance. source: C.
        Spearman, American Journal of Psychology 15(1), 1904. It is taken over those of the first
        20,000 draws that are counted.
        """
        if not self.ranked.any():
            return {}
        ranks, reads = _ranks(self[output][:RANKED][self.ranked]), self.reads[output]
        drawn = self._drawn_ranks.items()
        found = {n: _correlation(ranks, of) for n, of in drawn if reads is None or n in reads}
        return dict(sorted(found.items(), key=lambda item: -abs(item[1])))

    @cached_property
    def _drawn_ranks(self) -> dict[str, Floats]:
        """The ranks of the uncertain params' draws, found once for all outputs."""
        return {name: _ranks(of[:RANKED][self.ranked]) for name, of in self.drawn.items()}

    def __repr__(self) -> str:
        good = int(np.count_nonzero(self.feasible))
        drawn, outputs = ", ".join(self.drawn), ", ".join(self.computed)
        return f"<{len(self):,} samples of {outputs}; drawn {drawn}; {good:,} feasible>"


def _ranks(values: Floats) -> Floats:
    """Ranks, ties sharing their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place], np.float64)


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0


def draw(
    plan: ExecutionPlan, kernel: Kernel, points: int, given: Collection[str], *,
    seed: int = 0, threads: int | None = None, keep: bool = False,
    even: EvenNumbers | None = None,
) -> Samples:  # fmt: skip
    """Evaluate at `points` draws; the params named in `given` stay at the one point of the plan.

    `kernel` makes values of the uncertain params, in base units, from even numbers, which `even`
    gives, or else a random stream. With `keep` all draws are in the result, else the first of them.
    Raises CallError for a plan of many points.
    """
    free = free_of(plan, given)
    run = _Run(plan, kernel, free, points, even or RandomStream(plan.spec.drawn, seed), keep)
    with pool_of(workers(threads), plan.kernel) as pool:
        parts = list(pool.map(run.chunk, range(-(-points // CHUNK))))
    return run.samples(parts)


def free_of(plan: ExecutionPlan, given: Collection[str]) -> list[str]:
    """The params that are drawn: those with a distribution that are not given.

    Raises CallError if there are none, and for a plan of many points.
    """
    if plan.points != 1:
        raise CallError(f"{plan.spec.name}: give single values, not many")
    free = [n for n in plan.spec.drawn if n not in given]
    if not free:
        raise CallError(f"{plan.spec.name} has no param left that is uncertain")
    return free


@dataclass(frozen=True)
class RandomStream:
    """Even numbers at random: odd multiples of 2^-53.

    None is 0 or 1, where quantiles are infinite.
    """

    names: Sequence[str]
    seed: int

    def __call__(self, start: int, stop: int) -> Mapping[str, Floats]:
        """Those of one chunk."""
        # A stream for each chunk, so that the draws do not depend on the number of threads. Whole
        # chunks are drawn and cut: the first draws of 1,000 points are those of 100.
        stream = np.random.default_rng([self.seed, start // CHUNK])
        whole = [stream.integers(0, 1 << 52, CHUNK)[: stop - start] for _ in self.names]
        columns = [(u.astype(np.float64) + 0.5) * _GRAIN for u in whole]
        return dict(zip(self.names, columns, strict=True))


def evaluate(
    plan: ExecutionPlan, kernel: Kernel, free: Collection[str], even: Mapping[str, Floats]
) -> tuple[Sweep, dict[str, int], dict[str, Floats]]:
    """The params named in `free` at the quantiles of even numbers, the others as in the plan.

    The other results are those of `drawn_grid`.
    """
    grid, clipped, values = drawn_grid(plan, kernel, free, even)
    return plan.at(grid).run(threads=1), clipped, values


def drawn_grid(
    plan: ExecutionPlan, kernel: Kernel, free: Collection[str], even: Mapping[str, Floats]
) -> tuple[PointGrid, dict[str, int], dict[str, Floats]]:
    """The points where params named in `free` are at the quantiles of even numbers.

    The second result says how many draws of each lay outside its range and were moved to the end,
    the third has the values of each, in base units. Raises CallError for a value that is NaN.
    """
    spec = plan.spec
    points = len(next(iter(even.values())))
    columns = [np.empty(points) for _ in range(kernel.outputs)]
    words = np.empty((points, kernel.words), np.uint64)
    middle = np.full(points, 0.5)
    drawn = [(even.get(name, middle), 1, points) for name in spec.drawn]
    kernel.run(drawn, 0, points, columns, words)
    axes = list(plan.grid.axes)
    clipped, values = {}, {}
    for slot, info in enumerate(spec.params):
        if info.name not in free:
            continue
        column = columns[spec.drawn.index(info.name)]
        held = np.clip(column, info.low, info.high)
        if np.isnan(held).any():
            whose = f"{spec.name}.{info.name}"
            raise CallError(f"{whose}: its distribution is NaN for some of the draws")
        clipped[info.name] = int((held != column).sum())
        values[info.name] = held
        axes[slot] = (held, 1, points)
    return PointGrid(tuple(axes), points, (("point", points),)), clipped, values


class _Run:
    """The draws under way: where outputs are gathered."""

    def __init__(
        self, plan: ExecutionPlan, kernel: Kernel, free: Sequence[str],
        points: int, even: EvenNumbers, keep: bool,
    ) -> None:  # fmt: skip
        self.plan, self.spec, self.kernel = plan, plan.spec, kernel
        self.free, self.points, self.even, self.keep = free, points, even, keep
        self.numeric = [o for o in self.spec.outputs if not o.labels]
        self.columns = {o.name: np.empty(points) for o in self.numeric}
        self.feasible = np.empty(points, np.bool_)
        self.words = np.empty((points, len(self.spec.required)), np.uint64)

    def chunk(self, chunk: int) -> tuple[dict[str, int], dict[str, Floats]]:
        """Evaluate one chunk; how many draws were clipped, and the draws to be kept."""
        start = chunk * CHUNK
        count = min(CHUNK, self.points - start)
        even = self.even(start, start + count)
        swept, clipped, values = evaluate(self.plan, self.kernel, self.free, even)
        part = swept.raw
        for name, column in self.columns.items():
            column[start : start + count] = part[name]
        self.feasible[start : start + count] = part.feasible
        self.words[start : start + count] = part.words
        if chunk and not self.keep:
            return clipped, {}
        scales = {p.name: p.scale for p in self.spec.params}
        shown = {name: scales[name].from_base(values[name]) for name in self.free}
        return clipped, shown

    def samples(self, parts: Sequence[tuple[dict[str, int], dict[str, Floats]]]) -> Samples:
        """What was gathered."""
        return Samples(
            self.columns,
            {o.name: o.scale.unit for o in self.numeric},
            self.feasible,
            {n: sum(c[n] for c, _ in parts) / self.points for n in self.free},
            {n: np.concatenate([d[n] for _, d in parts if d]) for n in self.free},
            {o.name: o.reads for o in self.numeric},
            self.spec.rule_names,
            self.words,
        )
