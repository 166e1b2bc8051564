"""Overlap in serving, by hand: two half-batches, and keys and values on their way."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

ROOT = Path(__file__).parents[2]
TEXT = """edition 2026
use std.contention
use std.overlap
use std.serving_overlap
use vendor.nvidia: H100_SXM_80GB

contention none {
    leftover_unit_fraction = 0.05, unit_interference = 0, memory_interference = 0
    dma_slowdown = 1, dma_command_latency = 0 us, measured = true
}

evaluator serving {
    param compute  : time = 30 ms in 0.1 ms .. 1 s
    param sends    : time = 20 ms in 0.1 ms .. 1 s
    param units    : real = 0.1   in 0 .. 1
    param busy     : real = 0     in 0 .. 1
    param layers   : int  = 50    in 1 .. 200

    let halves = two_batch_pass(
        compute = resource_demand(isolated_time = compute, compute_unit_fraction = 0.9),
        communication = resource_demand(
            isolated_time = sends, compute_unit_fraction = units, link_bandwidth_fraction = 1
        ),
        layers = layers, strategy = prioritized, contention = none,
    )
    let sent = kv_cache_transfer(
        prefill = resource_demand(isolated_time = compute, link_bandwidth_fraction = busy),
        size = sends * 50 GB/s, bandwidth = 50 GB/s, layers = layers,
        accelerator = H100_SXM_80GB, contention = none,
    )

    output time    in ms = halves.time
    output arrived in ms = sent.time
    output exposed in ms = sent.exposed
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("serving") / "serving.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


def test_two_batches_hide_all_but_the_last_layer(module: Module) -> None:
    """A tenth of the units is enough for what is sent, and nine tenths for the computation: 20 ms
    hide behind 30, but for half of one layer's of 50."""
    assert module.serving().time == pytest.approx(30 + 20 / 100)
    assert module.serving(sends=60).time == pytest.approx(60 + 60 / 100)


def test_what_is_sent_takes_units(module: Module) -> None:
    """With a priority on half of the units: the computation, which needs 0.9 of them, is slowed 1.8
    times for 20 ms, and loses 20 - 20 / 1.8."""
    lost = 20 - 20 / 1.8
    assert module.serving(units=0.5).time == pytest.approx(30 + lost + 20 / 100)


def test_keys_and_values_leave_layer_by_layer(module: Module) -> None:
    """The first of 50 layers is computed before there is anything to send, and the last is sent
    when all is computed: 20 ms behind 30 leave 20 / 50, 60 ms leave 60 + 30 / 50 - 30."""
    assert module.serving().exposed == pytest.approx(20 / 50)
    assert module.serving(sends=60).exposed == pytest.approx(60 + 30 / 50 - 30)


@settings(max_examples=60, deadline=None)
@given(
    compute=st.floats(0.1, 100), sends=st.floats(0.1, 100),
    busy=st.floats(0, 1), layers=st.integers(1, 200),
)  # fmt: skip
def test_a_link_is_given_once(
    module: Module, compute: float, sends: float, busy: float, layers: int
) -> None:
    """The transfer and the prefill's own messages share the link."""
    found = module.serving(compute=compute, sends=sends, busy=busy, layers=layers)
    assert found.arrived * (1 + 1e-9) >= max(compute, sends, compute * busy + sends)
    assert found.arrived <= (compute + sends) * (1 + 1e-9)


@pytest.mark.parametrize("bandwidth", ["12.5 GB/s", "25 GB/s", "50 GB/s"])
def test_deepseek_gains_from_two_batches(bandwidth: str) -> None:
    """Never slower than in turn, never quicker than what is sent."""
    study = hwdsl.load(ROOT / "library" / "studies" / "two_batch_overlap.hw", compiled=False)
    found = study.decode_step(network_bandwidth=bandwidth)
    assert found.communication_time < found.tpot < found.serial_tpot
    alone = study.decode_step(network_bandwidth=bandwidth, strategy="serial")
    assert alone.tpot == pytest.approx(found.serial_tpot)
