"""What a user holds: calls and sweeps, in declared units, with errors that help."""

import itertools
import threading
import time
import tracemalloc

import numpy as np
import pytest

from hwdsl.codegen.build.stubs import stub
from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.build.toolchain import build
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT
from hwdsl.codegen.runtime import KernelEvaluator, OutputSpec, ParamSpec, RuleSpec, Scale, Spec
from hwdsl.codegen.runtime import execution_plan as plan
from hwdsl.codegen.runtime import spec as spec_module
from hwdsl.codegen.runtime import sweep as sweep_module
from hwdsl.codegen.runtime.pareto import pareto_front

RATE = {"data": 1.0, "time": -1.0}
UNITS = {
    "TB": Scale("TB", "1000000000000", "0", {"data": 1.0}),
    "GB": Scale("GB", "1000000000", "0", {"data": 1.0}),
    "s": Scale("s", "1", "0", {"time": 1.0}),
    "ms": Scale("ms", "1/1000", "0", {"time": 1.0}),
    "degC": Scale("degC", "1", "273.15", {"temperature": 1.0}),
    "%": Scale("%", "1/100"),
}
SPEC = Spec(
    "machine",
    (
        ParamSpec("width", "real", Scale("TB/s", "1000000000000", "0", RATE), 3e12, 1e11, 1e13),
        ParamSpec("chips", "int", default=8.0, low=1.0, high=64.0),
        ParamSpec("memory", "choice", default=0.0, low=0.0, high=2.0, uniform=True,
                  labels=("HBM3", "HBM4", "DDR5")),
        ParamSpec("sparse", "bool", default=0.0, low=0.0, high=1.0),
        ParamSpec("heat", "real", Scale("degC", "1", "273.15", {"temperature": 1.0}), 300.0),
    ),
    (
        OutputSpec("time", Scale("ms", "1/1000", "0", {"time": 1.0})),
        OutputSpec("cost", Scale("USD")),
        OutputSpec("kind", labels=("HBM3", "HBM4", "DDR5")),
        OutputSpec("heat_out", Scale("degC", "1", "273.15", {"temperature": 1.0})),
    ),
    (RuleSpec("fast", "require", "takes too long"), RuleSpec("cheap", "warn", "is dear")),
    UNITS,
)  # fmt: skip


def graph():
    b = GraphBuilder()
    width, chips = b.param("width"), b.param("chips", INT)
    memory, sparse = b.param("memory", INT, uniform=True), b.param("sparse", BOOL)
    heat = b.param("heat")
    factor = b.op("table", memory, index=b.table([1.0, 2.0, 0.25]))
    work = b.op("select", sparse, b.const(3e12), b.const(6e12))
    time = b.op("div", work, b.op("mul", factor, b.op("mul", width, chips)))
    cost = b.op("mul", chips, b.op("add", factor, b.const(1.0)))
    return b.finish(
        [("time", time), ("cost", cost), ("kind", memory), ("heat", heat)],
        [("fast", b.op("lt", time, b.const(1.0))), ("cheap", b.op("lt", cost, b.const(100.0)))],
    )


@pytest.fixture(scope="module", params=["compiled", "interpreted"])
def machine(request, tmp_path_factory):
    if request.param == "interpreted":
        return KernelEvaluator(SPEC, InterpreterKernel(graph()))
    path = tmp_path_factory.mktemp("kernels")
    return KernelEvaluator(SPEC, build({"machine": graph()}, cache_dir=path)["machine"])


def test_a_call_gives_values_in_declared_units(machine):
    r = machine(width=6, chips=10, memory="HBM4", heat=30)
    assert r.time == 50.0
    assert r.cost == 30.0
    assert r.kind == "HBM4"
    assert r.heat_out == pytest.approx(30.0)
    assert r.feasible
    assert r.violations == []
    assert r.params["memory"] == "HBM4"
    assert repr(r) == (
        "Result(time=50 ms, cost=30 USD, kind=HBM4, heat_out=30 degC, feasible=True)"
    )


def test_help_tells_params_and_outputs(machine):
    assert machine.__doc__.splitlines() == [
        "Params:",
        "  width = 3 TB/s     a number from 0.1 to 10 TB/s.",
        "  chips = 8          a whole number from 1 to 64.",
        "  memory = HBM3      one of HBM3, HBM4, DDR5.",
        "  sparse = False     true or false.",
        "  heat = 26.85 degC  a number in degC.",
        "",
        "Outputs:",
        "  time [ms]",
        "  cost [USD]",
        "  kind",
        "  heat_out [degC]",
    ]


def test_texts_are_converted(machine):
    assert machine(width="6000 GB/s", chips=10).time == 100.0
    assert machine(width="6e3 GB/s", chips=10).time == 100.0
    assert machine(width="6", chips="10").time == 100.0
    assert machine(heat="30 degC").heat_out == pytest.approx(30.0)


def test_broken_rules_are_named(machine):
    r = machine(width=0.1, chips=64)
    assert (r.feasible, r.violations) == (True, ["cheap"])
    r = machine(width=0.1, chips=1)
    assert (r.feasible, r.violations) == (False, ["fast"])
    r = machine(heat=float("inf"))
    assert r.feasible
    assert "violations=['fast']" in repr(machine(width=0.1, chips=1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widht": 3}, "machine has no param widht; did you mean width"),
        ({"width": 30}, "machine.width: 30 is out of range; it is a number from 0.1 to 10 TB/s"),
        ({"width": "3 TB"}, "`3 TB` is data, but data/time is wanted, such as `1 TB/s`; it is"),
        ({"width": "1..3 m:4"}, "1..3 m:4 is several values where one is read; give it to sweep"),
        ({"width": "1 m, 2 m"}, "machine.width: 1 m, 2 m is several values where one is read"),
        ({"width": "3 QB/s"}, "no unit is called `QB`"),
        ({"width": "fast"}, "`fast` is not a number with a unit, such as `1 TB/s`"),
        ({"width": float("nan")}, "machine.width: nan is out of range"),
        ({"width": [1, 2]}, "give many values to sweep"),
        ({"chips": 2.5}, "machine.chips: 2.5 is not whole; it is a whole number from 1 to 64"),
        ({"chips": True}, "True is not a number"),
        ({"memory": "HBM9"}, "machine.memory: 'HBM9' is none of them; it is one of HBM3, HBM4"),
        ({"memory": 1}, "1 is none of them"),
        ({"sparse": "maybe"}, "'maybe' is neither true nor false"),
    ],
)
def test_what_does_not_fit_is_an_error_that_helps(machine, given, message):
    with pytest.raises(ValueError, match=r".") as caught:
        machine(**given)
    assert message in str(caught.value)


def test_unknown_names_of_results(machine):
    with pytest.raises(AttributeError, match="no output tmie; did you mean time"):
        _ = machine().tmie
    with pytest.raises(KeyError, match="no tmie; did you mean time"):
        _ = machine.sweep(chips=[1])["tmie"]


def test_a_needed_value_is_asked_for():
    spec = Spec("f", (ParamSpec("x"),), (OutputSpec("y"),))
    b = GraphBuilder()
    evaluator = KernelEvaluator(spec, InterpreterKernel(b.finish([("y", b.param("x"))])))
    with pytest.raises(ValueError, match=r"f\.x: a value is needed"):
        evaluator()
    with pytest.raises(ValueError, match=r"f\.x: a value is needed"):
        evaluator.sweep()
    assert evaluator.sweep(x=np.array([1.0, np.inf])).feasible.tolist() == [True, True]
    assert evaluator(x=2).y == 2.0


def test_a_grid_has_the_last_axis_fastest_and_equals_calls(machine):
    s = machine.sweep(memory=["HBM3", "DDR5", "HBM4"], width=np.array([1.0, 2.0]),
                      chips=range(1, 5), sparse=[True, False]).raw  # fmt: skip
    assert s.shape == (3, 2, 4, 2)
    assert s.dims == ("memory", "width", "chips", "sparse")
    for i, memory in enumerate(["HBM3", "DDR5", "HBM4"]):
        for k in range(4):
            r = machine(memory=memory, width=2.0, chips=k + 1, sparse=False).raw
            assert s["time"][i, 1, k, 1] == r.time
            assert s["kind"][i, 1, k, 1] == memory
            assert s.feasible[i, 1, k, 1] == r.feasible
    assert s["memory"][1, 0, 0, 0] == "DDR5"
    assert s["chips"][0, 0, 3, 0] == 4
    assert s.result(5).params["chips"] == 3


def test_uniform_params_do_not_mix_whatever_the_order(machine):
    first = machine.sweep(memory=["HBM4", "HBM3"], chips=[1, 2, 3])
    last = machine.sweep(chips=[1, 2, 3], memory=["HBM4", "HBM3"])
    assert np.array_equal(first["time"], last["time"].T, equal_nan=True)
    points = [("HBM4", 1), ("HBM3", 2), ("HBM4", 3)]
    memory, chips = zip(*points, strict=True)
    columns = machine.sweep(mode="zip", memory=memory, chips=chips)
    expected = [machine(memory=m, chips=c).raw.time for m, c in points]
    assert columns.raw["time"].tolist() == expected


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_stretches_of_a_grid_are_the_same_points(machine, order):
    axes = {"memory": ["HBM4", "HBM3", "HBM4"], "chips": range(1, 6), "width": [1.0, 2.0]}
    names = [list(axes)[k] for k in order]
    whole = machine.sweep(**{n: axes[n] for n in names}).raw
    for size in (1, 4, 7, 30):
        parts = [p.raw for p in machine.iter_chunks(size, **{n: axes[n] for n in names})]
        assert [len(p) for p in parts][:-1] == [size] * (len(parts) - 1)
        for name in (*names, "time", "kind"):
            joined = np.concatenate([p.column(name) for p in parts])
            assert np.array_equal(joined, whole.column(name))
    for point in (0, 11, 29):
        given = {n: whole.column(n)[point] for n in names}
        assert whole.column("time")[point] == machine(**given).raw.time
        assert parts[0].result(point).params["width"] == given["width"]


def test_a_grid_with_a_choice_takes_no_memory_of_its_size(machine):
    huge = np.linspace(0.2, 9.0, 1_000_000)
    plan = machine.plan(memory=["HBM3", "HBM4"], width=huge, chips=range(1, 65))
    tracemalloc.start()
    groups = plan.grid.groups([p.uniform for p in plan.spec.params])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [span.stop - span.start for _, span in groups] == [64_000_000] * 2
    assert peak < 100_000


def test_zipped_columns_beside_a_grid(machine):
    s = machine.sweep(zipped={"width": [1, 2], "chips": [4, 5]}, sparse=[False, True], heat=20)
    assert s.dims == ("point", "sparse")
    assert s["time"][1, 1] == machine(width=2, chips=5, sparse=True).time
    with pytest.raises(ValueError, match=r"lengths.*: width has 2 values, chips has 3"):
        machine.sweep(mode="zip", width=[1, 2], chips=[1, 2, 3])
    with pytest.raises(ValueError, match="mode is grid or zip"):
        machine.sweep(mode="both")


def test_best_and_pareto_keep_to_feasible_points(machine):
    s = machine.sweep(chips=range(1, 65), width=[0.1, 1.0, 10.0])
    best = s.best(minimize="cost")
    feasible = s.feasible
    assert best.cost == s["cost"][feasible].min()
    assert s.best("cost").cost == s["cost"][feasible].max()
    front = s.pareto(minimize=["time", "cost"])
    points = list(zip(front["time"], front["cost"], strict=True))
    everything = list(zip(s["time"][feasible], s["cost"][feasible], strict=True))

    def beaten(p):
        return any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in everything)

    assert sorted(points) == sorted(p for p in everything if not beaten(p))
    dearest = s["cost"][feasible].max()
    assert len(s.pareto(maximize="cost")) == np.count_nonzero(s["cost"][feasible] == dearest)
    nothing = machine.sweep(chips=[1], width=[0.1])
    with pytest.raises(ValueError, match=r"none of the 1 points is feasible.*fast"):
        nothing.best("cost")
    with pytest.raises(ValueError, match="no output or numeric param costs; did you mean cost"):
        s.best("costs")


def test_points_of_a_sweep_are_taken_by_number_or_in_lists(machine):
    s = machine.sweep(chips=[1, 2, 3])
    for key in (slice(0, 2), (1, 2), 1.5):
        with pytest.raises(TypeError, match="neither a name nor a number: take"):
            s[key]
    assert s[np.int64(1)].params["chips"] == 2
    assert "3 chips" in repr(s)
    assert "2 points" in repr(s.take([0, 2]))
    assert "1 point," in repr(s.take([0]))


def test_params_that_are_numbers_are_objectives_too(machine):
    s = machine.sweep(chips=range(1, 65), width=[0.1, 1.0, 10.0])
    assert s.best(minimize="chips").params["chips"] == s["chips"][s.feasible].min()
    found = s.pareto(minimize=["time", "chips", "width"])
    points = set(zip(found["time"], found["chips"], found["width"], strict=True))
    columns = (s[n][s.feasible] for n in ("time", "chips", "width"))
    everything = list(zip(*columns, strict=True))
    kept = [p for p in everything if not any(beats(q, p) for q in everything)]
    assert points == set(kept)
    with pytest.raises(ValueError, match="no output or numeric param memory"):
        s.pareto(minimize="memory")


def beats(q, p):
    return q != p and all(a <= b for a, b in zip(q, p, strict=True))


@pytest.mark.parametrize("goals", [1, 2, 3, 5])
@pytest.mark.parametrize("steps", [3, 12, 10**6])
def test_a_front_is_what_no_point_dominates(goals, steps):
    """Of points with many equals, and of points that are all different."""
    draws = np.random.default_rng(goals * steps).integers(0, steps, (6000, goals))
    costs = [np.asarray(c, np.float64) for c in draws.T]
    if goals == 2:
        costs[1] = np.where(costs[0] % 7 == 1, -costs[0], costs[1])  # a front of many
    rows, kept = np.stack(costs, axis=1), []
    for k, row in enumerate(rows):
        no_worse = np.logical_and.reduce([cost <= cost[k] for cost in costs])
        if not (rows[no_worse] < row).any():
            kept.append(k)
    assert pareto_front(costs).tolist() == kept


def test_the_front_of_a_million_points_takes_seconds():
    x = np.random.default_rng(3).random(1_000_000)
    start = time.process_time()
    found = pareto_front([x, np.round(1 - x, 3)])
    assert time.process_time() - start < 10  # point by point it took 18 us each
    assert len(found) == 1001


def test_counts_of_broken_rules(machine):
    s = machine.sweep(chips=[1, 64], width=[0.1, 10.0])
    assert s.violations == {"fast": 1, "cheap": 2}
    assert s.broken("cheap").tolist() == [[False, False], [True, True]]
    assert "4 points" not in repr(s)
    assert "3 of 4 feasible" in repr(s)


def test_chunks_are_the_sweep_in_parts(machine):
    axes = {"chips": range(1, 50), "memory": ["HBM3", "DDR5"], "width": np.linspace(1, 9, 11)}
    whole = machine.sweep(**axes).raw
    parts = [p.raw for p in machine.iter_chunks(100, **axes)]
    assert [len(p) for p in parts[:-1]] == [100] * (len(parts) - 1)
    for name in ("time", "memory", "chips", "width"):
        joined = np.concatenate([p.column(name) for p in parts])
        assert np.array_equal(joined, whole.column(name))
    assert sum(len(p) for p in whole.iter_chunks(77)) == len(whole)


def test_many_points_on_threads(machine, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK", 1000)
    seen = []
    s = machine.sweep(
        width=np.linspace(1, 9, 101), chips=range(1, 65), memory=["HBM3", "HBM4"],
        threads=4, progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    width, chips = np.linspace(1, 9, 101)[:, None, None], np.arange(1, 65)[None, :, None]
    factor = np.array([1.0, 2.0])
    assert np.allclose(s.raw["time"], 6e12 / (width * 1e12 * chips * factor) * 1e3, rtol=1e-14)
    assert seen[-1] == (len(s), len(s))
    assert len(seen) > 10


def test_an_interrupt_stops_between_chunks(monkeypatch):
    monkeypatch.setattr(plan, "CHUNK", 10)
    ran, halts = [], []

    class Slow:
        params, outputs, words = 1, 1, 1

        def run(self, axes, start, stop, outputs, rules):
            ran.append(start)
            time.sleep(0.001)
            outputs[0][:] = 0.0
            rules[:] = 0

        def halt(self, on):
            halts.append((on, len(ran)))

    def interrupt(done, _total):
        if done >= 50:
            raise KeyboardInterrupt

    evaluator = KernelEvaluator(Spec("f", (ParamSpec("x"),), (OutputSpec("y"),)), Slow())
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        evaluator.sweep(x=np.arange(100_000.0), progress=interrupt)
    assert len(ran) < 200
    assert [on for on, _ in halts] == [True, False]  # what was under way was told to end
    assert threading.active_count() == before


def test_columns_leave_as_numpy_and_arrow(machine):
    pa = pytest.importorskip("pyarrow")
    s = machine.sweep(chips=[1, 2], memory=["HBM3", "HBM4"])
    columns = s.to_numpy()
    assert list(columns) == ["width", "chips", "memory", "sparse", "heat", "time", "cost", "kind",
                             "heat_out", "feasible", "violations"]  # fmt: skip
    table = s.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column("memory").to_pylist() == ["HBM3", "HBM4"] * 2
    assert table.schema.field("time").metadata == {b"unit": b"ms"}


def test_foreign_rounding_is_once():
    assert Scale("%", "1/100").to_base(7.0) == 0.07
    assert Scale("ms", "1/1000").to_base(0.3) == 0.0003
    assert Scale("ms", "1/1000").from_base(0.0003) == pytest.approx(0.3)


# --- results as they are held -----------------------------------------------------------------


def test_columns_are_attributes_and_points_are_numbered(machine):
    sweep = machine.sweep(width=[1.0, 2.0], chips=[4, 8])
    assert np.array_equal(sweep.time, sweep["time"], equal_nan=True)
    assert np.array_equal(sweep.width, sweep["width"])
    assert sweep[3].time == sweep["time"][1, 1] == sweep[-1].time
    assert sweep[np.int64(0)].params["chips"] == 4
    with pytest.raises(AttributeError, match="did you mean time"):
        _ = sweep.tine
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=f"point {wrong} of 4"):
            sweep[wrong]
    with pytest.raises(TypeError):
        sweep[1.5]


def test_points_are_taken_by_number_or_mask(machine):
    sweep = machine.sweep(width=[1.0, 2.0, 3.0])
    assert sweep.take([2, 0]).width.tolist() == [3.0, 1.0]
    assert sweep.take([-1]).width.tolist() == [3.0]
    assert sweep.take(sweep.width > 1.5).width.tolist() == [2.0, 3.0]
    assert len(sweep.take([])) == 0
    with pytest.raises(TypeError, match="mask of bools"):
        sweep.take([0.5])
    with pytest.raises(IndexError, match="outside the sweep of 3"):
        sweep.take([3])


@pytest.mark.parametrize("name", ["pandas", "polars", "xarray", "pyarrow"])
def test_a_package_that_is_not_there_is_named(machine, name, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(sweep_module.importlib, "import_module", missing)
    method = {"pyarrow": "to_arrow"}.get(name, f"to_{name}")
    with pytest.raises(ModuleNotFoundError, match=rf"{method} needs {name}: pip install {name}"):
        getattr(machine.sweep(width=[1.0]), method)()


def test_infinite_outputs_are_feasible_but_never_the_best():
    b = GraphBuilder()
    x = b.param("x")
    inverse = b.op("div", b.const(1.0), x)
    kernel = InterpreterKernel(b.finish([("y", inverse), ("x2", b.op("mul", x, x))]))
    spec = Spec("e", (ParamSpec("x", default=1.0),), (OutputSpec("y"), OutputSpec("x2")))
    sweep = KernelEvaluator(spec, kernel).sweep(x=[0.0, 2.0, 4.0])
    assert sweep.feasible.tolist() == [True, True, True]
    assert sweep.best("y").y == 0.5
    assert sweep.pareto(maximize="y", minimize="x2").x2.tolist() == [4.0]
    with pytest.raises(ValueError, match="finite"):
        sweep.take([0]).best("y")


def test_a_call_of_plain_numbers_takes_the_short_way(machine, monkeypatch):
    """What makes a call slow: reading a unit's factor, and the checks that only texts need."""
    expected = machine(width=2.0, chips=4).time

    def slow(*_):
        raise AssertionError("not in a plain call")

    monkeypatch.setattr(KernelEvaluator, "base", slow)
    monkeypatch.setattr(spec_module, "Fraction", slow)
    assert machine(width=2.0, chips=4).time == expected


def test_a_vector_is_a_dictionary_at_a_point_and_an_axis_of_a_sweep():
    b = GraphBuilder()
    x = b.param("x")
    outputs = [("t.gpu", x), ("t.cpu", b.op("mul", x, x)), ("y", x)]
    kernel = InterpreterKernel(b.finish(outputs))
    unit = Scale("ms", "1/1000")
    spec = Spec(
        "e", (ParamSpec("x", default=1.0),), tuple(OutputSpec(name, unit) for name, _ in outputs)
    )
    evaluator = KernelEvaluator(spec, kernel)
    assert evaluator(x=2.0).t == {"gpu": 2000.0, "cpu": 4000.0}
    assert evaluator(x=2.0)["t.cpu"] == 4000.0
    sweep = evaluator.sweep(x=[1.0, 3.0])
    assert sweep.t.shape == (2, 2)
    assert sweep["t"].tolist() == [[1000.0, 1000.0], [3000.0, 9000.0]]
    assert "def t(self) -> dict[str, Any]" in stub([spec])
