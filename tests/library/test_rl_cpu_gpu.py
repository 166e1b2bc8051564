"""Reinforcement learning on CPU and GPU: times, power and balance by hand."""

import pytest

import hwdsl
from tests import shipped

STUDY = shipped.ROOT / "library" / "studies" / "rl_cpu_gpu.hw"
SPEED = 20 * 2.2 / 3.6 * 1.11
"""Rate of the Xeon E5-2698 v4 with all threads busy over that of one thread at 3.6 GHz."""
STEP = 4 / 4449
# One inference; each step trained 1.5 times: 1.4 sequences forward through two networks, and a
# backward pass of twice the forward one; V100 at 30 % of 15.7 TFLOP/s.
ITEM = (1 + 1.5 * (2 * 1.4 + 2)) * 24e6 / (0.3 * 15.7e12)


@pytest.fixture(scope="module")
def study() -> hwdsl.Module:
    return hwdsl.load(STUDY, compiled=False)


def test_the_ends_of_the_curve(study: hwdsl.Module) -> None:
    """One actor waits for a batch of its own; many find every thread busy."""
    one, many = study.actors(actors=1), study.actors(actors=256)
    assert one.throughput * 1e3 == pytest.approx(1 / (STEP + 1.1e-3 + ITEM), rel=1e-3)
    assert many.throughput * 1e3 == pytest.approx(SPEED / STEP, rel=1e-2)


def test_balance_and_power(study: hwdsl.Module) -> None:
    found = study.actors(actors=64, sms=40)
    capacity = 1 / (2 * ITEM)
    assert found.balanced_ratio == pytest.approx(40 * capacity / (SPEED / STEP) / 40, rel=1e-3)
    rate = found.throughput * 1e3
    busy = rate / capacity
    cpu = 135 * (0.3 + 0.7 * rate / (SPEED / STEP))
    power = 40 + busy * 260 + cpu
    assert found.steps_per_joule == pytest.approx(rate / power, rel=1e-3)


def test_rollouts_by_hand(study: hwdsl.Module) -> None:
    """8.03e9 parameters in 2 bytes, 0.53e9 of them looked up without FLOPs; 128 KiB of cache a
    token; 3.35 TB/s and 989 TFLOP/s."""
    found = study.rollouts(rollouts=128, environment_time="10 s")
    flops = 0.4 * 989e12
    token = 4000 * 131072 / (0.8 * 3.35e12) + 8 * 7.5e9 / flops
    turn = 500 * (2 * 8.03e9 / (0.8 * 3.35e12) + 128 * token)
    thread = 14 * (2.0 / 3.8) * 1.11 / 28 / 10
    assert found.balanced_threads == pytest.approx(128 / turn / thread, rel=2e-2)
    bound = study.rollouts(rollouts=128, environment_time="1000 s")
    assert float(bound.tokens) == pytest.approx(500 * thread * 28 / 100, rel=1e-2)
