"""What `check` says of files whose error nothing reads."""

from __future__ import annotations

import pytest

from .helper import found, run

RULED = "kind d { require r: 2 > 1 }\nd x { }\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kind m { x : real, y : real }\nm a { x = y, y = x }", "field-cycle"),
        ("kind m { x : real }\nlet xs = [1, 2]\nm a { x = xs[5] }", "index-out-of-range"),
        ("let xs = [1, 2]\nlet a = xs[5]\nlet b = a + 1", "index-out-of-range"),
        ("let a = [1, 2, 3][5]", "index-out-of-range"),
        ("let a = max([1][-1], 2)", "index-out-of-range"),
        ("fn f(x: real) -> real = [1.0, 2.0][2] * x", "index-out-of-range"),
        ("kind m { x : real = 1, let y = [1, 2][5] * x }", "index-out-of-range"),
        ("let a = [1, 2][floor(0 / 0)]", "index-out-of-range"),
        ("let a = sum(i for i in 1 .. floor(1 / 0))", "not-whole"),
        ("let a = [i for i in floor(0 / 0) .. 3]", "not-whole"),
        (
            "let a = r.u\nlet r = iterate k in 1 .. round(inf) { state u : int = 1, next u = 2 }",
            "not-whole",
        ),
        # A message that reads what has no value: the rule is told of all the same.
        (
            "kind k { x : real = 1, let l = max(x for y in [1.0] if false)\n"
            'require rr: 1 > 2 else "no {l}" }\nk a',
            "k.rr",
        ),
        ("let a = 9007199254740993", "int-too-large"),
        ("let a = -9_007_199_254_740_993", "int-too-large"),
        ("let a = prod(k for k in 1 .. 30)", "int-too-large"),
        ("let a = 9007199254740991 + 1", "int-too-large"),
        ("let a = floor(1e20)", "int-too-large"),
        ("type T = U\ntype U = T", "type-cycle"),
        ("type T = 1 / T", "type-cycle"),
        ("unit a = 2 b\ntype T = [U]\ntype U = length / T\nunit b = 1 m", "type-cycle"),
        (RULED + 'allow nothere.norule "typo"', "unknown-rule"),
        (RULED + 'allow d.rr "typo"', "unknown-rule"),
        (RULED + 'allow e.r "typo"', "unknown-rule"),
        (RULED + 'd y : x { allow d.q "typo" }', "unknown-rule"),
        (RULED + 'evaluator e { allow q "typo"\n output y : real = 1 }', "unknown-rule"),
        (
            "evaluator a { output y : real = b().y }\nevaluator b { output y : real = a().y }",
            "field-cycle",
        ),
        ("evaluator a { output y : real = f() }\nfn f() -> real = a().y", "call-cycle"),
    ],
)
def test_one_finding(text: str, name: str) -> None:
    assert [each for each, _ in found(text)] == [name]


@pytest.mark.parametrize("path", ["d.r", "x.r", "p.x.r", "r"])
def test_a_waiver_names_the_rule_by_owner_or_path(path: str) -> None:
    assert found(f'{RULED} kind o {{ d p }}\nallow {path} "known"') == []


def test_values_that_nobody_knows_and_nobody_reads_are_no_error() -> None:
    text = 'kind m { x : real = unknown "no sheet", let y = 2 * x }\nm a { }\nlet b = a.y'
    assert found(text) == []


LOOP = "let r = iterate k in 1 .. 3 {{ state s : [real] = [0, 0], {} }}"


def test_a_state_is_given_as_a_whole_or_by_elements() -> None:
    assert found(LOOP.format("next s[0] = 1, next s[1] = 2")) == []
    for body in ("next s[0] = 1, next s = [1, 2]", "next s = [1, 2], next s[0] = 1"):
        assert [name for name, _ in found(LOOP.format(body))] == ["duplicate-name"]


@pytest.mark.parametrize("comparison", ["o == a", "a == o", "g == a", "a == g", "o == g"])
def test_a_case_is_one_beside_an_enum_whatever_else_has_its_name(comparison: str) -> None:
    text = f"""enum mode {{ a, b }}
    kind node {{ r : real }}
    node a {{ r = 3 }}
    let g : mode = a
    evaluator e {{
        choice o : mode in mode
        output y : bool = {comparison}
    }}"""
    assert run(text) == {"y": 1.0}


@pytest.mark.parametrize("value", ["n", "node(r = 3)", "a with { r = 4 }", "n with { r = 4 }"])
def test_a_ref_points_at_a_part(value: str) -> None:
    text = """kind node {{ r : real = 1 }}
    node n {{ }}
    kind wire {{ to : ref node }}
    kind pack {{ }}
    pack p {{ node a, wire w {{ to = {} }} }}"""
    assert [name for name, _ in found(text.format(value))] == ["type-mismatch"]
    assert found(text.format("a")) == []


def test_reals_are_not_held_to_ints() -> None:
    text = "let a = 9007199254740991, let b = 1e300, let c = prod(1.0 * k for k in 1 .. 30)"
    assert found(text.replace(", ", "\n")) == []


SHEET = "kind sheet { width : length = height, height : length = width }\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),  # a component may give one of them
        ("sheet a { width = 1 m }\nlet b = a.height", []),
        ("sheet a", ["field-cycle"]),  # though nothing reads it
        ("kind square : sheet { height = 2 m }\nsquare a", []),
        ("kind m { let x : real = y, let y : real = x }", ["field-cycle"]),  # nothing can be given
    ],
)
def test_defaults_in_a_circle_are_an_error_of_a_component_that_gives_none(
    text: str, names: list[str]
) -> None:
    assert [each for each, _ in found(SHEET + text)] == names
