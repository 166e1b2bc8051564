"""Where the blocks in a statement stand, whose comments stay with them."""

from collections.abc import Iterator

from hwdsl.syntax import ast
from hwdsl.syntax.tree import children


def block_spans(node: ast.Node) -> Iterator[tuple[int, int]]:
    """The ranges of the blocks in a statement, whose comments stay with them."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        start = block_start(one)
        if start is not None:
            yield start, one.span.end
        waiting.extend(children(one))


def block_start(node: ast.Node) -> int | None:
    """Where what stands before a node's block ends; None if it has no block."""
    match node:
        case ast.With(base=before) | ast.Match(subject=before) | ast.Iterate(range=before):
            return before.span.end
        case ast.Fn(result=before):
            return before.span.end
        case ast.Kind(name=name, base=base):
            return (base[-1] if base else name).span.end
        case ast.Part(name=name, count=count, base=base):
            return (base[-1] if base else count or name).span.end
        case ast.Amend(path=path):
            return path[-1].span.end
        case ast.Enum() | ast.Evaluator() | ast.Claim() | ast.Display():
            return node.name.span.end
        case _:
            return None
