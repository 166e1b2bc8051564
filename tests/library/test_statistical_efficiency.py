"""std.statistical_efficiency: the law of the critical batch size against its defining relation and
against least squares, and the rows that the study predicts against the published table."""

from __future__ import annotations

import csv
import math
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import shipped
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

LAW = """
edition 2026
#! The law of the critical batch size.
use std.statistical_efficiency
evaluator law {
    param min_samples  : real = 1 in 1e-6 .. 1e12
    param critical     : real = 1 in 1e-6 .. 1e12
    param global_batch : real = 1 in 1e-6 .. 1e12
    let c = convergence(min_samples = min_samples, critical_batch_size = critical)
    output samples       = c.samples(global_batch)
    output efficiency    = c.efficiency(global_batch)
    output largest_batch = c.largest_batch(c.efficiency(global_batch))
}
evaluator through {
    param small_batch   : real = 1 in 1e-6 .. 1e12
    param small_samples : real = 1 in 1e-6 .. 1e12
    param large_batch   : real = 2 in 1e-6 .. 1e12
    param large_samples : real = 1 in 1e-6 .. 1e12
    param global_batch  : real = 1 in 1e-6 .. 1e12
    let c = convergence_through(small_batch, small_samples, large_batch, large_samples)
    output samples  = c.samples(global_batch)
    output critical = c.critical_batch_size
}
"""
POSITIVE = st.floats(0.1, 1e3)


def loaded(text: str) -> hwdsl.Module:
    """The module of a text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.hw"
        path.write_text(text, encoding="utf-8")
        return hwdsl.load(path, compiled=False)


@cache
def module() -> hwdsl.Module:
    return loaded(LAW)


@settings(deadline=None)
@given(POSITIVE, POSITIVE, POSITIVE)
def test_steps_and_samples_trade_as_published(low: float, critical: float, batch: float) -> None:
    """(S / S_min - 1)(E / E_min - 1) = 1, with S = E / B and S_min = E_min / B_crit."""
    got = module().law(min_samples=low, critical=critical, global_batch=batch)
    extra_samples = batch / critical
    extra_steps = got.samples / batch / (low / critical) - 1
    assert extra_samples * extra_steps == pytest.approx(1, rel=1e-6)
    assert got.efficiency == pytest.approx(low / got.samples)
    assert got.largest_batch == pytest.approx(batch, rel=1e-6)


@settings(deadline=None)
@given(POSITIVE, st.floats(1.1, 100), POSITIVE, st.floats(1.0, 1.09), POSITIVE)
def test_the_law_goes_through_both_points(
    batch: float, ratio: float, samples: float, growth: float, other: float
) -> None:
    """Against numpy's straight line; growth below the ratio of the batches keeps the law valid."""
    points = [batch, ratio * batch], [samples, growth * samples]
    got = module().through(small_batch=batch, large_batch=ratio * batch, small_samples=samples,
                           large_samples=growth * samples, global_batch=other)  # fmt: skip
    slope, start = np.polynomial.polynomial.polyfit(*points, 1)[::-1]
    assert got.samples == pytest.approx(start + slope * other, rel=1e-6)


def test_samples_that_do_not_grow_stay_at_their_mean() -> None:
    got = module().through(small_batch=64, large_batch=128, small_samples=18.3,
                           large_samples=17.85, global_batch=1024)  # fmt: skip
    assert got.samples == pytest.approx((18.3 + 17.85) / 2)
    assert math.isinf(got.critical)


def test_no_law_goes_through_samples_that_outgrow_the_batch() -> None:
    got = module().through(small_batch=64, large_batch=128, small_samples=1, large_samples=3)
    assert [name.rpartition(".")[2] for name in got.violations] == ["min_samples"]


def test_a_training_run_needs_the_samples_of_the_law() -> None:
    text = """
    edition 2026
    #! A run at a quarter of the critical batch size.
    use std.training: training_run
    use std.reliability: checkpointing
    evaluator run {
        let saves = checkpointing(mtbf = 3 h, checkpoint_time = 1 minute, restart_time = 10 minute)
        let r = training_run(step_time = 1 s, global_batch = 250, min_samples = 1e6,
            critical_batch_size = 1000, checkpointing = saves)
        output samples = r.samples
        output steps   = r.steps
    }
    """
    got = loaded(text).run()
    assert (got.samples, got.steps) == (1.25e6, 5000)


def test_the_table_of_the_study_is_the_published_one() -> None:
    """Every row of critical_batch.csv, but those of runs, stands so among MLPerf's points."""
    folder = os.environ.get("HWDSL_REFERENCE_DATA")
    if not folder:
        pytest.skip("HWDSL_REFERENCE_DATA names no folder")
    path = Path(folder) / "systems" / "row13_mlperf_rcp_epochs_vs_batch.csv"
    with path.open(encoding="utf-8") as file:
        published = {
            (row["benchmark"], float(row["global_batch"]), float(row["to_converge_mean"]))
            for row in csv.DictReader(file)
        }
    lines = (shipped.ROOT / "library/studies/critical_batch.csv").read_text("utf-8").splitlines()
    everything = list(csv.DictReader(x for x in lines if x[0] != "#"))
    rows = [r for r in everything if not r["benchmark"].startswith(("gnmt", "resnet_"))]
    assert (len(everything), len(rows)) == (37, 27)
    for row in rows:
        for batch, samples in (("small_batch", "small_samples"), ("large_batch", "large_samples"),
                               ("global_batch", "measured")):  # fmt: skip
            assert (row["benchmark"], float(row[batch]), float(row[samples])) in published
        assert float(row["small_batch"]) < float(row["large_batch"]) < float(row["global_batch"])
