"""Corners of the language: nesting, choices of choices, loops in loops, what must be known."""

from __future__ import annotations

import time

import pytest

from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.serialization import dump
from hwdsl.codegen.passes import optimise

from .helper import broken, elaborated, failures, point, run

KINDS = """
kind memory { bandwidth : data / time, latency : time = 1 ns }
memory slow { bandwidth = 1 TB/s }
memory fast { bandwidth = 4 TB/s }
kind core { rate : real = 1, let power = rate * 2 }
kind chip { core c[2], memory m : slow, scale : real = 1, let total = c.power * c.count * scale }
kind big : chip { scale = 3, c.rate = 5, m { latency = 2 ns } }
kind board { chip a : big, extra : [memory] = [] , let best = max(x.bandwidth for x in extra) }
"""


def test_a_kind_amends_what_it_inherits() -> None:
    text = (
        KINDS
        + """
    big b { }
    evaluator e { output t : real = b.total, output l : time = b.m.latency
                  output c : int = b.c.count }"""
    )
    assert run(text) == {"t": 60.0, "l": 2e-9, "c": 2.0}


def test_amendments_through_several_levels() -> None:
    text = (
        KINDS
        + """
    board x { a { m.bandwidth = 2 TB/s, c { rate = 7, count = 4 } } }
    evaluator e {
        param r : real = 11 in 0 .. 100
        let y = x with { a.c.rate = r + a.c.count }
        let z = y with { a.c { count = 1, rate = outer.a.scale * r } }
        output known : real = x.a.total
        output one   : real = y.a.total
        output two   : real = z.a.total
        output kept in TB/s = y.a.m.bandwidth
    }"""
    )
    assert run(text) == {
        "known": 7 * 2 * 4 * 3,
        "one": 15 * 2 * 4 * 3,
        "two": 33 * 2 * 3,
        "kept": 2e12,
    }


def test_lets_of_a_block_are_variables_of_the_block() -> None:
    text = (
        KINDS
        + """
    evaluator e {
        param r : real = 2 in 0 .. 9
        let x = slow with { let twice = 2 * r, latency = twice * 1 ns, bandwidth = 3 TB/s }
        let y = x with { let twice = 5, bandwidth = twice * 1 TB/s }
        output l : time = y.latency
        output b in TB/s = y.bandwidth
    }"""
    )
    assert run(text) == pytest.approx({"l": 4e-9, "b": 5e12})


def test_components_under_if_and_in_lists() -> None:
    text = (
        KINDS
        + """
    evaluator e {
        param x : real = 2 in 0 .. 9
        let m = if x > 3 then fast else slow
        let n = [slow, m, fast with { bandwidth = x * 1 TB/s }]
        let b = board(extra = n)
        output a in TB/s = m.bandwidth
        output s in TB/s = sum(i.bandwidth for i in n)
        output h in TB/s = b.best
        output which : int = highest(n[k].bandwidth for k in 0 .. 2).k
        output pick in TB/s = lowest(i.bandwidth for i in n).i.bandwidth
    }"""
    )
    assert run(text) == pytest.approx({"a": 1e12, "s": 4e12, "h": 2e12, "which": 2, "pick": 1e12})
    got = run(text, x=5.0)
    assert got == pytest.approx({"a": 4e12, "s": 10e12, "h": 5e12, "which": 2, "pick": 1e12})


def test_a_choice_of_choices() -> None:
    text = (
        KINDS
        + """
    chip small { m = fast, c.rate = 2 }
    big large { }
    evaluator e {
        choice c : chip in [small, large]
        choice m : memory in [slow, fast, slow with { bandwidth = 2 TB/s }]
        param x : real = 1 in 0 .. 2
        let s = c with { m = if x > 1 then m else outer_m }
        output t : real = s.total
        output b in TB/s = s.m.bandwidth
        output old in TB/s = c.m.bandwidth
    }""".replace("if x > 1 then m else outer_m", "m")
    )
    # In the block `m` is the variable, which hides the member.
    assert run(text) == pytest.approx({"t": 8, "b": 1e12, "old": 4e12})
    assert run(text, c=1.0, m=2.0) == pytest.approx({"t": 60, "b": 2e12, "old": 1e12})


def test_a_part_replaced_by_a_chosen_one() -> None:
    text = (
        KINDS
        + """
    evaluator e {
        choice f : memory in [slow, fast]
        param n : int = 2 in 1 .. 4
        let c = chip(m = f) with { m.count = n, m.latency = n * 1 ns }
        output b in TB/s = c.m.bandwidth * c.m.count
        output l : time = c.m.latency
    }"""
    )
    assert run(text, f=1.0, n=3.0) == pytest.approx({"b": 12e12, "l": 3e-9})


def test_enum_and_bool_states_and_a_list_to_iterate_over() -> None:
    text = """
    enum light { red, green, amber }
    evaluator e {
        param n : int = 4 in 1 .. 50
        let r = iterate k in 1 .. n {
            state l : light = red
            state even : bool = true
            next l = match l { red => green, green => amber, amber => red }
            next even = not even
        }
        let p = iterate v in [3, 5, 7] {
            state s : int = 1
            next s = s * v
        }
        output l : light = r.l
        output even : bool = r.even
        output q : int = p.s
    }"""
    assert run(text) == {"l": 1.0, "even": 1.0, "q": 105.0}
    assert run(text, n=5.0) == {"l": 2.0, "even": 0.0, "q": 105.0}
    e, _ = elaborated(text)
    assert e.outputs[0].cases == ("red", "green", "amber")


def test_a_trace_of_unknown_states() -> None:
    text = """
    evaluator e {
        param x : real = 2 in 0 .. 9
        let r = iterate k in 1 .. 20 {
            state s : real = x
            next s = s / 2
            until s < 0.5
        }
        output t : [real] = r.trace.s
        output n : int = r.rounds
    }"""
    got = run(text)
    assert got["n"] == 4
    assert [got[f"t.{i}"] for i in range(6)] == [1.0, 0.5, 0.25, 0.125, 0.125, 0.125]
    assert len(got) == 21


def test_loops_inside_loops() -> None:
    text = """
    fn inner(x: real, n: int) -> real {
        let r = iterate k in 1 .. n {
            state s : real = 0
            next s = s + x * k
        }
        r.s
    }
    evaluator e {
        param x : real = 2 in 0 .. 9
        param n : int = 3 in 1 .. 30
        let fixed = inner(x, n)
        output a : real = sum(inner(x * j, n) for j in 1 .. 40)
        output b : real = sum(inner(x, n) * j for j in 1 .. 40)
        output c : real = fixed
        output d : int = lowest(abs(inner(x, n) - j) for j in 1 .. 40).j
        output f : real = sum(sum(i * j * x for i in 1 .. j) for j in 1 .. 20)
    }"""
    s = 2 * 6
    assert run(text) == {
        "a": s * 820,
        "b": s * 820,
        "c": s,
        "d": 12,
        "f": 2.0 * sum(i * j for j in range(1, 21) for i in range(1, j + 1)),
    }


def test_a_field_first_read_inside_a_loop_is_good_outside() -> None:
    text = """
    kind k { x : real, let r = iterate i in 1 .. 50 { state s : real = x
        next s = s / 2 + x }, let y = r.s }
    evaluator e {
        param x : real = 2 in 0 .. 9
        let c = k(x = x)
        output a : real = max(c.y - j for j in 1 .. 30)
        output b : real = c.y
    }""".replace(" }, let y", " }\n let y")
    assert run(text) == pytest.approx({"a": 3.0, "b": 4.0})


def test_an_evaluator_called_with_unknown_params() -> None:
    text = """
    evaluator inner {
        param x : real = 2 in 0 .. 9
        choice n : int in [1, 2, 4]
        output y : real = x * n
        require small: y < 20
    }
    evaluator e {
        param a : real = 3 in 0 .. 9
        let r = inner(x = a, n = 4)
        output y : real = r.y
        output ok : bool = r.feasible
        output best : int = highest(inner(x = a, n = k).y for k in [1, 2, 4]).k
    }"""
    assert run(text) == {"y": 12.0, "ok": 1.0, "best": 4.0}
    assert run(text, a=6.0)["ok"] == 0.0
    assert broken(text, a=6.0) == {}


def test_integer_division_is_exact() -> None:
    text = """
    evaluator e {
        param n : int = 49 in 1 .. 100
        output a : int = floor(n / 7)
        output b : int = ceil(n / 7)
        output c : int = floor((n * 1.0) / 7)
    }"""
    e, _ = elaborated(text)
    codes = [op.code for op in e.graph.ops]
    assert (codes.count("floordiv"), codes.count("ceildiv"), codes.count("floor")) == (1, 1, 1)
    assert run(text) == {"a": 7, "b": 7, "c": 7}


def test_texts_under_a_choice_can_be_compared_and_told() -> None:
    text = """
    kind k { label : text = "plain", let special = label == "odd", require fine: not special
             else "this one is {label}" }
    k a { }
    k b { label = "odd" }
    evaluator e { choice c : k in [a, b], let d = c, output s : bool = d.special }
    """.replace("[a, b], let d = c, output", "[a, b]\n let d = c\n output")
    assert run(text) == {"s": 0.0}
    assert broken(text, c=1.0) == {"d.fine": "this one is odd"}


def test_tables_with_unknown_values() -> None:
    text = """
    evaluator e {
        param x : real = 1.5 in 0 .. 3
        param y : real = 4 in 0 .. 9
        output a : real = interp(x, [1, 2, 3], [y, 2 * y, 0])
        output b : real = interp(1.25, [1, 2, 3], [y, 2 * y, 0])
        output c : real = step(2.5, [1, 2, 3], [y, 2 * y, 0])
    }"""
    assert run(text) == {"a": 6.0, "b": 5.0, "c": 8.0}


def test_known_parameters_say_which_param_is_in_the_way() -> None:
    text = """
    fn f(known n: int, x: real) -> real = sum([x for k in 1 .. n])
    evaluator e {
        param n : int = 3 in 1 .. 9
        output a : real = f(3, x = n)
        output b : real = f(2 * n, x = 1)
    }"""
    ((name, message),) = failures(text)
    assert name == "not-known"
    assert "`n` of `f`" in message
    assert "depends on `n`" in message


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("output y : real = interp(n, [1, 1], [1, 2])", "table-points"),
        ("output y : real = min([x for x in [1.5] if x > 2])", "empty-list"),
        ("output y : int = len([k for k in [1, 2] if k > n])", "not-known"),
        ("output y : real = whole(1.5)", "not-whole"),
        ("param q : real = 5 in 0 .. 1\n output y : real = q", "outside-range"),
        ("param q : int\n output y : int = sum(1 for i in 1 .. q)", "not-known"),
        (
            "let r = iterate i in 1 .. u { state s : real = 0\n next s = s + 1 }\n"
            "output y : real = r.s",
            "not-known",
        ),
    ],
)
def test_errors_of_the_user_are_diagnostics(body: str, name: str) -> None:
    text = f"evaluator e {{ param n : int = 3 in 1 .. 9\n param u : int = 1\n {body} }}"
    assert [n for n, _ in failures(text)] == [name]


def test_the_ends_of_a_range_written_as_alternatives_are_told() -> None:
    text = "evaluator e { param q : real = 3 in [1, 512]\n output y : real = q }"
    (item,) = elaborated(text)[1].items
    assert (item.name, "`in 1 .. 512`" in (item.help or "")) == ("outside-range", True)


def test_one_error_does_not_hide_another() -> None:
    text = """
    evaluator e {
        param n : int = 3 in 1 .. 9
        output a : int = len([k for k in 1 .. n])
        output b : int = [k for k in 1 .. 2][7]
    }"""
    assert [n for n, _ in failures(text)] == ["not-known", "index-out-of-range"]


def test_repeated_calls_are_evaluated_once() -> None:
    text = """
    kind r { time : time, energy : energy }
    fn f(x: real) -> r = r(time = sqrt(x) * 1 s, energy = x^3 * 1 J)
    evaluator e {
        param x : real = 4 in 0 .. 9
        output t : time = f(x).time
        output u : time = f(x).time + f(x).time
    }"""
    e, _ = elaborated(text)
    assert [op.code for op in e.graph.ops].count("sqrt") == 1
    assert run(text) == {"t": 2.0, "u": 4.0}


def test_twenty_thousand_operations_in_about_a_second() -> None:
    text = """
    evaluator e {
        param x : real = 1.01 in 0 .. 2
        param y : real = 0.5 in 0 .. 2
        let ks = [k * 1.0 for k in 1 .. 2000]
        output z : real = sum(max(x * k, y / k) * exp(x - k / 700) + sqrt(x + k) * k / (1 + y * k)
                              for k in ks)
    }"""
    start = time.process_time()
    e, _ = elaborated(text)
    taken = time.process_time() - start
    assert len(e.graph.ops) > 20_000
    assert taken < 20  # seconds of the processor; about 1 on an idle machine
    assert interpret(e.graph, point(e, {})).outputs["z"] > 0


def test_a_loop_that_never_runs() -> None:
    text = """
    evaluator e {
        param n : int = -3 in -9 .. 0
        let r = iterate k in 1 .. n {
            state s : real = 7
            next s = s + 1
        }
        output s : real = r.s
        output none : real = sum(k * 1.5 for k in 1 .. n)
        output rounds : int = r.rounds
    }"""
    assert run(text) == {"s": 7.0, "none": 0.0, "rounds": 0.0}


def test_what_takes_too_many_steps_is_refused() -> None:
    calls = "\n".join(
        f"fn f{i}(x: int) -> int = f{i - 1}(2 * x) + f{i - 1}(2 * x + 1)" for i in range(1, 26)
    )
    text = f"fn f0(x: int) -> int = x\n{calls}\nevaluator e {{ output y : int = f25(1) }}"
    start = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hwdsl.elaborate.partial_evaluator.MAX_STEPS", 20_000)
        assert [n for n, _ in failures(text)] == ["too-large"]
    assert time.process_time() - start < 10


SLOTS = """
kind mem { bw : data / time }
mem S { bw = 1 TB/s }
mem F { bw = 4 TB/s }
kind chip { mem m[6] : S, let all = m.bw * m.count }
chip X { }
chip Y : X { m.count = 10 }
"""


def test_a_part_replaced_by_a_component_keeps_its_count() -> None:
    text = (
        SLOTS
        + """
    evaluator e {
        choice c : mem in [S, F] = F
        param n : int = 3 in 1 .. 9
        output a in TB/s = (X with { m = F }).all
        output b in TB/s = (Y with { m = F }).all
        output chosen in TB/s = (Y with { m = c }).all
        output made in TB/s = chip(m = c).all
        output own in TB/s = (Y with { m = F with { count = n } }).all
        output taken in TB/s = (X with { m = Y.m }).all
        output after in TB/s = (Y with { m = F } with { m.count = 2 }).all
        output before in TB/s = (X with { m.count = n } with { m = c }).all
        let more = X with { m { let k = n + 1, count = k } }
        output block in TB/s = (more with { m = S } with { m = c }).all
    }"""
    )
    assert {n: v / 1e12 for n, v in run(text).items()} == {
        "a": 24,
        "b": 40,
        "chosen": 40,
        "made": 24,
        "own": 12,
        "taken": 10,
        "after": 8,
        "before": 12,
        "block": 16,
    }
    assert run(text, c=0)["chosen"] == 10e12


SAME = {
    "cases": ("way is side.north | east", "way == north or way == east"),
    "a known case": ("side.east is east | north", "true"),
    "one int": ("n is 3", "n == 3"),
    "ints": ("not n is 3 | -4 | 5", "not (n == 3 or n == -4 or n == 5)"),
    "zip": (
        "sum(x * y * i for x, y, i in zip(xs, ys, 0 .. 2)) > 0",
        "sum(xs[i] * ys[i] * i for i in 0 .. 2) > 0",
    ),
    "zip and another for": (
        "max(x + k / y for k in 1 .. n for x, y in zip(xs, ys) if x > k) > 0",
        "max(xs[i] + k / ys[i] for k in 1 .. n for i in 0 .. 2 if xs[i] > k) > 0",
    ),
    "zip of lists of lists": (
        "sum(len([z for z, y in zip(row, ys)]) for row, x in zip([xs, ys], 0 .. 1)) > 5",
        "true",
    ),
}


@pytest.mark.parametrize("which", sorted(SAME))
def test_is_and_zip_make_the_graph_of_what_they_stand_for(which: str) -> None:
    graphs = [
        elaborated(
            f"""
            enum side {{ north, east, south, west }}
            evaluator e {{
                param n : int = 3 in -9 .. 9
                choice way : side in side
                let xs = [n / 3, 7, 5 * n]
                let ys = [n + 1, n^2, 4]
                output o : real = if {condition} then n else 7
            }}"""
        )[0].graph
        for condition in SAME[which]
    ]
    assert dump(optimise(graphs[0])) == dump(optimise(graphs[1]))


def test_the_variables_of_the_best_side_by_side() -> None:
    text = (
        KINDS
        + """
    enum side { north, east, south }
    evaluator e {
        param x : real = 2 in 0 .. 9
        let best = lowest(
            abs(x - a) for a, m, s, i in zip([1, x + 3, 7], [fast, slow, fast], side, 4 .. 6)
        )
        output a : real = best.a
        output m in TB/s = best.m.bandwidth
        output s : bool = best.s is east | south
        output i : int = best.i
    }"""
    )
    assert run(text) == pytest.approx({"a": 1, "m": 4e12, "s": 0, "i": 4})
    assert run(text, x=8.5) == pytest.approx({"a": 7, "m": 4e12, "s": 1, "i": 6})


def test_alternatives_of_a_named_list_keep_their_names() -> None:
    text = """
    enum case { none, first, second }
    let cases = [case.second, case.none]
    evaluator e {
        choice x : case in cases
        output n : real = match x {
            none   => 0
            first  => 1
            second => 2
        }
    }"""
    assert elaborated(text)[0].params[0].labels == ("second", "none")
    assert run(text) == {"n": 2}
    assert run(text, x=1.0) == {"n": 0}
