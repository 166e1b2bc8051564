"""Figures and tables that a file declares, printed and drawn."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.measure.validate import Validation, validate, validation_requests
from hwdsl.show import plots
from hwdsl.show.figure_data import FigureData, displays, plain
from hwdsl.show.int_axis import LeftOut
from hwdsl.show.report import markdown, pages

HEAD = """edition 2026
#! What limits <decoding>.

enum style { fp16, fp8 }

evaluator decode {
    ## Rate of the memory. Not its peak.
    param bandwidth : bandwidth = 3.35 TB/s in 1 TB/s .. 10 TB/s source "a <sheet>" confidence low
    param batch     : int       = 16        in 1 .. 512
    param open      : real      = 1
    choice format   : style     in [fp16, fp8] = fp16

    let size = match format {
        fp16 => 26 GB
        fp8  => 13 GB
    }
    let bytes = size + batch * 1 GB
    let step  = bytes / (0.8 * bandwidth)

    output step_time  in ms      = step
    output throughput in token/s = batch * 1 token / step
    output parts      in GB      = [size, bytes]

    require fits: bytes <= 80 GB
}
"""
SHOWN = """
## By the memory & its bandwidth.
figure lines {
    of        = decode
    x         = bandwidth
    y         = throughput
    by        = batch
    batch     = [1, 8, 64]
    bandwidth = 2 TB/s .. 4 TB/s
    points    = 5
}

figure bars {
    of = decode
    x  = format
    y  = step_time
}

figure wide {
    of = decode
    x  = batch
    y  = throughput
}

table grid {
    of        = decode
    rows      = [bandwidth, format]
    bandwidth = [2 TB/s, 4 TB/s]
    outputs   = [throughput, parts]
    batch     = 60
}
"""


def loaded(folder: Path, text: str) -> hwdsl.Module:
    path = folder / "decode.hw"
    path.write_text(HEAD + text)
    return hwdsl.load(path, compiled=False)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FigureData]:
    module = loaded(tmp_path_factory.mktemp("report"), SHOWN)
    return {d.name: d for d in displays(module)}


def test_axes_are_as_given_or_over_the_declared_range(shown: dict[str, FigureData]) -> None:
    assert shown["lines"].sweep.shape == (3, 5)
    assert shown["lines"].sweep.bandwidth[0].tolist() == [2, 2.5, 3, 3.5, 4]
    assert shown["bars"].sweep.format.tolist() == ["fp16", "fp8"]
    batch = shown["wide"].sweep.batch
    assert (batch[0], batch[-1]) == (1, 54)  # of 512 the last that fits
    assert len(set(batch.tolist())) == len(batch)


def test_a_table_shows_the_best_of_many_points(tmp_path: Path) -> None:
    rows = "rows = [batch, bandwidth, format]\n batch = 1 .. 512\n points = 300\n of = decode\n"
    module = loaded(
        tmp_path,
        f"""
table best  {{ {rows} minimize = step_time \n top = 3 \n by = format }}
table front {{ {rows} minimize = step_time \n maximize = throughput \n outputs = throughput }}
""",
    )
    best, front = displays(module)
    whole = module.decode.sweep(
        batch=np.unique(np.linspace(1, 512, 300).round()),
        bandwidth=np.linspace(*_ends(module, "bandwidth"), 300),
        format="all",
    )
    assert len(whole) > 100_000  # more than are shown where all are
    expected = whole.pareto(minimize="step_time", maximize="throughput")
    for name in ("throughput", "step_time"):
        shown = np.sort(front.sweep.column(name))
        assert shown == pytest.approx(np.sort(expected.column(name)))
    for kind in ("fp16", "fp8"):
        times = whole.column("step_time")[whole.column("format") == kind]
        mine = best.sweep.column("step_time")[best.sweep.column("format") == kind]
        assert mine == pytest.approx(np.sort(times[np.isfinite(times)])[:3])


def _ends(module: hwdsl.Module, name: str) -> tuple[float, float]:
    param = module.decode.param(name)
    return param.scale.from_base(param.low), param.scale.from_base(param.high)


def test_a_setting_is_never_taken_for_a_param_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "line.hw"
    path.write_text("""edition 2026

evaluator line {
    param x      : real = 1 in 0 .. 4
    param points : int  = 3 in 1 .. 9

    output y = x * points
}

figure shown {
    of     = line
    x      = x
    y      = y
    points = 5
}
""")
    (drawn,) = displays(hwdsl.load(path, compiled=False))
    assert drawn.sweep["y"].tolist() == [0, 3, 6, 9, 12]


NAMED = """edition 2026

evaluator copies {
    param data : data = 1 GB in 1 GB .. 8 GB

    ## By kernels.
    output by_kernels in ms = data / (1 TB/s)
    output by_dma     in ms = data / (2 TB/s)
    output parts      in ms = [data / (1 TB/s), data / (3 TB/s)]
}

figure by_size {
    of      = copies
    x       = data
    y       = [by_kernels, by_dma, parts]
    data    = [1 GB, 2 GB]
    y_label = "time of a copy"
    labels  = ["kernels", "DMA engines", "part"]
}

table sizes {
    of   = copies
    rows = data
}
"""


def test_a_figure_says_what_its_axis_and_its_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "copies.hw"
    path.write_text(NAMED)
    # A figure over a param that is called `data` is no table of measurements.
    figure, table = displays(hwdsl.load(path, compiled=False))
    assert (figure.name, table.name) == ("by_size", "sizes")
    _, module = plots._matplotlib()
    axes = module.Figure().add_subplot()
    plots.draw(figure, axes)
    assert axes.get_ylabel() == "time of a copy [ms]"
    named = [line.get_label() for line in axes.get_lines()]
    assert named == ["kernels", "DMA engines", "part.0", "part.1"]
    assert [line.get_ydata().tolist() for line in axes.get_lines()][:2] == [[1, 2], [0.5, 1]]


def test_what_is_drawn_is_what_was_swept(shown: dict[str, FigureData]) -> None:
    _, module = plots._matplotlib()
    axes = module.Figure().add_subplot()
    plots.draw(shown["lines"], axes)
    *solid, marks = axes.get_lines()
    assert [line.get_label() for line in solid][:2] == ["batch = 1", "batch = 8"]
    assert solid[2].get_label().startswith("_")  # not in the legend
    expected = shown["lines"].sweep.throughput
    for line, values in zip(solid[:2], expected[:2], strict=True):
        assert np.array_equal(line.get_ydata(), values)
    assert np.isnan(solid[2].get_ydata()).all()  # 90 GB do not fit
    assert marks.get_label() == "batch = 64, infeasible"
    assert marks.get_xdata().tolist() == [2, 2.5, 3, 3.5, 4]
    assert marks.get_transform() == axes.get_xaxis_transform()  # a mark at the bottom, no value
    assert axes.get_xlabel() == "Rate of the memory [TB/s]"
    assert axes.get_ylabel() == "Throughput [token/s]"
    axes = module.Figure().add_subplot()
    plots.draw(shown["bars"], axes)
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == shown["bars"].sweep.step_time.tolist()
    axes = module.Figure().add_subplot()
    plots.draw(shown["wide"], axes)
    assert axes.get_xscale() == "log"


def test_long_names_below_bars_do_not_run_into_each_other(tmp_path: Path) -> None:
    names = ["concurrent_streams", "schedule_prioritization", "resource_partitioning", "b", "c_d"]
    text = HEAD.replace("fp16, fp8", f"fp16, fp8, {', '.join(names)}").replace(
        "        fp8  => 13 GB\n", "".join(f"        {n} => 13 GB\n" for n in ["fp8", *names])
    )
    path = tmp_path / "long.hw"
    chosen = f"[{', '.join(names)}]"
    settings = f"of = decode\n x = format\n y = step_time\n format = {chosen}\n"
    path.write_text(f"{text}figure f {{\n {settings}}}\n")
    (bars,) = displays(hwdsl.load(path, compiled=False))
    _, module = plots._matplotlib()
    figure = module.Figure(figsize=plots.SIZE)
    axes = figure.add_subplot()
    plots.draw(bars, axes)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_raw_values_of_infeasible_points_are_dotted(tmp_path: Path) -> None:
    _, module = plots._matplotlib()
    axes = module.Figure().add_subplot()
    lines = displays(loaded(tmp_path, SHOWN), raw=True)[0]
    plots.draw(lines, axes)
    (dotted,) = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert dotted.get_label() == "batch = 64, infeasible"
    found = 64 / (90e9 / (0.8 * np.array([2, 2.5, 3, 3.5, 4]) * 1e12))
    assert dotted.get_ydata() == pytest.approx(found)


def test_a_page_stands_alone_and_is_the_same_each_time(tmp_path: Path) -> None:
    module = loaded(tmp_path, SHOWN)
    files = pages(module)
    assert files == pages(module)
    assert list(files) == ["index.html", *(f"decode_{n}.svg" for n in ("lines", "bars", "wide"))]
    text = files["index.html"]
    assert "<li>a &lt;sheet&gt;; confidence low (decode.bandwidth)</li>" in text
    assert all(f"<figure>\n{files[name]}" in text for name in list(files)[1:])
    assert text.count("<svg") == 3
    assert "&lt;decoding&gt;" in text
    assert "By the memory &amp; its bandwidth." in text
    assert "Marked at the bottom: infeasible, because these rules are broken" in text
    assert "458 of 512 values of batch cannot be built and are left out." in text
    assert 'class="infeasible"' in text
    for outside in ("http-equiv", "<script", "<link", "<img"):
        assert outside not in text
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    ElementTree.fromstring(svg)


def test_tables_are_markdown(tmp_path: Path) -> None:
    module = loaded(tmp_path, SHOWN)
    lines = markdown(module).splitlines()
    head = "| bandwidth [TB/s] | format | throughput [token/s] | parts.0 [GB] | parts.1 [GB] |"
    assert f"{head} feasible |" in lines
    assert "| 2 | fp8 | 1,315.1 | 13 | 73 | yes |" in lines
    assert "| 4 | fp16 | \N{EN DASH} | \N{EN DASH} | \N{EN DASH} | no: fits |" in lines
    assert "| 4 | fp16 | 2,232.6 | 26 | 86 | no: fits |" in markdown(module, raw=True).splitlines()


BAD = [
    ("figure", ["x = bandwidth"], "does not say `y`"),
    ("figure", ["x = open", "y = throughput"], "`open` has no range: say which values it takes"),
    ("table", ["rows = batch", "bach = 3"], "unknown setting of a table of `decode`: `bach`"),
    ("table", ["rows = batch", "points = 1"], "from 2 to"),
    ("table", ["rows = batch", "top = 3"], "`top` goes with one output to maximize"),
    ("table", ["rows = batch", "minimize = step_time", "top = 0"], "from 1 to"),
    ("table", ["rows = batch", "maximize = batch"], "unknown output of `decode`: `batch`"),
    ("table", ["rows = batch", "maximize = parts"], "`parts` is no number"),
    ("table", ["rows = batch", "points = 2.5"], "`points` must be an int"),
    ("table", ["rows = batch", "outputs = [x]"], "unknown output of `decode`: `x`"),
    ("figure", ["x = batch", "y = [throughput, step_time]"], "different units"),
    ("figure", ["x = batch", "y = throughput", "y_label = throughput"], "`y_label` is a text"),
    ("figure", ["x = batch", "y = throughput", 'labels = ["a", "b"]'], "of which there are 1"),
    ("figure", ["x = batch", "y = throughput", "labels = [batch]"], "`labels` has a text for each"),
    ("table", ["rows = batch", "bandwidth = 3 s"], "a value of `bandwidth` must be bandwidth"),
    ("table", ["rows = 3"], "`rows` is the name of a param, or a list of such names"),
    ("table", ["rows = [batch, batch]"], "`batch` stands here twice"),
    ("figure", ["x = batch", "by = batch", "y = step_time"], "`x` and `by` are the same"),
    ("figure", ["x = batch", "y = step_time", "open = [1, 2]"], "neither `x` nor `by`"),
    ("table", ["rows = batch", "batch = [1, 513]"], "`batch` cannot be 513: its range is 1 .. 512"),
    ("table", ["rows = batch", "batch = 1 .. 513"], "`batch` cannot be 513: its range is 1 .. 512"),
    ("table", ["rows = batch", "batch = 9 .. 8"], "from its lower end to its upper one"),
    ("table", ["rows = batch", "batch = [b for b in sizes if b > 99]"], "is given no values"),
    ("table", ["rows = format", "format = fp16 .. fp8"], "no values between others"),
    ("table", ["rows = format", "format = [fp16, fp4]"], "fp4"),
    (
        "table",
        ["rows = [batch, bandwidth, open]", "open = 0 .. 1", "points = 100"],
        "points; a table has at most 100,000",
    ),
    (
        "figure",
        ["x = bandwidth", "by = batch", "y = step_time", "batch = 1 .. 512"],
        "`f` has 512 lines; a figure has at most 100",
    ),
    ("table", ["rows = batch", 'data = "x.csv"', "measured = seen"], "does not say `output`"),
]


@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.parametrize(("form", "settings", "words"), BAD, ids=[b[2][:30] for b in BAD])
def test_check_finds_what_report_would_refuse(
    tmp_path: Path,
    command: str,
    form: str,
    settings: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner = "\n".join(["of = decode", *settings])
    text = f"{HEAD}\nlet sizes = [1, 8, 64]\n{form} f {{\n{inner}\n}}\n"
    (tmp_path / "decode.hw").write_text(text)
    assert main([command, str(tmp_path / "decode.hw")]) == 1
    shown = capsys.readouterr()
    said = shown.out + shown.err
    assert words in said
    assert "decode.hw:" in said


def test_settings_are_expressions(tmp_path: Path) -> None:
    module = loaded(
        tmp_path,
        """
let sizes = [1, 8, 64]
let least = 1 TB/s

figure lines {
    of        = decode
    x         = bandwidth
    y         = throughput
    by        = batch
    batch     = sizes
    bandwidth = least .. 2 * least
    points    = 2 + 1
    open      = [least / (1 TB/s)]
    format    = if least > 2 TB/s then fp16 else fp8
}

table grid {
    of    = decode
    rows  = batch
    batch = [whole(2^k) for k in 0 .. 3]
}

table some {
    of    = decode
    rows  = batch
    batch = 3 .. 6
}
""",
    )
    lines, grid, some = displays(module)
    assert lines.sweep.batch[:, 0].tolist() == [1, 8, 64]
    assert lines.sweep.bandwidth[0].tolist() == [1, 1.5, 2]
    assert set(lines.sweep["format"].ravel().tolist()) == {"fp8"}
    assert grid.sweep.batch.tolist() == [1, 2, 4, 8]
    assert some.sweep.batch.tolist() == [3, 4, 5, 6]


def test_a_dollar_is_a_dollar_and_markup_is_text(tmp_path: Path) -> None:
    text = SHOWN.replace("## By the memory & its bandwidth.", "## $5 per x_{ and $_{ per <y>.")
    head = HEAD.replace("Rate of the memory. Not", "Costs $5 per x_{ and $_{ per y 字. Not")
    (tmp_path / "decode.hw").write_text(head + text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = pages(hwdsl.load(tmp_path / "decode.hw", compiled=False))
    assert "Costs $5 per x_{ and $_{ per y 字 [TB/s]" in files["decode_lines.svg"]
    assert "$5 per x_{ and $_{ per &lt;y&gt;." in files["index.html"]


def test_infeasible_stretches_are_named_by_their_rule(tmp_path: Path) -> None:
    module = loaded(tmp_path, SHOWN)
    files = pages(module)
    said = "<code>fits</code> at 5 of 15 points, the first: `bytes &lt;= 80 GB` does not hold"
    assert said in files["index.html"]
    assert ">fits</text>" in files["decode_lines.svg"]
    assert "batch = 64, infeasible" in files["decode_lines.svg"]


def test_whole_numbers_of_a_wide_range_are_powers_of_two(shown: dict[str, FigureData]) -> None:
    assert shown["wide"].sweep.batch.tolist() == [1, 2, 4, 8, 16, 32, 54]
    assert shown["wide"].left_out == (LeftOut("batch", 458, 512),)


def test_a_wide_range_of_readings_is_one_of_what_is_shown(tmp_path: Path) -> None:
    text = """
evaluator e {
    param t : temperature = 20 degC in -270 degC .. 100 degC
    output o in degC = t
}
figure f { of = e, x = t, y = o }
"""
    (shown,) = displays(loaded(tmp_path, text))
    values = shown.sweep.t
    assert (values[0], values[-1]) == (-270, 100)
    assert np.allclose(np.diff(values), 370 / 49)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1315.07, "1,315.1"), (12345678, "12,346,000"), (-4096, "-4,096"),
     (0.25, "0.25"), (1e-7, "1e-07"), 
     (0, "0"), (float("inf"), "inf"), (1e22, "1e+22"), (99999.7, "100,000"), (12.5, "12.5")],
)  # fmt: skip
def test_numbers_are_plain(value: float, text: str) -> None:
    assert plain(value, 5) == text


def test_the_command_prints_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("decode.hw").write_text(HEAD + SHOWN)
    assert main(["report", "decode.hw"]) == 0
    assert "## Grid" in capsys.readouterr().out
    assert main(["report", "decode.hw", "-o", "out/here"]) == 0
    assert Path("out/here/index.html").read_text().startswith("<!DOCTYPE html>")
    Path("none.hw").write_text(HEAD)
    capsys.readouterr()
    assert main(["report", "none.hw"]) == 0
    assert "declares no figures and no tables" in capsys.readouterr().out


def test_without_matplotlib_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "decode.hw").write_text(HEAD + SHOWN)

    def missing() -> None:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'hwdsl[report]'")

    monkeypatch.setattr(plots, "_matplotlib", missing)
    assert main(["report", str(tmp_path / "decode.hw"), "-o", str(tmp_path / "o")]) == 2
    assert "pip install 'hwdsl[report]'" in capsys.readouterr().err


def drawn_on(validation: Validation) -> list[dict[str, Any]]:
    """What is drawn of a validation, by label: predictions, ratios."""
    _, matplotlib = plots._matplotlib()
    figure = matplotlib.Figure()
    plots.draw_validated(validation, figure)
    return [{line.get_label(): line for line in axes.get_lines()} for axes in figure.axes]


def test_validations_are_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "seen.csv").write_text("batch,seen [ms]\n8,12.5\n16,20\n")
    table = """
table measured {
    of       = decode
    data     = "seen.csv"
    measured = "seen"
    output   = step_time
}
"""
    text = markdown(loaded(tmp_path, table))
    assert "| 1 | 12.5 | 12.69 | +1.5 % |" in text
    assert "| all | 2 | 11.6 % | 19.6 % | -10.1 % |" in text
    whole = pages(loaded(tmp_path, table))["index.html"]
    assert "<h2>measured</h2>" in whole
    assert whole.count("<svg") == 1


def test_a_validation_by_group_is_printed_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "seen.csv").write_text(
        "batch,seen [ms],site\n8,12.6866,oslo\n16,31.3433,rome\n16,10.4478,rome\n1,10.0746,oslo\n"
    )
    table = """
table measured {
    of       = decode
    data     = "seen.csv"
    measured = "seen"
    output   = step_time
    group    = "site"
}
"""
    module = loaded(tmp_path, table)
    (validation,) = [validate(module, request) for request in validation_requests(module)]
    by_group = {name: errors for name, (errors, _) in validation.by_group().items()}
    assert list(by_group) == ["oslo", "rome"]
    assert by_group["oslo"].relative == pytest.approx([0, 0], abs=1e-4)
    assert by_group["rome"].relative == pytest.approx([-0.5, 0.5], abs=1e-4)
    assert by_group["rome"].bias == pytest.approx(0, abs=1e-4)
    assert "| rome | 2 | 50.0 % | 50.0 % | -0.0 % |" in markdown(module)
    above, below = drawn_on(validation)
    assert above["rome: 50.0 %"].get_xdata().tolist() == [31.3433, 10.4478]
    assert above["rome: 50.0 %"].get_ydata() == pytest.approx([15.6716, 15.6716], abs=1e-3)
    assert below["rome: 50.0 %"].get_ydata() == pytest.approx([0.5, 1.5], abs=1e-4)
    assert pages(module)["index.html"].count("<svg") == 1
    assert main(["validate", str(module.path), "--group", "site"]) == 0
    assert ["rome", "2", "50.0", "%"] in [
        x.split()[:4] for x in capsys.readouterr().out.splitlines()
    ]
    assert main(["validate", str(module.path), "--group", "town"]) == 1
    assert "has no column town" in capsys.readouterr().err
