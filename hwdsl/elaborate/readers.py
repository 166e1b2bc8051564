"""Who reads a member: the texts of kinds and functions that name it, found without evaluating."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

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
FARTHEST = 60
"""So many members are asked for their readers, to find one that a file states."""

Member = tuple[KindInfo, str]
"""A member by the kind that declares it and its name."""


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


def holders(checked: Checked, kind: KindInfo) -> list[str]:
    """Parts and fields of kinds that can be a component of a kind, a few of them."""
    found: list[str] = []
    for scope in checked.modules.values():
        for symbol in scope.values.values():
            if isinstance(symbol, KindInfo) and symbol.decl is not None:
                checked.ensure(symbol)
                for name, info in symbol.members.items():
                    taken = info.type.kind if isinstance(info.type, RecordType | RefType) else None
                    if taken is not None and info.role in ("part", "field") and kind.is_a(taken):
                        found.append(f"{symbol.name}.{name}")
    return found[:MOST]


def way_to(
    checked: Checked, start: Member, stated: Collection[Member]
) -> list[tuple[KindInfo, str]] | None:
    """The shortest way by which formulas of kinds lead from a member to one of those `stated`.

    Each step is the kind whose text reads the step before, and the member that it reads it for.
    """
    before: dict[Member, tuple[Member, KindInfo] | None] = {start: None}
    waiting = deque([start])
    for _ in range(FARTHEST):
        if not waiting:
            break
        owner, name = member = waiting.popleft()
        for kind in _kinds(checked, name):
            checked.ensure(kind)
            for reader in _readers_in(checked, kind, owner, name):
                info = kind.member(reader)
                if info is None or (info.owner, reader) in before:
                    continue
                found = info.owner, reader
                before[found] = member, kind
                if found in stated:
                    return _way_back(before, found)
                waiting.append(found)
    return None


def _way_back(
    before: dict[Member, tuple[Member, KindInfo] | None], member: Member
) -> list[tuple[KindInfo, str]]:
    steps: list[tuple[KindInfo, str]] = []
    while (step := before[member]) is not None:
        steps.insert(0, (step[1], member[1]))
        member = step[0]
    return steps


def _kinds(checked: Checked, name: str) -> Iterator[KindInfo]:
    """The kinds of the modules that a file uses in whose texts a name occurs."""
    for scope in checked.modules.values():
        if name in scope.tree.source.text:
            for symbol in scope.values.values():
                if isinstance(symbol, KindInfo) and _mentions(symbol, name):
                    yield symbol


def _mentions(symbol: KindInfo | FunctionInfo, name: str) -> bool:
    """Whether the name may occur: most texts need no walk."""
    return symbol.decl is not None and name in symbol.decl.span.text


def _in(
    checked: Checked, symbol: KindInfo | FunctionInfo, owner: KindInfo, name: str
) -> Iterator[str]:
    if isinstance(symbol, FunctionInfo):
        if _reads(checked, symbol.decl, None, owner, name):
            yield symbol.name
    else:
        yield from (
            f"{symbol.name}.{member}" for member in _readers_in(checked, symbol, owner, name)
        )


def _readers_in(checked: Checked, symbol: KindInfo, owner: KindInfo, name: str) -> Iterator[str]:
    """The members and rules of a kind that read a member."""
    for member in () if symbol.decl is None else symbol.decl.members:
        if isinstance(member, ast.Rule) and is_range_rule(member):
            continue
        named = member.path[-1] if isinstance(member, ast.Assign) else getattr(member, "name", None)
        if isinstance(named, ast.Ident) and named.name != name:
            value = member.default if isinstance(member, ast.Field) else member
            if value is not None and _reads(checked, value, symbol, owner, name):
                yield named.name


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
