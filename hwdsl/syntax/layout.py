"""Lines of the formatter: neighbours aligned, empty lines where they belong."""

from collections.abc import Sequence

from attrs import define, field

from hwdsl.syntax.print_expr import WIDTH


@define
class StatementRow:
    """One statement as lines, or as cells of a single line that neighbours may align."""

    kind: type
    cells: list[str]
    lines: list[str]
    trailing: str = ""
    leading: list[str] = field(factory=list)


def align(rows: Sequence[StatementRow], indent: int) -> None:
    """Put the cells of neighbouring statements of one sort under each other."""
    first = 0
    while first < len(rows):
        last = first + 1
        while (
            last < len(rows)
            and rows[first].cells
            and rows[last].cells
            and rows[last].kind is rows[first].kind
            and "" not in rows[last].leading
        ):
            last += 1
        _align_run(rows[first:last], indent)
        first = last


def _align_run(rows: Sequence[StatementRow], indent: int) -> None:
    """Align these rows unless a line gets too long for it."""
    widths: dict[int, int] = {}
    for row in rows:
        for i, cell in enumerate(row.cells[:-1]):
            widths[i] = max(widths.get(i, 0), len(cell))
    lines = []
    for row in rows:
        padded = [cell.ljust(widths.get(i, 0)) for i, cell in enumerate(row.cells[:-1])]
        lines.append(" ".join([*padded, *row.cells[-1:]]).rstrip())
    # All or none: a table with one row out of line reads worse than one that is not aligned.
    if all(indent + len(line) <= WIDTH for line in lines):
        for row, line in zip(rows, lines, strict=True):
            if row.cells:
                row.lines = [line]


def lay_out(rows: Sequence[StatementRow], indent: int, top: bool) -> list[str]:
    """Return the lines of statements, with an empty line around items of several lines."""
    pad = " " * indent
    out: list[str] = []
    several = False
    for row in rows:
        before = list(row.leading)
        if top and out and row.lines and "" not in before[:1] and (several or len(row.lines) > 1):
            before.insert(0, "")
        out += [pad + line if line else "" for line in before]
        if row.lines:
            end = f"  {row.trailing}" if row.trailing else ""
            out.append(pad + "\n".join(row.lines) + end)
            several = len(row.lines) > 1
    while out and not out[-1]:
        out.pop()
    return out
