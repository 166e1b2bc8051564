"""Work on a thread of its own, for which the main thread can still be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def on_a_thread(work: Callable[[], T], name: str, end: Callable[[threading.Thread], None]) -> T:
    """Do some work on a thread of that name; if this one is interrupted, `end` has that one stop.

    What the work raises is raised here.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # raised again where the work was asked for
            failures.append(failure)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # an interrupt, which only the main thread sees
        end(thread)
        raise
    for failure in failures:
        raise failure
    return results[0]
