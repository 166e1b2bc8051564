"""Laws of serving, and the table of published throughput."""

import csv
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import hwdsl
from hwdsl.api.evaluator import Evaluator

STUDY = Path(__file__).parents[2] / "library" / "studies" / "llm_serving.hw"


@pytest.fixture(scope="module")
def serving() -> Evaluator:
    return hwdsl.load(STUDY, compiled=False).serving


def test_longer_prompts_leave_room_for_fewer(serving: Evaluator) -> None:
    batches = [serving(input_length=n).batch_size for n in (128, 1024, 8192, 65536)]
    assert all(later <= before for before, later in pairwise(batches))


def test_longer_prompts_cost_throughput(serving: Evaluator) -> None:
    rates = [serving(input_length=n).output_throughput for n in (128, 512, 2048, 8192, 32768)]
    assert all(later < before for before, later in pairwise(rates))


def test_energy_and_cost_are_those_of_the_accelerators(serving: Evaluator) -> None:
    answer = serving(tensor=4, gpu_hour_cost=2)
    # Between the static power, 0.3 of 700 W, and the limit.
    assert 4 * 210 < answer.energy_per_token * answer.output_throughput <= 4 * 700
    assert answer.cost_per_mtoken * 1e-6 * answer.output_throughput * 3600 == pytest.approx(4 * 2)


def test_load_only_lengthens_times(serving: Evaluator) -> None:
    capacity = serving().output_throughput / 2048
    before = serving(request_rate=0.01 * capacity)
    for load in (0.1, 0.3, 0.6, 0.9):
        after = serving(request_rate=load * capacity)
        assert after.tpot >= before.tpot * (1 - 1e-9)
        assert after.ttft >= before.ttft * (1 - 1e-9)
        assert after.ttft_p95 >= before.ttft_p95 * (1 - 1e-9)
        before = after
    assert before.tpot <= serving().step_time * (1 + 1e-6)


def test_published_throughput_is_met(serving: Evaluator) -> None:
    """Median and 90th percentile of the error; the roofline must do worse on both."""
    lines = STUDY.with_name("serving.csv").read_text(encoding="utf-8").splitlines()
    errors, naive = [], []
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        measured = float(row.pop("measured [token/s]"))
        del row["case"]
        words = {name: row.pop(name) for name in ("gpu", "dtype", "kv_cache_dtype")}
        answer = serving(**words, **{name: int(cell) for name, cell in row.items()})
        errors.append(abs(answer.output_throughput / measured - 1))
        naive.append(abs(answer.baseline_throughput / measured - 1))
    assert median(errors) <= 0.10 < median(naive)
    assert np.quantile(errors, 0.9) <= 0.20 < np.quantile(naive, 0.9)


def test_what_does_not_fit_is_infeasible(serving: Evaluator) -> None:
    """Llama 405B's layers on one A100: no room for a key, so that the rates mean nothing."""
    assert serving(gpu="A100", tensor=4).feasible
    answer = serving(gpu="A100", tensor=1, layers=126)
    assert not answer.feasible
    assert list(answer.violations) == ["server.kv_cache_capacity"]
