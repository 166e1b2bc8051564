"""`hwdsl explain` knows each rule of the library, with an example that breaks it."""

import re
from pathlib import Path

import pytest

from hwdsl.cli.main import main
from hwdsl.help import rule_docs

NAMES = sorted({rule.name for rule in rule_docs.rules() if rule.file.startswith("std/")})


def test_rules_are_found() -> None:
    assert len(NAMES) >= 140
    assert {"die.reticle", "cluster.ports", "data_placement.endurance"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_rule(name: str) -> None:
    page = rule_docs.page(name)
    assert page is not None
    kind, rule = name.split(".")
    assert f"asked of each `{kind}`" in page
    text = page.split("```hw\n")[1].split("```")[0]
    stated = rf"(require|warn) {rule}:.* else "
    assert re.match(rf"\s+({stated}|{rule} *:.* in )", text, re.DOTALL), text


def test_the_example_is_one_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "die.reticle"]) == 0
    page = capsys.readouterr().out
    fails, fixed = (part.split("```hw\n")[1].split("```")[0] for part in page.split("## F")[1:])
    for text, code in ((fails, 1), (fixed, 0)):
        path = tmp_path / "case.hw"
        path.write_text(text, encoding="utf-8")
        assert main(["check", str(path)]) == code
        assert ("error[die.reticle]" in capsys.readouterr().out) == bool(code)


def test_a_slip_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "die.reticl"]) == 2
    assert "did you mean `die.reticle`?" in capsys.readouterr().err
