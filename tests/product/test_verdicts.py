"""`docs/studies.md` says what the claims of the studies come out at today."""

import os
import tomllib
from pathlib import Path

import pytest

from hwdsl.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies.md"
SYSTEMS = tomllib.loads((ROOT / "docs" / "systems.toml").read_text(encoding="utf-8"))["system"]
OTHERS = ("megatron", "wafer_scale", "frontier_training")
# Studies of what nobody published: they hold identities and exact sums.
SILENT = (
    "near_memory_reduction",
    "training_traffic",
    "prefix_cache",
)
STUDIES = [f for system in SYSTEMS for f in system["files"] if f not in SILENT] + [*OTHERS]
FILES = [f"library/studies/{name}.hw" for name in STUDIES]
AGAIN = f"hwdsl verify --format markdown {' '.join(FILES)} > docs/studies.md"


def chapters(text: str) -> dict[str, str]:
    """The chapters of a page by title."""
    parts = (part.partition("\n") for part in ("\n" + text).split("\n## ")[1:])
    return {title: rest.strip() for title, _, rest in parts}


def test_the_page_says_how_it_was_written() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"\n    {AGAIN}\n" in text
    assert list(chapters(text)) == FILES


@pytest.mark.parametrize("name", STUDIES)
def test_a_chapter_is_current(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    file = os.path.join("library", "studies", f"{name}.hw")
    main(["verify", "--format", "markdown", file])
    written = chapters(PAGE.read_text(encoding="utf-8"))[file]
    assert chapters(capsys.readouterr().out)[file] == written, f"write it again: {AGAIN}"
