"""Reference cases of published cost models, and how a test compares with them.

The cases lie outside the project, in the folder `cost_cases` of HWDSL_REFERENCE_DATA: one JSON
file for each model, with `cases` of `input` and `output` and the constants they share. Where the
variable is not set the tests that need them are skipped, saying so.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hwdsl

LIBRARY = Path(__file__).parents[3] / "library" / "peers"


def document(name: str) -> dict[str, Any]:
    """The content of a file of cases, or an empty one."""
    folder = os.environ.get("HWDSL_REFERENCE_DATA")
    path = Path(folder or "") / "cost_cases" / f"{name}.json"
    if not folder or not path.is_file():
        return {"cases": []}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def cases(name: str) -> list[Any]:
    """The cases of a file as test parameters, or one that is skipped."""
    found = [pytest.param(case, id=case["id"]) for case in document(name)["cases"]]
    reason = f"HWDSL_REFERENCE_DATA holds no cost_cases/{name}.json"
    return found or [pytest.param({}, marks=pytest.mark.skip(reason=reason), id="no-data")]


@cache
def model(name: str) -> hwdsl.Module:
    """A file of `library/peers`, run by the interpreter."""
    return hwdsl.load(LIBRARY / f"{name}.hw", compiled=False)


def agree(
    found: dict[str, float], expected: dict[str, float], rel: float = 1e-9, rounded: float = 0
) -> None:
    """Every expected number is found; what is found and not expected is named by the test.

    `rounded` is the absolute error of numbers that the peer computes as differences.
    """
    wrong = {
        name: (found[name], value)
        for name, value in expected.items()
        if found[name] != pytest.approx(value, rel=rel, abs=rounded)
    }
    assert not wrong, wrong
