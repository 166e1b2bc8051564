"""Answers that are searched for: where an output meets a target, the best designs of a space."""

from hwdsl.search.optimize import Neighbour, Optimum, optimize
from hwdsl.search.solutions import Gap, Jump, Nearest, Root, Solutions, Stretch
from hwdsl.search.solve import Design, solve

__all__ = [
    "Design",
    "Gap",
    "Jump",
    "Nearest",
    "Neighbour",
    "Optimum",
    "Root",
    "Solutions",
    "Stretch",
    "optimize",
    "solve",
]
