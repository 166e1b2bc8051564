"""Every block of README and docs is checked or run, in order, in a folder of its own."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.render import render_text
from hwdsl.base.source import Source
from hwdsl.cli.main import main
from hwdsl.cli.new_ import STARTER
from hwdsl.syntax import format_module

ROOT = Path(__file__).parents[2]
SETUP = ("python3 -m venv", ".venv/bin/pip install")
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/language.md",
    "docs/packages.md",
    "docs/cost.md",
    "docs/custom_machine.md",
    "docs/workloads.md",
    "docs/overlap.md",
    "docs/training_run.md",
    "docs/search.md",
    "docs/uncertainty.md",
    "docs/json.md",
    "docs/internals.md",
    *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs" / "studies").glob("*.md")),
]
# Pages whose commands run and print what they show.
RUN = [
    "README.md",
    "docs/tutorial.md",
    "docs/custom_machine.md",
    "docs/overlap.md",
    "docs/training_run.md",
    "docs/search.md",
    "docs/uncertainty.md",
    "docs/json.md",
    "docs/internals.md",
]


def blocks(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: (language, text)."""
    found, language, lines = [], None, []
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if language is None:
                language, lines = line[3:], []
            else:
                found.append((language, "\n".join(lines) + "\n"))
                language = None
        elif language is not None:
            lines.append(line)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_descriptions_are_right_and_formatted(page: str, tmp_path: Path) -> None:
    for language, text in blocks(page):
        if language == "hw":
            path = tmp_path / "block.hw"
            path.write_text(text)
            diagnostics = Diagnostics()
            checked = driver.check(path, diagnostics)
            assert checked is not None
            driver.lower(checked, diagnostics)
            assert not diagnostics.items, render_text(diagnostics.items)
            tree = driver.parse(Source("block", text), Diagnostics())
            assert format_module(tree) == text


@pytest.mark.parametrize("page", RUN)
def test_commands_and_code_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "library" / "studies", tmp_path / "library" / "studies")
    python = printed = ""
    for language, text in blocks(page):
        if language == "hw":
            name = text.partition("\nevaluator ")[2].split()[0]  # the page says it is saved so
            (tmp_path / f"{name}.hw").write_text(text)
        elif language == "csv":
            (tmp_path / "seen.csv").write_text(text)  # so too
        elif language == "console":
            for line in text.splitlines():
                command = line.removeprefix("$ ").removeprefix(".venv/bin/")
                if not line.removeprefix("$ ").startswith(SETUP):
                    program, *words = shlex.split(command)
                    assert program == "hwdsl"
                    assert main(words) == 0, capsys.readouterr().err
                    printed += capsys.readouterr().out
        elif language == "text" and printed and not text.startswith("$ hwdsl "):
            assert text in printed
        elif language == "python":
            python += text
    answer = subprocess.run(
        [sys.executable, "-c", python], cwd=tmp_path, env=os.environ, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr


def test_tutorial_shows_the_file_that_new_writes() -> None:
    assert ("hw", STARTER) in blocks("docs/tutorial.md")


def test_readme_shows_what_the_main_job_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["validate", "--rows", "library/studies/megatron.hw"]) == 0
    printed = capsys.readouterr().out
    shown = next(text for language, text in blocks("README.md") if language == "text")
    for line in shown.splitlines():
        assert line in printed.splitlines()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 3
    for title, count, *shares in rows:
        table = printed[printed.index(f"{title.split('`')[1]}: ") :]
        line = table[table.index(f"all    {count}") :].splitlines()[0]
        printed_shares = [line.split("%")[i].split()[-1] for i in (0, 1, 3, 4)]
        assert [share.strip(" |%") for share in shares] == printed_shares
