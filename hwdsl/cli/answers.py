"""The answers of commands with `--format json`: their classes and the function that writes them.

Input: objects of the classes below. Output: JSON. The fields of a class are the keys of the JSON
object; `hwdsl/cli/schemas/` has a schema of each answer, generated from these classes, and
`docs/json.md` lists them. A number that is not finite is one of the strings `"Infinity"`,
`"-Infinity"` and `"NaN"`, because JSON has no such numbers and null would not distinguish them. A
field without a value is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import asdict, frozen

Number = float | Literal["Infinity", "-Infinity", "NaN"]
"""A number of an answer: a float here; in JSON one of the strings if it is not finite."""


# --- findings ------------------------------------------------------------------------------------


@frozen
class Place:
    """A range of a file: lines and columns count from 1, the end is exclusive; `text` is the text
    in it."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""


@frozen
class Finding:
    """A diagnostic: `labels` are the places that it refers to, the primary one first.

    If a required value is missing, `missing` is the path of that value.
    """

    name: str
    severity: Literal["error", "warning", "note"]
    message: str
    labels: Sequence[Place]
    help: str | None
    missing: str | None


@frozen
class Failure:
    """A command that failed: its exit code, its message, and the diagnostics of the files."""

    code: int
    message: str
    diagnostics: Sequence[Finding] = ()
    answer: Literal["failure"] = "failure"


@frozen
class Needs:
    """A line of `hwdsl check --needs`: the values that an evaluator needs and that are not given,
    its params without a default, and the number of other errors."""

    evaluator: str
    values: Sequence[Finding]
    params: Sequence[str]
    other_errors: int
    answer: Literal["needs"] = "needs"


# --- values --------------------------------------------------------------------------------------


@frozen
class Amount:
    """A value: `value` is in `unit`, `base_value` in base units.

    `dimension` is written as in `data/time`, and is `1` for a pure number. For a choice or an enum,
    `value` is the label and `base_value` its index; for a bool, `value` is true or false and
    `base_value` 1 or 0.
    """

    name: str
    value: Number | str | bool | None
    unit: str
    base_value: Number
    dimension: str


@frozen
class Input(Amount):
    """A param at a point; `given` is true if the call gave its value and false for the default."""

    given: bool


@frozen
class Broken:
    """A rule that a point violates.

    If it is of a component that no declaration names, `places` are where that is made, the calls in
    which it is made, and what it is given there; `text` says which.
    """

    rule: str
    severity: Literal["require", "warn"]
    message: str
    help: str | None
    places: Sequence[Place]


@frozen
class Undecided:
    """A rule that is not decided, because it reads a value that is `unknown`."""

    rule: str
    message: str


# --- run and why ---------------------------------------------------------------------------------


@frozen
class SumRow:
    """A row of a breakdown: the rows one `level` below a row add up to it.

    `times` is the multiplicity, such as `64 ×`; `share` is the share of the whole output.
    """

    level: int
    name: str
    times: str
    value: Number
    base_value: Number
    share: Number


@frozen
class Sum:
    """The breakdown of an output into a sum; its first row is the output itself."""

    output: str
    unit: str
    rows: Sequence[SumRow]


@frozen
class Run:
    """The answer of `hwdsl run`: an evaluator at one point.

    The outputs of a point that is not feasible are "NaN", unless `raw` is true: then they are what
    the formulas give.
    """

    evaluator: str
    params: Sequence[Input]
    outputs: Sequence[Amount]
    feasible: bool
    raw: bool
    violations: Sequence[Broken]
    undecided: Sequence[Undecided]
    sums: Sequence[Sum]
    answer: Literal["run"] = "run"


@frozen
class SourceAnswer:
    """Where a number is from: the `reference` by name (empty for a text), its kind, year and title.

    `place` says where in it, `confidence` is `low`, `medium`, `high` or empty. The kind of a text
    is `unnamed`; that of an assumption, whose `place` is its reason, `assumption`.
    """

    reference: str
    kind: str
    year: int | None
    title: str
    place: str
    confidence: str


@frozen
class StepTerm:
    """A term of a step: `factor` times the value of step number `step`, both in base units.

    `text` is the factor as it is written, such as `64 ×` or `price / lifetime`; empty for 1.
    """

    step: int
    factor: Number
    text: str


@frozen
class Step(Amount):
    """A step of a derivation: its formula, the place of the formula, and its inputs.

    If there are `terms`, the value is their sum; `inputs` are the numbers of the steps that the
    formula reads. For a param, `role` says whether it was given. `sources` are those of the
    declaration that the formula stands in.
    """

    formula: str
    place: str
    role: str
    path: str
    terms: Sequence[StepTerm]
    inputs: Sequence[int]
    sources: Sequence[SourceAnswer]


@frozen
class Why:
    """The answer of `hwdsl why`: the steps by number; step 0 is the output."""

    evaluator: str
    output: str
    steps: Sequence[Step]
    answer: Literal["why"] = "why"


@frozen
class NumberSensitivity:
    """A number that moves an output: `elasticity` is per cent of change for one per cent more.

    `number` is its module and name, `value` its text.
    """

    number: str
    value: str
    place: str
    elasticity: Number
    sources: Sequence[SourceAnswer]


@frozen
class Sensitivities:
    """The answer of `hwdsl why --confidence`: the numbers that move an output most."""

    evaluator: str
    output: str
    numbers: Sequence[NumberSensitivity]
    answer: Literal["sensitivities"] = "sensitivities"


@frozen
class NumberSources:
    """A number of a file: `number` is its module and name, `value` its text.

    `stated` tells whose the sources are: `own`, `block` or `file`; empty without a source.
    `confidence` is that of the least sure of them.
    """

    number: str
    value: str
    place: str
    stated: str
    confidence: str
    sources: Sequence[SourceAnswer]


@frozen
class SourcesAnswer:
    """The answer of `hwdsl explain --sources`: the numbers, with `--confidence` those of one."""

    numbers: Sequence[NumberSources]
    answer: Literal["sources"] = "sources"


# --- sample --------------------------------------------------------------------------------------


@frozen
class Statistic:
    """A statistic of the draws, in the unit of its output and in base units."""

    value: Number
    base_value: Number


@frozen
class Quantile(Statistic):
    """The value below which `share` of the draws lie."""

    share: Number


@frozen
class Correlation:
    """Spearman's rank correlation of an output with a sampled param."""

    param: str
    value: Number


@frozen
class Distribution:
    """The distribution of an output over the feasible draws, or over all where `raw` is true;
    `deviation` is the standard deviation."""

    name: str
    unit: str
    dimension: str
    mean: Statistic
    deviation: Statistic
    quantiles: Sequence[Quantile]
    rank_correlations: Sequence[Correlation]


@frozen
class Drawn:
    """A sampled param, and the share of its draws that were clipped to its range."""

    name: str
    clipped_share: Number


@frozen
class Sample:
    """The answer of `hwdsl sample`; `violations` counts the draws that violate each rule."""

    evaluator: str
    draws: int
    seed: int
    feasible_share: Number
    raw: bool
    violations: Mapping[str, int]
    params: Sequence[Drawn]
    outputs: Sequence[Distribution]
    answer: Literal["sample"] = "sample"


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


# --- explain -------------------------------------------------------------------------------------


@frozen
class Named:
    """A named entry of a section: its role, type, default or value, and documentation."""

    name: str
    role: str
    type: str
    value: str
    doc: str


@frozen
class Section:
    """Entries under a title."""

    title: str
    rows: Sequence[Named]


@frozen
class Explain:
    """The answer of `hwdsl explain` about a name.

    `what` is its sort (`kind`, `unit`, `keyword` and so on), `lead` a description, `place` where
    the library declares it, `text` its text in the language, `others` the other declarations of the
    name. `page` is a whole page in Markdown; if there is one, the other texts are empty.
    """

    name: str
    what: str
    lead: str
    place: str
    notes: Sequence[str]
    sections: Sequence[Section]
    text: str
    others: Sequence[str]
    page: str
    answer: Literal["explain"] = "explain"


# --- doctor --------------------------------------------------------------------------------------


@frozen
class CacheKind:
    """How many entries of one kind the cache holds, and their size."""

    kind: str
    entries: int
    bytes: int


@frozen
class Cache:
    """The cache: its folder, how many `builds` of kernels it holds, the size of all its entries."""

    folder: str
    builds: int
    bytes: int
    kinds: Sequence[CacheKind]


@frozen
class Doctor:
    """The answer of `hwdsl doctor`; a package that is not installed is null.

    `cache_refused` is the reason why the cache folder is not used; null if it is used.
    """

    hwdsl: str
    python: str
    executable: str
    platform: str
    compiler: str | None
    packages: Mapping[str, str | None]
    cache: Cache
    cache_refused: str | None
    answer: Literal["doctor"] = "doctor"


ANSWERS: Mapping[str, type] = {
    "check": Finding,
    "doctor": Doctor,
    "explain": Explain,
    "failure": Failure,
    "needs": Needs,
    "run": Run,
    "sample": Sample,
    "sensitivities": Sensitivities,
    "sources": SourcesAnswer,
    "validate": Validate,
    "verify": Verify,
    "why": Why,
}
"""The class of each answer, by the name of its schema; `check` prints one object per line."""


def as_json(answer: Any, *, indent: int | None = 1) -> str:
    """An answer as JSON, its key `answer` first; on one line if `indent` is None."""
    plain = asdict(answer, value_serializer=_plain)
    if "answer" in plain:
        plain = {"answer": plain.pop("answer"), **plain}
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(_instance: object, _attribute: object, value: Any) -> Any:
    """A float that is not finite becomes a string; other values are unchanged."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
