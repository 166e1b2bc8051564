"""Recursion is an error: functions call each other, and kinds hold each other, without circles."""

from __future__ import annotations

from hwdsl.base.source import Span
from hwdsl.semantics.state import CheckerState
from hwdsl.semantics.symbols import ComponentInfo, Symbol, TableInfo, ValueInfo


def check_recursion(state: CheckerState) -> None:
    """Report each circle of definitions once."""
    done: set[Symbol] = set()
    for start in list(state.calls):
        if start not in done:
            _visit(state, start, done)


def _visit(state: CheckerState, start: Symbol, done: set[Symbol]) -> None:
    """A depth-first search with a stack of its own: user text sets its depth."""
    path: list[Symbol] = [start]
    on_path = {start}
    pending = [iter(state.calls.get(start, {}).items())]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            symbol = path.pop()
            on_path.discard(symbol)
            done.add(symbol)
            continue
        callee, span = step
        if callee in on_path:
            _report(state, path[path.index(callee) :], span)
        elif callee not in done:
            path.append(callee)
            on_path.add(callee)
            pending.append(iter(state.calls.get(callee, {}).items()))


def _report(state: CheckerState, circle: list[Symbol], span: Span) -> None:
    if all(isinstance(s, ValueInfo | ComponentInfo) for s in circle):
        return  # components may read fields of each other; a circle of fields is found by value
    if any(s in state.circular for s in circle):
        return
    names = [s.name for s in circle]
    others = [
        (s.decl.name.span, f"`{s.name}` is declared here")
        for s in circle
        if not isinstance(s, TableInfo) and s.decl is not None
    ]
    state.error(
        "call-cycle",
        "definitions need each other: " + " -> ".join([*names, names[0]]),
        span,
        f"this leads back to `{names[0]}`",
        others=others,
        help="use a bounded loop (`iterate`, or a list with `for`) instead",
    )
