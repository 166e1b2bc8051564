"""The adapters of published tables are importable by the tests of this folder; their models."""

import sys
from pathlib import Path

import pytest

import hwdsl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "adapters"))


@pytest.fixture(scope="module")
def module(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> hwdsl.Module:
    """The `TEXT` of a file of tests, loaded once and interpreted."""
    path = tmp_path_factory.mktemp("model") / f"{request.path.stem.removeprefix('test_')}.hw"
    path.write_text(request.module.TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)
