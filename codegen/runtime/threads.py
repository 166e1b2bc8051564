"""Work on a thread of its own, for which the main thread can still be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK = 0.1
"""Seconds after which the waiting thread looks for an interrupt. A signal that arrives just before
it goes to sleep on a lock does not wake it."""


def on_a_thread(
    work: Callable[[], T], name: str, end: Callable[[threading.Thread, threading.Event], None]
) -> T:
    """Do some work on a thread of that name; if this one is interrupted, `end` has that one stop.

    What the work raises is raised here. `end` gets the thread and an event that is set when its
    work is over; before Python 3.13 a thread whose `join` was interrupted is taken for dead, so
    that neither `join` nor `is_alive` can tell.
    """
    results: list[T] = []
    failures: list[BaseException] = []
    over, abandoned = threading.Event(), threading.Event()

    def run() -> None:
        try:
            if not abandoned.is_set():
                results.append(work())
        except BaseException as failure:  # raised again where the work was asked for
            failures.append(failure)
        finally:
            over.set()

    thread = threading.Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
        while not over.wait(LOOK):
            pass
    except BaseException:  # an interrupt, which only the main thread sees
        abandoned.set()
        if thread.ident is not None:  # else it has not begun, and will find nothing to do
            end(thread, over)
        raise
    thread.join()
    for failure in failures:
        raise failure
    return results[0]
