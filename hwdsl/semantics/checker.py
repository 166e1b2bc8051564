"""The check of a whole program, stage by stage."""

from __future__ import annotations

from hwdsl.diagnostics import Diagnostics
from hwdsl.semantics import calls, loops
from hwdsl.semantics.declare import declare_module, link_kinds
from hwdsl.semantics.definitions import check_bodies, put_off_bodies
from hwdsl.semantics.modules import Modules
from hwdsl.semantics.recursion import check_recursion
from hwdsl.semantics.scopes import open_scope
from hwdsl.semantics.signatures import sign_module
from hwdsl.semantics.state import CheckedProgram, State
from hwdsl.semantics.symbols import Checked, KindInfo, ModuleScope

assert calls and loops  # imported for the handlers they register


def check(modules: Modules, diagnostics: Diagnostics) -> Checked:
    """Check every definition of every module; findings go to `diagnostics`."""
    component = KindInfo("component", "component", None, None, None)
    empty = ModuleScope("", next(iter(modules.loaded.values())).tree)
    state = State(diagnostics, CheckedProgram(empty, {}, component))
    scopes = state.checked.modules
    for name, loaded in modules.loaded.items():
        scope = open_scope(state, loaded, scopes)
        scopes[name] = scope
        declare_module(state, scope, loaded)
        link_kinds(state, scope)
        sign_module(state, scope)
        put_off_bodies(state, scope)
    for scope in scopes.values():
        check_bodies(state, scope)
    state.settle()
    check_recursion(state)
    state.checked.main = scopes[modules.main]
    return state.checked
