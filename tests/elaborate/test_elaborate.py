"""From text through the checker and the graph to numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from hwdsl.codegen.interpret import interpret
from hwdsl.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules, elaborate, elaborate_constants, verify
from hwdsl.semantics.symbols import ClaimInfo, ComponentInfo, EvaluatorInfo

from .helper import broken, checked, elaborated, failures, point, run

SILICON = """
enum yield_law { poisson, murphy, seeds, negative_binomial }
kind process {
    wafer_cost     : money
    wafer_diameter : length = 300 mm
    edge_exclusion : length = 3 mm
    scribe         : length = 0.1 mm
    defect_density : 1 / area
    clustering     : real = 3
    yield_law      : yield_law = negative_binomial
    reticle        : area = 26 mm * 33 mm
}
fn die_yield(size: area, on: process) -> real {
    let defects = size * on.defect_density
    match on.yield_law {
        poisson           => exp(-defects)
        murphy            => (-expm1(-defects) / defects)^2
        seeds             => 1 / (1 + defects)
        negative_binomial => (1 + defects / on.clustering)^(-on.clustering)
    }
}
fn dies_per_wafer(size: area, on: process) -> real {
    let radius = on.wafer_diameter / 2 - on.edge_exclusion
    let side   = sqrt(size) + on.scribe
    pi * radius^2 / side^2 * exp(-side / radius)
}
kind phy { shoreline : length }
kind die {
    process   : process
    area      : area
    width     : length = sqrt(area)
    height    : length = area / width
    tdp       : power = 0 W
    let yield     = die_yield(area, on = process)
    let cost      = process.wafer_cost / dies_per_wafer(area, on = process) / yield
    let perimeter = 2 * (width + height)
    let shoreline = sum(p.shoreline * p.count for p in parts.phy)
    require reticle: area <= process.reticle
        else "{name} is {area}, but one exposure of {process.name} covers {process.reticle}"
        help "split it"
    require shoreline: shoreline <= perimeter
    warn heat: tdp / area <= 1 W/mm^2 else "{tdp / area} needs more than air"
}
process N5 { wafer_cost = 17000 USD, defect_density = 0.1 cm^-2 }
die gpu { process = N5, area = 814 mm^2, tdp = 700 W }
"""


def hand(law: str, area: float = 814e-6) -> tuple[float, float]:
    x = area * 1000.0
    yields = {
        "poisson": math.exp(-x),
        "murphy": ((1 - math.exp(-x)) / x) ** 2,
        "seeds": 1 / (1 + x),
        "negative_binomial": (1 + x / 3) ** -3,
    }
    radius, side = 0.147, math.sqrt(area) + 1e-4
    dies = math.pi * radius**2 / side**2 * math.exp(-side / radius)
    return yields[law], 17000 / dies / yields[law]


@pytest.mark.parametrize("law", ["poisson", "murphy", "seeds", "negative_binomial"])
def test_yield_and_cost_of_a_die(law: str) -> None:
    text = (
        SILICON
        + f"""
    evaluator e {{
        param area : area = 814 mm^2 in 10 mm^2 .. 1200 mm^2
        let g = gpu with {{ area = self.area, process.yield_law = {law} }}
        let h = gpu with {{ area = area, process.yield_law = {law} }}
        output y in %   = h.yield
        output c in USD = h.cost
    }}""".replace("let g = gpu with { area = self.area, process.yield_law = " + law + " }", "")
    )
    got = run(text)
    assert (got["y"], got["c"]) == pytest.approx(hand(law), rel=1e-12)


def test_an_unknown_enum_is_selected() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        choice law : yield_law in [seeds, poisson]
        output y in % = die_yield(814 mm^2, on = N5 with { yield_law = law })
    }"""
    )
    assert run(text)["y"] == pytest.approx(hand("seeds")[0])
    assert run(text, law=1.0)["y"] == pytest.approx(hand("poisson")[0])


def test_an_amendment_reaches_what_derives_from_it() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        param d : 1 / area = 0.2 cm^-2 in 0 cm^-2 .. 1 cm^-2
        let g = gpu with { process.defect_density = d, process.yield_law = poisson }
        output y : real = g.yield
        output w : length = (g with { area = 400 mm^2 }).width
        output old : real = gpu.yield
    }"""
    )
    got = run(text)
    assert got["y"] == pytest.approx(math.exp(-1.628))
    assert got["w"] == pytest.approx(0.02)
    assert got["old"] == pytest.approx(hand("negative_binomial")[0])


def test_rules_travel_and_tell() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        param area : area = 814 mm^2 in 10 mm^2 .. 2000 mm^2
        let g = gpu with { area = area }
        output c in USD = g.cost
        require cheap: g.cost <= 100 USD else "costs {g.cost}"
    }"""
    )
    found = broken(text, area=900e-6)
    assert set(found) == {"g.reticle", "cheap"}
    assert found["g.reticle"] == "gpu is 900 mm^2, but one exposure of N5 covers 858 mm^2"
    assert found["cheap"].startswith("costs ")
    assert found["cheap"].endswith(" USD")
    assert set(broken(text, area=100e-6)) == {"g.heat"}


def test_known_rules_are_decided_by_the_checker() -> None:
    program = checked(SILICON + "die big : gpu { area = 900 mm^2 }")
    diagnostics = Diagnostics()
    check_rules(program, diagnostics)
    assert [(d.name, d.message, d.help) for d in diagnostics.items] == [
        ("die.reticle", "big is 900 mm^2, but one exposure of N5 covers 858 mm^2", "split it")
    ]


def test_a_waiver_silences_a_rule() -> None:
    program = checked(SILICON + 'die big : gpu { area = 900 mm^2, allow die.reticle "stitched" }')
    diagnostics = Diagnostics()
    check_rules(program, diagnostics)
    assert diagnostics.items == []


MACHINES = """
kind memory {
    bandwidth : data / time
    capacity  : data = 16 GB
    power     : power = bandwidth * 5 pJ/bit
}
memory slow { bandwidth = 1 TB/s }
memory fast { bandwidth = 4 TB/s, power = 90 W }
kind chip { memory hbm, let rate = hbm.bandwidth * hbm.count, budget : power = 200 W
    require cool: hbm.power * hbm.count <= budget else "{hbm.name} takes {hbm.power}" }
chip one { memory hbm[4] : slow }
chip two : one { hbm.count = 8 }
chip three { memory hbm[2] : slow { capacity = 8 GB }, memory spare[3] : fast }
"""


def test_parts_have_counts_and_are_amended() -> None:
    text = (
        MACHINES
        + """
    evaluator e {
        param n : int = 3 in 1 .. 9
        let c = one with { hbm { count = n, bandwidth = 2 TB/s * outer.hbm.count } }
        output a in TB/s = one.rate
        output b in TB/s = two.rate
        output c2 in TB/s = c.rate
        output all in TB/s = sum(m.bandwidth * m.count for m in three.parts.memory)
        output known : int = len(three.parts.memory)
    }"""
    )
    got = run(text)
    assert got == pytest.approx({"a": 4e12, "b": 8e12, "c2": 18e12, "all": 14e12, "known": 2.0})


def test_a_chosen_component_is_selected_field_by_field() -> None:
    text = (
        MACHINES
        + """
    evaluator e {
        choice m : memory in [slow, fast] = fast
        param n : int = 2 in 1 .. 8
        let c = chip(hbm = m with { count = n })
        output rate in TB/s = c.rate
        output power in W = m.power
    }"""
    )
    e, _ = elaborated(text)
    assert e.params[0].labels == ("slow", "fast")
    assert (e.params[0].type, e.params[0].default) == ("component", 1.0)
    assert run(text) == pytest.approx({"rate": 8e12, "power": 90.0})
    assert run(text, m=0.0) == pytest.approx({"rate": 2e12, "power": 40.0})
    assert broken(text, n=3.0) == {"c.cool": "fast takes 90 W"}
    assert broken(text, m=0.0, n=5.0) == {}
    assert broken(text, m=0.0, n=6.0) == {"c.cool": "slow takes 40 W"}


def test_what_all_alternatives_share_is_evaluated_once() -> None:
    names = [f"m{i}" for i in range(20)]
    lines = [f"memory m{i} {{ bandwidth = {i + 1} TB/s }}" for i in range(20)]
    text = (
        MACHINES
        + "\n".join(lines)
        + f"""
    evaluator e {{
        choice m : memory in [{", ".join(names)}]
        output power in W = m.power
    }}"""
    )
    e, _ = elaborated(text)
    used = [op.code for op in e.graph.ops if op.code not in ("const", "param")]
    assert sorted(used) == ["mul", "table"]
    assert run(text, m=9.0)["power"] == pytest.approx(10e12 * 8 * 5e-12)


def test_rules_of_an_untaken_branch_are_masked() -> None:
    text = """
    evaluator e {
        param x : real = 2.5 in 0 .. 10
        param on : bool = false
        output y : real = if on then whole(x) else x
        output z : real = if x > 3 then whole(2 * x) else 0
    }"""
    assert broken(text) == {}
    assert list(broken(text, on=1.0)) == ["y.not-whole"]
    assert list(broken(text, x=3.25)) == ["z.not-whole"]
    assert list(broken(text, x=3.5)) == []


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


def test_tables() -> None:
    text = """
    evaluator e {
        param x : length = 15 mm in 0 mm .. 100 mm
        output a : power = interp(x, [10 mm, 20 mm, 40 mm], [1 W, 2 W, 8 W])
        output b : int = step(x, [10 mm, 20 mm, 40 mm], [1, 2, 8])
        output c : real = interp_log(x / 1 mm, [10, 100], [10, 1000])
    }"""
    e, _ = elaborated(text)
    for x, a, b in [(0.015, 1.5, 1), (0.02, 2.0, 2), (0.03, 5.0, 2), (0.09, 8.0, 8), (0.0, 1.0, 1)]:
        got = interpret(e.graph, [x]).outputs
        assert float(got["a"]) == pytest.approx(a)
        assert float(got["b"]) == b
    assert run(text, x=0.02)["c"] == pytest.approx(10 * 2**2)
    assert set(broken(text, x=0.05)) == {"a.outside-table", "b.outside-table"}


def test_order() -> None:
    text = """
    evaluator e {
        param x : real = 2.5 in 0 .. 9
        output s : [real] = sort_by([10, 20, 30], [3, x, 1])
        output r : [int] = rank([3, x, 1])
        output q : real = quantile([x, 1, 5], 0.25)
        output g : real = geomean([x, 4, 1])
        output m : real = mean([x, 4])
        output i : real = [x, 7, 8][whole(x - 0.5)]
    }"""
    got = run(text)
    assert [got[f"s.{i}"] for i in range(3)] == [30, 20, 10]
    assert [got[f"r.{i}"] for i in range(3)] == [2, 1, 0]
    assert (got["q"], got["g"], got["m"], got["i"]) == pytest.approx((1.75, 10 ** (1 / 3), 3.25, 8))


def test_an_index_outside_breaks_a_rule() -> None:
    text = """
    evaluator e {
        param i : int = 1 in 0 .. 5
        output y : real = [1.5, 2.5][i]
    }"""
    assert run(text)["y"] == 2.5
    assert broken(text, i=1.0) == {}
    assert list(broken(text, i=4.0)) == ["y.index-out-of-range"]


def test_outputs_are_labelled() -> None:
    text = (
        MACHINES
        + """
    enum size { small, large }
    fn f(s: size) -> real = match s { small => 1, large => 2 }
    evaluator e {
        param x : real = 2 in 0 .. 9
        output p in W = [m.power for m in three.parts.memory]
        output s : [real] = [f(s) * x for s in size]
    }"""
    )
    e, _ = elaborated(text)
    assert [o.labels for o in e.outputs] == [("hbm", "spare"), ("small", "large")]
    assert run(text) == pytest.approx({"p.hbm": 40, "p.spare": 90, "s.small": 2, "s.large": 4})


def test_params_say_what_they_take() -> None:
    text = """
    evaluator e {
        ## The width.
        param w : length = 3 mm in 1 mm .. 1 cm
        choice n : int in [1, 2, 8] = 2
        param t : time in 1 us .. 1 s
        output x : real = w / 1 mm * n * (t / 1 s)
    }"""
    e, _ = elaborated(text)
    w, n, t = e.params
    assert (w.doc, w.unit.name, w.default, w.low, w.high) == ("The width.", "mm", 3e-3, 1e-3, 1e-2)
    assert (n.type, n.values, n.labels, n.default) == ("int", (1, 2, 8), ("1", "2", "8"), 2)
    assert t.default is None
    assert not e.graph.params[1].uniform


def test_overrides_fix_params() -> None:
    text = "evaluator e { param x : real = 1 in 0 .. 9, output y : real = 2 * x }"
    e, _ = elaborated(text, {"x": 4.0})
    assert e.params == ()
    assert float(interpret(e.graph, []).outputs["y"]) == 8.0


def test_coefficients_can_be_freed() -> None:
    program = checked("""
    calibrated eta : real = 0.8 in 0 .. 1 from "data"
    evaluator e { param x : real = 2 in 0 .. 9, output y : real = eta * x }""")
    info = program.main.values["e"]
    assert isinstance(info, EvaluatorInfo)
    e = elaborate(program, info, Diagnostics(), free=["eta"])
    assert [(p.name, p.default, p.low, p.high) for p in e.params][1:] == [("eta", 0.8, 0.0, 1.0)]
    assert float(interpret(e.graph, point(e, {"eta": 0.5})).outputs["y"]) == 1.0


def test_evaluators_are_functions_and_claims_hold() -> None:
    program = checked(
        SILICON
        + """
    evaluator area_cost {
        param area : area = 814 mm^2 in 10 mm^2 .. 2000 mm^2
        let g = gpu with { area = area, process.yield_law = seeds }
        output y in % = g.yield
        output c in USD = g.cost
    }
    claim numbers {
        source "by hand"
        let r = area_cost(area = 100 mm^2)
        let big = area_cost(area = 1000 mm^2)
        expect r.y == 90.9 % within 0.1 % absolute
        expect r.y == 80 % within 1 % relative
        expect r.c < big.c
        expect not big.feasible
        identity expect r.y == 1 within factor 2
    }
    evaluator e { param a : area = 100 mm^2 in 1 mm^2 .. 1 cm^2
                  output z : real = area_cost(area = a).y }"""
    )
    claim = program.main.values["numbers"]
    assert isinstance(claim, ClaimInfo)
    diagnostics = Diagnostics()
    verdicts = verify(program, claim, diagnostics)
    assert [v.ok for v in verdicts] == [True, False, False, True, True]
    assert "not feasible" in verdicts[2].note
    assert verdicts[0].got == pytest.approx(1 / 1.1)
    assert (verdicts[0].expected, verdicts[0].unit.name) == (pytest.approx(0.909), "%")
    assert verdicts[4].status == "identity"
    assert not diagnostics.failed


def test_refs_compare_by_identity() -> None:
    text = """
    kind chip { tdp : power = 1 W }
    kind link { from : ref chip, to : ref chip, let loop = from == to }
    kind package { x : real = 0 }
    package p {
        chip a, chip b { tdp = 3 W }
        link l { from = a, to = b }
        link m { from = b, to = b }
    }
    evaluator e {
        param t : power = 5 W in 0 W .. 10 W
        let q = p with { b.tdp = t }
        output l : bool = q.l.loop
        output m : bool = q.m.loop
        output w : power = q.l.to.tdp
    }"""
    assert run(text) == {"l": 0.0, "m": 1.0, "w": 5.0}


def test_methods_look_themselves_up_in_the_final_record() -> None:
    text = """
    kind base { x : real = 1, fn f(k: real) -> real = k * x, let g = f(2) }
    kind other : base { fn f(k: real) -> real = k + x }
    other o { x = 5 }
    evaluator e {
        choice c : base in [o, base(x = 3)]
        output g : real = c.g
        output f : real = c.f(10)
    }"""
    assert run(text) == {"g": 7.0, "f": 15.0}
    assert run(text, c=1.0) == {"g": 6.0, "f": 30.0}


def test_alternatives_with_different_parts() -> None:
    text = (
        MACHINES
        + """
    kind box { let total = sum(m.capacity * m.count for m in parts.memory) }
    box small { memory a[2] : slow }
    box large { memory a[2] : slow, memory b[3] : fast }
    evaluator e {
        choice b : box in [small, large]
        output total in GB = b.total
    }"""
    )
    assert run(text) == {"total": 32e9}
    assert run(text, b=1.0) == {"total": 80e9}


# --- errors of the user ------------------------------------------------------------------------


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


def test_the_model_is_a_tree() -> None:
    program = checked(MACHINES)
    info = program.main.values["three"]
    assert isinstance(info, ComponentInfo)
    tree = elaborate_constants(program, info, Diagnostics())
    assert tree is not None
    assert [(c.name, c.kind, c.count) for c in tree.walk()] == [
        ("three", "chip", 1),
        ("hbm", "memory", 2),
        ("spare", "memory", 3),
    ]
    assert tree.parts[0].fields["capacity"].value == 8e9


def test_origins_name_place_and_path() -> None:
    text = "evaluator e { param x : real = 1 in 0 .. 2\nlet a = x * 3\noutput y : real = a + 1 }"
    e, _ = elaborated(text)
    found = {o.path: o.span.text for o in e.origins.values()}
    assert found["a"] == "x * 3"
    assert found["y"] == "a + 1"


def test_the_graph_is_the_same_each_time() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        param area : area = 814 mm^2 in 10 mm^2 .. 1200 mm^2
        choice law : yield_law in [poisson, murphy]
        output y in % = (gpu with { area = area, process.yield_law = law }).yield
    }"""
    )
    assert elaborated(text)[0].graph == elaborated(text)[0].graph
