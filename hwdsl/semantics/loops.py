"""`iterate`: states, what follows them, when it ends."""

from __future__ import annotations

from hwdsl.base.source import Span
from hwdsl.semantics.blocks import bind_lets, force_local
from hwdsl.semantics.expressions import condition, infer, iterated, require
from hwdsl.semantics.scopes import duplicate, unique
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import Int, ListType, ResultType, Type
from hwdsl.semantics.type_relations import BOOL, INT, is_assignable
from hwdsl.semantics.typeexprs import resolve_type
from hwdsl.syntax import ast


def iterate_type(
    state: CheckerState, env: TypeEnv, node: ast.Iterate, expected: Type | None
) -> Type:
    """The type of an `iterate`'s result."""
    type_ = iterated(state, env, node.range, "`iterate`")
    if not is_assignable(type_, INT):
        state.error(
            "type-mismatch",
            "`iterate` counts through a range of ints",
            node.range.span,
            help="write `iterate n in 1 .. last { … }`",
        )
    states = _states(state, env, node)
    inner = env.bind(node.variable, INT)
    for member in node.members:
        if isinstance(member, ast.State):
            inner = inner.bind(member.name, states[member.name.name])
    _rounds(state, inner, node, states)
    traces = tuple((name, ListType(type_)) for name, type_ in states.items())
    fields = (
        *states.items(),
        ("rounds", INT),
        ("settled", BOOL),
        ("trace", ResultType(traces, "trace")),
    )
    return ResultType(fields, "result of `iterate`")


def _states(state: CheckerState, env: TypeEnv, node: ast.Iterate) -> dict[str, Type]:
    states: dict[str, Type] = {}
    seen = {node.variable.name: node.variable.span}
    for member in node.members:
        if not isinstance(member, ast.State):
            continue
        name = member.name.name
        type_ = resolve_type(state, env, member.type)
        require(state, env, member.initial, type_, f"`{name}`", member.type.span)
        if unique(state, seen, member.name) and name in ("rounds", "settled", "trace"):
            state.error(
                "reserved-name",
                f"the result of `iterate` has a `{name}` of its own",
                member.name.span,
            )
        states.setdefault(name, type_)
    return states


def _rounds(state: CheckerState, env: TypeEnv, node: ast.Iterate, states: dict[str, Type]) -> None:
    """Check the body of a round."""
    given: dict[str, Span] = {}
    whole: set[str] = set()
    lets = [m for m in node.members if isinstance(m, ast.Let)]
    own = [node.variable, *(m.name for m in node.members if isinstance(m, ast.State))]
    env = bind_lets(state, env, lets, {i.name: i.span for i in own})
    for member in node.members:
        if isinstance(member, ast.Let):
            force_local(state, env, member.name.name)
        elif isinstance(member, ast.Until):
            condition(state, env, member.condition, "the condition of `until`")
        elif isinstance(member, ast.Next):
            _next(state, env, member, states, given, whole)


def _next(
    state: CheckerState,
    env: TypeEnv,
    node: ast.Next,
    states: dict[str, Type],
    given: dict[str, Span],
    whole: set[str],
) -> None:
    name = node.name.name
    wanted = states.get(name)
    if wanted is None:
        state.unknown("unknown-name", "state", name, node.name.span, states)
        infer(state, env, node.value)
        return
    # Elements may be replaced one by one, but not beside the whole.
    if name in given and (node.index is None or name in whole):
        duplicate(state, name, node.name, given[name])
    given.setdefault(name, node.name.span)
    if node.index is None:
        whole.add(name)
    else:
        require(state, env, node.index, Int(), "an index")
        if isinstance(wanted, ListType):
            wanted = wanted.element
        else:
            state.error("type-mismatch", f"`{name}` is no list", node.name.span)
            return
    require(state, env, node.value, wanted, f"`{name}`")
