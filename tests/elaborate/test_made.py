"""Rules of components that expressions make: asked wherever one is read, and only there."""

from __future__ import annotations

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import verify
from hwdsl.semantics.symbols import ClaimInfo

from .helper import broken, checked, elaborated, found

SLAB = """
kind slab {
    size : real = 1
    let twice = 2 * size
    require fits: size <= 5 else "{size} is too much" help "cut it"
}
slab fine { }
fn cut(s: real) -> slab = fine with { size = s }
fn twice_of(s: real) -> real = cut(s).twice
kind pile {
    bottom : slab
    height : real = bottom.twice
    let sum = slab(size = height).twice
}
"""


# By hand: a slab breaks its rule above 5; `a` is 4, or 6 where it is broken.
WAYS = [
    "slab(size = a).twice",
    "(fine with { size = a }).twice",
    "cut(a).twice",
    "twice_of(a)",
    "[cut(a), fine][0].twice",
    "sum(x.twice for x in [fine, cut(a)])",
    "sum(slab(size = a - i).twice for i in 0 .. 2)",
    "sum(slab(size = a - i).twice for i in 0 .. 200)",
    "(iterate i in 1 .. 100 { state y : real = 0, next y = y + slab(size = a - i + 1).twice }).y",
    "pile(bottom = cut(a), height = 1).height * 0 + pile(bottom = cut(a)).height",
    "pile(bottom = fine, height = a).sum",
    "if a > 3 then cut(a).twice else 0",
    "if a > 5 or cut(a).twice > 100 then cut(a).twice else 1",
    "first_known(cut(a).twice, 0)",
    "(if a > 3 then cut(a) else fine).twice",
]


@pytest.mark.parametrize("way", WAYS)
def test_a_made_component_is_asked(way: str) -> None:
    text = SLAB + f"evaluator e {{\n param a : real = 4 in 0 .. 9\n output y = {way}\n}}"
    assert broken(text, a=4) == {}
    said = broken(text, a=6)
    assert [name.rsplit(".")[-1] for name in said] == ["fits"]
    assert "6" in next(iter(said.values()))
    # Of constants it is an error of the file, in an evaluator and in a `let`.
    _, diagnostics = elaborated(text.replace("param a : real = 4 in 0 .. 9", "let a = 6.0"))
    assert [d.name for d in diagnostics.items] == ["slab.fits"]
    assert "slab.fits" in [name for name, _ in found(SLAB + f"let a = 6.0\nlet y = {way}")]
    assert found(SLAB + f"let a = 4.0\nlet y = {way}") == []


IDLE = [
    "(cut(a) with { size = 1 }).twice",  # the base of a `with` is a template
    "[cut(a), fine][1].twice",
    "if a < 5 then cut(a).twice else 0",
    "if a < 5 and cut(a).twice > 1 then 1 else 0",
    "sum(cut(x).twice for x in [a, 1.0] if x < 5)",
    "sum(cut(a + i).twice for i in 0 .. 99 if a + i < 5)",
    "if cut(a).feasible then cut(a).twice else 0",
    "if known(cut(a).twice) then 1 else 0",
    "(if a < 5 then cut(a) else fine).twice",
    "pile(bottom = fine, height = a).height",  # the slab that `sum` makes is not read
]


@pytest.mark.parametrize("way", IDLE)
def test_what_is_not_read_is_not_asked(way: str) -> None:
    text = SLAB + f"evaluator e {{\n param a : real = 4 in 0 .. 9\n output y = {way}\n}}"
    for a in (4.0, 6.0):
        assert broken(text, a=a) == {}


def test_the_round_of_a_loop_is_named() -> None:
    """Over 100 rounds as a loop of the graph, in one inside another too."""
    text = (
        SLAB
        + """evaluator e {
        param a : real = 0 in 0 .. 9
        output y = sum(sum(cut(a + i * j / 1000).twice for j in 1 .. 50) for i in 1 .. 100)
    }"""
    )
    assert broken(text, a=0) == {}
    # The first round above 5 with a = 1, by hand: 81 * 50 / 1000 = 4.05.
    assert broken(text, a=1) == {"fine.fits": "5.05 is too much (where i = 81, j = 50)"}


def test_a_finding_shows_the_place_the_calls_and_the_values() -> None:
    text = SLAB + "evaluator e {\n output y = twice_of(6)\n}"
    _, diagnostics = elaborated(text)
    (finding,) = diagnostics.items
    shown = [(label.span.text, label.text) for label in finding.labels]
    assert shown[0] == ("fine with { size = s }", "fine")
    assert shown[1:3] == [("cut(s)", "made in this call"), ("twice_of(6)", "made in this call")]
    assert ("size <= 5", "rule of `fine`") in shown
    assert ("s", "`size` is given here") in shown


def test_one_component_is_asked_once() -> None:
    text = (
        SLAB
        + """evaluator e {
        param a : real = 6 in 0 .. 9
        let s = cut(a)
        output y = s.twice + cut(a).size + (if a > 3 then cut(a).twice else 0)
    }"""
    )
    e, _ = elaborated(text)
    assert [rule.name for rule in e.rules] == ["s.fits"]


@pytest.mark.parametrize(
    "text",
    [
        'allow slab.fits "thick"\nevaluator e { output y = cut(6).twice }',
        'evaluator e {\n allow slab.fits "thick"\n output y = cut(6).twice\n}',
        "evaluator e { output y = (fine with { allow slab.fits \"thick\"\n size = 6 }).twice }",
        'pile high { bottom = fine, height = 6, allow slab.fits "thick" }\n'
        "evaluator e { output y = high.sum }",
    ],
)  # fmt: skip
def test_a_made_component_may_be_waived(text: str) -> None:
    _, diagnostics = elaborated(SLAB + text)
    assert not diagnostics.items


def test_rules_that_read_each_other_end() -> None:
    text = """
    kind a { x : real, let other = b(x = x, back = self), require low: other.y < 10 }
    kind b { x : real, back : a, let y = x, require same: back.x == x and back.other.x == x }
    evaluator e { param p : real = 1 in 0 .. 99
      output y = a(x = p).other.y }
    """
    assert broken(text, p=1) == {}
    assert list(broken(text, p=11)) == ["a.low"]


def test_a_claim_that_reads_a_broken_component_fails() -> None:
    claim = 'claim c { source "t"\n expect cut(6).twice == 12 within 1 % relative }'
    program = checked(SLAB + claim)
    info = program.main.values["c"]
    assert isinstance(info, ClaimInfo)
    (verdict,) = verify(program, info, Diagnostics())
    assert not verdict.ok
    assert verdict.note == "6 is too much"
