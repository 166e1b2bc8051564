"""An evaluator beside a measured table: predictions, errors, and whether all ways of computing agree.

Input: a loaded module and what a `table` declaration says (or the command line). Output: a
`Comparison`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

from hwdsl import driver, values
from hwdsl.evaluator import Evaluator, Module, describe
from hwdsl.measured import Column, Measured, read_table
from hwdsl.results import Floats, Grid, from_base
from hwdsl.syntax import ast


@frozen
class Request:
    """What to compare: the evaluator's name, the table, its measured column, the outputs."""

    title: str
    evaluator: str
    data: Path
    measured: str
    output: str
    baseline: str | None = None
    label: str | None = None


@frozen(eq=False)
class Errors:
    """Relative errors of predictions, and their summary in shares of the measured value."""

    relative: Floats

    @property
    def median(self) -> float:
        """Median of the absolute errors."""
        return float(np.median(np.abs(self.relative)))

    @property
    def mean(self) -> float:
        """Mean of the absolute errors."""
        return float(np.mean(np.abs(self.relative)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute errors, between neighbours by linear interpolation."""
        return float(np.quantile(np.abs(self.relative), 0.9))


@frozen(eq=False)
class Comparison:
    """Rows measured and predicted, in the unit of the output; what was checked beside."""

    request: Request
    unit: str
    labels: tuple[str, ...]
    measured: Floats
    predicted: Floats
    baseline: Floats | None
    broken: tuple[tuple[str, ...], ...]
    compiled: bool
    interpreter_differs: int
    swept_differs: int

    @property
    def errors(self) -> Errors:
        """The errors of the output."""
        return Errors(self.predicted / self.measured - 1)

    @property
    def baseline_errors(self) -> Errors | None:
        """The errors of the baseline."""
        return None if self.baseline is None else Errors(self.baseline / self.measured - 1)


def requests(module: Module) -> list[Request]:
    """The comparisons that a file's `table` declarations ask for.

    Raises ValueError for a declaration with a setting that is missing or no name or text.
    """
    found = []
    for item in module.checked.main.tree.items:
        if isinstance(item, ast.Display) and item.form == "table":
            settings = {a.path[-1].name: _setting(item, a) for a in item.settings}
            if "data" in settings:
                found.append(_request(module.path.parent, item, settings))
    return found


def _setting(item: ast.Display, setting: ast.Assign) -> str:
    value = setting.value
    if isinstance(value, ast.Name):
        return value.name
    if isinstance(value, ast.Text):
        return value.value
    name = setting.path[-1].name
    raise ValueError(f"table {item.name.name}: {name} must be a name or a text ({setting.span})")


def _request(folder: Path, item: ast.Display, settings: dict[str, str]) -> Request:
    for name in ("of", "measured", "output"):
        if name not in settings:
            raise ValueError(f"table {item.name.name} does not say `{name}` ({item.span})")
    return Request(
        item.name.name,
        settings["of"],
        folder / settings["data"],
        settings["measured"],
        settings["output"],
        settings.get("baseline"),
        settings.get("label"),
    )


def compare(module: Module, request: Request) -> Comparison:
    """Predict every row of the table. Raises ValueError for a table that does not fit."""
    if request.evaluator not in module.evaluators:
        raise ValueError(f"{module.path} has no evaluator {request.evaluator}")
    evaluator = module.evaluators[request.evaluator]
    table = read_table(request.data)
    given = _inputs(evaluator, table, request)
    grid = evaluator.zipped(given)
    result = grid.result()
    outputs = [request.output] + ([request.baseline] if request.baseline else [])
    for name in outputs:
        if name not in result.names:
            raise ValueError(f"{evaluator.name} has no output {name}; {', '.join(result.names)}")
    info = next(o for o in evaluator.outputs if o.name == request.output)
    measured = _numbers(evaluator, request, table.column(request.measured))
    labels = table.column(request.label).cells if request.label else tuple(
        str(i) for i in range(1, table.rows + 1)
    )  # fmt: skip
    return Comparison(
        request,
        "" if info.unit.name == "1" else info.unit.name,
        labels,
        from_base(measured, info.unit),
        result[request.output],
        result[request.baseline] if request.baseline else None,
        tuple(result.violations),
        evaluator.compiled,
        _differences(grid, _interpreted(grid)),
        _differences(grid, _by_rows(grid)),
    )


def _inputs(evaluator: Evaluator, table: Measured, request: Request) -> dict[str, list[str]]:
    """The columns that are params, as texts with their units."""
    given: dict[str, list[str]] = {}
    for param in evaluator.params:
        if param.name not in table.columns or param.name == request.measured:
            continue
        column = table.columns[param.name]
        cells = [f"{cell} {column.unit}" if column.unit else cell for cell in column.cells]
        if any(not cell for cell in column.cells):
            raise ValueError(
                f"{table.path}: a cell of {param.name} is empty; it is {describe(param)}"
            )
        given[param.name] = cells
    if not given:
        names = ", ".join(p.name for p in evaluator.params)
        raise ValueError(f"no column of {table.path} is a param of {evaluator.name}: {names}")
    return given


def _numbers(evaluator: Evaluator, request: Request, column: Column) -> Floats:
    unit = next(o.unit for o in evaluator.outputs if o.name == request.output)
    cells = [f"{cell} {column.unit}" if column.unit else cell for cell in column.cells]
    try:
        return np.array([values.quantity(cell, unit, evaluator.units) for cell in cells])
    except ValueError as error:
        raise ValueError(f"column {request.measured} of {request.data}: {error}") from None


def _interpreted(grid: Grid) -> list[Floats]:
    """All outputs by the interpreter."""
    other = Grid(
        grid.elaboration, grid.graph, driver.interpreter(grid.graph), grid.axes, grid.points,
        grid.shape,
    )  # fmt: skip
    return other.run(0, grid.points)[0]


def _by_rows(grid: Grid) -> list[Floats]:
    """All outputs, one call a row: what a sweep gives must not depend on its neighbours."""
    rows = [grid.run(i, i + 1)[0] for i in range(grid.points)]
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def _differences(grid: Grid, others: Sequence[Floats]) -> int:
    """How many values differ in any bit (all NaN are the same)."""
    outputs, _ = grid.run(0, grid.points)
    return sum(
        int((~((a == b) | (np.isnan(a) & np.isnan(b)))).sum())
        for a, b in zip(outputs, others, strict=True)
    )
