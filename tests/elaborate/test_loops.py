"""Loops, inner optima and long reductions, against the same worked out by hand."""

from __future__ import annotations

import pytest

from .helper import broken, elaborated, failures, run

MVA = """
kind station { demand : time, index : int = 0 }
fn rate(stations: [station], think: time, actors: int) -> 1 / time {
    let run = iterate n in 1 .. actors {
        state rate  : 1 / time = 0 Hz
        state queue : [real]   = [0 for s in stations]
        let response = [s.demand * (1 + queue[s.index]) for s in stations]
        let now      = n / (think + sum(response))
        next rate  = now
        next queue = [now * r for r in response]
    }
    run.rate
}
"""


def mva(demands: list[float], think: float, actors: int) -> float:
    queue, rate = [0.0] * len(demands), 0.0
    for n in range(1, actors + 1):
        response = [d * (1 + q) for d, q in zip(demands, queue, strict=True)]
        rate = n / (think + sum(response))
        queue = [rate * r for r in response]
    return rate


def test_mean_value_analysis() -> None:
    text = (
        MVA
        + """
    evaluator e {
        param actors : int  = 40 in 1 .. 512
        param d      : time = 2 ms in 0 ms .. 10 ms
        let stations = [station(demand = d, index = 0), station(demand = 3 ms, index = 1)]
        output steps in Hz = rate(stations, think = 5 ms, actors = actors)
        output known in Hz = rate([station(demand = 2 ms)], think = 5 ms, actors = 30)
    }"""
    )
    e, _ = elaborated(text)
    assert sum(op.code == "loop" for op in e.graph.ops) == 1
    got = run(text)
    assert got["steps"] == pytest.approx(mva([2e-3, 3e-3], 5e-3, 40), rel=1e-12)
    assert got["known"] == pytest.approx(mva([2e-3], 5e-3, 30), rel=1e-12)
    assert run(text, actors=1.0)["steps"] == pytest.approx(1 / 10e-3)


def test_a_fixpoint_stops_or_breaks_its_rule() -> None:
    text = """
    evaluator e {
        param a : real = 0.5 in 0 .. 2
        let fix = iterate k in 1 .. 60 {
            state u : real = 1
            let v = a * u + 1
            next u = v
            until abs(v - u) <= 1e-9
        }
        output u : real = fix.u
        output rounds : int = fix.rounds
    }"""
    got = run(text)
    assert got["u"] == pytest.approx(2.0, rel=1e-8)
    assert got["rounds"] == 30
    assert broken(text) == {}
    assert list(broken(text, a=1.5)) == ["fix.not-settled"]


def test_a_known_fixpoint_folds_and_reports() -> None:
    text = """
    let fix = iterate k in 1 .. 60 {{
        state u : real = 1
        next u = {a} * u + 1
        until u > 1.9999
    }}
    evaluator e {{ output u : real = fix.u, output n : int = len(fix.trace.u) }}"""
    assert run(text.format(a="0.5"))["n"] == 60
    assert failures(text.format(a="0.1")) == [("not-settled", "`until u > 1.9999` never held")]


def test_states_are_replaced_together_and_by_element() -> None:
    text = """
    evaluator e {
        param n : int = 3 in 1 .. 40
        let r = iterate k in 1 .. n {
            state a : real = 1
            state b : real = 2
            state q : [int] = [0, 0, 0]
            next a = b
            next b = a
            next q[k - 3 * floor(k / 3)] = k
        }
        output a : real = r.a
        output b : real = r.b
        output q : [int] = r.q
    }"""
    assert run(text) == {"a": 2.0, "b": 1.0, "q.0": 3.0, "q.1": 1.0, "q.2": 2.0}
    assert run(text, n=40.0) == {"a": 1.0, "b": 2.0, "q.0": 39.0, "q.1": 40.0, "q.2": 38.0}


def test_the_best_split_is_one_loop() -> None:
    text = """
    evaluator e {
        param w : real = 100 in 1 .. 1000
        let best = lowest(max(w / (304 - k), 40 / k) for k in 1 .. 303)
        output k : int = best.k
        output v : real = best.value
        output ok : bool = best.found
    }"""
    e, _ = elaborated(text)
    assert sum(op.code == "loop" for op in e.graph.ops) == 1
    values = {k: max(100 / (304 - k), 40 / k) for k in range(1, 304)}
    k = min(values, key=lambda i: values[i])
    assert run(text) == {"k": k, "v": values[k], "ok": 1.0}


def test_an_unknown_upper_end_and_filter_in_a_reducer() -> None:
    text = """
    evaluator e {
        param n : int = 5 in 1 .. 100
        output s : int = sum(k for k in 1 .. n)
        output odd : int = count(k - 2 * floor(k / 2) == 1 for k in 1 .. n)
        output small : real = sum(x for x in [1.5, 2.5, 7.0] if x < n)
        output best : int = highest(-(k - 7)^2 for k in 1 .. n if k != 7).k
        output none : bool = lowest(k for k in [3, 4] if k > n + 50).found
    }"""
    assert run(text) == {"s": 15, "odd": 3, "small": 4.0, "best": 5, "none": 0.0}
    assert run(text, n=100.0) == {"s": 5050, "odd": 50, "small": 11.0, "best": 6, "none": 0.0}


def test_a_long_reduction_whose_body_needs_known_values_is_written_out() -> None:
    text = """
    evaluator e {
        param x : real = 2 in 0 .. 9
        output s : real = sum(sum([x for i in 1 .. k]) for k in 1 .. 20)
    }"""
    assert run(text)["s"] == 420.0


def test_rules_inside_a_loop_come_out() -> None:
    text = """
    evaluator e {
        param x : real = 2 in 0 .. 9
        output s : real = sum(whole(x * k) for k in 1 .. 40)
    }"""
    assert broken(text) == {}
    assert list(broken(text, x=0.5)) == ["s.not-whole"]
    assert list(broken(text, x=1.0)) == []


@pytest.mark.parametrize("how", ["min", "max", "sum"])
def test_a_long_reduction_of_ints_is_an_int(how: str) -> None:
    """So it may be an index."""
    text = f"""evaluator e {{
        param p : int = 20 in 2 .. 20
        output y : real = [1.5, 2.5, 3.5][min(max({how}(p - j for j in 0 .. p), 0), 2)]
    }}"""
    assert run(text, p=3.0)["y"] == (1.5 if how == "min" else 3.5)


@pytest.mark.parametrize(
    "value",
    [
        "(iterate k in 1 .. n { state s : real = 0, next s = [1.0, 2][at] }).s",
        "(iterate k in 1 .. n { state s : real = 0, let i = at + k - k, next s = [1.0, 2][i] }).s",
        "sum([1.0, 2][at] for k in 1 .. 20 * n)",
        "sum(1 for k in 1 .. n if [1.0, 2][at] > 0)",
        "sum(1 for k in 1 .. 20 * n if [1.0, 2][at] > 0)",
        "sum(1 for k in 1 .. n for j in 1 .. [1, 2][at])",
        "lowest(1 for k in 1 .. n for j in 1 .. [10, 20][at]).found",
    ],
)
def test_where_a_loop_has_no_round_no_rule_of_its_body_is_broken(value: str) -> None:
    """Also if the rule is the same in all rounds, and stated once before the loop."""
    text = f"""
    evaluator e {{
        param n  : int = 2 in 0 .. 3
        param at : int = 1 in 0 .. 5
        output y : real = {value if ".found" not in value else f"if {value} then 1 else 0"}
    }}"""
    assert list(broken(text, at=4.0)) == ["y.index-out-of-range"]
    assert broken(text, n=0.0, at=4.0) == {}
