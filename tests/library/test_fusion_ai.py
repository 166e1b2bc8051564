"""Pipelines over unlike devices and peers that leave, against search, simulation and hand."""

from itertools import product
from math import comb, exp, inf
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
TEXT = """edition 2026
#! What the tests ask.
use std.heterogeneous_pipeline: device_group, heterogeneous_pipeline
use std.reliability: goodput_between_interruptions, checkpoint_interval
use std.wide_area: wide_area_path

evaluator placement {
    param layers      : int  = 10   in 1 .. 100
    param devices     : int  = 2    in 0 .. 100
    param more        : int  = 3    in 0 .. 100
    param layer_time  : time = 1 ms in 0.001 ms .. 1 s
    param slower      : real = 2    in 0.01 .. 100
    param held        : int  = 4    in 0 .. 100
    param sending     : time = 0 ms in 0 ms .. 1 s
    param microbatches : int = 1    in 1 .. 1000
    let p = heterogeneous_pipeline(
        layers = layers,
        groups = [
            device_group(
                devices = devices,
                layer_time = layer_time,
                max_layers = held,
                send_time = sending,
            ),
            device_group(devices = more, layer_time = slower * layer_time, send_time = sending),
        ],
    )
    output slowest in ms = p.stage_time
    output latency in ms = p.latency
    output total   in ms = p.time(microbatches)
    output stages        = p.stages
}

evaluator message {
    param size       : data      = 1 MB     in 1 B .. 1 GB
    param bandwidth  : bandwidth = 100 Mb/s in 1 Mb/s .. 100 Gb/s
    param round_trip : time      = 100 ms   in 0 ms .. 1 s
    let path = wide_area_path(bandwidth = bandwidth, round_trip_time = round_trip)
    output cold in s = path.message_time(size)
    output warm in s = path.stream_time(size)
}

evaluator job {
    param mtbf     : time = 1 h   in 1 s .. 1000 h
    param saving   : time = 60 s  in 1 s .. 10 h
    param restart  : time = 120 s in 0 s .. 10 h
    param longer   : real = 1     in 0.1 .. 10
    let best = checkpoint_interval(mtbf, saving)
    output interval in s = best
    output goodput = goodput_between_interruptions(mtbf, longer * best, saving, restart)
}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("fusion") / "asked.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


def least_bottleneck(layers: int, times: list[float], most: list[float]) -> float:
    """The slowest stage if each layer in turn goes to the device that then takes the least time."""
    placed = [0] * len(times)
    for _ in range(layers):
        after = [(n + 1) * t if n < m else inf for n, t, m in zip(placed, times, most, strict=True)]
        placed[after.index(min(after))] += 1
    return max(n * t for n, t in zip(placed, times, strict=True))


@settings(max_examples=60, deadline=None)
@given(
    layers=st.integers(1, 60),
    devices=st.integers(0, 12),
    more=st.integers(1, 12),
    slower=st.sampled_from([0.3, 0.77, 1.0, 1.9, 7.1]),
    held=st.integers(0, 8),
    sending=st.sampled_from([0.0, 0.4, 9.0]),
)
def test_the_slowest_stage_is_the_least_that_is_possible(
    asked: Module, layers: int, devices: int, more: int, slower: float, held: int, sending: float
) -> None:
    given_ = {"layers": layers, "devices": devices, "more": more, "slower": slower, "held": held}
    got = asked.placement(**given_, sending=f"{sending} ms", microbatches=7)
    times = [1.0] * devices + [slower] * more
    bottleneck = least_bottleneck(layers, times, [held] * devices + [inf] * more)
    assert got.slowest == pytest.approx(bottleneck, rel=1e-9)
    assert 1 <= got.stages <= min(devices + more, layers)
    # The latency is between that of the quicker and of the slower devices, each stage sending once.
    sent = got.stages * sending
    assert layers * min(times) - 1e-9 <= got.latency - sent <= layers * max(times) + 1e-9
    assert got.total == pytest.approx(got.latency + 6 * max(bottleneck, sending), rel=1e-9)


def simulated(size: int, rate: float, round_trip: float) -> float:
    """Arrival of the last byte: windows of ten segments that double with each acknowledgement."""
    now, window, left = 0.0, 14_600, size
    while True:
        sent = min(window, left)
        left -= sent
        if not left:
            return now + sent / rate + round_trip / 2
        # The first segments of the next window follow the acknowledgement, or the last of this one.
        now += max(sent / rate, round_trip)
        window *= 2


@pytest.mark.parametrize(
    ("size", "rate", "trip"),
    list(product([1_000, 14_600, 14_601, 400_000, 50_000_000], [1e6, 12.5e6, 1e9], [0.0, 0.1])),
)
def test_a_cold_connection_waits_for_acknowledgements(
    asked: Module, size: int, rate: float, trip: float
) -> None:
    got = asked.message(size=f"{size} B", bandwidth=f"{rate} B/s", round_trip=f"{trip} s")
    assert got.cold == pytest.approx(simulated(size, rate, trip), rel=1e-9)
    assert got.warm == pytest.approx(size / rate + trip / 2, rel=1e-12)


def elapsed(work: float, interval: float, saving: float, restart: float, mtbf: float) -> float:
    """Time of a job that a random generator interrupts, checkpoints and restarts included."""
    draw = Random(7)
    now, done = 0.0, 0.0
    failure = draw.expovariate(1 / mtbf)
    while done < work:
        if now + interval + saving <= failure:
            now, done = now + interval + saving, done + interval
            continue
        now = failure
        failure = now + draw.expovariate(1 / mtbf)
        while now + restart > failure:
            now = failure
            failure = now + draw.expovariate(1 / mtbf)
        now += restart
    return now


@pytest.mark.parametrize(("mtbf", "saving", "restart"), [(3600, 60, 120), (600, 200, 300)])
def test_goodput_is_that_of_a_simulated_job(
    asked: Module, mtbf: float, saving: float, restart: float
) -> None:
    got = asked.job(mtbf=f"{mtbf} s", saving=f"{saving} s", restart=f"{restart} s")
    work = 20_000 * mtbf
    time = elapsed(work, got.interval, saving, restart, mtbf)
    assert got.goodput == pytest.approx(work / time, rel=0.03)


@pytest.mark.parametrize("mtbf", [100, 600, 36_000])
def test_no_other_checkpoint_interval_is_much_better(asked: Module, mtbf: float) -> None:
    best = asked.job(mtbf=f"{mtbf} s").goodput
    others = [asked.job(mtbf=f"{mtbf} s", longer=x).goodput for x in (0.5, 0.7, 0.9, 1.1, 1.4, 2)]
    assert best >= max(others) * 0.98


def test_petals_by_hand() -> None:
    """Three round trips and six messages of 14,336 bytes beside what the servers compute."""
    far = hwdsl.load(STUDIES / "petals.hw", compiled=False).petals_inference()
    quick = 6 * (0.00125 + 14_336 / 125e6)
    assert far.step_time == pytest.approx(
        1e3 * (0.5848 - quick + 3 * 0.1 + 6 * 14_336 / 12.5e6), rel=1e-9
    )


@pytest.fixture(scope="module")
def fusion() -> Module:
    return hwdsl.load(STUDIES / "fusion_ai.hw", compiled=False)


@pytest.fixture(scope="module")
def at_home() -> Module:
    return hwdsl.load(STUDIES / "training_at_home.hw", compiled=False)


def test_the_slowest_of_computing_and_sending_sets_the_pace(fusion: Module) -> None:
    """Activations and gradients of 2,048 tokens x 5,120 x 2 bytes leave a peer each time."""
    sent = 2 * 2048 * 5120 * 2
    slow = fusion.fusion_ai(bandwidth="100 Mb/s", microbatches=1_000_000)
    assert slow.throughput == pytest.approx(2048 / (sent / 12.5e6), rel=1e-3)
    quick = fusion.fusion_ai(bandwidth="100 Gb/s", microbatches=1_000_000)
    assert quick.throughput == pytest.approx(2048 / (quick.stage_time / 1e3), rel=1e-3)
    assert slow.critical_bandwidth == pytest.approx(sent * 8 / quick.stage_time / 1e3, rel=1e-9)


def test_at_the_break_even_bandwidth_both_cost_the_same(at_home: Module) -> None:
    for session in (4, 24, 168):
        rate = at_home.break_even_link(session_time=f"{session} h").bandwidth
        there = at_home.per_dollar(session_time=f"{session} h", bandwidth=f"{rate!r} Mb/s")
        assert there.advantage == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize(
    ("given_", "rule"),
    [
        ({"gpu_hour_price": "0.1 USD/h"}, "even.ever_cheaper"),
        (
            {"gpu_hour_price": "100 USD/h", "compression": 1000, "session_time": "100000 h"},
            "even.ever_dearer",
        ),
    ],
)
def test_without_a_break_even_a_rule_says_which_is_always_cheaper(
    at_home: Module, given_: dict[str, str | int], rule: str
) -> None:
    assert rule in at_home.break_even_link(**given_).violations


def test_peers_beyond_the_layers_change_nothing(at_home: Module) -> None:
    """A peer holds a microbatch for each of 40 stages, not for each of 300 peers."""
    many, enough = at_home.per_dollar(peers=300), at_home.per_dollar(peers=40)
    assert many.feasible
    assert many.throughput == enough.throughput
    assert many.advantage == enough.advantage


def test_more_spares_never_take_goodput(at_home: Module) -> None:
    few, many, more = (
        at_home.per_dollar(availability=0.3, spares=n).goodput for n in (300, 560, 600)
    )
    assert few <= many <= more
    tail = sum(comb(640, k) * 0.3**k * 0.7 ** (640 - k) for k in range(40, 641))
    assert tail == pytest.approx(1, rel=1e-12)
    assert more == pytest.approx(at_home.per_dollar(availability=1, spares=0).goodput, rel=1e-9)


@pytest.mark.parametrize("length", [16, 128, 1024])
def test_microbatches_in_turn_keep_less_of_their_rate(length: int) -> None:
    """In turn, by hand: six cold messages of 1,024 tokens x 14,336 bytes for each microbatch."""
    petals = hwdsl.load(STUDIES / "petals.hw", compiled=False)
    many = petals.petals_forward(seq_length=length)
    quick = 64 * length / 253.6
    size = 1024 * 14_336
    added = 6 * (simulated(size, 12.5e6, 0.1) - simulated(size, 125e6, 0.0025))
    assert many.kept_in_turn == pytest.approx(quick / (quick + length / 16 * added), rel=1e-9)
    assert many.kept >= many.kept_in_turn * (1 - 1e-9)


def test_what_a_peer_costs_and_loses(at_home: Module) -> None:
    """1,158.94 dollars over four years at 8 % on half of it, and 420 W; a state of 4.4 GB."""
    got = at_home.per_dollar()
    years = 4 * 365.25 * 24
    depreciation = 1158.94 * (1 + 0.08 * 4 / 2) / years
    assert got.peer_cost_rate == pytest.approx(depreciation + 0.420 * 0.16, rel=1e-3)
    # parameters of a layer: 12 h^2 and 13 h of biases and norms
    transfer = 14 * (12 * 5120**2 + 13 * 5120) / 125e6
    mtbf = 24 * 3600 / 40
    half = transfer / (2 * mtbf)
    interval = (2 * transfer * mtbf) ** 0.5 * (1 + half**0.5 / 3 + half / 9) - transfer
    restart = 30 + transfer + 40 * 2 * 2048 * 5120 * 2 / 125e6
    kept = interval / mtbf / (exp(restart / mtbf) * (exp((interval + transfer) / mtbf) - 1))
    tail = sum(comb(50, k) * 0.9**k * 0.1 ** (50 - k) for k in range(40, 51))
    assert got.goodput == pytest.approx(100 * tail * kept, rel=1e-9)
