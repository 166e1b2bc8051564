"""`why` shows the value of `run` to the bit: of three programs found.

They had another value while `why` evaluated the text again with all params known. Of drawn programs
`test_law.py` asks this among all else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.main import main

from .comparing import same

KNOWN = """edition 2026
kind part { v : real }
part X { v = unknown "nobody says" }
part Y { v = 7 }
evaluator e {
    choice c : part in [X, Y] = Y
    param k : real = 1 in 0 .. 2
    output price = k * (if known(c.v) then c.v else 1)
}
"""
LOWEST = """edition 2026
evaluator e {
    param n : int = 20 in 0 .. 40
    param x : real = 0 in 0 .. 1
    output long  = lowest(x / x + k for k in 0 .. n).value
    output short = lowest(x / x + k for k in 0 .. 9).value
}
"""
ZERO = """edition 2026
evaluator e {
    param n : int = 1 in 0 .. 2
    param x : real = 0 in 0 .. 1
    output y = 1 / sum(-x for i in 1 .. 3 if i > n)
    output z = max(0, 1 / sum(-x for i in 1 .. 3 if i > n))
}
evaluator f {
    param x : real = 0 in 0 .. 1
    output z = e(n = 1, x = x).z
    output y = e(n = 1, x = x).y
}
"""


@pytest.mark.parametrize("text", [KNOWN, LOWEST, ZERO], ids=["known", "lowest", "zero"])
def test_why_and_run_agree_where_folding_differed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "one.hw"
    path.write_text(text)
    for evaluator in hwdsl.load(path, compiled=False).evaluators.values():
        points = [{"c": label} for label in ("X", "Y")] if text is KNOWN else [{}]
        for point in points:
            result = evaluator(point)
            for name, found in evaluator.derivations([], point).items():
                assert found.unit is not None
                assert same(found.unit.from_base(found.value), result[name])


CHAIN = """edition 2026
evaluator e {
    param p : real = 1 in 0 .. 1
    let x0 = p
%s    output o = x%d
}
"""


def test_a_chain_of_sums_takes_one_step_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chain.hw"
    lets = "".join(f"  let x{i + 1} = x{i} * x{i} + x{i}\n" for i in range(40))
    path.write_text(CHAIN % (lets, 40))
    evaluator = hwdsl.load(path, compiled=False).e
    found, result = evaluator.why("o", p=0.001), evaluator(p=0.001)
    assert found.value == result["o"] == pytest.approx(0.00104162, rel=1e-5)
    assert [t.step.name for t in found.terms] == ["x39 * x39", "x39"]
    assert main(["run", str(path), "p=0.001"]) == 0
    assert "o is the sum of" in capsys.readouterr().out
