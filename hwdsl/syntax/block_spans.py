"""Where the blocks in a statement stand, whose comments stay with them."""

from hwdsl.syntax import ast
from hwdsl.syntax.tree import children


def block_spans(node: ast.Node) -> list[tuple[int, int]]:
    """Return the ranges of the blocks in a statement, whose comments stay with them."""
    found: list[tuple[int, int]] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        before = _before(one)
        if before is not None:
            found.append((before.span.end, one.span.end))
        waiting.extend(children(one))
    return found


def _before(node: ast.Node) -> ast.Node | None:
    """Return what stands before a node's block, or None if it has none."""
    match node:
        case ast.With(base=before) | ast.Match(subject=before) | ast.Iterate(range=before):
            return before
        case ast.Fn(result=before):
            return before
        case ast.Kind(name=name, base=base):
            return base[-1] if base else name
        case ast.Part(name=name, count=count, base=base):
            return base[-1] if base else count or name
        case ast.Amend(path=path):
            return path[-1]
        case ast.Enum() | ast.Evaluator() | ast.Claim() | ast.Display():
            return node.name
        case _:
            return None
