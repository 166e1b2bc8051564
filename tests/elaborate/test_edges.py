"""Edges where known and unknown must mean the same: nothing to reduce, NaN, indices, ranges."""

from __future__ import annotations

import math

import pytest

from hwdsl.codegen.ir.interpreter import interpret

from .helper import broken, elaborated, failures, found, point, run


def case(output: str, before: str = "") -> str:
    return f"""{before}
    evaluator e {{
        param n : int  = 1 in 0 .. 40
        param x : real = 1
        output y : real = {output}
    }}"""


# --- nothing to reduce -------------------------------------------------------------------------

EMPTY = [
    "max(k for k in 5 .. {})",
    "min(1 for k in 1 .. 4 if k > 4 * {})",
    "max(k for k in 30 .. {})",
    "mean(k for k in 1 .. 4 if k < {})",
    "geomean(k for k in 5 .. {})",
    "lowest(k for k in 5 .. {}).value",
    "highest(k for k in 1 .. 40 if k < {}).k",
    "highest(k for k in 1 .. 40 if k < {}).value",
    "lowest(k * j for j in 1 .. 2 for k in 7 .. {}).j",
]
EMPTY_AT_ONE = [e for e in EMPTY if "4 *" not in e]


@pytest.mark.parametrize("reduction", EMPTY_AT_ONE)
def test_nothing_to_reduce_breaks_a_rule_or_is_an_error(reduction: str) -> None:
    unknown, known = case(reduction.format("n")), case(reduction.format("1"))
    assert [n.rsplit(".", 1)[-1] for n in broken(unknown, n=1) if "undef" not in n] == [
        "empty-list"
    ]
    assert broken(unknown, n=40) == {}
    assert "empty-list" in [name for name, _ in failures(known)]


def test_nothing_to_reduce_in_a_loop_that_does_not_fold_breaks_a_rule() -> None:
    text = case("min(k * x for k in 1 .. 40 if k < {})")
    assert list(broken(text.replace("{}", "n"), n=1)) == ["y.empty-list"]
    assert list(broken(text.replace("{}", "1"))) == ["y.empty-list"]
    assert broken(text.replace("{}", "n"), n=2) == {}


@pytest.mark.parametrize("reduction", EMPTY)
def test_a_fixed_param_meets_the_same_error(reduction: str) -> None:
    at = 1 if "4 *" in reduction else 0
    found = elaborated(case(reduction.format("n")), overrides={"n": at})[1]
    assert "empty-list" in [d.name for d in found.items]


@pytest.mark.parametrize("values", ["5 .. {}", "30 .. {}", "1 .. 40 if k < {}"])
def test_found_can_be_asked_first(values: str) -> None:
    reduction = f"(if lowest(k for k in {values}).found then lowest(k for k in {values}).k else -1)"
    unknown, known = case(reduction.replace("{}", "n")), case(reduction.replace("{}", "1"))
    assert run(unknown, n=1) == run(known) == {"y": -1.0}
    assert broken(unknown, n=1) == {}
    assert run(unknown, n=40)["y"] >= 1


# --- NaN ---------------------------------------------------------------------------------------

LISTS = [
    [3.0, math.nan, 1.0],
    [math.nan, math.inf, 2.0, math.nan],
    [math.nan, math.nan],
    [2.0, 2.0, 1.0, math.nan, 1.0],
]


def numbers(values: list[float], known: bool) -> str:
    texts = ["(inf - inf)" if math.isnan(v) else "inf" if math.isinf(v) else str(v) for v in values]
    return "[" + ", ".join(t if known else f"{t} * x" for t in texts) + "]"


def outputs(text: str) -> list[float]:
    e, diagnostics = elaborated(text)
    assert not diagnostics.failed
    return [float(v) for v in interpret(e.graph, point(e, {})).outputs.values()]


@pytest.mark.parametrize("values", LISTS)
@pytest.mark.parametrize("known", [True, False])
def test_nan_is_last_in_every_order(values: list[float], known: bool) -> None:
    xs = numbers(values, known)
    text = f"""evaluator e {{
        param x : real = 1
        output s : [int] = sort_by([i for i in 0 .. {len(values) - 1}], {xs})
    }}"""
    order = sorted(range(len(values)), key=lambda i: (math.isnan(values[i]), values[i]))
    order.sort(key=lambda i: math.inf if math.isnan(values[i]) else 0)
    assert outputs(text) == order


@pytest.mark.parametrize("values", LISTS)
@pytest.mark.parametrize("known", [True, False])
def test_a_quantile_of_nan_is_nan(values: list[float], known: bool) -> None:
    for at in ("0", "0.5", "1"):
        assert math.isnan(run(case(f"quantile({numbers(values, known)}, {at})"))["y"])


@pytest.mark.parametrize("ys", ["[10.0, 20.0, 30.0]", "[10, 20, 30]", "[x, 2 * x, 3 * x]"])
def test_a_step_at_nan_is_nan(ys: str) -> None:
    assert math.isnan(run(case(f"step(x, [1, 2, 3], {ys})"), x=math.nan)["y"])
    e, _ = elaborated(case(f"step(inf - inf, [1, 2, 3], {ys})"))
    assert math.isnan(float(interpret(e.graph, point(e, {})).outputs["y"]))
    assert run(case(f"step(2.5 * x, [1, 2, 3], {ys})"))["y"] in (2.0, 20.0)


# --- replaced elements -------------------------------------------------------------------------


def test_replacing_an_element_outside_the_list_breaks_a_rule() -> None:
    body = "state s : [real] = [0 for j in 1 .. 3], next s[k + n - 1] = x"
    text = case(f"(iterate k in 0 .. 2 {{ {body} }}).s[2]")
    assert broken(text, n=1) == {}
    assert [n.rsplit(".", 1)[-1] for n in broken(text, n=2)] == ["index-out-of-range"]
    assert [n.rsplit(".", 1)[-1] for n in broken(text, n=0)] == ["index-out-of-range"]


def test_a_lane_past_its_end_replaces_nothing() -> None:
    body = "state s : [real] = [0 for j in 1 .. 3], next s[k - 1] = x"
    ended = case(f"(iterate k in 1 .. n {{ {body} }}).s[2]")
    assert (broken(ended, n=3), run(ended, n=3)) == ({}, {"y": 1.0})
    assert [n.rsplit(".", 1)[-1] for n in broken(ended, n=4)] == ["index-out-of-range"]
    stopped = case(f"(iterate k in 1 .. 40 {{ {body}, until k >= n }}).s[2]")
    assert broken(stopped, n=3) == {}
    assert [n.rsplit(".", 1)[-1] for n in broken(stopped, n=4)] == ["index-out-of-range"]
    late = "state s : [real] = [0 for j in 1 .. 3], next s[k + n - 4] = x, until k >= n"
    traced = case(f"(iterate k in 1 .. 5 {{ {late} }}).trace.s[4][2]")
    assert (broken(traced, n=3), run(traced, n=3)) == ({}, {"y": 1.0})
    assert {n.rsplit(".", 1)[-1] for n in broken(traced, n=2)} == {"index-out-of-range"}


# --- calls of evaluators -----------------------------------------------------------------------

ASKED = """
enum law { poisson, seeds, murphy }
kind mem { bw : data / time = 1 TB/s }
mem A { }
mem B { }
mem C { }
evaluator inner {
    param z  : data = 2 GB in 1 GB .. 10 GB
    choice k : int in [1, 2, 4] = 2
    choice l : law in [poisson, seeds]
    choice m : mem in [A, B]
    output v in GB = z * k
}
"""


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("z = 12 GB", "`z` cannot be 12 GB: its range is 1 GB .. 10 GB"),
        ("k = 3", "`k` cannot be 3: it is one of 1, 2, 4"),
        ("l = murphy", "`l` cannot be `murphy`: it is one of poisson, seeds"),
        ("m = C", "`m` cannot be `C`: it is one of A, B"),
        ("m = A with { bw = 2 TB/s }", "`m` cannot be `A with { bw = 2 TB/s }`: it is one of A, B"),
    ],
)
def test_a_call_outside_the_range_is_an_error(argument: str, said: str) -> None:
    text = case(f"inner({argument}).v / 1 GB", ASKED)
    assert failures(text) == [("outside-range", said)]


@pytest.mark.parametrize(
    ("argument", "inside", "outside"),
    [("z = x * 1 GB", 9, 11), ("z = x * 1 GB", 1, math.nan), ("k = n", 4, 3)],
)
def test_a_call_with_unknowns_states_the_range_as_a_rule(
    argument: str, inside: float, outside: float
) -> None:
    text = case(f"inner({argument}).v / 1 GB", ASKED)
    name = argument[-1] if argument == "k = n" else "x"
    assert broken(text, **{name: inside}) == {}
    found = broken(text, **{name: outside})
    # A NaN in the range would reach an output: a call at it is not feasible either.
    expected = ["outside-range", *(["feasible"] if math.isnan(outside) else [])]
    assert [n.rsplit(".", 1)[-1] for n in found if n != "undefined"] == expected


def test_a_choice_handed_on_needs_no_rule() -> None:
    text = (
        ASKED
        + """
    evaluator e {
        choice l : law in [seeds, poisson]
        choice m : mem in [B, A]
        choice w : law in law
        output y : real = inner(l = l, m = m).v / 1 GB
        output z : real = inner(l = w).v / 1 GB
    }"""
    )
    e, diagnostics = elaborated(text)
    assert not diagnostics.failed
    assert [r.name for r in e.rules] == ["inner(…).outside-range"]
    assert broken(text, w=2) != {}
    assert broken(text, w=1) == {}


@pytest.mark.parametrize("of", ["int in [1, 2, 1]", "law in [seeds, seeds]", "mem in [A, A]"])
def test_an_alternative_stands_once(of: str) -> None:
    text = f"{ASKED} evaluator e {{ choice c : {of}\n output y : real = 1 }}"
    assert [name for name, _ in failures(text)] == ["repeated-alternative"]


# --- counts ------------------------------------------------------------------------------------

CHIP = "kind mem { }\nkind chip { mem m[6] }"


def test_a_negative_count_is_an_error_and_where_it_is_unknown_a_rule() -> None:
    known = [("bad-count", "the count of `c.m` must be a whole number from 0 on, not -2")]
    assert found(f"{CHIP}\nchip c {{ m.count = 4 - 6 }}") == known
    assert found(f"{CHIP}\nchip c {{ mem m[-2] }}") == known
    assert found(f"{CHIP}\nchip c {{ m.count = 0 }}") == []
    text = f"""{CHIP}
    chip c {{ }}
    evaluator e {{
        param n : int = 3 in 0 .. 9
        let d = c with {{ m.count = n - 2 }}
        let safe = c with {{ m.count = n }}
        output y : real = 1
    }}"""
    assert broken(text, n=2) == {}
    assert list(broken(text, n=1).values()) == [
        "the count of `c.m` must be a whole number from 0 on"
    ]
