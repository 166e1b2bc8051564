"""What takes long says so: a line about the work under way, once it has gone on for a while.

Only commands show it; in Python whoever calls knows what was asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from attrs import define, field

PATIENCE = 2.0
"""Seconds after which work is told of."""


@define
class _Work:
    """Some work: since when it is under way, and whether it has been told of."""

    what: str
    since: float = field(factory=monotonic)
    told: bool = False


_under_way: list[_Work] = []


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Name the work of a block, for whoever watches; the innermost is told of."""
    work = _Work(what)
    _under_way.append(work)
    try:
        yield
    finally:
        _under_way.remove(work)


@contextmanager
def watched(tell: Callable[[str], None], patience: float = PATIENCE) -> Iterator[None]:
    """Tell of work in a block that takes longer than `patience` seconds, once each."""
    over = threading.Event()

    def watch() -> None:
        # A thread and no signal: signals reach only the main thread, which may be in C for long.
        while not over.wait(patience / 4):
            for work in _under_way[-1:]:
                if not work.told and monotonic() - work.since > patience:
                    work.told = True
                    tell(work.what)

    thread = threading.Thread(target=watch, name="hwdsl-notices", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
