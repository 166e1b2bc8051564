"""Steps from text to numbers that the tests of elaboration share."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.verifier import verify_graph as verify_graph
from hwdsl.elaborate import Elaboration, check_rules, elaborate
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import Checked, EvaluatorInfo


def checked(text: str) -> Checked:
    diagnostics = Diagnostics()
    result = check(load(Source("t.hw", "edition 2026\n" + text), diagnostics), diagnostics)
    errors = [(d.name, d.message) for d in diagnostics.items if d.severity.value == "error"]
    assert not errors, errors
    return result


def found(text: str) -> list[tuple[str, str]]:
    """What `check` says of a file: names and messages."""
    diagnostics = Diagnostics()
    program = check(load(Source("t.hw", "edition 2026\n" + text), diagnostics), diagnostics)
    if not diagnostics.failed:
        check_rules(program, diagnostics)
    return [(d.name, d.message) for d in diagnostics.items]


def elaborated(
    text: str, overrides: Mapping[str, float] | None = None, name: str = "e"
) -> tuple[Elaboration, Diagnostics]:
    program = checked(text)
    diagnostics = Diagnostics()
    info = program.main.values[name]
    assert isinstance(info, EvaluatorInfo)
    result = elaborate(program, info, diagnostics, overrides)
    verify_graph(result.graph)
    return result, diagnostics


BESIDE = ("unread-param",)  # many of these texts have a param only so that something is unknown


def point(e: Elaboration, given: Mapping[str, float]) -> list[float]:
    return [given.get(p.name, p.default if p.default is not None else math.nan) for p in e.params]


def bits(graph: Graph, words: object) -> int:
    row = [int(w) for w in getattr(words, "ravel")()]  # noqa: B009
    return sum(w << (64 * i) for i, w in enumerate(row))


def run(text: str, **given: float) -> dict[str, float]:
    e, diagnostics = elaborated(text)
    assert [d.message for d in diagnostics.items if d.name not in BESIDE] == []
    results = interpret(e.graph, point(e, given))
    return {n: float(v) for n, v in results.outputs.items()}


def broken(text: str, **given: float) -> dict[str, str]:
    """The rules broken at a point, with their messages."""
    e, diagnostics = elaborated(text)
    assert not diagnostics.failed, [d.message for d in diagnostics.items]
    at = point(e, given)
    set_ = bits(e.graph, interpret(e.graph, at).rules)
    return {r.name: r.message(at) for i, r in enumerate(e.rules) if set_ >> i & 1}


def failures(text: str, name: str = "e") -> list[tuple[str, str]]:
    _, diagnostics = elaborated(text, name=name)
    return [(d.name, d.message) for d in diagnostics.items if d.name not in BESIDE]
