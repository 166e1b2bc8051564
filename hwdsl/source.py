"""Source text and places in it: the ground every diagnostic stands on."""

import hashlib
from bisect import bisect_right
from functools import cached_property
from pathlib import Path

from attrs import field, frozen


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


@frozen(slots=True)
class Span:
    """The half-open character range `start:end` of a source."""

    source: Source = field(repr=False, eq=lambda s: s.name, order=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters spanned."""
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def to(self, other: "Span") -> "Span":
        """Return the span from this one's start to the other's end."""
        return Span(self.source, self.start, max(self.end, other.end))


def text_hash(text: str) -> str:
    """The hash by which a text is known."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path, limit: int) -> str:
    """Read a regular file of at most `limit` bytes. Raises OSError, also for anything else."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    if path.stat().st_size > limit:
        raise OSError(f"{path} is larger than {limit // 1_000_000} MB")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(f"{path} is not UTF-8 text: {error.reason}") from error
