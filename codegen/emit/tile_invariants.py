"""Which values of a kernel are worth keeping from one tile to the next.

In a sweep most params stay the same for many points: they are not swept, or belong to a slow
axis. A value that depends only on such params need not be computed again for every tile. A
*group* is the part of a graph that depends on one set of params; its dear values are kept in rows
of their own, and the group runs again only when one of its params has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from hwdsl.codegen.emit.uniformity import ListAnalysis
from hwdsl.codegen.ir.graph import Op
from hwdsl.codegen.operations import OPERATIONS

GROUPS = 6
ROWS = 96
WORTH = 6


@frozen
class InvariantGroup:
    """Operations to run when a param in the mask changes, and those whose values are kept."""

    mask: int
    steps: tuple[int, ...]
    keep: frozenset[int]


def find_invariant_groups(
    shape: ListAnalysis, early: Sequence[bool], params: Sequence[bool], sinks: Sequence[int]
) -> tuple[list[InvariantGroup], list[int]]:
    """The groups worth having, smaller sets of params first, and the steps that are left.

    `early` are operations computed once per call, `params` says which params are uniform.
    """
    masks = _masks(shape, params)
    used = _used_outside(shape, masks, sinks)
    cost = dict.fromkeys(masks, 0)
    for i in shape.steps():
        if not early[i]:
            cost[masks[i]] += _cost(shape.ops[i])
    everything = 0
    for i in sinks:
        everything |= masks[i]
    chosen = sorted(
        (m for m in cost if cost[m] and m and m != everything), key=lambda m: (-cost[m], m)
    )
    kept: set[int] = set()
    made: list[InvariantGroup] = []
    for mask in sorted(chosen[:GROUPS], key=lambda m: (m.bit_count(), m)):
        dear = _expensive(shape, masks, mask, kept, early)
        keep = frozenset(i for i in used if masks[i] == mask and i in dear)
        if keep and cost[mask] >= WORTH * len(keep) and len(kept) + len(keep) <= ROWS:
            made.append(InvariantGroup(mask, _closure(shape, keep, kept, early), keep))
            kept |= keep
    return made, list(_closure(shape, sinks, kept, early))


def _masks(shape: ListAnalysis, params: Sequence[bool]) -> list[int]:
    """Per operation, the varying params it depends on, as bits."""
    masks: list[int] = []
    for op in shape.ops:
        mask = 1 << op.index if op.code == "param" and not params[op.index] else 0
        for a in op.args:
            mask |= masks[a]
        masks.append(mask)
    return masks


def _used_outside(shape: ListAnalysis, masks: Sequence[int], sinks: Sequence[int]) -> set[int]:
    used = set(sinks)
    for i, op in enumerate(shape.ops):
        if shape.live[i]:
            used.update(a for a in op.args if masks[a] != masks[i])
    return used


def _expensive(
    shape: ListAnalysis, masks: Sequence[int], mask: int, kept: set[int], early: Sequence[bool]
) -> set[int]:
    """The operations within a mask that stand on something dear and not kept already."""
    dear: set[int] = set()
    for i, op in enumerate(shape.ops):
        inside = masks[i] | mask == mask and shape.live[i] and not early[i] and i not in kept
        if inside and (_cost(op) or any(a in dear for a in op.args)):
            dear.add(i)
    return dear


def _closure(
    shape: ListAnalysis,
    roots: Sequence[int] | frozenset[int],
    kept: set[int],
    early: Sequence[bool],
) -> tuple[int, ...]:
    """The steps that the roots need, computed once per call and kept values aside."""
    wanted: set[int] = set()
    stack = [r for r in roots if r not in kept]
    while stack:
        i = stack.pop()
        if i in wanted or early[i] or i in kept:
            continue
        wanted.add(i)
        stack.extend(shape.ops[i].args)
    steps = set(shape.steps())
    return tuple(sorted(wanted & steps))


def _cost(op: Op) -> int:
    if op.body is not None:
        return op.bound * (1 + len(op.body.ops))
    return OPERATIONS[op.code].cost
