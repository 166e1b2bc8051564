"""What cannot be built has no numbers: what a user reads of kernels whose points break rules."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.codegen.runtime import KernelEvaluator, OutputSpec, ParamSpec, RuleSpec, Spec, Sweep
from hwdsl.codegen.runtime.violated import combinations

LABELS = ("slow", "quick")


class Told:
    """A kernel that gives the numbers and words it is told, by the number of the point."""

    def __init__(self, columns: np.ndarray[Any, Any], words: np.ndarray[Any, Any]) -> None:
        self.columns, self.rows = columns, words
        self.params, self.outputs, self.words = 1, len(columns), words.shape[1]

    def run(self, axes: Any, start: int, stop: int, outputs: Any, rules: Any) -> None:
        values, stride, count = axes[0]
        at = values[np.arange(start, stop) // stride % count].astype(int)
        for column, numbers in zip(outputs, self.columns, strict=True):
            column[:] = numbers[at]
        rules[:] = self.rows[at]

    def point(self, values: Any) -> tuple[list[float], list[int]]:
        at = int(values[0])
        return [float(c[at]) for c in self.columns], [int(w) for w in self.rows[at]]

    def halt(self, on: bool) -> None: ...


@st.composite
def evaluators(draw: st.DrawFn) -> tuple[KernelEvaluator, Told, list[set[int]]]:
    """An evaluator of up to 130 rules, its kernel, and the rules that each point breaks."""
    severities = draw(st.lists(st.sampled_from(["require", "warn"]), max_size=130))
    points = draw(st.integers(1, 12))
    numbers = st.floats(allow_nan=True, allow_infinity=True)
    columns = [draw(st.lists(numbers, min_size=points, max_size=points)) for _ in range(2)]
    columns.append([float(draw(st.integers(0, 1))) for _ in range(points)])
    rules = (
        st.sets(st.integers(0, len(severities) - 1), max_size=5) if severities else st.just({*()})
    )
    broken = [draw(rules) for _ in range(points)]
    for k, point in enumerate(broken):  # the last bit says that an output is NaN, as kernels do
        point |= {len(severities)} if any(math.isnan(c[k]) for c in columns) else set()
    words = np.zeros((points, len(severities) // 64 + 1), np.uint64)
    for k, point in enumerate(broken):
        for b in point:
            words[k, b // 64] |= np.uint64(1 << b % 64)
    spec = Spec(
        "e", (ParamSpec("k", "int"),),
        (OutputSpec("a"), OutputSpec("b"), OutputSpec("kind", labels=LABELS)),
        tuple(RuleSpec(f"r{i}", s) for i, s in enumerate(severities)),
    )  # fmt: skip
    kernel = Told(np.array(columns), words)
    return KernelEvaluator(spec, kernel), kernel, broken


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True))


@settings(deadline=None, max_examples=80)
@given(evaluators())
def test_an_output_is_nan_where_the_point_is_infeasible_and_nowhere_else(found: Any) -> None:
    e, kernel, broken = found
    sweep = e.sweep(k=range(len(broken)))
    required = [
        not any(b == len(e.spec.rules) or e.spec.rules[b].severity == "require" for b in point)
        for point in broken
    ]
    assert sweep.feasible.tolist() == required
    for name, column in zip("ab", kernel.columns, strict=False):
        assert (~np.isnan(sweep[name])).tolist() == required
        assert same(sweep[name][required], column[required])
        assert same(sweep.raw[name], column)
    assert (sweep["kind"] != "").tolist() == required
    assert sweep.raw["kind"].tolist() == [LABELS[int(k)] for k in kernel.columns[2]]
    names = e.spec.rule_names
    told = [" ".join(names[b] for b in sorted(point)) for point in broken]
    assert sweep.violation_texts().tolist() == told == sweep.to_numpy()["violations"].tolist()
    for point, feasible in enumerate(required):
        one = e(k=point)
        for result in (one, sweep[point], sweep.take([point])[0]):
            assert math.isnan(result.a) is not feasible
            assert (result.kind is None) is not feasible
            assert same(result.raw.a, kernel.columns[0][point])
            assert result == one
            assert copy.deepcopy(result.raw) == one.raw
        assert same(sweep.raw[point].a, kernel.columns[0][point])
        assert " ".join(one.violations) == told[point]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 130), st.integers(0, 2000), st.randoms(use_true_random=False))
def test_combinations_of_rules_are_those_of_each_point(rules: int, points: int, draw: Any) -> None:
    """More combinations than the table holds at once, too: each point is read bit by bit."""
    words = np.array(
        [[draw.getrandbits(min(64, rules - 64 * w)) for w in range(-(-rules // 64))]
         for _ in range(points)], np.uint64,
    ).reshape(points, -(-rules // 64))  # fmt: skip
    names = [f"r{b}" for b in range(rules)]
    codes, texts = combinations(words, names)
    expected = [
        " ".join(names[b] for b in range(rules) if int(row[b // 64]) >> b % 64 & 1) for row in words
    ]
    assert [texts[c] for c in codes.tolist()] == expected
    assert len(set(texts)) == len(texts) <= points


def test_what_is_all_feasible_is_not_copied() -> None:
    kernel = Told(np.arange(3.0)[None], np.zeros((3, 1), np.uint64))
    sweep = KernelEvaluator(Spec("e", (ParamSpec("k", "int"),), (OutputSpec("a"),)), kernel).sweep(
        k=[0, 1, 2]
    )
    assert np.shares_memory(sweep["a"], sweep.raw["a"])
    mask = sweep.feasible
    mask &= False  # a user's own
    assert sweep.feasible.all()


def test_a_rule_broken_at_every_point_leaves_no_number() -> None:
    spec = Spec("e", (ParamSpec("k", "int"),), (OutputSpec("a"),), (RuleSpec("never"),))
    e = KernelEvaluator(spec, Told(np.arange(3.0)[None], np.ones((3, 1), np.uint64)))
    sweep: Sweep = e.sweep(k=[0, 1, 2])
    assert np.isnan(sweep["a"]).all()
    assert sweep.raw["a"].tolist() == [0, 1, 2]
    assert sweep.violation_texts().tolist() == ["never"] * 3
    with pytest.raises(ValueError, match="none of the 3 points is feasible"):
        sweep.best("a")
    with pytest.raises(ValueError, match="none of the 3 points is feasible"):
        sweep.raw.best("a")


def test_a_column_named_as_ours_is_the_users() -> None:
    spec = Spec("e", (ParamSpec("k", "int"),), (OutputSpec("violations"),), (RuleSpec("odd"),))
    e = KernelEvaluator(spec, Told(np.array([[7.0, 8.0]]), np.array([[0], [1]], np.uint64)))
    columns = e.sweep(k=[0, 1]).to_numpy()
    assert list(columns) == ["k", "violations", "feasible"]
    assert columns["violations"][0] == 7
