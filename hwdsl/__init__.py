"""hwdsl: describe AI machines, ask what they are worth.

>>> import hwdsl
>>> module = hwdsl.load("gpt3.hw")        # checks the file; builds a kernel, or has one
>>> module.gpt3(tensor=8).throughput
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hwdsl.api.evaluator import CallError as CallError
    from hwdsl.api.evaluator import DescriptionError as DescriptionError
    from hwdsl.api.evaluator import Evaluator as Evaluator
    from hwdsl.api.evaluator import Module as Module
    from hwdsl.api.evaluator import load as load
    from hwdsl.codegen.runtime import Best as Best
    from hwdsl.codegen.runtime import Counts as Counts
    from hwdsl.codegen.runtime import Histogram as Histogram
    from hwdsl.codegen.runtime import Pareto as Pareto
    from hwdsl.codegen.runtime import Quantiles as Quantiles
    from hwdsl.codegen.runtime import Top as Top

_REDUCTIONS = ["Best", "Counts", "Histogram", "Pareto", "Quantiles", "Top"]
__all__ = [
    "Best",
    "CallError",
    "Counts",
    "DescriptionError",
    "Evaluator",
    "Histogram",
    "Module",
    "Pareto",
    "Quantiles",
    "Top",
    "__version__",
    "load",
]


def __dir__() -> list[str]:
    """What there is, the names that are imported late included."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Import the compiler only when something of it is asked for: `hwdsl --version` is quick."""
    if name in __all__:
        from importlib import import_module

        module = "hwdsl.codegen.runtime" if name in _REDUCTIONS else "hwdsl.api.evaluator"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'hwdsl' has no attribute {name!r}")
