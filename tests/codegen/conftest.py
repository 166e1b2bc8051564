"""Helper modules of this folder are importable by its tests, and compiling is allowed to them.

They test compiling itself, in caches of their own. All other tests share one cache, and the suite's
second run finds everything in it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def compiling_is_allowed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HWDSL_ABORT_ON_CACHE_MISS", raising=False)
        patch.delenv("HWDSL_NO_COMPILE", raising=False)
        yield
