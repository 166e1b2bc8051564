"""What cannot be built, or is paid twice, is said.

Compositions of a review, and 40 that were written before their rules. A case that is `pending` is
one that nothing catches yet. It fails here as soon as something does, so that the list of them
shrinks and cannot go stale.
"""

import io
import json
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import attrs
import pytest

from hwdsl.cli.main import main
from hwdsl.help import rule_docs

DATA = tomllib.loads(Path(__file__).with_name("compositions.toml").read_text(encoding="utf-8"))


@attrs.frozen
class Case:
    """`of` says who wrote it; `broken` or `sound` fills the hole of `text`."""

    of: str
    mistake: str
    text: str
    broken: str
    sound: str
    rule: str = ""
    says: str = ""
    pending: str = ""

    def __str__(self) -> str:
        return self.mistake


CASES = [Case(**row) for row in DATA["case"]]
PAGE = Path(__file__).parents[2] / "docs" / "compositions.md"
CAUGHT = [case for case in CASES if not case.pending]
PENDING = [case for case in CASES if case.pending]


def findings(case: Case, part: str, folder: Path) -> list[dict[str, Any]]:
    """What `hwdsl check` says of the composition with `part` in its hole, in its order."""
    path = folder / "case.hw"
    text = case.text.lstrip().replace(rule_docs.HOLE, part)
    path.write_text(f"edition 2026\n#! {case.mistake}.\n{text}", encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        main(["check", "--format", "json", str(path)])
    found = [json.loads(line) for line in printed.getvalue().splitlines()]
    # Both twins share their `use` lines; each reads some of what they bring.
    return [row for row in found if row["severity"] != "note" and row["name"] != "unused-use"]


def row_of(case: Case, message: str) -> str:
    """The line of the page: who wrote it, what is wrong, which rule says what."""
    return f"| {case.of} | {case.mistake} | `{case.rule}` | {message} |"


def test_the_page_has_a_row_for_each() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith(("| review |", "| ours |"))]
    mistakes = [row.split(" | ")[1] for row in rows]
    assert mistakes == [case.mistake for case in CASES]


def test_the_table_is_whole() -> None:
    assert len(CASES) == len({case.mistake for case in CASES})
    assert sum(case.of == "review" for case in CASES) >= 43
    assert sum(case.of == "ours" for case in CASES) >= 40
    assert all(case.rule and case.says for case in CAUGHT)


@pytest.mark.parametrize("case", CAUGHT, ids=str)
def test_the_rule_says_it(case: Case, tmp_path: Path) -> None:
    found = findings(case, case.broken, tmp_path)
    said = [row for row in found if row["name"] == case.rule]
    assert said, found or "nothing was said"
    assert any(case.says in row["message"] for row in said), said
    assert all(row["help"] for row in said), f"{case.rule} says not what to do"
    row = row_of(case, said[0]["message"])
    assert row in PAGE.read_text(encoding="utf-8").splitlines(), f"docs/compositions.md lacks {row}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_is_said_of_its_sound_twin(case: Case, tmp_path: Path) -> None:
    assert findings(case, case.sound, tmp_path) == []


@pytest.mark.parametrize("case", PENDING, ids=str)
def test_what_nothing_catches_yet(case: Case, tmp_path: Path) -> None:
    found = findings(case, case.broken, tmp_path)
    assert not found, f"now caught: give it its rule and drop `pending`: {found}"
