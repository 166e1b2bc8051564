"""Vendor parts: enough of them, and each number with where it comes from and how sure it is."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse

VENDOR = Path(__file__).parents[2] / "library" / "vendor"
LEAST = {"processes": 12, "memories": 15, "d2d": 8, "substrates": 5, "packages": 4}


def tree(path: Path) -> ast.Module:
    diagnostics = Diagnostics()
    module = parse(Source(path.name, path.read_text(encoding="utf-8")), diagnostics)
    assert not diagnostics.items
    return module


def parts(name: str) -> list[ast.Part]:
    return [item for item in tree(VENDOR / f"{name}.hw").items if isinstance(item, ast.Part)]


@pytest.mark.parametrize("name", LEAST)
def test_there_are_enough(name: str) -> None:
    assert len(parts(name)) >= LEAST[name]


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
