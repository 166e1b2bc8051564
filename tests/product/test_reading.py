"""What commands read: regular files of bounded size, those of a program from its own folder."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hwdsl.cli.main import main

STEP = """edition 2026

evaluator step {
    param work : data = 10 GB in 1 GB .. 100 GB
    output time in ms = work / (1 TB/s)
}
"""
TABLE = """
table against {
    of       = step
    data     = "%s"
    measured = took
    output   = time
}
"""
ROWS = "work [GB],took [ms]\n10,13\n20,25\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    Path("step.hw").write_text(STEP)
    Path("rows.csv").write_text(ROWS)
    signal.alarm(20)  # what hangs fails
    yield
    signal.alarm(0)


def odd(name: str, kind: str) -> str:
    """A file that is none."""
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "device":
        Path(name).symlink_to("/dev/zero")
    elif kind == "loop":
        Path(name).symlink_to(name)
    elif kind == "folder":
        Path(name).mkdir()
        (Path(name) / "none.txt").touch()
    else:
        with open(name, "wb") as file:
            file.truncate(70_000_000)
    return name


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large", "loop"])
@pytest.mark.parametrize(
    "call", ["check", "fmt", "run", "sweep", "why", "compile", "verify", "report", "validate"]
)
def test_descriptions_are_regular_files_of_some_size(
    kind: str, call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([call, odd("odd.hw", kind)]) == 2
    out, err = capsys.readouterr()
    told = {"large": "larger than 16.8 MB", "folder": "Is a directory", "loop": "symbolic links"}
    said = told.get(kind, "no regular file")
    assert said in out + err or (kind == "folder" and "below odd.hw" in err)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
def test_tables_are_regular_files_of_some_size(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"large": "larger than 64 MB", "folder": "Is a directory"}.get(kind, "no regular file")
    odd("odd.csv", kind)
    Path("asks.hw").write_text(STEP + TABLE % "odd.csv")
    Path("uses.hw").write_text('edition 2026\n\nuse "odd.csv" as odd\n')
    for words in [
        ["validate", "asks.hw"], ["report", "asks.hw"], ["fit", "step.hw", "odd.csv"],
        ["validate", "step.hw", "--data", "odd.csv", "--measured", "a", "--predicted", "time"],
        ["check", "uses.hw"],
    ]:  # fmt: skip
        assert main(words) in (1, 2)
        text = "".join(capsys.readouterr())
        assert said in text or (kind == "device" and "lies outside" in text)


def test_a_pipe_does_not_hold_up_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    odd("odd.hw", "pipe")
    assert main(["check", "."]) == 2
    assert "cannot read odd.hw: it is no regular file" in capsys.readouterr().out


def test_a_program_reads_tables_of_its_own_folder_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret.csv").write_text(ROWS.replace("took", "SECRET"))
    Path("link.csv").symlink_to(tmp_path / "secret.csv")
    Path("sub").mkdir()
    for name in ["../secret.csv", str(tmp_path / "secret.csv"), "link.csv", "sub/../../secret.csv"]:
        Path("asks.hw").write_text(STEP + TABLE % name)
        Path("uses.hw").write_text(f'edition 2026\n\nuse "{name}" as odd\n')
        for words in [["validate", "asks.hw"], ["report", "asks.hw"], ["check", "uses.hw"]]:
            assert main(words) == 1
            said = "".join(capsys.readouterr())
            assert f"`{name}` lies outside the folder of the program" in said
            assert "SECRET" not in said
    Path("asks.hw").write_text(STEP + TABLE % "sub/rows.csv")
    Path("rows.csv").rename("sub/rows.csv")
    assert main(["validate", "asks.hw"]) == 0
    call = ["validate", "step.hw", "--data", "../secret.csv", "--measured", "SECRET"]
    assert main([*call, "--predicted", "time"]) == 0  # the call names it


def test_a_long_chain_of_modules_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(300):
        Path(f"m{i}.hw").write_text(f"edition 2026\n\nuse m{i + 1}: x\nlet y = x\n")
    assert main(["check", "m0.hw"]) == 1
    out = capsys.readouterr().out
    assert "error[too-deep]: modules use modules more than 100 deep" in out
    assert "let`" not in out
