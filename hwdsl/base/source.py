"""Source text and places in it: the ground every diagnostic stands on."""

import errno
import hashlib
import os
import stat
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from msgspec import convert


@frozen(slots=False)
class Source:
    """One file's text, with the name it is shown under.

    `name` is what diagnostics print; it never takes part in a cache key.
    """

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of a character offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text) + 1
        return self.text[start : end - 1].rstrip("\r")


class Span:
    """The half-open character range `start:end` of a source; equal in one of the same name."""

    # No attrs class: msgspec would write the whole source into each place of a tree. It asks
    # `hwdsl.base.structuring` what to do with a class that it does not know.
    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source: Final = source
        self.start: Final = start
        self.end: Final = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int, int]:
        return self.source.name, self.start, self.end

    def __repr__(self) -> str:
        return f"Span({self.source.name!r}, {self.start}, {self.end})"

    def plain(self) -> tuple[Source, int, int]:
        """What is kept of it."""
        return self.source, self.start, self.end

    @classmethod
    def structured(cls, data: Any) -> "Span":
        """The span of which `plain` was kept."""
        return cls(*convert(data, tuple[Source, int, int]))

    @property
    def text(self) -> str:
        """The characters spanned."""
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def join(self, other: "Span") -> "Span":
        """Return the span from this one's start to the other's end."""
        return Span(self.source, self.start, max(self.end, other.end))


def text_hash(text: str) -> str:
    """The hash by which a text is known."""
    return hashlib.sha256(text.encode()).hexdigest()


LARGEST_FILE = 16 * 1024 * 1024
"""Bytes of a description beyond which it is refused; a hand-written one is a thousandth of it."""
LARGEST_TABLE = 64_000_000
"""Bytes of a table beyond which it is refused."""


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises OSError, also for anything else.

    A pipe may never end and a device has no end, so neither is opened.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError("it is no regular file")
    with path.open("rb") as file:
        data = file.read(limit + 1)  # the size that is told need not be true
    if len(data) > limit:
        raise OSError(f"it is larger than {limit / 1_000_000:.3g} MB")
    return data


def read_text(path: Path, limit: int) -> str:
    """Read a text as `read_bytes` does."""
    return decoded(read_bytes(path, limit))


def decoded(data: bytes) -> str:
    """UTF-8, with or without a mark, and with any ends of lines, as text. Raises OSError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(f"it is not UTF-8 text: {error.reason}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def reason(error: OSError) -> str:
    """Why a file cannot be read, without its name."""
    return error.strerror or str(error)


def lies_below(path: Path, folder: Path) -> bool:
    """Whether a file lies in a folder or below it, links followed."""
    try:
        return folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError, ValueError):  # links that go round, a name that cannot be
        return False
