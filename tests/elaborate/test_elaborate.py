"""From text through the checker and the graph to numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.ir.serialization import dump
from hwdsl.codegen.passes.constant_folding import fold_constants_and_cse
from hwdsl.elaborate import check_rules, elaborate, verify
from hwdsl.semantics.symbols import ClaimInfo, EvaluatorInfo

from .helper import broken, checked, elaborated, point, run

SILICON = """
enum yield_model { poisson, murphy, seeds, negative_binomial }
kind process {
    wafer_price        : money
    wafer_diameter    : length = 300 mm
    edge_exclusion    : length = 3 mm
    scribe_line       : length = 0.1 mm
    defect_density    : 1 / area
    cluster_parameter : real = 3
    yield_model       : yield_model = negative_binomial
    reticle           : area = 26 mm * 33 mm
}
fn die_yield(area: area, process: process) -> real {
    let defects = area * process.defect_density
    match process.yield_model {
        poisson           => exp(-defects)
        murphy            => (-expm1(-defects) / defects)^2
        seeds             => 1 / (1 + defects)
        negative_binomial => (1 + defects / process.cluster_parameter)^(-process.cluster_parameter)
    }
}
fn dies_per_wafer(area: area, process: process) -> real {
    let radius = process.wafer_diameter / 2 - process.edge_exclusion
    let side   = sqrt(area) + process.scribe_line
    pi * radius^2 / side^2 * exp(-side / radius)
}
kind phy { shoreline : length }
kind die {
    process   : process
    area      : area
    width     : length = sqrt(area)
    height    : length = area / width
    tdp       : power = 0 W
    let yield     = die_yield(area, process)
    let cost      = process.wafer_price / dies_per_wafer(area, process) / yield
    let perimeter = 2 * (width + height)
    let shoreline = sum(p.shoreline * p.count for p in parts.phy)
    require reticle: area <= process.reticle
        else "{name} is {area}, but one exposure of {process.name} covers {process.reticle}"
        help "split it"
    require shoreline: shoreline <= perimeter
    warn heat: tdp / area <= 1 W/mm^2 else "{tdp / area} needs more than air"
}
process N5 { wafer_price = 17000 USD, defect_density = 0.1 cm^-2 }
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
        let g = gpu with {{ area = self.area, process.yield_model = {law} }}
        let h = gpu with {{ area = area, process.yield_model = {law} }}
        output y in %   = h.yield
        output c in USD = h.cost
    }}""".replace("let g = gpu with { area = self.area, process.yield_model = " + law + " }", "")
    )
    got = run(text)
    assert (got["y"], got["c"]) == pytest.approx(hand(law), rel=1e-12)


def test_an_unknown_enum_is_selected() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        choice law : yield_model in [seeds, poisson]
        output y in % = die_yield(814 mm^2, process = N5 with { yield_model = law })
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
        let g = gpu with { process.defect_density = d, process.yield_model = poisson }
        output y : real = g.yield
        output w : length = (g with { area = 784 mm^2 }).width
        output old : real = gpu.yield
    }"""
    )
    got = run(text)
    assert got["y"] == pytest.approx(math.exp(-1.628))
    assert got["w"] == pytest.approx(0.028)
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


def test_tables() -> None:
    text = """
    evaluator e {
        param x : length = 15 mm in 0 mm .. 100 mm
        output a : power = interp(x, [10 mm, 20 mm, 40 mm], [1 W, 2 W, 8 W])
        output b : int = step(x, [10 mm, 20 mm, 40 mm], [1, 2, 8])
    }"""
    e, _ = elaborated(text)
    for x, a, b in [(0.015, 1.5, 1), (0.02, 2.0, 2), (0.03, 5.0, 2), (0.09, 8.0, 8), (0.0, 1.0, 1)]:
        got = interpret(e.graph, [x]).outputs
        assert float(got["a"]) == pytest.approx(a)
        assert float(got["b"]) == b
    assert set(broken(text, x=0.05)) == {"a.outside-table", "b.outside-table"}


def test_order() -> None:
    text = """
    evaluator e {
        param x : real = 2.5 in 0 .. 9
        output s : [real] = sort_by([10, 20, 30], [3, x, 1])
        output q : real = quantile([x, 1, 5], 0.25)
        output g : real = geomean([x, 4, 1])
        output m : real = mean([x, 4])
        output i : real = [x, 7, 8][whole(x - 0.5)]
    }"""
    got = run(text)
    assert [got[f"s.{i}"] for i in range(3)] == [30, 20, 10]
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
    calibrated eta : real = 0.8 in 0 .. 1 source "data"
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
        let g = gpu with { area = area, process.yield_model = seeds }
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


def test_the_graph_is_the_same_each_time() -> None:
    text = (
        SILICON
        + """
    evaluator e {
        param area : area = 814 mm^2 in 10 mm^2 .. 1200 mm^2
        choice law : yield_model in [poisson, murphy]
        output y in % = (gpu with { area = area, process.yield_model = law }).yield
    }"""
    )
    assert elaborated(text)[0].graph == elaborated(text)[0].graph


def test_a_zero_or_infinity_without_a_unit_is_that_of_its_place() -> None:
    text = """
    fn late(x: time, limit: time = {inf}) -> time = max(x - limit, {zero})
    evaluator e {{
        param t : time = 1 s in {zero} .. 9 s
        let steps = [{zero}, t, {inf}]
        let run = iterate n in 1 .. 100 {{
            state x : time = {zero}
            next x = if x > t then {zero} else x + 1 s
        }}
        output y in ms = late(t) + run.x + min(x for x in steps)
        output z in ms = if t == {inf} then -{inf} else {zero}
    }}"""
    bare, _ = elaborated(text.format(zero="0", inf="inf"))
    written, _ = elaborated(text.format(zero="0 s", inf="(inf * 1 s)"))
    graphs = [dump(fold_constants_and_cse(e.graph)) for e in (bare, written)]
    assert graphs[0] == graphs[1]
