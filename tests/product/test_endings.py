"""How commands end: a bug is 70, and what the machine does not give is a message and 2."""

import errno
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from whole import ROWS, WHOLE

from hwdsl.cli.base import commands
from hwdsl.cli.main import main

PLACES = {
    "check whole.hw": "hwdsl.semantics.check",
    "fmt whole.hw": "hwdsl.syntax.format_module",
    "compile whole.hw -o made": "hwdsl.api.interface.evaluator_specs",
    "compile whole.hw": "hwdsl.codegen.build.toolchain.cache_key_inputs",
    "run whole.hw": "hwdsl.codegen.runtime.evaluator.Result",
    "run whole.hw --tree time": "hwdsl.explain.derivation.trace_provenance",
    "sweep whole.hw rate=1..2:3": "hwdsl.codegen.runtime.workers.workers",
    "sweep whole.hw rate=1..2:3 -o out.csv": "hwdsl.codegen.runtime.workers.workers",
    "sample whole.hw -n 10": "hwdsl.codegen.runtime.sample._Run",
    "sample whole.hw -n 10 -o out.csv": "hwdsl.cli.sample_._write",
    "solve whole.hw rate for time=5": "hwdsl.search.crossings._brackets",
    "optimize whole.hw minimize=time rate=1,2,4": "hwdsl.search.problem._broken",
    "uncertainty whole.hw -n 64 --raw": "hwdsl.uncertainty.indices._estimators",
    "validate whole.hw": "hwdsl.measure.validate._in_unit",
    "validate whole.hw -o out.svg": "hwdsl.show.plots.validated",
    "fit whole.hw rows.csv --measured time=took": "hwdsl.measure.fit._precision",
    "fit whole.hw rows.csv --measured time=took -o found.hw": "hwdsl.measure.fit.to_source",
    "report whole.hw": "hwdsl.show.report._section",
    "report whole.hw -o out": "hwdsl.show.report.pages",
    "why whole.hw time": "hwdsl.explain.derivation.trace_provenance",
    "verify whole.hw": "hwdsl.elaborate.verify",
    "explain unit-mismatch": "hwdsl.help.diagnostic_catalog.page",
    "new fresh.hw": "hwdsl.cli.files.write_text",
    "cache": "hwdsl.base.store.entries",
    "doctor": "hwdsl.codegen.build.toolchain.compiler",
}
"""A call and a function far below it."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    Path("whole.hw").write_text(WHOLE)
    Path("rows.csv").write_text(ROWS)
    return tmp_path


def test_every_command_is_there() -> None:
    assert {call.split()[0] for call in PLACES} == set(commands())


@pytest.mark.parametrize("error", [ValueError, OSError])
@pytest.mark.parametrize("call", PLACES)
def test_a_bug_is_reported_as_one(
    call: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def bug(*arguments: object, **named: object) -> None:
        raise error("a bug")

    before = set(Path().iterdir())
    monkeypatch.setattr(PLACES[call], bug)
    code = main(call.split())
    assert (code, "bug of hwdsl" in capsys.readouterr().err) == (70, True)
    assert set(Path().iterdir()) - before <= {Path("made")}, "half a file is left"


@pytest.mark.parametrize("call", ["run whole.hw", "check whole.hw"])
def test_a_machine_that_gives_no_more_is_no_bug(
    call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, said in [
        (MemoryError("Unable to allocate 7.45 GiB"), "not enough memory for this: Unable to"),
        (OSError(errno.EMFILE, "Too many open files", "x.so"), "Too many open files: x.so"),
    ]:

        def fail(*arguments: object, error: Exception = error, **named: object) -> None:
            raise error

        monkeypatch.setattr(PLACES[call], fail)
        assert main(call.split()) == 2
        assert said in capsys.readouterr().err


FAILS = ["run nothing.hw --format json", "run whole.hw:no --format json"]
LONG = "sweep whole.hw rate=1..2:300"
FOREIGN = "run whole.hw rate=0.2"  # what is printed of the file is no ASCII
ANSWERS = [call for call in PLACES if " -o " not in call and not call.startswith("compile")]
ANSWERS += [*FAILS, LONG, FOREIGN, "explain", "check --help"]
"""Calls that print something."""


def full() -> IO[str]:
    return open("/dev/full", "w")


def broken() -> IO[str]:
    end, start = os.pipe()
    os.close(end)
    return os.fdopen(start, "w")


def closed() -> IO[str]:
    return os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")


@pytest.mark.parametrize(
    ("stream", "code", "said"),
    [
        (full, 2, "hwdsl: cannot write to standard output: No space left on device\n"),
        (closed, 2, "hwdsl: cannot write to standard output: it is closed\n"),
        (broken, 0, ""),
    ],
)
@pytest.mark.parametrize("call", ANSWERS)
def test_output_that_nobody_can_have(
    call: str, stream: Callable[[], IO[str]], code: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("hwdsl.api.driver.warn_once", lambda notice: None)
    with stream() as opened:
        monkeypatch.setattr(sys, "stdout", opened)
        found, err = main(call.split()), capsys.readouterr().err
    # Of a busy machine it may be told that a command takes long.
    err = "".join(x for x in err.splitlines(keepends=True) if "takes long" not in x)
    if call in FAILS:  # that is told too
        assert (found, err.endswith(said)) == (2, True)
    else:
        assert (found, err) == (code, said)


@pytest.mark.parametrize("call", ANSWERS)
def test_output_without_the_character(
    call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(inner, "ascii"))
    code = main(call.split())
    said = "standard output is in ascii, which has no '\\xf6'" if call == FOREIGN else ""
    assert code in (0, 2)
    assert said in capsys.readouterr().err
    assert (call == FOREIGN or call in FAILS) == (code == 2)  # what can be written is
    assert (call == LONG) == (b"\n... 280 more rows: write" in inner.getvalue())


def test_an_ellipsis_is_three_dots_where_there_is_none() -> None:
    Path("wrong.hw").write_text("edition 2026\n\nclass x\n")
    for words, code in [("check wrong.hw", 1), ("run wrong.hw", 1)]:
        command = [sys.executable, "-m", "hwdsl", *words.split()]
        env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
        done = subprocess.run(command, capture_output=True, check=False, env=env)
        assert done.returncode == code
        assert b"..." in done.stdout + done.stderr
        assert b"u2026" not in done.stdout + done.stderr


@pytest.mark.parametrize("how", [">&-", "<&- >&-", "<&- >&- 2>&-", "> /dev/full", "2> /dev/full"])
def test_streams_as_a_shell_gives_them(how: str) -> None:
    for words, code in [
        ("cache", 0 if how.startswith("2>") else 2),
        ("fmt whole.hw", 0),
        (FAILS[0], 2),
    ]:
        command = f"{sys.executable} -m hwdsl {words} {how}"
        Path("whole.hw").write_text(WHOLE)
        main(["fmt", "whole.hw"])
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "Exception ignored" not in done.stderr
        if words != FAILS[0]:
            assert done.stderr.count("\n") == (0 if code == 0 or "2>" in how else 1)


def test_texts_of_files_do_not_reach_the_terminal_as_controls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    odd = "\x1b]0;title\x07 \x9b31m \u202e \r"
    Path("rows.csv").write_text(
        f'work [GB],rate [TB/s],took [ms],who\n10,1,13,"{odd}\n."\n', "utf-8"
    )
    Path("whole.hw").write_text(
        WHOLE.replace("output   = time", "output   = time\n    label    = who\n    group    = who")
    )
    Path("\x1b[2J.hw").write_text("edition 2026")
    for words in [
        ["validate", "--rows", "whole.hw"], ["fit", "whole.hw", "rows.csv", "--group", "who"],
        ["report", "whole.hw"], ["check", "\x1b[2J.hw", "no\x1b.hw"], ["run", "whole.hw", "\x1b=1"],
        ["run", "whole.hw:\x1b"], ["explain", "\x1b"], ["validate", "whole.hw", "--group", "a\rb"],
    ]:  # fmt: skip
        main(words)
        out, err = capsys.readouterr()
        assert out + err
        assert not set(out + err) & set("\x1b\x07\x9b\u202e\r")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_that_is_asked_to_end_leaves_nothing(number: signal.Signals, code: int) -> None:
    script = (
        "import os, sys\n"
        "from hwdsl.cli.main import main\n"
        "import hwdsl.cli.files as files\n"
        "def stop(*_):\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    import time; time.sleep(10)\n"
        "files._umask = stop\n"
        "sys.exit(main(['new', 'fresh.hw']))\n"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, f"hwdsl: ended by {number.name}\n")
    assert time.monotonic() - start < 8
    assert sorted(os.listdir()) == ["rows.csv", "whole.hw"]


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "whole.hw/x", "none/x.hw", "\udcff"])
@pytest.mark.parametrize("call", sorted({call.replace("rate=1..2:3", "") for call in PLACES}))
def test_names_that_no_file_can_have(
    call: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in set(call.split()[1:]) & {"whole.hw", "rows.csv", "out.csv", "out", "found.hw"}:
        words = [name if word == part else word for word in call.split()]
        if part in ("out.csv", "out", "found.hw"):
            if name not in ("a" * 300, "whole.hw/x"):
                continue
            words[-1] += Path(part).suffix
        assert (main(words), "bug" in capsys.readouterr().err) in ((1, False), (2, False))


@pytest.mark.parametrize("took", ["5e-324", "1e-320", "1e308", "-1e308", "1e200"])
@pytest.mark.parametrize(
    "call",
    [
        "validate whole.hw", "validate whole.hw -o out.svg", "report whole.hw -o out",
        "fit whole.hw rows.csv --measured time=took",
        "fit whole.hw rows.csv --measured time=took --absolute",
    ],
)  # fmt: skip
def test_measurements_of_any_size_give_an_answer_or_a_message(
    call: str, took: str, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    Path("rows.csv").write_text(ROWS + f"30,2,{took}\n30,1,1e300\n")
    assert main(call.split()) in (0, 1)
    assert "bug" not in capsys.readouterr().err
    assert [str(w.message) for w in recwarn] == []
