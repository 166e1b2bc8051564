"""Distances of reuse by hand on two GEMMs, and two caches against arithmetic."""

import pytest

import hwdsl

TEXT = """edition 2026
use std.execution
use std.reuse_distance
use std.operators
use vendor.nvidia: A100_SXM_80GB

evaluator ask {
    param behind : data = 960 MB in 0 MB .. 100 GB
    param far    : data = 300 MB in 1 MB .. 10 TB
    param inner  : data = 40 MB  in 0 MB .. 100 GB
    let a    = matmul(m = 1000, n = 2000, k = 3000)
    let b    = matmul(m = 1000, n = 4000, k = 2000)
    let gone = batch_normalization(elements = 1000, normalized_size = 10, executed = false)
    let once = inference_reuse([a, gone, b])
    let step = training_reuse([a, gone, b])
    output runs     = len(once)
    output weight   in MB = once[0].operands[1].reuse_distance
    output read     in MB = once[1].operands[0].reuse_distance
    output written  in MB = once[0].operands[2].reuse_distance
    output first    = if once[0].operands[0].reuse_distance > 1e18 B then 1 else 0
    output steps    = len(step)
    output kept_a   in MB = step[0].operands[2].reuse_distance
    output kept_b   in MB = step[1].operands[2].reuse_distance
    output weight_b in MB = step[2].operands[1].reuse_distance
    output saved_b  in MB = step[3].operands[0].reuse_distance
    output saved_a  in MB = step[5].operands[0].reuse_distance
    let gpu = A100_SXM_80GB with {
        llc_capacity                = inner
        memory_side_cache_capacity  = behind
        memory_side_cache_bandwidth = 4 TB/s
    }
    let one = [operand(size = 1 GB, reuse_distance = far)]
    output time in us = memory_time(one, 1, gpu)
}
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> object:
    path = tmp_path_factory.mktemp("reuse") / "ask.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False).ask


A = 2 * (3 + 6 + 2)
"""Megabytes that the first GEMM moves: 1000 x 3000, 3000 x 2000, 1000 x 2000."""
B = 2 * (2 + 8 + 4)


def test_a_pass_by_hand(ask) -> None:  # type: ignore[no-untyped-def]
    got = ask()
    assert got.runs == 2, "what was folded away does not run"
    assert got.first == 1, "samples are new"
    assert float(got["weight"]) == pytest.approx(A + B)
    assert float(got["read"]) == pytest.approx((A + B) / 2)
    assert float(got["written"]) == float(got["read"])


def test_a_step_by_hand(ask) -> None:  # type: ignore[no-untyped-def]
    """A GEMM moves its data once forward and twice backward."""
    got = ask()
    assert got.steps == 6
    assert float(got["kept_a"]) == pytest.approx(3 * B + A)
    assert float(got["kept_b"]) == pytest.approx(B)
    assert float(got["weight_b"]) == float(got["saved_b"]) == float(got["kept_b"])
    assert float(got["saved_a"]) == float(got["kept_a"])


def test_caches_by_hand(ask) -> None:  # type: ignore[no-untyped-def]
    """1 GB: memory at 2.039 TB/s, outer cache at 4, inner at three times 2.039."""

    def missed(cache: float, far: float) -> float:
        return 1 / (1 + (cache / far) ** 8)

    for outer, far in ((960, 300), (960, 1500), (0, 300), (960, 30), (20, 30)):
        inner, behind = missed(40, far), missed(max(40, outer), far)
        time = behind / 2.039 + (inner - behind) / 4 + (1 - inner) / (3 * 2.039)
        got = ask(behind=f"{outer} MB", far=f"{far} MB")
        assert float(got["time"]) == pytest.approx(time * 1e3, rel=1e-9)


def test_no_cache_is_slower(ask) -> None:  # type: ignore[no-untyped-def]
    times = [float(ask(behind=f"{c} MB")["time"]) for c in (0, 100, 200, 400, 800, 3200)]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.5 * times[-1]
