"""std.replicas against mean value analysis by hand and counted blocks, std.pcie_tree against its
paths, and the tables of the studies against the published ones."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import shipped
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

TEXT = """
edition 2026
#! Replicas of one kernel, and of many.
use std.operators
use std.replicas
use std.pcie_tree: pcie_tree
use std.collectives: pcie_switch_efficiency, host_bridge_efficiency, host_memory_efficiency
use std.node: accelerator
use std.link: link
use vendor.consumer: Titan_X_Pascal
use vendor.links: PCIe3_x16
use vendor.nvidia: A100_SXM_80GB

evaluator sharing {
    param number   : int  = 1   in 1 .. 8
    param rows     : int  = 256 in 1 .. 1000000
    param kernels  : int  = 10  in 1 .. 1000
    param overhead : time = 5 us in 0 us .. 1 ms
    param size     : data = 1 GB in 0 GB .. 100 GB
    let each = replicas(
        operators = [
            matmul(m = rows, n = 512, k = 512, repeat = kernels),
            elementwise(elements = rows * 512, repeat = kernels),
        ],
        accelerator = A100_SXM_80GB,
        number = number,
        launch_overhead = overhead,
        memory_per_replica = size,
    )
    output isolated in us = each.isolated_time
    output device   in us = each.device_time
    output units    in us = each.unit_time
    output launch   in us = each.launch_time
    output round    in us = each.round_time
    output gain     = each.gain
    output in_turn  = each.gain_in_turn
    output fitting  = each.largest_count
}

evaluator held {
    param rows : int = 64 in 1 .. 1000000
    output gemm   = held_units(matmul(m = rows, n = 64, k = 4096), A100_SXM_80GB)
    output vector = held_units(elementwise(elements = rows * 2048), A100_SXM_80GB)
}

evaluator tuning {
    param a : frequency = 1 Hz in 0 Hz .. 100 Hz
    param b : frequency = 1 Hz in 0 Hz .. 100 Hz
    param c : frequency = 1 Hz in 0 Hz .. 100 Hz
    param d : frequency = 1 Hz in 0 Hz .. 100 Hz
    param threshold : real = 0.1 in 0 .. 1
    output count = tuned_replicas([a, b, c, d], threshold)
}

pcie_tree server {
    below_root_port = 2
    below_socket    = 4
    accelerator gpu : Titan_X_Pascal
    link slot       : PCIe3_x16
}

evaluator tree {
    param ranks : int = 2 in 2 .. 8
    output bandwidth in GB/s = server.interconnect_of(ranks).ring_bandwidth
    output slot      in GB/s = PCIe3_x16.bandwidth_per_direction
    output on_switch = pcie_switch_efficiency
    output in_host   = host_bridge_efficiency
    output by_memory = host_memory_efficiency
    output central   in ms = server.central_time(1 GB, ranks)
}
"""


@cache
def module() -> hwdsl.Module:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.hw"
        path.write_text(TEXT, encoding="utf-8")
        return hwdsl.load(path, compiled=False)


def throughput(customers: int, think: float, demand: float) -> float:
    """Customers per time of a closed network with one station: mean value analysis."""
    queue, rate = 0.0, 0.0
    for n in range(1, customers + 1):
        response = demand * (1 + queue)
        rate = n / (think + response)
        queue = rate * response
    return rate


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 200_000), st.integers(1, 300), st.floats(0, 100))
def test_replicas_share_the_units(number: int, rows: int, kernels: int, overhead: float) -> None:
    got = module().sharing(number=number, rows=rows, kernels=kernels, overhead=f"{overhead} us")
    assert got.launch == pytest.approx(2 * kernels * overhead)
    assert got.isolated == pytest.approx(max(got.device, got.launch))
    assert 0 < got.units < got.device
    rate = throughput(number, got.isolated - got.units, got.units)
    assert got.round == pytest.approx(number / rate, rel=1e-9)
    assert got.gain == pytest.approx(rate * got.isolated, rel=1e-9)
    assert 1 - 1e-9 <= got.gain <= min(number, got.isolated / got.units) * (1 + 1e-9)
    assert got.in_turn == pytest.approx(min(number, got.isolated / got.device))


def test_what_a_kernel_holds_is_counted_in_blocks() -> None:
    """108 units: tiles of a GEMM of one column of tiles, and blocks of 4 KiB, eight to a unit."""
    for rows in (64, 640, 64 * 108, 64 * 109):
        got = module().held(rows=rows)
        shapes = [tiles for height in (256, 128, 64) if (tiles := -(-rows // height))]
        places = {tiles / (108 * -(-tiles // 108)) for tiles in shapes}
        assert any(got.gemm == pytest.approx(place) for place in places)
        assert got.vector == pytest.approx(min(1, rows / (108 * 8)))


@settings(deadline=None)
@given(st.lists(st.floats(0.1, 100), min_size=4, max_size=4), st.floats(0, 1))
def test_the_tuner_stops_at_the_first_step_below_its_threshold(
    rates: list[float], threshold: float
) -> None:
    want = 1
    while want < 4 and rates[want] > (1 + threshold) * rates[want - 1]:
        want += 1
    a, b, c, d = (f"{rate} Hz" for rate in rates)
    assert module().tuning(a=a, b=b, c=c, d=d, threshold=threshold).count == want


def test_replicas_that_do_not_fit_are_refused() -> None:
    assert list(module().sharing(number=8, size="11 GB").violations) == ["each.memory"]
    fits = module().sharing(number=7, size="11 GB")
    assert not fits.violations
    assert fits.fitting == 7


@pytest.mark.parametrize(("ranks", "efficiency"), [(2, "on_switch"), (3, "in_host"),
                                                   (4, "in_host"), (5, "by_memory")])  # fmt: skip
def test_a_ring_takes_the_slowest_path_of_its_tree(ranks: int, efficiency: str) -> None:
    got = module().tree(ranks=ranks)
    assert got.bandwidth == pytest.approx(got.slot * getattr(got, efficiency))
    assert got.central == pytest.approx(2 * (ranks - 1) * 1e3 / got.bandwidth)


def published(name: str) -> list[dict[str, str]]:
    folder = os.environ.get("HWDSL_REFERENCE_DATA")
    if not folder:
        pytest.skip("HWDSL_REFERENCE_DATA names no folder")
    with (Path(folder) / "systems" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def shipped_rows(name: str) -> list[dict[str, str]]:
    text = (shipped.ROOT / "library" / "studies" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if line[0] != "#"))


def test_the_table_of_processes_is_the_published_one() -> None:
    rates = {
        (row["model"], row["gpcs"], row["batch"], row["mps_processes"]): float(
            row["meas_throughput_per_process_samples_s"]
        )
        for row in published("r17_parvagpu_mig_inference")
    }
    names = {"inception_3": "inceptionv3", "mobilenet_2": "mobilenetv2"}
    rows = shipped_rows("replicas_per_gpu")
    assert len(rows) == 264
    for row in rows:
        name = names.get(row["network"], row["network"].replace("_", ""))
        key, count = (name, row["gpcs"], row["batch"]), row["processes"]
        want = int(count) * rates[*key, count] / rates[*key, "1"]
        assert float(row["measured"]) == pytest.approx(want, rel=1e-3)


def test_the_table_of_sixteen_GPUs_is_the_published_one() -> None:
    names = {"KungFu": "KungFu Synch", "Horovod": "Horovod", "PairAveraging": "KungFu Pair",
             "ParameterServer": "TensorFlow parameter"}  # fmt: skip
    rows = published("row14_kungfu_16xV100")
    for row in shipped_rows("kungfu"):
        network = {"ResNet50": "ResNet-50", "VGG16": "VGG16"}[row["network"]]
        (want,) = (r["images_per_s"] for r in rows if r["framework"].startswith(
            names[row["library"]]) and r["model"] == network
            and r["global_batch"] == row["global_batch"])  # fmt: skip
        assert row["measured [s^-1]"] == want
