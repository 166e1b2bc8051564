"""Ranges of fields are rules of the fields' names, and excluded ends of params are rules."""

from __future__ import annotations

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.serialization import dump
from hwdsl.codegen.passes import optimise
from hwdsl.elaborate import check_rules

from .helper import broken, checked, elaborated, failures, run

RANGES = {
    "0 .. 1": ("0 <= x <= 1", "at least 0 and at most 1"),
    "0 <.. 1": ("0 < x <= 1", "above 0 and at most 1"),
    "0 ..< 1": ("0 <= x < 1", "at least 0 and below 1"),
    "0 <..< 1": ("0 < x < 1", "above 0 and below 1"),
    "0 <.. inf": ("0 < x", "above 0"),
    "-inf .. 1": ("x <= 1", "at most 1"),
    "0 ..< inf": ("0 <= x < inf", "at least 0 and below inf"),
    "-0.5 .. most": ("-0.5 <= x <= most", "at least -0.5 and at most `most`, which is 2"),
}


def program(field: str, rule: str = "") -> str:
    return f"""
    kind part {{ most : real = 2, x : real = 0.5{field}{rule} }}
    evaluator e {{
        param p : real = 0.5 in -9 .. 9
        let it = part(x = p)
        output y = max(0, min(it.x, 1))
    }}"""


@pytest.mark.parametrize("written", RANGES)
def test_a_range_is_the_rule_that_a_text_could_write(written: str) -> None:
    condition, said = RANGES[written]
    ranged, _ = elaborated(program(f" in {written}"))
    ruled, _ = elaborated(program("", f"\n require x: {condition}"))
    assert dump(optimise(ranged.graph)) == dump(optimise(ruled.graph))
    for p in (-9.0, 0.0, 0.5, 1.0, 9.0):
        text = program(f" in {written}")
        named = broken(program("", f"\n require x: {condition}"), p=p)
        assert broken(text, p=p).keys() == named.keys()
        # A value outside is computed with all the same: nothing takes the range for granted.
        assert run(text, p=p) == {"y": max(0.0, min(p, 1.0))}
    assert broken(program(f" in {written}"), p=-9.0 if "-inf" not in written else 9.0) == {
        "it.x": f"`x` is {'9' if '-inf' in written else '-9'}; it must be {said}"
    }


def test_a_range_that_holds_wherever_the_params_are_is_decided() -> None:
    e, _ = elaborated(program(" in -9 .. 10"))
    graph = optimise(e.graph)
    ((_, rule),) = graph.rules
    assert (graph.ops[rule].code, graph.ops[rule].value) == ("const", 1.0)


def rules_of(text: str) -> Diagnostics:
    diagnostics = Diagnostics()
    check_rules(checked(text), diagnostics)
    return diagnostics


POWERED = """
kind supply {
    ## Power at the plug.
    power : power in 0 W <.. 700 W
}
kind board { supply s { power = 5 W } }
"""


def test_a_value_outside_is_reported_where_it_is_given() -> None:
    (found,) = rules_of(POWERED + "supply strong { power = 0.8 kW }").items
    assert found.name == "supply.power"
    assert found.message == "`power` is 0.8 kW; it must be above 0 W and at most 700 W"
    assert found.help == "`power`: Power at the plug"
    assert [label.span.text for label in found.labels] == ["strong", "0 W <.. 700 W", "0.8 kW"]


@pytest.mark.parametrize(
    "text",
    [
        'supply strong { power = 1 kW, allow supply.power "a test" }',
        'allow strong.power "a test"\nsupply strong { power = 1 kW }',
        'board b { s.power = 1 kW, allow s.power "a test" }',
        "supply weak { power = 700 W }",
    ],
)
def test_a_range_is_waived_as_a_rule_is(text: str) -> None:
    assert not rules_of(POWERED + text).items


def test_the_range_of_what_nobody_knows_is_undecided() -> None:
    text = 'kind part { price : money = unknown "secret" in 0 USD .. inf }\npart p { }'
    diagnostics = rules_of(text)
    assert not diagnostics.items
    assert [(d.name, d.missing) for d in diagnostics.undecided] == [("part.price", "p.price")]


def test_a_kind_may_narrow_the_range_of_its_base() -> None:
    kinds = """
    kind part { x : real = 0.5 in 0 .. 1, y : real = 0.5 in 0 .. 1 }
    kind fine : part { x : real = 0.3 in 0 .. 0.4, y : real = 2 }
    """
    found = rules_of(kinds + "part a { x = 0.7 }\nfine b { x = 0.7 }").items
    assert [d.message for d in found] == [
        "`x` is 0.7; it must be at least 0 and at most 0.4",
        "`y` is 2; it must be at least 0 and at most 1",
    ]


def test_an_excluded_end_of_a_param_is_a_rule_and_its_range_has_both_ends() -> None:
    text = "evaluator e { param p : data = 1 B in 0 B <..< 8 B, output y in B = p }"
    e, _ = elaborated(text)
    assert (e.params[0].low, e.params[0].high) == (0.0, 8.0)
    assert broken(text) == {}
    assert broken(text, p=0.0) == {"p": "`p` is 0 B; it must be above 0 B and below 8 B"}
    assert broken(text, p=8.0) == {"p": "`p` is 8 B; it must be above 0 B and below 8 B"}


def test_a_call_at_an_excluded_end_is_infeasible() -> None:
    text = """
    evaluator f { param p : real = 1 in 0 <.. 8, output y = p }
    evaluator e { param q : real = 1 in 0 .. 8, output ok : bool = f(p = q).feasible }
    """
    assert run(text) == {"ok": 1.0}
    assert run(text, q=0.0) == {"ok": 0.0}
    beyond = "evaluator g { output y = f(p = 9).y }"
    assert [name for name, _ in failures(text + beyond, "g")] == ["outside-range"]
