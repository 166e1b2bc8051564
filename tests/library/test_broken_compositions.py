"""Mistakes of an architect, each told by the one rule that names it, before anything else."""

import json
import tomllib
from pathlib import Path

import attrs
import pytest

from hwdsl.cli.main import main

DATA = tomllib.loads(
    Path(__file__).with_name("broken_compositions.toml").read_text(encoding="utf-8")
)


@attrs.frozen
class Case:
    """`numbers` stand in what is said first: both sides, with their units."""

    mistake: str
    rule: str
    numbers: list[str]
    text: str

    def __str__(self) -> str:
        return f"{self.rule}-{self.mistake}"


CASES = [Case(**row) for row in DATA["case"]]


def test_there_are_enough() -> None:
    assert len({case.mistake for case in CASES}) >= 40
    assert len({case.rule for case in CASES}) >= 36


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_one_right_error_comes_first(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.hw"
    head = f"edition 2026\n#! What is wrong: {case.mistake}.\n"
    path.write_text(head + case.text.lstrip(), encoding="utf-8")
    code = main(["check", "--format", "json", str(path)])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [row for row in found if row["severity"] != "note"]
    assert found, "nothing was found"
    first = found[0]
    assert first["name"] == case.rule, found
    assert code == (1 if any(row["severity"] == "error" for row in found) else 0)
    # A rule says both numbers in its message; the language says dimensions at both places.
    library = "." in case.rule
    said = [first["message"], *([] if library else [label["text"] for label in first["labels"]])]
    for number in case.numbers:
        assert any(number in text for text in said), (number, said)
    assert first["help"] or not library, f"{case.rule} says not what to do"
    assert first["labels"][0]["file"].endswith("case.hw"), "it points into the library"
