"""What commands write: earlier results are replaced at once, and nothing else of the user's."""

import os
import stat
from pathlib import Path

import pytest
from whole import ROWS, WHOLE

from hwdsl.cli.main import main

FIT = "fit whole.hw rows.csv --measured time=took -o"
WRITES = {
    "sweep whole.hw rate=1..2:3 -o out.csv": ["out.csv"],
    "sweep whole.hw rate=1..2:3 -o out.parquet": ["out.parquet"],
    "sample whole.hw -n 10 -o out.csv": ["out.csv"],
    "sample whole.hw -n 10 -o out.parquet": ["out.parquet"],
    "validate whole.hw -o out.svg": ["out.svg"],
    "validate whole.hw -o out.html": ["out.html"],
    f"{FIT} found.hw": ["found.hw"],
    "report whole.hw -o out": ["out/index.html", "out/whole_by_rate.svg"],
    "new fresh.hw": ["fresh.hw"],
}
"""A call and the files it writes."""
OTHERS = {
    "text": b"a,b\n1,2\n", "html": b"<!DOCTYPE html>\n<p>mine</p>\n", "svg": b"<svg></svg>",
    "hw": b"edition 2026\n\nlet x = 1 #! Fitted:\n", "bytes": b"PAR1\xff\x00PAR1",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    Path("whole.hw").write_text(WHOLE)
    Path("rows.csv").write_text(ROWS)
    return tmp_path


@pytest.mark.parametrize("call", WRITES)
def test_results_replace_earlier_ones_and_nothing_else(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in WRITES[call]:
        target = Path(name)
        target.parent.mkdir(exist_ok=True)
        for text in OTHERS.values() if name == WRITES[call][0] else [OTHERS["svg"]]:
            target.write_bytes(text)
            before = sorted(os.listdir())
            assert main(call.split()) == 2
            assert name in capsys.readouterr().err
            assert (target.read_bytes(), sorted(os.listdir())) == (text, before)
        target.unlink()
    assert main(call.split()) == 0
    if call.startswith("new"):
        return
    first = [Path(name).read_bytes() for name in WRITES[call]]
    assert main(call.split()) == 0
    assert [Path(name).read_bytes() for name in WRITES[call]] == first
    Path(WRITES[call][0]).write_bytes(b"")  # as `mktemp` leaves one
    assert main(call.split()) == 0


def test_a_sample_and_a_sweep_replace_each_other() -> None:
    for call in [c for c in WRITES if c.endswith("out.csv")] * 2:
        assert main(call.split()) == 0


@pytest.mark.parametrize("name", ["whole.hw", "./whole.hw", "link.hw", "rows.csv"])
def test_a_fit_does_not_replace_what_it_reads(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("link.hw").symlink_to("whole.hw")
    assert main([*FIT.split(), name]) == 2
    assert "is what the call reads" in capsys.readouterr().err
    assert (Path("whole.hw").read_text(), Path("rows.csv").read_text()) == (WHOLE, ROWS)


def test_links_are_followed_and_kept() -> None:
    main(["fmt", "whole.hw"])
    canonical = Path("whole.hw").read_text()
    messy = canonical.replace(" = ", "   =   ")
    Path("far").mkdir()
    Path("far/real.hw").write_text(messy)
    Path("far/real.hw").chmod(0o640)
    Path("middle.hw").symlink_to("far/real.hw")
    Path("link.hw").symlink_to("middle.hw")
    assert main(["fmt", "link.hw"]) == 0
    assert Path("link.hw").is_symlink()
    assert Path("middle.hw").is_symlink()
    assert os.listdir("far") == ["real.hw"]
    assert Path("far/real.hw").read_text() == canonical
    assert stat.S_IMODE(Path("far/real.hw").stat().st_mode) == 0o640

    Path("far/real.hw").write_text(messy)
    os.link("far/real.hw", "other.hw")
    assert main(["fmt", "other.hw"]) == 0
    assert os.path.samefile("far/real.hw", "other.hw")
    assert Path("far/real.hw").read_text() == canonical

    Path("nowhere.csv").symlink_to("far/new.csv")
    assert main(["sweep", "whole.hw", "rate=1..2:3", "-o", "nowhere.csv"]) == 0
    assert Path("nowhere.csv").is_symlink()
    assert Path("far/new.csv").exists()


@pytest.mark.parametrize("call", [c for c in WRITES if not c.startswith("new")])
def test_what_is_no_regular_file_is_refused(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = Path(WRITES[call][0])
    target.parent.mkdir(exist_ok=True)
    os.mkfifo(target)
    assert main(call.split()) == 2
    assert f"cannot write {target}: it is no regular file" in capsys.readouterr().err
    assert stat.S_ISFIFO(target.stat().st_mode)
    target.unlink()
    target.symlink_to("/dev/null")
    assert main(call.split()) == 2
    target.unlink()
    target.symlink_to(target.name)  # to itself
    assert main(call.split()) == 2
    target.unlink()
    target.mkdir()
    assert main(call.split()) == 2
    assert "it is a folder" in capsys.readouterr().err
