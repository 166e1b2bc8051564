"""A question with free params: values in declared units go in, results come out."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from . import html
from .columns import InUnit, Masked, clamp_to_range, frame, is_vector, to_base
from .conditions import conditions
from .dialects import elsewhere
from .errors import CallError
from .execution_plan import ExecutionPlan
from .kernel import Floats, Kernel
from .message import Says
from .point_grid import PointGrid
from .point_sources import DrawSource, GridSource, ParquetColumns, ParquetSource, PointSource
from .quantity import is_many, scale_of, spread, written
from .reducing import answers, reduce_source, reductions_of
from .result import Result
from .sample import EvenNumbers, RandomStream, Samples, draw, evaluate, free_of
from .spec import NEAR, UNDEFINED, ParamSpec, Scale, Spec, did_you_mean, joined
from .sweep import Sweep
from .workers import Progress

_MOST = sys.float_info.max


class KernelEvaluator:
    """A question with free params: call it with values, sweep it over many, or draw them.

    `units` gives the units that texts may use, if they are not in the spec; `draws` gives the
    kernel that makes values of `spec.drawn` from even numbers between 0 and 1; `home` is the module
    that has the evaluator as an attribute, by which copies and pickles find it again; `says` gives
    the messages of the rules, and the kernel whose numbers stand in them.
    """

    def __init__(
        self, spec: Spec, kernel: Kernel,
        units: Callable[[], Mapping[str, Scale]] | None = None,
        draws: Callable[[], Kernel] | None = None,
        home: str = "",
        says: Callable[[], Says] | None = None,
    ) -> None:  # fmt: skip
        self._says = says
        self.spec, self.kernel, self._draws, self._home = spec, kernel, draws, home
        self.__name__, self.__doc__ = spec.name, spec.about()
        self._units = units
        self._defaults = [p.default for p in spec.params]
        self._needed = frozenset(p.name for p in spec.params if p.default is None)
        self._slots = {
            # What overflows in its unit is beyond these bounds too, and looked at more closely.
            p.name: (k, *_signed(p), max(p.low, -_MOST), min(p.high, _MOST), _plain_types(p))
            for k, p in enumerate(spec.params)
        }

    def __call__(self, at: Mapping[str, Any] | None = None, /, **given: Any) -> Result:
        """Evaluate one point; what is left out takes its default."""
        if at is not None:
            given = self.named("call", at, given)
        values: list[Any] = self._defaults.copy()
        for name, value in given.items():
            slot = self._slots.get(name)
            if slot is None:
                self.param(name)
                continue
            k, up, down, offset, low, high, plain = slot
            if type(value) in plain:
                try:
                    base = value * up / down + offset
                except OverflowError:  # a whole number beyond float64
                    base = self.base(self.spec.params[k], value)
                if not low <= base <= high:  # at an end but for rounding, or beyond
                    base = self.base(self.spec.params[k], value)
            else:
                base = self.base(self.spec.params[k], value)
            values[k] = base
        if self._needed and not self._needed <= given.keys():
            raise self._lacking(given)
        return Result(self.spec, values, *self.kernel.point(values))

    def violated_rules(
        self, at: Mapping[str, Any] | None = None, /, **given: Any
    ) -> list[tuple[str, str, str]]:
        """The rules that a point breaks: name, message, help."""
        result = self(self.named("violated_rules", at, given))
        kernel, messages = (None, ()) if self._says is None else self._says()
        numbers = [] if kernel is None else kernel.point(result._values)[0]
        found = []
        for name in result.violations:
            if name == UNDEFINED:
                found.append((name, "an output is not a number", ""))
                continue
            k = next(i for i, rule in enumerate(self.spec.rules) if rule.name == name)
            of = messages[k] if k < len(messages) else ()
            said = next((m for m in of if numbers[m.holds] != 1.0), None)
            found.append((name, said.text(numbers) if said else "", self.spec.rules[k].help))
        return found

    def named(
        self, method: str, at: Mapping[str, Any] | None, given: Mapping[str, Any],
        zipped: Mapping[str, Any] | None = None, **options: object,
    ) -> dict[str, Any]:  # fmt: skip
        """Params by name: from a mapping, which takes any name, and from keywords.

        A keyword that could be an option of the method or a param is refused with a CallError,
        unless a mapping has the param: then it is the option. An option that is None is not given.
        """
        if at is not None and not isinstance(at, Mapping):
            raise TypeError(f"{self.spec.name}: params are given by name, not as {at!r}")
        found = dict(at or {})
        for name, value in {"zipped": zipped, **options}.items():
            if value is not None and name in self._slots and name not in {**found, **_map(zipped)}:
                raise CallError(
                    f"{name} is a param of {self.spec.name} and an option of {method}: "
                    f"give params in a mapping, {{{name!r}: …}}, and options as keywords"
                )
        for name, value in given.items():
            if name in found:
                raise CallError(f"{self.spec.name}.{name} is given twice")
            found[name] = value
        return found

    def sweep(
        self, at: Any = None, /, *, mode: str | None = None,
        zipped: Any = None, progress: Progress | bool | None = None,
        threads: int | None = None, **axes: Any,
    ) -> Sweep:  # fmt: skip
        """Evaluate all combinations of the values given (the last varies fastest).

        Params are keywords, or keys of the mapping `at`; there stands a param that has the name of
        an option. With `mode="zip"`, or for those in `zipped`, columns of one length go together;
        so do those of a table (a DataFrame of pandas or Polars, an Arrow table), a row a point;
        `zipped` may be the path of a Parquet file too.
        `progress` is called with the points done and all points; True shows a bar. Raises
        CallError for what does not fit. Uses all cores unless `threads` says how many.
        """
        at, zipped = tables(at, zipped)
        axes = self.named("sweep", at, axes, zipped, mode=mode, progress=progress, threads=threads)
        return self.plan(axes, mode=mode, zipped=zipped).run(progress, threads)

    def reduce(
        self, what: Any, at: Any = None, /, *, mode: str | None = None, zipped: Any = None,
        draws: int | None = None, seed: int | None = None, even: EvenNumbers | None = None,
        where: str | Sequence[str] | None = None,
        progress: Progress | bool | None = None, threads: int | None = None, **axes: Any,
    ) -> Any:  # fmt: skip
        """What is asked of a sweep, in memory that does not grow with its points.

        `what` is a reduction, such as `Best(minimize="cost")` or `Pareto(…)`, and so is the answer;
        of a list of them it is a list, of a mapping a dictionary. They share one evaluation of the
        points, which are given as to `sweep`. `zipped` may be the path of a Parquet file too, whose
        rows are read as they are needed. With `draws` it is so many points from the distributions
        of the params, as `sample` draws them. `where` are conditions that points must fulfil to be
        looked at: "latency <= 50 ms". Raises CallError for what does not fit.
        """
        at, zipped = tables(at, zipped)
        axes = self.named("reduce", at, axes, _map(zipped), mode=mode,
                          draws=draws, seed=seed, even=even, where=where, progress=progress,
                          threads=threads)  # fmt: skip
        asked, only = reductions_of(what), conditions(self, where or ())
        if draws is not None:
            if zipped is not None or mode is not None:
                raise CallError("draws go with single values: leave `zipped` and `mode` out")
            source: PointSource = self._draw_source(draws, axes, seed or 0, even)
        elif _is_path(zipped):
            source = ParquetSource(
                self.spec, os.fspath(zipped), lambda rows: self.plan({}, zipped={**axes, **rows}),
                axes.keys(),
            )  # fmt: skip
        else:
            source = GridSource(self.plan(axes, mode=mode, zipped=zipped))
        plan = ExecutionPlan(self.spec, self.kernel, PointGrid((), 0, ()))
        states = reduce_source(
            plan, source, [*asked.values()], where=only, reads={n for c in only for n in c.reads},
            progress=progress, threads=threads,
        )  # fmt: skip
        return answers(what, [state.result(plan) for state in states])

    def _draw_source(
        self, points: int, given: Mapping[str, Any], seed: int, even: EvenNumbers | None
    ) -> DrawSource:
        """Draws of the uncertain params that are not given."""
        if self._draws is None or not self.spec.drawn:
            raise CallError(f"{self.spec.name}: no param has a distribution, as in `~ normal(…)`")
        if points < 1:
            raise CallError("draw at least one sample")
        plan = self.plan({}, zipped=given)
        free = free_of(plan, given)
        even = even or RandomStream(self.spec.drawn, seed)
        return DrawSource(plan, self._draws(), free, even, points)

    def iter_chunks(
        self, size: int = 1 << 20, at: Any = None, /, *,
        mode: str | None = None, zipped: Any = None, **axes: Any,
    ) -> Iterator[Sweep]:  # fmt: skip
        """The sweep in parts of at most `size` points, one in memory at a time."""
        at, zipped = tables(at, zipped)
        axes = self.named("iter_chunks", at, axes, zipped, mode=mode)
        return self.plan(axes, mode=mode, zipped=zipped).iter_chunks(size)

    def plan(
        self, at: Any = None, /, *, mode: str | None = None, zipped: Any = None, **axes: Any,
    ) -> ExecutionPlan:  # fmt: skip
        """The points of a sweep, nothing evaluated yet."""
        at, zipped = tables(at, zipped)
        if _is_path(zipped):
            zipped = ParquetColumns(self.spec, os.fspath(zipped)).whole()
        axes = self.named("plan", at, axes, zipped, mode=mode)
        if mode not in (None, "grid", "zip"):
            raise CallError(f"mode is grid or zip, not {mode!r}")
        together = dict(zipped or {})
        twice = sorted(together.keys() & axes.keys())
        if twice:
            raise CallError(f"{self.spec.name}.{twice[0]} is given twice")
        if mode == "zip":
            together.update(axes)
            axes = {}
        together = {n: self._spread(n, v) for n, v in together.items()}
        axes = {n: self._spread(n, v) for n, v in axes.items()}
        columns = {n: self.column(self.param(n), v) for n, v in {**together, **axes}.items()}
        lengths = {n: len(columns[n]) for n, v in together.items() if is_vector(v)}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{n} has {count} values" for n, count in lengths.items())
            raise CallError(f"columns of different lengths do not go together: {said}")
        dims = [(n, len(columns[n])) for n, v in axes.items() if is_vector(v)]
        if lengths:
            dims.insert(0, ("point", next(iter(lengths.values()))))
        strides, stride = dict[str, int](), 1
        for name, count in reversed(dims):
            strides[name] = stride
            stride *= count
        if not self._needed <= columns.keys():
            raise self._lacking(columns)
        placed = []
        for p in self.spec.params:
            column = columns.get(p.name)
            column = np.array([p.default], np.float64) if column is None else column
            dim = "point" if p.name in lengths else p.name
            placed.append((column, strides.get(dim, 1), len(column)))
        grid = PointGrid(tuple(placed), stride, tuple(dims))
        return ExecutionPlan(self.spec, self.kernel, grid)

    def sample(
        self, points: int = 100_000, at: Mapping[str, Any] | None = None, /, *,
        seed: int | None = None, threads: int | None = None, keep: bool | None = None,
        even: EvenNumbers | None = None, **given: Any,
    ) -> Samples:  # fmt: skip
        """Evaluate at points drawn from the distributions of the params (`param … ~ …`).

        Params that are given stay as given. A seed (0 if none is) gives the same draws on any
        number of threads, and more points go on where fewer stopped. With `keep` the result holds
        all draws, not only the first. `even` gives other numbers between 0 and 1 than a random
        stream: `hwdsl.uncertainty` has Sobol points and correlated ones. Raises CallError if no
        param left is uncertain.
        """
        given = self.named("sample", at, given, seed=seed, threads=threads, keep=keep, even=even)
        of = self._draw_source(points, given, seed or 0, even)
        return draw(
            of.plan, of.kernel, points, given, seed=seed or 0, threads=threads, keep=bool(keep),
            even=even,
        )  # fmt: skip

    def drawing(
        self, at: Mapping[str, Any]
    ) -> tuple[list[str], Callable[[Mapping[str, Floats]], Sweep]]:
        """The uncertain params that are not given, and what evaluates at their quantiles.

        The function takes numbers between 0 and 1, a column for each of these params. Raises
        CallError if no param left is uncertain.
        """
        if self._draws is None or not self.spec.drawn:
            raise CallError(f"{self.spec.name}: no param has a distribution, as in `~ normal(…)`")
        plan, kernel = self.plan({}, zipped=at), self._draws()
        free = free_of(plan, at)
        return free, lambda even: evaluate(plan, kernel, free, even)[0]

    def param(self, name: str) -> ParamSpec:
        """A param by name; CallError with the closest name if there is none."""
        slot = self._slots.get(name)
        if slot is None:
            raise CallError(
                f"{self.spec.name} has no param {name}{did_you_mean(name, [*self._slots])}"
            )
        return self.spec.params[slot[0]]

    @property
    def units(self) -> Mapping[str, Scale]:
        """The units that texts may use."""
        return self.spec.units if self._units is None else self._units()

    def axis(self, name: str, text: str) -> list[str | bool] | Floats:
        """Values written for a sweep: `lo..hi:n`, `lo..hi step s`, `a,b,c`, or `all` of a choice.

        A plain `lo` takes the unit of `hi`, so `1..10 TB/s:4` is 1, 4, 7 and 10 TB/s. A range of
        an int needs no steps: it is all whole numbers.
        """
        return spread(text, self.param(name), self.units)

    def _spread(self, name: str, value: Any) -> Any:
        """The values of a text that denotes several (`1..8`); any other value unchanged."""
        if not isinstance(value, str):
            return value
        meant = elsewhere(value, self.param(name))
        if meant is not None:
            raise CallError(f"{name}={value}: many values are not written so; write {meant}")
        if not is_many(value):
            return value
        found = self.axis(name, value)
        return found.view(InUnit) if isinstance(found, np.ndarray) else found

    def column(self, param: ParamSpec, value: Any) -> Floats:
        """Values of a param in base units."""
        try:
            column = to_base(
                param, value if is_vector(value) else [value], partial(self.base, param)
            )
        except Masked as error:
            raise self._bad(param, str(error)) from None
        if not len(column):
            raise self._bad(param, "no values given")
        return column

    def base(self, param: ParamSpec, value: Any) -> float:
        """One value in base units: a number, a text with a unit, a bool or a label."""
        if hasattr(value, "to_base_units") and hasattr(value, "units"):
            units = f"{value.units:~C}".replace("**", "^")
            units = units.replace("\u00b5", "u").replace("\u03bc", "u")
            value = joined(str(value.magnitude), units)
        if param.kind == "choice":
            if isinstance(value, str) and value in param.labels:
                return float(param.labels.index(value))
            raise self._bad(param, f"{value!r} is none of them")
        if param.kind == "bool":
            found = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0}.get(str(value))
            if found is None:
                raise self._bad(param, f"{value!r} is neither true nor false")
            return found
        if isinstance(value, str) and param.values and value in param.labels:
            return param.values[param.labels.index(value)]
        scale = param.scale
        if isinstance(value, str):
            base, scale = self._text(param, value)
        elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            if not param.plain and value not in (math.inf, -math.inf):
                raise self._bad(param, param.needs_unit(value))
            try:
                number = float(value)
                base = float(param.scale.to_base(number))
            except OverflowError:
                number, base = 0.0, math.inf
            if math.isinf(base) and math.isfinite(number):
                raise self._bad(param, "the number is beyond what a float64 holds")
        else:
            hint = "; give many values to sweep" if is_vector(value) else ""
            raise self._bad(param, f"{value!r} is not a number or a text{hint}")
        if param.values:
            return self._alternative(param, value, base, scale)
        base = float(clamp_to_range(param, base))
        if not param.low <= base <= param.high:
            raise self._bad(param, f"{value} is out of range", scale)
        if param.kind == "int" and base % 1 != 0:
            raise self._bad(param, f"{value} is not whole", scale)
        return base

    def _alternative(self, param: ParamSpec, value: Any, base: float, scale: Scale) -> float:
        """The number of a choice between numbers that a value is."""
        if base in param.values:  # infinity too, from which nothing has a distance
            return base
        near = min(param.values, key=lambda known: abs(known - base))
        if not (math.isfinite(near) and abs(near - base) <= NEAR * abs(near)):
            raise self._bad(param, f"{value} is none of them", scale)
        return near

    def _text(self, param: ParamSpec, text: str) -> tuple[float, Scale]:
        """A text as a number in base units, and the unit that it is written in."""
        if is_many(text) or elsewhere(text, param):
            raise self._bad(param, f"{text} is several values where one is read; give it to sweep")
        try:
            found = written(text, param.scale, self.units)
            if found.unit is None and found.size is not None and not param.plain:
                raise CallError(param.needs_unit(text))
            scale = param.scale if found.unit is None else scale_of(found.unit)
            return found.base(param.scale), scale
        except CallError as error:
            raise self._bad(param, str(error)) from None

    def _lacking(self, given: Collection[str]) -> CallError:
        """What to say where params without a default are left out: all of them."""
        left = [p for p in self.spec.params if p.name in self._needed and p.name not in given]
        if len(left) == 1:
            return self._bad(left[0], "a value is needed")
        listed = ", ".join(f"{p.name} ({p.describe()})" for p in left)
        return CallError(f"{self.spec.name}: values are needed of {listed}")

    def _bad(self, param: ParamSpec, what: str, scale: Scale | None = None) -> CallError:
        """What is wrong with a value, and what the param takes, in a unit if one is given."""
        return CallError(f"{self.spec.name}.{param.name}: {what}; it is {param.describe(scale)}")

    @property
    def __signature__(self) -> Signature:
        """The params as keywords, each with its default as a user would write it."""
        params = [
            Parameter(p.name, Parameter.KEYWORD_ONLY, default=_written(p)) for p in self.spec.params
        ]
        return Signature(params, return_annotation=Result)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KernelEvaluator):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self.spec.name))

    def _content(self) -> tuple[object, ...]:
        """All that decides what it answers."""
        return type(self), self.spec, self._home

    def __reduce__(self) -> str | tuple[Any, ...]:
        if not self._home:
            raise TypeError(f"{self!r} belongs to no module: it cannot be pickled")
        return _imported, (self._home, self.spec.name)

    def _repr_html_(self) -> str:
        params = [
            (p.name, html.number(p.show(p.default)) if p.default is not None else "", p.scale.unit,
             p.describe(), " ".join(p.doc.split()))
            for p in self.spec.params
        ]  # fmt: skip
        outputs = [(o.name, o.scale.unit, " ".join(o.doc.split())) for o in self.spec.outputs]
        head = ("param", "default", "unit", "values", "")
        title = " ".join(f"{self.spec.name}. {self.spec.doc}".split())
        return html.table(title, head, params) + html.table("", ("output", "unit", ""), outputs)

    def __repr__(self) -> str:
        return f"<evaluator {self.spec.name}({', '.join(self._slots)})>"


def tables(at: Any, zipped: Any) -> tuple[Any, Mapping[str, Any] | None]:
    """The two arguments with tables turned into columns that go together."""
    columns = frame(zipped)
    zipped = zipped if columns is None else columns
    columns = frame(at)
    if columns is None:
        return at, zipped
    twice = sorted(columns.keys() & _map(zipped).keys())
    if twice:
        raise CallError(f"{twice[0]} is given twice: in the table and in `zipped`")
    return None, {**columns, **_map(zipped)}


def _written(param: ParamSpec) -> Any:
    """A param's default as a signature shows it."""
    if param.default is None:
        return Parameter.empty
    value = param.show(param.default)
    if param.kind in ("real", "int") and param.scale.unit:
        return f"{value:.12g} {param.scale.unit}"
    return value


def _imported(home: str, name: str) -> Any:
    """The evaluator `name` of a module: what a pickle of one holds."""
    return getattr(importlib.import_module(home), name)


def _signed(param: ParamSpec) -> tuple[float, float, float]:
    """The parts of a param's scale; -0.0 as the offset is none, and leaves a zero its sign."""
    up, down, offset = param.scale.parts()
    return up, down, offset or -0.0


def _plain_types(param: ParamSpec) -> tuple[type, ...]:
    """Types whose values need no more than a look at the range."""
    if param.labels or not param.plain:
        return ()
    return {"real": (float, int), "int": (int,)}.get(param.kind, ())


def _map(value: object) -> Mapping[str, Any]:
    """A mapping, or none: a param's value may stand where an option was expected."""
    return value if isinstance(value, Mapping) else {}


def _is_path(value: object) -> bool:
    """Whether a value names a file."""
    return isinstance(value, str | os.PathLike)
