"""What commands answer with `--format json`: the shapes, and the one place that writes them.

Input: objects of the classes below. Output: JSON. Their fields are the names in the JSON; a schema
of each answer is in `hwdsl/schemas/`, made from these classes, and `docs/json.md` lists them.
A number that is not finite is one of the texts `"Infinity"`, `"-Infinity"` and `"NaN"`, since JSON
has no such numbers and null would not tell them apart. A field without a value is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import asdict, frozen

Number = float | Literal["Infinity", "-Infinity", "NaN"]
"""A number of an answer; a float here, one of the texts in JSON where it is not finite."""


# --- findings ------------------------------------------------------------------------------------


@frozen
class Place:
    """A stretch of a file, lines and columns from 1 on, the end not in it; `text` is of it."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""


@frozen
class Finding:
    """A diagnostic: `labels` are places, the primary one first.

    `missing` is the path of the value that has to be given, if that is what is wrong.
    """

    name: str
    severity: Literal["error", "warning", "note"]
    message: str
    labels: Sequence[Place]
    help: str | None
    missing: str | None


@frozen
class Failure:
    """A command that could not answer: its exit code, what it says, and what is wrong in files."""

    code: int
    message: str
    diagnostics: Sequence[Finding] = ()
    answer: Literal["failure"] = "failure"


@frozen
class Needs:
    """What an evaluator lacks, a line of `hwdsl check --needs`: values that nobody gives, params
    without a default, and how many errors of other kinds there are."""

    evaluator: str
    values: Sequence[Finding]
    params: Sequence[str]
    other_errors: int
    answer: Literal["needs"] = "needs"


# --- values --------------------------------------------------------------------------------------


@frozen
class Amount:
    """A value: `value` is in `unit`, `base_value` in base units.

    `dimension` is as `data/time`, `1` of a pure number. Of a choice or an enum, `value` is a label
    and `base_value` its index; of a bool, true or false and 1 or 0.
    """

    name: str
    value: Number | str | bool
    unit: str
    base_value: Number
    dimension: str


@frozen
class Input(Amount):
    """A param at a point; `given` says whether the call gave it, or it is at its default."""

    given: bool


@frozen
class Broken:
    """A rule that a point breaks."""

    rule: str
    severity: Literal["require", "warn"]
    message: str
    help: str | None


@frozen
class Undecided:
    """A rule that no point decides, as it reads a value that nobody knows."""

    rule: str
    message: str


# --- run and why ---------------------------------------------------------------------------------


@frozen
class SumRow:
    """A row of a sum: the rows one `level` below a row add up to it.

    `times` is the multiplicity on the way, such as `64 ×`, `share` that of the whole.
    """

    level: int
    name: str
    times: str
    value: Number
    base_value: Number
    share: Number


@frozen
class Sum:
    """An output as a sum; its first row is the output itself."""

    output: str
    unit: str
    rows: Sequence[SumRow]


@frozen
class Run:
    """The answer of `hwdsl run`: an evaluator at one point."""

    evaluator: str
    params: Sequence[Input]
    outputs: Sequence[Amount]
    feasible: bool
    violations: Sequence[Broken]
    undecided: Sequence[Undecided]
    sums: Sequence[Sum]
    answer: Literal["run"] = "run"


@frozen
class Part:
    """A term of a step: `factor` times the value of step number `step`, both in base units.

    `text` is how the factor is written, as `64 ×` or `price / lifetime`; empty for one.
    """

    step: int
    factor: Number
    text: str


@frozen
class Step(Amount):
    """A step of a derivation: what it is computed by, where that stands, what it reads.

    The value is the sum of `terms`, if there are any; `inputs` are the numbers of other steps that
    are read. `role` says of a param whether it was given.
    """

    formula: str
    place: str
    role: str
    path: str
    terms: Sequence[Part]
    inputs: Sequence[int]


@frozen
class Why:
    """The answer of `hwdsl why`: the steps by their numbers, the output being step 0."""

    evaluator: str
    output: str
    steps: Sequence[Step]
    answer: Literal["why"] = "why"


# --- sample --------------------------------------------------------------------------------------


@frozen
class Statistic:
    """A number about draws, in the unit of its output and in base units."""

    value: Number
    base_value: Number


@frozen
class Quantile(Statistic):
    """The value that a share of the draws lies below."""

    share: Number


@frozen
class Correlation:
    """Spearman's rank correlation of an output with a param that was drawn."""

    param: str
    value: Number


@frozen
class Distribution:
    """How an output is distributed over all draws, feasible or not."""

    name: str
    unit: str
    dimension: str
    mean: Statistic
    deviation: Statistic
    quantiles: Sequence[Quantile]
    rank_correlations: Sequence[Correlation]


@frozen
class Drawn:
    """A param that was drawn, and the share of draws that were moved to an end of its range."""

    name: str
    clipped_share: Number


@frozen
class Sample:
    """The answer of `hwdsl sample`."""

    evaluator: str
    draws: int
    seed: int
    feasible_share: Number
    params: Sequence[Drawn]
    outputs: Sequence[Distribution]
    answer: Literal["sample"] = "sample"


# --- validate ------------------------------------------------------------------------------------


@frozen
class Errors:
    """Relative errors of predictions: 0.03 is 3 %; `median` and `p90` are of absolute errors."""

    median: Number
    p90: Number
    bias: Number


@frozen
class Group:
    """The errors of some rows; `baseline` those of the simpler output on the same rows."""

    name: str
    rows: int
    errors: Errors
    baseline: Errors | None


@frozen
class Row:
    """A row of a table, in the table's `unit` and in base units; errors are relative."""

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
    """Whether all ways to compute the same rows agree to the last bit; if not, it is a bug.

    `repeated` points were swept beside; the others count values that differ.
    """

    compiled: bool
    interpreter_differs: int
    swept_differs: int
    repeated: int
    repeated_differs: int


@frozen
class ValidatedTable:
    """Predictions beside a measured table; `name` is `FILE:TABLE`.

    `broken` counts the rows that break a rule. `unread` says of columns and params that may have
    been meant for each other.
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
    """A published number beside a computed one, in `unit` and in base units.

    `status` is claim, calibration, identity, assumed or unsure. `tolerance` is relative, absolute
    (in base units) or a factor, as `mode` says; of an ordering it and the published number are
    null.
    `holds` says whether it is met, `as_said` whether it comes out as its file says.
    """

    text: str
    status: str
    holds: bool
    as_said: bool
    published: Number | None
    computed: Number | None
    base_published: Number | None
    base_computed: Number | None
    unit: str
    tolerance: Number | None
    mode: str
    reason: str
    place: Place


@frozen
class Claim:
    """A claim of a file: sources, assumptions, how sure the sources are, and its expectations."""

    file: str
    name: str
    sources: Sequence[str]
    assumed: Sequence[str]
    confidence: str
    expectations: Sequence[Expectation]


@frozen
class Verify:
    """The answer of `hwdsl verify`; `diagnostics` are what is wrong in files."""

    claims: Sequence[Claim]
    diagnostics: Sequence[Finding]
    answer: Literal["verify"] = "verify"


# --- explain -------------------------------------------------------------------------------------


@frozen
class Named:
    """Something with a name in a section: its role, type, default or value, and what it is."""

    name: str
    role: str
    type: str
    value: str
    doc: str


@frozen
class Section:
    """Named things under a heading."""

    title: str
    rows: Sequence[Named]


@frozen
class Explain:
    """The answer of `hwdsl explain`: what there is to say of a name.

    `what` is its sort (`kind`, `unit`, `keyword` and so on), `lead` what it is, `place` where the
    library declares it, `text` its text in the language, `others` what else has the name. `page` is
    a page that was written as one, in Markdown, and then all there is.
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
class Cache:
    """The kernel cache."""

    folder: str
    builds: int
    bytes: int


@frozen
class Doctor:
    """The answer of `hwdsl doctor`; a package that is not installed is null.

    `cache_refused` says why nothing is kept in the cache's place, null if it is.
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
    "validate": Validate,
    "verify": Verify,
    "why": Why,
}
"""The shape of each answer, by the name of its schema; `check` prints one a line."""


def as_json(answer: Any, *, indent: int | None = 1) -> str:
    """An answer as JSON, `answer` first; in one line without `indent`."""
    plain = asdict(answer, value_serializer=_plain)
    if "answer" in plain:
        plain = {"answer": plain.pop("answer"), **plain}
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(_instance: object, _attribute: object, value: Any) -> Any:
    """A float that is not finite as a text; all else as it is."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
