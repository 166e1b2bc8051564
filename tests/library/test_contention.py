"""Laws of contention: what streams share is conserved, and they slow each other only where they
share something."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

RESOURCES = ("units", "memory", "cache", "link")
STRATEGIES = (
    "serial", "concurrent", "prioritized", "partitioned", "dma_offload", "fused", "prefetched",
)  # fmt: skip
STREAM = "".join(
    f"    param {name}_{{0}} : real = 0.5 in 0 .. 1\n" for name in (*RESOURCES, "power")
)
DEMAND = """    let stream_{0} = resource_demand(
        isolated_time = time_{0}, compute_unit_fraction = units_{0},
        memory_bandwidth_fraction = memory_{0}, cache_bandwidth_fraction = cache_{0},
        link_bandwidth_fraction = link_{0}, power_fraction = power_{0},
    )
"""
PARAMS = "".join(
    f"    param time_{n} : time = 1 ms in 0 ms .. 1 s\n{STREAM.format(n)}" for n in "abc"
)
TEXT = f"""edition 2026
use std.contention
use std.overlap
use std.closed_networks: network_intervals, station

evaluator streams {{
{PARAMS}
    param units_lost  : real = 0 in 0 .. 4
    param memory_lost : real = 0 in 0 .. 4
    param chunks      : int  = 8 in 1 .. 64
    param room        : real = 1 in 0 .. 1
    choice arbitration : arbitration in [
        paced, proportional, first_prioritized, second_prioritized
    ] = paced
    choice strategy : overlap_strategy in [
        {", ".join(STRATEGIES)}
    ] = concurrent
{"".join(DEMAND.format(n) for n in "abc")}
    let coefficients = contention(
        leftover_unit_fraction = 0.05,
        unit_interference = units_lost,
        memory_interference = memory_lost,
        dma_slowdown = 1,
        dma_command_latency = 0 us,
        measured = true,
    )
    let two = stream_pair(
        first = stream_a, second = stream_b, arbitration = arbitration, contention = coefficients
    )
    let swapped = stream_pair(
        first = stream_b, second = stream_a, arbitration = arbitration, contention = coefficients
    )
    let both = overlap_pair(
        compute = stream_a, communication = stream_b, contention = coefficients,
        arbitration = arbitration, chunks = chunks, partition_steps = 8,
        prefetchable_fraction = room,
    )
    output pair       in ms = two.time
    output reversed   in ms = swapped.time
    output overlapped in ms = both.overlapped_time(strategy)
    output many       in ms = processor_sharing_time([stream_a, stream_b, stream_c], coefficients)
    output two_many   in ms = processor_sharing_time([stream_a, stream_b], coefficients)
}}

evaluator alike {{
    param time  : time = 1 ms in 0 ms .. 1 s
    param units : real = 0.5  in 0.01 .. 1
    let one = resource_demand(isolated_time = time, compute_unit_fraction = units)
    let queue = network_intervals(
        (1 - units) * time, [station(service_demand = units * time, servers = 1)], 3
    )
    output fluid  in ms = processor_sharing_time([one, one, one], assumed_contention with {{
        unit_interference = 0
    }})
    output queued in ms = 3 * queue[2]
}}
"""
fraction = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
Stream = dict[str, float]


def stream(name: str) -> st.SearchStrategy[Stream]:
    parts = {f"{r}_{name}": fraction for r in (*RESOURCES, "power")}
    return st.fixed_dictionaries({f"time_{name}": st.floats(0.01, 100), **parts})


losses = st.fixed_dictionaries(
    {name: st.one_of(st.just(0.0), st.floats(0, 3)) for name in ("units_lost", "memory_lost")}
)
arbitrations = st.sampled_from(["paced", "proportional", "first_prioritized", "second_prioritized"])
FULL_A = {"time_a": 1.0} | {f"{r}_a": 1.0 for r in RESOURCES} | {"power_a": 0.0}
FULL_B = {"time_b": 1.0} | {f"{r}_b": 1.0 for r in RESOURCES} | {"power_b": 0.0}
NO_LOSS = {"units_lost": 0.0, "memory_lost": 0.0}
SLACK = 1 + 1e-9


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path: Path = tmp_path_factory.mktemp("contention") / "streams.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path)


def least(streams: dict[str, float], names: str) -> float:
    """The longest stream alone, or the time that one resource needs for all of them. The power of
    engines, which are on no clock, is such a resource; that of kernels falls with the clock."""
    alone = [streams[f"time_{n}"] for n in names]
    demanded = [sum(streams[f"time_{n}"] * streams[f"{r}_{n}"] for n in names) for r in RESOURCES]
    engines = [n for n in names if streams[f"units_{n}"] == 0]
    energy = sum(streams[f"time_{n}"] * streams[f"power_{n}"] for n in engines)
    return max(*alone, *demanded, energy)


@settings(max_examples=80, deadline=None)
@given(a=stream("a"), b=stream("b"), lost=losses, how=arbitrations)
@example(a=FULL_A, b=FULL_B, lost=NO_LOSS, how="paced")
def test_two_streams_get_no_more_than_there_is(
    module: Module, a: Stream, b: Stream, lost: Stream, how: str
) -> None:
    found = module.streams(arbitration=how, **a, **b, **lost)
    assert found.pair * SLACK >= least(a | b, "ab")


@settings(max_examples=80, deadline=None)
@given(
    a=stream("a"), b=stream("b"), lost=losses, how=arbitrations, chunks=st.integers(1, 64),
    strategy=st.sampled_from(STRATEGIES), room=fraction,
)  # fmt: skip
@example(a=FULL_A, b=FULL_B, lost=NO_LOSS, how="paced", chunks=16, strategy="prioritized", room=1.0)
@example(a=FULL_A, b=FULL_B, lost=NO_LOSS, how="paced", chunks=16, strategy="fused", room=1.0)
@example(a=FULL_A, b=FULL_B, lost=NO_LOSS, how="paced", chunks=16, strategy="prefetched", room=0.5)
def test_no_strategy_gives_more_than_there_is(
    module: Module, a: Stream, b: Stream, lost: Stream, how: str, chunks: int, strategy: str,
    room: float,
) -> None:  # fmt: skip
    """Of any resource, for any strategy. DMA engines take no units and are on no clock."""
    found = module.streams(
        arbitration=how, strategy=strategy, chunks=chunks, room=room, **a, **b, **lost
    ).overlapped
    by_engines = strategy in ("dma_offload", "prefetched")
    demanded = a | b | ({"units_b": 0.0} if by_engines else {})
    assert found * SLACK >= least(demanded, "ab")
    assert found <= (a["time_a"] + b["time_b"]) * SLACK


@settings(max_examples=60, deadline=None)
@given(a=stream("a"), b=stream("b"), c=stream("c"), lost=losses)
def test_many_streams_get_no_more_than_there_is(
    module: Module, a: Stream, b: Stream, c: Stream, lost: Stream
) -> None:
    assert module.streams(**a, **b, **c, **lost).many * SLACK >= least(a | b | c, "abc")


@settings(max_examples=60, deadline=None)
@given(a=stream("a"), b=stream("b"), lost=losses)
def test_two_of_many_streams_are_the_pair(
    module: Module, a: Stream, b: Stream, lost: Stream
) -> None:
    found = module.streams(arbitration="proportional", **a, **b, **lost)
    assert found.two_many == pytest.approx(found.pair, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(a=stream("a"), b=stream("b"), lost=losses, how=st.sampled_from(["paced", "proportional"]))
def test_nothing_but_demands_tells_streams_apart(
    module: Module, a: Stream, b: Stream, lost: Stream, how: str
) -> None:
    found = module.streams(arbitration=how, **a, **b, **lost)
    assert found.reversed == pytest.approx(found.pair, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    a=stream("a"), b=stream("b"), c=stream("c"), lost=losses, how=arbitrations,
    owners=st.tuples(*[st.sampled_from("abc") for _ in RESOURCES]),
)  # fmt: skip
def test_streams_that_share_nothing_do_not_slow_each_other(
    module: Module, a: Stream, b: Stream, c: Stream, lost: Stream, how: str, owners: tuple[str, ...]
) -> None:
    """Each resource has one owner; the power of all together is within the limit."""
    streams = a | b | c
    for resource, owner in zip(RESOURCES, owners, strict=True):
        streams |= {f"{resource}_{n}": 0.0 for n in "abc" if n != owner}
    streams |= {f"power_{n}": streams[f"power_{n}"] / 3 for n in "abc"}
    found = module.streams(arbitration=how, **streams, **lost)
    assert found.pair == pytest.approx(max(streams["time_a"], streams["time_b"]))
    assert found.many == pytest.approx(max(streams[f"time_{n}"] for n in "abc"))


DEMANDED = ("units", "memory", "cache", "link", "power")


@settings(max_examples=150, deadline=None)
@given(
    a=stream("a"), b=stream("b"), lost=losses, what=st.sampled_from(DEMANDED), more=fraction,
    how=st.one_of(st.just("paced"), arbitrations),
)  # fmt: skip
@example(
    a=FULL_A | {"cache_a": 0.8, "memory_a": 0.6, "units_a": 0.0, "link_a": 0.0, "time_a": 1.0},
    b=FULL_B | {"cache_b": 0.5, "units_b": 0.0, "link_b": 0.0, "time_b": 10.0},
    lost={"units_lost": 0.0, "memory_lost": 3.0}, how="first_prioritized", what="cache", more=1.0,
)  # fmt: skip
def test_a_stream_that_demands_more_is_not_done_sooner(
    module: Module, a: Stream, b: Stream, lost: Stream, what: str, more: float, how: str
) -> None:
    """The law is exact where the two are paced, with power in it.

    Three things are no part of it, since there a stream that is held back helps the other by more:

    * Interference by units. A kernel that gets fewer of them presses less on the memory.
    * Power with other arbitrations. Power grows faster than the clock, so that whoever is held back
      by a bandwidth saves power; only a pace does that by itself. So beside a computation of half
      the power a transfer of all of it, hidden anyway, is better at half its rate.
    * Interference so strong that the two are faster in turn; then in turn is what is compared.
    """
    much = b | {f"{what}_b": max(b[f"{what}_b"], more)}
    little = b | {f"{what}_b": min(b[f"{what}_b"], more)}
    if little["units_b"] == 0 and what == "units":  # else engines become a kernel
        little["units_b"] = much["units_b"]
    in_turn = a["time_a"] + b["time_b"]
    lost = lost | {"units_lost": 0.0}
    if how != "paced":
        a, little, much = a | {"power_a": 0.0}, little | {"power_b": 0.0}, much | {"power_b": 0.0}
    before = module.streams(arbitration=how, **a, **little, **lost)
    after = module.streams(arbitration=how, **a, **much, **lost)
    assert min(after.pair, in_turn) * SLACK >= min(before.pair, in_turn)
    if how == "paced":
        assert after.pair <= in_turn * SLACK


def test_a_pace_lowers_the_clock_for_all_of_the_time(module: Module) -> None:
    """By hand: a computation of 4 ms at all of the power and a transfer by engines of 3 ms, also
    at all of it. In a time of T the engines take 3 / T of the power and the computation
    (4 / T) ** 2, as its clock falls to 4 / T: T ** 2 = 3 * T + 16, which is 5.77 ms; a clock that
    falls to nothing until the transfer ends takes 7 ms."""
    a = {f"{r}_a": 0.0 for r in RESOURCES} | {"time_a": 4.0, "units_a": 1.0, "power_a": 1.0}
    b = {f"{r}_b": 0.0 for r in RESOURCES} | {"time_b": 3.0, "power_b": 1.0}
    together = (3 + 73**0.5) / 2
    assert module.streams(arbitration="paced", **a, **b).pair == pytest.approx(together)
    assert module.streams(arbitration="proportional", **a, **b).pair == pytest.approx(7)


def test_interference_is_sensitivity_times_pressure(module: Module) -> None:
    """By hand: of the time of a stream half is spent on a memory that the other uses to a
    quarter, at a coefficient of 0.8, and the reverse: both take 1 + 0.8 / 8 as long together."""
    a = {f"{r}_a": 0.0 for r in (*RESOURCES, "power")} | {"time_a": 10.0, "memory_a": 0.5}
    b = {f"{r}_b": 0.0 for r in (*RESOURCES, "power")} | {"time_b": 4.0, "memory_b": 0.25}
    found = module.streams(arbitration="proportional", memory_lost=0.8, **a, **b)
    assert found.pair == pytest.approx(4 * 1.1 + (10 - 4))


def test_kernels_interfere_by_the_units_that_they_hold(module: Module) -> None:
    """By hand: two kernels that can use all units hold half of them each, and a coefficient of
    0.8 slows both by 0.8 / 4; in turn they would take 10 ms."""
    a = {f"{r}_a": 0.0 for r in (*RESOURCES, "power")} | {"time_a": 5.0, "units_a": 1.0}
    b = {f"{r}_b": 0.0 for r in (*RESOURCES, "power")} | {"time_b": 5.0, "units_b": 1.0}
    found = module.streams(arbitration="proportional", units_lost=0.8, **a, **b)
    assert found.pair == pytest.approx(2 * 5 * 1.2)
    assert found.two_many == pytest.approx(2 * 5 * 1.2)


def test_power_lowers_the_clock_of_both(module: Module) -> None:
    """By hand: together they draw 1.44 of the limit; power falls with the square of the clock. A
    DMA engine is not on that clock: beside 0.36 of its own, 0.64 are left of the 0.9."""
    a = {f"{r}_a": 0.0 for r in RESOURCES} | {"time_a": 5.0, "units_a": 0.4, "power_a": 0.9}
    b = {f"{r}_b": 0.0 for r in RESOURCES} | {"time_b": 5.0, "units_b": 0.4, "power_b": 0.54}
    assert module.streams(arbitration="proportional", **a, **b).pair == pytest.approx(5 * 1.2)
    engines = b | {"units_b": 0.0, "power_b": 0.36}
    found = module.streams(arbitration="proportional", **a, **engines)
    slowed = (0.9 / 0.64) ** 0.5
    assert found.pair == pytest.approx(5 + (5 - 5 / slowed))


@settings(max_examples=40, deadline=None)
@given(time=st.floats(0.01, 100), units=st.floats(0.01, 1))
def test_a_queue_with_processor_sharing_is_no_faster_than_the_fluid(
    module: Module, time: float, units: float
) -> None:
    """Three alike on one set of units: as customers of a queue, as in `std.replicas`, and as
    streams, as in `std.contention`. The queue is random, and so no faster than the fluid, nor
    slower than a step in turn; by hand (mean value analysis) with a service demand of u and the
    rest of the time elsewhere: q is the queue left by one, then by two. Where the units are all
    that they wait for both are three times one."""
    found, full = (module.alike(time=time, units=u) for u in (units, 1.0))
    queue, interval = 0.0, 1.0
    for customers in (1, 2, 3):
        response = units * (1 + queue)
        interval = (1 - units + response) / customers
        queue = response / interval
    assert found.fluid == pytest.approx(time * max(1, 3 * units))
    assert found.queued == pytest.approx(3 * time * interval)
    assert found.fluid <= found.queued * SLACK
    assert found.queued <= 3 * time * SLACK
    assert full.queued == pytest.approx(full.fluid)


def test_a_priority_takes_what_it_demands(module: Module) -> None:
    """By hand: the first stream asks for 0.8 of the memory and gets it for 10 ms; the second asks
    for 0.5 and gets 0.2 meanwhile, which is 4 of its 8 ms; the rest follows at full rate."""
    a = {f"{r}_a": 0.0 for r in (*RESOURCES, "power")} | {"time_a": 10.0, "memory_a": 0.8}
    b = {f"{r}_b": 0.0 for r in (*RESOURCES, "power")} | {"time_b": 8.0, "memory_b": 0.5}
    assert module.streams(arbitration="first_prioritized", **a, **b).pair == pytest.approx(14)
    shared = module.streams(arbitration="proportional", **a, **b).pair
    assert shared == pytest.approx(8 * 1.3 + 2)
    assert module.streams(arbitration="paced", **a, **b).pair == pytest.approx(12)


def test_a_short_transfer_costs_little_when_fused(module: Module) -> None:
    """Interference acts while both run: a transfer of a thousandth costs no more than its own time
    and the interference during it."""
    a = {f"{r}_a": 0.0 for r in (*RESOURCES, "power")} | {"time_a": 1000.0, "memory_a": 1.0}
    b = {f"{r}_b": 0.0 for r in (*RESOURCES, "power")} | {"time_b": 1.0, "memory_b": 0.2}
    found = module.streams(strategy="fused", memory_lost=1.26, **a, **b).overlapped
    assert 1000 <= found <= 1000 + 1
