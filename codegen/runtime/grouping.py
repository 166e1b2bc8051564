"""Points in groups: by the values of params, or of outputs that are cases of an enum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import Block, spread
from .errors import CallError
from .kernel import Floats
from .spec import Spec, did_you_mean

MOST = 1 << 16
"""Groups that are told apart: what is kept of each must stay small."""
AXES = 64
"""Axes whose codes are kept."""

Codes = NDArray[np.int64]


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

    def of(self, block: Block) -> Codes | int:
        """The number of each point's group, or one number where all are of one."""
        if not self.names:
            return 0
        codes = [self._coded(k, block) for k in range(len(self.names))]
        shape = tuple(1 << max(0, len(c) - 1).bit_length() for c in self._codes)
        if shape != self._table.shape:
            self._resize(shape)
        if all(c.strides == (0,) for c in codes):  # one value each
            key = tuple(int(c[0]) for c in codes)
            self._name(np.array([self._flat(key)]))
            return int(self._table[key])
        flat = np.zeros(len(block), np.int64)
        for size, code in zip(self._table.shape, codes, strict=True):
            flat *= size
            flat += code
        found = self._table.ravel()[flat]
        if found.min() < 0:
            self._name(np.unique(flat[found < 0]))
            found = self._table.ravel()[flat]
        return np.asarray(found, np.int64)

    def _flat(self, key: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(key, self._table.shape))

    def _coded(self, k: int, block: Block) -> Codes:
        """The codes of a name's values at the points of a block."""
        name = self.names[k]
        if name not in block.slots:
            values = np.nan_to_num(block.base(name), nan=-1.0)  # no case: of no point that counts
            kinds, codes = np.unique(values, return_inverse=True)
            return self._code(k, kinds)[codes]
        values, stride, count = block.axes[block.slots[name]]
        key = (name, id(values))
        kept = self._axes.get(key)
        if kept is None:
            kinds, codes = np.unique(values, return_inverse=True)
            if len(self._axes) >= AXES:  # of a table there are new ones again and again
                self._axes.clear()
            kept = self._axes[key] = (values, self._code(k, kinds)[codes])
        return np.asarray(spread((kept[1], stride, count), block.start, block.count), np.int64)

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
        shape = tuple(1 << max(0, len(c) - 1).bit_length() for c in self._codes)
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
