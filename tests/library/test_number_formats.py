"""Bits of number formats by hand, and weights whose stored format is not that of their GEMMs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Module

MODEL = """
edition 2026
#! Formats and a model whose weights are stored in one of them.
use std.node: dtype
use std.number_formats
use std.operators: bytes_per_element, total_traffic
use workloads.transformers: Llama3_8B, decode

evaluator formats {
    choice format : number_format in [
        FP64, FP32, BF16, FP16, FP8, INT8, MXFP8, MXFP6, MXFP4, MXINT8, NVFP4, MX9, MX6, MX4,
    ]
    output bits       = format.bits_per_element
    output directions = format.directions
    output stored     = stored_weights(format = format).size / 1 B
    output just_in_time = stored_weights(format = format, stores_copies = false).size / 1 B
}

evaluator units {
    choice dtype : dtype in [fp64, tf32, bf16, fp16, fp8, fp4, int8]
    output bytes = bytes_per_element(dtype) / 1 B
}

evaluator own {
    param mantissa  : int = 3 in 0 .. 23
    param exponent  : int = 2 in 0 .. 8
    param block     : int = 32 in 2 .. 256
    param scale     : int = 8 in 0 .. 16
    param batch     : int = 1 in 1 .. 64
    let format = number_format(
        exponent_bits = exponent, mantissa_bits = mantissa, block_size = block, scale_bits = scale,
    )
    let plain   = total_traffic(decode(Llama3_8B, batch, 1024, 1))
    let weights = total_traffic(decode(Llama3_8B with { weight_format = format }, batch, 1024, 1))
    output bits  = format.bits_per_element
    output saved in GB = plain - weights
}
"""
BITS = {
    "FP64": 64,
    "FP32": 32,
    "BF16": 16,
    "FP16": 16,
    "FP8": 8,
    "INT8": 8,
    "MXFP8": 8.25,
    "MXFP6": 6.25,
    "MXFP4": 4.25,
    "MXINT8": 8.25,
    "NVFP4": 4.5,
    "MX9": 9,
    "MX6": 6,
    "MX4": 4,
}
"""Published: OCP MX shares 8 bits among 32, NVFP4 among 16; MX9, MX6 and MX4 tell theirs."""
BYTES = {"fp64": 8, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 4.5 / 8, "int8": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path: Path = tmp_path_factory.mktemp("formats") / "formats.hw"
    path.write_text(MODEL, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


@pytest.mark.parametrize("name", BITS)
def test_published_bits(model: Module, name: str) -> None:
    found = model.formats(format=name)
    assert found["bits"] == BITS[name]
    copies = 1 if "MX" not in name and name != "NVFP4" else 2
    assert found["directions"] == copies
    assert found["stored"] == 4 + copies * BITS[name] / 8
    assert found["just_in_time"] == 4


@pytest.mark.parametrize("name", BYTES)
def test_formats_of_the_matrix_units(model: Module, name: str) -> None:
    assert model.units(dtype=name)["bytes"] == BYTES[name]


@settings(max_examples=25, deadline=None)
@given(
    mantissa=st.integers(0, 23),
    exponent=st.integers(0, 8),
    block=st.integers(2, 256),
    scale=st.integers(0, 16),
    batch=st.integers(1, 64),
)
def test_weights_of_an_own_format_are_read_in_its_bits(
    model: Module, mantissa: int, exponent: int, block: int, scale: int, batch: int
) -> None:
    """Decoding reads each weight but the input embedding once, in whatever format it is stored."""
    found = model.own(mantissa=mantissa, exponent=exponent, block=block, scale=scale, batch=batch)
    bits = 1 + exponent + mantissa + scale / block
    assert found["bits"] == pytest.approx(bits, rel=1e-12)
    layer = 4096 * 128 * (32 + 2 * 8) + 4096 * 4096 + 3 * 4096 * 14336
    weights = 32 * layer + 4096 * 128256
    assert found["saved"] == pytest.approx(weights * (16 - bits) / 8e9, rel=1e-9, abs=1e-9)
