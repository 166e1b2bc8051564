"""Rules of parts, of alternatives and of list elements, and waivers of them."""

from __future__ import annotations

import pytest

from .helper import broken, elaborated, run


def test_feasible_reads_the_rules_of_all_parts() -> None:
    text = """
    kind die { area : area, require reticle: area <= 858 mm^2, warn big: area < 1 mm^2 }
    kind package { die d { area = 1 mm^2 } }
    package p { d.area = 100 mm^2 }
    evaluator e {
        param a : area = 100 mm^2 in 1 mm^2 .. 1000 mm^2
        output ok : bool = (p with { d.area = a }).feasible
    }"""
    assert run(text) == {"ok": 1.0}
    assert run(text, a=900e-6) == {"ok": 0.0}


def test_rules_of_alternatives_are_masked() -> None:
    text = """
    kind die { area : area, require reticle: area <= 858 mm^2 else "{name}: {area}" }
    kind special : die { require even: area <= 10 mm^2 }
    die a { area = 100 mm^2 }
    special s { area = 20 mm^2 }
    die b { area = 900 mm^2, require odd: area > 1000 mm^2 }
    evaluator e {
        choice d : die in [a, s, b]
        let x = d
        output y : area = x.area
    }"""
    assert broken(text) == {}
    assert broken(text, d=1.0) == {"x.even": "`area <= 10 mm^2` does not hold"}
    assert broken(text, d=2.0) == {
        "x.reticle": "b: 900 mm^2",
        "x.odd": "`area > 1000 mm^2` does not hold",
    }


def test_list_elements_share_a_bit() -> None:
    text = """
    kind die { area : area, require reticle: area <= 858 mm^2 else "{area}" }
    evaluator e {
        param a : area = 100 mm^2 in 1 mm^2 .. 1000 mm^2
        let dies = [die(area = a * k) for k in 1 .. 5]
        output n : int = len(dies)
    }"""
    e, _ = elaborated(text)
    assert [r.name for r in e.rules] == ["dies.reticle"]
    assert broken(text) == {}
    assert broken(text, a=300e-6) == {"dies.reticle": "900 mm^2"}


def test_waivers_in_evaluators() -> None:
    text = """
    kind die { area : area, require reticle: area <= 858 mm^2 }
    evaluator e {
        param a : area = 900 mm^2 in 1 mm^2 .. 1000 mm^2
        let d = die(area = a)
        output y : area = d.area
        allow die.reticle "stitched"
    }"""
    assert broken(text) == {}


WAIVED = """
kind k { a : real = 1, require r: a > 2 else "{name} has {a}" }
kind box { k part : A }
k A { a = 5, allow k.r "by design" }
k B { a = 5 }
k C : A { }
box P { }
box Q { part : B, allow k.r "in this box" }
box R { k part : B }
evaluator e {
    param a : real = 1 in 0 .. 4
    choice c : k in [A, B, C] = A
    choice b : box in [P, Q, R] = P
    let v = c with { a = a }
    let w = b with { part.a = a }
    output y : real = v.a + w.part.a
}
"""


@pytest.mark.parametrize(
    ("c", "b", "rules"),
    [(0, 0, []), (1, 0, ["v.r"]), (2, 0, []), (0, 1, []), (0, 2, ["w.part.r"])],
)
def test_a_chosen_component_keeps_its_waivers(c: int, b: int, rules: list[str]) -> None:
    text = WAIVED.replace("part : B, allow", "k part : B\nallow")
    assert list(broken(text, a=1.0, c=c, b=b)) == rules
    assert list(broken(text, a=3.0, c=c, b=b)) == []


OWN_PATHS = """
kind k { a : real = 1, require r: a > 2 }
kind box { k part : A }
k A { a = 1 }
box P { }
box Q { }
evaluator e {
    param x : real = 1 in 0 .. 4
    choice b : box in [P, Q] = P
    allow NAME "by design"
    let w = b with { part.a = x }
    output y : real = w.part.a
}
"""


@pytest.mark.parametrize(
    ("name", "left"),
    [("P.part.r", [1]), ("Q.part.r", [0]), ("part.r", []), ("w.part.r", []), ("k.r", [])],
)
def test_a_waiver_names_a_component_by_the_path_that_messages_name(
    name: str, left: list[int]
) -> None:
    text = OWN_PATHS.replace("NAME", name)
    assert [b for b in (0, 1) if broken(text, x=1.0, b=b)] == left


def test_an_empty_list_in_a_message_is_said() -> None:
    text = """
    kind die {
        phys : [data / time] = []
        least : int
        require fed: len(phys) >= least else "{least} PHYs: {phys in GB/s}"
    }
    evaluator e {
        param n : int = 3 in 0 .. 4
        let bare = die(least = n)
        let full = die(phys = [1 GB/s, 2 GB/s], least = n)
        output both : int = len(bare.phys) + len(full.phys)
    }"""
    assert broken(text) == {"bare.fed": "3 PHYs: none", "full.fed": "3 PHYs: 1 GB/s, 2 GB/s"}
