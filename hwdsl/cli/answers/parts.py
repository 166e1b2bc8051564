"""What answers have in common: findings, places, values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import frozen

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
