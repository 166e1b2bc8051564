"""All ways to ask give one answer: of drawn programs, at drawn points.

The same programs as in every run; the campaign in `benchmarks/law.py` draws others by the
thousand. What is compared, and what is not and why, is said in `evaluations.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from hwdsl.codegen.build import toolchain as building
from hwdsl.codegen.runtime import ParamSpec
from hwdsl.semantics.builtins import declarations

from .coverage import ERRORS, productions, wanted
from .evaluations import judge
from .mutants import MUTANTS, Mutant, plant
from .points import texts
from .programs import BESIDE, COMMON, MAIN, draw

ROOT = Path(__file__).parents[2]
PROGRAMS, POINTS = 70, 2
DRAWN = 800  # programs whose text alone is looked at


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code as it stands takes gcc a third of the time; the campaign optimises."""
    monkeypatch.setattr(building, "FLAGS", (*building.FLAGS, "-O0"))


@pytest.mark.parametrize("batch", range(2))
def test_all_ways_give_one_answer(batch: int, tmp_path: Path) -> None:
    half = PROGRAMS // 2
    programs = {f"p{seed}": draw(seed) for seed in range(batch * half, batch * half + half)}
    found = judge(programs, tmp_path, points=POINTS)
    assert not found.findings, "\n".join(map(str, found.findings[:10]))
    assert found.skipped < half / 2
    assert found.points >= half


def test_the_programs_use_the_whole_language() -> None:
    param = ParamSpec("p", low=0.0, high=1.0)
    values = ["\n1", "1\n", "\n1\n", *texts(param, Random(1), 20)]
    missing = wanted() | declarations().keys()
    for first in range(0, DRAWN, 50):
        if missing:
            used, called = productions(map(draw, range(first, first + 50)), values, ["GB"])
            missing -= used.keys() | called.keys()
    assert not missing


WITNESSES = [m for m in MUTANTS if not m.compiled]
JUDGING = """
import json, sys
from pathlib import Path
from law.evaluations import judge
programs = json.loads(sys.stdin.read())
found = judge(programs, Path(sys.argv[1]), points=12, compiled=False).findings
print(json.dumps(sorted({finding.program for finding in found})))
"""


def test_the_law_finds_bugs_whose_mends_are_taken_back(tmp_path: Path) -> None:
    """In a copy of the package without these mends; with them it finds nothing."""
    programs = {m.name: {MAIN: m.witness, BESIDE: COMMON} for m in WITNESSES}
    found = judge(programs, tmp_path / "mended", points=12, compiled=False)
    assert not found.findings
    assert not found.skipped
    plant(ROOT, tmp_path / "packages", WITNESSES)
    paths = os.pathsep.join([str(tmp_path / "packages"), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", JUDGING, str(tmp_path / "unmended")],
        input=json.dumps(programs), env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == sorted(programs)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mend_is_in_the_code(mutant: Mutant) -> None:
    """Those that take a compiler to see, too: the campaign takes them back."""
    for edit in mutant.edits:
        assert (ROOT / edit.file).read_text("utf-8").count(edit.mended) == 1


def test_what_is_never_drawn_is_in_the_grammar() -> None:
    used, _ = productions([])
    assert not used
    assert ERRORS.keys().isdisjoint(wanted())
