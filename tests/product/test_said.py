"""A compiled module says of a broken rule what hwdsl says."""

import importlib.util
import itertools
import sys
from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.main import main

FILE = """\
edition 2026

enum mood { calm, wild }

kind part {
    size : data
    rate : bandwidth
    wait : time
    require wide: rate > 0.5 GB/s
        else "{rate} is less than {0.5 GB/s}, at {rate in kB/s} and {wait}"
        help "take a wider one"
}

evaluator e {
    param x : real = 1 in -1e300 .. 1e300
    param n : int = 3 in 0 .. 9
    param m : mood = calm
    param ok : bool = true
    param load : data = 1 GB

    let one = part(size = load, rate = load / 1 s, wait = x * 1 ms)

    output y = x
    require small: x < 0
        else "x = {x}, share {x in %}, {n} of {[n, n + 1]}, {m} and {ok}, {load} {{as is}}"
    require each: all(n > i for i in 0 .. 2) else "only {n}"
    warn quick: x / (n - 3) < 2 else "x by n: {x / (n - 3)}"
}
"""


def test_messages_of_a_compiled_module_are_those_of_hwdsl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("said.hw").write_text(FILE)
    assert main(["compile", "said.hw", "-o", "."]) == 0, capsys.readouterr().err
    spec = importlib.util.spec_from_file_location("said", "said.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "said", module)
    spec.loader.exec_module(module)
    full = hwdsl.load("said.hw").e
    points = itertools.product(
        [0.0, -0.0, 1.0, 0.5, 1234.5, 98765.4321, 1e7, 1e-9, 1e300, -3.0], [0, 2, 3, 4],
        ["calm", "wild"], [True, False],
        ["0 GB", "1 B", "999.9 B", "0.9999 kB", "1 kB", "499 MB", "1 TB", "123 EB"],
    )  # fmt: skip
    seen = set()
    for k, (x, n, m, ok, s) in enumerate(points):
        if k % 7:  # enough of them, with all values
            continue
        at = {"x": x, "n": n, "m": m, "ok": ok, "load": s}
        told = module.e.violated_rules(at)
        assert told == full.violated_rules(at), at
        seen.update(name for name, _, _ in told)
    assert seen == {"small", "each", "quick", "one.wide"}
