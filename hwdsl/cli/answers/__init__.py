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
from collections.abc import Mapping
from typing import Any

from attrs import asdict

from hwdsl.cli.answers.measured import (
    Agreement,
    ClaimAnswer,
    Errors,
    Expectation,
    Group,
    Row,
    Validate,
    ValidatedTable,
    Verify,
)
from hwdsl.cli.answers.others import Cache, CacheKind, Doctor, Explain, Named, Section
from hwdsl.cli.answers.parts import (
    Amount,
    Broken,
    Failure,
    Finding,
    Input,
    Needs,
    Number,
    Place,
    Undecided,
)
from hwdsl.cli.answers.points import (
    Correlation,
    Distribution,
    Drawn,
    NumberSensitivity,
    NumberSources,
    Quantile,
    Run,
    Sample,
    Sensitivities,
    SourceAnswer,
    SourcesAnswer,
    Statistic,
    Step,
    StepTerm,
    Sum,
    SumRow,
    Why,
)
from hwdsl.cli.answers.searches import (
    Aim,
    BesideDesign,
    FoundDesign,
    Optimize,
    ParamElasticity,
    RootQuantile,
    Solve,
    SolvedDraws,
    SolvedGap,
    SolvedJump,
    SolvedNearest,
    SolvedRoot,
    SolvedStretch,
)
from hwdsl.cli.answers.uncertain import (
    DecisionAnswer,
    Estimated,
    OutputIndices,
    ParamIndices,
    PartialInformation,
    Uncertainty,
)

__all__ = [
    "ANSWERS", "Agreement", "Aim", "Amount", "BesideDesign", "Broken", "Cache", "CacheKind",
    "ClaimAnswer", "Correlation", "DecisionAnswer", "Distribution", "Doctor", "Drawn", "Errors",
    "Estimated", "Expectation", "Explain", "Failure", "Finding", "FoundDesign", "Group",
    "Input", "Named", "Needs", "Number", "NumberSensitivity", "NumberSources", "Optimize",
    "OutputIndices", "ParamElasticity", "ParamIndices", "PartialInformation", "Place",
    "Quantile", "RootQuantile", "Row", "Run", "Sample", "Section", "Sensitivities", "Solve",
    "SolvedDraws", "SolvedGap", "SolvedJump", "SolvedNearest", "SolvedRoot", "SolvedStretch",
    "SourceAnswer", "SourcesAnswer", "Statistic", "Step", "StepTerm", "Sum", "SumRow",
    "Uncertainty", "Undecided", "Validate", "ValidatedTable", "Verify", "Why", "as_json",
]  # fmt: skip

ANSWERS: Mapping[str, type] = {
    "check": Finding,
    "doctor": Doctor,
    "explain": Explain,
    "failure": Failure,
    "needs": Needs,
    "optimize": Optimize,
    "run": Run,
    "sample": Sample,
    "sensitivities": Sensitivities,
    "solve": Solve,
    "sources": SourcesAnswer,
    "uncertainty": Uncertainty,
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
