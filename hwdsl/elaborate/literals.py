"""Literals with other values than those written, as a sensitivity varies them."""

from __future__ import annotations

from collections.abc import Mapping

from hwdsl.syntax import ast


class VariedLiterals(dict[ast.Node, float]):
    """Values of literals, in base units, other than as written; it notes which are asked for."""

    def __init__(self, values: Mapping[ast.Node, float] | None = None) -> None:
        super().__init__(values or {})
        self.read: dict[ast.Node, float] = {}

    def of(self, node: ast.Node, written: float) -> float:
        """The value of a literal that is written so."""
        self.read[node] = written
        return self.get(node, written)
