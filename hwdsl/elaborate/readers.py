"""Who reads a member: the texts of kinds and functions that name it, found without evaluating."""

from __future__ import annotations

from collections.abc import Iterator

from hwdsl.semantics.symbols import (
    Checked,
    FunctionInfo,
    KindInfo,
    MemberOf,
    RecordType,
    RefType,
)
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import is_range_rule
from hwdsl.syntax.tree import children

MOST = 3
"""So many readers are named."""


def readers(checked: Checked, owner: KindInfo, name: str) -> list[str]:
    """Members, rules and functions that read a member of the kind which declares it, a few of them.

    They are looked for in all modules that the file uses, the owner's own first.
    """
    found: dict[str, None] = {}
    scopes = sorted(checked.modules.values(), key=lambda s: s is not owner.scope)
    for scope in scopes:
        if name not in scope.tree.source.text:
            continue
        for symbol in scope.values.values():
            if isinstance(symbol, KindInfo | FunctionInfo) and _mentions(symbol, name):
                checked.ensure(symbol)
                for reader in _in(checked, symbol, owner, name):
                    found[reader] = None
                    if len(found) == MOST:
                        return list(found)
    return list(found)


def _mentions(symbol: KindInfo | FunctionInfo, name: str) -> bool:
    """Whether the name may occur: most texts need no walk."""
    return symbol.decl is not None and name in symbol.decl.span.text


def _in(
    checked: Checked, symbol: KindInfo | FunctionInfo, owner: KindInfo, name: str
) -> Iterator[str]:
    if isinstance(symbol, FunctionInfo):
        if _reads(checked, symbol.decl, None, owner, name):
            yield symbol.name
        return
    for member in () if symbol.decl is None else symbol.decl.members:
        if isinstance(member, ast.Rule) and is_range_rule(member):
            continue
        named = member.path[-1] if isinstance(member, ast.Assign) else getattr(member, "name", None)
        if isinstance(named, ast.Ident) and named.name != name:
            value = member.default if isinstance(member, ast.Field) else member
            if value is not None and _reads(checked, value, symbol, owner, name):
                yield f"{symbol.name}.{named.name}"


def _reads(
    checked: Checked, node: ast.Node, within: KindInfo | None, owner: KindInfo, name: str
) -> bool:
    """Whether a text reads the member; `within` is the kind whose text it is."""
    if isinstance(node, ast.Name) and node.name == name:
        noted = checked.resolutions.get(node)
        info = None if within is None else within.member(name)
        return (
            isinstance(noted, MemberOf)
            and noted.level == 0
            and info is not None
            and info.owner is owner
        )
    if isinstance(node, ast.Attr) and node.name.name == name:
        base = checked.types.get(node.base)
        if isinstance(base, RecordType | RefType):
            info = base.kind.member(name)
            if info is not None and info.owner is owner:
                return True
    return any(_reads(checked, child, within, owner, name) for child in children(node))
