"""Calling compiled kernels from Python: one point, or a sweep over many.

This folder stands alone (standard library and NumPy), because `hwdsl compile -o` puts a copy of it
beside the modules it writes. A `Spec` says what the params, outputs and rules are; a `Kernel`
computes in base units; a `KernelEvaluator` stands between them and the user, who gives and gets
values in the units the description declares.
"""

from .columns import InUnit
from .distributions import Counts, Histogram, HistogramCounts, PointCounts, Quantiles
from .errors import CallError
from .evaluator import KernelEvaluator, tables
from .execution_plan import ExecutionPlan
from .kernel import Axis, CompiledKernel, Floats, Kernel, Words
from .message import Message, Placeholder
from .point_grid import PointGrid
from .progress import Bar
from .quantity import meant_unit, read
from .reductions import Best, Pareto, Top
from .result import Result
from .sample import EvenNumbers, RandomStream, Samples
from .spec import OutputSpec, ParamSpec, RuleSpec, Scale, Spec, joined
from .sweep import Sweep
from .workers import Progress

REDUCTIONS = ("Best", "Counts", "Histogram", "Pareto", "Quantiles", "Top")
"""What compiled modules have beside their evaluators: what a sweep can be asked for."""

__all__ = [
    "REDUCTIONS",
    "Axis",
    "Bar",
    "Best",
    "CallError",
    "CompiledKernel",
    "Counts",
    "EvenNumbers",
    "ExecutionPlan",
    "Floats",
    "Histogram",
    "HistogramCounts",
    "InUnit",
    "Kernel",
    "KernelEvaluator",
    "Message",
    "OutputSpec",
    "ParamSpec",
    "Pareto",
    "Placeholder",
    "PointCounts",
    "PointGrid",
    "Progress",
    "Quantiles",
    "RandomStream",
    "Result",
    "RuleSpec",
    "Samples",
    "Scale",
    "Spec",
    "Sweep",
    "Top",
    "Words",
    "joined",
    "meant_unit",
    "read",
    "tables",
]  # fmt: skip
