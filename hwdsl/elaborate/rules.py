"""Constraint collection: the rules of the components that an evaluator reaches, less those waived.

Reached is what parts and fields lead to from the evaluator's variables and outputs, whether or not
an output reads it, and each component made by an expression that is read on the way to something
(decision 36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from attrs import define, evolve, field

from hwdsl.base.diagnostics import Severity
from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate import records
from hwdsl.elaborate.asked import Read, parted, read_where
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.parts import part_names
from hwdsl.elaborate.range_tests import is_range_test
from hwdsl.elaborate.values import (
    AskedTogether,
    Assertion,
    Component,
    ElaborationError,
    Env,
    Layer,
    ListValue,
    MessageText,
    Record,
    SelectRecord,
    UnequalLengths,
    UnknownValue,
    Value,
)
from hwdsl.semantics.symbols import KindInfo, ModuleScope
from hwdsl.syntax import ast

T = TypeVar("T")
Waivers = tuple[ast.Allow, ...]


@define(eq=False)
class RuleCollector:
    """A walk through components: the rules found, and the components visited.

    `visited` has pairs of a component and the guard under which it was reached: a component that is
    reached without a guard need not be visited again under one. `read` are the components that were
    read on the way, for `settle` to ask. From a component that was read (`of_read`) the walk goes
    to its parts and to fields whose component is made in the text too: declared ones are asked
    where they are declared.
    """

    m: PartialEvaluator
    found: list[Assertion] = field(factory=list)
    visited: set[tuple[int, Ref | None]] = field(factory=set)
    alive: list[object] = field(factory=list)
    read: list[Assertion] = field(factory=list)
    of_read: bool = False

    def value(self, value: Value, path: str, waivers: Waivers, guard: Ref | None = None) -> None:
        """The rules of all components a value holds."""
        if isinstance(value, Record | SelectRecord):
            self.component(value, path, waivers, guard)
        elif isinstance(value, ListValue):
            for item in value.items:
                self.value(item, path, waivers, guard)

    def rules(self, assertions: Sequence[Assertion]) -> list[Assertion]:
        """Those of the assertions that are rules; what was read is kept for `settle`."""
        found, read = parted(assertions)
        self.read.extend(read)
        return found

    def take(self, assertions: Sequence[Assertion], waivers: Waivers) -> None:
        """Add what was stated on the way to a value."""
        self._add(assertions, waivers, None)

    def settle(
        self,
        waivers: Waivers,
        failed: Callable[[ElaborationError], None] | None = None,
        since: int = 0,
    ) -> list[Assertion]:
        """Ask the rules of all components that were read, of those that their rules read too, each
        once for all its readers.

        What is older than `since` is not asked but returned. A component whose rules cannot be
        evaluated is left to `failed`.
        """
        m, read = self.m, self.read
        self.read = []
        rules: dict[int, list[Assertion]] = {}

        def ask(of: Read) -> list[Assertion]:
            """Evaluate the rules of a component; what they read."""
            if (
                isinstance(of, AskedTogether)
                or of.serial <= since
                or (id(of), None) in self.visited
            ):
                return []
            walk = RuleCollector(m, of_read=True)
            around = [w for each in _records(of) for r in _around(each) for w in _waivers_of(r)]
            try:
                walk.component(of, of.path, (*waivers, *around))
            except ElaborationError as failure:
                if failed is None:
                    raise
                failed(failure)
            rules[id(of)] = walk.found
            return walk.read

        left: list[Assertion] = []
        for of, where in read_where(m, read, ask, since):
            if isinstance(of, AskedTogether) or of.serial <= since:
                left.append(m.asking(of, read[0].span, m.op(read[0].span, "not", where)))
                continue
            found = rules.get(id(of), [])
            self.found.extend(found if where.known else (m.guarded(where, e) for e in found))
        return left

    def component(
        self, of: Component, path: str, waivers: Waivers, guard: Ref | None = None
    ) -> None:
        """The rules of a component, of its parts and of the components in its fields."""
        if not of.asks or (id(of), guard) in self.visited or (id(of), None) in self.visited:
            return
        self.visited.add((id(of), guard))
        self.alive.append(of)  # Its id stays taken while the walk lasts.
        self._walk(of, path, waivers, guard)

    def _walk(
        self,
        of: Component,
        path: str,
        waivers: Waivers,
        guard: Ref | None,
        done: Sequence[ast.Rule] = (),
        known: Sequence[str] = (),
    ) -> None:
        """The rules and members of a component, less those that were done on the select whose
        alternative it is."""
        if isinstance(of, SelectRecord):
            self._select_record(of, path, waivers, guard, done, known)
            return
        waivers = (*waivers, *_waivers_of(of))
        for layer, rule in _rules_of(of):
            if rule not in done:
                owner = layer.kind or of
                env = records.env_of(self.m, of, layer)
                self._add(self._lower(owner.name, rule, env, of, path, waivers), waivers, guard)
        # `count` holds no component; it is read for the rule that it is not negative.
        for name in ("count", *_member_names(self.m, of)):
            if name not in known:
                self._member(of, name, path, waivers, guard)

    def _member(
        self, of: Component, name: str, path: str, waivers: Waivers, guard: Ref | None
    ) -> None:
        m = self.m
        try:
            with m.noting([]):  # the walk is no reader
                value, assertions = m.collect(lambda: records.member(m, of, name, of.span))
            assertions, where, _ = m.where_known(assertions)
        except UnknownValue:
            return  # An unknown member is an error only of what reads it, and the walk does not.
        self._add(assertions, waivers, guard)
        if where.known is None:
            guard = where if guard is None else m.op(of.span, "and", guard, where)
        if self.of_read and name not in _part_names(of):
            self._ask_made(value, of.span, guard)
        else:
            self.value(value, f"{path}.{name}", waivers, guard)

    def _ask_made(self, value: Value, span: Span, guard: Ref | None) -> None:
        """Ask the components of a field that are made in the text, once for all that hold them."""
        if isinstance(value, ListValue):
            for item in value.items:
                self._ask_made(item, span, guard)
        elif isinstance(value, Record | SelectRecord) and value.made:
            unread = self.m.truth(False) if guard is None else self.m.op(span, "not", guard)
            self.read.append(self.m.asking(value, span, unread))

    def _select_record(
        self,
        of: SelectRecord,
        path: str,
        waivers: Waivers,
        guard: Ref | None,
        done: Sequence[ast.Rule],
        known: Sequence[str],
    ) -> None:
        m = self.m
        rows = [(*waivers, *_waivers_of(record)) for record in _records(of)]
        # What only some alternatives waive is left to each of them.
        shared = tuple(_in_all(rows))
        differ = any(len(row) > len(shared) for row in rows)
        own = [(row, record.path) for row, record in zip(rows, _records(of), strict=True)]
        names = [] if differ else [n for n in _member_names(m, of) if n not in known]
        alike, waivers = list(done), shared
        for kind, rule in _kind_rules(of):
            if rule in done:
                continue
            name, place = f"{kind.name}.{rule.name.name}", f"{path}.{rule.name.name}"
            if any(waived(row, name, f"{own_path}.{rule.name.name}") for row, own_path in own) or (
                differ and any(waived(row, name, place) for row in rows)
            ):
                continue
            assert kind.scope is not None
            env = Env(kind.scope, None, (of,))
            # Evaluated once, on the select: the rule's formula is in the graph once for all
            # alternatives.
            try:
                assertions = self._lower(kind.name, rule, env, of, path, waivers)
            except UnequalLengths:
                continue  # Left to the alternatives, one by one.
            if any(e.unknown for e in assertions):
                continue  # Some alternatives may know what others do not.
            self._add(assertions, waivers, guard)
            alike.append(rule)
        for i, alternative in enumerate(of.alternatives):
            # A copy of `visited`: what one alternative has visited, under its guard, is not yet
            # visited for another.
            inner = RuleCollector(m, [], set(self.visited), self.alive, [], self.of_read)
            # Not by `component`: the alternative's id may be noted, and then nothing would be done.
            inner._walk(alternative, path, waivers, None, alike, [*known, *names])
            if inner.found or inner.read:
                here = m.case_condition(of.selector, i)
                here = here if guard is None else m.op(of.span, "and", guard, here)
                self.found.extend(m.guarded(here, e) for e in inner.found)
                self.read.extend(m.guarded(here, e) for e in inner.read)
        for name in names:
            self._member(of, name, path, waivers, guard)

    def _lower(
        self, owner: str, rule: ast.Rule, env: Env, of: Component, path: str, waivers: Waivers
    ) -> list[Assertion]:
        """A rule of a component, placed where that is written; nothing if it is waived."""
        name = f"{owner}.{rule.name.name}"
        if waived(waivers, name, *(f"{p}.{rule.name.name}" for p in (path, of.path))):
            self.m.waived_rules.append((rule, env))
            return []
        assertions = lower_rule(self.m, name, rule, env, path)
        return [
            e
            if e.place is not None or e.asks is not None
            else evolve(e, place=of.span, owner=of.path, calls=_calls(of), inline=self.of_read)
            for e in assertions
        ]

    def _add(self, assertions: Sequence[Assertion], waivers: Waivers, guard: Ref | None) -> None:
        for assertion in assertions:
            if assertion.asks is not None:
                self.read.append(assertion if guard is None else self.m.guarded(guard, assertion))
                continue
            if waived(waivers, assertion.rule, f"{assertion.path}.{assertion.rule}"):
                continue
            self.found.append(assertion if guard is None else self.m.guarded(guard, assertion))


def lower_rule(
    m: PartialEvaluator, name: str, rule: ast.Rule, env: Env, path: str
) -> list[Assertion]:
    """A written rule as an assertion, after those that its condition implies.

    A rule that reads what nobody knows is not decided: it holds, and says what is not known. It is
    no error, else each rule would need a guard `if known(x)` (decision 8).
    """
    unknown, undecided = None, None
    try:
        with m.noting([] if is_range_test(m, rule, env) else m.rule_reads):
            holds, assertions = m.collect(lambda: m.number(rule.condition, env))
        implied, where, failure = m.where_known(assertions)
        if failure is not None:  # decided where nothing unknown is read
            unknown, undecided = failure.diagnostic, m.op(rule, "not", where)
            holds = m.op(rule, "or", undecided, holds)
    except UnknownValue as nothing:
        holds, implied = m.truth(True), []
        unknown, undecided = nothing.diagnostic, m.truth(True)
    template = rule.message or ast.Template(
        rule.span, (f"`{' '.join(rule.condition.span.text.split())}` does not hold",)
    )
    assertion = Assertion(
        name,
        path,
        holds,
        Severity.WARNING if rule.warns else Severity.ERROR,
        rule.condition.span,
        MessageText(template, env),
        None if rule.help is None else MessageText(rule.help, env),
        unknown=unknown,
        undecided=undecided,
        condition=rule.condition,
    )
    return [*implied, assertion]


def _rules_of(of: Record) -> list[tuple[Layer, ast.Rule]]:
    """A record's rules with their layers; one of a kind replaces that name of a base kind."""
    found: list[tuple[Layer, ast.Rule]] = []
    seen: set[str] = set()
    for layer in of.layers:
        for rule in layer.block.rules:
            if layer.kind is None or rule.name.name not in seen:
                found.append((layer, rule))
            if layer.kind is not None:
                seen.add(rule.name.name)
    return found


def _kind_rules(of: Component) -> list[tuple[KindInfo, ast.Rule]]:
    """The rules of kinds; of a select, those that all alternatives have."""
    if isinstance(of, SelectRecord):
        return _in_all([_kind_rules(a) for a in of.alternatives])
    return [(layer.kind, rule) for layer, rule in _rules_of(of) if layer.kind is not None]


def _member_names(m: PartialEvaluator, of: Component) -> list[str]:
    """The members that hold components: parts, and fields of a kind that have a value."""
    if isinstance(of, SelectRecord):
        return _in_all([_member_names(m, a) for a in of.alternatives])
    names = dict.fromkeys(part_names(of))
    for kind in reversed(list(of.kind.lineage())):
        for info in kind.members.values():
            fits = records.holds_components(info)
            found = records.find_definition(m, of, info.name) if fits else None
            if found is not None and not isinstance(found.node, ast.Unknown):
                names[info.name] = None
    return list(names)


def _part_names(of: Component) -> Sequence[str]:
    """The members that are parts."""
    if isinstance(of, SelectRecord):
        return _in_all([_part_names(a) for a in of.alternatives])
    return part_names(of)


def _calls(of: Component) -> tuple[Span, ...]:
    """The places of the calls in which a component is made, the innermost first."""
    return _records(of)[0].calls


def _around(of: Record) -> Iterator[Record]:
    """The components in whose text one is made."""
    for layer in of.layers:
        if layer.kind is None:
            yield from (r for r in layer.env.records if isinstance(r, Record))


def _in_all(rows: Sequence[Sequence[T]]) -> list[T]:
    """What is in the first row and in all others."""
    return [x for x in rows[0] if all(x in row for row in rows[1:])]


def _records(of: Component) -> list[Record]:
    """The records that a component may be: itself, or the alternatives of a select."""
    if isinstance(of, Record):
        return [of]
    return [record for each in of.alternatives for record in _records(each)]


def _waivers_of(of: Record) -> Waivers:
    found: list[ast.Allow] = []
    scopes: set[int] = set()
    for layer in of.layers:
        found.extend(layer.block.allows)
        if layer.kind is None and id(layer.env.scope) not in scopes:
            scopes.add(id(layer.env.scope))
            found.extend(module_waivers(layer.env.scope))
    return tuple(found)


def module_waivers(scope: ModuleScope) -> Waivers:
    """The waivers at the top of a file."""
    return tuple(i for i in scope.tree.items if isinstance(i, ast.Allow))


def waived(waivers: Waivers, rule: str, *places: str) -> bool:
    """Whether a waiver names the rule, by its kind (`die.reticle`) or by a path of the component.

    A component has two: the one by which the waiver's owner reads it, and its own, which messages
    name.
    """
    for waiver in waivers:
        name = ".".join(i.name for i in waiver.path)
        if name == rule or any(place == name or place.endswith("." + name) for place in places):
            return True
    return False


def all_requires(m: PartialEvaluator, of: Component) -> Ref:
    """Whether all `require` rules of a component and of what it consists of hold."""
    walk = RuleCollector(m)
    walk.component(of, of.path, ())
    walk.settle(())
    return m.all_of([e.holds for e in walk.found if e.severity is Severity.ERROR], of.span)
