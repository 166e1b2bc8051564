"""Vendor parts: enough of them, and each number with where it comes from and how sure it is."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse

VENDOR = Path(__file__).parents[2] / "library" / "vendor"
LEAST = {"processes": 12, "memories": 15, "d2d": 8, "substrates": 5, "packages": 4}


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
        if part.base is not None and "assumed as" in part.doc:
            continue  # It repeats another part's figures, and says so.
        assert any(year in part.doc for year in years), part.name.name


# What `kernel_efficiency` holds is fitted: each coefficient names its data.
ALL = sorted({path.stem for path in VENDOR.glob("*.hw")} - {"kernel_efficiency"})


@pytest.mark.parametrize("name", ALL)
def test_numbers_say_year_and_confidence(name: str) -> None:
    """Of each part that states numbers itself: a year in its source, one of three levels."""
    years = {str(year) for year in range(1990, 2031)}
    for part in parts(name):
        stated = [m for m in part.members if isinstance(m, ast.Assign) and states_number(m.value)]
        said = " ".join(f"{part.doc} {part.span.text}".lower().replace("##", " ").split())
        if not stated or "the same" in said or "as above" in said or "assumed as" in said:
            continue
        assert "source:" in said, part.name.name
        assert any(year in said for year in years), f"{part.name.name}: no year"
        assert "confidence" in said, f"{part.name.name}: how sure?"


def states_number(node: ast.Node) -> bool:
    return isinstance(node, ast.Quantity | ast.Number)


@pytest.mark.parametrize(
    ("part", "mebibytes"),
    [
        ("A100_SXM_80GB", 81_920),
        ("A100_SXM_40GB", 40_960),
        ("H100_SXM_80GB", 81_559),
        ("H100_NVL_94GB", 95_830),
        ("H200_SXM_141GB", 143_771),
        ("GH200_96GB", 97_871),
        ("B200_SXM_180GB", 183_359),
        ("GB200_GPU", 189_471),
        ("L40S", 46_068),
        ("L4", 23_034),
        ("T4", 15_360),
    ],
)
def test_memory_is_what_the_driver_prints(tmp_path: Path, part: str, mebibytes: int) -> None:
    """Also on parts that inherit the share of their generation."""
    path = tmp_path / "memory.hw"
    path.write_text(
        "edition 2026\nuse vendor.nvidia\n\nevaluator seen {\n"
        f"    output usable in MiB = {part}.usable_memory\n}}\n",
        encoding="utf-8",
    )
    found = hwdsl.load(path, compiled=False).seen().usable
    assert found == pytest.approx(mebibytes, rel=1e-3)
