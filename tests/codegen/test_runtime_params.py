"""Params of every kind, in columns and one by one, and of any name."""

import functools
import math
import subprocess
import sys

import numpy as np
import pytest
from test_literals import again
from test_runtime import SPEC

from hwdsl.codegen.build.stubs import stub
from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import INT
from hwdsl.codegen.runtime import KernelEvaluator, OutputSpec, ParamSpec, Scale, Spec


@pytest.fixture(scope="module")
def plain():
    """Params of every kind, each an output too; memory is in units of 1024."""
    kib = Scale("KiB", "1024")
    params = (
        ParamSpec("r", "real", kib, 1024.0, 0.0, 1e6),
        ParamSpec("n", "int", default=1.0, low=0.0, high=1e18),
        ParamSpec("c", "real", kib, 1024.0, 102.4, 4096.0, ("0.1", "1", "4"),
              values=(1024.0, 102.4, 4096.0)),
        ParamSpec("one", "int", default=3.0, low=3.0, high=3.0, labels=("3",), values=(3.0,)),
        ParamSpec("b", "bool", default=0.0, low=0.0, high=1.0),
        ParamSpec("w", "choice", default=0.0, low=0.0, high=1.0, labels=("slow", "quick")),
    )  # fmt: skip
    b = GraphBuilder()
    spec = Spec("e", params, tuple(OutputSpec(f"{p.name}_out") for p in params))
    assert again(spec) == spec
    return KernelEvaluator(
        again(spec),
        InterpreterKernel(b.finish([(f"{p.name}_out", b.param(p.name)) for p in params])),
    )


def test_a_zero_keeps_its_sign(plain):
    """As a number, a text and in columns."""
    for zero in (0.0, -0.0):
        sign = math.copysign(1.0, zero)
        found = [plain(r=zero)["r_out"], plain(r=str(zero))["r_out"],
                 plain(r=np.float64(zero))["r_out"], *plain.sweep(r=[zero, zero])["r_out"],
                 *plain.sweep(r=np.array([zero]))["r_out"]]  # fmt: skip
        assert [math.copysign(1.0, x) for x in found] == [sign] * len(found)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("r", [0.1, 3, 900.7]),
        ("n", [0, 7, 2**53, 10**17]),
        ("c", [0.1, 4, 1, 0.1, 1.0 + 1e-15]),
        ("one", [3, 3.0]),
        ("b", [True, False]),
        ("w", ["quick", "slow", "quick"]),
        ("r", ["2 KiB", "0.5", "2 KiB"]),
        ("r", [1.5, "2 KiB", 2]),
    ],
)
def test_columns_are_read_as_single_values_are(plain, name, values):
    """Lists, ranges and arrays of any type of number; a value's neighbours never matter."""
    plain.spec.units["KiB"] = Scale("KiB", "1024")
    single = [plain({name: v})[f"{name}_out"] for v in values]
    shown = [plain({name: v}).params[name] for v in values]
    forms = [values, tuple(values), np.array(values, object)]
    if len({type(v) for v in values} - {int, float}) == 0:
        forms += [np.array(values, np.float64)]
    if {type(v) for v in values} == {int}:
        forms += [np.array(values, np.int64), np.array(values, np.uint64)]
    if type(values[0]) in (bool, str) and len({type(v) for v in values}) == 1:
        forms += [np.array(values)]
    for form in forms:
        swept = plain.sweep({name: form})
        assert swept[f"{name}_out"].tolist() == single
        assert swept[name].tolist() == shown
        assert {type(v) for v in swept[name].tolist()} == {type(v) for v in shown}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("r", [1.0, -1.0, 2.0], "e.r: -1.0 is out of range; it is a number from 0 to 976.5625 KiB"),
        ("r", [1.0, math.nan], "e.r: nan is out of range"),
        ("r", [1, 10**400], "e.r: the number is beyond what a float64 holds"),
        ("n", [1.0, 2.5], "e.n: 2.5 is not whole"),
        ("n", [1, -3], "e.n: -3 is out of range"),
        ("n", [1.0, math.inf], "e.n: inf is out of range"),
        ("c", [1.0, 2.0], "e.c: 2.0 is none of them; it is one of 0.1, 1, 4 KiB"),
        ("c", [math.nan, 1.0], "e.c: nan is none of them"),
        ("one", [3, 4], "e.one: 4 is none of them; it is one of 3"),
        ("b", [0, 1], "e.b: 0 is neither true nor false"),
        ("w", ["quick", "fast"], "e.w: 'fast' is none of them; it is one of slow, quick"),
        ("w", [0, 1], "e.w: 0 is none of them"),
        ("r", [True, False], "e.r: True is not a number"),
    ],
)
def test_of_a_column_the_value_that_does_not_fit_is_named(plain, name, values, message):
    forms = [values]
    if all(abs(v) < 1e300 or v != v or v == math.inf for v in values if not isinstance(v, str)):
        forms.append(np.array(values))
    for form in forms:
        with pytest.raises(ValueError, match=r".") as caught:
            plain.sweep({name: form})
        assert message in str(caught.value).replace("-3.0", "-3").replace("4.0 is", "4 is")
    with pytest.raises(ValueError, match=r".") as caught:
        [plain({name: v}) for v in values]
    assert message in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_infinity_is_taken_where_it_is_meant_and_never_made():
    tera = Scale("TB", "1000000000000")
    params = (
        ParamSpec("x", "real", tera, 0.0),
        ParamSpec("c", "real", default=1.0, low=1.0, high=math.inf, labels=("1", "inf"),
              values=(1.0, math.inf)),
    )  # fmt: skip
    b = GraphBuilder()
    graph = b.finish([(f"{p.name}_out", b.param(p.name)) for p in params])
    spec = Spec("e", params, tuple(OutputSpec(f"{p.name}_out") for p in params))
    evaluator = KernelEvaluator(spec, InterpreterKernel(graph))
    assert evaluator(x=math.inf, c=math.inf)["c_out"] == math.inf
    assert evaluator.sweep(x=[math.inf, 1.0], c=[1.0, math.inf]).c_out.tolist() == [
        [1.0, math.inf], [1.0, math.inf],
    ]  # fmt: skip
    for given in (1e300, [1.0, 1e300], np.array([-1e300, 1.0])):
        with pytest.raises(ValueError, match="beyond what a float64 holds"):
            evaluator.sweep(x=given)
    with pytest.raises(ValueError, match="beyond what a float64 holds"):
        evaluator(x=1e300)


def test_an_unbounded_whole_number_is_not_infinite():
    b = GraphBuilder()
    kernel = InterpreterKernel(b.finish([("y", b.param("n", INT))]))
    evaluator = KernelEvaluator(Spec("e", (ParamSpec("n", "int"),), (OutputSpec("y"),)), kernel)
    for given in (math.inf, -math.inf):
        with pytest.raises(ValueError, match=r"e\.n: -?inf is not whole"):
            evaluator(n=given)
        with pytest.raises(ValueError, match=r"e\.n: -?inf is not whole"):
            evaluator.sweep(n=np.array([1.0, given]))


def test_numbers_in_bulk_are_not_looked_at_one_by_one(plain, monkeypatch):
    """A million design points of ints, choices and bools are a matter of vectors."""

    def slow(*_):
        raise AssertionError("one by one")

    monkeypatch.setattr(KernelEvaluator, "base", slow)
    monkeypatch.setattr(ParamSpec, "show", slow)
    for name, values in {"n": [1, 2], "c": [1.0, 4.0], "b": [True, False], "r": [1, 2]}.items():
        assert plain.sweep({name: np.array(values)})[name].tolist() == values
        assert plain.sweep({name: values})[name].tolist() == values


@pytest.fixture(scope="module")
def namesakes():
    """An evaluator whose params are called as options, arguments and words of Python are."""
    names = ["threads", "mode", "progress", "zipped", "at", "size", "lambda"]
    b = GraphBuilder()
    params = [b.param(name) for name in names]
    outputs = ["__init__", "class", "params", "total", "__dict__"]
    total = functools.reduce(lambda x, y: b.op("add", x, y), params)
    spec = Spec(
        "class", tuple(ParamSpec(n, default=1.0, low=0.0, high=9.0) for n in names),
        tuple(OutputSpec(n) for n in outputs),
    )  # fmt: skip
    return KernelEvaluator(spec, InterpreterKernel(b.finish([(n, total) for n in outputs])))


@pytest.mark.parametrize("name", ["threads", "mode", "progress", "zipped"])
def test_a_param_called_as_an_option_is_never_taken_for_it(namesakes, name):
    with pytest.raises(ValueError, match=rf"{name} is a param of class and an option of sweep"):
        namesakes.sweep(**{name: [1, 2, 4]})
    swept = namesakes.sweep({name: [1, 2, 4]}, size=[3, 4])
    assert swept.shape == (3, 2)
    assert swept[name][:, 0].tolist() == [1, 2, 4]
    assert swept["total"].tolist() == [[9, 10], [10, 11], [12, 13]]
    assert namesakes(**{name: 3}).total == namesakes({name: 3}).total == 9


def test_beside_its_namesake_an_option_is_an_option(namesakes):
    swept = namesakes.sweep({"mode": [1, 2], "zipped": [3, 4], "lambda": 2}, mode="zip", size=5)
    assert swept["total"].tolist() == [14, 16]
    seen = []
    swept = namesakes.sweep(
        {"progress": 2, "threads": [1, 2]}, progress=lambda *x: seen.append(x), threads=1
    )
    assert (seen, swept["total"].tolist()) == ([(2, 2)], [8, 9])
    together = namesakes.sweep({"zipped": 2}, zipped={"mode": [1, 2], "threads": [3, 4]}, threads=2)
    assert together["total"].tolist() == [10, 12]
    parts = list(namesakes.iter_chunks(2, {"size": [1, 2, 3], "at": 1}))
    assert [len(p) for p in parts] == [2, 1]


def test_params_are_given_once_and_by_name(namesakes):
    with pytest.raises(ValueError, match=r"class\.size is given twice"):
        namesakes({"size": 2}, size=3)
    with pytest.raises(ValueError, match=r"class\.size is given twice"):
        namesakes.sweep({"zipped": 1}, zipped={"size": [2, 3]}, size=3)
    with pytest.raises(TypeError, match="class: params are given by name, not as 3"):
        namesakes(3)


def test_outputs_may_be_called_as_attributes_are(namesakes):
    result = namesakes(size=2)
    assert [result[n] for n in ("__init__", "class", "params", "__dict__")] == [8, 8, 8, 8]
    assert result.params["size"] == 2
    with pytest.raises(KeyError, match="class has no output __len__"):
        result["__len__"]
    assert "__init__=8" in repr(result)


def test_the_stub_of_any_names_is_python_that_types(namesakes, tmp_path):
    vector = Spec("__dict__", (ParamSpec("x"),), (OutputSpec("None.a"), OutputSpec("feasible.b")))
    text = stub([namesakes.spec, SPEC, vector])
    (tmp_path / "kernels.pyi").write_text(text)
    (tmp_path / "use.py").write_text(
        "import kernels\n"
        "reveal_type(kernels.machine({'chips': 3}).time)\n"
        "reveal_type(kernels.machine(chips=3, memory='HBM3').kind)\n"
        "reveal_type(kernels.machine.sweep({'chips': [1, 2]}, threads=2)[0])\n"
        "kernels.machine(chips=[1])\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
         "--no-error-summary", "use.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    assert [line for line in found.splitlines() if "error" in line and "use.py:5" not in line] == []
    assert "use.py:5: error" in found
    assert 'Revealed type is "float"' in found


def test_infinities_are_defaults_bounds_and_alternatives():
    """Written they are kept; as values they are themselves, one by one and in columns."""
    inf = math.inf
    params = (
        ParamSpec("x", default=inf),
        ParamSpec("c", default=inf, low=1.0, high=inf, labels=("1", "inf"), values=(1.0, inf)),
        ParamSpec("d", default=-inf, low=-inf, high=1.0, labels=("-inf", "1"), values=(-inf, 1.0)),
    )
    spec = Spec("e", params, tuple(OutputSpec(f"{p.name}_out") for p in params))
    assert again(spec) == spec
    b = GraphBuilder()
    kernel = InterpreterKernel(b.finish([(f"{p.name}_out", b.param(p.name)) for p in params]))
    e = KernelEvaluator(again(spec), kernel)
    assert [e().x_out, e().c_out, e().d_out] == [inf, inf, -inf]
    for given in ({"c": inf}, {"c": "inf"}, {"c": 1}, {"d": -inf}, {"d": "1"}, {"x": -inf}):
        (name,) = given
        swept = e.sweep({name: [given[name], given[name]]})[f"{name}_out"].tolist()
        assert swept == [e(given)[f"{name}_out"]] * 2 == [float(given[name])] * 2
    for wrong in ({"c": -inf}, {"c": 2.0}, {"d": inf}):
        with pytest.raises(ValueError, match="is none of them"):
            e(wrong)
        (name,) = wrong
        with pytest.raises(ValueError, match="is none of them"):
            e.sweep({name: [wrong[name], wrong[name]]})
