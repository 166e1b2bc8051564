"""What a sweep is reduced to is what the whole sweep in memory says, whatever the parts."""

import itertools
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.codegen.runtime import (
    Best,
    CallError,
    Counts,
    Histogram,
    KernelEvaluator,
    OutputSpec,
    ParamSpec,
    Pareto,
    Quantiles,
    RuleSpec,
    Scale,
    Spec,
    Top,
)
from hwdsl.codegen.runtime.block import spread
from hwdsl.codegen.runtime.conditions import conditions
from hwdsl.codegen.runtime.distributions import ERROR
from hwdsl.codegen.runtime.reducing import reduce_grid

UNDEFINED = np.uint64(4)


class Table:
    """A kernel that looks its outputs up by the first param, a point's number in a table."""

    outputs, words = 3, 1

    def __init__(self, columns, words, params):
        self.columns, self.broken, self.params = columns, words, params

    def run(self, axes, start, stop, outputs, rules):
        points = np.arange(start, stop)
        (values, stride, count) = axes[0]
        rows = values[points // stride % count].astype(np.int64)
        for column, out in zip(self.columns, outputs, strict=True):
            if out is not None:
                out[:] = column[rows]
        rules[:, 0] = self.broken[rows]

    def halt(self, on):
        pass


MS, GB = Scale("ms", "1/1000", "0", {"time": 1}), Scale("GB", "1000000000", "0", {"data": 1})
DEGC = Scale("degC", "1", "273.15", {"temperature": 1})
KINDS = ("small", "large", "huge")
SPEC = Spec(
    "table",
    (
        ParamSpec("row", "int", low=0.0),
        ParamSpec("kind", "choice", default=0.0, low=0.0, high=2.0, labels=KINDS, uniform=True),
        ParamSpec("size", "real", GB, default=1e9),
    ),
    (
        OutputSpec("time", MS),
        OutputSpec("heat", DEGC),
        OutputSpec("case", labels=("a", "b")),
    ),
    (RuleSpec("fits"), RuleSpec("cheap", "warn")),
    {"ms": MS, "s": Scale("s", "1", "0", {"time": 1}), "GB": GB, "degC": DEGC},
)
NUMBERS = st.one_of(
    st.integers(-3, 3).map(float), st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -0.0]),
    st.floats(-1e3, 1e3),
)  # fmt: skip


@st.composite
def tables(draw):
    """An evaluator over a table, and columns of its points: rows, kinds and sizes."""
    rows = draw(st.integers(1, 40))
    time, heat = (np.array(draw(st.lists(NUMBERS, min_size=rows, max_size=rows))) for _ in "ab")
    case = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=rows, max_size=rows)))
    words = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), np.uint64)
    words[np.isnan(time) | np.isnan(heat)] |= UNDEFINED
    evaluator = KernelEvaluator(SPEC, Table([time, heat, case], words, 3))
    if draw(st.booleans()):  # a grid
        order = draw(st.permutations(["row", "kind", "size"]))
        axes = {"row": np.arange(rows), "kind": list(KINDS[: draw(st.integers(1, 3))]),
                "size": np.linspace(1, 2, draw(st.integers(1, 3)))}  # fmt: skip
        return evaluator, evaluator.plan({name: axes[name] for name in order})
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=rows, max_size=rows))
    return evaluator, evaluator.plan(mode="zip", row=np.arange(rows), kind=kinds)


def in_parts(plan, reduction, parts, order, room, threads):
    """The state of a reduction after parts of a sweep, joined in an order, each pickled between."""
    cuts = sorted({0, plan.points, *(p % (plan.points + 1) for p in parts)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hwdsl.codegen.runtime.reducing.room_for", lambda *_: room)
        patch.setattr("hwdsl.codegen.runtime.reducing.ROOM", 0)  # on threads, if there are any
        patch.setattr("hwdsl.codegen.runtime.point_sources.STRETCH", room)
        states = [
            reduce_grid(plan.at(plan.grid.stretch(a, b - a)), [reduction], threads=threads)[0]
            for a, b in itertools.pairwise(cuts)
        ]
    states.sort(key=lambda _: order.random())
    whole = pickle.loads(pickle.dumps(reduction)).begin(plan.spec)
    for state in states:
        whole.merge(pickle.loads(pickle.dumps(state)))
    return whole


SPLITS = {
    "parts": st.lists(st.integers(0, 400), max_size=4),
    "order": st.randoms(use_true_random=False),
    "room": st.integers(1, 50),
    "threads": st.sampled_from([1, 3]),
}
GOALS = st.sampled_from(["time", "heat", "size", "row"])


def same(found, expected):
    """The same points in the same order."""
    assert len(found) == len(expected)
    for name in ("row", "kind", "size", "time", "heat", "case"):
        assert np.array_equal(
            found.raw.column(name), expected.raw.column(name),
            equal_nan=name in ("time", "heat"),
        )  # fmt: skip


@settings(max_examples=35, deadline=None)
@given(table=tables(), goal=GOALS, most=st.booleans(), count=st.integers(1, 7),
       by=st.sampled_from([(), "kind", "size", "case", ("kind", "case")]), **SPLITS)  # fmt: skip
def test_the_best_are_those_of_the_whole_sweep(table, goal, most, count, by, **split):
    _, plan = table
    sweep = plan.run()
    asked = {"maximize" if most else "minimize": goal}
    found = in_parts(plan, Top(count, **asked, by=by), **split).result(plan)
    cost = np.asarray(sweep.raw.column(goal), np.float64) * (-1 if most else 1)
    fine = np.flatnonzero(sweep.feasible.ravel() & np.isfinite(cost))
    names = [by] if isinstance(by, str) else by
    codes = {"kind": list(KINDS).index, "case": ["a", "b"].index, "size": float}
    keys = [tuple(codes[n](sweep.raw.column(n)[p]) for n in names) for p in fine]
    expected = []
    for key in sorted(set(keys)):
        mine = [p for p, k in zip(fine, keys, strict=True) if k == key]
        expected += sorted(mine, key=lambda p: (cost[p], p))[:count]
    same(found, sweep.take(np.array(expected, np.int64)))


@settings(max_examples=30, deadline=None)
@given(table=tables(), goal=GOALS, most=st.booleans(), **SPLITS)
def test_the_best_is_that_of_the_whole_sweep(table, goal, most, **split):
    _, plan = table
    asked = {"maximize" if most else "minimize": goal}
    state = in_parts(plan, Best(**asked), **split)
    try:
        expected = plan.run().best(asked.get("maximize", ""), minimize=asked.get("minimize", ""))
    except CallError:
        with pytest.raises(CallError, match="no point that was looked at is feasible and finite"):
            state.result(plan)
    else:
        assert state.result(plan) == expected


@settings(max_examples=35, deadline=None)
@given(table=tables(), few=st.booleans(), up=st.sets(GOALS, max_size=3),
       down=st.sets(GOALS, max_size=3), **SPLITS)  # fmt: skip
def test_the_front_is_that_of_the_whole_sweep(table, few, up, down, **split):
    _, plan = table
    down = down - up
    if not up | down:
        return
    asked = {"maximize": sorted(up), "minimize": sorted(down)}
    with pytest.MonkeyPatch.context() as patch:
        if few:
            patch.setattr("hwdsl.codegen.runtime.reductions.FEW", 3)
        found = in_parts(plan, Pareto(**asked), **split).result(plan)
    try:
        expected = plan.run().pareto(**asked)
    except CallError:
        assert not len(found)
    else:
        same(found, expected)


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60), ulps=st.integers(0, 3),
       name=st.sampled_from(["time", "heat"]), most=st.booleans())  # fmt: skip
def test_values_that_differ_only_in_base_units_are_equal(values, ulps, name, most):
    """In declared units neighbouring numbers can be one: then the first counts."""
    base = np.array(values)
    for _ in range(ulps):
        base = np.concatenate([np.nextafter(base, np.inf), base])
    rows, zeros = len(base), np.zeros(len(base))
    columns = [base if n == name else zeros for n in ("time", "heat", "case")]
    evaluator = KernelEvaluator(SPEC, Table(columns, np.zeros(rows, np.uint64), 3))
    plan = evaluator.plan(row=np.arange(rows))
    asked = {"maximize" if most else "minimize": name}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hwdsl.codegen.runtime.reducing.room_for", lambda *_: 7)
        backwards = Top(rows, **asked).begin(SPEC)
        for start in range(rows - rows % 7, -1, -7):
            part = plan.at(plan.grid.stretch(start, min(7, rows - start)))
            if part.points:
                backwards.merge(reduce_grid(part, [Top(3, **asked)])[0])
    expected = plan.run().best(asked.get("maximize", ""), minimize=asked.get("minimize", ""))
    assert backwards.result(plan).result(0) == expected
    front = evaluator.reduce(Pareto(**asked), row=np.arange(rows))
    same(front, plan.run().pareto(**asked))


def test_several_reductions_share_one_evaluation():
    calls = []

    class Counted(Table):
        def run(self, axes, start, stop, outputs, rules):
            calls.append(stop - start)
            super().run(axes, start, stop, outputs, rules)

    columns = [np.arange(100.0)[::-1].copy() + 1, np.arange(100.0), np.zeros(100)]
    evaluator = KernelEvaluator(SPEC, Counted(columns, np.zeros(100, np.uint64), 3))
    seen = []
    found = evaluator.reduce(
        {"best": Best(minimize="time"), "front": Pareto(minimize=["time", "heat"])},
        row=np.arange(100), threads=1, progress=lambda *done: seen.append(done),
    )  # fmt: skip
    assert found["best"].params["row"] == 99
    assert len(found["front"]) == 100
    assert sum(calls[:1]) == 100  # then those that are kept, for the answers
    assert seen == [(100, 100)]
    assert [r.params["row"] for r in evaluator.reduce([Best("time")], row=np.arange(9))] == [0]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (Best("tim"), "no output or numeric param tim; did you mean time"),
        (Best("kind"), "no output or numeric param kind"),
        (Best("case"), "no output or numeric param case"),
        (Best(), "name one output or param"),
        (Best("time", "heat"), "name one output or param"),
        (Top(0, "time"), "a number of points is from 1 on, not 0"),
        (Top(1, "time", by="kin"), "no param or case of an enum kin; did you mean kind"),
        (Top(1, "time", by="heat"), "no param or case of an enum heat"),
        (Pareto(), "name outputs or params"),
        ("time", "'time' is no reduction"),
        ([], "nothing is asked for"),
    ],
)
def test_what_cannot_be_asked_for_is_told(what, said):
    evaluator = KernelEvaluator(SPEC, Table([np.zeros(3)] * 3, np.zeros(3, np.uint64), 3))
    with pytest.raises(CallError, match=said):
        evaluator.reduce(what, row=[0, 1, 2])


def test_too_many_groups_are_told():
    many = 70_000
    evaluator = KernelEvaluator(SPEC, Table([np.zeros(many)] * 3, np.zeros(many, np.uint64), 3))
    with pytest.raises(CallError, match="row has more than 65,536 values"):
        evaluator.reduce(Top(1, "time", by="row"), row=np.arange(many))
    with pytest.raises(CallError, match="more than 65,536 groups by row and size"):
        evaluator.reduce(Top(1, "time", by=["row", "size"]), row=np.arange(500),
                         size=np.linspace(1, 2, 300))  # fmt: skip


def test_a_block_spreads_axes_as_points_count():
    values = np.array([3.0, 5.0, 7.0])
    for stride, count, start in itertools.product((1, 2, 5), (1, 4, 11, 40), range(17)):
        points = np.arange(start, start + count)
        expected = values[points // stride % 3]
        assert np.array_equal(spread((values, stride, 3), start, count), expected)


@settings(max_examples=35, deadline=None)
@given(table=tables(), name=GOALS, **SPLITS)
def test_quantiles_are_within_a_tenth_of_a_per_cent(table, name, **split):
    _, plan = table
    sweep = plan.run()
    values = sweep.raw.column(name)[sweep.feasible.ravel()].astype(np.float64)
    shares = np.array([0.0, 0.05, 0.3, 0.5, 0.9, 1.0])
    found = in_parts(plan, Quantiles(name, shares), **split).result(plan)
    if not len(values):
        assert np.isnan(found).all()
        return
    offset = 273.15 if name == "heat" else 0.0  # the error is a share of kelvins
    low = np.quantile(values, shares, method="lower") + offset
    high = np.quantile(values, shares, method="higher") + offset
    error = np.where(np.isfinite(high), np.maximum(abs(low), abs(high)) * 1.01 * ERROR, 0.0) + 1e-9
    finite = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):  # between infinities
        off = abs(found - np.quantile(values, shares))
    # NumPy's quantile of 0 is NaN where the most is infinite.
    assert (off <= error)[finite & ~np.isnan(off)].all()
    assert np.array_equal(found[[0, -1]], [values.min(), values.max()])
    assert (found[~finite & (low == high)] == low[~finite & (low == high)]).all()


@settings(max_examples=35, deadline=None)
@given(table=tables(), name=GOALS, edges=st.sets(st.floats(-50, 50).map(lambda x: round(x, 1)),
       min_size=2, max_size=9), wide=st.booleans(), **SPLITS)  # fmt: skip
def test_histograms_are_those_of_numpy(table, name, edges, wide, **split):
    _, plan = table
    sweep = plan.run()
    values = sweep.raw.column(name)[sweep.feasible.ravel()].astype(np.float64)
    # Values and neighbours of values are edges too: where rounding is seen.
    near = [v for v in np.nextafter(values[:2], np.inf).tolist() if np.isfinite(v)]
    edges = sorted({*edges, *near, *values[np.isfinite(values)][:2].tolist()})
    with pytest.MonkeyPatch.context() as patch:
        if wide:
            patch.setattr("hwdsl.codegen.runtime.distributions.FEW_EDGES", 0)
        found = in_parts(plan, Histogram(name, edges), **split).result(plan)
    expected, _ = np.histogram(values, edges)
    assert np.array_equal(found.counts, expected)
    assert found.below == np.count_nonzero(values < edges[0])
    assert found.above == np.count_nonzero(values > edges[-1])


@settings(max_examples=30, deadline=None)
@given(table=tables(), low=st.integers(-3, 3), **SPLITS)
def test_counts_are_those_of_the_points_that_fit(table, low, **split):
    evaluator, plan = table
    sweep = plan.run()
    found = in_parts(plan, Counts(), **split).result(plan)
    assert (found.points, found.feasible) == (len(sweep), np.count_nonzero(sweep.feasible))
    assert found.violations == sweep.violations
    only = conditions(evaluator, [f"time >= {low} ms", "kind != large"])
    state = reduce_grid(plan, [Counts()], where=only, reads=["time"])[0]
    fits = np.logical_and.reduce([each.fits(sweep) for each in only])
    assert state.result(plan).points == np.count_nonzero(fits)
    assert state.result(plan).violations == sweep.take(fits).violations


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("time <= 0.5 s", lambda s: s.column("time") <= 500),
        ("heat > 300 degC", lambda s: s.column("heat") > 300),
        ("size == 2 GB", lambda s: s.column("size") == 2),
        (["case == b", "row != 3"], lambda s: (s.column("case") == "b") & (s.column("row") != 3)),
        ("feasible", lambda s: s.feasible.ravel()),
        ("kind == huge", lambda s: s.column("kind") == "huge"),
    ],
)
def test_only_points_that_fulfil_the_conditions_are_looked_at(where, kept):
    rng = np.random.default_rng(3)
    columns = [rng.uniform(0, 1, 50), rng.uniform(273, 873, 50), rng.integers(0, 2, 50) * 1.0]
    evaluator = KernelEvaluator(SPEC, Table(columns, rng.integers(0, 4, 50).astype(np.uint64), 3))
    axes = {"row": range(50), "size": [1, 2], "kind": ["small", "huge"]}
    sweep = evaluator.sweep(axes)
    found = evaluator.reduce(
        [Top(500, minimize="time"), Counts()], axes, where=where
    )  # fmt: skip
    expected = sweep.take(kept(sweep) & sweep.feasible.ravel())
    same(found[0], expected.take(np.argsort(expected.column("time"), kind="stable")))
    assert found[1].points == np.count_nonzero(kept(sweep))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("tim <= 3", "no output or param tim; did you mean time"),
        ("time 3", "write feasible, or NAME >= VALUE"),
        ("case == c", "case has no case c"),
        ("kind < large", "a case is compared with == or !="),
        ("kind == larg", "'larg' is none of them"),
        ("size > 3 ms", "`3 ms` is time"),
    ],
)
def test_conditions_that_do_not_fit_are_told(where, said):
    evaluator = KernelEvaluator(SPEC, Table([np.zeros(3)] * 3, np.zeros(3, np.uint64), 3))
    with pytest.raises(CallError, match=said):
        evaluator.reduce(Counts(), row=[0, 1, 2], where=where)


class Quantile:
    """The draws of a row and a size: kinds of the rows of a table are as likely."""

    params, outputs, words = 2, 2, 1

    def __init__(self, rows):
        self.rows = rows

    def run(self, axes, start, stop, outputs, rules):
        (row, _, _), (size, _, _) = axes
        outputs[0][:] = np.floor(row[start:stop] * self.rows)
        outputs[1][:] = 1e9 + 1e9 * size[start:stop]
        rules[:] = 0

    def halt(self, on):
        pass


def test_draws_are_reduced_as_they_are_sampled():
    rng = np.random.default_rng(5)
    columns = [rng.uniform(0, 1, 99), rng.uniform(273, 873, 99), rng.integers(0, 2, 99) * 1.0]
    params = (replace(SPEC.params[0], default=0.0), *SPEC.params[1:])
    spec = replace(SPEC, params=params, drawn=("row", "size"))
    kernel = Table(columns, rng.integers(0, 2, 99).astype(np.uint64), 3)
    evaluator = KernelEvaluator(spec, kernel, draws=lambda: Quantile(99))
    points = 70_000
    samples = evaluator.sample(points, seed=4, keep=True)
    what = {"best": Best(maximize="heat"), "least": Top(3, minimize="size"), "n": Counts(),
            "half": Quantiles("time", 0.5)}  # fmt: skip
    for threads in (1, 3):
        found = evaluator.reduce(what, draws=points, seed=4, threads=threads)
        assert found["best"].heat == np.nanmax(samples["heat"])
        assert (found["n"].points, found["n"].violations) == (points, samples.violations)
        least = np.sort(samples.drawn["size"][samples.feasible])[:3]
        assert np.array_equal(found["least"].column("size"), least)
        assert found["half"] == pytest.approx(samples.quantile("time", 0.5), rel=2 * ERROR)
    one = evaluator.reduce(Counts(), {"row": 7}, draws=points)
    assert one.feasible in (0, points)
    with pytest.raises(CallError, match="no param left that is uncertain"):
        evaluator.reduce(Counts(), row=7, size="1 GB", draws=points)
    with pytest.raises(CallError, match="leave `zipped` and `mode` out"):
        evaluator.reduce(Counts(), draws=points, zipped={"row": [1, 2]})


def test_the_rows_of_a_parquet_file_are_points(tmp_path, monkeypatch):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("hwdsl.codegen.runtime.point_sources.CHUNK", 100)
    rng = np.random.default_rng(6)
    columns = [rng.uniform(0, 1, 999), rng.uniform(273, 873, 999), rng.integers(0, 2, 999) * 1.0]
    kernel = Table(columns, rng.integers(0, 4, 999).astype(np.uint64), 3)
    evaluator = KernelEvaluator(SPEC, kernel)
    rows = {"row": rng.permutation(999), "size": rng.uniform(1, 2, 999),
            "kind": rng.choice(KINDS, 999).tolist()}  # fmt: skip
    table = {**rows, "size [GB]": rows["size"], "time [ms]": rows["size"], "feasible": rows["row"]}
    del table["size"]
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(table), path, row_group_size=70)
    what = [Top(20, minimize="time", by="kind"), Counts()]
    for threads in (1, 2):
        best, counts = evaluator.reduce(what, zipped=path, threads=threads)
        expected = evaluator.reduce(what, rows, mode="zip")
        same(best, expected[0])
        assert counts == expected[1]
    fixed = evaluator.reduce(Counts(), {"kind": "huge"}, zipped=_written(pa, tmp_path, row=[1, 2]))
    assert fixed.points == 2


def _written(pa, folder, **columns):
    pa.parquet.write_table(pa.table(columns), folder / "some.parquet")
    return str(folder / "some.parquet")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"row": [1], "siz": [2.0]}, "no param siz; did you mean size"),
        ({"row": [1], "size [MB]": [2.0]}, "size .MB. is in another unit than table.size, GB"),
        ({"row": [1, None]}, "some rows have no value"),
        ({"row": [1], "kind": ["none"]}, "'none' is none of them"),
        ({"time": [1.0]}, "no column for a param of table"),
        ({"size": [1.0]}, "a value is needed"),
        ({"row": [1], "kind": ["huge"]}, "table.kind is given twice"),
    ],
)
def test_columns_of_a_parquet_file_that_do_not_fit_are_told(columns, said, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    evaluator = KernelEvaluator(SPEC, Table([np.zeros(3)] * 3, np.zeros(3, np.uint64), 3))
    given = {"kind": "huge"} if columns.get("kind") == ["huge"] else {}
    with pytest.raises(CallError, match=said):
        evaluator.reduce(Counts(), given, zipped=_written(pa, tmp_path, **columns))
    with pytest.raises(CallError, match="cannot be read as Parquet"):
        evaluator.reduce(Counts(), given, zipped=tmp_path / "none.parquet")


def test_a_state_does_not_grow_with_the_points():
    rng = np.random.default_rng(7)
    columns = [rng.lognormal(0, 2, 1000), rng.uniform(273, 873, 1000), np.zeros(1000)]
    evaluator = KernelEvaluator(SPEC, Table(columns, np.zeros(1000, np.uint64), 3))
    what = [Best("time"), Top(10, "time", by="kind"), Quantiles("time"), Counts(),
            Histogram("time", np.linspace(0, 9, 10))]  # fmt: skip
    sizes = []
    for repeats in (30, 300):
        plan = evaluator.plan(row=range(1000), size=np.linspace(1, 2, repeats), kind="all")
        tracemalloc.start()
        states = reduce_grid(plan, what, threads=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sizes.append((peak, *(len(pickle.dumps(state)) for state in states)))
    few, many = sizes
    assert all(b < a + 200 for a, b in zip(few[1:], many[1:], strict=True))
    assert many[0] < 1.3 * few[0] < 10_000_000  # of all rows in memory it were 36 MB
