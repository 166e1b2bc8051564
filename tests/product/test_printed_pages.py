"""Pages show what commands print today: each `text` block that begins with a `$ hwdsl` line.

After a change of the library: HWDSL_WRITE_PAGES=1 pytest tests/product/test_printed_pages.py
"""

import os
import shlex
from pathlib import Path

import pytest

from hwdsl.base.fingerprint import package_folder
from hwdsl.cli.main import main

ROOT = Path(__file__).parents[2]
FENCE = "```text\n"
PROMPT = "$ hwdsl "
PAGES = [
    "docs/custom_machine.md",
    "docs/search.md",
    "docs/sources.md",
    "docs/uncertainty.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs" / "studies").glob("*.md"))),
]
WRITE = bool(os.environ.get("HWDSL_WRITE_PAGES"))


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, with the command; its files are those of the library in use."""
    words = shlex.split(command)[1:]
    studies = str(package_folder("hwdsl.library") / "studies")
    assert main([word.replace("library/studies", studies) for word in words]) == 0
    printed = capsys.readouterr().out.replace(studies, "library/studies")
    return f"{PROMPT}{command.removeprefix('hwdsl ')}\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_what_the_commands_print(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    path = ROOT / page
    head, *blocks = path.read_text("utf-8").split(FENCE)
    pieces = [head]
    for block in blocks:
        old, _, rest = block.partition("```")
        command = old.splitlines()[0]
        if command.startswith(PROMPT):
            # Each of many sweeps is short: to build its kernel takes longer, and it prints the
            # same. But `validate` says whether the kernel agrees.
            if command.startswith(f"{PROMPT}validate"):
                monkeypatch.delenv("HWDSL_NO_COMPILE", raising=False)
            else:
                monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
            old = shown(command.removeprefix("$ "), capsys)
        pieces.append(f"{old}```{rest}")
    whole = FENCE.join(pieces)
    if WRITE:
        path.write_text(whole, "utf-8")
    assert path.read_text("utf-8") == whole
