"""The library's files, read and checked for what they declare."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics.checker import check
from hwdsl.semantics.modules import library_root, library_tree, load
from hwdsl.semantics.symbols import EnumType, ListType, ModuleScope, ResultType, Type
from hwdsl.semantics.type_relations import dim_name, dimension, unit_for
from hwdsl.syntax import ast

FOLDERS = ("std", "vendor", "workloads", "peers", "studies")
"""The folders in the order in which a name is looked for."""

WORDS: dict[type, str] = {
    ast.Dimension: "dimension", ast.UnitDecl: "unit", ast.TypeAlias: "type", ast.Enum: "enum",
    ast.Kind: "kind", ast.Fn: "fn", ast.ExternFn: "built-in function",
    ast.Calibrated: "calibrated",
    ast.Let: "let", ast.Evaluator: "evaluator", ast.Claim: "claim", ast.Reference: "reference",
}  # fmt: skip
Named = (
    ast.Dimension | ast.UnitDecl | ast.TypeAlias | ast.Enum | ast.Kind | ast.Fn | ast.ExternFn
    | ast.Calibrated | ast.Let | ast.Evaluator | ast.Claim | ast.Part | ast.Reference
)  # fmt: skip


@frozen
class Declared:
    """A public definition and the module it stands in."""

    module: str
    item: Named

    @property
    def name(self) -> str:
        """The name it is declared by."""
        return self.item.name.name

    @property
    def path(self) -> str:
        """Module and name."""
        return f"{self.module}.{self.name}"

    @property
    def place(self) -> str:
        """Module and line."""
        line, _ = self.item.name.span.source.position(self.item.name.span.start)
        return f"`{self.module}`, line {line}"

    @property
    def word(self) -> str:
        """The word it is declared with: `kind`, `fn`, or a component's kind."""
        return word(self.item)


def word(item: Named) -> str:
    """The word something is declared with."""
    return item.kind.name if isinstance(item, ast.Part) else WORDS[type(item)]


def file_of(module: str) -> Path:
    """The file of a module."""
    return library_root().joinpath(*module.split(".")).with_suffix(".hw")


@cache
def modules() -> dict[str, ast.Module]:
    """All modules by path, std first."""
    root = library_root()
    paths = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*.hw"))]
    named = [(".".join(p.relative_to(root).with_suffix("").parts), p) for p in paths]
    trees = [(name, library_tree(path, Diagnostics())) for name, path in named]
    return {name: tree for name, tree in trees if tree is not None}


@cache
def definitions() -> dict[str, list[Declared]]:
    """All public definitions by name, std first."""
    found: dict[str, list[Declared]] = {}
    for module, tree in modules().items():
        for item in tree.items:
            if isinstance(item, Named) and not item.name.name.startswith("_"):
                found.setdefault(item.name.name, []).append(Declared(module, item))
    return found


@cache
def scope(module: str) -> ModuleScope:
    """A module's scope, all that it declares checked."""
    diagnostics = Diagnostics()
    return check(load(file_of(module), diagnostics), diagnostics).main


def type_text(type_: Type, where: ModuleScope, written: str = "") -> str:
    """What a type is called, with a unit if it is a quantity; as written where it is declared."""
    dim = dimension(type_)
    if dim is not None and not dim.is_dimensionless:
        unit = unit_for(dim, where)
        return f"{written or dim_name(dim, where)}{f' ({unit})' if unit else ''}"
    if written:
        return written
    if isinstance(type_, ListType):
        return f"[{type_text(type_.element, where)}]"
    if isinstance(type_, ResultType):
        return "record of " + ", ".join(name for name, _ in type_.fields)
    return type_.enum.name if isinstance(type_, EnumType) else str(type_)


def text_of(node: ast.Node) -> str:
    """A node's text, its lines moved to the left as far as the first stands to the right."""
    _, column = node.span.source.position(node.span.start)
    return textwrap.dedent(" " * (column - 1) + node.span.text)


def sentence(doc: str) -> str:
    """The first sentence: up to a full stop before a blank and a capital."""
    text = " ".join(doc.split())
    ends = (i for i in range(len(text) - 2) if text[i : i + 2] == ". " and text[i + 2].isupper())
    end = next(ends, None)
    return text if end is None else text[: end + 1]


def short(text: str, most: int = 60) -> str:
    """A text on one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def said(rule: ast.Rule) -> str:
    """What a rule is for, or what it says where it is broken."""
    message = rule.message.span.text.strip('"') if rule.message is not None else ""
    return sentence(rule.doc) or message or f"`{short(rule.condition.span.text)}`"


def members(item: Named) -> Iterator[tuple[str, str, str]]:
    """Role, name and documentation of what a definition holds."""
    if isinstance(item, ast.Enum):
        yield from (("case", case.name, "") for case in item.cases)
    for member in getattr(item, "members", ()):
        if isinstance(member, ast.Field):
            yield "field", member.name.name, member.doc
        elif isinstance(member, ast.Part) and isinstance(item, ast.Kind):
            yield "part", member.name.name, member.doc
        elif isinstance(member, ast.Let) and isinstance(item, ast.Kind):
            yield "let", member.name.name, member.doc
        elif isinstance(member, ast.Fn):
            yield "fn", member.name.name, member.doc
        elif isinstance(member, ast.Rule):
            yield "rule", member.name.name, said(member)
        elif isinstance(member, ast.Param | ast.Choice | ast.Output):
            yield type(member).__name__.lower(), member.name.name, member.doc
