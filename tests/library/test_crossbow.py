"""The study of CROSSBOW: laws of learners and synchronisation, and the speedups on its page."""

from __future__ import annotations

from functools import cache

import pytest
import shipped

import hwdsl

BATCHES = [4, 8, 16, 32, 64, 128]
CRITICAL = {"LeNet": 200, "ResNet32": 900, "VGG16": 900, "ResNet50": 15000}
PAGE_NAMES = {"ResNet32": "ResNet-32", "VGG16": "VGG-16", "ResNet50": "ResNet-50"}


@cache
def module() -> hwdsl.Module:
    return hwdsl.load(shipped.ROOT / "library" / "studies" / "crossbow.hw", compiled=False)


@cache
def columns(benchmark: str) -> dict[str, list[float]]:
    """Outputs by batch size, two sockets and eight GPUs."""
    count = len(BATCHES)
    given = {"benchmark": [benchmark] * count, "batch": BATCHES,
             "critical_batch": [CRITICAL[benchmark]] * count}  # fmt: skip
    swept = module().training.sweep(zipped=given).raw
    names = ("sgd_time", "sma_as_one_batch", "sma_as_small_batch", "tuned_learners", "step_time",
             "synchronisation", "tuned_throughput", "sgd_throughput")  # fmt: skip
    return {name: [float(x) for x in swept.column(name)] for name in names}


@pytest.mark.parametrize("benchmark", CRITICAL)
def test_larger_batches_want_no_more_learners(benchmark: str) -> None:
    found = columns(benchmark)
    assert found["tuned_learners"] == sorted(found["tuned_learners"], reverse=True)
    assert len(set(found["synchronisation"])) == 1
    for sma, sgd in zip(found["tuned_throughput"], found["sgd_throughput"], strict=True):
        assert sma >= sgd * (1 - 1e-9)


@pytest.mark.parametrize("benchmark", CRITICAL)
def test_times_to_accuracy_follow_from_the_law(benchmark: str) -> None:
    """E_min is one image: E = 1 + B / B_crit, with the images of all learners, or of one."""
    found, critical = columns(benchmark), CRITICAL[benchmark]
    for i, batch in enumerate(BATCHES):
        rate, sgd = found["tuned_throughput"][i], found["sgd_throughput"][i]
        learners = 8 * found["tuned_learners"][i]
        assert found["sgd_time"][i] == pytest.approx(1e6 * (1 + 8 * batch / critical) / sgd)
        together, alone = 1 + learners * batch / critical, 1 + batch / critical
        assert found["sma_as_one_batch"][i] == pytest.approx(1e6 * together / rate)
        assert found["sma_as_small_batch"][i] == pytest.approx(1e6 * alone / rate)


@pytest.mark.parametrize("benchmark", CRITICAL)
def test_the_page_has_the_speedups(benchmark: str) -> None:
    found = columns(benchmark)
    best = min(found["sgd_time"])
    low, high = (best / min(found[name]) for name in ("sma_as_one_batch", "sma_as_small_batch"))
    page = (shipped.ROOT / "docs" / "studies" / "crossbow.md").read_text(encoding="utf-8")
    name = PAGE_NAMES.get(benchmark, benchmark)
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    said = [float(x) for x in row.split("|")[2].split(" to ")]
    assert said == pytest.approx([low, high], rel=0.05)
