"""A condition is tried in all cases of the choices that it reads, and of no others."""

from __future__ import annotations

import pytest

from hwdsl.codegen.ir.builder import GraphBuilder, Ref
from hwdsl.codegen.ir.graph import BOOL, INT
from hwdsl.codegen.passes.case_analysis import is_always_true


def switches(b: GraphBuilder, count: int) -> list[Ref]:
    """Choices of two alternatives each."""
    return [b.param(f"c{i}", BOOL, uniform=True, low=0.0, high=1.0) for i in range(count)]


@pytest.mark.parametrize("others", [0, 3, 40])
def test_choices_that_a_condition_does_not_read_cost_nothing(others: int) -> None:
    b = GraphBuilder()
    first, *rest = switches(b, 1 + others)
    either = b.op("or", first, b.op("not", first))
    assert is_always_true(b, either, [(c, 2) for c in (first, *rest)])
    assert not is_always_true(b, first, [(c, 2) for c in (first, *rest)])


def test_a_choice_counts_where_it_is_read_by_way_of_another() -> None:
    b = GraphBuilder()
    (outer,) = switches(b, 1)
    index = b.op("select", outer, b.const(0, INT), b.const(2, INT))
    below = b.op("le", index, b.const(1, INT))
    either = b.op("or", below, b.op("eq", index, b.const(2, INT)))
    assert is_always_true(b, either, [(outer, 2)])
    assert is_always_true(b, either, [(index, 3)])
    assert not is_always_true(b, below, [(outer, 2), (index, 3)])


def test_a_choice_is_read_inside_a_loop() -> None:
    b = GraphBuilder()
    (outer,) = switches(b, 1)
    many = b.param("n", INT, low=0.0, high=9.0)
    loop = b.open_loop([BOOL])
    inside = b.op("and", loop.states[0], b.op("lt", loop.variable, b.const(5, INT)))
    held = b.op("or", inside, outer)  # captures the choice
    apart = b.op("or", held, b.op("not", outer))
    loop.close(b.const(0, INT), many, 9, [b.const(1.0, BOOL)], [held])
    assert is_always_true(b, apart, [(outer, 2)])
    assert not is_always_true(b, held, [(outer, 2)])
