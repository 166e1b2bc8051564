"""`docs/sources.md` shows what commands say of the library's sources today.

After a change of the library: HWDSL_WRITE_SOURCES=1 pytest tests/product/test_sources_page.py
"""

import os
import shlex
from pathlib import Path

import pytest

from hwdsl.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sources.md"
FENCE = "```text\n"
WRITE = bool(os.environ.get("HWDSL_WRITE_SOURCES"))


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, with the command; where the library lies is left out."""
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.replace(" library/studies/", " studies/")
    return f"$ {command}\n{printed}"


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
