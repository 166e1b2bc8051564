"""The catalogue, the pages and the code name the same diagnostics; the pages' examples behave."""

import ast
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.help.diagnostic_catalog import CATALOG, page

PACKAGE = Path(driver.__file__).parents[1]
COMPILER = ("base/reading.py", "syntax", "semantics", "elaborate", "api/driver.py")
OTHERS = {"utf-8", "utf-8-sig", "hwdsl-elaborate"}


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: (what stands behind the fence, text)."""
    found: list[tuple[str, str]] = []
    info, lines = None, []
    for line in text.splitlines():
        if line.startswith("```"):
            if info is None:
                info, lines = line[3:], []
            else:
                found.append((info, "\n".join(lines) + "\n"))
                info = None
        elif info is not None:
            lines.append(line)
    assert info is None, "a block is not closed"
    return found


def is_diagnostic_name(text: str) -> bool:
    words = text.split("-")
    return len(words) > 1 and all(w.isascii() and w.isalnum() and w.islower() for w in words)


def names_in_code() -> set[str]:
    """All texts that look like names, in the stages that report."""
    names: set[str] = set()
    for top in COMPILER:
        path = PACKAGE / top
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    names.add(node.value)
    return {n for n in names if is_diagnostic_name(n)} - OTHERS


def test_catalogue_names_what_the_code_reports() -> None:
    assert set(CATALOG) == names_in_code()


def test_every_name_has_a_page_and_every_page_a_name() -> None:
    assert {p.stem for p in (PACKAGE / "help" / "pages").glob("*.md")} == set(CATALOG)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_page_is_titled_by_its_summary(name: str) -> None:
    text = page(name)
    assert text.splitlines()[0] == f"# {name}: {CATALOG[name]}"
    assert text.index("\n## Fails\n") < text.index("\n## Fixed\n")


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_page_examples_fail_and_pass(name: str, tmp_path: Path) -> None:
    examples = []
    for info, text in blocks(page(name)):
        _, _, file = info.partition("file=")
        if file:
            (tmp_path / file).write_text(text)
        else:
            encoding = info.partition("encoding=")[2] or "utf-8"
            examples.append(text.encode(encoding))
    fails, fixed = examples
    assert name in found(fails, tmp_path)
    assert not found(fixed, tmp_path)


def found(text: bytes, folder: Path) -> set[str]:
    path = folder / "example.hw"
    path.write_bytes(text)
    diagnostics = Diagnostics()
    checked = driver.check(path, diagnostics)
    if checked is not None and not diagnostics.failed:
        driver.lower(checked, diagnostics)
    return {d.name for d in diagnostics.items}
