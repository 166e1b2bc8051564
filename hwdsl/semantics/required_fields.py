"""Fields without a value: what a component must say and does not."""

from __future__ import annotations

from collections.abc import Sequence

from hwdsl.base.diagnostics import with_article
from hwdsl.base.source import Span
from hwdsl.semantics.state import CheckerState, MemberSetting
from hwdsl.semantics.symbols import ComponentInfo, Global, KindInfo
from hwdsl.syntax import ast

DEEPEST = 31
"""Parts within parts that are looked into: a kind that holds itself has no end."""


def check_missing(state: CheckerState, info: ComponentInfo) -> None:
    """Report the fields of a component, and of its parts, that nothing gives a value."""
    if state.is_broken(info.kind):
        return
    entries = [*_kind_entries(state, info.kind), *_component_entries(state, info)]
    _check(state, info.kind, entries, info.decl, info.decl.name.span, (info.name,))


def _component_entries(state: CheckerState, info: ComponentInfo) -> list[MemberSetting]:
    """What a component's text and that of its bases set, theirs first."""
    # Noted for each of the chain: a thousand components, each on the one before, take linear time.
    chain: dict[ComponentInfo, None] = {}
    current: ComponentInfo | None = info
    while current is not None and current not in chain and current not in state.inherited:
        chain[current] = None
        current = current.base
    found = state.inherited.get(current, []) if current is not None else []
    for each in reversed(chain):
        found = state.inherited[each] = [*found, *_own(state, each.decl)]
    return found


def _kind_entries(state: CheckerState, kind: KindInfo) -> list[MemberSetting]:
    kinds = list(reversed(list(kind.lineage())))
    for info in (m for k in kinds for m in k.members.values() if m.role == "part"):
        state.force(info)  # notes what the part is
    return [e for k in kinds if k.decl is not None for e in _own(state, k.decl)]


def _own(state: CheckerState, decl: ast.Part | ast.Kind) -> list[MemberSetting]:
    """What a text itself sets, read once."""
    found = state.settings.get(decl)
    if found is None:
        found = state.settings[decl] = _flatten(decl.members)
    return found


def _flatten(members: Sequence[ast.Member], prefix: tuple[str, ...] = ()) -> list[MemberSetting]:
    entries: list[MemberSetting] = []
    for member in members:
        if isinstance(member, ast.Part):
            entries.append(MemberSetting((*prefix, member.name.name), member))
        elif isinstance(member, ast.Assign):
            path = tuple(p.name for p in member.path)
            entries.append(MemberSetting((*prefix, *path), member))
        elif isinstance(member, ast.Amend):
            path = tuple(p.name for p in member.path)
            entries.extend(_flatten(member.members, (*prefix, *path)))
    return entries


def _check(
    state: CheckerState,
    kind: KindInfo,
    entries: list[MemberSetting],
    home: ast.Part,
    span: Span,
    path: tuple[str, ...],
) -> bool:
    """Check a record; `span` is where `home`, the component, declares it or what it is in.

    Returns whether nothing is missing.
    """
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
    checked = [_check_part(state, name, entries, home, span, path) for name in parts]
    return not missing and all(checked)


def _check_part(
    state: CheckerState,
    name: str,
    entries: list[MemberSetting],
    home: ast.Part,
    span: Span,
    path: tuple[str, ...],
) -> bool:
    """Check a part by the last text that declares it and all that amends it later."""
    last = max(i for i, e in enumerate(entries) if e.path == (name,))
    node = entries[last].node
    if not isinstance(node, ast.Part) or len(path) > DEEPEST:
        return True
    noted = state.checked.resolutions.get(node.kind)
    if not isinstance(noted, Global) or not isinstance(noted.symbol, KindInfo):
        return True
    kind, own = noted.symbol, list[MemberSetting]()
    base = state.checked.resolutions.get(node.base[-1]) if node.base is not None else None
    if isinstance(base, Global) and isinstance(base.symbol, ComponentInfo):
        own = _component_entries(state, base.symbol)
        kind = base.symbol.kind if base.symbol.kind.is_a(kind) else kind
    elif isinstance(base, Global) and isinstance(base.symbol, KindInfo):
        kind = base.symbol if base.symbol.is_a(kind) else kind
    elif node.base is not None:
        return True
    later = [
        MemberSetting(e.path[1:], e.node)
        for e in entries[last + 1 :]
        if len(e.path) > 1 and e.path[0] == name
    ]
    # A part that no outer text amends is the same wherever its owner is used: it is looked at once,
    # and what it lacks is reported once for a component.
    if not later and (node in state.complete or (home, node) in state.lacking):
        return node in state.complete
    inner = [*_kind_entries(state, kind), *own, *_own(state, node), *later]
    inside = home.span.start <= node.span.start < home.span.end
    if inside and node.span.source is home.span.source:
        span = node.name.span
    complete = _check(state, kind, inner, home, span, (*path, name))
    if complete and not later:
        state.complete.add(node)
    elif not later:
        state.lacking.add((home, node))
    return complete


def _report(
    state: CheckerState, kind: KindInfo, missing: list[ast.Field], span: Span, path: tuple[str, ...]
) -> None:
    names = ", ".join(f"`{f.name.name}`" for f in missing)
    state.error(
        "missing-field",
        f"`{'.'.join(path)}` says nothing of {names}, which {with_article(kind.name)} must have",
        span,
        others=[(f.name.span, f"`{f.name.name}` has no default") for f in missing],
        help="add " + ", ".join(f"`{f.name.name} = …`" for f in missing[:3]),
    )
