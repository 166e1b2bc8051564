"""What is used of SciPy, imported when it is first asked for."""

from __future__ import annotations

from typing import Any

from hwdsl.base.packages import needed


def scipy_special() -> Any:
    """SciPy's special functions; MissingPackage without it."""
    return needed("scipy.special", "this needs SciPy", "uncertainty")


def scipy_stats() -> Any:
    """SciPy's statistics; MissingPackage without it."""
    return needed("scipy.stats", "this needs SciPy", "uncertainty")
