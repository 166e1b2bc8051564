"""Fixing a param never changes a digit: the same text folds when all is known.

Stated exactly: let some params of an evaluator be known when it is elaborated, or none. Both graphs
are optimised; the outputs at a point are then the same float64 numbers (the zeros being two, and
all NaN one), and the same rules are broken. A rule that is known to be broken is a finding instead
of a bit; if all params are known, a point where that is an error breaks a rule of the graph. What a
kernel computes is the optimised graph, to the bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
import shipped
from attrs import frozen
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.passes import optimise
from hwdsl.elaborate import Elaboration, elaborate
from hwdsl.elaborate.elaboration_info import ParamInfo
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import Checked, EvaluatorInfo

FILES = [
    path
    for path in shipped.asking(shipped.EXAMPLES + shipped.LIBRARY)
    if path.parent.name in ("examples", "studies")
]
POINTS = 2
LARGE = 10_000  # operations above which only the defaults are tried
SIZES = frozenset(["too-large", "int-too-large"])
IMPLIED = frozenset(
    ["bad-count", "empty-list", "index-out-of-range", "not-settled", "not-whole", "outside-range"]
)
WIDE = 1e3  # how far a param without a range is moved


@frozen
class Made:
    """An elaboration, or None where it failed, and the names of what was reported."""

    elaboration: Elaboration | None
    reported: frozenset[str]


Elaborate = Callable[[dict[str, float]], Made]


def fixing(program: Checked, symbol: EvaluatorInfo) -> Elaborate:
    """The elaboration of an evaluator with some params known, which fails where these break a rule
    of the description, one that the language implies, or the sizes of the language."""

    def run(known: dict[str, float]) -> Made:
        found = Diagnostics()
        made = elaborate(program, symbol, found, known)
        names = frozenset(d.name for d in found.items)
        if not found.failed:
            return Made(made, names)
        assert all("." in n or n in SIZES | IMPLIED | {"outside-table"} for n in names)
        return Made(None, names)

    return run


def evaluators(name: str, text: str) -> list[Elaborate]:
    """The evaluators of a program."""
    diagnostics = Diagnostics()
    program = check(load(Source(name, text), diagnostics), diagnostics)
    names = [d.name for d in diagnostics.items if diagnostics.failed]
    assert not names  # short words: what fails here must not print the program
    symbols = program.main.values.values()
    return [fixing(program, s) for s in symbols if isinstance(s, EvaluatorInfo)]


def drawn(param: ParamInfo, random: Random) -> float:
    """A value that a param may take."""
    if param.labels:
        at = random.randrange(len(param.labels))
        return param.values[at] if param.values else float(at)
    if param.type == "bool":
        return float(random.randrange(2))
    middle = param.default if param.default is not None else param.low
    assert middle is not None
    low = param.low if param.low is not None and math.isfinite(param.low) else middle / WIDE
    high = param.high if param.high is not None and math.isfinite(param.high) else middle * WIDE
    low, high = max(low, middle / WIDE), min(high, max(middle * WIDE, low))
    value = random.uniform(low, high)
    return float(math.floor(value)) if param.type == "int" else value


Answer = tuple[dict[str, bytes], dict[str, bool]]


def answer(graph: Graph, point: dict[str, float]) -> Answer:
    """The bits of each output, and whether each rule is broken."""
    found = interpret(graph, [point[p.name] for p in graph.params])
    outputs = {n: float(v) for n, v in found.outputs.items()}
    bits = sum(int(word) << 64 * i for i, word in enumerate(found.rules.ravel()))
    names = [*(name for name, _ in graph.rules), "undefined"]
    return (
        {n: struct.pack("<d", v if v == v else math.nan) for n, v in outputs.items()},
        {name: bool(bits >> i & 1) for i, name in enumerate(names)},
    )


def agree(free: Elaboration, graph: Graph, made: Made, point: dict[str, float]) -> bool:
    """Whether an evaluator, its graph optimised, says the same with some params known."""
    outputs, broken = answer(graph, point)
    known = made.elaboration
    if known is None:  # with all known it is the point that breaks a rule
        everywhere = all(p.name in point for p in free.params) and not made.reported & SIZES
        return not everywhere or any(broken.values())
    same, still = answer(optimise(known.graph), point)
    named = {r.name: r.rule for r in free.rules}
    return outputs == same and all(
        still.get(name, False) == holds_not
        for name, holds_not in broken.items()
        if name in still or named[name] not in made.reported
    )


@pytest.mark.parametrize("path", FILES, ids=shipped.name_of)
def test_known_and_unknown_agree(path: Path) -> None:
    random, file = Random(path.stem), shipped.of(path)
    for name, symbol in driver.evaluators(file.checked).items():
        elaborated, free = fixing(file.checked, symbol), file.elaborations[name]
        at = {p.name: p.default if p.default is not None else p.low for p in free.params}
        middle = {name: float(v) for name, v in at.items() if v is not None}
        assert middle.keys() == at.keys()
        whole = elaborated(middle)
        graph = file.program.graphs[name]
        assert agree(free, graph, whole, middle)
        for _ in range(POINTS if len(graph.ops) < LARGE else 0):
            point = {p.name: drawn(p, random) for p in free.params}
            some = {name: v for name, v in point.items() if random.random() < 0.5}
            made = elaborated(some)
            if made.elaboration is not None:  # a rule broken in an arm not taken is an error too
                assert agree(free, graph, made, point), (point, some)


def test_there_is_something_to_compare() -> None:
    assert len(FILES) >= 5


# Texts in which a rewrite or another order of summing would show.
TEXTS = {
    "logarithms": "log2(x) + log10(x * n) * log(n)",
    "reciprocals": "x / (n / 3) + x / n + 3 / n / x + (x + 1) / (n / 3)",
    "sums": "sum(x * j / i for i in 1 .. n for j in i .. n)",
    "filters": "sum(x * j / i for i in 1 .. 3 for j in i .. 4 * n if j > i * x)",
    "products": "prod(1 + x / (i * j) for i in 1 .. 3 for j in i .. n)",
    "lists": "sum(x * j / i for i in 1 .. n for j in 1 .. 3)",
    "powers": "x ^ n + n ^ x + (x / 3) ^ 2.5 + sqrt(x / n)",
    "means": "mean(x / i for i in 1 .. n) + geomean(x / i for i in 1 .. n)",
    "choices": "lowest(abs(x - i / n) for i in 1 .. 40).value + max(x / 3, n / 3)",
    "tables": "interp(x, [1, 3, 7, 40], [1, 1 / n, x, 5]) + step(x, [1, 9], [n, 2])",
    "rounding": "floor(x / n * 3) + ceil(n / x) + round(x * n / 7) + floor(n / 3)",
    "iteration": "run.u\n let run = iterate k in 1 .. n {\n state u : real = x\n"
    " next u = (u + x / u) / 2\n }\n",
    "nothing but NaN": "lowest(nan + k for k in 0 .. n).value + highest(nan - k for k in 0 .. 9).k",
    "NaN that is left": "best.k + best.value\n let best = lowest(nan * k for k in 0 .. 9 if k > n)",
    "NaN far": "best.k + best.value\n let best = highest(nan * k for k in 0 .. 30 if k > n)",
    "infinite": "best.k + best.value\n let best = lowest(k / 0.0 for k in 1 .. 30 if k > n)",
    "NaN or a number": "best.k + best.value\n"
    " let best = lowest((if k > n then nan else 0) + k / x for k in 1 .. 30 if k > 2)",
    "zeros": "1 / sum(-x for i in 1 .. 3 if i > n) + 1 / sum(-0.0 * i for i in 1 .. n)",
    "zeros of lists": "1 / sum([-x, -x]) + 1 / mean(-x for i in 0 .. 9 if i > n)",
    "indices": "[1.0, x, n][min(max(floor(x / (x - 1)), 0), 2)] + (1 .. n)[3]",
    "ends": "sum(x for i in 1 .. min(max(floor(nan), 0), 9)) + len(0 .. n)",
    "cases": "if n is 3 | 16 | 40 then x / 3 else if not n is 2 then x / n else x * n / 7",
    "side by side": "best.a + best.value + sum(x * a / b for a, b in zip(3 .. 6, [x, 7, n, n / 3]))"
    "\n let best = lowest(x / b - a for a, b in zip([n, 3, n / 3], [x, 7, n]) if b > 2)",
    "rounds": "run.u\n let run = iterate k in 0 .. min(n, min(max(floor(nan), 3), 30)) {\n"
    " state u : real = 1\n next u = u * x\n }\n",
}


@cache
def small(name: str) -> tuple[Elaborate, Elaboration, Graph]:
    """One of the texts, what it is with all params free, and that graph optimised."""
    text = (
        "evaluator e { param x : real = 0.3 in 0 .. 100\n param n : int = 16 in 1 .. 40\n"
        f" let nan = x / x\n output y = {TEXTS[name]} }}"
    )
    [elaborated] = evaluators(f"{name}.hw", text)
    free = elaborated({}).elaboration
    assert free is not None
    return elaborated, free, optimise(free.graph)


def ways_agree(name: str, point: dict[str, float]) -> bool:
    """Whether one of the texts gives the same digits however its params are fixed."""
    elaborated, free, graph = small(name)
    made = [elaborated({p: point[p] for p in names}) for names in ("x", "n", "xn")]
    return all(
        agree(free, graph, each, point)
        for each, names in zip(made, ("x", "n", "xn"), strict=True)
        if each.elaboration is not None or names == "xn"
    )


@pytest.mark.parametrize("name", sorted(TEXTS))
@settings(deadline=None, max_examples=15)
@example(0.0, 1)
@example(0.0, 40)
@example(1.0, 2)
@given(st.floats(0, 100), st.integers(1, 40))
def test_any_way_of_fixing_two_params_agrees(name: str, x: float, n: int) -> None:
    assert ways_agree(name, {"x": x, "n": float(n)})


@pytest.mark.parametrize(("name", "x"), [("logarithms", 6.1), ("reciprocals", 0.3), ("sums", 0.3)])
def test_the_points_where_digits_once_changed(name: str, x: float) -> None:
    assert ways_agree(name, {"x": x, "n": 16.0})


# --- calls: one evaluator asked by another -------------------------------------------------------

CALLED = """edition 2026
enum mode { a, b }
kind part {
    w : real = 1
    v : real = unknown "nobody"
    let d = w * 2
    require light: w < 4 else "{name} weighs {w}"
}
part X { w = 3 }
part Y { w = 5, v = 7 }
evaluator inner {
    param x : real = 0.3 in 0 .. 100
    param n : int = 16 in 1 .. 40
    choice how : mode in mode
    choice k : int in [1, 2, 4] = 2
    choice c : part in [X, Y]
    let at = min(max(floor(x / (x - 1)), 0), 2)
    let best = lowest(if i > n then x / x else (i - x) ^ 2 for i in 0 .. 30 if i > k)
    output one = c.d * [1.0, x, n][at] + best.value
    output two = [x / i for i in 1 .. 3]
    output three : mode = if x > n then mode.a else how
    output four = best.i + sum(-x for i in 1 .. 3 if i > n)
    output five = x * (if known(c.v) then c.v else 1)
    require near: x < 90 else "x is {x}"
    warn several: n > 1
}
"""
ASKED = """
evaluator asking {
    param x : real = 0.3 in 0 .. 100
    param n : int = 16 in 1 .. 40
    choice how : mode in mode
    choice k : int in [1, 2, 4] = 2
    choice c : part in [X, Y]
    let r = inner(x = x, n = n, how = how, k = k, c = c)
    output one = r.one
    output two = r.two
    output three : mode = r.three
    output four = r.four
    output five = r.five
    output fine : bool = r.feasible
}
"""


@cache
def called() -> list[tuple[Elaborate, Elaboration, Graph]]:
    text = CALLED + ASKED
    found: list[tuple[Elaborate, Elaboration, Graph]] = []
    for elaborated in evaluators("called.hw", text):
        free = elaborated({}).elaboration
        assert free is not None
        found.append((elaborated, free, optimise(free.graph)))
    return found


@settings(deadline=None, max_examples=30)
@example(0.0, 1, 0, 2, 0)
@example(1.0, 30, 1, 4, 0)
@example(95.0, 40, 1, 1, 0)
@example(50.0, 3, 0, 1, 1)
@given(
    st.floats(0, 100),
    st.integers(1, 40),
    st.integers(0, 1),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 1),
)
def test_a_call_gives_what_the_evaluator_gives(x: float, n: int, how: int, k: int, c: int) -> None:
    point = {"x": x, "n": float(n), "how": float(how), "k": float(k), "c": float(c)}
    (_, _, inner), (elaborated, _, outer) = called()
    outputs, broken = answer(inner, point)
    fine = not any(bad for name, bad in broken.items() if name != "several")
    expected = {**outputs, "fine": struct.pack("<d", fine)}
    assert answer(outer, point)[0] == expected
    for known in ("x", "n", "c", "nk", "xnkc"):
        made = elaborated({p: v for p, v in point.items() if p[0] in known}).elaboration
        assert not (made is None and fine)
        assert made is None or answer(optimise(made.graph), point)[0] == expected
