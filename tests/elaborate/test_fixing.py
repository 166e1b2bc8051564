"""Fixing a param never changes a digit: the same text folds when all is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwdsl.codegen.interpret import interpret
from hwdsl.diagnostics import Diagnostics
from hwdsl.elaborate import elaborate
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import EvaluatorInfo
from hwdsl.source import Source

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("docs/examples", "library/studies")
    for path in (ROOT / folder).rglob("*.hw")
    if "evaluator " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_known_and_unknown_agree(path: Path) -> None:
    diagnostics = Diagnostics()
    source = Source(str(path), path.read_text(encoding="utf-8"))
    program = check(load(source, diagnostics), diagnostics)
    assert not diagnostics.failed
    for symbol in program.main.values.values():
        if not isinstance(symbol, EvaluatorInfo):
            continue
        free = elaborate(program, symbol, diagnostics)
        assert not diagnostics.failed, diagnostics.items
        at = [p.default if p.default is not None else p.low for p in free.params]
        numbers = [float(x) for x in at if x is not None]
        assert len(numbers) == len(at)
        expected = interpret(free.graph, numbers).outputs
        names = [p.name for p in free.params]
        known = elaborate(program, symbol, Diagnostics(), dict(zip(names, numbers, strict=True)))
        got = interpret(known.graph, []).outputs
        # Equal to the last digit: all is computed by the same functions in the same order.
        assert {n: float(v) for n, v in got.items()} == {n: float(v) for n, v in expected.items()}


def test_there_is_something_to_compare() -> None:
    assert len(FILES) >= 5
