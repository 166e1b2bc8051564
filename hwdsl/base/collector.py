"""The collector of cyclic garbage rests while much is made that lives on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_rests() -> Iterator[None]:
    """Within it the collector does not run.

    For work of which nearly all that it makes lives until its end: the collector would go through
    everything again and again and find nothing. In a process that holds much it took four fifths
    of the time of optimising a graph.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
