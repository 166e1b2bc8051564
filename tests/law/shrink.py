"""A smaller program that still shows a disagreement: pieces are left out or made simpler, in turn.

Works on the text by the spans of its tree, so that it takes any file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse
from hwdsl.syntax.tree import children

from .programs import MAIN

Files = Mapping[str, str]

_LEAVES = ("1", "0", "true", "false", "[1]", "1 B", "1 s")
_GROUPS = (ast.Field, ast.Assign, ast.Amend, ast.Let, ast.Rule, ast.Sources, ast.Allow,
           ast.Part, ast.Fn, ast.State, ast.Next, ast.Until, ast.Param, ast.Choice, ast.Output,
           ast.Expect, ast.Assume, ast.Use, ast.Dimension, ast.UnitDecl, ast.TypeAlias, ast.Enum,
           ast.Kind, ast.Evaluator, ast.Claim, ast.Calibrated, ast.Display, ast.Arm,
           ast.Generator, ast.Argument)  # fmt: skip


def shrink(files: Files, fails: Callable[[Files], bool], *, seconds: float = 20.0) -> Files:
    """The smallest program found in the time for which `fails` still holds."""
    best, end = dict(files), time.process_time() + seconds
    progress = True
    while progress and time.process_time() < end:
        progress = False
        for text in _smaller(best[MAIN]):
            if time.process_time() > end:
                break
            trial = {**best, MAIN: text}
            if fails(trial):
                best, progress = trial, True
                break
    return best


def _smaller(text: str) -> Iterator[str]:
    """Texts with less in them, the largest steps first."""
    tree = parse(Source(MAIN, text), Diagnostics())
    found = sorted(nodes(tree), key=lambda n: n.span.start - n.span.end)
    for node in found:
        if isinstance(node, _GROUPS):
            yield _without(text, node.span.start, node.span.end)
    for node in found:
        start, end = node.span.start, node.span.end
        if not isinstance(node, ast.Expr) or not text[start:end].strip():
            continue
        for leaf in _LEAVES:
            if len(leaf) < end - start:
                yield text[:start] + leaf + text[end:]
        for inner in nodes(node):
            if inner is not node and isinstance(inner, ast.Expr):
                piece = text[inner.span.start : inner.span.end]
                yield f"{text[:start]}({piece}){text[end:]}"
    for k in range(len(text)):  # brackets that are not needed
        if text[k] == "(":
            close = _partner(text, k)
            if close:
                yield text[:k] + text[k + 1 : close] + text[close + 1 :]


def _partner(text: str, at: int) -> int:
    depth = 0
    for k in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if depth == 0:
            return k
    return 0


def _without(text: str, start: int, end: int) -> str:
    """The text without a stretch and the separator behind it, or before it."""
    after = text[end:].lstrip(" ")
    if after[:1] in (",", "|"):
        return text[:start] + after[1:]
    before = text[:start].rstrip(" ")
    if before[-1:] in (",", "|"):
        return before[:-1] + text[end:]
    return text[:start] + after.removeprefix("\n")


def nodes(tree: object) -> Iterator[ast.Node]:
    """All nodes below one, and it."""
    if isinstance(tree, ast.Module):
        tree = tree.items
    if isinstance(tree, tuple | list):
        for item in tree:
            yield from nodes(item)
    elif isinstance(tree, ast.Node):
        yield tree
        for child in children(tree):
            yield from nodes(child)
