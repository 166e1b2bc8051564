"""Places in the text of one file that stay with the items they stand in when others change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

Place = tuple[int, int]
"""From where to where in the text a statement stands."""
Anchor = tuple[int, int]
"""From where to where in the text an item stands that an evaluator depends on."""


@frozen
class Places:
    """Where the statements of a file stand that its evaluators read, and those that were replaced
    by others which they read.

    `unknown` are the paths of values that nobody knows, met on the way; `complete` says that what
    would be read behind one is among the places, and all that rules read.
    """

    read: frozenset[Place] = frozenset()
    replaced: frozenset[Place] = frozenset()
    unknown: frozenset[str] = frozenset()
    complete: bool = False

    def __or__(self, other: Places) -> Places:
        return Places(self.read | other.read, self.replaced | other.replaced)

    def moved(self, before: Sequence[Anchor], now: Sequence[Anchor]) -> Places:
        """The same places where the items, in the same order, stand elsewhere in the text."""
        if tuple(before) == tuple(now):
            return self
        starts = [start for start, _ in before]

        def moved(places: Iterable[Place]) -> frozenset[Place]:
            found = set()
            for start, end in places:
                k = bisect_right(starts, start) - 1
                by = now[k][0] - starts[k]
                found.add((start + by, end + by))
            return frozenset(found)

        return evolve(self, read=moved(self.read), replaced=moved(self.replaced))
