"""CSV tables: columns headed `name` or `name [unit]`, cells as text.

A line that starts with `#` is a comment, and an empty line is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO

from attrs import define, frozen

from hwdsl.base.source import text_hash


class BadTable(ValueError):
    """A text that is no table: the message says where and why, `help` what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


class BadHeader(BadTable):
    """The cells are a table, but its columns have no names."""


@frozen
class Column:
    """A column: the unit of its header (None if it names none) and its cells."""

    unit: str | None
    cells: tuple[str, ...]


@frozen(eq=False)
class CsvTable:
    """A table by columns, all of one length; `lines` says on which line of the file a row ends.

    `digest` is the hash of the text.
    """

    columns: Mapping[str, Column]
    lines: tuple[int, ...]
    digest: str

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.lines)


@define
class _Lines:
    """The lines of a text but for comments; `inside` tells a record that goes on from a new one."""

    text: StringIO
    number: int = 0
    inside: bool = False

    def __iter__(self) -> Iterator[str]:
        for line in self.text:
            self.number += 1
            # A `#` that starts a line within a quoted cell belongs to the cell.
            if self.inside or not line.lstrip().startswith("#"):
                self.inside = True
                yield line


def read_csv(text: str) -> CsvTable:
    """Read a table with any number of rows. Raises BadTable."""
    lines = _Lines(StringIO(text))
    records: list[tuple[int, list[str]]] = []
    try:
        for cells in csv.reader(lines):
            lines.inside = False
            if cells:
                records.append((lines.number, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise BadTable(
            f"line {lines.number}: {error}", "write it as CSV: cells between commas"
        ) from None
    if not records:
        raise BadTable("the table is empty", "write a line of names above the rows")
    (_, header), *rows = records
    for number, cells in rows:
        if len(cells) != len(header):
            raise BadTable(
                f"line {number} has {_cells(len(cells))}, the header has {_cells(len(header))}",
                "give each line as many cells as the header has",
            )
    columns: dict[str, Column] = {}
    for k, title in enumerate(header):
        name, unit = _heading(title)
        if not name or name in columns:
            raise _bad_header(f"column {k + 1} needs a name of its own, not `{name}`")
        columns[name] = Column(unit, tuple(cells[k] for _, cells in rows))
    return CsvTable(columns, tuple(number for number, _ in rows), text_hash(text))


def _heading(title: str) -> tuple[str, str | None]:
    """The name and the unit that a cell of the header gives."""
    name, bracket, unit = title.partition("[")
    if not bracket:
        return name.strip(), None
    if not unit.endswith("]"):
        raise _bad_header(f"the header `{title}` is not `name` or `name [unit]`")
    return name.strip(), unit[:-1].strip()


def _bad_header(message: str) -> BadHeader:
    return BadHeader(message, "head each column with `name` or `name [unit]`")


def _cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"
