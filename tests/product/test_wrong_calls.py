"""Wrong calls, files that cannot be read, bugs: an exit code and a message, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hwdsl.cli.main import main


def test_a_command_that_there_is_not(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chek", good]) == 2
    assert "did you mean `check`" in capsys.readouterr().err
    assert main([good]) == 2
    assert f"hwdsl check {good}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "run", "validate", "fmt", "verify", "compile"])
def test_what_is_no_hw_file_is_one_error(
    good: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv").write_text("a,b\n1,2\n3,4\n")
    assert main([command, "rows.csv"]) == 2
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert text.count("error[") <= 1
    assert text.count("rows.csv: it is no `.hw` file") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "good.hw", "width=3 kg"],
        ["run", "good.hw", "--tree"],
        ["why", "good.hw"],
        ["why", "good.hw", "width=3"],
        ["sweep", "good.hw", "-o", "x.csv", "--nonsense", "width=1"],
        ["run", "good.hw", "width=30"],
        ["run", "good.hw", "widht=3"],
        ["run", "good.hw", "width"],
        ["run", "good.hw", "count=1.5"],
        ["run", "good.hw", "square=maybe"],
        ["run", "good.hw:other"],
        ["why", "good.hw:area_of", "volume"],
        ["sweep", "good.hw", "width=1..2", "-o", "x.csv"],
        ["sweep", "good.hw", "width=1..9:99999999999", "-o", "x.csv"],
        ["sweep", "good.hw", f"width=1..9:{'9' * 5000}", "-o", "x.csv"],
        ["sweep", "good.hw", "width=1..9 step 1e-12", "-o", "x.csv"],
        ["sweep", "good.hw", "count=1..1e300", "-o", "x.csv"],
        ["sweep", "good.hw", "width=1..9:\u00b2", "-o", "x.csv"],
        ["sweep", "good.hw", "width=1..9:000", "-o", "x.csv"],
        ["run", "good.hw", f"count={'9' * 400}"],
        ["run", "good.hw", f"width={'9' * 5000}"],
        ["compile", "good.hw", "--keep"],
        ["sweep", "good.hw", "width=1..2 kg:3", "-o", "x.csv"],
        ["sweep", "good.hw", "width=1..2:3", "-o", "x.txt"],
        ["sweep", "good.hw", "-o", "no/such/folder/x.csv"],
        ["explain", "qxzv"],
        ["new", "good.hw"],
        ["nonsense"],
        ["validate", "good.hw"],
        ["validate", "."],
        ["validate", "good.hw", "-o", "x.png"],
        [],
    ],
)
def test_a_wrong_call_is_2_and_leaves_no_file(
    good: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert os.listdir() == ["good.hw"]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00\xff\xfe", b"edition 2026\n" + b"(" * 3000, b"edition 2026\n\xc3\xa9\x1b[31m",
        b"edition 2026\nlet a = b\nlet b = a\n", b"edition 2026\nkind k : k {\n}\n",
        b"edition 2026\nlet x = " + b"1 + " * 5000 + b"1\n", b"edition 2026\nevaluator e {\n",
        b"edition 2026\nuse nothing\nuse 'x'\n", b"\xef\xbb\xbfedition 2026\n",
        b"\nconfidence low\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["check", "fmt", "run", "compile"])
def test_no_file_makes_a_traceback(
    good: str, data: bytes, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.hw").write_bytes(data)
    assert main([command, "odd.hw"]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing.hw", "a\x00b.hw"])
def test_files_that_cannot_be_read(
    good: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", name]) == 2
    assert "unreadable-file" in capsys.readouterr().out


def test_a_bug_is_reported_as_one(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hwdsl.api import driver

    def broken(*_: object) -> None:
        raise AssertionError("this cannot be")

    monkeypatch.setattr(driver, "check", broken)
    assert main(["check", good]) == 70
    text = capsys.readouterr().err
    assert "bug of hwdsl" in text
    assert "this cannot be" in text
    assert "Traceback" not in text


def test_a_reader_that_leaves_is_no_error(good: str) -> None:
    command = [sys.executable, "-m", "hwdsl", "explain"]
    answer = subprocess.run(
        f"{' '.join(command)} | true", shell=True, capture_output=True, text=True, check=False
    )
    assert answer.stderr == ""
