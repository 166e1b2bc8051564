"""Diagnostics of rules that are broken or not decided, deduplicated over the places of a component.

A component that is in a package, a node and a cluster breaks its own rules in all three. The
diagnostics would be the same but for the path: the one with the shortest path is reported, and
names the other places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from hwdsl.base.diagnostics import Diagnostic, Diagnostics, Label, Severity
from hwdsl.base.source import Span
from hwdsl.elaborate import messages, records
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.values import UNKNOWN, Assertion, Layer, Record
from hwdsl.semantics.symbols import MemberOf
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

NAMED = 2
"""Number of the other places that are named."""

LABELLED = 2
"""Number of the fields read by a broken rule for which a label shows where they are given."""

CALLS = 3
"""Number of the calls, from the innermost on, for which a label shows where they are."""

Key = tuple[object, ...]


def report_static_violations(
    m: PartialEvaluator, assertion: Assertion, diagnostics: Diagnostics
) -> bool:
    """Report a rule that is known to be broken, or cannot be decided; False if params decide it."""
    if assertion.unknown is not None:
        diagnostics.add_undecided(undecided_note(assertion, assertion.unknown))
    if assertion.holds.known == 0.0:
        diagnostics.add(_broken(m, assertion))
    return assertion.holds.known is not None


def deduplicate(m: PartialEvaluator, assertions: Sequence[Assertion]) -> list[Assertion]:
    """The rules, each once for all places of a component that breaks it by its own text."""
    groups: dict[Key, list[Assertion]] = {}
    for assertion in assertions:
        groups.setdefault(_said(m, assertion) or (id(assertion),), []).append(assertion)
    return [_together(m, group) for group in groups.values()]


def undecided_note(assertion: Assertion, unknown: Diagnostic) -> Diagnostic:
    """The note on a rule that reads a value which nobody knows; the last label declares that."""
    text = f"not decided: {unknown.message}"
    declared = [label for label in unknown.labels if label.text == UNKNOWN]
    labels = (*_labels(assertion), *declared[:1])
    return Diagnostic(assertion.rule, Severity.NOTE, text, labels, missing=unknown.missing)


def _said(m: PartialEvaluator, assertion: Assertion) -> Key | None:
    """The key of rules whose diagnostics are equal but for the path; None for a rule by itself."""
    records = assertion.text.env.records
    of = records[0] if records else None
    unknown = assertion.unknown is not None
    if not isinstance(of, Record) or not (unknown or assertion.holds.known == 0.0):
        return None
    parts = () if unknown else messages.parts(m, assertion.text, messages.known_only)
    # Without the component's name, and by the layers that say something: two parts made by the same
    # text differ in names and counts, and what is wrong with both is the same.
    text = tuple("" if part == of.name else part for part in parts)
    layers = tuple(id(layer) for layer in of.layers if _says_something(layer))
    return (assertion.rule, assertion.severity, assertion.span, text, layers)


def _says_something(layer: Layer) -> bool:
    block = layer.block
    return bool(block.entries or block.parts or block.rules or block.allows or block.lets)


def _together(m: PartialEvaluator, group: Sequence[Assertion]) -> Assertion:
    """One rule for all: that of the shortest path, which says where else it is broken."""
    first = min(group, key=lambda e: e.owner.count("."))
    if len(group) > 1:
        holds, undecided = m.all_of([e.holds for e in group], first.span), None
        for here in (e.undecided for e in group if e.undecided is not None):
            undecided = here if undecided is None else m.op(first.span, "or", undecided, here)
        first = evolve(first, holds=holds, undecided=undecided)
    others = [name for name in dict.fromkeys(e.owner for e in group) if name != first.owner]
    if not others:
        return first
    named = ", ".join(f"`{name}`" for name in others[:NAMED])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return evolve(first, elsewhere=f"{named}{more}")


def _broken(m: PartialEvaluator, assertion: Assertion) -> Diagnostic:
    """The diagnostic of a rule known to be broken."""
    text = messages.said(m, assertion)
    help = (
        None if assertion.help is None else messages.render(m, assertion.help, messages.known_only)
    )
    labels = (*_labels(assertion), *_given(m, assertion))
    return Diagnostic(assertion.rule, assertion.severity, text, labels, help)


def made_labels(m: PartialEvaluator, assertion: Assertion) -> tuple[Label, ...]:
    """Where a component that no declaration names is made, the calls, and what it is given."""
    if not assertion.inline or assertion.place is None:
        return ()
    calls = (Label(span, "made in this call") for span in assertion.calls[:CALLS])
    return (Label(assertion.place, "made here"), *calls, *_given(m, assertion))


def _given(m: PartialEvaluator, assertion: Assertion) -> Iterator[Label]:
    """Where the main file gives what the condition of a rule reads, itself or by way of others."""
    of = assertion.text.env.records[0] if assertion.text.env.records else None
    if assertion.condition is not None and isinstance(of, Record):
        found: dict[Span, str] = {}
        _note_given(m, of, [assertion.condition], found, set())
        for span, name in list(found.items())[:LABELLED]:
            yield Label(span, f"`{name}` is given here")


def _note_given(
    m: PartialEvaluator,
    of: Record,
    exprs: Sequence[ast.Node],
    found: dict[Span, str],
    done: set[str],
) -> None:
    """Note where the members are given that some expressions read, then what these follow from."""
    follows: list[ast.Node] = []
    for name in dict.fromkeys(n for expr in exprs for n in _members_read(m, expr)):
        definition = None if name in done else records.find_definition(m, of, name)
        done.add(name)
        if definition is None:
            continue
        if definition.layer.kind is not None:
            follows.append(definition.node)
        elif definition.node.span.source is m.checked.main.tree.source:
            node = definition.node
            found.setdefault(node.name.span if isinstance(node, ast.Part) else node.span, name)
    if follows and len(found) < LABELLED:
        _note_given(m, of, follows, found, done)


def _members_read(m: PartialEvaluator, node: ast.Node) -> Iterator[str]:
    """The members of the record that a text of its kind reads; those of parts are their own."""
    read = m.checked.resolutions.get(node)
    if isinstance(read, MemberOf) and read.level == 0:
        yield read.name
    if not isinstance(node, ast.Part):
        for child in [node.base] if isinstance(node, ast.With) else children(node):
            yield from _members_read(m, child)


def _labels(assertion: Assertion) -> tuple[Label, ...]:
    """The labels of the component that must satisfy a rule, and of the rule's text."""
    rule = Label(assertion.span, f"rule of `{assertion.owner}`" if assertion.owner else "")
    if assertion.place is None:
        return (rule,)
    also = f", which is also {assertion.elsewhere}" if assertion.elsewhere else ""
    calls = (Label(span, "made in this call") for span in assertion.calls[:CALLS])
    return (Label(assertion.place, assertion.owner + also), *calls, rule)
