"""The Pareto front of many points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .kernel import Floats

SAMPLE = 1000
"""Points whose front is found first: it drops most of the others at little cost."""
BLOCK = 1024
"""Points compared with a front at once."""

Marks = NDArray[np.bool_]


def pareto_front(costs: Sequence[Floats]) -> NDArray[np.int64]:
    """The points that none dominates (all costs at most, one less), in their order.

    `costs` has an array for each objective, finite, with a value for each point. Points that are
    equal in all stay together.
    """
    rows = np.stack(costs, axis=1)
    found = np.arange(len(rows))
    if len(rows) > 4 * SAMPLE:
        first = rows[:: len(rows) // SAMPLE]
        for best in first[_front(first)]:
            left = ~_dominated(rows[found], best)
            if np.count_nonzero(left) > 0.99 * len(found):
                break  # where much is on the front, little is dropped
            found = found[left]
    return np.asarray(found[_front(rows[found])])


def _front(rows: Floats) -> NDArray[np.int64]:
    """The rows that none dominates, in their order."""
    # In lexicographic order no row dominates one before it, so one pass over the rows is enough.
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    # Equal rows do not dominate each other: they are compared once and share the answer.
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    different = rows[new]
    good = _stair(different) if rows.shape[1] <= 2 else _scan(different)
    return np.sort(order[good[np.cumsum(new) - 1]])


def _stair(rows: Floats) -> Marks:
    """Of different sorted rows of one or two costs, those less in the last than all before."""
    last = rows[:, -1]
    if rows.shape[1] == 1:
        return np.asarray(np.arange(len(rows)) == 0)
    before = np.minimum.accumulate(np.concatenate([[np.inf], last[:-1]]))
    return np.asarray(last < before)


def _scan(rows: Floats) -> Marks:
    """Of different sorted rows those that none dominates, a block after the other."""
    good = np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), BLOCK):
        places = np.arange(start, min(start + BLOCK, len(rows)))
        known = rows[:start][good[:start]]
        for part in range(0, len(known), BLOCK):
            places = places[~_under(rows[places], known[part : part + BLOCK])]
        block = rows[places]
        good[places[~_under(block, block)]] = True
    return good


def _under(rows: Floats, others: Floats) -> Marks:
    """Which rows have another row that is at most as much in all; rows are all different."""
    below = np.ones((len(rows), len(others)), np.bool_)
    for k in range(rows.shape[1]):
        below &= others[:, k] <= rows[:, k, None]
    if others is rows:
        np.fill_diagonal(below, False)
    return np.asarray(below.any(axis=1))


def _dominated(rows: Floats, by: Floats) -> Marks:
    """Which rows a point dominates."""
    return np.asarray((rows >= by).all(axis=1) & (rows > by).any(axis=1))
