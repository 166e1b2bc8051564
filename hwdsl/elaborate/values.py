"""Values of the partial evaluator. A number, int or bool is a `Ref` of the graph under
construction.

There is no second kind of value for constants: what is known folds in the builder to a `const`
operation, so the same code evaluates at compile time and builds the graph. Values are compared by
identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from hwdsl.base.diagnostics import Diagnostic, Label, Severity
from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref, Region
from hwdsl.semantics.symbols import EnumInfo, KindInfo, ModuleScope
from hwdsl.syntax import ast

UNKNOWN = "unknown, as this says"
"""The label at the declaration of a value that nobody knows."""


IMPLIED = frozenset(["bad-count", "empty-list", "index-out-of-range", "not-whole", "outside-range"])
"""Errors of values that are constant: where the value depends on a param, it is a rule instead."""


class ElaborationError(Exception):
    """An error of the user met while evaluating.

    An exception and no poison value: an elaboration error ends the output or rule that needs the
    value, and a thunk stores it, so each reader of the thunk raises the same one. It becomes a
    diagnostic at the stage's border.
    """

    def __init__(
        self,
        name: str,
        message: str,
        span: Span,
        help: str | None = None,
        others: Sequence[tuple[Span, str]] = (),
        missing: str = "",
    ) -> None:
        super().__init__(message)
        labels = (Label(span), *(Label(s, t) for s, t in others))
        self.diagnostic = Diagnostic(name, Severity.ERROR, message, labels, help, missing)


class NotConstant(ElaborationError):
    """A constant is required, and the value depends on a param. Where a loop is tried, this ends
    the attempt, and the loop is unrolled."""


class UnequalLengths(ElaborationError):
    """Lists of different lengths meet in a selection."""


class UnknownValue(ElaborationError):
    """A field whose value is `unknown` is read. `member` is its path."""

    member = ""

    def read_at(self, span: Span) -> UnknownValue:
        """The same failure of a read elsewhere: the first read may have been by `known`."""
        return self._again(span, self.diagnostic.help)

    def chosen_by(self, params: Sequence[str]) -> UnknownValue:
        """The same failure, of a component that is an alternative of a choice."""
        help, names = self.diagnostic.help, ", ".join(f"`{p}`" for p in params)
        if names:
            help = f"{help}, or leave the component out of {names}"
        return self._again(self.diagnostic.labels[0].span, help)

    def _again(self, span: Span, help: str | None) -> UnknownValue:
        found = self.diagnostic
        others = [(label.span, label.text) for label in found.labels[1:]]
        return UnknownValue(found.name, found.message, span, help, others, found.missing)


@frozen(eq=False)
class TextValue:
    """A text. Under an unknown choice it has several options, of which `selector` selects one: the
    graph has no texts, only their index."""

    options: tuple[str, ...]
    selector: SelectIndex | None = None


@frozen(eq=False)
class EnumValue:
    """A case of an enum, by its index."""

    enum: EnumInfo
    ref: Ref


@frozen(eq=False)
class ListValue:
    """A list; `labels` name its elements where they come from parts, cases or texts.

    `parts_of` is the component if this is its `parts`, so that `parts.K` can filter.
    """

    items: tuple[Value, ...]
    labels: tuple[str, ...] | None = None
    parts_of: Component | None = None


@frozen(eq=False)
class RangeValue:
    """`low .. high`, both ends included, either perhaps unknown."""

    low: Ref
    high: Ref


@define(eq=False)
class ResultValue:
    """Named values without a kind: of `iterate`, `lowest`, an evaluator's call, a table."""

    what: str
    fields: dict[str, Value | Thunk]


@frozen(eq=False)
class SelectIndex:
    """The selector of a value that is chosen among alternatives (of a select, or phi).

    A `ref` of type bool takes the first of two alternatives where it is true; an int one is the
    index of the alternative.
    """

    ref: Ref
    count: int


@define(eq=False)
class Thunk:
    """A lazy value, computed at its first reading and then stored (call by need).

    Fields, variables, outputs and calls are thunks, so the order of a text does not matter and what
    nothing reads is not evaluated. A thunk stores the assertions made while it was computed too:
    each reader makes them again, since the assertions of a value are those of all that it depends
    on. One that is read while it is `running` depends on itself. `keep` is what the thunk belongs
    to: a component, or the arguments of a call, of a function if `called`. `reads` are the
    thunks read while it was computed, if that is noted; `statement` is the text that gives a member
    or a file's variable its value.
    """

    label: str
    span: Span
    compute: Callable[[], Value]
    running: bool = False
    value: Value | None = None
    assertions: tuple[Assertion, ...] = ()
    failure: ElaborationError | None = None
    keep: object = None
    reads: list[Thunk] | None = None
    statement: ast.Node | None = None
    called: bool = False


FEASIBLE, ASKED = "feasible", "asked"
"""The rules recorded when a result is read: that it is feasible, or that `feasible` itself is read,
and what reads it decides what an infeasible one means."""


@frozen(eq=False)
class Assertion:
    """A condition that must hold, `holds`, a bool of the graph: a written rule, or one implied by
    an expression (an index lies inside its list).

    A false constant is an error of the file, a true one is dropped, and any other becomes a rule
    bit of each point. `rule` names it (`die.reticle`), `path` says how its record is reached,
    `owner` what that is called where it is written, at `place`. `text` makes the message. Of a
    claim, `result` is the evaluator's result that was read, and the rule that it is feasible or
    that it was asked. `unknown` is the finding of a value that nobody knows, so that the rule is
    not decided; it then `holds` where that value would be read, and `undecided` says where that is.
    `absent` is set where a value that
    nobody knows is that of one alternative: `holds` then says where it is not read, of alternatives
    that `choice` tells apart; it is an error unless that is everywhere. `elsewhere` names other
    places of the same component. `condition` is that of a written rule.

    `asks` is set where it is no rule yet: a component was read whose rules have to be asked, but
    where `holds`. `calls` are the places of the calls in which the component is made;
    with `inline` no declaration or variable of the evaluator names it. `rounds` has
    the loops of which `holds` came out, the outermost first, each with the number of a round that
    says whether it holds there.
    """

    rule: str
    path: str
    holds: Ref
    severity: Severity
    span: Span
    text: MessageText
    help: MessageText | None = None
    place: Span | None = None
    owner: str = ""
    result: ResultValue | None = None
    unknown: Diagnostic | None = None
    undecided: Ref | None = None
    absent: UnknownValue | None = None
    choice: SelectIndex | None = None
    elsewhere: str = ""
    condition: ast.Expr | None = None
    asks: Component | AskedTogether | None = None
    calls: tuple[Span, ...] = ()
    inline: bool = False
    rounds: tuple[tuple[LoopRounds, Ref], ...] = ()


@frozen(eq=False)
class AskedTogether:
    """The components that were read on behalf of one thunk, each with where it is not.

    The thunk's readers hold this one in place of them all: along a chain of thunks their number
    would be that of all pairs of a thunk and a component. `serial` is above those of its members.
    """

    members: tuple[Assertion, ...]
    serial: int


@frozen(eq=False)
class LoopRounds:
    """A loop of the graph: its range, its states before the first round and after each, and what
    the text calls its `variable`."""

    variable: str
    region: Region
    low: Ref
    high: Ref
    bound: int
    initial: tuple[Ref, ...]
    following: tuple[Ref, ...]
    until: Ref | None


@frozen(eq=False)
class MessageText:
    """A message to be: a template with the environment its holes are read in."""

    template: ast.Template
    env: Env


@define(eq=False)
class Frame:
    """The local variables of a text, inside those of the text around it."""

    names: dict[str, Value | Thunk]
    parent: Frame | None = None

    def lookup(self, name: str) -> Value | Thunk | None:
        """The variable of that name, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return None


@frozen(eq=False)
class Env:
    """Where an expression is read: its module, its variables, the records around it."""

    scope: ModuleScope
    frame: Frame | None = None
    records: tuple[Component, ...] = ()

    def extend(self, names: dict[str, Value | Thunk]) -> Env:
        """This environment with further variables."""
        return Env(self.scope, Frame(names, self.frame), self.records)


@frozen(eq=False)
class MemberStatement:
    """One statement about a member: its node, and the rest of its path after the member."""

    node: ast.Field | ast.Assign | ast.Amend | ast.Let | ast.Part | ast.Argument
    rest: tuple[ast.Ident, ...] = ()


@frozen(eq=False)
class Block:
    """The text of a kind, component, part, `with` or amendment, by member; `node` is all of it."""

    entries: dict[str, tuple[MemberStatement, ...]]
    parts: tuple[str, ...] = ()
    rules: tuple[ast.Rule, ...] = ()
    allows: tuple[ast.Allow, ...] = ()
    lets: tuple[ast.Let, ...] = ()
    node: ast.Node | None = None


@frozen(eq=False)
class Layer:
    """A block of text applied to a record, as one of its layers.

    A component is not copied to amend it: `with` puts one more layer on top of those of its base,
    and a member is looked up from the top layer down (as in a prototype chain, or Jsonnet's `+`).
    With `own` the block's expressions see the record as `self`; otherwise they are read in `env`
    as it stands (amendments by path). `kind` is set for a kind's own text, which may declare fields
    for components (`holds`). `count` is what the declaration of a part says in brackets.
    """

    block: Block
    env: Env
    own: bool
    kind: KindInfo | None = None
    count: ast.Expr | None = None
    holds: bool = False

    @property
    def asks(self) -> bool:
        """Whether it has rules, or what may: components, a count."""
        block = self.block
        counts = self.count is not None or "count" in block.entries
        return bool(block.rules or block.parts or counts or self.holds)


@frozen(eq=False)
class Definition:
    """Where a member gets its value: an expression, a part or `unknown`, then amendments.

    `slot` are the layers that give the count of a part which is replaced by a value: the value
    takes the place of the part, as many times as the place holds. `statement` is the text of it.
    """

    node: ast.Expr | ast.Part | ast.Unknown
    env: Env
    layer: Layer
    amendments: tuple[Layer, ...]
    slot: tuple[Layer, ...] = ()
    statement: ast.Node | None = None


@define(eq=False)
class Record:
    """A component: layers of text, the top one first, those of the kinds last.

    Members are thunks evaluated in this record, whatever layer they come from (late binding): where
    a `with` changes a field, all formulas that read the field see the change.

    One that is `made` by an expression, `K(…)` or `with`, stands in no declaration: its rules are
    asked where it is read, if it may have some. `calls` are the places of the calls in which it was
    made, the innermost first. `serial` numbers components in the order in which they were made.
    """

    kind: KindInfo
    layers: tuple[Layer, ...]
    name: str
    path: str
    span: Span
    thunks: dict[str, Thunk] = field(factory=dict)
    envs: dict[int, Env] = field(factory=dict)
    made: bool = False
    calls: tuple[Span, ...] = ()
    serial: int = 0

    @property
    def asks(self) -> bool:
        """Whether it may have rules: most records of a model have none."""
        return any(layer.asks for layer in self.layers)


@define(eq=False)
class SelectRecord:
    """A select (phi) of components by something unknown, read field by field.

    A select of whole components is never built: reading a field selects among the values of that
    field. A field that all alternatives take from the same formula of their kind is evaluated once,
    with this record in place of the alternative, so the formula is in the graph once.
    """

    selector: SelectIndex
    alternatives: tuple[Component, ...]
    kind: KindInfo
    name: str
    path: str
    span: Span
    serial: int
    thunks: dict[str, Thunk] = field(factory=dict)

    @property
    def made(self) -> bool:
        """Whether one of the alternatives is made by an expression, and may have rules."""
        return any(a.made for a in self.alternatives)

    @property
    def asks(self) -> bool:
        """Whether one of the alternatives may have rules."""
        return any(a.asks for a in self.alternatives)


Component = Record | SelectRecord
Value = Ref | TextValue | EnumValue | ListValue | RangeValue | ResultValue | Record | SelectRecord


def numbers_of(value: Value) -> Iterator[Ref]:
    """The numbers of which a value consists, in order; none of a text, result or component."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, EnumValue):
        yield value.ref
    elif isinstance(value, RangeValue):
        yield from (value.low, value.high)
    elif isinstance(value, ListValue):
        for item in value.items:
            yield from numbers_of(item)


def as_ref(value: Value) -> Ref:
    """The graph value of a number, bool or enum case."""
    if isinstance(value, Ref):
        return value
    raise TypeError(f"the checker let {type(value).__name__} pass as a number")


def as_component(value: Value) -> Record | SelectRecord:
    """The value as a component."""
    if isinstance(value, Record | SelectRecord):
        return value
    raise TypeError(f"the checker let {type(value).__name__} pass as a component")


def distinct(assertions: Sequence[Assertion]) -> list[Assertion]:
    """The assertions, each once."""
    if len(assertions) < 2:
        return list(assertions)
    # Each reader of a value makes its assertions again: along a chain of variables that read the
    # one before twice, their number would double at each.
    found: dict[object, Assertion] = {}
    for e in assertions:
        holds = (id(e.holds.region), e.holds.index)
        said = id(e.text.template) if e.asks is None else id(e.asks)
        found.setdefault((e.rule, e.path, holds, said, id(e.result)), e)
    return list(found.values())
