"""Where a function of one number changes sign, touches zero, is zero, or is not defined.

Input: a function over many numbers at once, piecewise smooth with jumps, and numbers to start from.
Output: the places where its sign changes, down to neighbouring numbers. Batches of points are asked
for, as a compiled evaluator answers a thousand points in the time of a few calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]
"""From numbers to two rows: values, NaN where there is none, and of what size the numbers are whose
difference a value is, by which it is judged what is zero but for rounding."""

EXACT = 1e-14
"""Values of at most this share of the size change their sign by rounding alone."""
SAME = 1e-12
"""The same of all values between two zeros that are one, and where zero is touched."""
ZERO = 1e-9
"""The same where two neighbouring numbers are left: more is a jump."""
SECTIONS = 32
"""Parts that a bracket is cut into in a round."""
ROUNDS = 64
MOST_BRACKETS = 512
MOST_MINIMA = 32
UNDEFINED = 2
"""The sign of NaN, beside -1, 0 and 1."""


@frozen
class Change:
    """Neighbouring numbers between which the sign changes; values and sizes at them."""

    low: float
    high: float
    at_low: float
    at_high: float
    sizes: tuple[float, float]

    @property
    def signs(self) -> tuple[int, int]:
        """The signs at the two ends."""
        first, last = sign(np.array([self.at_low, self.at_high])).tolist()
        return first, last

    @property
    def is_jump(self) -> bool:
        """Whether the function goes past zero without being near it."""
        return not any(self._near(ZERO))

    def _near(self, share: float) -> tuple[bool, bool]:
        """Of each end whether the value there is finite and at most a share of the size."""
        first, last = (
            math.isfinite(size) and abs(value) <= share * size
            for value, size in zip((self.at_low, self.at_high), self.sizes, strict=True)
        )
        return first, last

    @property
    def is_rounding(self) -> bool:
        """Whether the sign changes by rounding alone."""
        return all(self._near(EXACT))

    @property
    def nearest(self) -> float:
        """The one of the two at which the function is nearer to zero."""
        return self.low if abs(self.at_low) <= abs(self.at_high) else self.high


@frozen(eq=False)
class Scan:
    """What is known of the function: all numbers asked for, in order, and the values there."""

    x: Floats
    y: Floats
    sizes: Floats
    changes: tuple[Change, ...]
    touches: tuple[float, ...]

    @property
    def nearest(self) -> float | None:
        """The number with the value nearest to zero; None if the function is defined nowhere."""
        sizes = np.where(np.isnan(self.y), np.inf, np.abs(self.y))
        return float(self.x[np.argmin(sizes)]) if np.isfinite(sizes).any() else None


def sign(y: Floats) -> NDArray[np.int64]:
    """-1, 0, 1, or `UNDEFINED` for NaN."""
    return np.asarray(np.where(np.isnan(y), UNDEFINED, np.sign(np.nan_to_num(y))), np.int64)


def grid(low: float, high: float, points: int, whole: bool) -> Floats:
    """Numbers to start from: evenly spaced ones and, of one sign, ones of even ratios."""
    if whole and high - low < points:
        return np.arange(low, high + 1)
    found = [np.linspace(low, high, points // 2)]
    span = high - low
    if low >= 0 and high > 0:
        found.append(np.geomspace(max(low, 1e-9 * span), high, points // 2))
    elif high <= 0 and low < 0:
        found.append(-np.geomspace(max(-high, 1e-9 * span), -low, points // 2))
    numbers = np.concatenate(found)
    if whole:
        numbers = np.rint(numbers)
    return np.asarray(np.unique(np.clip(numbers, low, high)))


def scan(function: Function, start: Floats, whole: bool = False) -> Scan:
    """Look at the function from the numbers `start` on, and close in on what it does between them.

    `whole` says that only whole numbers are asked for. What lies wholly between two numbers of
    `start` is found only if a least size beside it shows it.
    """
    x, values = start, function(start)
    more, found, touches = _refined_minima(function, x, values, whole)
    x, values = _merged(x, values, more, found)
    brackets = _brackets(x, values)
    changes: list[Change] = []
    for _ in range(ROUNDS):
        changes += [b for b in brackets if _closed(b, whole)]
        brackets = [b for b in brackets if not _closed(b, whole)][:MOST_BRACKETS]
        if not brackets:
            break
        cuts = [_cut(b.low, b.high, whole) for b in brackets]
        at = np.unique(np.concatenate(cuts))
        x, values = _merged(x, values, at, function(at))
        inner = []
        for bracket in brackets:
            first, last = np.searchsorted(x, [bracket.low, bracket.high])
            inner += _brackets(x[first : last + 1], values[:, first : last + 1])
        brackets = inner
    changes = sorted(changes + brackets, key=lambda change: change.low)
    return Scan(x, values[0], values[1], tuple(changes), touches)


def _merged(x: Floats, values: Floats, more: Floats, found: Floats) -> tuple[Floats, Floats]:
    every, places = np.unique(np.concatenate([x, more]), return_index=True)
    return every, np.concatenate([values, found], axis=1)[:, places]


def _brackets(x: Floats, values: Floats) -> list[Change]:
    """Pairs of neighbours between which the sign changes."""
    signs = sign(values[0])
    found = []
    for i in np.flatnonzero(signs[1:] != signs[:-1]).tolist():
        (at_low, at_high), sizes = values[:, i : i + 2].tolist()
        found.append(Change(float(x[i]), float(x[i + 1]), at_low, at_high, (sizes[0], sizes[1])))
    return found


def _closed(bracket: Change, whole: bool) -> bool:
    """Whether a bracket need not be cut further."""
    if whole:
        return bracket.high - bracket.low <= 1
    return bool(np.nextafter(bracket.low, np.inf) >= bracket.high) or bracket.is_rounding


def _cut(low: float, high: float, whole: bool) -> Floats:
    """Numbers strictly between two."""
    # By ratio where the ends are far apart: else a bracket beside 0 takes a thousand rounds.
    if low > 0 and high > 16 * low:
        numbers = np.geomspace(low, high, SECTIONS + 1)[1:-1]
    elif high < 0 and low < 16 * high:
        numbers = -np.geomspace(-low, -high, SECTIONS + 1)[1:-1]
    else:
        numbers = low + (high - low) * (np.arange(1, SECTIONS) / SECTIONS)
    numbers = np.unique(np.rint(numbers) if whole else numbers)
    inside = numbers[(numbers > low) & (numbers < high)]
    if not len(inside) and not whole and np.nextafter(low, np.inf) < high:
        inside = np.array([np.nextafter(low, np.inf)])
    return np.asarray(inside, np.float64)


def _minima(values: Floats) -> list[int]:
    """Where the size is least beside its neighbours with no change of sign, the least first."""
    heights, signs = np.abs(values[0]), sign(values[0])
    with np.errstate(invalid="ignore"):
        dip = (heights[1:-1] <= heights[:-2]) & (heights[1:-1] <= heights[2:])
        dip &= (heights[1:-1] < heights[:-2]) | (heights[1:-1] < heights[2:])
    same = (signs[1:-1] == signs[:-2]) & (signs[1:-1] == signs[2:]) & (np.abs(signs[1:-1]) == 1)
    places = np.flatnonzero(dip & same) + 1
    return [int(i) for i in places[np.argsort(heights[places], kind="stable")][:MOST_MINIMA]]


def _refined_minima(
    function: Function, x: Floats, values: Floats, whole: bool
) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Close in on least sizes: the numbers asked for, the values there, and where zero is touched.

    Where values of the other sign are met, or none, the changes of sign tell the rest.
    """
    least = [(int(i), float(x[i - 1]), float(x[i + 1]), math.inf) for i in _minima(values)]
    least = [each for each in least if len(_cut(*each[1:3], whole))]
    starts = {i: sign(values[:1, i])[0] for i, *_ in least}
    asked, answered, touches = np.empty(0), np.empty((2, 0)), list[float]()
    for _ in range(ROUNDS):
        cuts = [_cut(low, high, whole) for _, low, high, _ in least]
        if not least:
            break
        at = np.unique(np.concatenate(cuts))
        asked, answered = _merged(asked, answered, at, function(at))
        left = []
        for i, low, high, before in least:
            first, last = np.searchsorted(asked, low, "right"), np.searchsorted(asked, high, "left")
            near, found = asked[first:last], answered[:, first:last]
            if not len(near) or (sign(found[0]) != starts[i]).any():
                continue
            best = int(np.argmin(np.abs(found[0])))
            centre, height = float(near[best]), float(np.abs(found[0][best]))
            ends = np.concatenate([[low], near, [high]])[[best, best + 2]].tolist()
            narrow = ends[1] - ends[0] <= ZERO * max(abs(centre), high - low)
            if height <= SAME * found[1][best] and (narrow or ends == [low, high]):
                touches.append(centre)
            # At a corner the height falls with the width, down to neighbouring numbers.
            elif ends != [low, high] and (not narrow or height < before / 2):
                left.append((i, ends[0], ends[1], height))
        least = left
    return asked, answered, tuple(touches)


def same_place(found: Scan, low: float, high: float) -> bool:
    """Whether the function is zero but for rounding at all numbers asked for between two."""
    first, last = np.searchsorted(found.x, low), np.searchsorted(found.x, high, "right")
    return bool((np.abs(found.y[first:last]) <= SAME * found.sizes[first:last]).all())


def runs(found: Scan) -> list[tuple[int, float, float]]:
    """The stretches of one sign in order: sign, first number, last number.

    A change within rounding (a root) has no stretch of its own.
    """
    edges = [float(found.x[0])]
    for change in found.changes:
        edges += [change.low, change.high]
    edges.append(float(found.x[-1]))
    lows, highs = edges[0::2], edges[1::2]
    signs = [c.signs[0] for c in found.changes]
    last = found.changes[-1].signs[1] if found.changes else int(sign(found.y[:1])[0])
    stretches = list(zip([*signs, last], lows, highs, strict=True))
    return [(s, low, high) for s, low, high in stretches if low <= high]
