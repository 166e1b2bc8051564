"""Figures and tables that a file declares, printed and drawn."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hwdsl
from hwdsl import figures
from hwdsl.cli.main import main
from hwdsl.displays import Display, displays
from hwdsl.report import markdown, pages
from hwdsl.validate import Validation, requests, validate

HEAD = """edition 2026
#! What limits <decoding>.

enum style { fp16, fp8 }

evaluator decode {
    ## Rate of the memory. Not its peak.
    ## source: nobody.
    param bandwidth : bandwidth = 3.35 TB/s in 1 TB/s .. 10 TB/s
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
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Display]:
    module = loaded(tmp_path_factory.mktemp("report"), SHOWN)
    return {d.name: d for d in displays(module)}


def test_axes_are_as_given_or_over_the_declared_range(shown: dict[str, Display]) -> None:
    assert shown["lines"].sweep.shape == (3, 5)
    assert shown["lines"].sweep.bandwidth[0].tolist() == [2, 2.5, 3, 3.5, 4]
    assert shown["bars"].sweep.format.tolist() == ["fp16", "fp8"]
    batch = shown["wide"].sweep.batch
    assert (batch[0], batch[-1]) == (1, 512)
    assert len(set(batch.tolist())) == len(batch)


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


def test_what_is_drawn_is_what_was_swept(shown: dict[str, Display]) -> None:
    _, module = figures._matplotlib()
    axes = module.Figure().add_subplot()
    figures.draw(shown["lines"], axes)
    solid = [line for line in axes.get_lines() if line.get_linestyle() != ":"]
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert [line.get_label() for line in solid] == ["batch = 1", "batch = 8", "batch = 64"]
    expected = shown["lines"].sweep.throughput
    for line, values in zip(solid[:2], expected[:2], strict=True):
        assert np.array_equal(line.get_ydata(), values)
    assert np.isnan(solid[2].get_ydata()).all()  # 90 GB do not fit
    assert [line.get_ydata().tolist() for line in dotted] == [expected[2].tolist()]
    assert axes.get_xlabel() == "bandwidth [TB/s]\nRate of the memory"
    assert axes.get_ylabel() == "throughput [token/s]"
    axes = module.Figure().add_subplot()
    figures.draw(shown["bars"], axes)
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == shown["bars"].sweep.step_time.tolist()
    axes = module.Figure().add_subplot()
    figures.draw(shown["wide"], axes)
    assert axes.get_xscale() == "log"


def test_a_page_stands_alone_and_is_the_same_each_time(tmp_path: Path) -> None:
    module = loaded(tmp_path, SHOWN)
    files = pages(module)
    assert files == pages(module)
    assert list(files) == ["index.html", *(f"decode_{n}.svg" for n in ("lines", "bars", "wide"))]
    text = files["index.html"]
    assert all(f"<figure>\n{files[name]}" in text for name in list(files)[1:])
    assert text.count("<svg") == 3
    assert "&lt;decoding&gt;" in text
    assert "By the memory &amp; its bandwidth." in text
    assert "Dotted: cannot be built." in text
    assert 'class="infeasible"' in text
    for outside in ("http-equiv", "<script", "<link", "<img"):
        assert outside not in text
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    ElementTree.fromstring(svg)


def test_tables_are_markdown(tmp_path: Path) -> None:
    lines = markdown(loaded(tmp_path, SHOWN)).splitlines()
    head = "| bandwidth [TB/s] | format | throughput [token/s] | parts.0 [GB] | parts.1 [GB] |"
    assert f"{head} feasible |" in lines
    assert "| 2 | fp8 | 1315.1 | 13 | 73 | yes |" in lines
    assert "| 4 | fp16 | 2232.6 | 26 | 86 | no |" in lines


@pytest.mark.parametrize(
    ("form", "settings", "words"),
    [
        ("figure", ["x = bandwidth"], "says `x` and `y`"),
        ("figure", ["x = open", "y = throughput"], "`open = …`"),
        ("table", ["rows = batch", "bach = 3"], "`bach` is no setting"),
        ("table", ["rows = batch", "points = 1"], "from 2 to"),
        ("table", ["rows = batch", "outputs = [x]"], "no output x"),
        ("figure", ["x = batch", "y = [throughput, step_time]"], "different units"),
        ("table", ["rows = batch", "bandwidth = 3 s"], "`3 s` is time, but"),
        ("table", ["rows = 3"], "a list of names"),
    ],
)
def test_settings_that_do_not_fit(
    tmp_path: Path,
    form: str,
    settings: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner = "\n".join(["of = decode", *settings])
    (tmp_path / "decode.hw").write_text(f"{HEAD}\n{form} f {{\n{inner}\n}}\n")
    assert main(["report", str(tmp_path / "decode.hw")]) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert words in err


def test_the_command_prints_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("decode.hw").write_text(HEAD + SHOWN)
    assert main(["report", "decode.hw"]) == 0
    assert "## grid" in capsys.readouterr().out
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

    monkeypatch.setattr(figures, "_matplotlib", missing)
    assert main(["report", str(tmp_path / "decode.hw"), "-o", str(tmp_path / "o")]) == 2
    assert "pip install 'hwdsl[report]'" in capsys.readouterr().err


def drawn_on(validation: Validation) -> list[dict[str, Any]]:
    """What is drawn of a validation, by label: predictions, ratios."""
    _, matplotlib = figures._matplotlib()
    figure = matplotlib.Figure()
    figures.draw_validated(validation, figure)
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
    (validation,) = [validate(module, request) for request in requests(module)]
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
