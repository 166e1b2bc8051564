"""Derivatives of the operations of a graph, by what their records say."""

from __future__ import annotations

from collections.abc import Sequence

from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import REAL, Op
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.derivatives import Chosen, DerivativeRule, Partials

__all__ = ["Partials", "is_differentiable_in", "tangent_of_choice", "vjp"]


def is_differentiable_in(op: Op, position: int) -> bool:
    """Whether the operation's value can have a derivative in that argument; an int has none."""
    return op.type == REAL and OPERATIONS[op.code].derivative.passes(position)


def vjp(
    partials: Partials, op: Op, args: Sequence[Ref], value: Ref, position: int, weight: Ref
) -> Ref:
    """`weight` times the partial derivative of `value = op(*args)` in one argument."""
    if weight.known == 0.0:
        return weight
    derivative = OPERATIONS[op.code].derivative
    assert isinstance(derivative, DerivativeRule | Chosen)
    found: Ref = derivative.weigh(partials, args, value, position, weight)
    return found


def tangent_of_choice(
    partials: Partials, op: Op, args: Sequence[Ref], tangents: Sequence[Ref]
) -> Ref | None:
    """The tangent of what is one of its arguments, if the operation is such."""
    derivative = OPERATIONS[op.code].derivative
    if not isinstance(derivative, Chosen):
        return None
    found: Ref = derivative.tangent(partials.builder, args, tangents)
    return found
