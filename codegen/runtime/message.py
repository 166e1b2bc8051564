"""Messages of broken rules: texts with holes, which numbers of a kernel of their own fill.

How a number is shown is what `hwdsl run` shows; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .kernel import Kernel
from .spec import Scale

Suited = tuple[float, Scale]
"""A unit, and the least size in base units that is shown in it."""


@dataclass(frozen=True)
class Placeholder:
    """A place in a message: the number that stands there, and how: by label, as truth, in a unit.

    Of several units it is the last whose size the number has.
    """

    number: int
    labels: tuple[str, ...] = ()
    truth: bool = False
    units: tuple[Suited, ...] = ()

    def text(self, numbers: Sequence[float]) -> str:
        """What stands there at a point."""
        value = numbers[self.number]
        if self.labels:
            last = len(self.labels) - 1
            return self.labels[0 if math.isnan(value) else int(min(max(value, 0.0), last))]
        if math.isnan(value):
            return "NaN"
        if self.truth:
            return "true" if value else "false"
        size = abs(value) if math.isfinite(value) and value else 1.0
        scale = next((s for least, s in reversed(self.units) if size >= least), Scale())
        shown = number_text(scale.from_base(value))
        return f"{shown}{scale.unit}" if scale.unit == "%" else f"{shown} {scale.unit}".rstrip()


@dataclass(frozen=True)
class Message:
    """What a rule says where the number `holds` is not 1: texts and holes in order."""

    holds: int
    parts: tuple[str | Placeholder, ...]

    def text(self, numbers: Sequence[float]) -> str:
        """The message at a point."""
        return "".join(p if isinstance(p, str) else p.text(numbers) for p in self.parts)


Says = tuple[Kernel, Sequence[Sequence[Message]]]
"""What gives the numbers in messages, and each rule's messages in order."""


def number_text(value: float) -> str:
    """Four significant digits, without exponent for everyday sizes."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    if 1e3 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"
