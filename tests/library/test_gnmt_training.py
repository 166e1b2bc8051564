"""A training step of GNMT against its operations and bytes by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import hwdsl

HIDDEN, VOCABULARY, PEAK_FP32 = 1024, 32_320, 15.7e12
SENTENCES, WORDS = 16, 20


def flops(tokens: int, words: int) -> float:
    """Forward twice a weight for each token, backward twice that."""
    narrow = 4 * HIDDEN * 2 * HIDDEN
    wide = 4 * HIDDEN * 3 * HIDDEN
    layers = 5 * narrow + 4 * wide
    attention = 2 * HIDDEN**2 + words * HIDDEN
    return 6 * tokens * (layers + attention + VOCABULARY * HIDDEN)


def step(folder: Path, kernels: str) -> hwdsl.Result:
    path = folder / "step.hw"
    path.write_text(f"""edition 2026
use std.execution: device_time
use std.operators: total_flops, total_traffic
use studies.gnmt_rates: V100_in_FP32
use workloads.gnmt_training: gnmt_training
evaluator step {{
    param sentences : int = {SENTENCES} in 1 .. 100
    let gnmt = gnmt_training(
        sentences = sentences, length = {WORDS}, dtype = tf32, kernels = {kernels}, units = 80,
    )
    output work   in FLOP = total_flops(gnmt.step)
    output loss   in B    = total_traffic(gnmt.loss)
    output update in B    = total_traffic(gnmt.encoder_update) + total_traffic(gnmt.decoder_update)
    output time   in s    = device_time(gnmt.step, V100_in_FP32)
}}
""")
    return hwdsl.load(path, compiled=False).step()


def test_a_step_by_hand(tmp_path: Path) -> None:
    tokens = SENTENCES * WORDS
    got = step(tmp_path, "eager")
    assert got.work == pytest.approx(flops(tokens, WORDS), rel=1e-6)
    # Thirteen passes over the logits in 32 bits; 24 accesses for each of 160.67 million parameters.
    assert got.loss == pytest.approx(13 * 4 * tokens * VOCABULARY)
    assert got.update == pytest.approx(24 * 4 * 160_671_297, rel=1e-4)
    # No step is faster than the peak: recurrent products count once for each word.
    assert got.time > flops(tokens, WORDS) / PEAK_FP32


def test_fused_kernels_do_the_same_products_with_fewer_bytes(tmp_path: Path) -> None:
    eager, fused = step(tmp_path, "eager"), step(tmp_path, "fused")
    assert fused.work == eager.work
    assert fused.loss < eager.loss / 3
    assert fused.update < eager.update / 2
    assert fused.time < eager.time
