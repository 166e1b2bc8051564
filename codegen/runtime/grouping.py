"""Points in groups: by the values of params, or of outputs that are cases of an enum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import Places, PointBlock, spread
from .errors import CallError
from .kernel import Floats
from .spec import Spec, did_you_mean

MOST = 1 << 16
"""Groups that are told apart: what is kept of each must stay small."""
AXES = 64
"""Axes whose codes are kept."""

Codes = NDArray[np.int64]


class Grouped:
    """The groups of a block's points: one, or the numbers along an axis."""

    def __init__(
        self, block: PointBlock, axis: Codes | None = None, stride: int = 1, *, alone: int = 0,
        here: bool = False,
    ) -> None:  # fmt: skip
        self._start, self._count = (0 if here else block.start), len(block)
        self._axis, self._stride = axis, stride
        self._alone: int | None = alone if axis is None else None
        if axis is not None and len(block):
            first, last = self._start // stride, (self._start + len(block) - 1) // stride
            if len(axis) == 1 or first == last:
                self._alone = int(axis[first % len(axis)])

    def spread(self, values: Floats) -> Floats | float:
        """A value of each group, spread over the points."""
        if self._alone is not None or self._axis is None:
            return float(values[self._alone or 0])
        axis = (self._axis, self._stride, len(self._axis))
        if len(self._axis) > self._count:  # of a long one, only what is needed
            return np.asarray(values[spread(axis, self._start, self._count)])
        return np.asarray(spread((values[self._axis], *axis[1:]), self._start, self._count))

    def at(self, places: Places) -> Codes:
        """The numbers of the groups at some places."""
        if self._alone is not None or self._axis is None:
            return np.full(len(places), self._alone or 0)
        return self._axis[(self._start + places) // self._stride % len(self._axis)]


class Groups:
    """The groups seen so far, by number in the order in which they came.

    A group has a value of each of `names`; without names all points are of one group.
    """

    def __init__(self, spec: Spec, names: Sequence[str]) -> None:
        known = [*(p.name for p in spec.params), *(o.name for o in spec.outputs if o.labels)]
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise CallError(f"{spec.name} has no param or case of an enum {name}{hint}")
        self.names = list(names)
        self.keys: list[tuple[float, ...]] = [] if names else [()]
        self._codes: list[dict[float, int]] = [{} for _ in names]
        self._numbers = {key: k for k, key in enumerate(self.keys)}
        self._forget()

    def _forget(self) -> None:
        """Start anew what is only kept to be quick."""
        self._axes: dict[tuple[str, int], tuple[Floats, Codes]] = {}
        self._table = np.full([1 for _ in self.names], -1, np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_axes": {}}

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, block: PointBlock) -> Grouped:
        """The groups of a block's points."""
        if not self.names:
            return Grouped(block, alone=0)
        if len(self.names) == 1:
            codes, stride = self._axis(0, block)
            self._number_values()
            return Grouped(block, codes, stride)
        axes = [self._axis(k, block) for k in range(len(self.names))]
        shape = tuple(_room(len(c)) for c in self._codes)
        if shape != self._table.shape:
            self._resize(shape)
        flat = np.zeros(len(block), np.int64)
        for size, (codes, stride) in zip(shape, axes, strict=True):
            flat *= size
            flat += spread((codes, stride, len(codes)), block.start, len(block))
        found = self._table.ravel()[flat]
        if found.min() < 0:
            self._name(np.unique(flat[found < 0]))
            found = self._table.ravel()[flat]
        return Grouped(block, found, 1, here=True)

    def _number_values(self) -> None:
        """Of one name each value is a group, with its code as the number."""
        if len(self.keys) < len(self._codes[0]):
            self.keys = [(value,) for value in self._codes[0]]
            self._numbers = {key: k for k, key in enumerate(self.keys)}

    def _flat(self, key: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(key, self._table.shape))

    def _axis(self, k: int, block: PointBlock) -> tuple[Codes, int]:
        """The codes of a name's values along its axis, and the points for which one holds."""
        name = self.names[k]
        if name not in block.slots:
            values = np.nan_to_num(block.base(name), nan=-1.0)  # no case: of no point that counts
            kinds, codes = np.unique(values, return_inverse=True)
            codes = self._code(k, kinds)[codes]
            return np.roll(codes, block.start % len(codes)), 1  # as if it were an axis
        values, stride, _ = block.axes[block.slots[name]]
        key = (name, id(values))
        kept = self._axes.get(key)
        if kept is None:
            kinds, codes = np.unique(values, return_inverse=True)
            if len(self._axes) >= AXES:  # of a table there are new ones again and again
                self._axes.clear()
            kept = self._axes[key] = (values, self._code(k, kinds)[codes])
        return kept[1], stride

    def _code(self, k: int, kinds: Floats) -> Codes:
        """The codes of different values of a name."""
        known = self._codes[k]
        found = np.array([known.setdefault(v, len(known)) for v in kinds.tolist()], np.int64)
        if len(known) > MOST:
            raise CallError(f"{self.names[k]} has more than {MOST:,} values: too many groups")
        return found

    def _resize(self, shape: tuple[int, ...]) -> None:
        """Make room for groups of more values."""
        if math.prod(shape) > MOST:
            by = " and ".join(self.names)
            raise CallError(f"there are more than {MOST:,} groups by {by}")
        self._table = np.full(shape, -1, np.int64)
        for k, values in enumerate(self.keys):
            self._table[self._place(values)] = k

    def _place(self, key: tuple[float, ...]) -> tuple[int, ...]:
        return tuple(codes[v] for codes, v in zip(self._codes, key, strict=True))

    def _name(self, flat: Codes) -> None:
        """Number groups that are new."""
        values = [list(codes) for codes in self._codes]
        table = self._table.ravel()
        for place in flat.tolist():
            if table[place] < 0:
                codes = np.unravel_index(place, self._table.shape)
                key = tuple(v[int(c)] for v, c in zip(values, codes, strict=True))
                table[place] = self._numbers[key] = len(self.keys)
                self.keys.append(key)

    def merge(self, other: Groups) -> Codes:
        """Take in the groups of another; the number here of each of theirs."""
        if not self.names:
            return np.zeros(1, np.int64)
        for key in other.keys:
            for codes, value in zip(self._codes, key, strict=True):
                codes.setdefault(value, len(codes))
        if len(self.names) == 1:
            self._number_values()
            return np.array([self._numbers[key] for key in other.keys], np.int64)
        shape = tuple(_room(len(c)) for c in self._codes)
        if shape != self._table.shape:
            self._resize(shape)
        for key in other.keys:
            self._name(np.array([self._flat(self._place(key))]))
        return np.array([self._numbers[key] for key in other.keys], np.int64)

    def order(self) -> Codes:
        """The place of each group among all, sorted by their values."""
        places = np.empty(len(self.keys), np.int64)
        ranked = sorted(range(len(self.keys)), key=lambda k: self.keys[k])
        places[ranked] = np.arange(len(self.keys))
        return places


def _room(count: int) -> int:
    """The next power of two: a table that is full doubles."""
    return 1 << max(0, count - 1).bit_length()
