"""Readings in degC: whole literals with a sign, kept in kelvin."""

from __future__ import annotations

import pytest

from .helper import broken, checked, elaborated, found, run
from .test_claims import claim_of

COLD = """evaluator e {
    param T : temperature = -5 degC in -40 degC .. 85 degC
    let list = [-1 degC, +3 degC]
    output y in degC = T
    output z in degC = if T < -4 degC then -40 degC else 0 degC
    output first in degC = list[0]
    output apart : temperature = list[1] - list[0]
    require dry: T > -20 degC else "{T in degC} is below {-20 degC in degC}"
}"""


def test_the_sign_belongs_to_the_reading() -> None:
    assert run(COLD) == pytest.approx({"y": 268.15, "z": 233.15, "first": 272.15, "apart": 4.0})
    (param,) = elaborated(COLD)[0].params
    assert (param.default, param.low, param.high) == (268.15, 233.15, 358.15)
    assert param.unit.name == "degC"
    assert broken(COLD, T=243.15) == {"dry": "-30 degC is below -20 degC"}


@pytest.mark.parametrize(
    "value",
    ["5 degC + 5 degC", "2 * 5 degC", "-5 degC / 2", "x - 25 degC", "- -5 degC", "5 degC ^ 2"],
)
def test_a_reading_is_not_calculated_with(value: str) -> None:
    assert [name for name, _ in found(f"let x = 300 K\nlet y = {value}")] == ["affine-unit"] * (
        2 if value.count("degC") == 2 else 1
    )


def test_a_reading_is_no_tolerance() -> None:
    text = "claim c { expect 20 degC == 21 degC within %s absolute }"
    assert [name for name, _ in found(text % "5 degC")] == ["affine-unit"]
    assert claim_of(checked(text % "5 K")).ok
    assert not claim_of(checked(text % "0.5 K")).ok


def test_a_reading_beyond_all_numbers_is_one_finding() -> None:
    assert [name for name, _ in found("unit hot = 1e9 K offset 3\nlet y = -1e305 hot")] == [
        "number-too-large"
    ]
