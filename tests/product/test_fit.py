"""Fits: known coefficients come back, intervals cover them, what is ill-posed is said."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.codegen.runtime import Floats
from hwdsl.measure import fit
from hwdsl.measure.measurements import MeasurementTable, read_table

pytest.importorskip("scipy")

TEXT = """edition 2026
#! A transfer over a link.

## Share of the link's rate
## that is "got".
calibrated share : real = 0.7 in 0.1 .. 1 source "a guess"

## Before the first byte.
calibrated start : time = 20 us in 0 us .. 100 us source "a guess"
calibrated other : real = 2 in 0 .. 3 source "nothing"
calibrated half  : real = 1 source "nothing"

evaluator link {
    param size : data      = 1 MB     in 1 B .. 1 TB
    param rate : bandwidth = 100 GB/s in 1 GB/s .. 1 TB/s

    output latency in us   = start + size / (share * rate)
    output pace    in GB/s = size / latency
    output mixed   in us   = 1 us * other * half * size / 1 MB
}

evaluator bare {
    param x : real = 1

    output y = x
}
"""
SIZES = (0.1, 1, 3, 10, 30)
RATES = {"a": 100, "b": 200, "c": 400}
SHARE, START = 0.83, 12.0

Case = tuple[hwdsl.Module, MeasurementTable]


def seconds(size: Floats, rate: Floats) -> Floats:
    """Microseconds by the formula above, at the coefficients to be found."""
    return np.asarray(START + size * 1e6 / (SHARE * rate * 1e9) * 1e6)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path = tmp_path_factory.mktemp("fit") / "link.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., MeasurementTable]:
    """A table of 15 rows; `change` makes what was measured from what is true."""

    def make(
        change: Callable[[Floats], Floats] = lambda true: true, of: str = "latency [us]"
    ) -> MeasurementTable:
        rows = [(m, s, r) for m, r in RATES.items() for s in SIZES]
        true = seconds(np.array([r[1] for r in rows]), np.array([float(r[2]) for r in rows]))
        lines = [f"machine,size [MB],rate [GB/s],{of}"]
        lines += [
            f"{m},{s},{r},{v!r}" for (m, s, r), v in zip(rows, change(true).tolist(), strict=True)
        ]
        path = tmp_path / "seen.csv"
        path.write_text("\n".join(lines) + "\n")
        return read_table(path)

    return make


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("of", ["latency [us]", "latency [ms]", "pace [GB/s]"])
def test_known_coefficients_come_back(
    module: hwdsl.Module, table: Callable[..., MeasurementTable], of: str, relative: bool
) -> None:
    sizes = np.tile(SIZES, 3)
    change = {"latency [us]": lambda t: t, "latency [ms]": lambda t: t / 1000,
              "pace [GB/s]": lambda t: sizes * 1e-3 / t * 1e6}[of]  # fmt: skip
    problem = fit.prepare(module, "link", table(change, of), relative=relative)
    assert [c.name for c in problem.coefficients] == ["share", "start"]
    assert problem.unused == ("other", "half")
    found = fit.fit(problem)
    assert found.values == pytest.approx([SHARE, START * 1e-6], rel=1e-6)
    assert found.notes == ()
    assert np.abs(found.errors).max() < 1e-6
    assert found.low == pytest.approx(found.values, rel=1e-4)


def test_slopes_are_those_of_the_errors(
    module: hwdsl.Module, table: Callable[..., MeasurementTable]
) -> None:
    for relative in (True, False):
        problem = fit.prepare(module, "link", table(), relative=relative)
        _, slopes = problem.evaluate(problem.start)
        for i, value in enumerate(problem.start):
            step = np.zeros(2)
            step[i] = value * 1e-5
            up, down = (problem.evaluate(problem.start + s)[0] for s in (step, -step))
            assert slopes[..., i] == pytest.approx((up - down) / (2 * step[i]), rel=1e-6)


@pytest.mark.parametrize("relative", [True, False])
def test_a_linear_fit_is_the_one_in_closed_form(
    module: hwdsl.Module, table: Callable[..., MeasurementTable], relative: bool
) -> None:
    """`latency` is linear in `start` and in 1 / share: the normal equations give both."""
    noise = np.random.default_rng(5).normal(size=15)
    seen = table(lambda t: t * (1 + 0.05 * noise))
    found = fit.fit(fit.prepare(module, "link", seen, relative=relative))
    times = np.array([float(c) for c in seen.column("latency").cells])
    size, rate = (np.array([float(c) for c in seen.column(n).cells]) for n in ("size", "rate"))
    weight = 1 / times if relative else np.ones(15)
    design = np.stack([np.ones(15), size / rate * 1e3], axis=1) * weight[:, None]
    exact, squares, _, _ = np.linalg.lstsq(design, times * weight, rcond=None)
    assert found.values == pytest.approx([1 / exact[1], exact[0] * 1e-6], rel=1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * squares[0] / 13)
    t = 2.160369  # 97.5 % of Student's t with 13 degrees of freedom
    half = [t * errors[1] * found.values[0] ** 2, t * errors[0] * 1e-6]
    assert found.high - found.values == pytest.approx(half, rel=1e-5)
    assert found.values - found.low == pytest.approx(half, rel=1e-5)
    moves = np.array([[0, -(found.values[0] ** 2)], [1e-6, 0]])  # of share and start with the two
    exact_covariance = moves @ np.linalg.inv(design.T @ design) @ moves.T * squares[0] / 13
    assert found.covariance == pytest.approx(exact_covariance, rel=1e-5)


def test_intervals_cover_what_is_true(
    module: hwdsl.Module, table: Callable[..., MeasurementTable]
) -> None:
    """Of 200 fits to noisy rows 95 % of the intervals hold the truth: 190, give or take three s."""
    stream = np.random.default_rng(11)
    covered = np.zeros(2)
    for _ in range(200):
        seen = table(lambda t: t * (1 + 0.02 * stream.normal(size=15)))
        found = fit.fit(fit.prepare(module, "link", seen))
        truth = np.array([SHARE, START * 1e-6])
        covered += (found.low <= truth) & (truth <= found.high)
    assert np.all((covered >= 181) & (covered <= 199)), covered


def test_what_the_rows_do_not_tell_is_said(
    module: hwdsl.Module, table: Callable[..., MeasurementTable]
) -> None:
    problem = fit.prepare(module, "link", table(lambda t: t * 0 + 3, "mixed [us]"))
    found = fit.fit(problem)
    assert found.notes == ("the rows do not tell other and half apart: no intervals",)
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    seen = table()
    few = fit.fit(fit.prepare(module, "link", seen), np.arange(15) < 2)
    assert few.notes == ("2 measurements for 2 coefficients: no intervals",)
    flat = np.array([c == "0.1" for c in seen.column("size").cells])
    same = fit.fit(fit.prepare(module, "link", seen), flat & (np.arange(15) < 1))
    assert same.notes == ("the rows do not tell share and start apart: no intervals",)


def test_a_coefficient_at_its_bound_is_said(
    module: hwdsl.Module, table: Callable[..., MeasurementTable]
) -> None:
    """Rows without a start leave nothing for it: its bound is 0."""
    found = fit.fit(fit.prepare(module, "link", table(lambda t: t - START - 0.05)))
    assert found.notes == ("held at a bound, where the fit would leave it: start 0 us",)
    assert found.values[1] == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(found.low[1])
    assert found.low[0] < found.values[0] < found.high[0]
    assert np.isfinite(found.covariance).tolist() == [[True, False], [False, False]]


def test_a_group_held_out_is_scored_by_a_fit_of_the_others(
    module: hwdsl.Module, table: Callable[..., MeasurementTable]
) -> None:
    slow = np.repeat([1.0, 1.0, 1.5], 5)
    problem = fit.prepare(module, "link", table(lambda t: t * slow))
    folds = {name: (held, found) for name, held, found in fit.cross_validate(problem, "machine")}
    assert list(folds) == ["a", "b", "c"]
    held, found = folds["c"]
    assert held.tolist() == [False] * 10 + [True] * 5
    assert found.values == pytest.approx([SHARE, START * 1e-6], rel=1e-6)
    assert found.of(0, held).relative == pytest.approx([1 / 1.5 - 1] * 5)
    assert found.of(0, held).bias == pytest.approx(1 / 1.5 - 1)
    assert found.of(0, ~held).median < 1e-6
    assert folds["a"][1].of(0, folds["a"][0]).median > 0.05


def test_what_no_row_of_a_fold_depends_on_keeps_its_value(tmp_path: Path) -> None:
    """Each site has a share of its own: without its rows nothing is known of it."""
    (tmp_path / "two.hw").write_text("""edition 2026
calibrated here  : real = 0.31 in 0.1 .. 1 source "a guess"
calibrated there : real = 0.7  in 0.1 .. 1 source "a guess"

evaluator two {
    param size : real = 1
    choice at_home : bool in [false, true] = true

    output spent = size / (if at_home then here else there)
}
""")
    (tmp_path / "seen.csv").write_text(
        "size,at_home,spent\n1,true,2\n2,true,4\n1,false,5\n3,false,15\n"
    )
    module = hwdsl.load(tmp_path / "two.hw", compiled=False)
    problem = fit.prepare(module, "two", read_table(tmp_path / "seen.csv"))
    for name, _, found in fit.cross_validate(problem, "at_home"):
        assert found.values == pytest.approx([0.31, 0.2] if name == "true" else [0.5, 0.7])
        kept = {"true": "here", "false": "there"}[name]
        assert found.notes == (f"no row of the fit depends on {kept}: kept as declared",)
        assert np.isnan(found.low[["here", "there"].index(kept)])


def test_what_was_found_is_a_file(
    module: hwdsl.Module, table: Callable[..., MeasurementTable], tmp_path: Path
) -> None:
    noise = np.random.default_rng(3).normal(size=15)
    found = fit.fit(fit.prepare(module, "link", table(lambda t: t * (1 + 0.02 * noise))))
    text = fit.to_source(found, module)
    assert '## Share of the link\'s rate\n## that is "got".\ncalibrated share : real = 0.8' in text
    assert 'in 0 us .. 100 us source (\n    "seen.csv (sha256 ' in text
    assert "95 % interval" in text
    (tmp_path / "fitted.hw").write_text(text)
    assert main(["check", "--warnings", str(tmp_path / "fitted.hw")]) == 0
    assert main(["fmt", "--check", str(tmp_path / "fitted.hw")]) == 0
    changed = TEXT
    for name in ("share", "start"):
        old = next(x for x in TEXT.splitlines() if x.startswith(f"calibrated {name}"))
        new = text[text.index(f"calibrated {name}") :].partition("\n\n")[0]
        changed = changed.replace(old, new)
    (tmp_path / "link.hw").write_text(changed)
    again = fit.fit(fit.prepare(hwdsl.load(tmp_path / "link.hw", compiled=False), "link",
                                found.problem.table))  # fmt: skip
    assert again.problem.start == pytest.approx(found.values, rel=1e-5)
    assert again.values == pytest.approx(found.values, rel=1e-6)


@pytest.fixture
def folder(
    tmp_path: Path, table: Callable[..., MeasurementTable], monkeypatch: pytest.MonkeyPatch
) -> Path:
    table(lambda t: t * (1 + 0.02 * np.random.default_rng(3).normal(size=15)))
    (tmp_path / "link.hw").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_prints_estimates_errors_and_groups(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", "link.hw:link", "seen.csv", "--group", "machine", "--hold-out", "machine"]
    assert main([*words, "-o", "fitted.hw", "start", "share"]) == 0
    out = capsys.readouterr().out
    problem = fit.prepare(
        hwdsl.load("link.hw", compiled=False), "link", read_table(Path("seen.csv"))
    )
    found = fit.fit(problem)
    lines = [line.split() for line in out.splitlines()]
    assert ["start", "20", "us", f"{found.values[1] * 1e6:.6g}", "us"] in [x[:5] for x in lines]
    fitted = next(x for x in lines if x[:2] == ["latency,", "fitted"])
    assert fitted[2:4] == ["15", f"{100 * found.of(0).median:.1f}"]
    assert [x[1] for x in lines if x[:1] == ["machine"]] == ["a", "b", "c"]
    folds = fit.cross_validate(problem, "machine")
    for name, held, one in folds:
        before = 100 * np.median(np.abs(problem.evaluate(problem.start)[0][0][held]))
        line = next(x for x in lines if x[:1] == [name])
        assert line[1:3] == ["5", f"{before:.1f}"]  # as declared
        assert line[8] == f"{100 * one.of(0, held).median:.1f}"
        assert len(line) == 14  # no baseline
    assert "kept" not in out
    assert (folder / "fitted.hw").read_text() == fit.to_source(
        found, module=hwdsl.load("link.hw", compiled=False)
    )
    assert main(["fit", "link.hw:link", "seen.csv", "share", "--absolute"]) == 0
    out = capsys.readouterr().out
    assert "absolute errors" in out
    assert next(x for x in out.splitlines() if "latency, fitted" in x).count(" us") == 3


FLAT = """
calibrated flat : real = 0.5 in 0.01 .. 1 source "a guess"

evaluator thumb {
    param size : data      = 1 MB     in 1 B .. 1 TB
    param rate : bandwidth = 100 GB/s in 1 GB/s .. 1 TB/s

    output latency in us = start + size / (share * rate)
    output bare    in us = size / (flat * rate)
    output ideal   in us = size / rate
}

table seen {
    of       = thumb
    data     = "seen.csv"
    measured = "latency"
    output   = latency
    baseline = bare
}
"""


def test_the_baseline_is_fitted_to_the_same_folds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a = size / (rate time) its one coefficient is sum a^2 / sum a."""
    Path("thumb.hw").write_text(TEXT + FLAT)
    words = ["fit", "thumb.hw:thumb", "seen.csv", "--measured", "latency=latency"]
    assert main([*words, "--hold-out", "machine", "start", "share"]) == 0
    lines = {x.split()[0]: x.split() for x in capsys.readouterr().out.splitlines() if x}
    seen = read_table(Path("seen.csv"))
    size, rate, time = (
        np.array([float(c) for c in seen.column(n).cells]) for n in ("size", "rate", "latency")
    )
    machine = np.array(seen.column("machine").cells)
    ideal = size / rate * 1e3 / time
    every = []
    for name in "abc":
        held = machine == name
        slower = ideal[~held].sum() / (ideal[~held] ** 2).sum()
        errors = slower * ideal[held] - 1
        every.append(errors)
        assert lines[name][14] == f"{100 * np.median(np.abs(errors)):.1f}"
        assert lines[name][16] == f"{100 * np.quantile(np.abs(errors), 0.9):.1f}"
        assert lines[name][18] == f"{100 * errors.mean():+.1f}"
    assert lines["all"][14] == f"{100 * np.median(np.abs(np.concatenate(every))):.1f}"
    assert main([*words, "--hold-out", "machine", "--baseline", "ideal", "start", "share"]) == 0
    out = capsys.readouterr().out
    assert "ideal, as declared: median" in out
    kept = next(x.split() for x in out.splitlines() if x.startswith("a "))
    assert kept[14] == f"{100 * np.median(np.abs(ideal[machine == 'a'] - 1)):.1f}"
    assert main([*words, "--hold-out", "machine", "--baseline", "none"]) == 1
    assert "has no output none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["link.hw", "seen.csv"], 2, "has several evaluators"),
        (["link.hw:link", "none.csv"], 2, "cannot read none.csv"),
        (["link.hw:bare", "seen.csv"], 1, "no column of seen.csv is an output of bare: y"),
        (["link.hw:link", "seen.csv", "shar"], 1, "did you mean `share`?"),
        (["link.hw:link", "seen.csv", "other"], 1, "no row of seen.csv depends on any of other"),
        (["link.hw:link", "seen.csv", "--measured", "latency"], 2, "is not of the form"),
        (["link.hw:link", "seen.csv", "--measured", "lat=latency"], 1, "it has latency, pace"),
        (["link.hw:link", "seen.csv", "--measured", "pace=latency"], 1, "data/time is wanted"),
        (["link.hw:link", "seen.csv", "--group", "maker"], 1, "has no column maker"),
        (["link.hw:link", "one.csv", "--hold-out", "machine"], 1, "holds one group only"),
        (["link.hw:link", "zero.csv"], 1, "a measured 0 has no relative error"),
        (["link.hw:bare", "bare.csv"], 1, "bare reads no `calibrated` coefficient"),
        (["link.hw:link", "odd.csv"], 1, "row 2 of odd.csv: column latency: `3 GB` is data"),
    ],
)
def test_what_cannot_be_fitted_is_said(
    folder: Path, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "machine,size [MB],latency [us]\n"
    Path("zero.csv").write_text(f"{head}a,1,0\na,2,3\n")
    Path("one.csv").write_text(f"{head}a,1,30\na,2,50\na,3,70\n")
    Path("odd.csv").write_text("machine,size [MB],latency\na,1,30 us\na,2,3 GB\n")
    Path("bare.csv").write_text("x,y\n1,2\n2,3\n")
    assert main(["fit", *words]) == code
    assert said in capsys.readouterr().err


def test_a_misspelt_header_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", "link.hw:link", "seen.csv", "--group", "machine"]
    assert main(words) == 0
    assert "not read" not in capsys.readouterr().out
    Path("seen.csv").write_text(Path("seen.csv").read_text().replace("rate [", "rates ["))
    assert main(words) == 0
    said = "columns not read: rates; params at their defaults: rate"
    assert said in capsys.readouterr().out.splitlines()


def test_without_scipy_the_remedy_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert main(["fit", "link.hw:link", "seen.csv"]) == 2
    assert "pip install 'hwdsl[fit]'" in capsys.readouterr().err


def test_a_coefficient_without_literal_unit_is_in_one_of_its_type(tmp_path: Path) -> None:
    file = tmp_path / "sums.hw"
    file.write_text(
        "edition 2026\n"
        'calibrated a : time = 2 * (3 s) source "a guess"\n'
        'calibrated b : time = 2 * (3 s) in 1 ms .. 9 s source "a guess"\n'
        'calibrated c : real = 1 s / 2 s source "a guess"\n'
        "evaluator e {\n    param x : real = 1\n    output o in s = a + b * c * x\n}\n"
    )
    module = hwdsl.load(file, compiled=False)
    (tmp_path / "seen.csv").write_text("x,o [s]\n1,5\n2,8\n3,11\n4,14\n")
    found = fit.prepare(module, "e", read_table(tmp_path / "seen.csv"))
    shown = {c.name: fit.shown(c, 6.0) for c in found.coefficients}
    assert {name.rpartition(".")[2]: text for name, text in shown.items()} == {
        "a": "6 s",
        "b": "6 s",
        "c": "6",
    }
