"""Hostile sizes: refused in about two seconds on an idle machine, and long chains are linear."""

from __future__ import annotations

import time

import pytest

from .helper import failures, found

LIMIT = 10.0  # seconds of the processor; what is refused took minutes


def doubling(levels: int) -> str:
    kinds = [f"kind k{i + 1} {{ k{i} a, k{i} b, let s = a.s + b.s }}" for i in range(levels)]
    return "\n".join(["kind k0 { x : real = 1, let s = x }", *kinds])


@pytest.mark.parametrize(
    "text",
    [
        doubling(40) + "\nk40 top { }",
        doubling(40) + "\nlet top = k40().s",
        doubling(40).replace("x : real = 1", "x : real") + "\nk40 top { }",
    ],
)
def test_parts_that_double_at_each_level(text: str) -> None:
    start = time.process_time()
    names = {name for name, _ in found(text)} or {
        name for name, _ in failures(f"{text}\nevaluator e {{ output y : real = top }}")
    }
    assert names <= {"too-large", "missing-field"}
    assert names
    assert time.process_time() - start < LIMIT


CUBES = [
    "sum(1.0 for a in 1 .. 1000 for b in 1 .. 1000 for c in 1 .. 1000)",
    "sum(x for a in 1 .. 1000 for b in 1 .. 1000 for c in 1 .. 1000)",
    "sum(sum(sum(a * b * c for a in 1 .. 1000) for b in 1 .. 1000) for c in 1 .. 1000)",
    "max(len([a for a in 1 .. 1000 if b < c]) for b in 1 .. 1000 for c in 1 .. 1000)",
]


@pytest.mark.parametrize("value", CUBES)
def test_comprehensions_of_a_thousand_cubed(value: str) -> None:
    start = time.process_time()
    text = f"evaluator e {{ param x : real = 1\n output y : real = {value} }}"
    assert [name for name, _ in failures(text)] == ["too-large"]
    assert time.process_time() - start < LIMIT


def test_long_chains_are_checked_in_seconds() -> None:
    kinds = "\n".join(f"kind k{i + 1} : k{i} {{ y{i} : real = 1 }}" for i in range(1500))
    parts = "\n".join(f"m c{i + 1} : c{i} {{ x = {i} }}" for i in range(1000))
    start = time.process_time()
    assert found(f"kind k0 {{ }}\n{kinds}\nkind m {{ x : real = 1 }}\nm c0 {{ }}\n{parts}") == []
    assert time.process_time() - start < LIMIT
