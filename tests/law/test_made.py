"""Drawn formulas that make components: which points break their rule is computed here by hand."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.passes import optimise
from hwdsl.elaborate import elaborate
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import EvaluatorInfo

HEAD = """edition 2026
kind slab {
    size : real = 1
    let same = size
    require fits: size <= 5
}
slab fine { }
fn cut(s: real) -> slab = fine with { size = s }
fn of(s: real) -> real = cut(s).same
"""
LIMIT = 5.0
Names = Mapping[str, float]


class Node:
    """A formula, and what it comes to: its value, and whether a slab that it reads is too large."""

    def __init__(self, form: str, parts: list[Node], number: int = 0, name: str = "") -> None:
        self.form, self.parts, self.number, self.name = form, parts, number, name

    def text(self) -> str:
        a = [part.text() for part in self.parts]
        name, n = self.name, self.number
        return {
            "number": lambda: f"{n}.0",
            "name": lambda: name,
            "add": lambda: f"({a[0]} + {a[1]} / 4)",
            "inline": lambda: f"slab(size = {a[0]}).same",
            "with": lambda: f"(fine with {{ size = {a[0]} }}).same",
            "function": lambda: f"of({a[0]})",
            "base": lambda: f"(cut({n}.0) with {{ size = {a[0]} }}).same",
            "list": lambda: f"[slab(size = {a[0]}), slab(size = {a[1]})][{n % 2}].same",
            "pick": lambda: f"(if {a[0]} > {n}.0 then cut({a[1]}) else fine).same",
            "if": lambda: f"(if {a[0]} > {n}.0 then {a[1]} else {a[2]})",
            "and": lambda: f"(if {a[0]} > {n}.0 and {a[1]} > 1 then 1 else 0)",
            "sum": lambda: f"sum({a[0]} / 8 for {name} in 1 .. {n})",
            "some": lambda: f"sum(of({a[0]}) / 8 for {name} in 1 .. {n} if {name} > {a[1]})",
        }[self.form]()

    def value(self, at: Names) -> tuple[float, bool]:
        """The value and whether a rule is broken; only what is read is evaluated."""
        form, n = self.form, self.number
        if form == "number":
            return float(n), False
        if form == "name":
            return at[self.name], False
        if form in ("sum", "some"):
            return self._sum(at)
        chosen = self.parts[n % 2] if form == "list" else self.parts[0]
        first, broken = chosen.value(at)
        if form in ("inline", "with", "function", "base", "list"):
            return first, broken or first > LIMIT
        if form == "pick":
            if not first > n:
                return 1.0, broken
            size, worse = self.parts[1].value(at)
            return size, broken or worse or size > LIMIT
        if form == "if":
            taken, worse = self.parts[1 if first > n else 2].value(at)
            return taken, broken or worse
        if form == "and" and not first > n:
            return 0.0, broken
        second, worse = self.parts[1].value(at)
        if form == "and":
            return float(second > 1), broken or worse
        return first + second / 4, broken or worse

    def _sum(self, at: Names) -> tuple[float, bool]:
        total, broken = 0.0, False
        for i in range(1, self.number + 1):
            inner = {**at, self.name: float(i)}
            if self.form == "some":
                least, worse = self.parts[1].value(inner)
                broken = broken or worse
                if not i > least:
                    continue
            value, worse = self.parts[0].value(inner)
            large = self.form == "some" and value > LIMIT
            total, broken = total + value / 8, broken or worse or large
        return total, broken


def drawn(random: Random, depth: int, names: tuple[str, ...]) -> Node:
    """A formula over names; ranges above 16 become loops of the graph."""
    if depth == 0 or random.random() < 0.1:
        if random.random() < 0.7:
            return Node("name", [], name=random.choice(names))
        return Node("number", [], random.randrange(8))
    forms = [
        "add",
        "inline",
        "with",
        "function",
        "base",
        "list",
        "pick",
        "if",
        "and",
        "sum",
        "some",
    ]
    form = random.choice(forms)
    count = {"add": 2, "list": 2, "pick": 2, "if": 3, "and": 2, "some": 2}.get(form, 1)
    number = random.randrange(8)
    if form not in ("sum", "some"):
        parts = [drawn(random, depth - 1, names) for _ in range(count)]
        return Node(form, parts, number)
    name = f"i{len(names)}"
    parts = [drawn(random, depth - 1, (*names, name)) for _ in range(count)]
    return Node(form, parts, random.choice([2, 3, 20]), name)


@pytest.mark.parametrize("seed", range(60))
def test_the_rule_is_broken_where_a_slab_that_is_read_is_too_large(seed: int) -> None:
    node = drawn(Random(seed), 4, ("a", "b"))
    text = f"{HEAD}evaluator e {{\n allow unread_param \"drawn\"\n param a : real = 1 in 0 .. 9\n" \
           f" param b : real = 1 in 0 .. 9\n output y : real = 1.0 * {node.text()}\n}}"  # fmt: skip
    found = Diagnostics()
    program = check(load(Source("t.hw", text), found), found)
    info = program.main.values["e"]
    assert isinstance(info, EvaluatorInfo)
    points = [(a, b) for a in (0.0, 2.5, 5.0, 5.5, 9.0) for b in (0.0, 3.0, 5.0, 7.0)]
    expected = [node.value({"a": a, "b": b}) for a, b in points]
    elaborated = elaborate(program, info, found)
    if found.failed:  # what breaks the rule depends on no param
        assert {d.name for d in found.items} == {"slab.fits"}, found.items
        assert any(broken for _, broken in expected)
        return
    for graph in (elaborated.graph, optimise(elaborated.graph)):
        order = [p.name for p in graph.params]
        for (a, b), (value, broken) in zip(points, expected, strict=True):
            given = {"a": a, "b": b}
            results = interpret(graph, [given[name] for name in order])
            assert float(results.outputs["y"]) == value
            assert bool(results.rules.any()) == broken, (given, node.text())
