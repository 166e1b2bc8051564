"""Pages of members: `training_step.exposed_dp`, `accelerator.tdp`, `llm_training_step.mfu`."""

from __future__ import annotations

from attrs import evolve

from hwdsl.base.diagnostics import fields_help
from hwdsl.help.definitions import (
    free_row,
    kind_info,
    lookup,
    member_row,
    output_row,
    with_sources,
)
from hwdsl.help.library_index import Declared, members, modules, scope, text_of
from hwdsl.help.page import Page, PageRow, PageSection
from hwdsl.semantics.symbols import ComponentInfo, EvaluatorInfo, KindInfo, ModuleScope
from hwdsl.syntax import ast

ROLES = {
    "field": "a field, which may be set",
    "let": "a derived value, which cannot be set",
    "part": "a part",
    "fn": "a function",
}


def member(name: str) -> Page | None:
    """The page of a kind's, a component's or an evaluator's member; None if there is none."""
    owner, _, last = name.rpartition(".")
    known = lookup(owner) if owner else []
    for i, one in enumerate(known):
        page = _member(one, last)
        if page is not None:  # the rest is not checked for it: that would take long
            more = [o for o in known[i + 1 :] if last in [n for _, n, _ in members(o.item)]]
            return evolve(page, others=tuple(f"`{o.path}.{last}`" for o in more))
    return None


def members_help(name: str) -> str | None:
    """What a definition of the library has instead of an unknown member."""
    owner, _, last = name.rpartition(".")
    for one in lookup(owner) if owner else ():
        info = scope(one.module).values.get(one.name)
        kind = info.kind if isinstance(info, ComponentInfo) else info
        if isinstance(kind, KindInfo):
            known = [n for k in kind.lineage() for n in (*k.members, *k.rules)]
        elif isinstance(info, EvaluatorInfo):
            known = [*info.free, *info.outputs]
        else:
            continue
        return fields_help(f"{owner}.{last}", [f"{owner}.{n}" for n in known])
    return None


def _member(one: Declared, name: str) -> Page | None:
    info = scope(one.module).values.get(one.name)
    if isinstance(info, ComponentInfo):
        return _of_component(info, one, name)
    if isinstance(info, EvaluatorInfo):
        return _of_evaluator(info, one, name)
    kind = kind_info(one)
    return None if kind is None else _of_kind(kind, name)


def _of_kind(kind: KindInfo, name: str) -> Page | None:
    """A member of a kind or of one of its bases, with its own text."""
    owner = next((k for k in kind.lineage() if name in k.members), None)
    if owner is None or owner.scope is None:
        return None
    if owner.scope.name in modules():  # a base's module need not have been checked in full
        again = scope(owner.scope.name).values.get(owner.name)
        owner = again if isinstance(again, KindInfo) else owner
    found, where = owner.members[name], owner.scope
    assert where is not None
    row = member_row(owner, name)
    notes = [f"It is {ROLES[found.role]}."]
    if found.role != "fn":
        notes.append(f"Its type is {row.type}.")
    if isinstance(found.decl, ast.Field) and found.decl.range is not None:
        within = " ".join(found.decl.range.span.text.split())
        rule = f'`allow {owner.name}.{name} "the reason"` waives it'
        notes.append(f"A value outside {within} breaks the rule `{owner.name}.{name}`; {rule}.")
    if owner.name != kind.name:
        notes.append(f"`{kind.name}` has it from `{owner.name}`.")
    page = Page(
        f"{kind.name}.{name}",
        found.role,
        found.decl.doc,
        _place(where.name, found.decl),
        (" ".join(notes),),
        text=text_of(found.decl),
    )
    return with_sources(page, where, found.decl)


def _of_component(info: ComponentInfo, one: Declared, name: str) -> Page | None:
    """A member of a component: its kind's, and what the component sets it to."""
    page = _of_kind(info.kind, name)
    if page is None:
        return None
    at: ComponentInfo | None = info
    rows, found = list[PageRow](), list[tuple[ModuleScope, ast.Assign]]()
    while at is not None:
        for node in at.decl.members:
            if isinstance(node, ast.Assign) and [p.name for p in node.path] == [name]:
                rows.append(
                    PageRow(f"{at.name}.{name}", value=" ".join(node.value.span.text.split()))
                )
                found.append((at.scope, node))
        at = at.base
    page = evolve(page, name=f"{one.name}.{name}")
    if not rows:
        return page
    page = evolve(page, sections=(PageSection("Set", tuple(rows[:1])),))
    return with_sources(page, *found[0])


def _of_evaluator(info: EvaluatorInfo, one: Declared, name: str) -> Page | None:
    for node in info.decl.members:
        if not isinstance(node, ast.Param | ast.Choice | ast.Output | ast.Let):
            continue
        if node.name.name != name:
            continue
        row = PageRow(name, role="let")
        if isinstance(node, ast.Param | ast.Choice):
            row = free_row(info, node)
        elif isinstance(node, ast.Output):
            row = output_row(info, node)
        notes = (f"Its type is {row.type}.",) if row.type else ()
        page = Page(
            f"{one.name}.{name}", row.role, node.doc, _place(one.module, node), notes,
            text=text_of(node),
        )  # fmt: skip
        return with_sources(page, info.scope, node)
    return None


def _place(module: str, node: ast.Node) -> str:
    line, _ = node.span.source.position(node.span.start)
    return f"`{module}`, line {line}"
