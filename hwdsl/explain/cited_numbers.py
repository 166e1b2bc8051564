"""What the numbers of a file are from: each with the sources that are nearest to it.

A declaration's own `source` counts before one of the block that it stands in, and that before one
of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from hwdsl.semantics.citations import CitedSource, cited
from hwdsl.semantics.literal_values import exact
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

OWN, BLOCK, FILE = "own", "block", "file"
NEUTRAL = frozenset((-1, 0, 1, 2))
"""Numbers of formulas that need no source: nobody asks why a factor is twice."""


@frozen
class CitedNumber:
    """A declaration with a number in it, and its sources.

    `path` is its name within the module, `value` its text; `formula` tells that names stand in it
    too; `level` is `own`, `block`, `file`, or empty where it has no source.
    """

    module: str
    path: str
    value: str
    node: ast.Node
    formula: bool
    level: str
    sources: tuple[CitedSource, ...]

    @property
    def confidence(self) -> str:
        """That of the least sure source; empty if none says."""
        said = [s.confidence for s in self.sources if s.confidence]
        return min(said, key=ast.CONFIDENCES.index, default="")


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
    return _Reader(module, known).block(tree.items, "", _Basis())


@frozen
class _Reader:
    module: str
    known: Mapping[str, ast.Reference]

    def block(
        self, members: Sequence[ast.Node], path: str, outer: _Basis, level: str = FILE
    ) -> Iterator[CitedNumber]:
        """The numbers of a block's members; `outer` holds where the block has no source itself."""
        said = [cited(m, self.known) for m in members if isinstance(m, ast.Sources)]
        basis = _Basis(level, tuple(s for one in said for s in one)) if said else outer
        for member in members:
            yield from self.declaration(member, path, basis)

    def declaration(self, node: ast.Node, path: str, outer: _Basis) -> Iterator[CitedNumber]:
        """The numbers of a declaration: one, or those of the block that it is."""
        match node:
            case ast.Kind() | ast.Part() | ast.Evaluator():
                inner = _below(path, node.name.name)
                if isinstance(node, ast.Part):
                    yield from self.number(node, inner, outer, (node.count,))
                yield from self.block(node.members, inner, outer, BLOCK)
            case ast.Amend():
                inner = _below(path, _dotted(node.path))
                yield from self.block(node.members, inner, outer, BLOCK)
            case ast.Assign():
                yield from self.number(node, _below(path, _dotted(node.path)), outer, (node.value,))
            case ast.Field() | ast.Param():
                yield from self.number(node, _below(path, node.name.name), outer, (node.default,))
            case ast.Let() | ast.Calibrated() | ast.Output():
                yield from self.number(node, _below(path, node.name.name), outer, (node.value,))
            case ast.Rule():
                inner = _below(path, node.name.name)
                yield from self.number(node, inner, outer, (node.condition,))
            case ast.Fn():
                below = (*node.parameters, *node.lets, node.body)
                yield from self.number(node, _below(path, node.name.name), outer, below)
            case _:
                pass

    def number(
        self, node: ast.Node, path: str, outer: _Basis, values: Sequence[ast.Node | None]
    ) -> Iterator[CitedNumber]:
        """A declaration, if a number that needs a source stands in what it declares."""
        written = [value for value in values if value is not None]
        formula = isinstance(node, ast.Fn) or any(_reads_names(value) for value in written)
        stated = isinstance(node, ast.Assign | ast.Part) and not formula
        if not any(_needs_source(value, stated) for value in written):
            return
        own: ast.Basis | None = getattr(node, "sources", None)
        basis = outer if own is None else _Basis(OWN, cited(own, self.known))
        text = "" if isinstance(node, ast.Fn) else " ".join(written[0].span.text.split())
        yield CitedNumber(self.module, path, text, node, formula, basis.level, basis.sources)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _dotted(path: Sequence[ast.Ident]) -> str:
    return ".".join(ident.name for ident in path)


def _reads_names(node: ast.Node) -> bool:
    return isinstance(node, ast.Name) or any(_reads_names(child) for child in children(node))


def _needs_source(node: ast.Node, stated: bool) -> bool:
    """Whether a number stands there that someone must have found: of a component, any."""
    if isinstance(node, ast.Number | ast.Quantity):
        return stated or exact(node.text) not in NEUTRAL
    if isinstance(node, ast.TypeExpr):
        return False
    return any(_needs_source(child, stated) for child in children(node))
