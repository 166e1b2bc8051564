"""Points to evaluate and what comes out: grids, results, sweeps.

All columns inside are in base units; what a user reads is in the units of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from hwdsl.diagnostics import did_you_mean
from hwdsl.units import Unit

if TYPE_CHECKING:
    from hwdsl.codegen.ir import Graph
    from hwdsl.elaborate import Elaboration, ParamInfo

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Axis = tuple[Floats, int, int]
UNDEFINED = "undefined"
LARGEST_SWEEP = 1 << 31
"""Points a sweep holds in memory; more are streamed, or were not meant."""


class Kernel(Protocol):
    """What runs a graph over a range of points, compiled or interpreted."""

    def run(
        self,
        axes: Sequence[Axis],
        start: int,
        stop: int,
        outputs: Sequence[Floats | None],
        rules: NDArray[np.uint64],
    ) -> None:
        """Fill `outputs` and `rules` for the points `start:stop`."""


@frozen(eq=False)
class Grid:
    """Points not evaluated yet: an axis `(values, stride, count)` for each param.

    `shape` names the axes that were given with their lengths; it is empty for a single point, and
    its only name is "" for columns of equal length.
    """

    elaboration: Elaboration
    graph: Graph
    kernel: Kernel = field(repr=False)
    axes: tuple[Axis, ...] = field(repr=False)
    points: int
    shape: tuple[tuple[str, int], ...]

    def run(self, start: int, stop: int) -> tuple[list[Floats], Bools]:
        """Evaluate points: the outputs in their units, and a bool for each rule, True if broken.

        The last rule is `undefined`: some output is NaN.
        """
        outputs = [np.empty(stop - start) for _ in self.graph.outputs]
        words = np.zeros((stop - start, self.graph.words), dtype=np.uint64)
        self.kernel.run(self.axes, start, stop, outputs, words)
        named = dict(zip((n for n, _ in self.graph.outputs), outputs, strict=True))
        shown = [
            from_base(named[key], info.unit)
            for info in self.elaboration.outputs
            for key in keys_of(info.name, info.labels)
        ]
        return shown, unpack(words, len(self.graph.rules) + 1)

    def base(self, name: str, start: int, stop: int) -> Floats:
        """A param's values at points, in base units."""
        index = next(i for i, p in enumerate(self.elaboration.params) if p.name == name)
        axis_values, stride, count = self.axes[index]
        column: Floats = axis_values[(np.arange(start, stop) // stride) % count]
        return column

    def shown(self, name: str, start: int, stop: int) -> Any:
        """A param's values at points as people read them: in its unit, or the label of the case."""
        param = next(p for p in self.elaboration.params if p.name == name)
        return shown(param, self.base(name, start, stop))

    def result(self) -> Result:
        """Evaluate all points."""
        outputs, broken = self.run(0, self.points)
        return Result(self, outputs, broken)

    def sweep(self) -> Sweep:
        """Evaluate all points as a grid."""
        if self.points > LARGEST_SWEEP:
            raise ValueError(
                f"{self.points} points do not fit into memory; `hwdsl sweep` writes them in chunks"
            )
        outputs, broken = self.run(0, self.points)
        return Sweep(self, outputs, broken)


def keys_of(name: str, labels: Sequence[str]) -> list[str]:
    """The graph's outputs of an output: itself, or one for each label of a vector."""
    return [f"{name}.{label}" for label in labels] if labels else [name]


def from_base(column: Floats, unit: Unit) -> Floats:
    """A column in a unit, computed as `Unit.from_base` does."""
    shifted = column - float(unit.offset) if unit.offset else column
    return shifted if unit.factor == 1 else shifted / float(unit.factor)


def unpack(words: NDArray[np.uint64], bits: int) -> Bools:
    """Rule words as a bool for each rule."""
    columns = [(words[:, i // 64] >> np.uint64(i % 64)) & np.uint64(1) for i in range(bits)]
    return np.stack(columns, axis=1).astype(np.bool_)


def shown(param: ParamInfo, column: Floats) -> Any:
    """Param values as people read them: floats in the unit, ints, bools, or labels of cases."""
    if param.type in ("enum", "component"):
        return [param.labels[int(v)] for v in column]
    if param.type == "bool":
        return column != 0.0
    numbers = from_base(column, param.unit)
    return numbers.astype(np.int64) if param.type == "int" else numbers


@define(eq=False, repr=False, slots=False)
class Result:
    """Outputs as attributes, in their units: floats for a point, arrays for columns."""

    grid: Grid
    columns: list[Floats]
    broken: Bools

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.names:
            hint = did_you_mean(name, self.names) or f"it has {', '.join(self.names)}"
            raise AttributeError(f"no output {name}; {hint}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    @property
    def names(self) -> tuple[str, ...]:
        """The outputs' names, in order."""
        return tuple(o.name for o in self.grid.elaboration.outputs)

    @property
    def units(self) -> dict[str, str]:
        """The outputs' units."""
        return {o.name: o.unit.name for o in self.grid.elaboration.outputs}

    def __getitem__(self, name: str) -> Any:
        """An output by name; a labelled one is a dict from label to value."""
        at = 0
        for info in self.grid.elaboration.outputs:
            keys = keys_of(info.name, info.labels)
            if info.name == name:
                values = [self._shaped(c) for c in self.columns[at : at + len(keys)]]
                return dict(zip(info.labels, values, strict=True)) if info.labels else values[0]
            at += len(keys)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def as_dict(self) -> dict[str, Any]:
        """Name to value, in order."""
        return {name: self[name] for name in self.names}

    @property
    def feasible(self) -> Any:
        """Whether no `require` is broken and every output is defined; a bool, or one per point."""
        hard = [
            *(r.severity.value == "error" for r in self.grid.elaboration.rules),
            True,
        ]
        return self._shaped(~self.broken[:, hard].any(axis=1))

    @property
    def violations(self) -> Any:
        """The names of the broken rules: a tuple, or one per point."""
        names = [*(r.name for r in self.grid.elaboration.rules), UNDEFINED]
        rows = [
            tuple(n for n, bit in zip(names, row, strict=True) if bit)
            for row in self.broken.tolist()
        ]
        return rows if self.grid.shape else rows[0]

    def _shaped(self, column: NDArray[Any]) -> Any:
        return column if self.grid.shape else column[0].item()

    def __repr__(self) -> str:
        if self.grid.shape:
            return f"<{self.grid.points} results: {', '.join(self.names)}>"
        units = self.units
        parts = [f"{n}={_text(self[n], units[n])}" for n in self.names]
        return f"Result({', '.join([*parts, f'feasible={self.feasible}'])})"


def _text(value: object, unit: str) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_text(v, unit)}" for k, v in value.items()) + "}"
    return f"{value:.6g} {unit}".removesuffix(" 1") if isinstance(value, float) else str(value)


class Sweep(Result):
    """A grid of results: outputs are arrays with one dimension for each axis given."""

    def _shaped(self, column: NDArray[Any]) -> Any:
        return column.reshape([n for _, n in self.grid.shape])

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the axes, in the order of the arrays' dimensions."""
        return tuple(name for name, _ in self.grid.shape)

    def point(self, index: int) -> dict[str, Any]:
        """The params that were swept and the outputs at a point (in the flattened order)."""
        params = {n: self.grid.shown(n, index, index + 1)[0] for n in self.dimensions}
        outputs = {n: np.asarray(self[n]).ravel()[index].item() for n in self._scalars()}
        return {**params, **outputs}

    def best(self, output: str) -> dict[str, Any]:
        """The feasible point with the largest value of an output; `worst` has the smallest."""
        return self.point(self._extreme(output, largest=True))

    def worst(self, output: str) -> dict[str, Any]:
        """The feasible point with the smallest value of an output."""
        return self.point(self._extreme(output, largest=False))

    def pareto(
        self, maximize: str | Sequence[str] = (), minimize: str | Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """The feasible points that no other one beats in all outputs named, in grid order."""
        up = [maximize] if isinstance(maximize, str) else list(maximize)
        down = [minimize] if isinstance(minimize, str) else list(minimize)
        if not up + down:
            raise ValueError("name an output to maximize or to minimize")
        rows = np.flatnonzero(np.asarray(self.feasible).ravel())
        goals = [self._flat(n)[rows] for n in up] + [-self._flat(n)[rows] for n in down]
        order = np.lexsort(tuple(-g for g in reversed(goals)))
        kept: list[int] = []
        front = np.empty((0, len(goals)))
        table = np.stack(goals, axis=1)
        for i in order:  # sorted, so only points kept already can beat this one
            row = table[i]
            beaten = ((front >= row).all(axis=1) & (front > row).any(axis=1)).any()
            if not beaten:
                kept.append(int(i))
                front = np.vstack([front, row])
        return [self.point(int(rows[i])) for i in sorted(kept)]

    def to_columns(self) -> dict[str, Any]:
        """Flat columns: swept params, outputs, `feasible`; what pandas and Polars take as it is."""
        params = {n: self.grid.shown(n, 0, self.grid.points) for n in self.dimensions}
        outputs = {n: self._flat(n) for n in self._scalars()}
        return {**params, **outputs, "feasible": np.asarray(self.feasible).ravel()}

    def to_arrow(self) -> Any:
        """The columns as an Arrow table; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self.to_columns())

    def _scalars(self) -> list[str]:
        return [o.name for o in self.grid.elaboration.outputs if not o.labels]

    def _flat(self, output: str) -> Floats:
        if output not in self._scalars():
            raise ValueError(f"no output {output}; there are {', '.join(self._scalars())}")
        return np.asarray(self[output]).ravel()

    def _extreme(self, output: str, *, largest: bool) -> int:
        column = self._flat(output)
        worth = np.where(
            np.asarray(self.feasible).ravel(), column if largest else -column, -np.inf
        )
        index = int(np.argmax(worth))
        if worth[index] == -np.inf:
            raise ValueError("no point of this sweep is feasible")
        return index

    def __repr__(self) -> str:
        grid = " x ".join(f"{n}: {k}" for n, k in self.grid.shape)
        return f"<sweep over {grid or 'one point'}; {', '.join(self.names)}>"


