"""Components: layers of text over a kind, and late binding of members in the final record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from attrs import evolve

from hwdsl.base.diagnostics import with_article
from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.codegen.runtime.message import number_text
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.parts import common_part_names, is_part_of_kind, part_of_chosen_kind
from hwdsl.elaborate.select_lowering import merge_components, merge_select
from hwdsl.elaborate.values import (
    UNKNOWN,
    Block,
    Component,
    Definition,
    ElaborationError,
    Env,
    Layer,
    ListValue,
    MemberStatement,
    Record,
    SelectRecord,
    TextValue,
    Thunk,
    UnequalLengths,
    UnknownValue,
    Value,
    as_component,
    as_ref,
)
from hwdsl.semantics.symbols import (
    BoolType,
    ComponentInfo,
    Global,
    Int,
    KindInfo,
    ListType,
    MemberInfo,
    Real,
    RecordType,
    Symbol,
)
from hwdsl.syntax import ast

_NUMBERS = ((Real, REAL), (Int, INT), (BoolType, BOOL))

# --- blocks and layers -------------------------------------------------------------------------


def block_of(
    m: PartialEvaluator,
    node: ast.Node,
    members: Sequence[ast.Member],
    rules: Iterable[ast.Rule] | None = None,
) -> Block:
    """The index of a block's members, made once per node: all records of the block share it.

    `rules` are those of a kind, which has some by ranges of fields.
    """
    found = m.blocks.get(node)
    if found is None:
        if rules is None:
            rules = (x for x in members if isinstance(x, ast.Rule))
        found = m.blocks[node] = _index(node, members, rules)
    return found


def _index(block: ast.Node, members: Sequence[ast.Member], rules: Iterable[ast.Rule]) -> Block:
    entries: dict[str, tuple[MemberStatement, ...]] = {}

    def add(name: str, entry: MemberStatement) -> None:
        entries[name] = (*entries.get(name, ()), entry)

    for member in members:
        if isinstance(member, ast.Assign | ast.Amend):
            add(member.path[0].name, MemberStatement(member, member.path[1:]))
        elif isinstance(member, ast.Field | ast.Let | ast.Part):
            add(member.name.name, MemberStatement(member))
    return Block(
        entries,
        tuple(x.name.name for x in members if isinstance(x, ast.Part)),
        tuple(rules),
        tuple(x for x in members if isinstance(x, ast.Allow)),
        tuple(x for x in members if isinstance(x, ast.Let)),
        block,
    )


def layers_of_kind(m: PartialEvaluator, kind: KindInfo) -> tuple[Layer, ...]:
    """The layers of a kind's own text and that of its bases, the most derived first."""
    found = m.kind_layers.get(kind)
    if found is None:
        for each in kind.lineage():
            m.checked.ensure(each)
        found = tuple(
            Layer(
                block_of(m, k.decl, k.decl.members, k.rules.values()),
                Env(k.scope),
                own=True,
                kind=k,
                holds=any(holds_components(info) for info in k.members.values()),
            )
            for k in kind.lineage()
            if k.decl is not None and k.scope is not None
        )
        m.kind_layers[kind] = found
    return found


def holds_components(info: MemberInfo) -> bool:
    """Whether a member is a field for a component, or a list of them."""
    type_ = info.type
    while isinstance(type_, ListType):
        type_ = type_.element
    return info.role == "field" and isinstance(type_, RecordType)


def component(m: PartialEvaluator, info: ComponentInfo) -> Record | SelectRecord:
    """The record of a top-level component."""
    found = m.symbols.get(info)
    if found is None:
        m.checked.ensure(info)
        env = Env(info.scope)
        found = build_part(m, info.decl, env, "", info.kind)
        m.symbols[info] = found
    return as_component(m.read(found))


def build_part(
    m: PartialEvaluator, decl: ast.Part, env: Env, path: str, kind: KindInfo | None = None
) -> Component:
    """The component a part's declaration makes; `env` is that of the text around it."""
    base = None if decl.base is None else _symbol(m, decl.base[-1])
    declared = kind or _symbol(m, decl.kind)
    assert isinstance(declared, KindInfo)
    layer = Layer(block_of(m, decl, decl.members), env, own=True, count=decl.count)
    name = decl.name.name
    full = f"{path}.{name}" if path else name
    if isinstance(base, ComponentInfo):
        return _derive(m, component(m, base), (layer,), name, full, decl.name.span, declared)
    narrow = base if isinstance(base, KindInfo) and base.is_a(declared) else declared
    return m.make_record(narrow, (layer, *layers_of_kind(m, narrow)), name, full, decl.name.span)


def _symbol(m: PartialEvaluator, ident: ast.Ident) -> Symbol:
    """The symbol of the kind or base of a part."""
    noted = m.checked.resolutions[ident]
    assert isinstance(noted, Global)
    return noted.symbol


def _derive(
    m: PartialEvaluator,
    base: Component,
    layers: tuple[Layer, ...],
    name: str | None,
    path: str | None,
    span: Span | None,
    kind: KindInfo | None = None,
) -> Component:
    """`base` with further layers on top; what is None stays as it was."""
    if isinstance(base, SelectRecord):
        alternatives = [_derive(m, a, layers, name, path, span, kind) for a in base.alternatives]
        return merge_components(m, base.selector, alternatives, span or base.span)
    narrow = kind if kind is not None and kind.is_a(base.kind) else base.kind
    if narrow is base.kind:
        below = base.layers
    else:
        # A narrower kind brings the layers of its bases along, in place of those of the base's
        # kind.
        own = tuple(layer for layer in base.layers if layer.kind is None)
        below = (*own, *layers_of_kind(m, narrow))
    return m.make_record(
        narrow, (*layers, *below), name or base.name, path or base.path, span or base.span
    )


def amend(m: PartialEvaluator, base: Component, layers: tuple[Layer, ...]) -> Component:
    """`base` amended: the same name and kind, members late-bound in the result."""
    return _derive(m, base, layers, None, None, None)


def with_block(m: PartialEvaluator, node: ast.With, env: Env) -> Component:
    """`base with { … }`."""
    base = as_component(m.evaluate(node.base, env))
    layer = Layer(block_of(m, node, node.members), env, own=True)
    derived = _derive(m, base, (layer,), None, None, node.span)
    _note_made(m, derived)
    return derived


def construct(m: PartialEvaluator, kind: KindInfo, call: ast.Call, env: Env) -> Record:
    """`K(field = e, …)`."""
    entries: dict[str, tuple[MemberStatement, ...]] = {
        a.name.name: (MemberStatement(a),) for a in call.arguments if a.name is not None
    }
    # Read where the call stands: the second `x` of `K(x = x)` is a variable there, not the field.
    layer = Layer(Block(entries, node=call), env, own=False)
    layers = (layer, *layers_of_kind(m, kind))
    made = m.make_record(kind, layers, kind.name, kind.name, call.span)
    _note_made(m, made)
    return made


def _note_made(m: PartialEvaluator, of: Component) -> None:
    """Note that a component with rules is made by an expression, and in which calls."""
    if isinstance(of, SelectRecord):
        for each in of.alternatives:
            _note_made(m, each)
        return
    of.made = of.asks
    if not of.made:
        return
    for thunk in reversed(m.running):
        if thunk.called:
            of.calls = (*of.calls, thunk.span)
        if isinstance(thunk.keep, Record):  # a member: its component was made in calls of its own
            of.calls = (*of.calls, *thunk.keep.calls)
            break


def env_of(m: PartialEvaluator, record: Record, layer: Layer) -> Env:
    """The environment in which a layer's expressions are read for this record."""
    if not layer.own:
        return layer.env
    # One for each layer, so that its lets are evaluated once. By id: the record keeps the layers.
    found = record.envs.get(id(layer))
    if found is None:
        outer = layer.env
        found = Env(outer.scope, outer.frame, (record, *outer.records))
        if layer.kind is None and layer.block.lets:
            found = with_lets(m, found, layer.block.lets)
        record.envs[id(layer)] = found
    return found


def with_lets(m: PartialEvaluator, env: Env, lets: Sequence[ast.Let]) -> Env:
    """The environment with local variables, as thunks: each may read any other of them."""
    names: dict[str, Value | Thunk] = {}
    inner = env.extend(names)
    for let in lets:
        names[let.name.name] = Thunk(
            let.name.name, let.name.span, partial(m.evaluate, let.value, inner)
        )
    return inner


# --- members -----------------------------------------------------------------------------------


def find_definition(m: PartialEvaluator, record: Record, name: str) -> Definition | None:
    """The definition of a record's member: the expression of the topmost layer that has one, and
    the amendments of the layers above it."""
    return _find_from(m, record, name, 0)


def _find_from(m: PartialEvaluator, record: Record, name: str, start: int) -> Definition | None:
    """The definition among the layers from `start` on."""
    amendments: list[Layer] = []
    for at, layer in enumerate(record.layers[start:], start):
        for entry in layer.block.entries.get(name, ()):
            env = env_of(m, record, layer)
            node = entry.node
            if entry.rest:
                rest = MemberStatement(node, entry.rest[1:])
                amendments.append(Layer(Block({entry.rest[0].name: (rest,)}), env, own=False))
            elif isinstance(node, ast.Amend):
                amendments.append(Layer(block_of(m, node, node.members), env, own=True))
            elif isinstance(node, ast.Part):
                return Definition(node, env, layer, tuple(amendments), statement=node)
            elif isinstance(node, ast.Let) and layer.kind is None:
                continue  # A variable of the block's text, no member.
            elif isinstance(node, ast.Field):
                if node.default is not None:
                    return Definition(node.default, env, layer, tuple(amendments), statement=node)
            else:
                slot = _slot_counts(m, record, name, at + 1)
                return Definition(node.value, env, layer, tuple(amendments), slot, node)
        if name == "count" and layer.count is not None:
            count = layer.count
            return Definition(count, layer.env, layer, tuple(amendments), statement=count)
    return None


def _slot_counts(m: PartialEvaluator, record: Record, name: str, start: int) -> tuple[Layer, ...]:
    """The layers from `start` on that give the count of a part, for a value that replaces it."""
    entries = (e for x in record.layers[start:] for e in x.block.entries.get(name, ()))
    if not any(isinstance(e.node, ast.Part) for e in entries):
        return ()
    below = _find_from(m, record, name, start)
    if below is None:
        return ()
    counts = [
        evolve(layer, block=Block({"count": entry}, lets=layer.block.lets))
        for layer in below.amendments
        if (entry := layer.block.entries.get("count")) is not None
    ]
    if isinstance(below.node, ast.Part) and below.node.count is not None:
        counts.append(Layer(Block({}), below.env, own=False, count=below.node.count))
    return (*counts, *below.slot)


def _fill_slot(m: PartialEvaluator, value: Component, slot: tuple[Layer, ...]) -> Component:
    """A component in the place of a part: with the count of that part, unless it has one itself."""
    if isinstance(value, SelectRecord):
        alternatives = [_fill_slot(m, a, slot) for a in value.alternatives]
        return merge_components(m, value.selector, alternatives, value.span)
    return m.make_record(value.kind, (*value.layers, *slot), value.name, value.path, value.span)


def shared_definition(m: PartialEvaluator, component: Component, name: str) -> Definition | None:
    """The definition in a kind's text that all alternatives use without amendments, if any."""
    if isinstance(component, Record):
        found = find_definition(m, component, name)
        if found is None or found.layer.kind is None or found.amendments or found.slot:
            return None
        return found
    first = shared_definition(m, component.alternatives[0], name)
    if first is None:
        return None
    for other in component.alternatives[1:]:
        found = shared_definition(m, other, name)
        if found is None or found.node is not first.node:
            return None
    return first


def member(m: PartialEvaluator, of: Component, name: str, span: Span) -> Value:
    """The value of a component's member, evaluated once per component."""
    thunk = of.thunks.get(name)
    if thunk is None:
        thunk = of.thunks[name] = Thunk(
            f"{of.path}.{name}", span, lambda: _compute(m, of, name, span)
        )
        thunk.keep = of
    try:
        return m.read(thunk)
    except UnknownValue as failure:
        # Only of the member itself: where it fails for another's sake, that one's place is right.
        if failure.member != thunk.label:
            raise
        raise failure.read_at(span) from None


def _compute(m: PartialEvaluator, of: Component, name: str, span: Span) -> Value:
    if name == "parts":
        return all_parts(m, of, span)
    # Before a select is read field by field: its rules are lowered once for all alternatives.
    if name == "feasible":
        return m.requires(m, of)
    if isinstance(of, SelectRecord):
        return _select_member(m, of, name, span)
    found = find_definition(m, of, name)
    if found is None:
        if name == "name":
            return TextValue((of.name,))
        if name == "count":
            return m.const(1, INT)
        assumed = _placeholder(m, of, name)
        if assumed is None:
            raise missing(of, name, span)
        return assumed
    of.thunks[name].statement = found.statement
    value = _define(m, found, found.env, of, name, span)
    if name == "count":
        _check_count(m, of, as_ref(value), found)
    return amend(m, as_component(value), found.amendments) if found.amendments else value


def _define(
    m: PartialEvaluator, found: Definition, env: Env, of: Component, name: str, span: Span
) -> Value:
    if isinstance(found.node, ast.Part):
        return build_part(m, found.node, env, of.path)
    if isinstance(found.node, ast.Unknown):
        assumed = _placeholder(m, of, name)
        if assumed is None:
            m.unknown_read.add(f"{of.path}.{name}")
            raise _unknown(of, name, found.node, span)
        return assumed
    value = m.evaluate(found.node, env)
    # An anonymous component `K(…)` has its kind for a path; as a field's value it has the field's.
    if isinstance(value, Record) and value.path == value.kind.name and found.layer.kind is None:
        value.path = f"{of.path}.{name}"
    return _fill_slot(m, as_component(value), found.slot) if found.slot else value


def _check_count(m: PartialEvaluator, of: Record, count: Ref, found: Definition) -> None:
    """State that a count, an int, is not negative."""
    if m.is_within(count, 0.0, math.inf):
        return
    span = found.node.span
    holds = m.op(span, "le", m.const(0, INT), count)
    text = f"the count of `{of.path}` must be a whole number from 0 on"
    if holds.known == 0.0:
        raise ElaborationError("bad-count", f"{text}, not {number_text(count.known or 0.0)}", span)
    m.assert_rule("bad-count", holds, span, text, found.env)


def missing(of: Component, name: str, span: Span) -> ElaborationError:
    """The failure of reading a field that has no value."""
    info = of.kind.member(name)
    others = [] if info is None else [(info.decl.name.span, "declared here, without a default")]
    return ElaborationError(
        "missing-field",
        f"`{of.path}` says nothing of `{name}`, which {with_article(of.kind.name)} must have",
        of.span,
        f"add `{name} = …`",
        [*others, (span, "read here")],
        f"{of.path}.{name}",
    )


def _unknown(of: Component, name: str, node: ast.Unknown, span: Span) -> UnknownValue:
    """The failure of reading a field whose value nobody knows."""
    root, *steps = [*of.path.split("."), name]
    failure = UnknownValue(
        "unknown-value",
        f"`{of.path}.{name}` is not known: {node.reason}",
        span,
        f"give it a value: `{root} with {{ {'.'.join(steps)} = … }}`",
        [(node.span, UNKNOWN), (of.span, f"this is `{of.path}`")],
        f"{of.path}.{name}",
    )
    failure.member = f"{of.path}.{name}"
    return failure


def _placeholder(m: PartialEvaluator, of: Component, name: str) -> Ref | None:
    """A placeholder for a missing number that is assumed to be given."""
    path, info = f"{of.path}.{name}", of.kind.member(name)
    if path not in m.assumed or info is None:
        return None
    kind = next((k for t, k in _NUMBERS if isinstance(info.type, t)), None)
    return None if kind is None else m.placeholder(path, kind)


def _select_member(m: PartialEvaluator, of: SelectRecord, name: str, span: Span) -> Value:
    def each(alternative: Component) -> Value:
        return member(m, alternative, name, span)

    found = shared_definition(m, of, name)
    of.thunks[name].statement = None if found is None else found.statement
    if found is None or isinstance(found.node, ast.Unknown):
        return map_alternatives(m, of, each, span)
    env = Env(found.env.scope, None, (of,))
    return _together(m, of, lambda: _define(m, found, env, of, name, span), each, span)


def _together(
    m: PartialEvaluator,
    of: SelectRecord,
    whole: Callable[[], Value],
    each: Callable[[Component], Value],
    span: Span,
) -> Value:
    """The value for all alternatives at once; one by one if their lists differ in length."""
    try:
        value, assertions = m.collect(whole)  # by `collect`: a failure leaves no assertion behind
    except UnequalLengths:
        return map_alternatives(m, of, each, span)
    m.assertions.extend(assertions)
    return value


def map_alternatives(
    m: PartialEvaluator, of: SelectRecord, read: Callable[[Component], Value], span: Span
) -> Value:
    """Read something of every alternative, each under its path condition, and select."""
    values = m.guarded_arms(
        [(of.selector, i, partial(read, a)) for i, a in enumerate(of.alternatives)],
        lambda failure: failure.chosen_by(m.depends_on([of.selector.ref])),
    )
    return merge_select(m, of.selector, values, span)


def call_alternatives(
    m: PartialEvaluator, of: Component, call: Callable[[Component], Value], span: Span
) -> Value:
    """Call something on a component; on each alternative if their lists differ in length."""
    if isinstance(of, Record):
        return call(of)
    return _together(m, of, partial(call, of), call, span)


def method(of: Component, name: str) -> MemberInfo | None:
    """The `fn` of that name, if it is the same one in all alternatives."""
    if isinstance(of, Record):
        return of.kind.member(name)
    found = [method(a, name) for a in of.alternatives]
    return found[0] if all(f is found[0] for f in found) else None


# --- parts -------------------------------------------------------------------------------------


def all_parts(m: PartialEvaluator, of: Component, span: Span) -> ListValue:
    """`x.parts`."""
    names = common_part_names(of)
    if names is None:
        # `parts.K` may still be as many in each; `items_of` refuses `parts` itself.
        return ListValue((), None, of)
    with m.noting([]):  # a list of parts is no reader of those that are not picked from it
        items = tuple(member(m, of, n, span) for n in names)
    return ListValue(items, names, of)


def parts_of_kind(m: PartialEvaluator, parts: ListValue, kind: KindInfo, span: Span) -> Value:
    """`parts.K`."""
    of = parts.parts_of
    fits = [is_part_of_kind(item, kind) for item in parts.items]
    if isinstance(of, SelectRecord) and (parts.labels is None or None in fits):
        return map_alternatives(
            m, of, lambda a: parts_of_kind(m, all_parts(m, a, span), kind, span), span
        )
    if None in fits:
        raise part_of_chosen_kind(m, parts, fits.index(None), kind, span)
    named = zip(parts.items, parts.labels or (), strict=True)
    kept = [pair for pair, fit in zip(named, fits, strict=True) if fit]
    if m.reads is not None and of is not None:
        m.reads += [of.thunks[label] for _, label in kept if label in of.thunks]
    return ListValue(tuple(i for i, _ in kept), tuple(label for _, label in kept))
