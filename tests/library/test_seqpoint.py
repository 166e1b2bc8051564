"""SeqPoint's rule against an enumeration, its limits, and what the study assumes of times."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl

STUDY = Path(__file__).parents[2] / "library" / "studies" / "seqpoint.hw"

TEXT = """edition 2026
use std.representative_iterations: epoch

## Lengths by a bell of counts with gaps; times are a parabola, on the other machine a line.
kind bell : epoch {
    centre    : real
    curvature : real
    every     : int

    whole_length_elsewhere = whole_length
    whole_time_elsewhere   = sum(iterations(i) * time_elsewhere(i) for i in 0 .. last)
    fn length(group: int) -> real = 3 + group
    fn iterations(group: int) -> real {
        if floor(group / every) * every == group
            then 1 + floor(50 * exp(-((group - centre) / 8)^2))
            else 0
    }
    fn iteration_time(group: int) -> time = 1 s * (5 + length(group) + curvature * length(group)^2)
    fn time_elsewhere(group: int) -> time = 1 s * (1 + 2 * length(group))
}

evaluator rule {
    param groups     : int  = 30   in 1 .. 40
    param centre     : real = 10   in 0 .. 40
    param curvature  : real = 0.02 in 0 .. 1
    param every      : int  = 1    in 1 .. 5
    param first_bins : int  = 5    in 1 .. 60
    param tolerance  : real = 0.01 in 0 .. 1
    param exhaustive : int  = 10   in 0 .. 50
    let epoch = bell(
        groups = groups,
        centre = centre,
        curvature = curvature,
        every = every,
        first_bins = first_bins,
        tolerance = tolerance,
        exhaustive_lengths = exhaustive,
    )
    output points                    = epoch.points
    output count                     = epoch.whole_count
    output profiled                  in s = epoch.profiled_time
    output projection_error          = epoch.projection_error
    output speedup                   = epoch.speedup
    output speedup_error             = epoch.speedup_error
    output mean_length_error         = epoch.mean_length_error
    output line_error                = epoch.line_error
    output random_sample_error       = epoch.random_sample_error
}
"""


@pytest.fixture(scope="module")
def study() -> hwdsl.Module:
    return hwdsl.load(STUDY, compiled=False)


def bell(groups: int, centre: float, curvature: float, every: int) -> list[np.ndarray]:
    """Lengths, counts, times and times on the other machine of the groups that have iterations."""
    group = np.arange(0, groups, every)
    counts = 1 + np.floor(50 * np.exp(-(((group - centre) / 8) ** 2)))
    lengths = 3.0 + group
    return [lengths, counts, 5 + lengths + curvature * lengths**2, 1 + 2 * lengths]


def selected(
    lengths: np.ndarray, counts: np.ndarray, times: np.ndarray, bins: int
) -> tuple[list[int], list[float]]:
    """The iteration of each bin that is nearest to its mean time, and how many it stands for."""
    places = (lengths - lengths[0]) / (lengths[-1] - lengths[0]) * bins
    bin_of = np.minimum(np.floor(places + 1e-12), bins - 1)
    points, weights = [], []
    for b in range(bins):
        members = np.flatnonzero(bin_of == b)
        if len(members):
            mean = np.average(times[members], weights=counts[members])
            points.append(int(members[np.argmin(abs(times[members] - mean))]))
            weights.append(float(counts[members].sum()))
    return points, weights


@given(
    groups=st.integers(15, 40),
    centre=st.floats(0, 40),
    curvature=st.floats(0.001, 1),
    every=st.integers(1, 3),
    first_bins=st.integers(1, 20),
    tolerance=st.sampled_from([0.001, 0.01, 0.05, 1.0]),
)
@settings(max_examples=20, deadline=None)
def test_the_rule_selects_as_an_enumeration_does(
    module: hwdsl.Module, groups: int, centre: float, curvature: float, every: int,
    first_bins: int, tolerance: float,
) -> None:  # fmt: skip
    found = module.rule(
        groups=groups, centre=centre, curvature=curvature, every=every,
        first_bins=first_bins, tolerance=tolerance, exhaustive=0,
    )  # fmt: skip
    lengths, counts, times, others = bell(groups, centre, curvature, every)
    whole, elsewhere = counts @ times, counts @ others
    for bins in range(first_bins, first_bins + 60):
        points, weights = selected(lengths, counts, times, bins)
        assert sum(weights) == counts.sum()
        error = np.dot(weights, times[points]) / whole - 1
        if abs(error) <= tolerance:
            break
    else:
        return
    projected = np.dot(weights, times[points]) / np.dot(weights, others[points])
    assert found.points == len(points)
    assert found.profiled == pytest.approx(times[points].sum())
    assert found.projection_error == pytest.approx(error, abs=1e-12)
    assert found.speedup == pytest.approx(whole / elsewhere)
    assert found.speedup_error == pytest.approx(projected / (whole / elsewhere) - 1, abs=1e-12)


def test_as_many_bins_as_lengths_are_exact(module: hwdsl.Module) -> None:
    found = module.rule(groups=25, first_bins=25, tolerance=1, exhaustive=0)
    assert (found.points, found.projection_error) == (25, pytest.approx(0, abs=1e-12))
    assert found.speedup_error == pytest.approx(0, abs=1e-12)


def test_one_bin_is_the_iteration_nearest_to_the_mean_time(module: hwdsl.Module) -> None:
    found = module.rule(first_bins=1, tolerance=1, exhaustive=0)
    _, counts, times, _ = bell(30, 10, 0.02, 1)
    mean = np.average(times, weights=counts)
    nearest = times[np.argmin(abs(times - mean))]
    assert found.points == 1
    assert found.projection_error == pytest.approx(nearest / mean - 1)


@pytest.mark.parametrize(("groups", "points"), [(1, 1), (7, 7), (10, 10), (11, 5)])
def test_up_to_ten_lengths_are_all_profiled(module: hwdsl.Module, groups: int, points: int) -> None:
    found = module.rule(groups=groups, centre=3, tolerance=1)
    assert found.points == points
    if groups <= 10:
        assert found.projection_error == 0
        assert found.speedup_error == pytest.approx(0, abs=1e-12)


def test_baselines_follow_their_formulas(module: hwdsl.Module) -> None:
    found = module.rule(curvature=0.05)
    lengths, counts, times, _ = bell(30, 10, 0.05, 1)
    every = np.repeat(times, counts.astype(int))
    middle = times[np.argmin(abs(lengths - np.average(lengths, weights=counts)))]
    line = np.polynomial.Polynomial.fit(lengths[[0, -1]], times[[0, -1]], 1)
    assert found.mean_length_error == pytest.approx(middle / every.mean() - 1)
    assert found.line_error == pytest.approx((counts @ line(lengths)) / every.sum() - 1)
    deviation = every.std() / every.mean() / math.sqrt(found.points)
    assert found.random_sample_error == pytest.approx(deviation)
    # Times that are a line in length are projected by two iterations.
    assert module.rule(curvature=0).line_error == pytest.approx(0, abs=1e-12)


def test_times_between_computed_lengths_are_nearly_linear(study: hwdsl.Module) -> None:
    """What `between_steps` assumes: against lengths from 5 words on, computed by themselves."""
    known, words = np.arange(1, 97, 19), np.arange(5, 96, 6)
    times = {
        int(n): study.gnmt_iteration(words=int(n), configuration="as_sold").time
        for n in {*known, *words}
    }
    line = np.interp(words, known, [times[n] for n in known])
    errors = abs(line / [times[n] for n in words] - 1)
    assert errors.max() < 0.04
    assert errors.mean() < 0.01


@pytest.mark.parametrize("padding", [1, 3, 4, 16])
def test_an_epoch_has_the_batches_of_its_sentences(study: hwdsl.Module, padding: int) -> None:
    found = study.gnmt_epoch(padding=padding)
    assert found.iterations == pytest.approx(133_000 / 64, abs=1)
    assert found.epoch_time >= study.gnmt_epoch(padding=1).epoch_time
