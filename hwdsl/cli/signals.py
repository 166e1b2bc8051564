"""Signals that ask a command to end: they clean up as an interrupt from the keyboard does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

POLITE = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # a system without terminals has no SIGHUP
"""Signals that end a process which does nothing about them."""


class Stopped(KeyboardInterrupt):
    """A signal other than that of the keyboard."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def caught(
    numbers: tuple[int, ...], handler: Callable[[int, FrameType | None], Any]
) -> Iterator[None]:
    """Handle signals for a block, in the main thread; those that are ignored stay so (`nohup`)."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            old = signal.getsignal(number)
            if old is not signal.SIG_IGN and old is not None:
                before[number] = old
                signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def ending(number: int) -> KeyboardInterrupt:
    """The exception by which a signal ends a command."""
    return KeyboardInterrupt() if number == signal.SIGINT else Stopped(number)


def stop(number: int, frame: FrameType | None) -> None:
    """Handle a signal by leaving whatever runs."""
    raise Stopped(number)
