"""How far a long run is, on one line that is written over."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import monotonic
from typing import TextIO

PAUSE = 0.1
"""Seconds between two writes: more often nobody can read it."""


@dataclass
class Bar:
    """Shows done, total, rate and time left; called with the points done and all points."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    started: float = field(default_factory=monotonic)
    shown: float = field(default=-PAUSE, init=False)

    def __call__(self, done: int, total: int) -> None:
        """Write the line; its end is written with the last point."""
        now = monotonic() - self.started
        if done < total and now - self.shown < PAUSE:
            return
        self.shown = now
        end = "\n" if done >= total else ""
        self.stream.write(f"\r{line(done, total, now):<78}{end}")
        self.stream.flush()


def line(done: int, total: int, seconds: float) -> str:
    """`40 %, 4,000,000 of 10,000,000 points, 2,100,000 a second, 3 s left`."""
    rate = done / seconds if seconds > 0 else 0.0
    said = f"{100 * done / max(total, 1):.0f} %, {done:,} of {total:,} points, {rate:,.0f} a second"
    return f"{said}, {duration((total - done) / rate)} left" if 0 < done < total and rate else said


def duration(seconds: float) -> str:
    """A time as people say it: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
