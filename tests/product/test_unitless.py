"""Numbers need a unit where the file shows none: in calls, sweeps and compiled modules."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hwdsl
from hwdsl.api.interface import evaluator_spec
from hwdsl.codegen import runtime

UNITLESS = """edition 2026

evaluator room {
    param width  : length
    param height : length = 2 * 1 m in 1 m .. 4 m
    param depth  : length = 2 * 1 m in 2 * 1 m .. 2 * (3 m)
    param side   : length = 5 * 1 m in [5 * (1 m), 6 * (1 m)]
    param floors : int = 1
    output volume in m^3 = width * height * depth * floors + side * side * side
}
"""


@pytest.fixture(params=["compiled", "interpreted", "alone"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The evaluator from the file, and from a compiled module that stands alone."""
    file = tmp_path / "room.hw"
    file.write_text(UNITLESS)
    found = hwdsl.load(file, compiled=request.param != "interpreted").room
    if request.param != "alone":
        return found
    spec = evaluator_spec(found.info, found.elaboration, found.units)
    return runtime.KernelEvaluator(spec, found.kernel)


@pytest.mark.parametrize("value", [3, 3.0, np.float64(3), "3", "-3", [1.0], np.ones(2), ["1 m", 2]])
def test_a_number_needs_a_unit_where_the_file_shows_none(room: Any, value: Any) -> None:
    with pytest.raises(
        ValueError, match=r'room\.width: \S+ has no unit .*\(length\): write "\S+ m"'
    ):
        room.sweep(width=value)
    if np.ndim(value) == 0:
        with pytest.raises(ValueError, match=r"room\.width: .* has no unit"):
            room(width=value)


def test_texts_with_units_a_range_with_one_and_labels_will_do(room: Any) -> None:
    assert room(width="300 cm").volume == 3 * 4 + 125
    assert room(width="1 m", height=3, floors=2).volume == 12 + 125
    assert room(width="1 m", side="6").volume == 4 + 216
    with pytest.raises(ValueError, match=r"side: 3 cm is none of them; it is one of 500, 600 cm"):
        room(width="1 m", side="3 cm")
    with pytest.raises(ValueError, match=r"room\.side: 6 has no unit"):
        room(width="1 m", side=6)
    with pytest.raises(ValueError, match=r"room\.depth: 3 has no unit"):
        room(width="1 m", depth=3)


@pytest.mark.parametrize("value", [np.inf, "inf", "inf m", np.float64(np.inf), ["1 m", "inf"]])
def test_infinity_is_the_same_in_every_unit(room: Any, value: Any) -> None:
    assert room.sweep(width=value)["volume"].ravel()[-1] == np.inf
    with pytest.raises(ValueError, match=r"room\.height: inf is out of range"):
        room(width="1 m", height="inf")
    with pytest.raises(ValueError, match=r"room\.width: `inf s` is time, but length"):
        room(width="inf s")


def test_a_spread_needs_one_unit(tmp_path: Path) -> None:
    file = tmp_path / "room.hw"
    file.write_text(UNITLESS)
    room = hwdsl.load(file, compiled=False).room
    assert room.sweep(width="1..3 m:3")["volume"].tolist() == [129, 133, 137]
    assert room.sweep(width="-2..-1 km:2")["volume"].tolist() == [125 - 8000, 125 - 4000]
    assert room.sweep(width="1 m", side="all")["volume"].tolist() == [129, 220]
    for text in ("1..3:3", "1 m..3:3", "1,2"):
        with pytest.raises(ValueError, match=r"width.* has no unit"):
            room.sweep(width=text)
    with pytest.raises(ValueError, match=r"room\.depth: 9\.0 m is out of range"):
        room.sweep(width="1 m", depth="3..9 m:2")
