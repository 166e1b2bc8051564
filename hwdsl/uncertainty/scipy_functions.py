"""SciPy, imported when something of it is first asked for, or told how to get it."""

from __future__ import annotations

from typing import Any


def scipy_special() -> Any:
    """SciPy's special functions."""
    return _scipy().special


def scipy_stats() -> Any:
    """SciPy's statistics."""
    return _scipy().stats


def _scipy() -> Any:
    try:
        import scipy
        import scipy.special
        import scipy.stats
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "scipy":
            raise
        raise ModuleNotFoundError(
            "this needs SciPy: pip install 'hwdsl[uncertainty]'", name="scipy"
        ) from None
    return scipy
