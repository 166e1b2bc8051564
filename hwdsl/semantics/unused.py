"""What nothing reads: imported names, `let`s of evaluators, functions and blocks, private names.

A public name at the top of a file is an export and always read; so is a component, whose rules are
asked for, and a `let` that holds one.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from hwdsl.semantics.modules import Loaded
from hwdsl.semantics.name_resolution import is_parts
from hwdsl.semantics.state import CheckerState
from hwdsl.semantics.symbols import (
    Builtin,
    Case,
    EnclosingRecord,
    Local,
    MemberOf,
    ModuleScope,
)
from hwdsl.semantics.type_relations import innermost, kind_of
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children

_NOT_GLOBAL = (Builtin, Case, EnclosingRecord, Local, MemberOf)
_PRIVATE = (
    ast.Calibrated, ast.Dimension, ast.Enum, ast.Fn, ast.Kind, ast.Let, ast.TypeAlias, ast.UnitDecl,
)  # fmt: skip
_BLOCKS = (ast.Evaluator, ast.Fn, ast.Claim, ast.Iterate, ast.With, ast.Part, ast.Amend)
_READ_NOTHING = (ast.Ident, ast.Number, ast.Text, ast.Use, ast.Assume)
"""Told first: these are most nodes, and this walk takes a good part of the check of a module."""
_WITH_PATHS = (
    ast.TypeName, ast.TypeRef, ast.Pattern, ast.Part, ast.Kind, ast.Allow, ast.Attr, ast.Citation,
)  # fmt: skip


@define
class _Read:
    """Names that a text reads: of the module or what it imports, of units, of variables."""

    module: set[str] = field(factory=set)
    units: set[str] = field(factory=set)
    local: set[str] = field(factory=set)
    unread: list[ast.Let] = field(factory=list)


def check_unused(state: CheckerState, loaded: Loaded, scope: ModuleScope) -> None:
    """Warn of what nothing in a module reads."""
    read = _Read()
    shown = _Read()  # what figures and tables read, of evaluators too
    for item in loaded.tree.items:
        if isinstance(item, ast.Display):
            _walk(state, item, shown)
    read.module |= shown.module
    for item in loaded.tree.items:
        _walk(state, item, read)
    for let in read.unread:
        if let.name.name not in shown.module | shown.local and not _holds_record(state, let):
            remedy = "remove it, or say why it stays: `allow unused_let"
            _warn(state, "unused-let", f"nothing reads `{let.name.name}`", let.name, remedy)
    for item in loaded.tree.items:
        if isinstance(item, ast.Use):
            _check_use(state, loaded, scope, item, read)
        elif isinstance(item, _PRIVATE) and item.name.name.startswith("_"):
            units = {p.name + item.name.name for p in getattr(item, "prefixes", ())}
            if not ({item.name.name} | units) & (read.module | read.units):
                message = f"nothing reads `{item.name.name}`, which no other file can import"
                remedy = "remove it, or say why it stays: `allow unused_private"
                _warn(state, "unused-private", message, item.name, remedy)


def _warn(state: CheckerState, name: str, message: str, at: ast.Node, remedy: str) -> None:
    state.diagnostics.warning(name, message, at.span, help=f'{remedy} "the reason"`')


def _holds_record(state: CheckerState, let: ast.Let) -> bool:
    """Whether a value is or holds a component, whose rules are asked for."""
    type_ = state.checked.types.get(let.value)
    return type_ is None or kind_of(innermost(type_)) is not None


# --- imports -------------------------------------------------------------------------------------


def _check_use(
    state: CheckerState, loaded: Loaded, scope: ModuleScope, use: ast.Use, read: _Read
) -> None:
    """Warn of the names of a `use` that nothing reads, or of all of it."""
    alias = (use.alias or use.path[-1]).name if use.path or use.alias else ""
    module = state.checked.modules.get(loaded.modules.get(use, ""))
    if use.file is not None:
        read_at_all = use not in loaded.tables or not alias or alias in read.module
    elif module is None:
        return
    elif alias in read.module and alias in scope.namespaces:
        read_at_all = True
    elif use.names is not None:
        unread = [n for n in use.names if not _is_read(state, module, n.name, read)]
        read_at_all = len(unread) < len(use.names)
        for name in unread if read_at_all else ():
            _warn_use(state, f"nothing reads `{name.name}`", name)
    else:
        names = {*module.values, *module.types, *module.references}
        read_at_all = bool(names & read.module or set(module.units) & read.units)
    if not read_at_all:
        _warn_use(state, f"nothing reads what `{use.span.text}` brings", use)


def _warn_use(state: CheckerState, message: str, at: ast.Node) -> None:
    remedy = "remove it, or say why it stays: `allow unused_use"
    _warn(state, "unused-use", message, at, remedy)


def _is_read(state: CheckerState, module: ModuleScope, name: str, read: _Read) -> bool:
    """Whether a name from a module is read, as a unit with any prefix; also if there is none."""
    units = set(state.extras[module].families.get(name, (name,)))
    named = {*module.values, *module.types, *module.references, *module.units}
    known = name in named or units & set(module.units)
    return not known or name in read.module or bool(units & read.units)


# --- what is read --------------------------------------------------------------------------------


def _walk(state: CheckerState, node: ast.Node, read: _Read) -> None:
    """Note the names that a node and all in it read, and the lets that nothing reads."""
    if isinstance(node, ast.Name):
        found = state.checked.resolutions.get(node)
        if not isinstance(found, _NOT_GLOBAL):
            read.module.add(node.name)
        if found is None or isinstance(found, Local):
            read.local.add(node.name)
        return
    if isinstance(node, ast.UnitFactor):
        read.units.add(node.name)
        return
    if isinstance(node, _READ_NOTHING):
        return
    # A name read in a block counts for the lets of that block and of those around it: which of
    # them it means is not asked, as a let that is read must never be called unread.
    inner = (
        _Read(read.module, read.units, set(), read.unread) if isinstance(node, _BLOCKS) else read
    )
    for child in children(node):
        _walk(state, child, inner)
    if isinstance(node, _BLOCKS):
        lets = node.lets if isinstance(node, ast.Fn) else node.members
        read.unread += [
            m for m in lets if isinstance(m, ast.Let) and m.name.name not in inner.local
        ]
        read.local |= inner.local
    if isinstance(node, _WITH_PATHS):
        read.module.update(_paths(node))


def _paths(node: ast.Node) -> Iterator[str]:
    """The names of the module that a node reads by itself."""
    if isinstance(node, ast.TypeName | ast.TypeRef | ast.Pattern) and node.path:
        yield node.path[0].name
    elif isinstance(node, ast.Part):
        yield node.kind.name
    elif isinstance(node, ast.Allow):
        yield from (ident.name for ident in node.path)
    elif isinstance(node, ast.Citation) and node.reference is not None:
        yield node.reference.name
    elif isinstance(node, ast.Attr) and is_parts(node.base):
        yield node.name.name
    if isinstance(node, ast.Part | ast.Kind) and node.base:
        yield node.base[0].name
