"""Answers that are searched for: where an output meets a target."""

from hwdsl.search.solutions import Gap, Jump, Nearest, Root, Solutions, Stretch
from hwdsl.search.solve import Design, solve

__all__ = ["Design", "Gap", "Jump", "Nearest", "Root", "Solutions", "Stretch", "solve"]
