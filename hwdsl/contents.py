"""What the library holds: what `hwdsl explain vendor.nvidia` and `hwdsl explain die` print.

Input: the path of a module, a folder of modules, or the name of something public in one. Output: a
page: modules with their first sentence, public names with theirs, or a kind with its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hwdsl.diagnostics import Diagnostics
from hwdsl.markdown import table
from hwdsl.semantics.modules import library_root
from hwdsl.source import Source
from hwdsl.syntax import ast, parse

WORDS: dict[type, str] = {
    ast.Dimension: "dimension", ast.UnitDecl: "unit", ast.TypeAlias: "type", ast.Enum: "enum",
    ast.Kind: "kind", ast.Fn: "fn", ast.Calibrated: "calibrated", ast.Let: "let",
    ast.Evaluator: "evaluator", ast.Claim: "claim",
}  # fmt: skip
Named = (
    ast.Dimension | ast.UnitDecl | ast.TypeAlias | ast.Enum | ast.Kind | ast.Fn | ast.Calibrated
    | ast.Let | ast.Evaluator | ast.Claim | ast.Part
)  # fmt: skip


def page(name: str) -> str | None:
    """The page of a folder, a module or a public name; None if the library has none such."""
    root = library_root()
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):  # no way out of the library
        return None
    place = root.joinpath(*parts)
    if place.is_dir():
        return _folder(name, place)
    if place.with_suffix(".hw").is_file():
        return _module(name, place.with_suffix(".hw"))
    found = [_definition(path, item) for path, item in _named(name)]
    return "\n".join(found) if found else None


def names() -> list[str]:
    """What pages there are, of folders and modules."""
    root = library_root()
    modules = [_path(path) for path in sorted(root.rglob("*.hw"))]
    return [*sorted({m.partition(".")[0] for m in modules}), *modules]


def _path(file: Path) -> str:
    return ".".join(file.relative_to(library_root()).with_suffix("").parts)


def _read(file: Path) -> ast.Module:
    return parse(Source(str(file), file.read_text(encoding="utf-8")), Diagnostics())


def _named(name: str) -> Iterator[tuple[Path, Named]]:
    """The public definitions of that name."""
    for file in sorted(library_root().rglob("*.hw")):
        if f" {name}" in file.read_text(encoding="utf-8"):
            for item in _read(file).items:
                if isinstance(item, Named) and item.name.name == name:
                    yield file, item


def _folder(name: str, place: Path) -> str:
    rows = [(_path(f), _sentence(_read(f).doc)) for f in sorted(place.rglob("*.hw"))]
    return f"# library/{name}\n\n{_table(('module', 'holds'), rows)}"


def _module(name: str, file: Path) -> str:
    tree = _read(file)
    items = [i for i in tree.items if isinstance(i, Named) and not isinstance(i, ast.Claim)]
    rows = [(_word(i), i.name.name, _sentence(i.doc)) for i in items]
    head = f"# {name}\n\n{' '.join(tree.doc.split())}\n\n"
    return f"{head}{_table(('', 'name', 'is'), rows)}"


def _definition(file: Path, item: Named) -> str:
    """What it is, where it stands, what may be said of it; of all but a kind its text."""
    line, _ = item.span.source.position(item.span.start)
    head = f"# {_word(item)} {item.name.name}: `{_path(file)}`, line {line}\n\n{item.doc.strip()}\n"
    if not isinstance(item, ast.Kind):
        return f"{head}\n```hw\n{item.span.text}\n```\n"
    rows = [row for member in item.members for row in _field(member)]
    below = ".".join(i.name for i in item.base) if item.base else ""
    also = f"\nIt is a `{below}` too: `hwdsl explain {below}`.\n" if below else ""
    return f"{head}{also}\n{_table(('', 'name', 'type', 'unless said', 'is'), rows)}"


def _field(member: ast.Member) -> Iterator[Sequence[str]]:
    if isinstance(member, ast.Field):
        default = "must be said" if member.default is None else member.default.span.text
        yield "", member.name.name, member.type.span.text, _short(default), _sentence(member.doc)
    elif isinstance(member, ast.Part):
        yield "part", member.name.name, member.kind.name, "", _sentence(member.doc)
    elif isinstance(member, ast.Let) and member.doc:
        type_ = "" if member.type is None else member.type.span.text
        yield "let", member.name.name, type_, "", _sentence(member.doc)
    elif isinstance(member, ast.Fn):
        yield "fn", member.name.name, "", "", _sentence(member.doc)
    elif isinstance(member, ast.Rule):
        yield "rule", member.name.name, "", "", _sentence(member.doc)


def _word(item: Named) -> str:
    return item.kind.name if isinstance(item, ast.Part) else WORDS[type(item)]


def _sentence(doc: str) -> str:
    """The first sentence: up to a full stop before a blank and a capital, or a `source:`."""
    text = " ".join(doc.partition("source:")[0].split())
    end = next(
        (i for i in range(len(text) - 2) if text[i : i + 2] == ". " and text[i + 2].isupper()), None
    )
    return text if end is None else text[: end + 1]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:39]}…"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can be read as text too: columns line up, but for the last."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head) - 1)]
    padded = [
        [*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]] for row in (head, *rows)
    ]
    return table(padded[0], padded[1:]) + "\n"
