"""What a user holds in Python: modules with evaluators.

Input: a path. Output: a `Module` with the file's evaluators as attributes. Values go in as numbers (in
the unit the file declares), texts with a unit or foreign quantities; results come out in the units of
the outputs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from attrs import define, field

from hwdsl import driver, render, values
from hwdsl.diagnostics import Diagnostics, did_you_mean
from hwdsl.results import Axis, Floats, Grid, Kernel, Result, Sweep, from_base
from hwdsl.units import Unit

if TYPE_CHECKING:
    from hwdsl.codegen.ir import Graph
    from hwdsl.elaborate import Elaboration, OutputInfo, ParamInfo, RuleInfo
    from hwdsl.semantics.symbols import Checked, EvaluatorInfo
    from hwdsl.why import Derivation


class DescriptionError(ValueError):
    """A file that cannot be loaded; the message shows its diagnostics."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(render.render_text(diagnostics.items))
        self.diagnostics = diagnostics


@define(eq=False)
class Evaluator:
    """A question with free params: call it with values, sweep it, ask why.

    Params are given by name. A plain number is in the param's unit, a text such as `"4.8 TB/s"` or a
    quantity that converts itself (pint) in its own; what is left out takes its default. Arrays go
    in, arrays come out. What does not fit is a `ValueError` that names the param, its unit and range.
    """

    checked: Checked = field(repr=False)
    info: EvaluatorInfo = field(repr=False)
    elaboration: Elaboration = field(repr=False)
    graph: Graph = field(repr=False)
    kernel: Kernel = field(repr=False)
    compiled: bool

    @property
    def name(self) -> str:
        """The name in the file."""
        return self.info.name

    @property
    def doc(self) -> str:
        """The evaluator's `##` text with its params and outputs."""
        lines = [self.info.decl.doc, "", "Params:"]
        lines += [f"    {p.name}: {describe(p)}" for p in self.params]
        lines += ["", "Outputs:"]
        lines += [f"    {o.name} [{o.unit.name}] {o.doc}".rstrip() for o in self.outputs]
        return "\n".join(lines).strip()

    @property
    def params(self) -> tuple[ParamInfo, ...]:
        """The free inputs, in order."""
        return self.elaboration.params

    @property
    def outputs(self) -> tuple[OutputInfo, ...]:
        """The answers, in order."""
        return self.elaboration.outputs

    @property
    def rules(self) -> tuple[RuleInfo, ...]:
        """The rules that depend on params, in the order of their bits."""
        return self.elaboration.rules

    @property
    def units(self) -> Mapping[str, Unit]:
        """The units that texts may use: those the file sees."""
        return self.info.scope.visible_units

    # --- evaluation ---------------------------------------------------------------------------

    def __call__(self, **given: object) -> Result:
        """Evaluate one point, or as many as the arrays given are long."""
        return self.zipped(given).result()

    def sweep(self, **axes: object) -> Sweep:
        """Evaluate the grid over all values given; the last param given varies fastest."""
        return self.grid(axes).sweep()

    def grid(self, axes: Mapping[str, object]) -> Grid:
        """The grid over the values given, nothing evaluated yet."""
        columns = {name: self.column(name, value) for name, value in axes.items()}
        stride = 1
        placed: dict[str, Axis] = {}
        for name in reversed(columns):
            placed[name] = (columns[name], stride, len(columns[name]))
            stride *= len(columns[name])
        return self._grid(placed, stride, tuple((n, len(c)) for n, c in columns.items()))

    def zipped(self, given: Mapping[str, object]) -> Grid:
        """Points from columns of equal length; single values hold for all points."""
        columns = {name: self.column(name, value) for name, value in given.items()}
        single = {n for n, v in given.items() if np.ndim(v) == 0}  # type: ignore[arg-type]
        lengths = {n: len(c) for n, c in columns.items() if n not in single}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{n} {k}" for n, k in lengths.items())
            raise ValueError(f"{self.name}: columns of different lengths: {text}")
        points = next(iter(lengths.values()), 1)
        placed: dict[str, Axis] = {n: (c, 1, len(c)) for n, c in columns.items()}
        return self._grid(placed, points, (("", points),) if lengths else ())

    def _grid(
        self, placed: Mapping[str, Axis], points: int, shape: tuple[tuple[str, int], ...]
    ) -> Grid:
        axes = [
            placed[p.name] if p.name in placed else (np.array([self._default(p)]), 1, 1)
            for p in self.params
        ]
        return Grid(self.elaboration, self.graph, self.kernel, tuple(axes), points, shape)

    def _default(self, param: ParamInfo) -> float:
        if param.default is None:
            raise ValueError(f"{self.name} needs a value for {param.name}: {describe(param)}")
        return float(param.default)

    # --- values -------------------------------------------------------------------------------

    def param(self, name: str) -> ParamInfo:
        """A param by name; ValueError with the closest name if there is none."""
        for param in self.params:
            if param.name == name:
                return param
        names = [p.name for p in self.params]
        hint = did_you_mean(name, names) or f"it has {', '.join(names) or 'none'}"
        raise ValueError(f"{self.name} has no param {name}; {hint}")

    def column(self, name: str, value: object) -> Floats:
        """Values of a param in base units, as a column; a single value gives one of length 1."""
        param = self.param(name)
        if isinstance(value, values.ForeignQuantity):
            value = values.foreign(value, param.unit)
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and param.type == "real":
            column = self._scaled(param, np.atleast_1d(value).ravel())
        else:
            many = isinstance(items, Sequence) and not isinstance(items, str)
            cells = list(items) if many else [items]  # type: ignore[call-overload]
            column = np.array([self._one(param, cell) for cell in cells], dtype=np.float64)
        if not len(column):
            raise ValueError(f"{self.name}.{name}: no values given")
        self._in_range(param, column)
        return np.ascontiguousarray(column)

    @staticmethod
    def _scaled(param: ParamInfo, column: Floats) -> Floats:
        """Plain floats in base units, each rounded once as `Unit.to_base` does."""
        unit = param.unit
        if unit.factor == 1 and not unit.offset:
            return column
        if unit.factor.denominator == 1 and not unit.offset and unit.factor < 1 << 53:
            return column * float(unit.factor)  # an exact factor: one rounding
        from fractions import Fraction

        return np.array([unit.to_base(Fraction(v)) if np.isfinite(v) else v for v in column])

    def _one(self, param: ParamInfo, value: object) -> float:
        """One value in base units: a number, a text, a bool, or a choice by its label."""
        wrong = f"{self.name}.{param.name} is {describe(param)}"
        if isinstance(value, values.ForeignQuantity):
            value = values.foreign(value, param.unit)
        try:
            return self._converted(param, value)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{wrong}: {error}") from None

    def _converted(self, param: ParamInfo, value: object) -> float:
        if param.type in ("enum", "component"):
            if isinstance(value, str) and value in param.labels:
                return float(param.labels.index(value))
            raise ValueError(f"`{value}` is none of its cases")
        if param.type == "bool":
            texts = {"true": 1.0, "false": 0.0, True: 1.0, False: 0.0}
            key = bool(value) if isinstance(value, np.bool_) else value
            if isinstance(key, bool | str) and key in texts:
                return texts[key]
            raise ValueError(f"`{value}` is neither true nor false")
        if isinstance(value, str):
            number = values.quantity(value, param.unit, self.units)
        elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            number = values.plain(float(value), param.unit)
        else:
            raise ValueError(f"`{value!r}` is no number")
        if param.type == "int" and number != int(number if np.isfinite(number) else 0):
            raise ValueError(f"`{value}` is not whole")
        return number

    def axis(self, name: str, text: str) -> object:
        """Values written for a sweep: `lo..hi:n`, `a,b,c`, `all` cases of a choice, or one value.

        A plain `lo` takes the unit of `hi`, so `1..10 TB/s:4` is 1, 4, 7 and 10 TB/s.
        """
        param = self.param(name)
        if text == "all" and param.labels:
            return list(param.labels)
        low, dots, rest = text.partition("..")
        if not dots:
            return [cell.strip() for cell in text.split(",")]
        high, colon, count = rest.rpartition(":")
        if not colon or not count.strip().isdigit() or int(count) < 1:
            raise ValueError(f"{name}={text}: a range is written lo..hi:n")
        unit = values.written_unit(high, param.unit, self.units)
        ends = [values.quantity(e, u, self.units) for e, u in ((low, unit), (high, param.unit))]
        if unit.dim != param.unit.dim:
            raise ValueError(f"{self.name}.{name} is {describe(param)}, not in {unit.name}")
        column = np.linspace(*ends, int(count))
        if param.type == "int" and (column != np.round(column)).any():
            raise ValueError(f"{name}={text}: {count} steps do not fall on whole numbers")
        return from_base(column, param.unit)

    def _in_range(self, param: ParamInfo, column: Floats) -> None:
        low = -np.inf if param.low is None else param.low
        high = np.inf if param.high is None else param.high
        if param.type in ("real", "int") and not ((column >= low) & (column <= high)).all():
            bad = column[~((column >= low) & (column <= high))][0]
            shown = f"{param.unit.from_base(float(bad)):.12g} {_unit_text(param.unit)}".rstrip()
            raise ValueError(f"{self.name}.{param.name} is {describe(param)}: {shown} is outside")

    # --- derivatives and derivations ------------------------------------------------------------

    def gradient(
        self, output: str | None = None, wrt: Sequence[str] | None = None, **given: object
    ) -> dict[str, dict[str, object]]:
        """Exact derivatives at a point: output name to param name to value.

        In the units of output and param, so a `throughput` in token/s by a `bandwidth` in TB/s is in
        token/s per TB/s. Only real params have one.
        """
        outputs = [o.name for o in self.outputs] if output is None else [self._output(output)]
        names = self._reals(wrt)
        grid = self.zipped(given)
        return {o: self._slopes(o, names, grid) for o in outputs}

    def elasticity(
        self, output: str, wrt: Sequence[str] | None = None, **given: object
    ) -> dict[str, object]:
        """Per cent of change of an output for one per cent of each real param."""
        names = self._reals(wrt)
        grid = self.zipped(given)
        value = np.asarray(getattr(grid.result(), self._output(output)))
        slopes = self._slopes(output, names, grid)
        at = {n: grid.shown(n, 0, grid.points) for n in names}
        result: dict[str, object] = {}
        for n in names:
            share = np.asarray(slopes[n]) * np.asarray(at[n], dtype=np.float64).reshape(
                value.shape or (-1,)
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = share.reshape(value.shape) / value
            result[n] = ratio if value.shape else float(ratio)
        return result

    def _slopes(self, output: str, names: Sequence[str], grid: Grid) -> dict[str, object]:
        graph = self._differentiated(output, tuple(names))
        interpreted = driver.interpreter(graph)
        index = {name: i for i, (name, _) in enumerate(graph.outputs)}
        columns: list[Floats | None] = [np.empty(grid.points) for _ in graph.outputs]
        rules = np.empty((grid.points, graph.words), dtype=np.uint64)
        interpreted.run(grid.axes, 0, grid.points, columns, rules)
        unit = next(o.unit for o in self.outputs if o.name == output)
        slopes: dict[str, object] = {}
        for name in names:
            column = columns[index[f"d.{output}.{name}"]]
            assert column is not None
            scaled = column * float(self.param(name).unit.factor / unit.factor)
            slopes[name] = scaled if grid.shape else float(scaled[0])
        return slopes

    @cached_property
    def _gradients(self) -> dict[tuple[str, tuple[str, ...]], Graph]:
        return {}

    def _differentiated(self, output: str, names: tuple[str, ...]) -> Graph:
        key = (output, names)
        if key not in self._gradients:
            self._gradients[key] = driver.differentiate(self.graph, output, names)
        return self._gradients[key]

    def _output(self, name: str) -> str:
        names = [o.name for o in self.outputs]
        if name not in names:
            hint = did_you_mean(name, names) or f"it has {', '.join(names)}"
            raise ValueError(f"{self.name} has no output {name}; {hint}")
        return name

    def _reals(self, wrt: Sequence[str] | None) -> list[str]:
        if wrt is None:
            return [p.name for p in self.params if p.type == "real" and not p.labels]
        wrt = [wrt] if isinstance(wrt, str) else list(wrt)
        for name in wrt:
            if self.param(name).type != "real":
                raise ValueError(f"{self.name}.{name} is no real: it has no derivative")
        return wrt

    def why(self, output: str, **given: object) -> Derivation:
        """How an output comes about at one point: named steps with values, units and lines."""
        from hwdsl.why import derive

        return derive(self, self._output(output), self.zipped(given))


@define
class Module:
    """A loaded file: its evaluators by name, as attributes too, and its warnings."""

    path: Path
    evaluators: Mapping[str, Evaluator]
    diagnostics: Diagnostics = field(repr=False)
    checked: Checked = field(repr=False)

    @property
    def doc(self) -> str:
        """The file's `#!` text."""
        return self.checked.main.tree.doc

    def __getattr__(self, name: str) -> Evaluator:
        evaluators: Mapping[str, Evaluator] = object.__getattribute__(self, "evaluators")
        if name in evaluators:
            return evaluators[name]
        hint = did_you_mean(name, evaluators) or f"it has {', '.join(evaluators) or 'none'}"
        raise AttributeError(f"{self.path} has no evaluator {name}; {hint}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.evaluators]


def load(path: str | os.PathLike[str], *, compiled: bool = True) -> Module:
    """Check a file and build its evaluators, or take them from the cache.

    Without a C compiler they are interpreted, which is said once. Raises DescriptionError, a
    ValueError that shows the diagnostics, if the file is wrong.
    """
    diagnostics = Diagnostics()
    program = driver.program(Path(path), diagnostics)
    if program is None:
        raise DescriptionError(diagnostics)
    kernels, notice = driver.kernels(program.graphs, compiled=compiled)
    if notice:
        _notify(notice)
    infos = driver.evaluators(program.checked)
    evaluators = {
        name: Evaluator(
            program.checked, infos[name], elaboration, program.graphs[name], kernels[name],
            compiled and not notice,
        )
        for name, elaboration in program.elaborations.items()
    }  # fmt: skip
    return Module(Path(path), evaluators, diagnostics, program.checked)


_told: set[str] = set()


def _notify(notice: str) -> None:
    """Say something once in the life of the process."""
    if notice not in _told:
        _told.add(notice)
        print(f"hwdsl: {notice}", file=sys.stderr)


def describe(param: ParamInfo) -> str:
    """What a param takes: `a real in TB/s from 1 to 10`, or the cases of a choice."""
    if param.type in ("enum", "component"):
        return f"one of {', '.join(param.labels)}"
    if param.type == "bool":
        return "true or false"
    text = f"{'an int' if param.type == 'int' else 'a number'} in {_unit_text(param.unit)}"
    if text.endswith(" in "):
        text = text.removesuffix(" in ")
    if param.labels:
        return f"{text}, one of {', '.join(param.labels)}"
    for bound, word in ((param.low, "from"), (param.high, "to")):
        if bound is not None and np.isfinite(bound):
            text += f" {word} {param.unit.from_base(bound):.12g}"
    return text


def _unit_text(unit: Unit) -> str:
    return "" if unit.name in ("", "1") else unit.name
