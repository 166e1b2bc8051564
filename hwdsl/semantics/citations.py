"""References, and the citations that name them: their own namespace, apart from all values.

A citation changes no result, so a module that was found clean is not walked again for its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from hwdsl.base.diagnostics import did_you_mean
from hwdsl.base.source import Span
from hwdsl.semantics.scopes import find_reference
from hwdsl.semantics.state import CheckerState
from hwdsl.semantics.symbols import ModuleScope
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

REFERENCE_KINDS = (
    "book",
    "dataset",
    "datasheet",
    "documentation",
    "filing",
    "measurement",
    "paper",
    "press",
    "price_list",
    "report",
    "software",
    "standard",
    "talk",
)
_BLOCKS = (ast.Kind, ast.Part, ast.Amend, ast.Evaluator, ast.With)
_WITHOUT = (ast.Ident, ast.Name, ast.Number, ast.Quantity, ast.TypeName)
"""Most nodes of a module; no clause stands in them, so that this walk need not look inside."""

UNNAMED, ASSUMPTION = "unnamed", "assumption"


@frozen
class CitedSource:
    """A citation with what its reference says; a text that stands for itself has no year.

    `kind` is a reference's kind, `unnamed` for a text, `assumption` for what is taken for granted.
    """

    key: str
    kind: str
    year: int | None
    title: str
    place: str
    confidence: str

    @property
    def text(self) -> str:
        """Title, year unless the title states it, and place in it, on one line."""
        year = "" if self.year is None or str(self.year) in self.title else str(self.year)
        parts = (self.title, year, self.place)
        return ", ".join(" ".join(part.split()) for part in parts if part)

    @property
    def described(self) -> str:
        """Kind, title, place and confidence, on one line."""
        kind = "" if self.kind == UNNAMED else f"{self.kind}: "
        sure = f"; confidence {self.confidence}" if self.confidence else ""
        return f"{kind}{self.text}{sure}"


def checked_reference(state: CheckerState, item: ast.Reference) -> ast.Reference:
    """A reference; report a kind that is none and a year that is not of four digits."""
    if item.kind.name not in REFERENCE_KINDS:
        state.error(
            "unknown-name",
            f"unknown kind of reference `{item.kind.name}`",
            item.kind.span,
            help=did_you_mean(item.kind.name, REFERENCE_KINDS)
            or f"the kinds are {', '.join(f'`{kind}`' for kind in REFERENCE_KINDS)}",
        )
    if not (len(item.year) == 4 and item.year.isdigit()):
        state.error(
            "bad-number",
            f"expected a year of four digits, found `{item.year}`",
            _year(item),
            help="write the year of publication in four digits: `2024`",
        )
    return item


def _year(item: ast.Reference) -> Span:
    source = item.span.source
    start = source.text.index(item.year, item.kind.span.end)
    return Span(source, start, start + len(item.year))


def check_citations(state: CheckerState, scope: ModuleScope) -> None:
    """Check that each citation of a module names a reference and says something.

    A confidence must be one that there is, and the text of a reference or an assumption not empty.
    """
    _check_places(state, scope.tree.items)
    waiting: list[ast.Node] = list(scope.tree.items)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _BLOCKS):
            _check_places(state, node.members)
        if isinstance(node, ast.Citation):
            _check(state, scope, node)
        elif isinstance(node, ast.Assume):
            _check_text(state, node, node.text, "an assumption says what is taken for granted")
        elif isinstance(node, ast.Reference):
            what = "a reference says what was published, and where"
            _check_text(state, node, node.title, what)
        elif not isinstance(node, _WITHOUT):
            waiting.extend(children(node))


def _check_places(state: CheckerState, members: Sequence[ast.Node]) -> None:
    """Report a `source` of a block that others stand before: it looks as if it were theirs."""
    first: ast.Node | None = None
    for member in members:
        if isinstance(member, ast.Basis):
            if first is not None:
                again = isinstance(first, ast.Basis)
                what = "stands once in it" if again else "stands first in it"
                state.error(
                    "misplaced-source",
                    f"what all of a block is from {what}",
                    member.span,
                    help="put several in parentheses: `source (a, b)`"
                    if again
                    else "write it behind what it is about, on the same line, or move it to the "
                    "top of the block",
                )
            first = first or member
        elif not isinstance(member, ast.Use | ast.Reference):
            first = first or member


def _check(state: CheckerState, scope: ModuleScope, node: ast.Citation) -> None:
    sure, cited = node.confidence, node.reference
    if sure is not None and sure.name not in ast.CONFIDENCES:
        help = did_you_mean(sure.name, ast.CONFIDENCES) or "write `high`, `medium` or `low`"
        what = f"a source's confidence is high, medium or low, not `{sure.name}`"
        state.error("unknown-name", what, sure.span, help=help)
    if cited is not None:
        find_reference(state, scope, cited)
        help = "say where in it, or leave the text out"
        _check_text(state, node, node.text, help)
    elif node.text in scope.visible_references:
        state.diagnostics.warning(
            "quoted-reference",
            f"`{node.text}` is the name of a reference, and is a text here",
            node.span,
            help=f"write `source {node.text}`, without quotes",
        )
    else:
        help = "say where the number is from; what no source states is an `assume`"
        _check_text(state, node, node.text, help)


def _check_text(state: CheckerState, node: ast.Node, text: str | None, help: str) -> None:
    """Report a text that says nothing; None is no text."""
    if text is not None and not text.strip():
        state.error("empty-text", "the text is empty", node.span, help=help)


def cited(node: ast.Basis, known: Mapping[str, ast.Reference]) -> tuple[CitedSource, ...]:
    """What a `source` or an `assume` says, with the references it names."""
    if isinstance(node, ast.Assume):
        return (CitedSource("", ASSUMPTION, None, "", node.text, ast.CONFIDENCES[0]),)
    return tuple(_source(citation, known) for citation in node.citations)


def _source(node: ast.Citation, known: Mapping[str, ast.Reference]) -> CitedSource:
    sure = node.confidence.name if node.confidence is not None else ""
    key = node.reference.name if node.reference is not None else ""
    found = known.get(key)
    plain = CitedSource(key, UNNAMED, None, "", node.text or "", sure)
    if found is None:
        return plain
    return evolve(plain, kind=found.kind.name, year=int(found.year), title=found.title)
