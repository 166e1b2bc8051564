"""Waivers: each `allow` names a rule that some text of the program states, or a warning.

A warning of the checker is named with underscores, `allow unused_let "…"`: it is then not given in
the block, or the file, where that stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from hwdsl.base.diagnostics import WAIVABLE, Diagnostic, did_you_mean
from hwdsl.semantics.state import CheckerState
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import range_rule

_OWNERS = (ast.Kind, ast.Evaluator, ast.Part)
Place = ast.Module | ast.Node


def check_waivers(state: CheckerState) -> None:
    """Report each waiver of a rule that does not exist.

    A rule is named by its owner (`die.reticle`) or by the path of the component that breaks it,
    so what stands before the rule's name must be its owner or a name of the program that may
    stand in a path.
    """
    scopes = state.checked.modules.values()
    top = (i for scope in scopes for i in scope.tree.items if isinstance(i, ast.Allow))
    waivers = [*top, *state.waivers]
    if not waivers:  # most programs: spares a walk over all modules
        return
    nodes: list[ast.Node] = []
    for scope in scopes:
        for node, place in _nodes(scope.tree.items, scope.tree):
            if isinstance(node, ast.Allow):
                _take_back(state, node, place)
            if not isinstance(place, ast.Claim):
                nodes.append(node)
    rules: dict[str, set[str]] = {}
    for owner in nodes:
        if isinstance(owner, _OWNERS):
            own = {r.name.name for m in owner.members if (r := _rule(m)) is not None}
            rules.setdefault(owner.name.name, set()).update(own)
    paths = {
        n.name.name for n in nodes if isinstance(n, ast.Part | ast.Let | ast.Field | ast.Output)
    }
    for waiver in waivers:
        if waiver.span.source.name not in state.incomplete and not _meant(waiver, rules, paths):
            _report(state, waiver, rules)


def _rule(node: ast.Node) -> ast.Rule | None:
    """The rule that a member is, or that its range states."""
    if isinstance(node, ast.Field | ast.Param):
        return range_rule(node)
    return node if isinstance(node, ast.Rule) else None


def _take_back(state: CheckerState, waiver: ast.Allow, place: Place) -> None:
    """Remove the warnings that a waiver names, of the block or the file that contains it."""
    name, source = _warning(waiver), waiver.span.source

    def waived(found: Diagnostic) -> bool:
        at = found.span
        if found.name != name or at is None or at.source is not source:
            return False
        return isinstance(place, ast.Module) or place.span.start <= at.start < place.span.end

    if name is not None:
        state.diagnostics.items[:] = [d for d in state.diagnostics.items if not waived(d)]


def _warning(waiver: ast.Allow) -> str | None:
    """The name of the warning that a waiver is about, if it is about one."""
    name = ".".join(ident.name for ident in waiver.path).replace("_", "-")
    return name if name in WAIVABLE else None


def waives(items: Iterable[ast.Node], warning: str) -> bool:
    """Whether one of the items of a block, or of a file, waives a warning."""
    return any(isinstance(item, ast.Allow) and _warning(item) == warning for item in items)


def places_of(tree: ast.Module, warning: str) -> list[tuple[int, int]]:
    """From where to where a file waives a warning that is found after the checker."""
    return [
        (0, len(tree.source.text))
        if isinstance(place, ast.Module)
        else (place.span.start, place.span.end)
        for node, place in _nodes(tree.items, tree)
        if isinstance(node, ast.Allow) and _warning(node) == warning
    ]


def _meant(waiver: ast.Allow, rules: dict[str, set[str]], paths: set[str]) -> bool:
    if _warning(waiver) is not None:
        return True
    *before, rule = [ident.name for ident in waiver.path]
    if before and rule in rules.get(before[-1], ()):
        return True
    known = any(rule in own for own in rules.values())
    return known and (not before or before[-1] in paths)


def _report(state: CheckerState, waiver: ast.Allow, rules: dict[str, set[str]]) -> None:
    name = ".".join(ident.name for ident in waiver.path)
    stated = (f"{owner}.{rule}" for owner, own in rules.items() for rule in own)
    warnings = (warning.replace("-", "_") for warning in WAIVABLE)
    state.error(
        "unknown-rule",
        f"no rule is called `{name}`",
        waiver.path[-1].span,
        help=did_you_mean(name, state.comparable(chain(stated, warnings)))
        or "name it by the kind that states it, as in the finding: `kind.rule`",
    )


def _nodes(members: Sequence[ast.Node], place: Place) -> Iterator[tuple[ast.Node, Place]]:
    """Declarations, members, and what is inside them, each with what it stands in."""
    for member in members:
        yield member, place
        if isinstance(member, (*_OWNERS, ast.Amend, ast.Claim)):
            yield from _nodes(member.members, member)
