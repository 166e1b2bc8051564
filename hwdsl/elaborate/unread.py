"""Warnings of what a file writes of its components and no evaluator's output or rule depends on.

Input: a checked file, and which of its texts its evaluators reach (`reached`). Output: a finding
for each field, amendment, part, count, component and variable of the file that is not among them,
with what would read it. Decision 37 says what counts as read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostic, Label, Severity
from hwdsl.base.places import Place, Places
from hwdsl.base.source import Span
from hwdsl.elaborate.reached import Reached
from hwdsl.elaborate.readers import Member, holders, readers, way_to
from hwdsl.semantics.symbols import (
    EMPTY_SHAPE,
    Checked,
    ComponentInfo,
    Global,
    KindInfo,
    MemberInfo,
    RecordType,
    RefType,
    Shape,
    TextType,
    Type,
)
from hwdsl.semantics.waivers import places_of
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

NAME = "unread-field"
_REMEDY = 'remove it, or say why it stays: `allow unread_field "the reason"`'


@frozen
class Unread:
    """A text that nothing depends on: its place, what it is, and the member that it gives, or of
    what kind a component of the file is."""

    span: Span
    what: str
    member: MemberInfo | None = None
    kind: KindInfo | None = None


@frozen
class _Record:
    """What is known of the component that a block is about: its path, kind and further parts."""

    path: str
    kind: KindInfo | None
    shape: Shape = EMPTY_SHAPE

    def step(self, name: str) -> tuple[_Record, MemberInfo | None]:
        """A member's component, if it has one, and the member."""
        path = f"{self.path}.{name}" if self.path else name
        info = None if self.kind is None else self.kind.member(name)
        found = _record(path, None if info is None else info.type)
        extra = self.shape.parts.get(name)
        return (found if extra is None else _Record(path, *extra)), info


def place_of(node: ast.Node) -> Place:
    """Where a statement stands."""
    return node.span.start, node.span.end


def places(tree: ast.Module, reached: Reached) -> Places:
    """Where what was reached stands in a file."""

    def here(statements: Collection[ast.Node]) -> frozenset[Place]:
        return frozenset(place_of(s) for s in statements if s.span.source is tree.source)

    read, replaced = reached.statements()
    return Places(here(read), here(replaced), reached.unknown)


def unread(checked: Checked, reached: Places) -> list[Unread]:
    """What the file says of its components that is not among the places reached."""
    asked = _named_by_claims(checked.main.tree)
    walk = _Walk(checked, reached)
    return [
        found
        for item in checked.main.tree.items
        if not (isinstance(item, ast.Part | ast.Let) and item.name.name in asked)
        for found in walk.item(item)
    ]


def warnings(
    checked: Checked, found: Sequence[Unread], *, waived: bool = False
) -> list[Diagnostic]:
    """The findings; those that the file waives only if they are asked for."""
    allowed = [] if waived else places_of(checked.main.tree, NAME)
    stated = _stated(checked) if found else {}
    return [
        Diagnostic(
            NAME,
            Severity.WARNING,
            f"no output and no rule of an evaluator depends on {u.what}",
            (Label(u.span),),
            _help(checked, u, stated),
        )
        for u in found
        if not any(a <= u.span.start < b for a, b in allowed)
    ]


def _help(checked: Checked, found: Unread, stated: Mapping[Member, str]) -> str:
    if found.kind is not None and (by := holders(checked, found.kind)):
        listed = " or ".join(f"`{holder}`" for holder in by)
        return (
            f"no component that an evaluator here asks about has it: give it as {listed}, {_REMEDY}"
        )
    if found.member is None:
        return _REMEDY
    owner = found.member.owner
    name = f"{owner.name}.{found.member.name}"
    by = readers(checked, owner, found.member.name)
    if not by:
        return f"nothing that this file uses reads `{name}`; {_REMEDY}"
    way = way_to(checked, (owner, found.member.name), stated) if stated else None
    if way is None:
        listed = ", ".join(f"`{reader}`" for reader in by)
        return (
            f"`{name}` is read by {listed}, which no evaluator here asks of it: "
            f"let an output read that, {_REMEDY}"
        )
    *through, (kind, last) = way
    by_way = "".join(f" by way of `{k.name}.{m}`" for k, m in through[-1:])
    info = kind.member(last)
    assert info is not None
    return (
        f"`{name}` counts in `{kind.name}.{last}`{by_way}, and "
        f"`{stated[info.owner, last]}` states a `{last}` of its own: leave that out, or let it "
        f"read `{through[-1][1] if through else found.member.name}`; "
        'otherwise say why this stays: `allow unread_field "the reason"`'
    )


def _stated(checked: Checked) -> dict[Member, str]:
    """The members with a formula for which components of the file state something else, each with
    the first of these components."""
    walk, found = _Walk(checked, Places(frozenset(), frozenset())), dict[Member, str]()
    for item in checked.main.tree.items:
        if isinstance(item, ast.Part):
            record = walk.declared(item, item.name.name)
            for member in item.members:
                if isinstance(member, ast.Assign) and record.kind is not None:
                    info = record.kind.member(member.path[-1].name)
                    if len(member.path) == 1 and info is not None:
                        found.setdefault((info.owner, info.name), item.name.name)
    return found


def _named_by_claims(tree: ast.Module) -> set[str]:
    """The names in claims, figures and tables: what they name is asked for by them."""

    def names(node: ast.Node) -> Iterator[str]:
        if isinstance(node, ast.Name):
            yield node.name
        for child in children(node):
            yield from names(child)

    asking = (i for i in tree.items if isinstance(i, ast.Claim | ast.Display))
    return {name for item in asking for name in names(item)}


def _record(path: str, type_: Type | None) -> _Record:
    if isinstance(type_, RecordType):
        return _Record(path, type_.kind, type_.shape or EMPTY_SHAPE)
    return _Record(path, type_.kind if isinstance(type_, RefType) else None)


@frozen
class _Walk:
    """A walk through what a file writes; `reached` are the places of what is read."""

    checked: Checked
    reached: Places

    def item(self, item: ast.Item) -> Iterator[Unread]:
        """What nothing reads of an item of the file."""
        if isinstance(item, ast.Part):
            yield from self._part(item, _Record("", None))
        elif isinstance(item, ast.Let):
            if self._read(item):
                yield from self._expression(item.value)
            else:
                yield Unread(item.name.span, f"`{item.name.name}`")
        elif isinstance(item, ast.Evaluator):
            for member in item.members:
                yield from self._expression(member)
        # A function or kind is offered to other files: only what was called or made is asked about.
        elif isinstance(item, ast.Fn | ast.Kind):
            yield from self._expression(item, offered=True)

    def _read(self, node: ast.Node) -> bool:
        return place_of(node) in self.reached.read

    def _replaced(self, node: ast.Node) -> bool:
        return place_of(node) in self.reached.replaced

    def _part(self, part: ast.Part, around: _Record) -> Iterator[Unread]:
        name = part.name.name
        path = f"{around.path}.{name}" if around.path else name
        record = self.declared(part, path)
        if self._replaced(part):
            return
        if not self._read(part):
            what = f"the part `{path}`" if around.path else f"`{path}`"
            yield Unread(part.name.span, what, None, None if around.path else record.kind)
            return
        if part.count is not None and not (self._read(part.count) or self._replaced(part.count)):
            yield Unread(part.count.span, f"the count of `{path}`")
        yield from self._members(part.members, record)

    def declared(self, part: ast.Part, path: str) -> _Record:
        """What a part's declaration makes."""
        meant = [
            noted.symbol
            for ident in (*(part.base or ())[-1:], part.kind)
            if isinstance(noted := self.checked.resolutions.get(ident), Global)
        ]
        first = meant[0] if meant else None
        if isinstance(first, ComponentInfo):
            return _Record(path, first.kind, first.shape)
        return _Record(path, first if isinstance(first, KindInfo) else None)

    def _members(self, members: Sequence[ast.Node], record: _Record) -> Iterator[Unread]:
        """What nothing reads of a block that is read."""
        for member in members:
            if isinstance(member, ast.Part):
                yield from self._part(member, record)
            elif isinstance(member, ast.Assign):
                yield from self._assign(member, record)
            elif isinstance(member, ast.Amend):
                inner = record
                for ident in member.path:
                    inner, _ = inner.step(ident.name)
                if self._read(member):
                    yield from self._members(member.members, inner)
                else:
                    yield Unread(_path_span(member.path), f"what is said of `{inner.path}`")
            elif isinstance(member, ast.Let):
                yield from self._expression(member.value)

    def _assign(self, node: ast.Assign, record: _Record) -> Iterator[Unread]:
        if isinstance(node.value, ast.Unknown) or self._replaced(node):
            return
        if self._read(node):
            yield from self._expression(node.value)
            return
        owner = record
        for ident in node.path[:-1]:
            owner, _ = owner.step(ident.name)
        last = node.path[-1].name
        _, info = owner.step(last)
        # A text is what a thing is called, whatever is computed.
        if info is None or not isinstance(info.type, TextType):
            what = f"`{last}` of `{owner.path}`" if owner.path else f"`{last}`"
            yield Unread(_path_span(node.path), what, info)

    def _expression(self, node: ast.Node, *, offered: bool = False) -> Iterator[Unread]:
        """What nothing reads of the blocks in an expression.

        Those of a text that is `offered` are looked at where they were evaluated.
        """
        walk = partial(self._expression, offered=offered)
        if isinstance(node, ast.With):
            yield from walk(node.base)
            if self._read(node):
                yield from self._members(node.members, _record("", self._type(node)))
            elif not offered and node.members:
                yield Unread(node.members[0].span, "what this `with` says")
            return
        if isinstance(node, ast.Call) and self._constructs(node):
            if self._read(node):
                for argument in node.arguments:
                    yield from self._argument(node, argument)
            elif not offered:
                yield Unread(node.function.span, f"this `{node.function.span.text}`")
            return
        if isinstance(node, ast.Part):
            if self._read(node):
                yield from self._members(node.members, self.declared(node, node.name.name))
            return
        for child in children(node):
            yield from walk(child)

    def _argument(self, call: ast.Call, node: ast.Argument) -> Iterator[Unread]:
        if self._replaced(node):
            return
        if self._read(node):
            yield from self._expression(node.value)
        elif node.name is not None:
            _, info = _record("", self._type(call)).step(node.name.name)
            if info is None or not isinstance(info.type, TextType):
                what = f"`{node.name.name}` of this `{call.function.span.text}`"
                yield Unread(node.name.span, what, info)

    def _constructs(self, call: ast.Call) -> bool:
        noted = self.checked.resolutions.get(call.function)
        return isinstance(noted, Global) and isinstance(noted.symbol, KindInfo)

    def _type(self, node: ast.Expr) -> Type | None:
        return self.checked.types.get(node)


def _path_span(path: Sequence[ast.Ident]) -> Span:
    return path[0].span.join(path[-1].span)
