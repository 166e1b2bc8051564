"""Wrong calls: exit code 2, what is meant, and the usage of the command that was asked for."""

import json
from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.base import commands
from hwdsl.cli.main import main

TEXT = """edition 2026

evaluator decode {
    param rate  : data / time = 3 TB/s in 1 TB/s .. 10 TB/s
    param batch : int         = 16     in 1 .. 512
    output time in s = batch * 1 TB / rate
}
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("decode.hw").write_text(TEXT)
    Path("data.csv").write_text("batch,time [s]\n3,1\n")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *[(f"{c} decode", "did you mean `decode.hw`?") for c in commands()
          if c not in ("fit", "explain", "new", "cache", "doctor")],
        ("fit decode data.csv", "did you mean `decode.hw`?"),
        ("fit decode.hw dta.csv", "did you mean `data.csv`?"),
        ("validate decode.hw --data dat.csv --measured time --predicted time", "`data.csv`?"),
        ("run decod.hw:decode", "did you mean `decode.hw`?"),
        ("run decode.hw:decoed", "did you mean `decode`?"),
        ("run .", "Is a directory"),
        ("run decode.hw bacth=3", "did you mean batch?"),
        ("run decode.hw --tree tme", "did you mean `time`?"),
        ("why decode.hw tme", "did you mean `time`?"),
        ("sweep decode.hw bacth=3", "did you mean batch?"),
        ("run decode.hw --jsn", "usage: hwdsl run "),
        ("cache claer", "usage: hwdsl cache "),
        ("run", "required: FILE[:EVALUATOR]\n"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_2_and_says_what_is_meant(
    call: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call.split()) == 2
    out, err = capsys.readouterr()
    assert said in out + err
    assert "has errors" not in err


def test_check_goes_on_with_the_other_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.hw").write_text("edition 2026\nlet x = 1 m + 1 s\n")
    assert main(["check", "none.hw", "bad.hw"]) == 2
    assert "error[unit-mismatch]" in capsys.readouterr().out


@pytest.mark.parametrize("command", commands())
def test_help_has_a_purpose_and_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    purpose, example = commands()[command]
    assert f"\n{purpose}\n" in out
    assert example.startswith(f"hwdsl {command}")
    assert out.endswith(f"example:\n  {example}\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": "4.8 tb/s"}, "did you mean `TB`?"),
        ({"rate": "4.8 TBps"}, "did you mean `TB/s`?"),
        ({"batch": [16, 513]}, "decode.batch: 513 is out of range"),
        ({"batch": [16, 1.5]}, "decode.batch: 1.5 is not whole"),
        ({"rate": "100 GB/s"}, "100 GB/s is out of range; it is a number from 1000 to 10000 GB/s"),
        ({"rate": "1..2e4 GB/s:2"}, ": 0.001 TB/s is out of range; it is a number from 1 to 10"),
        ({"batch": "5 %"}, "5 % is out of range; it is a whole number from 100 to 51200 %"),
    ],
)
def test_values_are_refused_as_they_were_written(given: dict[str, object], said: str) -> None:
    decode = hwdsl.load("decode.hw", compiled=False).decode
    with pytest.raises(ValueError, match=r"^decode\.") as found:
        decode.sweep(given)
    assert said in str(found.value)


LACKING = """edition 2026
kind board { price : money = unknown "no public price" }
board b { }
evaluator e {
    param n : int in 1 .. 9
    output cost in USD = n * b.price
    output twice in USD = 2 * b.price
}
evaluator f { output one = 1 }
"""


def test_what_evaluators_need_is_listed_before_they_are_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lacking.hw").write_text(LACKING)
    assert main(["check", "--needs", "lacking.hw"]) == 1
    out = capsys.readouterr().out
    assert out == (
        "e needs 1 value that nobody gives\n"
        "  `b.price` is not known: no public price\n"
        "    read in 2 places: lacking.hw:6:30\n"
        "    give it a value: `b with { price = … }`\n"
        "  to be given in each call: n\n"
        "f needs no value that is not known\n"
    )
    assert main(["check", "--needs", "lacking.hw", "--format", "json"]) == 1
    e, f = map(json.loads, capsys.readouterr().out.splitlines())
    assert [v["missing"] for v in e.pop("values")] == ["b.price"]
    assert e == {"answer": "needs", "evaluator": "e", "params": ["n"], "other_errors": 0}
    assert (f["evaluator"], f["values"], f["params"]) == ("f", [], [])
    assert main(["check", "--needs", "lacking.hw:f"]) == 0
    assert main(["check", "--needs", "lacking.hw:g"]) == 2
    assert "lacking.hw has no evaluator g; it has e, f" in capsys.readouterr().err
    assert main(["run", "lacking.hw:e"]) == 1
    assert capsys.readouterr().err.count("error[unknown-value]") == 1


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_params_without_a_default_are_asked_for_at_once(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXT.replace("= 3 TB/s in", "in").replace("= 16     in", "in")
    Path("asks.hw").write_text(text)
    assert main([command, "asks.hw"]) == 2
    assert capsys.readouterr().err == (
        "hwdsl: decode: values are needed of rate (a number from 1 to 10 TB/s), "
        "batch (a whole number from 1 to 512)\n"
    )
    assert main([command, "asks.hw", "batch=3"]) == 2
    assert "decode.rate: a value is needed; it is a number from" in capsys.readouterr().err
