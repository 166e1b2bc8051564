"""Work on a thread with a stack deep enough for long chains of definitions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from hwdsl.base.collector import collector_rests
from hwdsl.codegen.runtime.threads import on_a_thread

T = TypeVar("T")
_STACK = 256 * 1024 * 1024  # of address space: pages that are not reached cost no memory
_RECURSION = 100_000
_THREAD = "hwdsl-elaborate"

# The stack's size and the limit of recursion are the process's: one thread at a time sets them.
_running = threading.Lock()


def with_large_stack(work: Callable[[], T]) -> T:
    """Run `work` with a stack deep enough for long chains of definitions."""
    if threading.current_thread().name.startswith(_THREAD):
        return work()
    with _running:
        limit = sys.getrecursionlimit()
        size = threading.stack_size(_STACK)
        try:
            sys.setrecursionlimit(max(limit, _RECURSION))
            with collector_rests():
                return on_a_thread(work, _THREAD, _end)
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)


def _end(thread: threading.Thread, over: threading.Event) -> None:
    """Have another thread leave what it is at, and wait until it has.

    The exception may arrive in a finalizer, where Python prints it and goes on: it is not printed,
    and sent again until the work is over.
    """
    import ctypes

    send = ctypes.pythonapi.PyThreadState_SetAsyncExc
    unraisable = sys.unraisablehook

    def quiet(left: Any) -> None:
        if not issubclass(left.exc_type, SystemExit):
            unraisable(left)

    sys.unraisablehook = quiet
    try:
        # The exception that ends a thread without a word.
        while not over.is_set() and send(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
        ):
            over.wait(0.1)
    finally:
        sys.unraisablehook = unraisable
