"""From a file to its text. Where the text was checked before, nothing else of it is asked."""

from __future__ import annotations

from pathlib import Path

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import LARGEST_FILE, Source, Span, read_bytes


def read_source(path: Path | str, diagnostics: Diagnostics) -> Source | None:
    """Return a file's text, or None after reporting that it is no UTF-8 text.

    What is no regular file or too large raises OSError: the caller knows why it was wanted.
    """
    shown, data = str(path), read_bytes(Path(path), LARGEST_FILE)
    try:
        return Source(shown, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        source = Source(shown, good)
        diagnostics.error(
            "not-utf8",
            f"byte {error.start + 1} of this file (hex {data[error.start]:02X}) is not UTF-8",
            Span(source, len(good), len(good)),
            help="save the file in the encoding UTF-8",
        )
        return None
