"""An evaluator beside a measured table: predictions, errors, and whether all ways agree.

Input: a loaded module and what a `table` declaration says (or the command line). Output: a
`Validation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from hwdsl.api import driver
from hwdsl.api.evaluator import Evaluator, Module
from hwdsl.api.quantities import scale
from hwdsl.base.csv_table import Column
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, lies_below
from hwdsl.codegen.runtime import (
    CallError,
    Floats,
    OutputSpec,
    PointGrid,
    Scale,
    Sweep,
    joined,
    read,
)
from hwdsl.measure.measurements import MeasurementTable, read_table
from hwdsl.syntax import ast

MILLION = 1_000_000


@frozen
class Request:
    """What to validate: the evaluator's name, the table, its measured column, the outputs."""

    title: str
    evaluator: str
    data: Path
    measured: str
    output: str
    baseline: str | None = None
    label: str | None = None
    group: str | None = None


@frozen(eq=False)
class PredictionErrors:
    """Errors of predictions, and their summary: in shares of the measured value, or in a unit."""

    relative: Floats

    def of(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> PredictionErrors:
        """The errors of some rows: a mask, or their numbers."""
        return PredictionErrors(self.relative[rows])

    @property
    def median(self) -> float:
        """Median of the absolute errors."""
        return float(np.median(np.abs(self.relative)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute errors, between neighbours by linear interpolation."""
        with np.errstate(invalid="ignore"):  # between infinite ones
            return float(np.quantile(np.abs(self.relative), 0.9))

    @property
    def bias(self) -> float:
        """Mean of the errors with their signs: above 0 where predictions are too high."""
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.mean(self.relative))


@frozen(eq=False)
class Validation:
    """Rows measured and predicted, in the unit of the output; what was checked beside.

    Predictions are what the formulas give, at rows too that break a rule: those were measured, so
    they exist. `broken` counts the rows that break each rule, `infeasible` those with which the
    model says that they cannot be built.
    """

    request: Request
    scale: Scale
    labels: tuple[str, ...]
    measured: Floats
    predicted: Floats
    baseline: Floats | None
    groups: tuple[str, ...]
    unread: str
    broken: Mapping[str, int]
    infeasible: int
    compiled: bool
    interpreter_differs: int
    swept_differs: int
    repeated: int
    repeated_differs: int

    @property
    def unit(self) -> str:
        """The unit of the output."""
        return self.scale.unit

    @property
    def errors(self) -> PredictionErrors:
        """The errors of the output."""
        return PredictionErrors(_shares(self.predicted, self.measured))

    @property
    def disagreements(self) -> int:
        """Values that are not the same by all ways to compute them."""
        return self.interpreter_differs + self.swept_differs + self.repeated_differs

    @property
    def baseline_errors(self) -> PredictionErrors | None:
        """The errors of the baseline."""
        return (
            None
            if self.baseline is None
            else PredictionErrors(_shares(self.baseline, self.measured))
        )

    def by_group(self) -> dict[str, tuple[PredictionErrors, PredictionErrors | None]]:
        """The errors of each group, and the baseline's, in the order of the table; none without
        groups."""
        errors, baseline = self.errors, self.baseline_errors
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.groups):
            rows.setdefault(name, []).append(row)
        return {
            name: (errors.of(at), None if baseline is None else baseline.of(at))
            for name, at in ((name, np.array(at)) for name, at in rows.items())
        }


def _shares(predicted: Floats, measured: Floats) -> Floats:
    """How far predictions are off, in shares of what was measured."""
    with np.errstate(over="ignore"):
        return np.asarray(predicted / measured - 1)


def declares_measured_table(source: Source) -> bool:
    """Whether a file declares a `table` with `data`; what does not parse declares none."""
    tree = driver.parse(source, Diagnostics())
    return any(isinstance(item, ast.Display) and _has_data(item) for item in tree.items)


def validation_requests(module: Module) -> list[Request]:
    """The validations that a file's `table` declarations ask for.

    Raises CallError for a declaration with a setting that is missing or no name or text.
    """
    found = []
    for item in module.checked.main.tree.items:
        if isinstance(item, ast.Display) and _has_data(item):
            settings = {a.path[-1].name: _setting(item, a) for a in item.settings}
            found.append(_request(module.path.parent, item, settings))
    return found


def _has_data(item: ast.Display) -> bool:
    return item.form == "table" and any(a.path[-1].name == "data" for a in item.settings)


def _setting(item: ast.Display, setting: ast.Assign) -> str:
    value = setting.value
    if isinstance(value, ast.Name):
        return value.name
    if isinstance(value, ast.Text):
        return value.value
    name = setting.path[-1].name
    raise CallError(f"table {item.name.name}: {name} must be a name or a text ({setting.span})")


def _request(folder: Path, item: ast.Display, settings: dict[str, str]) -> Request:
    for name in ("of", "measured", "output"):
        if name not in settings:
            raise CallError(f"table {item.name.name} does not say `{name}` ({item.span})")
    data = folder / settings["data"]
    if not lies_below(data, folder):
        raise CallError(
            f"table {item.name.name}: `{settings['data']}` lies outside the folder of the program "
            f"({item.span}); copy it beside the file, or name it with --data"
        )
    return Request(
        item.name.name,
        settings["of"],
        data,
        settings["measured"],
        settings["output"],
        settings.get("baseline"),
        settings.get("label"),
        settings.get("group"),
    )


def validate(module: Module, request: Request) -> Validation:
    """Predict every row of the table. Raises CallError for a table that does not fit."""
    if request.evaluator not in module.evaluators:
        raise CallError(f"{module.path} has no evaluator {request.evaluator}")
    evaluator = module.evaluators[request.evaluator]
    names = [request.output] + ([request.baseline] if request.baseline else [])
    outputs = [output_of(evaluator, name) for name in names]
    table = read_table(request.data)
    given = inputs(evaluator, table, {request.measured})
    # What was measured has been built, whatever rules it breaks here: the raw values are scored.
    sweep = evaluator.sweep(zipped=given).raw
    other = evaluator.interpreted().sweep(zipped=given).raw
    labels = tuple(str(i) for i in range(1, table.rows + 1))
    measured = _in_unit(outputs[0], numbers(evaluator, table, request.measured, request.output))
    check_relative(table, measured)
    return Validation(
        request,
        outputs[0].scale,
        table.column(request.label).cells if request.label else labels,
        measured,
        sweep.column(request.output),
        sweep.column(request.baseline) if request.baseline else None,
        groups(table, request.group) if request.group else (),
        unmatched_columns(
            evaluator, table, {request.measured, request.label or "", request.group or ""}
        ),
        sweep.violations,
        int(np.count_nonzero(~sweep.feasible)),
        evaluator.compiled,
        _differences(sweep, {o.name: other.column(o.name) for o in evaluator.spec.outputs}),
        _differences(sweep, _by_rows(evaluator, given, table.rows)),
        *_repeated(evaluator, given, sweep),
    )


def check_relative(table: MeasurementTable, measured: Floats, hint: str = "") -> None:
    """Raise CallError for a measured value, in some unit, that no error can be a share of."""
    with np.errstate(divide="ignore", over="ignore"):
        bad = ~np.isfinite(1 / measured)
    if bad.any():
        raise CallError(
            f"{table.path}: a measured {measured[bad][0]:.3g} has no relative error{hint}"
        )


def output_of(evaluator: Evaluator, name: str) -> OutputSpec:
    """An output by name; CallError names those there are."""
    for output in evaluator.spec.outputs:
        if output.name == name:
            return output
    known = ", ".join(o.name for o in evaluator.spec.outputs)
    raise CallError(f"{evaluator.name} has no output {name}; it has {known}")


def groups(table: MeasurementTable, column: str) -> tuple[str, ...]:
    """The group of each row: the cell of a column."""
    return table.column(column).cells


def inputs(
    evaluator: Evaluator, table: MeasurementTable, but: Collection[str]
) -> dict[str, list[str]]:
    """The columns that are params, as texts with their units, but those in `but`."""
    given: dict[str, list[str]] = {}
    for param in evaluator.spec.params:
        if param.name not in table.columns or param.name in but:
            continue
        column = table.columns[param.name]
        if not all(column.cells):
            row = column.cells.index("") + 1
            raise CallError(f"row {row} of {table.path}: the cell of {param.name} is empty")
        given[param.name] = _with_unit(column)
        _each(table, given[param.name], partial(evaluator.base, param))
    if not given:
        names = ", ".join(p.name for p in evaluator.spec.params)
        raise CallError(f"no column of {table.path} is a param of {evaluator.name}: {names}")
    return given


def unmatched_columns(evaluator: Evaluator, table: MeasurementTable, read: Collection[str]) -> str:
    """What a misspelt header would leave: columns that are no params, and params without one.

    Not those in `read`. Empty unless there are both.
    """
    params = [p.name for p in evaluator.spec.params if p.name not in read]
    columns = [c for c in table.columns if c not in read and c not in params]
    missing = [p for p in params if p not in table.columns]
    if not (columns and missing):
        return ""
    return f"columns not read: {', '.join(columns)}; params at their defaults: {', '.join(missing)}"


def _each(
    table: MeasurementTable, cells: Sequence[str], read: Callable[[str], float]
) -> list[float]:
    """Every cell read, each text once; CallError names the row of the first that does not fit."""
    known: dict[str, float] = {}
    for row, cell in enumerate(cells, 1):
        if cell not in known:
            try:
                known[cell] = read(cell)
            except CallError as error:
                raise CallError(f"row {row} of {table.path}: {error}") from None
    return [known[cell] for cell in cells]


def _with_unit(column: Column) -> list[str]:
    return [joined(cell, column.unit or "") for cell in column.cells]


def numbers(evaluator: Evaluator, table: MeasurementTable, column: str, output: str) -> Floats:
    """A measured column in base units; cells without a unit are in that of the output."""
    info = next(o for o in evaluator.elaboration.outputs if o.name == output.partition(".")[0])
    cells = _with_unit(table.column(column))

    def base(cell: str) -> float:
        try:
            value = read(cell, scale(info.unit), evaluator.units)
            if math.isinf(value):
                raise CallError(f"`{cell}` is no measured value")
        except CallError as error:
            raise CallError(f"column {column}: {error}") from None
        return value

    return np.array(_each(table, cells, base))


def _in_unit(output: OutputSpec, base: Floats) -> Floats:
    return np.asarray(output.scale.from_base(base))


def _by_rows(
    evaluator: Evaluator, given: Mapping[str, Sequence[str]], rows: int
) -> dict[str, Floats]:
    """All outputs, one call a row: what a sweep gives must not depend on a row's neighbours."""
    results = [evaluator({n: cells[i] for n, cells in given.items()}).raw for i in range(rows)]
    return {o.name: np.array([r[o.name] for r in results]) for o in evaluator.spec.outputs}


def _repeated(
    evaluator: Evaluator, given: Mapping[str, Sequence[str]], sweep: Sweep
) -> tuple[int, int]:
    """Sweep the rows over and over, to a million points; return how many, and how many differ.

    Every row so meets every place in a tile and every thread. Left out where nothing is compiled.
    """
    if not evaluator.compiled:
        return 0, 0
    once = evaluator.plan(zipped=dict(given))
    times = -(-MILLION // len(sweep))
    dims = (("repeat", times), *once.grid.dims)
    many = once.at(PointGrid(once.grid.axes, times * len(sweep), dims)).run().raw
    differ = sum(
        _unequal(sweep.column(o.name), many.column(o.name).reshape(times, -1))
        for o in evaluator.spec.outputs
    )
    return times * len(sweep), differ


def _differences(sweep: Sweep, others: Mapping[str, Floats]) -> int:
    """How many values of all outputs differ."""
    return sum(_unequal(sweep.column(name), column) for name, column in others.items())


def _unequal(ours: Floats, theirs: Floats) -> int:
    """How many values differ (all NaN are the same)."""
    same = ours == theirs
    if ours.dtype.kind == "f":
        same |= np.isnan(ours) & np.isnan(theirs)
    return int(np.count_nonzero(~same))
