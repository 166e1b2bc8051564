"""Compressed collectives by hand, what must always hold, and gradients of a training step."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

STUDIES = Path(__file__).parents[2] / "library" / "studies"
LAUNCH, NORM, ELEMENTWISE = 3e-6, 0.58, 0.88
"""Of `std.execution`: the least time of a kernel, and fractions of the memory bandwidth."""


@pytest.fixture(scope="module")
def cgx() -> Module:
    return hwdsl.load(STUDIES / "cgx.hw", compiled=False)


@pytest.fixture(scope="module")
def networks() -> Module:
    return hwdsl.load(STUDIES / "gradient_compression.hw", compiled=False)


def kernels(elements: float, wide: float, narrow: float, ranks: int, memory: float) -> float:
    """Seconds of the kernels of one rank, launch by launch."""

    def kernel(traffic: float, fraction: float) -> float:
        return LAUNCH + traffic / (fraction * memory)

    part = elements / ranks
    compress = ranks * kernel(part * (2 * wide + narrow), NORM)
    add = (ranks - 1) * kernel(part * (2 * wide + narrow), ELEMENTWISE)
    return compress + add + ranks * kernel(part * (wide + narrow), ELEMENTWISE)


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("server", ["commodity_server", "DGX_1_server"])
def test_kernels_by_hand(cgx: Module, ranks: int, server: str) -> None:
    memory = {"commodity_server": 936e9, "DGX_1_server": 900e9}[server]
    found = cgx.scaling(model="BERT", ranks=ranks, server=server)
    expected = kernels(335e6, 4, (4 + 64 / 1024) / 8, ranks, memory)
    assert found["kernel_time"] == pytest.approx(1e3 * expected, rel=1e-9)


def test_exchange_by_hand(cgx: Module) -> None:
    """Two direct exchanges of 4.0625 bits a gradient, at 39 % of PCI Express 4."""
    found = cgx.scaling(model="BERT")
    sent, cycle = 335e6 * 4.0625 / 8, 1 / 1.695e9
    wire, own = 7 / 8 * sent / (0.39 * 31.508e9), 2 * sent / 8 / (0.583 * 936e9)
    once = (11000 + 3630) * cycle + 0.9e-6 + wire + own + 2 * (5800 * cycle * (wire + own)) ** 0.5
    assert found["cgx_time"] - found["kernel_time"] == pytest.approx(2e3 * once, rel=1e-6)


def test_error_feedback_is_one_more_kernel(networks: Module) -> None:
    """It reads the residual and the gradient, and writes the sum and the new residual."""
    slow = {"link_bandwidth": "10 GB/s", "size": "400 MB"}
    plain = networks.break_even(**slow)["compressed_time"]
    corrected = networks.break_even(error_feedback=True, **slow)["compressed_time"]
    added = LAUNCH + 4 * 400e6 / (ELEMENTWISE * 936e9)
    assert corrected - plain == pytest.approx(1e3 * added, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    bits=st.integers(1, 15),
    ranks=st.integers(2, 1024),
    bandwidth=st.floats(0.1, 1000),
    megabytes=st.floats(1, 10_000),
)
def test_a_compressed_exchange_takes_as_long_as_its_payload(
    networks: Module, bits: int, ranks: int, bandwidth: float, megabytes: float
) -> None:
    """What is sent crosses the links; fewer bits are never slower."""
    point = {
        "ranks": ranks,
        "link_bandwidth": f"{bandwidth} GB/s",
        "size": f"{megabytes} MB",
        "error_feedback": True,
    }
    found = networks.break_even(bits=bits, **point)
    more = networks.break_even(bits=bits + 1, **point)
    assert found["compressed_time"] < more["compressed_time"]
    wire = 2 * (ranks - 1) / ranks * megabytes / bandwidth
    assert found["compressed_time"] > wire * (bits + 64 / 1024) / 32


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_both_exchanges_are_alike_at_the_break_even_bandwidth(networks: Module, bits: int) -> None:
    point = {"bits": bits, "error_feedback": True}
    edge = networks.break_even(**point)["break_even_bandwidth"]
    speedups = [
        networks.break_even(link_bandwidth=f"{edge * ratio} GB/s", **point)["speedup"]
        for ratio in (0.9, 1, 1.1)
    ]
    assert speedups[0] > 1 > speedups[2]
    assert speedups[1] == pytest.approx(1, rel=1e-6)


def test_a_training_step_exchanges_its_gradients_compressed(networks: Module) -> None:
    """What is exposed is all that differs, and residuals are a second gradient."""
    points = [
        networks.language_model_step(gradient_compression=name, network_bandwidth_per_gpu=w)
        for name in ("four_bits", "sign_bits")
        for w in ("1 GB/s", "10 GB/s")
    ]
    rests = [p["step_time"] - p["exposed"] for p in points]
    assert rests == pytest.approx([rests[0]] * 4, rel=1e-9)
    parameters = 48 * (12 * 1600**2 + 13 * 1600) + (50257 + 1024) * 1600 + 2 * 1600
    assert points[0]["residuals"] == 0
    assert points[2]["residuals"] == pytest.approx(4e-9 * parameters, rel=1e-3)
    # A GPU sends its eighth of the compressed gradients across, half in each of two exchanges.
    sent = parameters * 4.0625 / 8 / 8
    slowest = 1 + 0.026 * math.sqrt(2 * math.log(16))
    wire = slowest * sent / 0.85 * (1 / 1e9 - 1 / 10e9)
    assert points[0]["exposed"] - points[1]["exposed"] == pytest.approx(1e3 * wire, rel=0.03)


def test_compression_between_nodes_sends_as_much_between_them(networks: Module) -> None:
    """Inside a node gradients are then exchanged as they are, and kernels run on an eighth."""
    both = {
        name: [
            networks.language_model_step(gradient_compression=name, network_bandwidth_per_gpu=w)
            for w in ("1 GB/s", "10 GB/s")
        ]
        for name in ("four_bits", "four_bits_between_nodes")
    }
    longer = [slow["exposed"] - fast["exposed"] for slow, fast in both.values()]
    assert longer[0] == pytest.approx(longer[1], rel=1e-9)
    parameters = 48 * (12 * 1600**2 + 13 * 1600) + (50257 + 1024) * 1600 + 2 * 1600

    def passed(size: float) -> float:
        """Seven eighths over NVLink, the local copy, and the first of the chunks."""
        busy = 7 / 8 * size / (0.864 * 300e9) + 2 * size / 8 / (0.583 * 2039e9)
        return busy + 2 * math.sqrt(5800 / 1.41e9 * busy)

    more = 2 * passed(4 * parameters) - 2 * passed(4.0625 / 8 * parameters)
    inside = kernels(parameters, 4, 4.0625 / 8, 8, 2039e9)
    slower = both["four_bits_between_nodes"][0]["exposed"] - both["four_bits"][0]["exposed"]
    assert slower == pytest.approx(1e3 * (more - inside), rel=0.01)


STEP = """edition 2026
use std.compression: compression
use std.llm_training: llm_training_step
use std.parallelism: plan
use vendor.clusters: DGX_A100_pod
use workloads.transformers: GPT2_XL

evaluator sharded {
    choice compressed : bool in [false, true] = false
    let plain = llm_training_step(
        model = GPT2_XL,
        seq_length = 1024,
        cluster = DGX_A100_pod with { nodes.nic.bandwidth_per_direction = 1 GB/s },
        plan = plan(data = 16, global_batch = 16, sharding = zero_3),
    )
    let eight_bits = plain with {
        gradient_compression = compression(bits = 8, bucket_size = 512, uncompressed_bits = 16)
    }
    output exchange  in ms = if compressed then eight_bits.exposed_dp else plain.exposed_dp
    output gathering in ms = 2 / 3 * plain.exposed_dp
}
"""


def test_sharded_gradients_are_compressed_and_parameters_are_not(tmp_path: Path) -> None:
    """With ZeRO-3 two of three collectives gather parameters, which stay as they are."""
    path = tmp_path / "sharded.hw"
    path.write_text(STEP, encoding="utf-8")
    study = hwdsl.load(path, compiled=False)
    plain, compressed = study.sharded(), study.sharded(compressed=True)
    assert plain["gathering"] < compressed["exchange"] < plain["exchange"]
