"""Measured tables: CSV files with at least one row.

Input: a path. Output: a `MeasurementTable` with columns of text, and their units as written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from hwdsl.base.csv_table import BadTable, Column, read_csv
from hwdsl.base.source import LARGEST_TABLE, decoded, read_bytes, reason
from hwdsl.codegen.runtime import CallError


@frozen
class MeasurementTable:
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


def read_table(path: Path) -> MeasurementTable:
    """Read a CSV table. Raises CallError for what cannot be read or is no table."""
    try:
        data = read_bytes(path, LARGEST_TABLE)
        table = read_csv(decoded(data))
    except OSError as error:
        raise CallError(f"cannot read {path}: {reason(error)}") from None
    except BadTable as error:
        raise CallError(f"{path}: {error}; {error.help}") from None
    if not table.rows:
        raise CallError(f"{path} has no rows")
    return MeasurementTable(path, table.columns, hashlib.sha256(data).hexdigest())
