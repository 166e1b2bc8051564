"""What a user holds in Python: values in, values out, derivatives, derivations, imports."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.measure.measurements import read_table
from hwdsl.semantics.evaluators import RESULT_ATTRIBUTES

TEXT = """edition 2026
#! A stream through a link.

enum mode { slow, quick }

kind link {
    rate : bandwidth
}

link narrow {
    rate = 100 GB/s
}

link wide : narrow {
    rate = 400 GB/s
}

## How long it takes.
evaluator stream {
    ## What is sent.
    param  size  : data = 8 GB in 1 GB .. 1 TB
    param  share : real = 50 % in 1 % .. 100 %
    param  hops  : int  = 2 in 1 .. 4
    choice way   : mode in [slow, quick] = quick
    choice over  : link in [narrow, wide]
    choice lanes : int in [1, 2, 8]

    let rate = over.rate * share * lanes
    let step = size / rate

    output latency in ms = hops * step * (match way {
        slow  => 2
        quick => 1
    })
    output rates in GB/s = rate

    require soon: hops * step <= 1 s
        else "{hops * step in ms} is too long"
    warn thin: lanes > 1
}
"""


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path = tmp_path_factory.mktemp("stream") / "stream.hw"
    path.write_text(TEXT)
    module = hwdsl.load(path)
    assert module.doc == "A stream through a link."
    assert not module.diagnostics.items
    return module.stream


def test_defaults_and_units(stream: hwdsl.Evaluator) -> None:
    result = stream()
    assert result.latency == pytest.approx(320.0)  # 2 * 8 GB / (100 GB/s * 50 %)
    assert result.rates == pytest.approx(50.0)
    assert result.feasible
    assert [name.rpartition(".")[2] for name in result.violations] == ["thin"]


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({"size": "16 GB"}, {"size": 16}),
        ({"size": "0.016 TB"}, {"size": 16}),
        ({"size": "128 Gb"}, {"size": 16}),
        ({"share": "25"}, {"share": 25}),
        ({"share": "25 %"}, {"share": 25}),
        ({"way": "slow"}, {"way": "slow", "hops": "2"}),
        ({"lanes": "8"}, {"lanes": 8}),
    ],
)
def test_texts_and_numbers_mean_the_same(
    stream: hwdsl.Evaluator, given: dict[str, object], same: dict[str, object]
) -> None:
    assert stream(**given).latency == stream(**same).latency


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size": "3 s"}, ["size", "data"]),
        ({"size": "3 GBps"}, ["size", "GBps"]),
        ({"size": "much"}, ["size", "much"]),
        ({"size": 1e9}, ["size", "out of range", "GB"]),
        ({"sise": 3}, ["sise", "size"]),
        ({"hops": 1.5}, ["hops", "whole"]),
        ({"way": "odd"}, ["way", "slow, quick"]),
        ({"over": 7}, ["over", "narrow, wide"]),
        ({"lanes": 3}, ["lanes", "1, 2, 8"]),
        ({"size": None}, ["size"]),
        ({"size": "1e999 GB"}, ["size"]),
        ({"size": math.nan}, ["size"]),
    ],
)
def test_what_does_not_fit_is_a_value_error_that_says_why(
    stream: hwdsl.Evaluator, given: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are checked below
        stream(**given)
    for word in words:
        assert word in str(caught.value)


def test_a_broken_rule_has_a_message_with_numbers(stream: hwdsl.Evaluator) -> None:
    result = stream(size="100 GB")
    assert not result.feasible
    messages = {n.rpartition(".")[2]: m for n, m, _ in stream.violated_rules(size="100 GB")}
    assert "4,000 ms is too long" in messages["soon"]


@pytest.fixture(scope="module")
def namesakes(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    """An evaluator whose params and outputs are called as arguments of its methods."""
    path = tmp_path_factory.mktemp("names") / "names.hw"
    names = ["wrt", "seed", "output", "outputs", "points", "given", "threads"]
    params = "".join(f"    param {n} : real = 1 in 0 .. 9 ~ uniform(0, 9)\n" for n in names)
    path.write_text(
        f"edition 2026\nuse std.distributions: uniform\nevaluator class {{\n{params}"
        f"    output __init__ = {' + '.join(names)}\n    output params = 2 * wrt\n}}\n"
    )
    return hwdsl.load(path, compiled=False).evaluators["class"]


@pytest.mark.parametrize("name", ["wrt", "seed", "output", "outputs", "points", "given"])
def test_every_method_takes_params_of_any_name(namesakes: hwdsl.Evaluator, name: str) -> None:
    at = {name: 3}
    assert namesakes(at)["__init__"] == 9
    assert (
        namesakes.gradient("params", at, wrt=["wrt"] if name == "wrt" else None)["params"]["wrt"]
        == 2
    )
    assert namesakes.elasticity("__init__", at)[name] == pytest.approx(3 / 9)
    assert namesakes.why("__init__", at).value == 9
    assert namesakes.derivations(["__init__"], at)["__init__"].value == 9
    assert namesakes.violated_rules(at) == []
    drawn = namesakes.sample(50, at)
    assert set(drawn.drawn) == {p.name for p in namesakes.spec.params} - {name}


@pytest.mark.parametrize(
    ("method", "name"),
    [("gradient", "wrt"), ("elasticity", "wrt"), ("sample", "seed"), ("sample", "threads")],
)
def test_a_keyword_that_is_an_option_and_a_param_is_refused(
    namesakes: hwdsl.Evaluator, method: str, name: str
) -> None:
    first = 10 if method == "sample" else "__init__"
    with pytest.raises(ValueError, match=rf"{name} is a param of class and an option of {method}"):
        getattr(namesakes, method)(first, **{name: 2})


def test_run_takes_names_of_any_kind(
    namesakes: hwdsl.Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    file = namesakes.info.decl.span.source.name
    assert main(["run", f"{file}:class", "wrt=2", "output=3"]) == 0
    assert "__init__ 10" in " ".join(capsys.readouterr().out.split())
    assert main(["compile", file, "-o", str(Path(file).parent)]) == 0


def test_a_sweep_is_the_calls(stream: hwdsl.Evaluator) -> None:
    sweep = stream.sweep(size=[1, 2, 4], way=["slow", "quick"], over=["narrow", "wide"])
    assert sweep.shape == (3, 2, 2)
    for i, size in enumerate([1, 2, 4]):
        for j, way in enumerate(["slow", "quick"]):
            for k, over in enumerate(["narrow", "wide"]):
                one = stream(size=size, way=way, over=over)
                assert sweep["latency"][i, j, k] == one.latency


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..4 GB:4", [1, 2, 3, 4]),
        ("1 .. 2 GB step 500 MB", [1, 1.5, 2]),
        ("1 .. 2.2 GB step 0.5", [1, 1.5, 2]),
        ("1000 MB, 0.002 TB", [1, 2]),
    ],
)
def test_python_sweeps_texts_as_the_command_line_does(
    stream: hwdsl.Evaluator, text: str, values: list[float]
) -> None:
    assert stream.sweep(size=text).size.tolist() == pytest.approx(values)
    assert stream.plan(size=text).points == len(values)


def test_whole_numbers_and_cases_are_swept_by_text(stream: hwdsl.Evaluator) -> None:
    assert stream.sweep(hops="1..4").hops.tolist() == [1, 2, 3, 4]
    assert stream.sweep(hops="1..4 step 2").hops.tolist() == [1, 3]
    assert stream.sweep(way="all", over="all").shape == (2, 2)
    together = stream.sweep(zipped={"size": "1..3 GB:3", "hops": "1..3"})
    assert together.shape == (3,)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("size", "1..2 GB", "as `1..2 GB:5`, or their step"),
        ("size", "2..1 GB step 1 GB", "do not lead"),
        ("size", "1..2 GB step 1 s", "time"),
        ("size", "1..2 s:3", "time"),
        ("way", "1..2:3", "slow, quick"),
        ("hops", "1..4:3", "whole numbers"),
    ],
)
def test_ranges_that_are_none(stream: hwdsl.Evaluator, name: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        stream.sweep(**{name: text})


@pytest.mark.parametrize("high", [0.3, 0.6, 1.2])
def test_an_end_that_is_rounded_in_its_unit_is_the_end(tmp_path: Path, high: float) -> None:
    """Sweeps and figures go to the ends of a range; what lies beyond by more is refused."""
    path = tmp_path / "bill.hw"
    path.write_text(
        "edition 2026\nevaluator bill {\n    ## Price.\n"
        f"    param price : energy_price = 0.1 USD/kWh in 0.03 USD/kWh .. {high} USD/kWh\n"
        "    output rate in USD/h = 10 kW * price\n}\n"
        "figure rates {\n    of = bill\n    x  = price\n    y  = rate\n}\n"
    )
    bill = hwdsl.load(path).bill
    end = bill(price=f"{high} USD/kWh").rate
    assert bill.sweep(price=f"0.03..{high} USD/kWh:10").rate[-1] == end
    shown = bill.spec.params[0].scale.from_base(bill.spec.params[0].high)
    assert bill(price=shown).rate == bill(price=f"{shown!r} USD/kWh").rate == end
    assert main(["report", str(path), "-o", str(tmp_path / "page")]) == 0
    for beyond in (high * (1 + 1e-9), [high, high * (1 + 1e-9)]):
        with pytest.raises(ValueError, match="out of range"):
            bill.sweep(price=beyond)


class Quantity:
    """As much of a quantity of pint as is used."""

    def __init__(self, magnitude: float, units: str) -> None:
        self.magnitude, self.units = magnitude, Units(units)

    def to_base_units(self) -> None:
        raise NotImplementedError


class Units(str):
    def __format__(self, spec: str) -> str:
        assert spec == "~C"
        return str(self)


def test_quantities_of_pint_are_converted(stream: hwdsl.Evaluator) -> None:
    assert stream(size=Quantity(0.016, "TB")).latency == stream(size=16).latency
    micro = Quantity(1.6e16, "\u00b5B")
    with pytest.raises(ValueError, match="uB"):  # bytes have no such prefix, but it was understood
        stream(size=micro)
    swept = stream.sweep(size=[Quantity(16, "GB"), Quantity(8000, "MB")])
    assert swept.size.tolist() == [16, 8]
    with pytest.raises(ValueError, match="size"):
        stream(size=Quantity(1, "s"))


def test_a_choice_between_numbers_takes_no_others(stream: hwdsl.Evaluator) -> None:
    with pytest.raises(ValueError, match=r"lanes: 4 is none of them; it is one of 1, 2, 8"):
        stream(lanes=4)


def test_kernel_and_interpreter_agree(stream: hwdsl.Evaluator) -> None:
    axes = {"size": np.linspace(1, 900, 57), "share": [1, 33, 100], "lanes": [1, 8]}
    ours, theirs = stream.sweep(**axes), stream.interpreted().sweep(**axes)
    for name in ("latency", "rates"):
        assert np.array_equal(ours[name], theirs[name], equal_nan=True)
        assert np.array_equal(ours.raw[name], theirs.raw[name])
    assert np.array_equal(ours.words, theirs.words)


def test_gradient_is_the_slope(stream: hwdsl.Evaluator) -> None:
    slopes = stream.gradient("latency", size=16)["latency"]
    assert set(slopes) == {"size", "share"}
    step = 1e-3
    for name, at in (("size", 16.0), ("share", 50.0)):
        low, high = (stream(**{"size": 16, name: at + s}).latency for s in (-step, step))
        assert slopes[name] == pytest.approx((high - low) / (2 * step), rel=1e-6)


def test_elasticity_of_a_product_of_powers(stream: hwdsl.Evaluator) -> None:
    assert stream.elasticity("latency", wrt=["share", "size"]) == pytest.approx(
        {"share": -1.0, "size": 1.0}
    )
    with pytest.raises(ValueError, match="no real"):
        stream.gradient("latency", wrt="hops")
    with pytest.raises(ValueError, match="latency"):
        stream.elasticity("latancy")


def test_elasticity_of_whole_numbers_is_by_their_neighbours(stream: hwdsl.Evaluator) -> None:
    """`latency` is as hops and as 1 / lanes; the neighbours of 2 lanes are 1 and 8."""
    found = stream.elasticity("latency", hops=3, lanes=2)
    assert list(found) == ["size", "share", "hops", "lanes"]
    assert found["hops"] == pytest.approx(1.0)
    assert found["lanes"] == pytest.approx((1 / 8 - 1) / (8 - 1) * 2 / (1 / 2))
    assert stream.elasticity("rates", hops=4, lanes=8) == pytest.approx(
        {"size": 0.0, "share": 1.0, "hops": 0.0, "lanes": 1.0}
    )
    assert stream.elasticity("latency", wrt="hops", hops=1) == pytest.approx({"hops": 1.0})
    assert stream.elasticity("latency", wrt="lanes") == pytest.approx({"lanes": -0.5})
    with pytest.raises(ValueError, match=r"stream\.way is no real"):
        stream.elasticity("latency", wrt="way")


def test_numbers_beyond_float64_name_their_param(stream: hwdsl.Evaluator) -> None:
    for name in ("size", "hops"):
        for call in (stream, stream.sweep, stream.plan):
            with pytest.raises(ValueError, match=rf"stream\.{name}: the number is beyond what"):
                call(**{name: 10**400})
        with pytest.raises(ValueError, match=rf"stream\.{name}: the number is beyond what"):
            stream.sweep(**{name: [1, 10**400]})
    with pytest.raises(ValueError, match="more than 10,000,000 values of one axis"):
        stream.sweep(size="1..9:99999999999")


def test_why_shows_numbers_units_and_lines(stream: hwdsl.Evaluator) -> None:
    derivation = stream.why("latency", size="16 GB")
    text = str(derivation)
    assert text.splitlines()[0].startswith("latency = 640 ms")
    steps = {line.strip().partition(" = ")[0]: line for line in text.splitlines()}
    assert "320 ms" in steps["step"]
    assert "size / rate" in steps["step"]
    line = TEXT.splitlines().index("    let step = size / rate") + 1
    assert f"stream.hw:{line}" in steps["step"]
    assert "size = 16 GB" in steps["size"]
    assert "50 GB/s" in steps["rate"]


def test_a_wrong_file_shows_its_diagnostics(tmp_path: Path) -> None:
    path = tmp_path / "wrong.hw"
    path.write_text("edition 2026\n\nlet x = 1 m + 1 s\n")
    with pytest.raises(hwdsl.DescriptionError, match="unit-mismatch"):
        hwdsl.load(path)


def test_a_missing_evaluator_is_an_attribute_error(tmp_path: Path) -> None:
    path = tmp_path / "stream.hw"
    path.write_text(TEXT)
    with pytest.raises(AttributeError, match="did you mean `stream`"):
        _ = hwdsl.load(path, compiled=False).steam


def test_without_a_compiler_it_is_interpreted_and_said_once(tmp_path: Path) -> None:
    (tmp_path / "stream.hw").write_text(TEXT)
    code = (
        "import hwdsl\n"
        "for _ in range(2): e = hwdsl.load('stream.hw').stream\n"
        "assert not e.compiled\nprint(e().latency)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"CC": "/no/such/compiler", "HWDSL_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(answer.stdout) == pytest.approx(320.0)
    assert answer.stderr.count("interpreted") == 1


def test_hw_files_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "stream_file.hw").write_text(TEXT)
    (tmp_path / "wrong_file.hw").write_text("edition 2026\nlet x = 1 m + 1 s\n")
    code = (
        "import hwdsl.hook, stream_file\n"
        "assert stream_file.stream(hops=1).latency > 0\n"
        "assert stream_file.__doc__.startswith('A stream')\n"
        "try:\n    import wrong_file\n"
        "except ImportError as error: assert 'unit-mismatch' in str(error)\n"
        "else: raise SystemExit('imported a wrong file')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=True)


def test_a_compiled_module_needs_no_hwdsl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: hwdsl.Evaluator
) -> None:
    if not stream.compiled:
        pytest.skip("nothing is compiled here")
    monkeypatch.chdir(tmp_path)
    Path("stream.hw").write_text(TEXT)
    assert main(["compile", "stream.hw", "-o", "built"]) == 0
    code = (
        "import sys; sys.path.insert(0, 'built'); import stream\n"
        "print(repr(stream.stream(size='16 GB', way='slow').latency))\n"
        "best = stream.stream.reduce(stream.Best(minimize='latency'), size='1..9 GB:9')\n"
        "print(repr(best.latency))\n"
        "assert not any(m.split('.')[0] in ('hwdsl', 'attr', 'lark') for m in sys.modules)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    one, best = map(float, answer.stdout.split())
    assert one == stream(size="16 GB", way="slow").latency
    assert best == stream.reduce(hwdsl.Best(minimize="latency"), size="1..9 GB:9").latency


def test_validate_counts_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stream.hw").write_text(TEXT)
    Path("seen.csv").write_text(
        "# by hand\nnote,size [GB],way,seen [s]\nfirst,8,quick,0.4\nsecond,0.016 T,slow,1.28\n"
    )
    words = ["validate", "stream.hw", "--data", "seen.csv", "--measured", "seen", "--rows"]
    assert main([*words, "--predicted", "latency", "--label", "note"]) == 1
    assert "size" in capsys.readouterr().err
    Path("seen.csv").write_text(
        "# by hand\nnote,size [GB],way,seen [s]\nfirst,8,quick,0.4\nsecond,16,slow,1.28\n"
    )
    assert main([*words, "--predicted", "latency", "--label", "note"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["first"][1:] == ["400", "320", "-20.0", "%"]
    assert rows["second"][1:] == ["1280", "1280", "+0.0", "%"]
    assert rows["all"] == ["all", "2", "10.0", "%", "18.0", "%", "-10.0", "%"]
    assert "agree to the last bit" in out


@pytest.mark.parametrize(
    "text", ["", "a\n", "a,b\n1\n", "a,a\n1,2\n", "a [m\n1\n", ",\n1,2\n", "a\n\x00\n"]
)
def test_tables_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    if text == "a\n\x00\n":
        assert read_table(path).rows == 1
        return
    with pytest.raises(ValueError, match=r"t\.csv"):
        read_table(path)


def test_what_is_imported_late_is_listed() -> None:
    assert {"load", "Evaluator", "__version__"} <= set(dir(hwdsl))


def test_what_is_infinite_has_no_slope(tmp_path: Path) -> None:
    path = tmp_path / "endless.hw"
    path.write_text(
        "edition 2026\n"
        "evaluator endless {\n"
        "    param rate : real = 0 in 0 .. 10\n"
        "    output time = 1 / rate\n"
        "}\n"
    )
    endless = hwdsl.load(path, compiled=False).endless
    assert math.isinf(endless().time)
    assert math.isnan(endless.gradient("time")["time"]["rate"])
    assert math.isnan(endless.elasticity("time")["rate"])
    assert endless.gradient("time", rate=2)["time"]["rate"] == -0.25


def test_a_missing_blank_is_named(tmp_path: Path) -> None:
    path = tmp_path / "one.hw"
    path.write_text(
        "edition 2026\nevaluator one {\n    param rate : bandwidth = 1 TB/s\n"
        "    output out in TB/s = rate\n}\n"
    )
    one = hwdsl.load(path, compiled=False).one
    with pytest.raises(ValueError, match="a blank is missing between number and unit: `4 TB/s`"):
        one(rate="4TB/s")
    assert one(rate="4 TB/s").out == 4


def test_the_checker_knows_what_hides_outputs(stream: hwdsl.Evaluator) -> None:
    offered = {name for name in dir(hwdsl.api.evaluator.Result) if not name.startswith("_")}
    assert offered == {*RESULT_ATTRIBUTES, "feasible", "violations"}
