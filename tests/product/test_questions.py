"""Questions with known answers: `docs/questions.md` shows what the library answers today.

The expected answers stand in `docs/questions/questions.toml`, the models in the files beside it.
After a change of the library: HWDSL_WRITE_QUESTIONS=1 pytest tests/product/test_questions.py
"""

import math
import os
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

import hwdsl
from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.fingerprint import package_folder

FOLDER = Path(__file__).parents[2] / "docs" / "questions"
PAGE = FOLDER.with_suffix(".md")
WRITE = bool(os.environ.get("HWDSL_WRITE_QUESTIONS"))
AS_KNOWN, NEAR = 0.075, 0.25  # share by which an answer may miss a single number
IN_RANGE = 0.01  # and a range, for rounding
MOST_WRONG = 4
HEAD = f"""# Questions with known answers

What the library answers where the answer is known. `docs/questions/questions.toml` states the
questions and the expected answers, the `.hw` files beside it the models. A test computes this page
and allows at most {MOST_WRONG} wrong answers. It is written by

    HWDSL_WRITE_QUESTIONS=1 pytest tests/product/test_questions.py

An answer is *as known* within the expected range or {100 * AS_KNOWN:g} % of a single expected
number, *near* within {100 * NEAR:g} % of it or of the nearer bound, and *wrong* beyond that or at a
point that breaks a rule. Where the answer is a direction or a limit, the other side is wrong. A
question with several parts is as good as its worst part.

| # | question | expected | computed | verdict |
| --- | --- | --- | ---: | --- |
"""


@cache
def module(file: str) -> ModuleType:
    """The models of a file of the folder, or of a study of the library."""
    inside = file.removeprefix("studies/")
    library = package_folder("hwdsl.library") / "studies"
    path = FOLDER / file if inside == file else library / f"{inside}.hw"
    return hwdsl.load(path, compiled=False)  # each is asked for a few points


@attrs.frozen
class Answer:
    """A question, what was computed, and how far that is from the expected range."""

    question: dict[str, Any]
    value: float
    unit: str

    @property
    def number(self) -> str:
        return str(self.question["number"]).rstrip("abc")

    @property
    def miss(self) -> float:
        """Relative distance from the nearer bound of the expected range; 0 inside it."""
        low, high = self.question["low"], self.question["high"]
        if low <= self.value <= high:
            return 0.0
        if not math.isfinite(self.value):
            return math.inf
        bound = low if self.value < low else high
        return abs(self.value / bound - 1) if bound and math.isfinite(bound) else math.inf

    @property
    def verdict(self) -> str:
        if self.strict and self.miss > 0:
            return "wrong"
        known = AS_KNOWN if self.question["low"] == self.question["high"] else IN_RANGE
        return "as known" if self.miss <= known else "near" if self.miss < NEAR else "wrong"

    @property
    def strict(self) -> bool:
        """Whether the range is a direction or a limit, which no error of a model excuses."""
        return self.question.get("strict", False)


def answer(question: dict[str, Any]) -> Answer:
    if "warning" in question:
        diagnostics = Diagnostics()
        driver.check(FOLDER / question["file"], diagnostics)
        found = sum(each.name == question["warning"] for each in diagnostics.items)
        return Answer(question, found, "")
    if "output" not in question:  # nothing in the library answers it
        return Answer(question, math.nan, "")
    evaluator = getattr(module(question["file"]), question["evaluator"])
    result = evaluator(**question.get("with", {}))
    name = question["output"]
    value = getattr(result, name) if result.feasible else math.nan
    return Answer(
        question, float(value), next(o.scale.unit for o in evaluator.spec.outputs if o.name == name)
    )


def answers() -> list[Answer]:
    questions = tomllib.loads((FOLDER / "questions.toml").read_text("utf-8"))["question"]
    return [answer(question) for question in questions]


def page(found: list[Answer]) -> str:
    rows, notes = [], []
    for each in found:
        q = each.question
        digits = ",.0f" if 1000 <= abs(each.value) < math.inf else ".4g"
        value = f"{each.value:{digits}} {each.unit}".strip()
        value = "no number" if math.isnan(each.value) else value
        cells = [q["number"], q["ask"], q["expected"], value, each.verdict]
        rows.append(f"| {' | '.join(cells)} |")
        if "why" in q:
            notes.append(f"- **{q['number']}**: {q['why']}")
    title = "\n## What is missing, and what was fitted\n\n"
    tail = title + "\n".join(notes) + "\n" if notes else ""
    return HEAD + "\n".join(rows) + "\n" + tail


def test_the_page_shows_what_is_computed_and_few_answers_are_wrong() -> None:
    found = answers()
    text = page(found)
    print(text)
    if WRITE:
        PAGE.write_text(text, "utf-8")
    wrong = {each.number for each in found if each.verdict == "wrong"}
    unexplained = [
        each.question["number"]
        for each in found
        if each.verdict == "wrong" and "why" not in each.question
    ]
    assert len(wrong) <= MOST_WRONG, f"wrong: {sorted(wrong)}"
    assert not unexplained, f"wrong without what is missing: {unexplained}"
    assert PAGE.read_text("utf-8") == text
