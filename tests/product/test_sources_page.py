"""`docs/sources.md` shows what commands say of the library's sources today.

After a change of the library: HWDSL_WRITE_SOURCES=1 pytest tests/product/test_sources_page.py
"""

import os
import shlex
from pathlib import Path

import pytest

from hwdsl.base.fingerprint import package_folder
from hwdsl.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sources.md"
FENCE = "```text\n"
WRITE = bool(os.environ.get("HWDSL_WRITE_SOURCES"))


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, with the command; its files are those of the library in use."""
    words = shlex.split(command)[1:]
    studies = str(package_folder("hwdsl.library") / "studies")
    assert main([word.replace("library/studies", studies) for word in words]) == 0
    return f"$ {command}\n{capsys.readouterr().out}"


def test_the_page_shows_what_the_commands_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    head, *blocks = PAGE.read_text("utf-8").split(FENCE)
    pieces = [head]
    for block in blocks:
        old, _, rest = block.partition("```")
        command = old.splitlines()[0].removeprefix("$ ")
        pieces.append(f"{shown(command, capsys)}```{rest}")
    whole = FENCE.join(pieces)
    if WRITE:
        PAGE.write_text(whole, "utf-8")
    assert PAGE.read_text("utf-8") == whole
