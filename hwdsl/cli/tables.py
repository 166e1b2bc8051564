"""Tables written in chunks: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hwdsl.cli.base import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any] | Sequence[str]


class TableWriter(Protocol):
    """Takes columns of equal length, chunk after chunk."""

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""

    def close(self) -> None:
        """Finish the file."""


class CsvWriter:
    """Rows of text; floats by their shortest exact form."""

    def __init__(self, path: Path, header: Sequence[str]) -> None:
        self._file = path.open("w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(header)

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""
        lists = [c if isinstance(c, Sequence) else c.tolist() for c in columns]
        self._rows.writerows(zip(*lists, strict=True))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class ParquetWriter:
    """Row groups, one a chunk."""

    def __init__(self, path: Path, header: Sequence[str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Failure("Parquet needs pyarrow: pip install 'hwdsl[tables]'") from None
        self._arrow: Any = pyarrow
        self._parquet: Any = pyarrow.parquet
        self._path, self._header = path, list(header)
        self._writer: Any = None

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows; the first chunk decides the columns' types."""
        batch = self._arrow.table(dict(zip(self._header, columns, strict=True)))
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(str(self._path), batch.schema)
        self._writer.write_table(batch)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


def check_ending(target: Path) -> None:
    """End the command if no format goes by the file's ending."""
    if target.suffix not in (".csv", ".parquet"):
        raise Failure(f"{target} ends in neither .csv nor .parquet")


def title(name: str, unit: str) -> str:
    """The header of a column: its name, and its unit if it has one."""
    return f"{name} [{unit}]" if unit else name


def writer_for(target: Path, temporary: Path, header: Sequence[str]) -> TableWriter:
    """A writer of the format that the target's ending names."""
    check_ending(target)
    return (CsvWriter if target.suffix == ".csv" else ParquetWriter)(temporary, header)
