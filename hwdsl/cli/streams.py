"""Standard output and error: what cannot be written ends the command, what is unsafe is escaped.

Texts of files (names, docs, cells) are printed in many places; here is the one place where all of
them pass. A control character that moves the cursor or turns text around is written as its escape
`\\u001b`, which in JSON stands for the same character.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from hwdsl.cli.errors import CommandError

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls of a terminal but line feed and tab, those of direction, ends of lines, lone halves."""

_PLAIN = {"…": "...", "×": "*", "–": "-", "±": "+-"}
"""Characters beyond ASCII that commands print of themselves, as an encoding without them has it."""


class ReaderGone(Exception):
    """Who read standard output has closed it."""


class _Stream(ABC):
    """A text stream that writes no control characters of others and knows how to fail."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner
        self._plain = {}
        for sign, plain in _PLAIN.items():
            try:
                sign.encode(inner.encoding or "utf-8")
            except UnicodeEncodeError:
                self._plain[ord(sign)] = plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, text: str) -> int:
        """Write a text with its control characters escaped."""
        return self.raw(_UNSAFE.sub(_escape, text))

    @abstractmethod
    def raw(self, text: str) -> int:
        """Write a text of our own, colours and all."""

    @abstractmethod
    def flush(self) -> None:
        """Hand on what was written."""


class _Output(_Stream):
    """Standard output: without it there is no answer."""

    def raw(self, text: str) -> int:
        with self._told():
            return self.inner.write(text.translate(self._plain) if self._plain else text)

    def flush(self) -> None:
        with self._told():
            self.inner.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._drop()
            raise ReaderGone from None
        except OSError as error:
            self._drop()
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror or error
            raise CommandError(f"cannot write to standard output: {reason}") from None
        except UnicodeEncodeError as error:
            raise CommandError(
                f"standard output is in {error.encoding}, which has no "
                f"{error.object[error.start]!a}; set PYTHONIOENCODING=utf-8"
            ) from None

    def _drop(self) -> None:
        """Let go what is still held back, or Python fails again on its way out."""
        with suppress(OSError):  # none of the system's streams
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.inner.fileno())
            os.close(null)


class _Errors(_Stream):
    """Standard error: where it cannot be written, there is nobody to tell."""

    def write(self, text: str) -> int:
        """Write a text; the carriage return of a line of progress stands at its start."""
        if text.startswith("\r"):
            return self.raw("\r" + _UNSAFE.sub(_escape, text[1:]))
        return super().write(text)

    def raw(self, text: str) -> int:
        with suppress(OSError, UnicodeEncodeError):
            return self.inner.write(text.translate(self._plain) if self._plain else text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.inner.flush()


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


@contextmanager
def guarded() -> Iterator[None]:
    """Put the two streams in place of the process's own for a block."""
    _open_closed()
    before = sys.stdout, sys.stderr
    sys.stdout = cast(TextIO, _Output(sys.stdout))
    sys.stderr = cast(TextIO, _Errors(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def write_painted(text: str, stream: TextIO) -> None:
    """Print a text that is escaped already, with its colours."""
    (stream.raw if isinstance(stream, _Stream) else stream.write)(f"{text}\n")


def _open_closed() -> None:
    """Open the standard streams that the process was started without.

    A file opened later would get their number, and what is printed. Writing to the new standard
    output fails as it did before: the null device is open for reading only.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            if null != number:  # the lowest number that is free
                os.dup2(null, number)
                os.close(null)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
