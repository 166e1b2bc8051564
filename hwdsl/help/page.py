"""What an explanation is made of, and how it reads on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from attrs import frozen

LEFT = 46
"""So many columns the names of a section take at the most; a longer one has its line to itself."""


@frozen
class PageRow:
    """Something with a name: its role, type, default or value, and what it is, as text."""

    name: str
    doc: str = ""
    type: str = ""
    value: str = ""
    role: str = ""

    @property
    def head(self) -> str:
        """Name and type as a description would have them."""
        return f"{self.name} : {self.type}" if self.type else self.name

    @property
    def said(self) -> str:
        """What it is, and the value that it has where none is given."""
        return " ".join(part for part in (self.doc, self.value and f"[{self.value}]") if part)


@frozen
class PageSection:
    """Rows under a heading."""

    title: str
    rows: tuple[PageRow, ...]


@frozen
class Page:
    """What there is to say of a name.

    `name` is the full name, `what` its sort (`kind`, `unit`, `keyword`, …), `place` where the
    library declares it, `lead` what it is, `text` its text in the language, `others` what else
    has the name.
    """

    name: str
    what: str
    lead: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()
    sections: tuple[PageSection, ...] = ()
    text: str = ""
    others: tuple[str, ...] = ()
    whole: str = ""  # a page that was written as one, in place of all that


def render(page: Page, width: int = 100) -> str:
    """The page as text, `width` columns wide."""
    if page.whole:
        return page.whole
    where = f": {page.place}" if page.place else ""
    blocks = [f"# {page.what} {page.name}{where}".replace("  ", " ")]
    blocks += [_wrapped(p, width) for p in _paragraphs(page.lead)]
    if page.text:
        blocks.append(f"```hw\n{page.text}\n```")
    for section in page.sections:
        blocks.append(f"## {section.title}\n\n" + "\n".join(_rows(section, width)))
    blocks += [_wrapped(note, width) for note in page.notes]
    if page.others:
        blocks.append(_wrapped("Others of this name: " + ", ".join(page.others), width))
    return "\n\n".join(blocks) + "\n"


def _paragraphs(text: str) -> list[str]:
    return [p for p in text.split("\n\n") if p.strip()]


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(
        " ".join(text.split()), width, break_long_words=False, break_on_hyphens=False
    )


def _rows(section: PageSection, width: int) -> Iterator[str]:
    left = max((len(r.head) for r in section.rows if len(r.head) <= LEFT), default=0)
    room = max(width - left - 4, 30)
    for row in section.rows:
        lines = textwrap.wrap(
            " ".join(row.said.split()), room, break_long_words=False, break_on_hyphens=False
        )
        first = lines.pop(0) if lines and len(row.head) <= left else ""
        yield f"  {row.head.ljust(left)}  {first}".rstrip()
        yield from (f"  {' ' * left}  {line}" for line in lines)
