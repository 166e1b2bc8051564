"""Claims: what an expectation reads of results that break rules."""

from __future__ import annotations

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import verify
from hwdsl.elaborate.claims import ClaimResult
from hwdsl.semantics.symbols import Checked, ClaimInfo

from .helper import checked

PLANT = """
evaluator inner {
    param z : real = 1
    output v : real = z
    require small: z < 5 else "{z} is too much"
}
evaluator e {
    param x : real = 1 in 0 .. 1000
    let other = inner(z = 9)
    output y : real = x
    output nested : real = if other.feasible then other.v else other.v
    require big: x > 3 else "{x} is too little"
}
fn at(x: real) -> real = e(x = x).y
"""


def claim_of(program: Checked) -> ClaimResult:
    claim = program.main.values["c"]
    assert isinstance(claim, ClaimInfo)
    diagnostics = Diagnostics()
    (found,) = verify(program, claim, diagnostics)
    assert not diagnostics.failed
    return found


def verdict(expectation: str, lets: str = "") -> ClaimResult:
    return claim_of(checked(f"{PLANT} claim c {{ {lets}\nexpect {expectation}\n}}"))


@pytest.mark.parametrize(
    "expectation",
    [
        "e(x = 1).y == 1",
        "e(x = 1).y == 1 within 1 relative",
        "at(1) == 1",
        "[e(x = 1), e(x = 4)][0].y == 1",
        "sum(e(x = k).y for k in 1 .. 4) == 10",
        "max([e(x = k).y for k in 1 .. 4]) == 4",
        "sum(e(x = k).y for k in 1 .. 40) == 820",
        "all(r.y > 0 for r in [e(x = 1), e(x = 4)])",
        "lowest(e(x = k).y for k in 1 .. 9).k == 1",
        "e(x = 4).feasible and e(x = 1).y == 1",
    ],
)
def test_a_claim_on_an_infeasible_result_fails(expectation: str) -> None:
    found = verdict(expectation)
    assert not found.ok
    assert "is not feasible" in found.note


@pytest.mark.parametrize(
    "expectation",
    [
        "e(x = 4).y == 4",
        "at(4) == 4",
        "not e(x = 1).feasible",
        "not e(x = 1).feasible and e(x = 1).y == 1",
        "sum(e(x = k).y for k in 4 .. 5) == 9",
        "sum(e(x = k).y for k in 4 .. 50) == 1269",
        "sum(e(x = k).y for k in 1 .. 4 if e(x = k).feasible) == 4",
        "sum(e(x = k).y for k in 1 .. 40 if e(x = k).feasible) == 814",
        "e(x = 4).nested == 9",  # `e` reads `inner`, and says itself what it requires
    ],
)
def test_a_claim_on_feasible_results_or_one_that_asks_holds(expectation: str) -> None:
    found = verdict(expectation)
    assert found.ok, found.note


def test_what_a_variable_of_the_claim_reads_counts_where_it_is_read() -> None:
    lets = "let r = e(x = 1), let twice = 2 * r.y"
    assert not verdict("twice == 2", lets).ok
    assert verdict("twice == 2 and not r.feasible", lets).ok
    assert verdict("1 == 1", lets).ok


def test_a_source_of_low_confidence_makes_no_claim() -> None:
    low, medium = 'source "a" confidence low', 'source "b" confidence medium'
    assert verdict("1 == 1 baseline 1 == 2", medium).status == ""
    assert verdict("1 == 1", f"{low}\n{medium}").status == "unsure"
    assert verdict("1 == 1", f'{low}\nassume "c"').status == "assumed"


def test_an_expectation_may_say_why_it_is_missed() -> None:
    assert verdict('1 == 2 missed "one"').as_expected
    assert not verdict('1 == 1 missed "one"').as_expected
    assert not verdict("1 == 2").as_expected


def test_the_note_says_which_rule_is_broken() -> None:
    assert verdict("e(x = 1).y == 1").note == "`e(x = 1)` is not feasible: 1 is too little"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("2 == 2 within 5 % relative", "no baseline"),
        ("2.1 == 2 within 10 % relative baseline 2.21", ""),
        ("2.1 == 2 within 10 % relative baseline 2.2", "no better"),
        ("2.1 == 2 within 10 % relative baseline 1.9", "no better"),
        ("2.1 == 2 within 10 % relative baseline 0 / 0", ""),
        ("2.1 == 2 within 0.2 absolute baseline 1.79", ""),
        ("2.1 == 2 within 0.2 absolute baseline 1.81", "no better"),
        ("2 == 2 within factor 2 baseline 4.1", ""),
        ("2 == 2 within factor 2 baseline 4", "no better"),
        ("2 == 2 within factor 2 baseline -2", ""),
        ('2.3 == 2 within 10 % relative baseline 2.25 missed "three"', "no better"),
        ("2 > 1 baseline 1 > 2", ""),
        ("2 > 1 baseline 3 > 2", "no better"),
        ('2 == 1 within 5 % relative baseline 9 missed "two"', ""),
    ],
)
def test_a_claim_counts_only_beside_a_baseline_that_does_worse(text: str, status: str) -> None:
    assert verdict(text).status == status


CALLER = """
evaluator narrow {
    param z : real = 1 in 0 .. 100
    output v : real = z
    require small: z < 5 else "{z} is too much"
}
evaluator caller {
    param x : real = 1 in 0 .. 100
    output read  : real = narrow(z = x).v
    output asked : real = if narrow(z = 2 * x).feasible then narrow(z = 2 * x).v else 0
}
"""


@pytest.mark.parametrize(("x", "broken"), [(1, False), (4, False), (6, True)])
def test_what_a_call_breaks_is_broken_in_the_caller_unless_it_asks(x: float, broken: bool) -> None:
    text = f"{CALLER} claim c {{ expect caller(x = {x}).feasible }}"
    assert claim_of(checked(text)).ok == (not broken)
