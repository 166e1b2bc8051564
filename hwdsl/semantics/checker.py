"""The check of a whole program, stage by stage."""

from __future__ import annotations

import sys

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics import check_stamps
from hwdsl.semantics.calls import call_type
from hwdsl.semantics.citations import check_citations
from hwdsl.semantics.cycle_check import check_recursion
from hwdsl.semantics.declare import declare_module, link_kinds
from hwdsl.semantics.definitions import check_bodies, check_bodies_later, defer_bodies
from hwdsl.semantics.expressions import HANDLERS
from hwdsl.semantics.loops import iterate_type
from hwdsl.semantics.match_exhaustiveness import is_type, match_type
from hwdsl.semantics.modules import Modules
from hwdsl.semantics.scopes import open_scope
from hwdsl.semantics.signatures import sign_module
from hwdsl.semantics.state import CheckerState
from hwdsl.semantics.symbols import Checked, KindInfo, ModuleScope
from hwdsl.semantics.unused import check_unused
from hwdsl.semantics.waivers import check_waivers
from hwdsl.syntax import ast

HANDLERS[ast.Call] = call_type
HANDLERS[ast.Iterate] = iterate_type
HANDLERS[ast.Match] = match_type
HANDLERS[ast.Is] = is_type

UNREAD = ("syntax-error", "unclosed-bracket", "too-deep", "unknown-character")
"""Findings of the parser after which a file may lack some of what it declares."""
_FRAMES = 30_000


def check(modules: Modules, diagnostics: Diagnostics) -> Checked:
    """Check every definition of every module; findings go to `diagnostics`."""
    limit = sys.getrecursionlimit()
    # Lets that need each other in a long chain are typed by calls within calls; `infer` stops
    # them with a finding well before this limit.
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        return _check(modules, diagnostics)
    finally:
        sys.setrecursionlimit(limit)


def _check(modules: Modules, diagnostics: Diagnostics) -> Checked:
    component = KindInfo("component", "component", None, None, None)
    empty = ModuleScope("", next(iter(modules.loaded.values())).tree)
    checked = Checked(empty, {}, component, inputs=modules.inputs)
    state = CheckerState(diagnostics, checked)
    state.misread.update(
        (d.span.source.name, d.span.start)
        for d in diagnostics.items
        if d.span is not None and d.name in ("bad-number", "syntax-error")
    )
    for item in diagnostics.items:
        if item.span is not None and item.name in UNREAD:
            state.unread.setdefault(item.span.source.name, []).append(item.span.start)
    state.incomplete.update(state.unread)
    scopes = state.checked.modules
    # Modules stand after those they use, whose names and signatures are known by then. Bodies come
    # last: what they read may be declared further below.
    for name, loaded in modules.loaded.items():
        scope = open_scope(state, loaded, scopes)
        scopes[name] = scope
        declare_module(state, scope, loaded)
        link_kinds(state, scope)
        sign_module(state, scope)
        defer_bodies(state, scope)
    named = check_stamps.names(modules)
    clean = check_stamps.unchanged_since_check(modules, named)
    for name, scope in scopes.items():
        (check_bodies_later if name in clean else check_bodies)(state, scope)
        if name not in clean:
            check_citations(state, scope)
    state.force_all(but=[scopes[name] for name in clean])
    check_recursion(state)
    for name, scope in scopes.items():
        if name not in clean and not diagnostics.failed:  # an error may hide what reads a name
            check_unused(state, modules.loaded[name], scope)
    check_waivers(state)  # takes back warnings, so that all of them must have been given
    check_stamps.stamp(modules, named, clean, diagnostics)
    state.checked.main = scopes[modules.main]
    return state.checked
