"""Packages that only some users have: imported when something of them is first asked for."""

from __future__ import annotations

import importlib
from typing import Any


class MissingPackage(ModuleNotFoundError):
    """A package that is asked for is not installed; its text says how to get it."""


def needed(module: str, by: str, extra: str) -> Any:
    """A module of a package that need not be installed; MissingPackage without it.

    `by` says what needs it, as in `a fit needs SciPy`, and `extra` is that of hwdsl which brings
    it. What the package itself lacks is no matter of ours: that error goes through.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackage(f"{by}: pip install 'hwdsl[{extra}]'", name=package) from None
