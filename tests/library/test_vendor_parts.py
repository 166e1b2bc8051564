"""Vendor parts of the package half: enough of them, and each number with where it comes from."""

from pathlib import Path

import pytest

from hwdsl.diagnostics import Diagnostics
from hwdsl.source import Source
from hwdsl.syntax import ast, parse

VENDOR = Path(__file__).parents[2] / "library" / "vendor"
LEAST = {"processes": 12, "memories": 15, "d2d": 8, "carriers": 5, "packages": 4}


def parts(name: str) -> list[ast.Part]:
    text = (VENDOR / f"{name}.hw").read_text(encoding="utf-8")
    diagnostics = Diagnostics()
    module = parse(Source(f"{name}.hw", text), diagnostics)
    assert not diagnostics.items
    return [item for item in module.items if isinstance(item, ast.Part)]


@pytest.mark.parametrize("name", LEAST)
def test_there_are_enough(name: str) -> None:
    assert len(parts(name)) >= LEAST[name]


@pytest.mark.parametrize("name", LEAST)
def test_each_has_a_source_and_says_how_sure_it_is(name: str) -> None:
    for part in parts(name):
        doc = part.doc.lower()
        assert "source:" in doc, part.name.name
        assert "confidence" in doc, part.name.name


@pytest.mark.parametrize("name", ["processes", "memories"])
def test_sources_have_a_year(name: str) -> None:
    years = {str(year) for year in range(1990, 2031)}
    for part in parts(name):
        if part.base is not None and "taken as" in part.doc:
            continue  # It repeats another part's figures, and says so.
        assert any(year in part.doc for year in years), part.name.name
