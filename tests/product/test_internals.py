"""The pages about the compiler say what is true: texts of stages, files and names in the code."""

import os
import re
import textwrap
from functools import cache
from pathlib import Path

import attrs
import lark
import msgspec
import numpy
import pytest
from stages import stages

from hwdsl.codegen.numerics.backend import Backend
from hwdsl.codegen.operations import arithmetic
from hwdsl.elaborate.partial_evaluator import PartialEvaluator

ROOT = Path(__file__).parents[2]
WRITE = os.environ.get("HWDSL_WRITE_STAGES") == "1"
EXAMPLE = ROOT / "docs" / "internals.md"
FOUND = [*(ROOT / "docs").glob("internals*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
PAGES = ["CONTRIBUTING.md", *sorted(path.relative_to(ROOT).as_posix() for path in FOUND)]
FOLDERS = [
    ".ci", "benchmarks", "codegen", "docs", "editors", "grammar", "hwdsl", "library", "tests"
]  # fmt: skip
STAGE = re.compile(r"```text (\w+)\n(.*?)```\n", re.DOTALL)
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"[\w./*-]+(/|\.(py|pyx|hw|lark|md|toml|tsv|j2))")
PLACED = re.compile(r"`(\w+)`(?: in| of| \(|,) ?`([\w./]+\.\w+)`")
NAME = re.compile(r"(?:\w+\.)*(_?[A-Za-z]+_\w+|_?[A-Z]\w*[a-z]\w*|[A-Z_]{4,})(?:\(.*\))?")


def example() -> str:
    """The file that the page follows through the stages."""
    page = EXAMPLE.read_text("utf-8")
    return page.partition("```hw\n")[2].partition("```")[0]


def test_the_page_shows_what_each_stage_makes() -> None:
    """After a change of a stage: HWDSL_WRITE_STAGES=1 pytest tests/product/test_internals.py."""
    made, page = stages(example()), EXAMPLE.read_text("utf-8")
    shown = [name for name, _ in STAGE.findall(page)]
    assert shown == list(made)
    fresh = STAGE.sub(lambda x: f"```text {x[1]}\n{made[x[1]].rstrip()}\n```\n", page)
    if WRITE:
        EXAMPLE.write_text(fresh, "utf-8")
    assert EXAMPLE.read_text("utf-8") == fresh


def test_the_operation_of_the_recipe_is_one() -> None:
    """The recipe's record, written into the module where it says it belongs."""
    text = EXAMPLE.read_text("utf-8").partition("   ```py\n")[2].partition("   ```\n")[0]
    module = dict(vars(arithmetic))
    exec(textwrap.dedent(text), module)
    assert [module["SIGN"].fold([x]) for x in (-3.0, 0.0, 5.0)] == [-1.0, 0.0, 1.0]


@cache
def sources() -> tuple[dict[str, str], frozenset[str]]:
    """The project's files by path, and all words in its code and of the libraries it stands on."""
    texts: dict[str, str] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                code = path.suffix in (".py", ".pyx", ".j2", ".hw", ".lark", ".toml")
                texts[path.relative_to(ROOT).as_posix()] = path.read_text("utf-8") if code else ""
    for path in (p for p in ROOT.iterdir() if p.is_file()):
        texts[path.name] = path.read_text("utf-8") if path.name == "pyproject.toml" else ""
    words = re.compile(r"\w+")
    found = {w for text in texts.values() for w in words.findall(text)}
    return texts, frozenset(found.union(*map(dir, (attrs, lark, msgspec, numpy))))


def is_there(name: str) -> bool:
    """Whether a file, a folder or a pattern of files is in the tree, its path perhaps shortened."""
    paths = [f"/{path}" for path in sources()[0]]
    name = name.replace("NAME", "*")
    pattern = "[^/]*".join(map(re.escape, name.removeprefix("/").split("*")))
    found = re.compile(rf".*/{pattern}" + (".*" if name.endswith("/") else ""))
    return any(found.fullmatch(path) for path in paths)


@pytest.mark.parametrize("page", PAGES)
def test_files_and_names_are_there(page: str) -> None:
    """A name in backticks that looks like one of the code stands in the code."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    quoted = sorted(set(QUOTED.findall(text)))
    files = {q for q in quoted if FILE.fullmatch(q)}
    names = {q: m[1] for q in quoted if q not in files and (m := NAME.fullmatch(q))}
    assert [q for q in sorted(files) if not is_there(q)] == []
    assert [q for q, name in sorted(names.items()) if name not in sources()[1]] == []


@pytest.mark.parametrize("page", [page for page in PAGES if "decisions" not in page])
def test_names_are_where_the_page_says(page: str) -> None:
    """Of `NAME` in `FILE`, and of `NAME` (`FILE`)."""
    text = " ".join((ROOT / page).read_text("utf-8").split())
    wrong = []
    for name, file in PLACED.findall(text):
        found = [t for path, t in sources()[0].items() if f"/{path}".endswith(f"/{file}")]
        if not any(re.search(rf"\b{name}\b", t) for t in found):
            wrong.append(f"{name} in {file}")
    assert wrong == []


def test_m_has_what_the_pages_call() -> None:
    """`m` is the partial evaluator in elaboration, and the backend in formulas."""
    texts = [path.read_text("utf-8") for path in FOUND if path.name.startswith("internals")]
    called = {name for text in texts for name in re.findall(r"`m\.(\w+)", text)}
    assert {"op", "where"} < called
    known = {*dir(PartialEvaluator), *dir(Backend)}
    assert called - known == set()


@pytest.mark.parametrize(
    ("page", "folder"),
    [("internals_elaboration.md", "hwdsl/elaborate"), ("internals_codegen.md", "codegen/passes")],
)
def test_a_table_of_files_is_complete(page: str, folder: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    names = [path.name for path in (ROOT / folder).glob("*.py")]
    assert len(names) > 5
    assert [name for name in names if f"`{name}`" not in text and name != "__init__.py"] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = QUOTED.sub("", path.read_text("utf-8"))
    links = re.findall(r"\]\(([^)#]*)(?:#[\w-]+)?\)", text)
    assert [x for x in links if x and "://" not in x and not (path.parent / x).exists()] == []
