"""Validations as tables of text: rows, errors by group, a line for each of several.

Input: `Validation`s. Output: a header and rows, which a command prints and a report draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hwdsl.measure.validate import PredictionErrors, Validation


class Table(NamedTuple):
    """A header and its rows."""

    head: list[str]
    rows: list[list[str]]


def by_row(validation: Validation) -> Table:
    """Each row: its label, measured, predicted and the error, and what the baseline says."""
    request = validation.request
    unit = f" [{validation.unit}]" if validation.unit else ""
    head = [request.label or "row", f"measured{unit}", f"{request.output}{unit}", "error"]
    columns = [
        list(validation.labels), _numbers(validation.measured), _numbers(validation.predicted),
        _signed(validation.errors.relative),
    ]  # fmt: skip
    baseline = validation.baseline_errors
    if validation.baseline is not None and baseline is not None:
        head += [f"{request.baseline}{unit}", "error"]
        columns += [_numbers(validation.baseline), _signed(baseline.relative)]
    return Table(head, [list(row) for row in zip(*columns, strict=True)])


def by_group(validation: Validation) -> Table:
    """The errors of each group and of all rows, beside the baseline's."""
    request = validation.request
    head = [request.group or "", "rows", f"{request.output}: median", "p90", "bias"]
    if request.baseline:
        head += [f"{request.baseline}: median", "p90", "bias"]
    lines = validation.by_group() | {"all": (validation.errors, validation.baseline_errors)}
    return Table(head, [_line(name, *errors) for name, errors in lines.items()])


def summary_table(validations: Sequence[tuple[str, Validation]]) -> Table:
    """A line for each of several validations, which are named by their file and table."""
    head = ["table", "rows", "median", "p90", "bias"]
    any_baseline = any(v.baseline is not None for _, v in validations)
    if any_baseline:
        head += ["baseline: median", "p90", "bias"]
    rows = []
    for name, found in validations:
        row = _line(name, found.errors, found.baseline_errors)
        rows.append(row + [""] * (len(head) - len(row)))
    return Table(head, rows)


def error_summary(errors: PredictionErrors) -> list[str]:
    """Median, 90th percentile and bias of relative errors, in per cent."""
    return [*(f"{100 * e:.1f} %" for e in (errors.median, errors.p90)), *_signed([errors.bias])]


def _line(name: str, errors: PredictionErrors, baseline: PredictionErrors | None) -> list[str]:
    row = [name, str(len(errors.relative)), *error_summary(errors)]
    return row if baseline is None else row + error_summary(baseline)


def _numbers(values: Iterable[float]) -> list[str]:
    return [f"{value:.4g}" for value in values]


def _signed(values: Iterable[float]) -> list[str]:
    return [f"{100 * value:+.1f} %" for value in values]
