"""Tile-invariant hoisting: which values of a kernel are cached from one tile to the next.

In a sweep most params stay the same for many points: they are not swept, or belong to a slow
axis. A value that depends only on such params need not be computed again for every tile. Which
axes are slow is known only when the kernel is called, so the emitter cannot hoist the code out of
the loop over tiles: it guards it by a test whether one of its params has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from hwdsl.codegen.emit.uniformity import ListAnalysis
from hwdsl.codegen.ir.dependence import param_masks
from hwdsl.codegen.ir.graph import Op, backward_slice
from hwdsl.codegen.operations import OPERATIONS

MAX_GROUPS = 6
"""The most expensive candidates that are looked at: each set of params may be one."""
MAX_ROWS = 96
"""Rows for all cached values; more rows make shorter tiles (`TILE_BY_ROWS`)."""
MIN_COST_PER_ROW = 6
"""Cost of a group per cached row from which the group pays."""


@frozen
class InvariantGroup:
    """A set of params, and the operations that depend on these params and on no others.

    The operations run in the first tile and again when a param in `mask` (one bit each) has a new
    value; those in `live_out` are cached in rows of their own for the tiles in between.
    """

    mask: int
    steps: tuple[int, ...]
    live_out: frozenset[int]


def find_invariant_groups(
    analysis: ListAnalysis, per_call: set[int], params: Sequence[bool], roots: Sequence[int]
) -> tuple[list[InvariantGroup], list[int]]:
    """The profitable groups, smaller sets of params first, and the steps that run at each tile.

    `per_call` are operations computed once per call, `params` says which params are uniform.
    """
    varying = sum(1 << i for i, uniform in enumerate(params) if not uniform)
    masks = [mask & varying for mask in param_masks(analysis.ops)]
    used = _live_out(analysis, masks, roots)
    cost = dict.fromkeys(masks, 0)
    for i in analysis.steps():
        if i not in per_call:
            cost[masks[i]] += _cost(analysis.ops[i])
    all_params = 0
    for i in roots:
        all_params |= masks[i]
    # A group of all params would run again whenever anything changes: it saves nothing.
    candidates = sorted(
        (m for m in cost if cost[m] and m and m != all_params), key=lambda m: (-cost[m], m)
    )
    cached: set[int] = set()
    groups: list[InvariantGroup] = []
    # Small sets first: a group may read what a group of fewer params has cached, never the reverse.
    for mask in sorted(candidates[:MAX_GROUPS], key=lambda m: (m.bit_count(), m)):
        expensive = _expensive(analysis, masks, mask, cached | per_call)
        live_out = frozenset(i for i in used if masks[i] == mask and i in expensive)
        if (
            live_out
            and cost[mask] >= MIN_COST_PER_ROW * len(live_out)
            and len(cached) + len(live_out) <= MAX_ROWS
        ):
            groups.append(
                InvariantGroup(mask, _steps_for(analysis, live_out, cached | per_call), live_out)
            )
            cached |= live_out
    return groups, list(_steps_for(analysis, roots, cached | per_call))


def _live_out(analysis: ListAnalysis, masks: Sequence[int], roots: Sequence[int]) -> set[int]:
    used = set(roots)
    for i, op in enumerate(analysis.ops):
        if i in analysis.live:
            used.update(a for a in op.args if masks[a] != masks[i])
    return used


def _expensive(
    analysis: ListAnalysis, masks: Sequence[int], mask: int, known: set[int]
) -> set[int]:
    """The operations within a mask that are expensive or depend on an expensive one, and are not
    known already. A cheap value is recomputed: that costs no more than loading its row."""
    expensive: set[int] = set()
    for i in sorted(analysis.live - known):
        op = analysis.ops[i]
        if masks[i] | mask == mask and (_cost(op) or not expensive.isdisjoint(op.args)):
            expensive.add(i)
    return expensive


def _steps_for(analysis: ListAnalysis, roots: Iterable[int], known: set[int]) -> tuple[int, ...]:
    """The steps that the roots depend on, without what is known by then."""
    needed = backward_slice(analysis.ops, roots, known)
    return tuple(i for i in analysis.steps() if i in needed)


def _cost(op: Op) -> int:
    if op.body is not None:
        return op.bound * (1 + len(op.body.ops))
    return OPERATIONS[op.code].cost
