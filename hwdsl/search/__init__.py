"""Answers that are searched for: where an output meets a target."""

from hwdsl.search.solve import (
    Design,
    Gap,
    Jump,
    Nearest,
    Root,
    Solutions,
    Stretch,
    solve,
)

__all__ = ["Design", "Gap", "Jump", "Nearest", "Root", "Solutions", "Stretch", "solve"]
