"""What an unknown name could be imported from: modules of the library, by what they declare."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics.modules import PRELUDES, library_root, library_tree
from hwdsl.syntax import ast

# Studies are programs to run, and have names of everyday words.
_FOLDERS = ("std", "vendor")
_MOST = 3
_MEANT: dict[str, tuple[type, ...]] = {
    "unknown-kind": (ast.Kind,),
    "unknown-type": (ast.Dimension, ast.TypeAlias, ast.Enum, ast.Kind),
    "unknown-unit": (ast.UnitDecl,),
    "unknown-reference": (ast.Reference,),
    "unknown-function": (ast.Fn, ast.Kind, ast.Evaluator),
    "unknown-name": (ast.Part, ast.Let, ast.Calibrated, ast.Enum, ast.Evaluator),
}


def import_help(finding: str, name: str) -> str | None:
    """What to write so that an unknown name is known; None if the library has nothing so named."""
    found = [m for m, item in _declared().get(name, ()) if isinstance(item, _MEANT[finding])]
    return f"import it: {_uses(found, name)}" if found else None


def elsewhere_help(name: str) -> str | None:
    """What to write instead where a module does not have a name; None if no other has it."""
    found = [module for module, _ in _declared().get(name, ())]
    return f"write {_uses(found, name)}" if found else None


def _uses(modules: list[str], name: str) -> str:
    return " or ".join(f"`use {module}: {name}`" for module in modules[:_MOST])


@cache
def _declared() -> dict[str, list[tuple[str, ast.Item]]]:
    """Where each public name is declared, in the order of the modules."""
    known: dict[str, list[tuple[str, ast.Item]]] = {}
    root = library_root()
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.hw")):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            tree = library_tree(path, Diagnostics()) if module not in PRELUDES else None
            for item in tree.items if tree is not None else ():
                for name in _names(item):
                    if not name.startswith("_"):
                        known.setdefault(name, []).append((module, item))
    return known


def _names(item: ast.Item) -> Iterator[str]:
    if not isinstance(item, ast.Use | ast.Allow | ast.Basis):
        yield item.name.name
    if isinstance(item, ast.UnitDecl):
        yield from (prefix.name + item.name.name for prefix in item.prefixes)
