"""Quantization beside GEMMs by hand, and what must hold of it at any number of tokens."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDIES / "jit_q.hw", compiled=False)


@pytest.mark.parametrize(("master", "bits"), [("FP32", 32), ("BF16", 16)])
@pytest.mark.parametrize(("name", "narrow"), [("MX9", 9), ("MX6", 6), ("MXFP8", 8.25)])
def test_quantization_by_hand(
    study: Module, master: str, bits: int, name: str, narrow: float
) -> None:
    """Eight words are read twice and stored to another row, by 128 units of each 256 GB/s."""
    found = study.just_in_time(master=master, format=name)
    tile = (16 + 8 * narrow / bits) * 4 + (19 - 4) + (5 - 4 + 14 + 10)
    rate = 128 * 8 * 32 / (tile * 1e-9) * (1 - 350 / 3900) * 5300 / 256
    assert found["quantization_time"] == pytest.approx(
        1e3 * 12 * 12288**2 * bits / 8 / rate, rel=0.02
    )


@settings(max_examples=25, deadline=None)
@given(
    tokens=st.integers(256, 65536),
    more=st.integers(1, 4),
    rate=st.floats(0.125, 2),
    gpu=st.sampled_from(["MI300X_OAM", "H100_SXM_80GB", "B200_SXM_180GB"]),
)
def test_loss_falls_with_the_rate_and_lies_between_its_bounds(
    study: Module, tokens: int, more: int, rate: float, gpu: str
) -> None:
    slow = study.just_in_time(tokens=tokens, gpu=gpu, format="MXFP8", pim_rate=rate)
    fast = study.just_in_time(tokens=tokens, gpu=gpu, format="MXFP8", pim_rate=rate * more)
    assert fast["loss"] <= slow["loss"] + 1e-9
    assert slow["hidden_loss"] <= slow["loss"] + 1e-9
    assert slow["loss"] <= slow["in_turn_loss"] + 1e-9


def test_copies_by_hand(study: Module) -> None:
    for sharding in (1, 8, 64):
        found = study.capacity(format="MX6", sharding=sharding)
        assert found["stored"] == pytest.approx(4 + 1.5 + 2 + 8 / sharding)
        assert found["just_in_time"] == pytest.approx(4 + 2 + 8 / sharding)
