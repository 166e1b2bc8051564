"""Many points evaluated: columns, the best of them, and tables for other packages."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import html, violated
from .columns import to_display_unit
from .errors import CallError
from .kernel import Floats, Words
from .pareto import pareto_front
from .point_grid import PointGrid
from .result import Result
from .spec import (
    Spec,
    described_by,
    did_you_mean,
    labels_of,
    names_of,
    unit_of,
)

VIOLATIONS = "violations"
"""The column of tables that names the rules which a point breaks."""


class Sweep:
    """Many points evaluated: `sweep["throughput"]`, `.feasible`, `.best(…)`, `.to_arrow()`.

    The outputs of infeasible points are NaN: what cannot be built has no throughput and no price.
    `raw` is the same sweep with what the formulas give there. Sweeps copy, pickle and compare: two
    are equal if their points and all answers are (NaN is equal to NaN).
    """

    def __init__(
        self, spec: Spec, grid: PointGrid, columns: Sequence[Floats], words: Words, *,
        raw: bool = False,
    ) -> None:  # fmt: skip
        self.spec, self.grid, self.words, self.is_raw = spec, grid, words, raw
        self._columns = dict(zip((o.name for o in self.spec.outputs), columns, strict=True))

    @property
    def raw(self) -> Sweep:
        """The same with what the formulas give, at infeasible points too. Nothing is copied."""
        return Sweep(self.spec, self.grid, [*self._columns.values()], self.words, raw=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the grid's axes, in the order given."""
        return tuple(n for _, n in self.grid.dims)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the grid's axes."""
        return tuple(n for n, _ in self.grid.dims)

    def __len__(self) -> int:
        return self.grid.points

    def __getitem__(self, key: str | int) -> Any:
        """By name, an output's or a param's values in its declared unit, in the sweep's shape.

        An output that is a vector has one more axis, over its labels. By number, the result at
        that point; the last axis varies fastest.
        """
        if isinstance(key, str):
            vector = labels_of(self.spec, key)
            if vector:
                columns = [self.column(f"{key}.{label}") for label in vector]
                return np.stack(columns, axis=-1).reshape(*self.shape, len(vector))
            return self.column(key).reshape(self.shape)
        if not hasattr(key, "__index__"):
            raise TypeError(f"{key!r} is neither a name nor a number: take([…]) takes many points")
        point = operator.index(key)
        if not -len(self) <= point < len(self):
            raise IndexError(f"point {point} of {len(self)}")
        return self.result(point % len(self))

    def __getattr__(self, name: str) -> NDArray[Any]:
        """An output's or a param's values, as `sweep[name]` has them."""
        if name.startswith("_") or name == "spec":
            raise AttributeError(name)
        try:
            found: NDArray[Any] = self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None
        return found

    def unit(self, name: str) -> str:
        """The unit of an output or param, such as `token/s`; empty for a pure number."""
        return unit_of(self.spec, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._ipython_key_completions_()]

    def _ipython_key_completions_(self) -> list[str]:
        return [*names_of(self.spec), *(p.name for p in self.spec.params)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sweep):
            return NotImplemented
        if (self.spec, self.grid.dims) != (other.spec, other.grid.dims):
            return False
        names = [*(p.name for p in self.spec.params), *self._columns]
        return np.array_equal(self.words, other.words) and all(
            np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            for a, b in ((self.column(n), other.column(n)) for n in names)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays may be written to

    def column(self, name: str) -> NDArray[Any]:
        """An output's or a param's values in its declared unit, a value per point.

        An output is NaN where the point is infeasible, and a case of an enum an empty text.
        """
        if name in self._columns:
            info = next(o for o in self.spec.outputs if o.name == name)
            found = self._columns[name]
            if not (self.is_raw or self._whole):
                found = found + self._absent
            return _labelled(found, info.labels) if info.labels else found
        for p, (values, stride, count) in zip(self.spec.params, self.grid.axes, strict=True):
            if p.name == name:
                points = np.arange(self.grid.first, self.grid.first + len(self))
                return to_display_unit(p, values)[points // stride % count]
        known = [*self._columns, *(p.name for p in self.spec.params)]
        raise KeyError(f"{self.spec.name} has no {name}{did_you_mean(name, known)}")

    @cached_property
    def _good(self) -> NDArray[np.bool_]:
        """The feasible points, found once for all columns."""
        return ~violated.marked(self.words, self.spec.required)

    @cached_property
    def _absent(self) -> Floats:
        """What leaves an output as it is, to the bit, or makes it NaN where a point is infeasible.

        Adding it takes a third of the time of a selection.
        """
        with np.errstate(invalid="ignore"):
            return np.divide(-0.0, self._good)  # -0.0 / 1, and 0 / 0

    @cached_property
    def _whole(self) -> bool:
        """Whether all points are feasible: then there is nothing to leave out."""
        return bool(self._good.all())

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Where no `require` is broken and every output is a number."""
        return self._good.reshape(self.shape).copy()  # which users change

    @property
    def violations(self) -> dict[str, int]:
        """How many points break each rule that any breaks, `undefined` included."""
        return violated.counts(self.words, self.spec.rule_names)

    def violation_texts(self) -> NDArray[Any]:
        """Of each point the names of the rules it breaks, blanks between; empty for none."""
        return violated.texts(self.words, self.spec.rule_names)

    def broken(self, rule: str) -> NDArray[np.bool_]:
        """Where a rule is broken."""
        names = self.spec.rule_names
        if rule not in names:
            raise KeyError(f"{self.spec.name} has no rule {rule}{did_you_mean(rule, names)}")
        return violated.bit(self.words, names.index(rule)).reshape(self.shape)

    def result(self, point: int) -> Result:
        """One of the points."""
        values = self.grid.point(point)
        outputs = [float(o.scale.to_base(self._columns[o.name][point])) for o in self.spec.outputs]
        words = [int(w) for w in self.words[point]]
        return Result(self.spec, values, outputs, words, self.is_raw)

    def best(self, maximize: str = "", *, minimize: str = "") -> Result:
        """The feasible point with the most (or least) of an output or param; the first of equals.

        Points where it is infinite are left out.
        """
        if bool(maximize) == bool(minimize):
            raise CallError("name one output or param, to maximize or to minimize")
        values = self._objective(maximize or minimize, bool(maximize))
        allowed = self._comparable([values])
        return self.result(int(allowed[np.argmin(values[allowed])]))

    def pareto(
        self, *, maximize: str | Sequence[str] = (), minimize: str | Sequence[str] = ()
    ) -> Sweep:
        """The feasible points no other is at least as good as in all and better in one.

        Outputs and params that are numbers can be asked for. Points where one of them is infinite
        are left out.
        """
        up, down = ([n] if isinstance(n, str) else list(n) for n in (maximize, minimize))
        goals = [self._objective(n, True) for n in up] + [self._objective(n, False) for n in down]
        if not goals:
            raise CallError("name outputs or params to maximize or to minimize")
        allowed = self._comparable(goals)
        return self.take(allowed[pareto_front([g[allowed] for g in goals])])

    def _comparable(self, goals: Sequence[Floats]) -> NDArray[np.int64]:
        """The feasible points where all goals are finite; CallError if there are none."""
        feasible = np.flatnonzero(self._good)
        if not len(feasible):
            raise CallError(f"none of the {len(self)} points is feasible: {self.violations}")
        finite = feasible[np.all([np.isfinite(g[feasible]) for g in goals], axis=0)]
        if not len(finite):
            raise CallError(f"nothing asked for is finite at any of {len(feasible)} points")
        return finite

    def _objective(self, name: str, maximize: bool) -> Floats:
        numbers = [p.name for p in self.spec.params if p.kind in ("real", "int")]
        if name not in self._columns and name not in numbers:
            known = did_you_mean(name, [*self._columns, *numbers])
            raise CallError(f"{self.spec.name} has no output or numeric param {name}{known}")
        values = self._columns[name] if name in self._columns else self.column(name)
        return np.asarray(-values if maximize else values, np.float64)

    def take(self, points: Sequence[int] | NDArray[Any]) -> Sweep:
        """Some of the points, as a sweep of one dimension: their numbers, or a mask of bools."""
        points = np.asarray(points)
        if points.dtype == np.bool_:
            points = np.flatnonzero(points)
        elif not len(points):
            points = points.astype(np.int64)
        elif points.ndim != 1 or points.dtype.kind not in "iu":
            raise TypeError("points are taken by a list of their numbers, or a mask of bools")
        if len(points) and not (-len(self) <= points.min() and points.max() < len(self)):
            raise IndexError(f"some of the points are outside the sweep of {len(self)}")
        points = points % max(len(self), 1)
        columns = [c[points] for c in self._columns.values()]
        grid = self.grid.subset(points)
        return Sweep(self.spec, grid, columns, self.words[points], raw=self.is_raw)

    def iter_chunks(self, size: int) -> Iterator[Sweep]:
        """The points in parts of at most `size`."""
        if size < 1:
            raise CallError("a chunk has at least one point")
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Columns by name: params, outputs, `feasible`, and `violations`: the rules broken."""
        names = [p.name for p in self.spec.params] + list(self._columns)
        return {**{n: self.column(n) for n in names}, **self._verdicts()}

    def _verdicts(self) -> dict[str, NDArray[Any]]:
        """What tables say of points beside params and outputs; an output has its own name."""
        found = {"feasible": self._good.copy(), VIOLATIONS: self.violation_texts()}
        return {n: c for n, c in found.items() if n not in self._columns}

    def _nullable(self) -> dict[str, NDArray[Any]]:
        """Columns as frames take them: no case of an enum is None, where NumPy has no text."""
        columns = self.to_numpy()
        for info in self.spec.outputs:
            if info.labels and (missing := columns[info.name] == "").any():
                columns[info.name] = columns[info.name].astype(np.object_)
                columns[info.name][missing] = None
        return columns

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; units are in the fields' metadata."""
        pa = _package("pyarrow", "to_arrow")
        units, texts = self.units, pa.string()
        arrays = {n: pa.array(c, texts if c.dtype == np.object_ else None)
                  for n, c in self._nullable().items()}  # fmt: skip
        fields = [pa.field(n, a.type, metadata={"unit": units.get(n, "")})
                  for n, a in arrays.items()]  # fmt: skip
        return pa.table(list(arrays.values()), schema=pa.schema(fields))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`, a row per point; units by column are in `attrs["units"]`."""
        frame = _package("pandas", "to_pandas").DataFrame(self._nullable())
        frame.attrs["units"] = self.units
        return frame

    def to_polars(self) -> Any:
        """A `polars.DataFrame`, a row per point."""
        polars = _package("polars", "to_polars")
        return polars.DataFrame({
            n: polars.Series(n, c.tolist(), polars.String) if c.dtype == np.object_ else c
            for n, c in self._nullable().items()
        })  # fmt: skip

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` with the grid's axes as coordinates.

        Each variable has its unit and its text in `attrs["units"]` and `attrs["long_name"]`.
        """
        coordinates = {}
        for p, (values, _, _) in zip(self.spec.params, self.grid.axes, strict=True):
            if p.name in self.dims:
                coordinates[p.name] = to_display_unit(p, values)
        data = {n: (self.dims, self[n]) for n in self._columns}
        told = {n: (self.dims, c.reshape(self.shape)) for n, c in self._verdicts().items()}
        found = _package("xarray", "to_xarray").Dataset({**data, **told}, coordinates)
        for described in described_by(self.spec):
            if described.name in found.variables:
                attrs = {
                    "units": described.scale.unit,
                    "long_name": " ".join(described.doc.split()),
                }
                found[described.name].attrs.update({k: v for k, v in attrs.items() if v})
        return found

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column; empty for a pure number."""
        found = {d.name: d.scale.unit for d in described_by(self.spec)}
        return {**found, **{n: "" for n in ("feasible", VIOLATIONS) if n not in found}}

    def _repr_html_(self) -> str:
        first = self.take(np.arange(min(len(self), html.ROWS)))
        columns, units = first.to_numpy(), self.units
        head = [f"{n} [{units[n]}]" if units[n] else n for n in columns]
        rows = [[html.number(cell) for cell in row] for row in zip(
            *(c.tolist() for c in columns.values()), strict=True)]  # fmt: skip
        rest = len(self) - len(rows)
        return html.table(repr(self)[1:-1], head, rows, f"… {rest:,} more points" if rest else "")

    def __repr__(self) -> str:
        grid = " x ".join(_named(d, n) for d, n in self.grid.dims) or "1 point"
        good = int(np.count_nonzero(self._good))
        return f"<sweep of {self.spec.name}: {grid}, {good} of {len(self)} feasible>"


def _named(dim: str, count: int) -> str:
    """How long an axis is; that of listed points has no param's name."""
    name = ("point" if count == 1 else "points") if dim == "point" else dim
    return f"{count} {name}"


def _package(name: str, method: str) -> Any:
    """A package that only some users have; without it, how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"{method} needs {name}: pip install {name}, or all of them with 'hwdsl[frames]'",
            name=name,
        ) from None


def _labelled(values: Floats, labels: Sequence[str]) -> NDArray[Any]:
    names = np.array([*labels, ""])
    inside = (values >= 0) & (values < len(labels))
    return np.asarray(names[np.where(inside, values, len(labels)).astype(np.int64)])
