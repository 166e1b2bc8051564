"""Fields nobody knows: silent until read, an error with the reason then, `known` asks first.

A rule that reads one is not decided.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.elaborate import Elaboration, check_rules

from .helper import BESIDE, broken, checked, elaborated, failures, point, run

KINDS = """
kind memory {
    bandwidth : data / time
    price     : money = unknown "no public price"
    let twice = 2 * price
}
memory cheap { bandwidth = 1 TB/s, price = 100 USD }
memory fast  { bandwidth = 4 TB/s }
memory odd : cheap { price = unknown "withdrawn" }
kind board {
    memory m : fast
    fee : money = 5 USD
    let price = m.price + fee
    let told  = if known(price) then price else fee
}
board plain { }
board dear { m.price = 40 USD }
"""


def test_nothing_is_said_of_what_is_not_read() -> None:
    text = KINDS + "evaluator e { output b in TB/s = plain.m.bandwidth }"
    assert run(text) == {"b": 4e12}


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("fast.price", "`fast.price` is not known: no public price"),
        ("fast.twice", "`fast.price` is not known: no public price"),
        ("odd.twice", "`odd.price` is not known: withdrawn"),
        ("plain.price", "`plain.m.price` is not known: no public price"),
        ("sum(m.price for m in [cheap, fast])", "`fast.price` is not known: no public price"),
    ],
)
def test_reading_says_which_field_and_why(read: str, said: str) -> None:
    assert failures(KINDS + f"evaluator e {{ output p in USD = {read} }}") == [
        ("unknown-value", said)
    ]


def test_the_help_says_how_to_give_it() -> None:
    _, diagnostics = elaborated(KINDS + "evaluator e { output p in USD = plain.price }")
    (found,) = diagnostics.items
    assert found.help == "give it a value: `plain with { m.price = … }`"
    assert [label.span.text for label in found.labels] == [
        "m.price",
        'unknown "no public price"',
        "m",
    ]
    text = KINDS + "evaluator e { output p in USD = (plain with { m.price = 1 USD }).price }"
    assert run(text) == {"p": 6.0}


def test_known_asks_first() -> None:
    text = (
        KINDS
        + """
    fn cost(m: memory) -> money = if known(m.price) then m.price else 7 USD
    evaluator e {
        param n : int = 3 in 1 .. 9
        let late = fast.price
        output a : bool = known(fast.price)
        output b : bool = known(n * cheap.price)
        output c : bool = known(late)
        output d in USD = plain.told
        output f in USD = dear.told
        output g in USD = sum(m.price for m in [cheap, fast, odd] if known(m.price))
        output h in USD = cost(fast) + cost(cheap)
        output i in USD = if known(late) and late > 3 USD then late * n else 2 USD
        output j in USD = first_known(fast.price * n, cheap.price, late) + first_known(late, 0)
        output l in USD = first_known(cheap, fast).price
    }"""
    )
    assert run(text) == {
        "a": 0.0,
        "b": 1.0,
        "c": 0.0,
        "d": 5.0,
        "f": 45.0,
        "g": 100.0,
        "h": 107.0,
        "i": 2.0,
        "j": 100.0,
        "l": 100.0,
    }


CHOICE = (
    KINDS
    + """
evaluator e {
    choice m : memory in [cheap, fast] = cheap
    output b in TB/s = m.bandwidth
    output k : bool = known(m.price)
    output p in USD = PRICE
}"""
)


def test_an_unknown_alternative_is_named() -> None:
    _, diagnostics = elaborated(CHOICE.replace("PRICE", "m.twice"))
    (found,) = diagnostics.items
    assert found.message == "`fast.price` is not known: no public price"
    assert found.help is not None
    assert found.help.endswith("`fast with { price = … }`, or leave the component out of `m`")


def test_a_choice_is_known_where_the_alternative_taken_is() -> None:
    text = CHOICE.replace("PRICE", "if known(m.price) then m.price else 1 USD")
    assert run(text, m=0) == {"b": 1e12, "k": 1.0, "p": 100.0}
    assert run(text, m=1) == {"b": 4e12, "k": 0.0, "p": 1.0}
    text = text.replace("[cheap, fast]", "[cheap, fast with { price = 9 USD }]")
    assert run(text, m=1) == {"b": 4e12, "k": 1.0, "p": 9.0}


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("if n > 3 and known(m.price) then m.price else 1 USD", ""),
        ("match pick { a => if known(m.price) then m.price else 2 USD, b => cheap.price }", ""),
        ("sum(x.price for x in [cheap, fast] if known(x.price) and n > 1)", ""),
        ("sum(m.price * i for i in 1 .. n if i > 2 and known(m.price))", ""),
        ("if known(chosen.price) then chosen.price else 3 USD", ""),
        ("if pick == side.b or not known(m.price) then 4 USD else m.price", ""),
        ("(if known(m.price) then m else cheap).price", ""),
        ("first_known(m.price, 0)", ""),
        ("first_known(m.price, cheap.price)", ""),
        ("first_known(cheap.price, m.price)", ""),
        ("first_known(fast.price, m.price)", "unknown-value"),
        ("if n > 3 then m.price else 1 USD", "unknown-value"),
        ("if known(cheap.price) then m.price else 1 USD", "unknown-value"),
        ("if n > 3 then fast.price else 1 USD", "unknown-value"),
        ("max(m.price, 1 USD)", "unknown-value"),
    ],
)
def test_only_what_can_be_read_needs_a_value(price: str, said: str) -> None:
    text = CHOICE.replace("PRICE", price).replace(
        "choice m",
        "param n : int = 1 in 1 .. 40\n    choice pick : side in side\n"
        "    let chosen = if n > 3 then fast else m\n    choice m",
    )
    text = "enum side { a, b }\n" + text
    free, diagnostics = elaborated(text)
    assert said_of(diagnostics) == [said] * bool(said)
    for m in (0.0, 1.0) if not said else ():
        for n in (1.0, 2.0, 5.0):
            given = {"m": m, "n": n, "pick": 0.0}
            known, diagnostics = elaborated(text, given)
            assert not said_of(diagnostics)
            assert interpret(known.graph, []).outputs == {
                name: float(value) for name, value in at(free, given).items()
            }


def test_a_rule_is_decided_where_the_alternative_taken_is_known() -> None:
    text = CHOICE.replace("PRICE", "1 USD\n    require dear: m.price < 50 USD")
    free, _ = elaborated(text)
    (note,) = free.undecided
    assert note.message == "not decided: `fast.price` is not known: no public price"
    broken = [interpret(free.graph, [m]).rules.item() & 1 for m in (0.0, 1.0)]
    assert broken == [1, 0]  # the cheap one costs 100 USD; of the fast one nobody knows


BOARDS = KINDS.replace(
    "let told ",
    """require dear: price < 50 USD
    require wide: m.bandwidth > 2 TB/s or price > 1 USD
    let told """,
)


@pytest.mark.parametrize(
    "rest",
    [
        "let b = plain with { m = x }",  # of a component with a choice in it
        "let b = pick",  # of the component chosen
        "require own: (if n > 3 then x.price else cheap.price) < 50 USD",
        "let b = [plain, plain with { m = x }]\nrequire own: sum(each.price for each in b) < 9 USD",
        "let b = pick\n    require own: x.price < 9 USD",
    ],
)
def test_rules_are_undecided_at_the_points_at_which_they_are(rest: str) -> None:
    text = f"""{BOARDS}
    evaluator e {{
        param n : int = 1 in 0 .. 9
        choice x : memory in [cheap, fast, odd] = cheap
        choice pick : board in [plain, dear] = plain
        output y in TB/s = n * x.bandwidth + pick.m.bandwidth
        {rest}
    }}"""
    free, _ = elaborated(text)
    seen = set()
    for x in (0.0, 1.0, 2.0):
        for pick in (0.0, 1.0):
            for n in (1.0, 5.0):
                values = {"n": n, "x": x, "pick": pick}
                fixed, _ = elaborated(text, values)
                assert fixed.undecided_where is None or all(
                    interpret(fixed.undecided_where, []).outputs.values()
                )
                where = free.undecided_where
                assert where is not None
                here = interpret(where, point(free, values)).outputs
                noted = {r.name for i, r in enumerate(free.undecided) if here[str(i)]}
                assert noted == {rule.name for rule in fixed.undecided}
                seen.add(frozenset(noted))
    assert len(seen) > 1


def said_of(diagnostics: Diagnostics) -> list[str]:
    return [d.name for d in diagnostics.items if d.name not in BESIDE]


def at(e: Elaboration, given: Mapping[str, float]) -> Mapping[str, object]:
    """The outputs at a point."""
    return interpret(e.graph, point(e, given)).outputs


def test_known_asks_for_values_and_no_more() -> None:
    text = """evaluator e {
        param p : int = 1 in 0 .. 3
        output y : bool = known(max(1 for k in [1] if p > 5)) }"""
    for given in ({}, {"p": 1.0}):
        e, diagnostics = elaborated(text, given)
        assert not said_of(diagnostics)
        assert at(e, {"p": 1.0}) == {"y": 1.0}


def test_known_is_decided_whatever_the_params_are() -> None:
    text = (
        KINDS
        + """
    evaluator e {
        param n : int = 1 in 1 .. 9
        output k : bool = known(if n > 3 then cheap.price else fast.price)
        output s in USD = sum(if known(fast.price) then fast.price else i * n * 1 USD
                              for i in 1 .. 100)
    }"""
    )
    e, diagnostics = elaborated(text)
    assert not diagnostics.items
    assert run(text, n=2) == {"k": 0.0, "s": 10100.0}
    assert dict(e.graph.outputs).keys() == {"k", "s"}


RULES = """
kind rack {
    weight : mass = unknown "not on the data sheet"
    limit  : mass = 1000 kg
    RULE
}
rack r { }
"""


def rules_said(rule: str) -> list[tuple[str, str]]:
    diagnostics = Diagnostics()
    check_rules(checked(RULES.replace("RULE", rule)), diagnostics)
    return [(d.name, d.message) for d in diagnostics.items]


def left_open(text: str) -> list[tuple[str, str, str]]:
    """The rules of components that are not decided."""
    diagnostics = Diagnostics()
    check_rules(checked(text), diagnostics)
    assert not diagnostics.items
    return [(d.severity.value, d.name, d.message) for d in diagnostics.undecided]


def test_a_rule_that_reads_it_is_not_decided() -> None:
    assert left_open(RULES.replace("RULE", "require light: weight < limit")) == [
        ("note", "rack.light", "not decided: `r.weight` is not known: not on the data sheet")
    ]
    # What is known may decide it, and the reader may ask first.
    assert left_open(RULES.replace("RULE", "require light: limit > 0 kg or weight < limit")) == []
    guarded = "require light: not known(weight) or weight < limit"
    assert left_open(RULES.replace("RULE", guarded)) == []
    waived = RULES.replace("RULE", 'require light: weight < limit\nallow rack.light "none"')
    assert left_open(waived) == []


def test_a_rule_of_a_question_may_stay_open_too() -> None:
    text = RULES.replace("RULE", "require light: weight < limit") + (
        "evaluator e { param l : mass = 5 kg in 1 kg .. 9 kg\n"
        "require own: l < r.weight\n"
        "let x = r with { limit = l }\nlet y = x with { weight = 7 kg }\n"
        "output o in kg = x.limit + y.limit }"
    )
    e, diagnostics = elaborated(text)
    assert list(broken(text)) == ["y.light"]  # the one that can be decided
    assert [r.name for r in e.rules] == ["y.light"]
    assert {d.name for d in diagnostics.undecided} == {"rack.light", "e.own"}
    assert set(e.undecided) == set(diagnostics.undecided)


def test_a_rule_is_decided_for_the_alternatives_that_know() -> None:
    text = RULES.replace("RULE", "require light: weight < limit") + (
        "rack s { weight = 3000 kg }\n"
        "evaluator e { choice c : rack in [r, s] = r\noutput o in kg = c.limit\nlet d = c }"
    )
    assert left_open_in(text) == ["rack.light"]
    assert broken(text, c=0) == {}
    assert list(broken(text, c=1)) == ["d.light"]


def left_open_in(text: str) -> list[str]:
    _, diagnostics = elaborated(text)
    return [d.name for d in diagnostics.undecided]


def test_the_reading_is_shown_and_not_the_asking() -> None:
    text = KINDS + (
        "evaluator e { let a = if known(fast.price) then 1 else 2\n"
        "output o = a\noutput p in USD = fast.price }"
    )
    _, diagnostics = elaborated(text)
    (found,) = diagnostics.items
    assert found.span is not None
    assert text[text.index("p in USD") :].startswith("p in USD = fast.price")
    assert found.span.start > text.index("output p")


def test_a_message_shows_what_is_not_known() -> None:
    assert rules_said('require light: limit < 1 kg else "{name}: {weight in kg} of {limit}"') == [
        ("rack.light", "r: unknown of 1,000 kg")
    ]


def test_a_compiled_rule_is_skipped_where_guarded() -> None:
    text = RULES.replace("RULE", "require light: not known(weight) or weight < limit") + (
        "evaluator e { param l : mass = 5 kg in 1 kg .. 9 kg\n"
        "let x = r with { limit = l }\nlet y = x with { weight = 7 kg }\n"
        "output o in kg = x.limit + y.limit }"
    )
    assert list(broken(text)) == ["y.light"]


def test_unknown_components_are_no_obstacle() -> None:
    text = (
        KINDS
        + """
    kind box { spare : memory = unknown "not chosen", let copy = spare }
    kind shelf { box b, other : memory = b.spare }
    shelf s { }
    shelf t { b.spare = cheap }
    evaluator e {
        choice w : shelf in [s, t] = t
        let first = s
        output a : bool = known(s.other) or known(s.b.copy.bandwidth)
        output b in TB/s = t.other.bandwidth
        output c : bool = w.feasible
    }"""
    )
    assert run(text) == {"a": 0.0, "b": 1e12, "c": 1.0}
    program = checked(text)
    diagnostics = Diagnostics()
    check_rules(program, diagnostics)
    assert not diagnostics.items


@pytest.mark.parametrize("among", ["[near, far]", "[near, lost]", "[lost]"])
def test_an_arm_that_no_alternative_takes_is_not_read(among: str) -> None:
    arms = {"near": "1 TB/s", "far": "2 TB/s", "lost": "3 TB/s"}
    known = ", ".join(f"{n} => {v}" for n, v in arms.items() if n in among)
    rest = "".join(f", {n} => fast.price / 1 USD * 1 B/s" for n in arms if n not in among)
    text = KINDS + (
        "enum way { near, far, lost }\n"
        f"evaluator e {{ choice by : way in {among}\n"
        f" output b in TB/s = match by {{ {known}{rest} }} }}"
    )
    last = among.strip("[]").split(", ")[-1]
    assert run(text, by=among.count(",")) == {"b": float(arms[last].split()[0]) * 1e12}


def test_a_param_may_give_it() -> None:
    text = (
        KINDS
        + """
    evaluator e {
        param price : money = 10 USD in 1 USD .. 99 USD
        output p in USD = (plain with { m.price = price }).price
    }"""
    )
    assert run(text, price=20) == {"p": 25.0}
