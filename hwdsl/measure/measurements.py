"""Measured tables: CSV files whose header cells are `name` or `name [unit]`.

A line that starts with `#` is a comment.

Input: a path. Output: a `Measured` with columns of text, and their units as written.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from hwdsl.base.source import LARGEST_TABLE, decoded, read_bytes, reason
from hwdsl.codegen.runtime import CallError


@frozen
class Column:
    """A column: the unit of its header ("" if it names none) and its cells as text."""

    unit: str
    cells: tuple[str, ...]


@frozen
class Measured:
    """A table by columns; all of one length."""

    path: Path
    columns: Mapping[str, Column]
    digest: str
    """The SHA-256 of the file."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())).cells)

    def column(self, name: str) -> Column:
        """A column by name; CallError names those there are."""
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise CallError(f"{self.path} has no column {name}; it has {known}")
        return self.columns[name]


def read_table(path: Path) -> Measured:
    """Read a CSV table. Raises CallError for a file that is missing, ragged, empty or no text."""
    try:
        data = read_bytes(path, LARGEST_TABLE)
        text = decoded(data)
    except OSError as error:
        raise CallError(f"cannot read {path}: {reason(error)}") from None
    told = (line for line in io.StringIO(text) if not line.startswith("#"))
    try:
        lines = [row for row in csv.reader(told) if row]
    except csv.Error as error:
        raise CallError(f"{path} is not a CSV table: {error}") from None
    if len(lines) < 2:
        raise CallError(f"{path} has no rows")
    header, *rows = lines
    for i, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise CallError(f"row {i} of {path} has {len(row)} cells, its header {len(header)}")
    columns = {}
    for i, title in enumerate(header):
        name, bracket, unit = title.partition("[")
        if bracket and not unit.rstrip().endswith("]"):
            raise CallError(f"the header `{title}` of {path} is not `name` or `name [unit]`")
        name = name.strip()
        if not name or name in columns:
            raise CallError(f"two columns of {path} are called `{name}`, or one has no name")
        columns[name] = Column(unit.rstrip().rstrip("]").strip(), tuple(r[i].strip() for r in rows))
    return Measured(path, columns, hashlib.sha256(data).hexdigest())
