"""Rows of sweeps as tables: the titles of the columns, the cells, the first rows printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hwdsl.cli.base import number, table
from hwdsl.cli.tables import FEASIBLE, VIOLATIONS, title

if TYPE_CHECKING:
    from hwdsl.cli.tables import Column
    from hwdsl.codegen.runtime import Spec, Sweep

FIRST = 20
"""Rows printed where no file is named."""


def column_names(spec: Spec) -> list[str]:
    """The params, then the outputs."""
    return [*(p.name for p in spec.params), *(o.name for o in spec.outputs)]


def header(spec: Spec, shown: Sequence[str] | None = None) -> list[str]:
    """The titles of the columns: all, or those with the names that are shown."""
    titles = {p.name: title(p.name, p.scale.unit) for p in spec.params}
    titles |= {o.name: title(o.name, o.scale.unit) for o in spec.outputs}
    return [*(titles[name] for name in shown or titles), FEASIBLE, VIOLATIONS]


def columns(part: Sweep, shown: Sequence[str] | None = None) -> list[Column]:
    """The cells under these titles, a column after the other."""
    names = shown or column_names(part.spec)
    found: list[Column] = [part.column(name) for name in names]
    return [*found, part.feasible.ravel(), part.violation_texts().tolist()]


def show_rows(spec: Spec, parts: Sequence[Sweep], shown: Sequence[str]) -> None:
    """Print the first rows of parts, with the columns of these names."""
    rows: list[list[str]] = []
    for part in parts:
        cells = [
            [number(c) if isinstance(c, float) else str(c) for c in row]
            for row in (c if isinstance(c, Sequence) else c.tolist() for c in columns(part, shown))
        ]
        rows += [list(row) for row in zip(*cells, strict=True)]
    head = header(spec, shown)
    print(table([head, *rows[:FIRST]], right=range(len(head) - 2)))
