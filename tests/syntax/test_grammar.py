"""The grammar stays strict LALR(1), and the shipped tables are what it says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lark.exceptions import GrammarError

from hwdsl.base.fingerprint import package_folder
from hwdsl.syntax import tables


@pytest.fixture(scope="module")
def generated() -> str:
    return tables.generate(tables.grammar_text())


def test_shipped_tables_are_fresh(generated: str) -> None:
    shipped = (package_folder("hwdsl.grammar") / "hw.json").read_text("utf-8")
    assert shipped == generated, "run `python -m hwdsl.syntax.tables`"


def test_tables_do_not_depend_on_hash_seeds(tmp_path: Path, generated: str) -> None:
    code = "from hwdsl.syntax import tables; import sys; tables.write(sys.stdout)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == generated


def test_conflict_is_refused() -> None:
    ambiguous = tables.grammar_text().replace("?sum: term |", "?sum: term | sum sum |")
    with pytest.raises(GrammarError):
        tables.generate(ambiguous)


def test_parsing_needs_no_lark() -> None:
    code = (
        "import sys; from hwdsl.syntax import parse; from hwdsl.base.source import Source;"
        "from hwdsl.base.diagnostics import Diagnostics;"
        "parse(Source('a', 'let a = 1'), Diagnostics()); sys.exit('lark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tables_are_plain_json() -> None:
    text = (package_folder("hwdsl.grammar") / "hw.json").read_text("utf-8")
    assert set(json.loads(text)) == {
        "patterns", "keywords", "literals", "starts", "ends", "rules", "states",
    }  # fmt: skip
