"""Errors of the user that only evaluating meets: cycles, lengths, sizes, indices, depth."""

from __future__ import annotations

import pytest

from .helper import failures, run


def test_a_cycle_shows_its_chain() -> None:
    text = """
    kind k { a : real = b + 1, b : real = c, c : real = 1 }
    k x { c = a }
    evaluator e { output y : real = x.a }"""
    (found,) = failures(text)
    assert found == ("field-cycle", "`x.a` needs itself: x.a -> x.b -> x.c -> x.a")


def test_a_length_that_depends_on_a_param_is_refused() -> None:
    text = """
    evaluator e {
        param n : int = 3 in 1 .. 9
        output y : real = len([k for k in 1 .. n])
    }"""
    ((name, message),) = failures(text)
    assert name == "not-known"
    assert "`n`" in message


@pytest.mark.parametrize(
    ("over", "name", "says"),
    [
        ("x, y in zip([1, 2], [3])", "unequal-lengths", "2 and 1 elements"),
        ("x, y, z in zip(0 .. 2, [3, 4], [5, 6, 7])", "unequal-lengths", "3 and 2 and 3 elements"),
        ("x, y in zip(0 .. n, [3, 4])", "not-known", "`n`"),
        (
            "x, y in zip([3], if n > 1 then [1] else [1, 2])",
            "unequal-lengths",
            "1 or 2 elements, chosen by `n`",
        ),
    ],
)
def test_lists_side_by_side_have_one_known_length(over: str, name: str, says: str) -> None:
    text = f"""
    evaluator e {{
        param n : int = 1 in 0 .. 9
        output y : int = sum(x for {over})
    }}"""
    ((found, message),) = failures(text)
    assert found == name
    assert says in message


def test_what_is_too_large_is_refused() -> None:
    text = "evaluator e { output y : int = len([k for k in 1 .. 1000000]) }"
    assert [n for n, _ in failures(text)] == ["too-large"]


def test_a_known_index_outside_is_an_error() -> None:
    text = "let xs = [1, 2]\nevaluator e { output y : int = xs[2] }"
    assert failures(text) == [
        ("index-out-of-range", "there is no element 2: the list has 2, the first is 0")
    ]


def test_deep_chains_end_in_a_value_or_a_diagnostic() -> None:
    def chain(n: int) -> str:
        lets = "\n".join(f"let a{i} = a{i - 1} + x" for i in range(1, n))
        return (
            f"evaluator e {{ param x : real = 1 in 0 .. 2\nlet a0 = x\n{lets}\n"
            f"output y : real = a{n - 1} }}"
        )

    assert run(chain(500))["y"] == 500.0
    # Lets are evaluated in order, so that a long chain is no deep one.
    assert run(chain(3000))["y"] == 3000.0


def test_a_deep_chain_of_fields_is_no_traceback() -> None:
    fields = "\n".join(f"f{i} : real = f{i + 1} + 1" for i in range(4500))
    text = (
        f"kind k {{ {fields}\nf4500 : real = 1 }}\nk x {{ }}\n"
        "evaluator e { output y : real = x.f0 }"
    )
    assert [n for n, _ in failures(text)] == ["too-deep"]
