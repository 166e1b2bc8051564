"""Tables written in chunks: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hwdsl.cli.errors import CommandError
from hwdsl.cli.files import check_target, writing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any] | Sequence[str]


FEASIBLE, VIOLATIONS = "feasible", "violations"
"""The last columns of the tables."""


class TableWriter(Protocol):
    """Takes columns of equal length, chunk after chunk."""

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""

    def close(self) -> None:
        """Finish the file."""


class CsvWriter:
    """Rows of text; floats by their shortest exact form."""

    def __init__(self, path: Path, header: Sequence[str], before: Path | None = None) -> None:
        if before is not None:
            shutil.copyfile(before, path)
        self._file = path.open("a" if before else "w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")
        if before is None:
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

    def __init__(self, path: Path, header: Sequence[str], before: Path | None = None) -> None:
        self._arrow, self._parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
        self._path, self._header = path, list(header)
        self._writer: Any = None
        if before is not None:
            with self._parquet.ParquetFile(before) as old:
                for group in range(old.num_row_groups):
                    self._append(old.read_row_group(group))

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows; the first chunk decides the columns' types."""
        texts = self._arrow.string()  # without rows, the type cannot be seen
        arrays = [self._arrow.array(c, texts) if isinstance(c, Sequence) else c for c in columns]
        self._append(self._arrow.table(dict(zip(self._header, arrays, strict=True))))

    def _append(self, batch: Any) -> None:
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(str(self._path), batch.schema)
        self._writer.write_table(batch)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


class _Telling:
    """A writer that tells the user what the system does not do."""

    def __init__(self, target: Path, writer: TableWriter) -> None:
        self._target, self._writer = target, writer

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""
        with writing(self._target):
            self._writer.write(columns)

    def close(self) -> None:
        """Finish the file."""
        with writing(self._target):
            self._writer.close()


def check_table(target: Path) -> None:
    """End the command if no format goes by the file's ending, or the file is no table of ours."""
    if target.suffix not in (".csv", ".parquet"):
        raise CommandError(f"{target} ends in neither .csv nor .parquet")
    check_target(target, lambda head: _is_ours(target, head))


def _is_ours(target: Path, head: str) -> bool:
    """Whether a table's last columns are those that ours end with."""
    names: list[str]
    if target.suffix == ".parquet":
        parquet = _pyarrow("pyarrow.parquet")
        try:
            names = parquet.read_schema(target).names
        except (_pyarrow("pyarrow").ArrowException, OSError):  # no Parquet, or half of one
            return False
    else:
        names = head.partition("\n")[0].rstrip("\r").split(",")
    return names[-1:] == [FEASIBLE] or names[-2:] == [FEASIBLE, VIOLATIONS]


def _pyarrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise CommandError("Parquet needs pyarrow: pip install 'hwdsl[tables]'") from None


def title(name: str, unit: str) -> str:
    """The header of a column: its name, and its unit if it has one."""
    return f"{name} [{unit}]" if unit else name


def writer_for(
    target: Path, temporary: Path, header: Sequence[str], *, resumed: bool = False
) -> TableWriter:
    """A writer of the format that the target's ending names; `resumed`, the old rows come first."""
    kind = CsvWriter if target.suffix == ".csv" else ParquetWriter
    with writing(target):
        return _Telling(target, kind(temporary, header, target if resumed else None))
