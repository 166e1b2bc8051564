"""The points of one kernel call, as reductions read them, in buffers that are used again.

A thread has one `PointBlock`. It is filled for some points, read by reductions, and filled for the
next. What reductions want at all points are outputs in base units, as the kernel writes them,
values of params, and which points are feasible; what they keep of a few points they ask for by
place, and get in declared units.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import violated
from .execution_plan import ROOM, PointStretch
from .kernel import Axis, Floats, Kernel, Words
from .spec import OutputSpec, ParamSpec, Spec

Places = NDArray[np.int64]
NOWHERE = np.empty(0, np.int64)
Marks = NDArray[np.bool_]
Where = Callable[["PointBlock"], "Marks | None"]


class PointBlock:
    """Points of a sweep with what the kernel gives for them.

    `wanted` names the outputs that are read. `where` says which of the points are looked at, None
    for all; those that are infeasible never are, unless the block is `raw`.
    """

    def __init__(
        self, spec: Spec, wanted: Collection[str], where: Sequence[Where] = (), *,
        raw: bool = False, room: int = ROOM,
    ) -> None:  # fmt: skip
        self.spec, self.where, self.is_raw, self.room = spec, where, raw, room
        self.slots = {p.name: k for k, p in enumerate(spec.params)}
        self._outputs = {o.name: k for k, o in enumerate(spec.outputs)}
        self._whole: list[Floats | None] = [
            np.empty(room) if o.name in wanted else None for o in spec.outputs
        ]
        self._all_words = np.empty((room, len(spec.required)), np.uint64)
        self._buffers: dict[tuple[str, str], NDArray[Any]] = {}
        self.axes: Sequence[Axis] = ()
        self.count, self.start = 0, 0
        self.words: Words = self._all_words[:0]
        self._columns: list[Floats | None] = []
        self._feasible: tuple[Marks | None] | None = None
        self._selected: tuple[Marks | None] | None = None
        self._allowed: tuple[Marks | None] | None = None

    def fill(
        self, kernel: Kernel, part: PointStretch, start: int, stop: int, first: int = 0
    ) -> None:
        """Evaluate the points start..stop of a group; the sweep's own number is `first`."""
        self._span, self._at, self.first = part.span, start, first
        self.axes, self.start, _ = part.span.gathered(part.axes, start, stop)
        self.count = n = stop - start
        self.words = self._all_words[:n]
        self._columns = [None if c is None else c[:n] for c in self._whole]
        self._feasible = self._selected = self._allowed = None
        kernel.run(self.axes, self.start, self.start + n, self._columns, self.words)

    def __len__(self) -> int:
        return self.count

    def buffer(self, use: str, kind: Any = np.float64) -> NDArray[Any]:
        """Room for a value of each point, which is anyone's who asks for that use of it."""
        key = (use, np.dtype(kind).char)
        if key not in self._buffers:
            self._buffers[key] = np.empty(self.room, kind)
        return self._buffers[key][: self.count]

    # --- at all points ------------------------------------------------------------------------

    @property
    def feasible(self) -> Marks | None:
        """Where no `require` is broken; None if that is everywhere."""
        if self._feasible is None:
            self._feasible = (self._unbroken(),)
        return self._feasible[0]

    def _unbroken(self) -> Marks | None:
        found: Marks | None = None
        for k, mask in enumerate(self.spec.required):
            if not mask:
                continue
            words = self.words[:, k]
            if not int(np.bitwise_or.reduce(words)) & mask:
                continue
            bits = np.bitwise_and(words, np.uint64(mask), out=self.buffer("bits", np.uint64))
            if found is None:
                found = np.equal(bits, 0, out=self.buffer("feasible", np.bool_))
            else:
                more = np.equal(bits, 0, out=self.buffer("more", np.bool_))
                np.logical_and(found, more, out=found)
        return found

    @property
    def selected(self) -> Marks | None:
        """Which points fulfil the conditions; None if all do."""
        if self._selected is None:
            self._selected = (_both([each(self) for each in self.where]),)
        return self._selected[0]

    @property
    def allowed(self) -> Marks | None:
        """Which of the selected points are feasible, or all if raw; None if all points are."""
        if self._allowed is None:
            feasible = None if self.is_raw else self.feasible
            self._allowed = (_both([feasible, self.selected]),)
        return self._allowed[0]

    def found(self, marks: Marks) -> Places:
        """The places of the points allowed among those that are marked."""
        count = int(np.count_nonzero(marks))
        if not count:
            return NOWHERE
        known = self._allowed is not None or self.where or self.is_raw
        if known or 8 * count > len(self):
            if self.allowed is not None:
                marks = np.logical_and(marks, self.allowed, out=self.buffer("found", np.bool_))
            return np.flatnonzero(marks)
        places = np.flatnonzero(marks)  # only what these break
        bad = violated.marked(self.words[places], self.spec.required)
        return places[~bad] if bad.any() else places

    def values(self, name: str) -> Floats:
        """The base values at the points allowed, in their order; not to be written to."""
        values = self.base(name)
        return values if self.allowed is None else values[self.allowed]

    def base(self, name: str) -> Floats:
        """An output's or a param's values in base units; not to be written to."""
        at = self._outputs.get(name)
        if at is not None:
            column = self._columns[at]
            assert column is not None, f"{name} was not asked for"
            return column
        values: Floats = spread(self.axes[self.slots[name]], self.start, self.count)
        return values

    def described(self, name: str) -> OutputSpec | ParamSpec:
        """What the spec says of an output or param."""
        at = self._outputs.get(name)
        return self.spec.params[self.slots[name]] if at is None else self.spec.outputs[at]

    def shown(self, name: str, places: Places | None = None) -> Floats:
        """Values in the declared unit, at all points or some."""
        described, values = self.described(name), self.base(name)
        if places is not None:
            values = values[places]
        if isinstance(described, ParamSpec) and described.kind != "real":
            return values
        return np.asarray(described.scale.from_base(values), np.float64)

    # --- at some points -----------------------------------------------------------------------

    @property
    def first_number(self) -> int:
        """The number of the first point in the sweep, which is the least."""
        return self.first + self._span.place_of(self._at)

    def numbers(self, places: Places) -> Places:
        """The numbers in the sweep of the points at some places of the block."""
        return self.first + self._span.places_of(self._at + places)

    def points(self, places: Places) -> Floats:
        """The values of all params in base units at some places, a row for each."""
        at = self.start + places
        columns = [
            np.full(len(at), values[0]) if count == 1 else values[at // stride % count]
            for values, stride, count in self.axes
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(at), 0))


def _both(marks: Sequence[Marks | None]) -> Marks | None:
    """Where all are; None if that is everywhere."""
    found = [m for m in marks if m is not None]
    return np.logical_and.reduce(found) if len(found) > 1 else next(iter(found), None)


def spread(axis: tuple[NDArray[Any], int, int], start: int, count: int) -> Any:
    """The values that an axis has at so many points from `start` on."""
    values, stride, length = axis
    if length == 1:
        return np.broadcast_to(values[:1], (count,))
    first, last = start // stride, (start + count - 1) // stride
    steps = _round(values, first % length, last - first + 1)
    if stride == 1:
        return steps
    if len(steps) == 1:
        return np.broadcast_to(steps, (count,))
    into = start - first * stride
    return np.repeat(steps, stride)[into : into + count]


def _round(values: NDArray[Any], first: int, count: int) -> NDArray[Any]:
    """So many values one after the other, which begin again after the last; often a view."""
    length = len(values)
    if first + count <= length:
        return values[first : first + count]
    once = np.concatenate([values[first:], values[:first]])
    return np.resize(once, count)
