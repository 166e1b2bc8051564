"""Work that several threads share: tasks one after the other, progress, an end at an interrupt."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from .errors import CallError
from .kernel import Kernel
from .progress import Bar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Progress = Callable[[int, int], None]
Tell = Callable[[int], object]
T = TypeVar("T")

LOOK = 0.1
"""Seconds after which the main thread looks for an interrupt: a signal that arrives just before it
goes to sleep does not wake it."""


class Tasks(Generic[T]):
    """Tasks that threads take in order, one thread at a time, until they are ended."""

    def __init__(self, tasks: Iterator[T]) -> None:
        self._tasks, self._lock, self._ended = tasks, threading.Lock(), False

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        with self._lock:
            if self._ended:
                raise StopIteration
            return next(self._tasks)

    def end(self) -> None:
        """Give out no more tasks."""
        self._ended = True


def together(
    work: Callable[[Tell], object], tasks: Tasks[T], kernel: Kernel, threads: int, tell: Tell
) -> None:
    """Do the work on so many threads, each until no task is left; with 0 threads, on this one.

    The work is told how to say that it has done so many more points, and `tell` is called with
    these numbers on this thread. What one of them raises, and an interrupt, ends all and is raised.
    A kernel's long call on the main thread starts a thread: more than a few are for one that lasts.
    """
    if not threads:
        work(tell)
        return
    # Imported late: loading a module takes a third less time without.
    from queue import Empty, SimpleQueue

    said: SimpleQueue[int | BaseException | None] = SimpleQueue()

    def thread() -> None:
        try:
            work(said.put)
        except BaseException as failure:  # raised again where the work was asked for
            said.put(failure)
        else:
            said.put(None)

    with pool_of(threads, kernel) as pool:
        try:
            for _ in range(threads):
                pool.submit(thread)
            left = threads
            while left:
                try:
                    news = said.get(timeout=LOOK)
                except Empty:
                    continue
                if isinstance(news, BaseException):
                    raise news
                if news is None:
                    left -= 1
                else:
                    tell(news)
        finally:
            tasks.end()


class ProgressCounter:
    """Tells how far a run is, of so many points, or of as many as there were."""

    def __init__(self, progress: Progress | bool | None, points: int | None) -> None:
        self.progress = Bar() if progress is True else progress or None
        self.points, self.done = points, 0

    def __call__(self, more: int) -> None:
        """So many more points are done."""
        self.done += more
        if self.progress is not None:
            self.progress(self.done, self.points or self.done)


def workers(threads: int | None) -> int:
    """The number of threads to use: the number given, or one a core. CallError if it is no
    number."""
    if threads is None:
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise CallError(f"threads is a whole number from 1 on, not {threads!r}")
    return operator.index(threads)


@contextmanager
def pool_of(threads: int, kernel: Kernel) -> Iterator[ThreadPoolExecutor]:
    """Threads that run a kernel; if the block ends early, so does what they are at."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        kernel.halt(True)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        kernel.halt(False)
