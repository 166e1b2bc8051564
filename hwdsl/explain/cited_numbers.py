"""What the numbers of a file are from: each with the sources that are nearest to it.

A declaration's own `source` counts before one of the block that it stands in, and that before one
of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from attrs import define, field, frozen

from hwdsl.base.source import Span
from hwdsl.semantics.citations import ASSUMPTION, CitedSource, cited
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.symbols import ModuleScope
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

OWN, BLOCK, FILE = "own", "block", "file"
NONE, ASSUMED, ALL = "none", "assumed", "all"
WHICH = (*ast.CONFIDENCES, NONE, ASSUMED, ALL)
"""The numbers that may be asked for: of a confidence, without a source, assumed."""
NEUTRAL = frozenset((-1, 0, 1, 2))
"""Numbers of formulas that need no source: nobody asks why a factor is twice."""


@frozen
class CitedNumber:
    """A declaration with a number in it, or with a source of its own, and its sources.

    `path` is its name within the module, `value` its text; `numeric` tells that a number stands in
    it; `level` is `own`, `block`, `file`, or empty without a source. `values` are the expressions
    that it states, without the members of its block.
    """

    module: str
    path: str
    value: str
    node: ast.Node
    numeric: bool
    level: str
    sources: tuple[CitedSource, ...]
    values: tuple[ast.Node, ...] = field(repr=False)

    @property
    def literals(self) -> Iterator[ast.Number | ast.Quantity]:
        """The numbers that it states; those of a `with` block are declarations of their own."""
        return chain.from_iterable(map(_literals, self.values))

    @property
    def confidence(self) -> str:
        """That of the least sure source; empty if none says."""
        said = [s.confidence for s in self.sources if s.confidence]
        return min(said, key=ast.CONFIDENCES.index, default="")

    def is_of(self, confidence: str) -> bool:
        """Whether it is one of those that `WHICH` names."""
        if confidence == ASSUMED:
            return any(source.kind == ASSUMPTION for source in self.sources)
        if confidence == NONE:
            return not self.level
        return confidence in (ALL, self.confidence)


@frozen
class _Basis:
    """Where what stands in a block is from, unless it says so itself."""

    level: str = ""
    sources: tuple[CitedSource, ...] = ()


def references(trees: Iterable[ast.Module]) -> dict[str, ast.Reference]:
    """The references that modules declare, by name."""
    items = (item for tree in trees for item in tree.items)
    return {item.name.name: item for item in items if isinstance(item, ast.Reference)}


def numbers(
    module: str, tree: ast.Module, known: Mapping[str, ast.Reference]
) -> Iterator[CitedNumber]:
    """The numbers that a module declares, in its order."""
    found = _Reader(module, known).block(tree.items, "", _Basis())
    return (declaration for declaration in found if declaration.numeric)


@define(eq=False)
class SourceIndex:
    """What the texts of a checked program are from."""

    scopes: Mapping[str, ModuleScope]
    _files: dict[str, list[CitedNumber]] = field(factory=dict)

    def at(self, span: Span) -> tuple[CitedSource, ...]:
        """The sources of the innermost declaration that a text stands in."""
        around = [one for one in self._of(span) if _inside(span, one.node.span)]
        return max(around, key=lambda one: one.node.span.start).sources if around else ()

    def within(self, span: Span) -> tuple[CitedSource, ...]:
        """The sources of all declarations in a text, each once; else of the one it stands in."""
        inside = [one for one in self._of(span) if _inside(one.node.span, span)]
        found = dict.fromkeys(s for one in inside for s in one.sources)
        return tuple(found) or self.at(span) or self.of_file(span.source.name)

    def of_file(self, name: str) -> tuple[CitedSource, ...]:
        """What a file says of all that it declares."""
        scope = self._scope(name)
        items = () if scope is None else scope.tree.items
        said = [item for item in items if isinstance(item, ast.Basis)]
        known = {} if scope is None else scope.visible_references
        return tuple(source for item in said for source in cited(item, known))

    def _scope(self, name: str) -> ModuleScope | None:
        return next((s for s in self.scopes.values() if s.tree.source.name == name), None)

    def _of(self, span: Span) -> list[CitedNumber]:
        name = span.source.name
        if name not in self._files:
            scope = self._scope(name)
            self._files[name] = [] if scope is None else list(_declarations(scope))
        return self._files[name]


def _inside(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _declarations(scope: ModuleScope) -> Iterator[CitedNumber]:
    return _Reader(scope.name, scope.visible_references).block(scope.tree.items, "", _Basis())


@frozen
class _Reader:
    module: str
    known: Mapping[str, ast.Reference]

    def block(
        self, members: Sequence[ast.Node], path: str, outer: _Basis, level: str = FILE
    ) -> Iterator[CitedNumber]:
        """The numbers of a block's members; `outer` holds where the block has no source itself."""
        said = next((member for member in members if isinstance(member, ast.Basis)), None)
        basis = outer if said is None else _Basis(level, cited(said, self.known))
        for member in members:
            yield from self.declaration(member, path, basis)

    def declaration(self, node: ast.Node, path: str, outer: _Basis) -> Iterator[CitedNumber]:
        """The numbers of a declaration: one, or those of the block that it is."""
        match node:
            case ast.Kind() | ast.Evaluator():
                yield from self.block(node.members, _below(path, node.name.name), outer, BLOCK)
            case ast.Part():
                inner = _below(path, node.name.name)
                yield from self.number(node, inner, outer, (node.count,))
                own = outer if node.sources is None else self.own(node.sources)
                yield from self.block(node.members, inner, own, BLOCK)
            case ast.Amend():
                inner = _below(path, _dotted(node.path))
                yield from self.block(node.members, inner, outer, BLOCK)
            case ast.Assign():
                yield from self.number(node, _below(path, _dotted(node.path)), outer, (node.value,))
            case ast.Field() | ast.Param():
                yield from self.number(node, _below(path, node.name.name), outer, (node.default,))
            case ast.Enum():
                yield from self.number(node, _below(path, node.name.name), outer, ())
            case ast.Choice():
                inner = _below(path, node.name.name)  # its default is one of the alternatives
                yield from self.number(node, inner, outer, (node.alternatives,))
            case ast.Let() | ast.Calibrated() | ast.Output():
                yield from self.number(node, _below(path, node.name.name), outer, (node.value,))
            case ast.Rule():
                inner = _below(path, node.name.name)
                yield from self.number(node, inner, outer, (node.condition,))
            case ast.Fn():
                inner = _below(path, node.name.name)
                cited_lets = [let for let in node.lets if let.sources is not None]
                others = [let for let in node.lets if let.sources is None]
                yield from self.number(node, inner, outer, (*node.parameters, *others, node.body))
                for let in cited_lets:
                    yield from self.declaration(let, inner, outer)
            case _:
                pass

    def own(self, node: ast.Basis) -> _Basis:
        """What a declaration ends with."""
        return _Basis(OWN, cited(node, self.known))

    def number(
        self, node: ast.Node, path: str, outer: _Basis, values: Sequence[ast.Node | None]
    ) -> Iterator[CitedNumber]:
        """A declaration, if a number that needs a source stands in what it declares."""
        written = [value for value in values if value is not None]
        formula = isinstance(node, ast.Fn) or any(_reads_names(value) for value in written)
        stated = isinstance(node, ast.Assign | ast.Part) and not formula
        numeric = any(_needs_source(value, stated) for value in written)
        own: ast.Basis | None = getattr(node, "sources", None)
        basis = outer if own is None else self.own(own)
        if numeric or own is not None:
            shown = [] if isinstance(node, ast.Fn) else written
            text = " ".join(" ".join(value.span.text.split()) for value in shown)
            of = (numeric, basis.level, basis.sources, tuple(written))
            yield CitedNumber(self.module, path, text, node, *of)
        for amended in (w for value in written for w in _amended(value)):
            yield from self.block(amended.members, path, basis, BLOCK)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _dotted(path: Sequence[ast.Ident]) -> str:
    return ".".join(ident.name for ident in path)


def _amended(node: ast.Node) -> Iterator[ast.With]:
    """The `with` blocks in a value that stand in no other."""
    if isinstance(node, ast.With):
        yield node
        yield from _amended(node.base)
    else:
        yield from (found for child in children(node) for found in _amended(child))


def _reads_names(node: ast.Node) -> bool:
    return isinstance(node, ast.Name) or any(_reads_names(child) for child in children(node))


def _needs_source(node: ast.Node, stated: bool) -> bool:
    """Whether a number stands there that someone must have found: of a component, any."""
    return any(stated or exact(number.text) not in NEUTRAL for number in _literals(node))


def _literals(node: ast.Node) -> Iterator[ast.Number | ast.Quantity]:
    if isinstance(node, ast.Number | ast.Quantity):
        yield node
    elif not isinstance(node, ast.TypeExpr | ast.Assign):  # a `with` sets by assignments
        for child in children(node):
            yield from _literals(child)
