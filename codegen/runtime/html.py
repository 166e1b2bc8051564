"""Results as HTML tables, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

ROWS = 10
"""Points of a sweep that are shown."""


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table with a title above and a note below; all texts are escaped."""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead><tr>{_cells('th', head)}</tr></thead>"
        f"<tbody>{body}</tbody></table>{f'<p>{escape(note)}</p>' if note else ''}</div>"
    )


def number(value: Any) -> str:
    """A value as a cell shows it: six digits, or a label."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
