"""Tile-invariant hoisting: which values of a kernel are cached from one tile to the next.

In a sweep most params stay the same for many points: they are not swept, or belong to a slow
axis. A value that depends only on such params need not be computed again for every tile. Which
axes are slow is known only when the kernel is called, so the emitter cannot hoist the code out of
the loop over tiles: it guards it by a test whether one of its params has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from hwdsl.codegen.emit.uniformity import ListAnalysis
from hwdsl.codegen.ir.graph import Op
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
    analysis: ListAnalysis, per_call: Sequence[bool], params: Sequence[bool], roots: Sequence[int]
) -> tuple[list[InvariantGroup], list[int]]:
    """The profitable groups, smaller sets of params first, and the steps that run at each tile.

    `per_call` are operations computed once per call, `params` says which params are uniform.
    """
    masks = _param_masks(analysis, params)
    used = _live_out(analysis, masks, roots)
    cost = dict.fromkeys(masks, 0)
    for i in analysis.steps():
        if not per_call[i]:
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
        expensive = _expensive(analysis, masks, mask, cached, per_call)
        live_out = frozenset(i for i in used if masks[i] == mask and i in expensive)
        if (
            live_out
            and cost[mask] >= MIN_COST_PER_ROW * len(live_out)
            and len(cached) + len(live_out) <= MAX_ROWS
        ):
            groups.append(
                InvariantGroup(mask, _closure(analysis, live_out, cached, per_call), live_out)
            )
            cached |= live_out
    return groups, list(_closure(analysis, roots, cached, per_call))


def _param_masks(analysis: ListAnalysis, params: Sequence[bool]) -> list[int]:
    """Per operation, the varying params it depends on, as bits."""
    masks: list[int] = []
    for op in analysis.ops:
        mask = 1 << op.index if op.code == "param" and not params[op.index] else 0
        for a in op.args:
            mask |= masks[a]
        masks.append(mask)
    return masks


def _live_out(analysis: ListAnalysis, masks: Sequence[int], roots: Sequence[int]) -> set[int]:
    used = set(roots)
    for i, op in enumerate(analysis.ops):
        if analysis.live[i]:
            used.update(a for a in op.args if masks[a] != masks[i])
    return used


def _expensive(
    analysis: ListAnalysis,
    masks: Sequence[int],
    mask: int,
    cached: set[int],
    per_call: Sequence[bool],
) -> set[int]:
    """The operations within a mask that are expensive or depend on an expensive one, and are not
    cached already. A cheap value is recomputed: that costs no more than loading its row."""
    expensive: set[int] = set()
    for i, op in enumerate(analysis.ops):
        inside = (
            masks[i] | mask == mask and analysis.live[i] and not per_call[i] and i not in cached
        )
        if inside and (_cost(op) or any(a in expensive for a in op.args)):
            expensive.add(i)
    return expensive


def _closure(
    analysis: ListAnalysis,
    roots: Sequence[int] | frozenset[int],
    cached: set[int],
    per_call: Sequence[bool],
) -> tuple[int, ...]:
    """The steps that the roots depend on, without those computed once per call or cached."""
    wanted: set[int] = set()
    stack = [r for r in roots if r not in cached]
    while stack:
        i = stack.pop()
        if i in wanted or per_call[i] or i in cached:
            continue
        wanted.add(i)
        stack.extend(analysis.ops[i].args)
    steps = set(analysis.steps())
    return tuple(sorted(wanted & steps))


def _cost(op: Op) -> int:
    if op.body is not None:
        return op.bound * (1 + len(op.body.ops))
    return OPERATIONS[op.code].cost
