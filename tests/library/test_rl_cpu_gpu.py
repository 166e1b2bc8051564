"""Reinforcement learning on CPU and GPU: times, power and balance by hand."""

import pytest
import shipped

import hwdsl

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


def test_replay_by_hand(study: hwdsl.Module) -> None:
    """Each step is kept 1.4 times (burn-in) and drawn 1.5 times as often; a copy reads and writes,
    at 19.2 GB/s of a channel; 100,000 sequences of 140 pictures."""
    found = study.actors(actors=256)
    copied = 2 * 7056 * (1.4 + 1.5 * 1.4)
    rate = float(found.throughput) * 1e3
    assert found.replay_utilization == pytest.approx(100 * rate * copied / 19.2e9, rel=1e-6)
    assert found.replay_memory == pytest.approx(1e5 * 140 * 7056 / 1e9)
    large = study.actors(actors=256, observation="1 MB")
    assert large.throughput == pytest.approx(19.2e9 / (2e6 * 3.5) / 1e3, rel=1e-6)
    assert large.replay_utilization == pytest.approx(100)
    assert large.cpu_utilization < found.cpu_utilization


@pytest.mark.parametrize(("round_trip", "gpu_time"), [(0.0, 0.04), (0.9, 0.001), (3.0, 0.04)])
def test_constant_rates_bend_one_leg_only(
    study: hwdsl.Module, round_trip: float, gpu_time: float
) -> None:
    """The product form by its normalization constants: thinking, one server, forty servers."""
    unit = STEP * 1e3 / 40  # sums stay within floats
    step, round_trip_of, gpu_time_of = 40.0, round_trip / unit, gpu_time / unit

    def constants(most: int) -> list[float]:
        away = [1.0]
        threads = [1.0]
        for n in range(1, most + 1):
            away.append(away[-1] * round_trip_of / n)
            threads.append(threads[-1] * step / min(n, 40))
        both = [sum(away[i] * threads[n - i] for i in range(n + 1)) for n in range(most + 1)]
        for n in range(1, most + 1):  # Buzen: one server more
            both[n] += gpu_time_of * both[n - 1]
        return both

    found = study.constant_rates(round_trip=f"{round_trip} ms", gpu_time=f"{gpu_time} ms")
    sums = constants(256)
    few, some, many = (sums[n - 1] / sums[n] for n in (4, 40, 256))
    assert found.first_leg == pytest.approx(some / few, rel=1e-6)
    assert found.second_leg == pytest.approx(many / some, rel=1e-6)
    assert found.first_leg > 9.9 or found.second_leg < 1.9
