"""Reports: the figures and tables of a file, and its validations against measurements, as one page.

Input: a loaded module. Output: Markdown of the tables, or an HTML page that needs no other file.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hwdsl.api.evaluator import Module
from hwdsl.codegen.runtime import OutputSpec, ParamSpec
from hwdsl.explain.cited_numbers import numbers
from hwdsl.measure.validate import Validation, validate, validation_requests
from hwdsl.measure.validation_report import Table, by_group, by_row, summary_table
from hwdsl.semantics.citations import CitedSource
from hwdsl.show.figure_data import FigureData, displays, plain, spoken, titled, words
from hwdsl.syntax import ast

GENERATOR = '<meta name="generator" content="hwdsl">'
"""What stands in the head of our pages."""
MOST_RULES = 5
"""Broken rules that are listed below a figure or table."""

_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
tr.infeasible { color: #999; } figure { margin: 1em 0; } figcaption, .note { color: #555; }
svg { max-width: 100%; height: auto; }"""


def is_ours(head: str) -> bool:
    """Whether a text starts as a page or a figure of ours does."""
    from hwdsl.show.plots import CREATOR

    return GENERATOR in head or f">{CREATOR}<" in head


def declares_any(module: Module) -> bool:
    """Whether the file declares a figure or a table."""
    return any(isinstance(item, ast.Display) for item in module.checked.main.tree.items)


def markdown(module: Module, *, raw: bool = False) -> str:
    """The tables of the file as Markdown. Raises DescriptionError for one that does not fit.

    Infeasible rows have the rules they break for numbers, unless those are to be `raw`.
    """
    parts = []
    for display in displays(module, raw=raw):
        if display.form == "table":
            head, rows, feasible = cells(display)
            verdicts = _verdicts(display, feasible)
            rows = [[*row, said] for row, said in zip(rows, verdicts, strict=True)]
            whole = table([*head, "feasible"], rows)
            left = " ".join(left_out(display))
            parts.append(_section(words(display.name), f"{display.doc}\n\n{left}".strip(), whole))
    for found in _validations(module):
        tables = f"{table(*by_row(found))}\n\n{table(*by_group(found))}"
        parts.append(_section(found.request.title, "", tables))
    if parts and (sources := _sources(module)):
        parts.append(_section("Sources", "", "\n".join(f"- {line}" for line in sources)))
    return "\n\n".join(parts)


def pages(module: Module, *, raw: bool = False) -> dict[str, str]:
    """The whole report by file: `index.html`, which stands alone, and each figure as SVG.

    What is infeasible has no numbers, unless they are to be `raw`. Raises
    DescriptionError for a declaration that does not fit, and ModuleNotFoundError for a figure
    without matplotlib.
    """
    from hwdsl.show.plots import svg

    title = module.path.stem
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(module.doc)}</p>"]
    files: dict[str, str] = {}
    for display in displays(module, raw=raw):
        parts.append(f'<h2 id="{escape(display.name)}">{escape(words(display.name))}</h2>')
        if display.form == "figure":
            drawn = files[f"{title}_{display.name}.svg"] = svg(display)
            parts.append(_figure(display, drawn))
        else:
            parts.append(_table(display))
    for found in _validations(module):
        parts += [f"<h2>{escape(found.request.title)}</h2>", *_validated(found, rows=True)]
    if sources := _sources(module):
        items = "\n".join(f"<li>{escape(line)}</li>" for line in sources)
        parts += ["<h2>Sources</h2>", f"<ul>\n{items}\n</ul>"]
    return {"index.html": _document(title, parts), **files}


def validation_page(found: Sequence[tuple[str, Validation]], *, rows: bool) -> str:
    """Validations and their names as HTML; `rows` lists all rows too.

    Raises ModuleNotFoundError without matplotlib.
    """
    parts = ["<h1>Validation</h1>"]
    if len(found) > 1:
        parts.append(_plain(summary_table(found)))
    for name, validation in found:
        parts += [f"<h2>{escape(name)}</h2>", *_validated(validation, rows=rows)]
    return _document("Validation", parts)


def _document(title: str, parts: Sequence[str]) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{GENERATOR}\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def cells(display: FigureData) -> tuple[list[str], list[list[str]], list[bool]]:
    """A table's header, its rows as text, and whether each row's point is feasible."""
    shown: list[ParamSpec | OutputSpec] = [*display.along, *display.outputs]
    head = [titled(spoken(x.name), x.scale.unit) for x in shown]
    columns = [display.sweep.column(x.name).tolist() for x in shown]
    rows = [[_cell(v) for v in row] for row in zip(*columns, strict=True)]
    feasible = display.sweep.feasible.ravel().tolist()
    if not display.sweep.is_raw:
        numbers = len(display.along)
        none = ["\N{EN DASH}"] * len(display.outputs)
        pairs = zip(rows, feasible, strict=True)
        rows = [row if good else [*row[:numbers], *none] for row, good in pairs]
    return head, rows, feasible


def left_out(display: FigureData) -> list[str]:
    """What to say of the whole numbers that are not shown since they cannot be built."""
    return [
        f"{each.values:,} of {each.tried:,} values of {each.param} cannot be built"
        + (" and are left out." if each.values < each.tried else ".")
        for each in display.left_out
    ]


def _verdicts(display: FigureData, feasible: Sequence[bool]) -> list[str]:
    """Whether each row can be built, and if not, the rules it breaks."""
    broken = display.sweep.violation_texts().tolist()
    return [
        "yes" if good else f"no: {', '.join(rules.split())}"
        for good, rules in zip(feasible, broken, strict=True)
    ]


def _sources(module: Module) -> list[str]:
    """What the numbers of the file are from: each source once, with the names of its numbers."""
    main = module.checked.main
    named: dict[CitedSource, list[str]] = {}
    for number in numbers(main.name, main.tree, main.visible_references):
        for source in number.sources:
            named.setdefault(source, []).append(number.path)
    return [f"{source.described} ({', '.join(paths)})" for source, paths in named.items()]


def _validations(module: Module) -> list[Validation]:
    return [validate(module, request) for request in validation_requests(module)]


def _validated(validation: Validation, *, rows: bool) -> list[str]:
    """A validation's figure, its errors by group, and its rows."""
    from hwdsl.show.plots import validated

    request = validation.request
    caption = (
        f"{request.output} of {request.evaluator} over what was measured ({request.data.name}). On "
        "the line both are equal; half of the points lie in the dark band, nine in ten in the "
        "light one."
    )
    figure = (
        f"<figure>\n{validated(validation)}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"
    )
    tables = [by_group(validation), *([by_row(validation)] if rows else [])]
    return [figure, *map(_plain, tables)]


def _plain(found: Table) -> str:
    return _html(found.head, found.rows, [True] * len(found.rows))


def _figure(display: FigureData, drawn: str) -> str:
    looks = "Dotted" if display.sweep.is_raw else "Marked at the bottom"
    caption = f"<figcaption>{escape(display.doc)}{_infeasible(display, looks)}</figcaption>"
    return f"<figure>\n{drawn}\n{caption}\n</figure>"


def _infeasible(display: FigureData, looks: str) -> str:
    """Which rules the points break that are drawn as infeasible, with the message of each."""
    if not display.broken:
        return ""
    told = [
        f"<li><code>{escape(b.rule)}</code> at {b.points:,} of {len(display.tried):,} points, "
        f"the first: {escape('; '.join([b.first.message, *b.first.place_lines()]))}</li>"
        for b in display.broken[:MOST_RULES]
    ]
    left = len(display.broken) - len(told)
    rest = f"<li>… {left} more rules</li>" if left > 0 else ""
    said = " ".join(map(escape, left_out(display)))
    if not display.sweep.feasible.all():
        said = f"{said} {looks}: infeasible, because these rules are broken:".strip()
    else:
        said += " They break these rules:"
    return f'\n<div class="note">{said}<ul>{"".join(told)}{rest}</ul></div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A header and rows of text in Markdown; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in lines)


def _table(display: FigureData) -> str:
    doc = f"<p>{escape(display.doc)}</p>\n" if display.doc else ""
    return doc + _html(*cells(display)) + _infeasible(display, "Grey")


def _html(head: Sequence[str], rows: Sequence[Sequence[str]], feasible: Sequence[bool]) -> str:
    lines = ["<table>", f"<tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr>"]
    for row, good in zip(rows, feasible, strict=True):
        inner = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        kind = "" if good else ' class="infeasible"'
        lines.append(f"<tr{kind}>{inner}</tr>")
    return "\n".join([*lines, "</table>"])


def _section(name: str, doc: str, text: str) -> str:
    return "\n\n".join(part for part in (f"## {name}", doc, text) if part)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value, 5) if isinstance(value, int | float) else str(value)
