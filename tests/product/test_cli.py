"""The command line: what commands print and write, and their exit codes."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from area import GOOD

import hwdsl
from hwdsl.base import store
from hwdsl.cli.main import main
from hwdsl.codegen.emit.kernels import emit
from hwdsl.codegen.ir.serialization import dump


def test_check_says_by_its_code_whether_there_are_errors(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.hw").write_text("edition 2026\n\nlet x = 1 m + 1 s\n")
    assert main(["check", good]) == 0
    assert capsys.readouterr().out == "1 file, 1 definition, 1 evaluator: no errors, no warnings\n"
    assert main(["check", good, "--format", "json"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["check", good, "bad.hw"]) == 1
    out = capsys.readouterr().out
    assert "error[unit-mismatch]" in out
    assert out.splitlines()[-1] == "2 files, 2 definitions, 1 evaluator: 1 error"
    assert main(["check", "bad.hw", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["labels"][0]["line"]) == ("unit-mismatch", 3)
    assert main(["check", "bad.hw", "--format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert log["runs"][0]["results"][0]["ruleId"] == "unit-mismatch"


def test_fmt_rewrites_and_with_check_only_tells(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["fmt", good])
    canonical = Path(good).read_text()
    Path(good).write_text(canonical.replace("  ", "   "))
    messy = Path(good).read_text()
    assert main(["fmt", "--check", good]) == 1
    assert Path(good).read_text() == messy
    assert main(["fmt", good]) == 0
    assert Path(good).read_text() == canonical
    assert main(["fmt", "--check", good]) == 0


def test_fmt_leaves_a_file_that_does_not_parse(good: str) -> None:
    Path("bad.hw").write_text("edition 2026\nlet = =\n")
    assert main(["fmt", "bad.hw"]) == 1
    assert Path("bad.hw").read_text() == "edition 2026\nlet = =\n"


def test_run_prints_outputs_with_units(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", good, "width=300 cm"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["area", "27", "m^2"] in lines
    assert ["width", "3", "m"] in lines


def test_run_of_an_infeasible_point_shows_the_rule(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", f"{good}:area_of", "width=9", "square=false"]) == 0
    out = capsys.readouterr().out
    assert "infeasible" in out.splitlines()
    assert "486 m^2 is too much" in out
    assert "help: make it smaller" in out


SUM = """edition 2026

evaluator bill {
    param count : int   = 3     in 0 .. 8
    param price : money = 2 USD in 1 USD .. 1000 USD

    let parts = count * price
    let all   = parts + 1 USD

    output cost  in USD     = all
    output each  in USD     = [parts, all + 1 USD]
    output share            = 1 USD / parts
    output empty in USD     = 0 * price
}
"""


def test_run_says_what_an_output_is_the_sum_of(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sum.hw").write_text(SUM)
    assert main(["run", "sum.hw", "price=33 USD"]) == 0
    assert "is the sum of" not in capsys.readouterr().out
    assert main(["run", "sum.hw", "price=33 USD", "--tree", "all"]) == 0
    out = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "count 3 default" in lines
    assert "price 33 USD" in lines
    at = lines.index("cost [USD] is the sum of")
    assert lines[at + 1 : at + 4] == [
        "100.00 100.0 % cost",
        "99.00 99.0 % parts = 3 × price",
        "1.00 1.0 % 1 USD",
    ]
    assert "each.1 [USD] is the sum of" in lines
    assert not any(line.startswith("each.0 [") for line in lines)
    assert main(["run", "sum.hw", "--tree", "each.1", "count=2"]) == 0
    out = capsys.readouterr().out
    assert out.count("is the sum of") == 1
    assert "parts = 2 × price" in out
    assert main(["run", "sum.hw", "--tree", "share"]) == 0
    assert "share is no sum" in capsys.readouterr().out
    assert main(["run", "sum.hw", "--tree", "cots"]) == 2
    assert "did you mean `cost`" in capsys.readouterr().err


def test_run_of_a_lone_output_says_its_sum_and_long_numbers_have_commas(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lone = "".join(
        line for line in SUM.splitlines(True) if line.count("output") == 0 or "cost" in line
    )
    Path("lone.hw").write_text(lone.replace("1000 USD", "90 MUSD"))
    assert main(["run", "lone.hw", "price=12345678 USD"]) == 0
    out = capsys.readouterr().out
    assert "cost [USD] is the sum of" in out
    assert "12,345,678  USD" in out
    assert "37,037,035  USD" in out


def test_run_notes_what_is_infinite(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sum.hw").write_text(SUM)
    assert main(["run", "sum.hw", "count=0"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "feasible" in out
    (note,) = [line for line in out if "infinite" in line]
    assert note.startswith("  note: share is infinite: `1 USD / parts` at sum.hw:")
    assert note.endswith(", where parts is 0")


def test_run_counts_what_check_tells_of_the_text(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning of values is shown each time, one of the text by `check` alone."""
    unread = "    param idle : int = 1 in 1 .. 2\n    let spare = 2 * width\n"
    Path("two.hw").write_text(GOOD.replace("    ## All of it.\n", f"{unread}    ## All of it.\n"))
    assert main(["run", "two.hw"]) == 0
    said = capsys.readouterr().err
    assert "warning[unread-param]" in said
    assert "unused-let" not in said
    assert said.endswith("1 warning about the text: hwdsl check two.hw\n")
    assert main(["check", "two.hw"]) == 0
    assert "warning[unused-let]" in capsys.readouterr().out
    waived = unread + '    allow unread_param "of the next version"\n'
    Path("two.hw").write_text(GOOD.replace("    ## All of it.\n", f"{waived}    ## All of it.\n"))
    main(["check", "two.hw"])
    assert "unread" not in capsys.readouterr().out


def test_validate_can_be_asked_for_one_table(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = """
table {} {{
    of       = area_of
    data     = "rows.csv"
    measured = "seen"
    output   = area
}}
"""
    Path("two.hw").write_text(GOOD + table.format("first") + table.format("second"))
    Path("rows.csv").write_text("width [m],seen [m^2]\n2,12\n3,27\n")
    for name, titles in (
        ("", ["first", "second"]),
        (":second", ["second"]),
        (":area_of", ["first", "second"]),
    ):
        assert main(["validate", f"two.hw{name}"]) == 0
        out = capsys.readouterr().out
        assert [x.split(":")[0] for x in out.splitlines() if " against " in x] == titles
    assert main(["validate", "two.hw:third"]) == 2
    assert "it has first, second" in capsys.readouterr().err


def test_sweep_writes_every_point(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", good, "width=1..3 m:3", "square=all", "-o", "out.csv"]) == 0
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {r["area [m^2]"] for r in rows} == {"3.0", "6.0", "12.0", "24.0", "27.0", "54.0"}
    assert {r["square"] for r in rows} == {"True", "False"}
    assert sorted(os.listdir()) == ["good.hw", "out.csv"]


def test_sweep_without_a_file_prints_the_first_rows(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", good, "width=1..3 m:3", "square=all"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:2] == ["width", "[m]"]
    assert lines[-1] == ["3", "3", "True", "27", "True"]
    assert len(lines) == 7
    assert main(["sweep", good, "width=1..3 m:300"]) == 0
    assert "… 280 more rows" in capsys.readouterr().out
    assert os.listdir() == ["good.hw"]


def test_sweep_to_parquet_holds_the_same(good: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("out.csv", "out.parquet"):
        assert main(["sweep", good, "width=1..10:4", "count=1,8", "-o", name]) == 0
    table = parquet.read_table("out.parquet")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [str(v) for v in table.column("area [m^2]").to_pylist()] == [
        r["area [m^2]"] for r in rows
    ]
    assert {r["violations"] for r in rows} == {"", "small"}


def test_an_interrupted_sweep_keeps_what_is_done(good: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hwdsl", "sweep", good, "width=1..10:9000000", "-o", "big.csv"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        parts = [p for p in Path().iterdir() if p.name.startswith(".big.csv.")]
        if parts and parts[0].stat().st_size > 1_000_000:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    lines = Path("big.csv").read_text().splitlines()
    assert 1_000 < len(lines) < 9_000_000
    assert f"wrote {len(lines) - 1:,} of 9,000,000 rows" in err


def test_why_names_the_steps(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", f"{good}:area_of", "area", "width=3 m", "square=false"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("area = 54 m^2")
    assert "width = 3 m" in out
    assert "good.hw:" in out


def test_new_writes_a_file_that_checks_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "chip.hw"]) == 0
    assert main(["check", "--warnings", "chip.hw"]) == 0
    assert main(["fmt", "--check", "chip.hw"]) == 0
    assert main(["run", "chip.hw", "batch=32"]) == 0


def test_explain_cache_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unit-mismatch"]) == 0
    assert "## Fixed" in capsys.readouterr().out
    for dimension, units in [("energy_per_data", "`J/B`, `kJ/B`"), ("power_density", "`W/m^2`")]:
        assert main(["explain", dimension]) == 0
        assert f"Its units: {units}" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "numpy" in capsys.readouterr().out


def test_the_cache_counts_all_that_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    held = {store.FINDINGS: b"1" * 1500, store.LOADED: b"2" * 300}
    for kind, data in held.items():
        for name in "ab":
            store.put(kind, store.key({"name": name}), data)
    root = store.folder()
    sizes = {k: sum(f.stat().st_size for f in (root / k.name).iterdir()) for k in held}
    assert sizes[store.FINDINGS] > 2 * 1500
    assert main(["cache"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == f"{root}: 4 entries, {sum(sizes.values()) / 1000:.1f} kB"
    assert [row.split()[:4] for row in rows] == [
        [kind.name, "2", f"{size / 1000:.1f}", "kB"] for kind, size in sizes.items()
    ]
    assert main(["doctor", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)["cache"]
    assert said["bytes"] == sum(sizes.values())
    assert [each["entries"] for each in said["kinds"]] == [2, 2]
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 4 entries from {root}\n"


def test_verify_prints_published_beside_reproduced(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = """
claim published {
    source "by hand"
    expect area_of(width = 3 m).area == %s m^2 within 2 %% relative baseline area_of().area
    identity expect area_of().area == 12 m^2 within 1e-9 relative
}
"""
    Path("claims.hw").write_text(GOOD + claim % 27)
    assert main(["verify", "claims.hw"]) == 0
    out = capsys.readouterr().out
    assert "claims: 1 reproduced, 0 missed" in out
    assert "27 m^2" in out
    Path("claims.hw").write_text(GOOD + claim % 30)
    assert main(["verify", "claims.hw"]) == 1
    out = capsys.readouterr().out
    assert "claims: 0 reproduced, 1 missed" in out
    missed = next(line for line in out.splitlines() if "MISS" in line)
    assert missed.split()[:8] == ["MISS", "claim", "30", "m^2", "27", "m^2", "-10", "%"]
    assert out.endswith("\n  1 hold, 0 missed\n")


def test_what_is_said_to_be_missed_is_shown_and_exits_with_0(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = """
claim published {
    source "by hand" confidence %s
    expect area_of(width = 3 m).area == %s m^2 within 2 %% relative
        baseline area_of().area missed "nine of them"
}
"""
    Path("claims.hw").write_text(GOOD + claim % ("high", 30))
    assert main(["verify", "claims.hw"]) == 0
    out = capsys.readouterr().out
    assert "Source: by hand\n  Confidence: high\n" in out
    assert "nine of them" in out
    assert out.endswith("claims: 0 reproduced, 0 missed, 1 missed for the reason given\n")
    Path("claims.hw").write_text(GOOD + claim % ("low", 27))
    assert main(["verify", "claims.hw"]) == 1
    out = capsys.readouterr().out
    assert "HOLDS  unsure" in out
    assert "claims: 0 reproduced, 0 missed\n" in out


def test_whatever_is_missed_is_counted_and_exits_with_1(
    good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = """
claim published {
    source "by hand"
    expect area_of(width = 3 m).area == 27 m^2 within 2 % relative baseline area_of().area
    assume "three of them"
    expect area_of().area == 99 m^2 within 2 % relative
}
"""
    Path("claims.hw").write_text(GOOD + claim)
    assert main(["verify", "claims.hw"]) == 1
    out = capsys.readouterr().out
    assert out.count("MISS") == 1
    assert out.splitlines()[-4:] == [
        "claims: 1 reproduced, 0 missed",
        "identities, calibrations, what rests on assumptions or sources of low confidence,",
        "and what has no baseline or is no better than it:",
        "  0 hold, 1 missed",
    ]


def test_words_may_stand_behind_options(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", good, "-o", "grid.csv", "width=1..3:3", "count=1,2"]) == 0
    assert len(Path("grid.csv").read_text().splitlines()) == 7
    assert main(["why", good, "--depth", "2", "area", "width=3"]) == 0
    assert "width = 3" in capsys.readouterr().out
    assert main(["check", good, "--format", "json", good]) == 0
    assert main(["sweep", good, "-o", "grid.csv", "--widht", "width=1"]) == 2


def test_compile_keeps_what_the_module_is_made_from(good: str) -> None:
    assert main(["compile", good, "-o", "built", "--keep"]) == 0
    kept = {p.name: p.read_text() for p in Path("built/generated").iterdir()}
    assert {Path(name).suffix for name in kept} == {".c", ".h", ".pyx", ".graph"}
    graph = hwdsl.load(good, compiled=False).area_of.graph
    assert dump(graph) == kept["area_of.graph"]
    assert [p.name for p in graph.params] == ["width", "count", "square"]
    (kernel,) = emit({"area_of": graph}).keys() - emit({}).keys()
    assert emit({"area_of": graph})[kernel] == kept[kernel]


@pytest.mark.parametrize("command", [["check"], ["verify"], ["fmt", "--check"]])
def test_a_folder_stands_for_its_files(
    command: list[str], good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("some/deep").mkdir(parents=True)
    Path("some/a.hw").write_text(GOOD)
    assert main(["fmt", "some"]) == 0
    assert main([*command, "some"]) == 0
    Path("some/deep/b.hw").write_text("edition 2026\nlet   a:length=1\n")
    assert main([*command, "some"]) == 1
    assert "some/deep/b.hw" in "".join(capsys.readouterr())
    Path("empty").mkdir()
    assert main([*command, "empty"]) == 2
    assert "there are no .hw files below empty" in capsys.readouterr().err


def test_a_report_of_nothing_is_no_page(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.hw").write_text(GOOD)
    assert main(["report", "bare.hw", "-o", "out"]) == 0
    assert "bare.hw declares no figures and no tables" in capsys.readouterr().out
    assert not Path("out").exists()
