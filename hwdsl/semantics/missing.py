"""Fields without a value: what a component must say and does not."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from hwdsl.semantics.state import State
from hwdsl.semantics.symbols import ComponentInfo, Global, KindInfo
from hwdsl.source import Span
from hwdsl.syntax import ast


@frozen(eq=False)
class Entry:
    """Something a text sets: the path from the record, and the node (an Assign or a Part)."""

    path: tuple[str, ...]
    node: ast.Assign | ast.Part


def check_missing(state: State, info: ComponentInfo) -> None:
    """Report the fields of a component, and of its parts, that nothing gives a value."""
    if state.is_broken(info.kind):
        return
    entries = [*_kind_entries(info.kind), *_component_entries(info)]
    _check(state, info.kind, entries, info.decl.name.span, (info.name,), 0)


def _component_entries(info: ComponentInfo) -> list[Entry]:
    chain: list[ComponentInfo] = []
    current: ComponentInfo | None = info
    while current is not None and current not in chain:
        chain.append(current)
        current = current.base
    return [e for each in reversed(chain) for e in _flatten(each.decl.members)]


def _kind_entries(kind: KindInfo) -> list[Entry]:
    kinds = reversed(list(kind.lineage()))
    return [e for k in kinds if k.decl is not None for e in _flatten(k.decl.members)]


def _flatten(members: Sequence[ast.Member], prefix: tuple[str, ...] = ()) -> list[Entry]:
    entries: list[Entry] = []
    for member in members:
        if isinstance(member, ast.Part):
            entries.append(Entry((*prefix, member.name.name), member))
        elif isinstance(member, ast.Assign):
            path = tuple(p.name for p in member.path)
            entries.append(Entry((*prefix, *path), member))
        elif isinstance(member, ast.Amend):
            path = tuple(p.name for p in member.path)
            entries.extend(_flatten(member.members, (*prefix, *path)))
    return entries


def _check(
    state: State,
    kind: KindInfo,
    entries: list[Entry],
    span: Span,
    path: tuple[str, ...],
    depth: int,
) -> None:
    given = {e.path[0] for e in entries if len(e.path) == 1}
    missing: list[ast.Field] = []
    done: set[str] = set()
    for each in kind.lineage():
        for member in each.members.values():
            decl = member.decl
            if member.name in done:
                continue
            done.add(member.name)
            if isinstance(decl, ast.Field) and decl.default is None and member.name not in given:
                missing.append(decl)
    if missing:
        _report(state, kind, missing, span, path)
    parts = dict.fromkeys(
        e.path[0] for e in entries if isinstance(e.node, ast.Part) and len(e.path) == 1
    )
    for name in parts:
        _check_part(state, name, entries, span, path, depth)


def _check_part(
    state: State, name: str, entries: list[Entry], span: Span, path: tuple[str, ...], depth: int
) -> None:
    """Check a part by the last text that declares it and all that amends it later."""
    last = max(i for i, e in enumerate(entries) if e.path == (name,))
    node = entries[last].node
    if not isinstance(node, ast.Part) or depth > 30:
        return
    noted = state.checked.resolutions.get(node.kind)
    if not isinstance(noted, Global) or not isinstance(noted.symbol, KindInfo):
        return
    kind, own = noted.symbol, list[Entry]()
    base = state.checked.resolutions.get(node.base[-1]) if node.base is not None else None
    if isinstance(base, Global) and isinstance(base.symbol, ComponentInfo):
        own = _component_entries(base.symbol)
        kind = base.symbol.kind if base.symbol.kind.is_a(kind) else kind
    elif isinstance(base, Global) and isinstance(base.symbol, KindInfo):
        kind = base.symbol if base.symbol.is_a(kind) else kind
    elif node.base is not None:
        return
    later = [
        Entry(e.path[1:], e.node)
        for e in entries[last + 1 :]
        if len(e.path) > 1 and e.path[0] == name
    ]
    inner = [*_kind_entries(kind), *own, *_flatten(node.members), *later]
    _check(state, kind, inner, span, (*path, name), depth + 1)


def _report(
    state: State, kind: KindInfo, missing: list[ast.Field], span: Span, path: tuple[str, ...]
) -> None:
    names = ", ".join(f"`{f.name.name}`" for f in missing)
    state.error(
        "missing-field",
        f"`{'.'.join(path)}` says nothing of {names}, which a `{kind.name}` must have",
        span,
        others=[(f.name.span, f"`{f.name.name}` has no default") for f in missing],
        help="add " + ", ".join(f"`{f.name.name} = …`" for f in missing[:3]),
    )
