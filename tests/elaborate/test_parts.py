"""Parts of a component that is one of several: each alternative has its own, of its own kinds.

What is expected is added up here from the tables of the parts, and not by another elaboration.
"""

from __future__ import annotations

import pytest

from .helper import broken, failures, run

KINDS = """
kind memory { size : real }
kind hbm : memory { let stacks = 2 }
kind logic { area : real = 1 }
memory slow { size = 1 }
memory small { size = 3 }
hbm fast { size = 10 }
logic plain { }
kind package {
    scale : real = 1
    let total  = scale * sum(m.size * m.count for m in parts.memory)
    let stacks = sum(m.stacks * m.count for m in parts.hbm)
    let kinds  = len(parts.memory)
    let all    = len(parts)
    let last   = sum(i * m.size for i, m in zip(1 .. len(parts.memory), parts.memory))
}
package one { memory a : slow }
package two { memory b[2] : slow, logic l : plain, memory c[5] : fast }
package three { hbm x[3] : fast }
package bare { logic a : plain }
kind slotted : package { memory m[4] : small }
slotted s { }
slotted t { m = fast }
kind node {
    let t    = sum(p.total * p.count for p in parts.package)
    let deep = sum(m.size * m.count * p.count for p in parts.package for m in p.parts.memory)
}
node n { package a : one }
node many { package b[2] : two, package c : three }
"""
# Of each package its parts: whether it is an `hbm`, its size, its count; None is no memory.
SLOW, FAST, PLAIN = (False, 1.0), (True, 10.0), None
PARTS = {
    "one": [(SLOW, 1)],
    "two": [(SLOW, 2), (PLAIN, 1), (FAST, 5)],
    "three": [(FAST, 3)],
    "bare": [(PLAIN, 1)],
    "s": [((False, 3.0), 4)],
    "t": [(FAST, 4)],
}
WITH = (
    ("p", 1.0, 1.0),
    ("if f then p else p with { scale = 2 }", 1.0, 2.0),
    ("(if f then p else p with { scale = 2 }) with { scale = 3 }", 3.0, 3.0),
    ("changed(p, f)", 1.0, 2.0),
    ("if f then (if g then p else p with { scale = 7 }) else p with { scale = 2 }", 1.0, 2.0),
)
CHANGED = "fn changed(p: package, f: bool) -> package = if f then p else p with { scale = 2 }\n"


def summed(name: str, scale: float) -> dict[str, float]:
    """What the formulas of `package` come to."""
    memories = [(m, count) for m, count in PARTS[name] if m is not None]
    return {
        "total": scale * sum(size * count for (_, size), count in memories),
        "stacks": sum(2.0 * count for (is_hbm, _), count in memories if is_hbm),
        "kinds": len(memories),
        "all": len(PARTS[name]),
        "last": sum((i + 1) * size for i, ((_, size), _) in enumerate(memories)),
    }


@pytest.mark.parametrize(("chosen", "yes", "no"), WITH)
@pytest.mark.parametrize("among", ["one two three", "s one", "one three", "t s", "bare one two"])
def test_sums_over_parts_are_those_of_the_alternative(
    among: str, chosen: str, yes: float, no: float
) -> None:
    names = among.split()
    outputs = "\n".join(f"output {o} : real = 1.0 * q.{o}" for o in summed("one", 1))
    text = f"""{KINDS}{CHANGED}evaluator e {{
        choice p : package in [{", ".join(names)}]
        param f : bool = true
        param g : bool = true
        let q = {chosen}
        {outputs}
    }}"""
    for at, name in enumerate(names):
        for f in (0.0, 1.0):
            assert run(text, p=float(at), f=f) == summed(name, yes if f else no), (name, f)


@pytest.mark.parametrize("chosen", ["x", "if f then x else x with { }", "if f then x else n"])
def test_parts_of_parts_are_those_of_the_alternative(chosen: str) -> None:
    text = f"""{KINDS}evaluator e {{
        choice x : node in [n, many]
        param f : bool = true
        let q = {chosen}
        output t = q.t
        output deep = q.deep
    }}"""
    many = 2 * (2 * 1 + 5 * 10) + 3 * 10
    for at, own in enumerate((1.0, float(many))):
        for f in (0.0, 1.0):
            here = 1.0 if not f and chosen.endswith("else n") else own
            assert run(text, x=float(at), f=f) == {"t": here, "deep": here}


LENGTH = "the length must be known"
REFUSED = (
    ("package", "one, two", "len(q.parts)", "the alternatives for `one` have different parts"),
    ("package", "one, two", "len(q.parts.memory)",
     f"the list here has 1 or 2 elements, chosen by `p`; {LENGTH}"),
    ("slotted", "s, t", "sum(m.size for m in q.parts.hbm)",
     f"the list here has 0 or 1 elements, chosen by `p`; {LENGTH}"),
)  # fmt: skip


@pytest.mark.parametrize("chosen", ["p", "if f then p else p with { scale = 2 }"])
@pytest.mark.parametrize(("kind", "among", "asked", "said"), REFUSED)
def test_lists_of_unequal_length_are_refused(
    kind: str, among: str, asked: str, said: str, chosen: str
) -> None:
    text = f"""{KINDS}evaluator e {{
        choice p : {kind} in [{among}]
        param f : bool = true
        let q = {chosen}
        output y = {asked}
    }}"""
    assert failures(text) == [("unequal-lengths", said)]


@pytest.mark.parametrize(
    ("chosen", "by"), [("if f then slow else fast", "f"), ("[slow, fast][i]", "i")]
)
def test_a_part_whose_kind_is_chosen_is_refused(chosen: str, by: str) -> None:
    """One record may have it and may not: that is no number of parts."""
    text = f"""{KINDS}evaluator e {{
        param f : bool = true
        param i : int = 0 in 0 .. 1
        output y = (s with {{ m = {chosen} }}).{{}}
    }}"""
    said = (
        f"whether `s.m` is one of `parts.hbm` depends on `{by}`; the number of parts of a kind "
        "must be known"
    )
    assert failures(text.replace("{}", "stacks")) == [("unequal-lengths", said)]
    assert run(text.replace("{}", "total")) == {"y": 4.0}


def test_what_the_parts_of_one_alternative_imply_holds_for_that_one() -> None:
    text = f"""{KINDS}evaluator e {{
        param f : bool = true
        param i : int = 0 in 0 .. 9
        output y = (if f then one with {{ a = [slow, small][i] }} else three).total
    }}"""
    assert broken(text, f=1.0, i=1.0) == {}
    assert {n.split(".")[-1] for n in broken(text, f=1.0, i=2.0)} == {"index-out-of-range"}
    assert broken(text, f=0.0, i=2.0) == {}


def test_rules_of_parts_are_those_of_the_alternative() -> None:
    text = """
    kind cell { size : real = 1, require fits: size <= 5 }
    kind box { scale : real = 1, let sum_ = scale * sum(c.size for c in parts.cell) }
    box small { cell a }
    box wide { cell a, cell b }
    evaluator e {
        choice p : box in [small, wide]
        param f : bool = true
        param size : real = 1 in 0 .. 9
        output y = (if f then p else wide with { b.size = size }).sum_
    }"""
    assert broken(text, p=1.0, f=1.0, size=9.0) == {}
    assert broken(text, p=0.0, f=0.0, size=4.0) == {}
    assert {n.split(".")[-1] for n in broken(text, p=0.0, f=0.0, size=9.0)} == {"fits"}
    assert run(text, p=0.0, f=0.0, size=4.0) == {"y": 5.0}
    assert run(text, p=1.0, f=1.0, size=4.0) == {"y": 2.0}
