"""Helper modules of this folder are importable by its tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(name="good")
def _good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from area import GOOD

    monkeypatch.chdir(tmp_path)
    Path("good.hw").write_text(GOOD)
    return "good.hw"
