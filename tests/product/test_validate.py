"""`hwdsl validate`: errors of one table and of several, beside a baseline, printed and drawn."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.measure.validate import validate, validation_requests
from hwdsl.show import plots

TEXT = """edition 2026
evaluator move {
    param size : data      = 1 GB   in 1 MB .. 1 TB
    param rate : bandwidth = 1 TB/s in 1 GB/s .. 10 TB/s

    output time in ms = size / (0.8 * rate) + 1 ms
    output bare in ms = size / rate
}

table seen {
    of       = move
    data     = "seen.csv"
    measured = "taken"
    output   = time
    baseline = bare
    group    = "site"
}
"""
SEEN = "site,size [GB],rate [TB/s],taken [ms]\n"
TRUE = [("oslo", 8, 1), ("oslo", 80, 1), ("rome", 8, 2), ("rome", 160, 2), ("rome", 1, 2)]
OFF = (1.0, 1.25, 0.8, 1.0, 2.0)
"""What was measured over what the model says."""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("move.hw").write_text(TEXT)
    rows = [
        f"{site},{size},{rate},{off * (size / (0.8 * rate) + 1)!r}"
        for (site, size, rate), off in zip(TRUE, OFF, strict=True)
    ]
    Path("seen.csv").write_text(SEEN + "\n".join(rows) + "\n")
    return tmp_path


def cells(line: str) -> list[str]:
    return line.replace("%", "").split()


def test_errors_by_group_stand_beside_the_baselines(
    where: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "move.hw"]) == 0
    lines = {x.split()[0]: cells(x) for x in capsys.readouterr().out.splitlines() if x}
    errors = 1 / np.array(OFF) - 1
    bare = [s / r / (o * (s / (0.8 * r) + 1)) - 1 for (_, s, r), o in zip(TRUE, OFF, strict=True)]
    for name, at in (("oslo", slice(0, 2)), ("rome", slice(2, 5)), ("all", slice(0, 5))):
        expected = [str(len(errors[at]))]
        for found in (errors[at], np.array(bare)[at]):
            size = np.abs(found)
            expected += [f"{100 * np.median(size):.1f}", f"{100 * np.quantile(size, 0.9):.1f}",
                         f"{100 * np.mean(found):+.1f}"]  # fmt: skip
        assert lines[name] == [name, *expected]
    assert "seen:" in lines
    assert main(["validate", "move.hw", "--rows"]) == 0
    assert "-20.0 %" in capsys.readouterr().out


def test_a_folder_is_its_files_with_tables(where: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (where / "below").mkdir()
    (where / "seen.csv").replace(where / "below" / "seen.csv")
    (where / "move.hw").replace(where / "below" / "move.hw")
    (where / "other.hw").write_text(TEXT[: TEXT.index("table")])
    (where / "broken.hw").write_text("edition 2026\nlet = \n")
    assert main(["validate", "."]) == 0
    assert "table  " not in capsys.readouterr().out  # one validation needs no summary
    more = TEXT.replace("table seen", "table again").replace("    baseline = bare\n", "")
    (where / "below" / "more.hw").write_text(more)
    assert main(["validate", "."]) == 0
    lines = [cells(x) for x in capsys.readouterr().out.splitlines()]
    assert [x for x in lines if x[:1] == ["more:again"]] == [
        ["more:again", "5", "20.0", "40.0", "-9.0"]
    ]
    assert sum(x[:1] == ["move:seen"] for x in lines) == 1
    assert main(["validate", "other.hw"]) == 2
    assert "declares no `table`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "seen.csv", "--measured", "taken"], "--predicted"),
        (["--data", "seen.csv", "--measured", "took", "--predicted", "time"], "no column took"),
        (["--data", "seen.csv", "--measured", "taken", "--predicted", "span"], "no output span"),
        (["move.hw", "--data", "seen.csv"], "one FILE"),
        (["-o", "errors.png"], "neither .html nor .svg"),
    ],
)
def test_what_does_not_fit_is_said(
    where: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "move.hw", *words]) in (1, 2)
    assert said in capsys.readouterr().err


def test_a_measured_zero_has_no_relative_error(
    where: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("seen.csv").write_text(SEEN + "oslo,1,1,0\n")
    assert main(["validate", "move.hw"]) == 1
    assert "a measured 0 has no relative error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("oslo,2 TB/s,1,3", "row 6 of seen.csv: move.size:"),
        ("oslo,2,99,3", "row 6 of seen.csv: move.rate: 99 TB/s is out of range"),
        ("oslo,2,,3", "row 6 of seen.csv: the cell of rate is empty"),
        ("oslo,2,1,inf", "row 6 of seen.csv: column taken: `inf ms` is no measured value"),
        ("oslo,2,1,long", "row 6 of seen.csv: column taken: `long ms` is not a number"),
    ],
)
def test_a_cell_that_does_not_fit_is_named_with_its_row(
    where: Path, row: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("seen.csv").write_text(Path("seen.csv").read_text() + row + "\n")
    assert main(["validate", "move.hw"]) == 1
    assert said in capsys.readouterr().err


def test_a_misspelt_header_is_said(where: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "move.hw"]) == 0
    assert "not read" not in capsys.readouterr().out
    Path("seen.csv").write_text(Path("seen.csv").read_text().replace(",rate", ",rates"))
    assert main(["validate", "move.hw"]) == 0
    said = "columns not read: rates; params at their defaults: rate"
    assert said in capsys.readouterr().out.splitlines()


def drawn(axes: Any) -> dict[str, Any]:
    return {line.get_label().partition(":")[0]: line for line in axes.get_lines()}


def test_a_picture_has_every_point_its_ratio_and_the_bands(where: Path) -> None:
    module = hwdsl.load("move.hw", compiled=False)
    (found,) = [validate(module, request) for request in validation_requests(module)]
    _, matplotlib = plots._matplotlib()
    figure = matplotlib.Figure()
    plots.draw_validated(found, figure)
    above, below = figure.axes
    assert above.get_xscale() == above.get_yscale() == below.get_yscale() == "log"
    points, ratios = drawn(above), drawn(below)
    assert points["rome"].get_xdata() == pytest.approx(found.measured[2:])
    assert points["rome"].get_ydata() == pytest.approx(found.predicted[2:])
    assert ratios["oslo"].get_ydata() == pytest.approx([1, 0.8])
    assert ratios["rome"].get_ydata() == pytest.approx([1.25, 1, 0.5])
    assert points["bare"].get_ydata() == pytest.approx(found.baseline)
    low, high = below.get_ylim()
    assert (low <= ratios["bare"].get_ydata()).all()
    assert low * high == pytest.approx(1)
    assert ratios["bare"].get_ydata()[4] == low  # 0.4 lies beyond the axis: drawn at its edge
    names = above.get_legend_handles_labels()[1]
    assert [n for n in names if "within" in n] == ["half within 20.0 %", "9 in 10 within 40.0 %"]


def test_many_groups_keep_colours_that_can_be_told_apart(where: Path) -> None:
    rows = [f"site{i % 14},{1 + i},1,{2 + i}" for i in range(40)]
    Path("seen.csv").write_text(SEEN + "\n".join(rows) + "\n")
    module = hwdsl.load("move.hw", compiled=False)
    (found,) = [validate(module, request) for request in validation_requests(module)]
    groups = plots._coloured(found)
    assert [name for name, _, _ in groups][-1] == "4 others"
    assert sum(at.sum() for _, at, _ in groups) == 40


def test_pictures_are_written(where: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.hw").write_text(TEXT.replace("table seen", "table again"))
    assert main(["validate", "move.hw", "-o", "errors.svg", "more.hw"]) == 0
    assert "wrote errors.svg" in capsys.readouterr().out
    text = Path("errors.svg").read_text()
    ElementTree.fromstring(text)
    assert text.count("median error") == 2
    assert main(["validate", "move.hw", "more.hw", "-o", "errors.html"]) == 0
    whole = Path("errors.html").read_text()
    assert whole.count("<svg") == 2
    assert "<h2>more:again</h2>" in whole
    assert "<td>rome</td>" in whole
    first = Path("errors.html").read_bytes()
    assert main(["validate", "move.hw", "more.hw", "-o", "errors.html"]) == 0
    assert Path("errors.html").read_bytes() == first


def test_without_matplotlib_the_remedy_is_named(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'hwdsl[report]'")

    monkeypatch.setattr(plots, "_matplotlib", missing)
    assert main(["validate", "move.hw", "-o", "errors.svg"]) == 2
    assert "pip install 'hwdsl[report]'" in capsys.readouterr().err
    assert not Path("errors.svg").exists()
