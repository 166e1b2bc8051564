"""Answers of `validate` and `verify`: computed numbers beside published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import frozen

from hwdsl.cli.answers.parts import Finding, Number, Place

# --- validate ------------------------------------------------------------------------------------


@frozen
class Errors:
    """Relative errors of predictions: 0.03 is 3 %; `median` and `p90` are those of the
    magnitudes."""

    median: Number
    p90: Number
    bias: Number


@frozen
class Group:
    """The errors of a group of rows; `baseline` has the errors of the baseline on the same rows."""

    name: str
    rows: int
    errors: Errors
    baseline: Errors | None


@frozen
class Row:
    """A row of a table, in the `unit` of the table and in base units; errors are relative."""

    label: str
    measured: Number
    predicted: Number
    base_measured: Number
    base_predicted: Number
    error: Number
    baseline: Number | None
    base_baseline: Number | None
    baseline_error: Number | None


@frozen
class Agreement:
    """Whether interpreter, sweep and compiled kernel give the same bits on the same rows.

    A difference is a bug. `repeated` is the number of points that an additional sweep computes; the
    numbers that end in `_differs` count values that differ.
    """

    compiled: bool
    interpreter_differs: int
    swept_differs: int
    repeated: int
    repeated_differs: int


@frozen
class ValidatedTable:
    """Predictions for a table of measurements; `name` is `FILE:TABLE`.

    `broken` counts the rows that violate each rule, `infeasible_rows` those that are infeasible by
    them: their raw outputs are scored too, since they were measured. `unread` is a notice about
    columns and params with similar names that may belong together.
    """

    name: str
    evaluator: str
    output: str
    data: str
    measured_column: str
    baseline: str | None
    unit: str
    dimension: str
    all: Group
    groups: Sequence[Group]
    rows: Sequence[Row]
    broken: Mapping[str, int]
    infeasible_rows: int
    unread: str
    agreement: Agreement


@frozen
class Validate:
    """The answer of `hwdsl validate`."""

    tables: Sequence[ValidatedTable]
    answer: Literal["validate"] = "validate"


# --- verify --------------------------------------------------------------------------------------


@frozen
class Expectation:
    """A published number and the computed one, in `unit` and in base units.

    `status` is claim, calibration, identity, assumed, unsure, no baseline or no better (than its
    baseline). `mode` says whether `tolerance` is
    relative, absolute (in base units) or a factor; for an ordering, the tolerance and the published
    number are null. `holds` says whether the expectation is met; `as_expected`, whether this agrees
    with the file, which may declare it `missed`. `base_baseline` is what a null model says, in base
    units; 1 or 0 for an ordering.
    """

    text: str
    status: str
    holds: bool
    as_expected: bool
    published: Number | None
    computed: Number | None
    base_published: Number | None
    base_computed: Number | None
    unit: str
    tolerance: Number | None
    mode: str
    reason: str
    place: Place
    base_baseline: Number | None


@frozen
class ClaimAnswer:
    """A claim of a file: its sources, assumptions, the confidence in them, and its expectations."""

    file: str
    name: str
    sources: Sequence[str]
    assumed: Sequence[str]
    confidence: str
    expectations: Sequence[Expectation]


@frozen
class Verify:
    """The answer of `hwdsl verify`; `diagnostics` are those of the files."""

    claims: Sequence[ClaimAnswer]
    diagnostics: Sequence[Finding]
    answer: Literal["verify"] = "verify"
