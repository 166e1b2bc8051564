"""These tests are of compiling itself, in caches of their own: nothing may forbid it to them.

All other tests share one cache, and the suite's second run finds everything in it.
"""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def compiling_is_allowed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HWDSL_ABORT_ON_CACHE_MISS", raising=False)
        patch.delenv("HWDSL_NO_COMPILE", raising=False)
        yield
