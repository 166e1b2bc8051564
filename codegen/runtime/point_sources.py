"""Where the points of a sweep that is reduced come from: a grid, draws, the rows of a Parquet file.

A source gives its points in tasks. What is read from a file is read by one thread at a time; what a
task does is done by the thread that takes it. No source keeps more than the points under way.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .columns import InUnit
from .errors import CallError
from .execution_plan import CHUNK, ExecutionPlan, PointStretch
from .kernel import Kernel
from .sample import EvenNumbers, drawn_grid
from .spec import Spec, did_you_mean

STRETCH = 1 << 18
"""Points that a thread takes at a time: to take them takes a lock."""
VERDICTS = ("feasible", "violations")


@dataclass(frozen=True)
class SourcePart:
    """A stretch of points that one thread evaluates block after block.

    `first` is the number that the first point of its grid has in the sweep.
    """

    points: PointStretch
    first: int


Task = Callable[[], Iterable[SourcePart]]


class PointSource(Protocol):
    """Points in parts."""

    @property
    def points(self) -> int:
        """How many there are."""

    def tasks(self) -> Iterator[Task]:
        """The points in parts; the next part is asked for by one thread at a time."""


@dataclass(frozen=True)
class GridSource:
    """The points of a plan."""

    plan: ExecutionPlan

    @property
    def points(self) -> int:
        """How many there are."""
        return self.plan.points

    def tasks(self) -> Iterator[Task]:
        """The points in parts."""
        for found in parts(self.plan, self.plan.grid.first):
            yield lambda found=found: (found,)  # type: ignore[misc]


def parts(plan: ExecutionPlan, first: int) -> Iterator[SourcePart]:
    """The points of a plan in parts; the first of them has the number `first`."""
    return (SourcePart(each, first) for each in plan.stretches(STRETCH))


@dataclass(frozen=True)
class DrawSource:
    """Draws of the params named in `free`, the others as in the plan, which is of one point.

    `kernel` makes values of the params from the numbers between 0 and 1 that `even` gives.
    """

    plan: ExecutionPlan
    kernel: Kernel
    free: Collection[str]
    even: EvenNumbers
    points: int

    def tasks(self) -> Iterator[Task]:
        """The draws in parts."""
        for start in range(0, self.points, CHUNK):
            yield lambda start=start: self._drawn(start)  # type: ignore[misc]

    def _drawn(self, start: int) -> Iterator[SourcePart]:
        even = self.even(start, min(start + CHUNK, self.points))
        grid, _, _ = drawn_grid(self.plan, self.kernel, self.free, even)
        return parts(self.plan.at(grid), start)


class ParquetSource:
    """The rows of a Parquet file, a point each.

    `plan` makes a plan of columns that go together; params in `given` are given apart. Raises
    CallError as `ParquetColumns` does.
    """

    def __init__(
        self, spec: Spec, path: str, plan: Callable[[Mapping[str, Any]], ExecutionPlan],
        given: Collection[str],
    ) -> None:  # fmt: skip
        self._file, self._plan = ParquetColumns(spec, path), plan
        self.points = self._file.rows
        twice = sorted(set(given) & set(self._file.names.values()))
        if twice:
            raise CallError(f"{spec.name}.{twice[0]} is given twice: in {path} too")

    def tasks(self) -> Iterator[Task]:
        """The rows in parts."""
        start = 0
        for batch in self._file.batches():
            yield lambda batch=batch, start=start: self._read(batch, start)  # type: ignore[misc]
            start += batch.num_rows

    def _read(self, batch: Any, start: int) -> Iterator[SourcePart]:
        return parts(self._plan(self._file.values(batch)), start)


class ParquetColumns:
    """A Parquet file whose columns are params, with titles as tables of sweeps have them.

    Columns of outputs and verdicts, which those tables have too, are not read. Raises CallError
    for a column that is no param, or in another unit than the param, and for a file without rows.
    """

    def __init__(self, spec: Spec, path: str) -> None:
        try:
            parquet = importlib.import_module("pyarrow.parquet")
        except ModuleNotFoundError:
            raise CallError("Parquet needs pyarrow: pip install 'hwdsl[tables]'") from None
        try:
            self._file = parquet.ParquetFile(path)
        except (OSError, importlib.import_module("pyarrow").ArrowException) as error:
            raise CallError(f"{path} cannot be read as Parquet: {error}") from None
        self.rows = int(self._file.metadata.num_rows)
        if not self.rows:
            raise CallError(f"{path} has no rows")
        self.names = _params_by_column(spec, path, self._file.schema_arrow.names)
        self._numbers = {p.name for p in spec.params if p.kind in ("real", "int")}

    def batches(self, size: int = CHUNK) -> Iterator[Any]:
        """The rows in parts of at most `size`."""
        found: Iterator[Any] = self._file.iter_batches(size, columns=list(self.names))
        return found

    def whole(self) -> dict[str, Any]:
        """All rows: values by param."""
        return self.values(self._file.read(columns=list(self.names)))

    def values(self, rows: Any) -> dict[str, Any]:
        """Values by param of some rows."""
        columns: dict[str, Any] = {}
        for title, name in self.names.items():
            found = rows.column(rows.schema.get_field_index(title))
            if found.null_count:
                raise CallError(f"{name}: some rows have no value")
            values = np.asarray(found)
            if values.dtype == np.object_:
                columns[name] = values.tolist()
            elif "[" in title and name in self._numbers and values.dtype == np.float64:
                columns[name] = values.view(InUnit)
            else:
                columns[name] = values
        return columns


def _params_by_column(spec: Spec, path: str, titles: Collection[str]) -> dict[str, str]:
    """The params that the columns of a table have, by the columns' titles."""
    params = {p.name: p for p in spec.params}
    others = {o.name for o in spec.outputs} | set(VERDICTS)
    found = {}
    for title in titles:
        name, bracket, unit = title.partition(" [")
        if name in params:
            own = params[name].scale.unit
            if bracket and unit.removesuffix("]") != own:
                raise CallError(
                    f"{path}: {title} is in another unit than {spec.name}.{name}, {own}"
                )
            found[title] = name
        elif name not in others:
            hint = did_you_mean(name, [*params])
            raise CallError(f"{path} has a column {title}: {spec.name} has no param {name}{hint}")
    if not found:
        raise CallError(f"{path} has no column for a param of {spec.name}")
    return found
