"""The comments of a file as the formatter comes by them."""

from collections.abc import Iterator

from hwdsl.syntax import ast
from hwdsl.syntax.layout import StatementRow
from hwdsl.syntax.tree import children


class CommentQueue:
    """The comments not yet written, which are taken in order."""

    def __init__(self, module: ast.Module) -> None:
        self.origin = module.source
        self.comments = sorted(module.comments, key=lambda c: c.start)
        self.next = 0
        self.last = 0  # where what was written last stands in the source

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment not yet written stands in a range."""
        return any(start <= c.start < end for c in self.comments[self.next :])

    def commented(self, owner: ast.Node) -> bool:
        """Whether a comment not yet written stands in a node's block."""
        return self.has_comment(block_start(owner) or owner.span.start, owner.span.end)

    def take_trailing(self, end: int, limit: int) -> str:
        """Take the comment behind a statement on its line, if there is one before `limit`."""
        if self.next < len(self.comments):
            comment = self.comments[self.next]
            between = self.origin.text[end : comment.start]
            if not comment.own_line and end <= comment.start < limit and "\n" not in between:
                self.next += 1
                self.last = comment.start + len(comment.text)
                return comment.text
        return ""

    def gap(self, start: int) -> bool:
        """Whether an empty line stands between what was written last and an offset."""
        return self.origin.text.count("\n", self.last, max(start, self.last)) > 1

    def put_comments(self, before: int, row: StatementRow) -> list[ast.Comment]:
        """Put the comments that start before an offset on lines of their own; return them."""
        first = self.next
        while self.next < len(self.comments) and self.comments[self.next].start < before:
            comment = self.comments[self.next]
            self.next += 1
            if self.gap(comment.start):
                row.leading.append("")
            row.leading.append(comment.text)
            self.last = comment.start + len(comment.text)
        return self.comments[first : self.next]

    def lead(self, node: ast.Node, row: StatementRow) -> None:
        """Put the comments before a node, and its documentation, on lines of their own."""
        comments = self.put_comments(node.span.start, row)
        documented = any(c.own_line and c.text.startswith("##") for c in comments)
        if self.gap(node.span.start):
            row.leading.append("")
        doc = str(getattr(node, "doc", ""))
        if doc and not documented:
            row.leading += [f"## {line}".rstrip() for line in doc.split("\n")]
        self.last = max(self.last, node.span.start)

    def inner_comments(self, node: ast.Node, row: StatementRow) -> None:
        """Take the comments inside a statement's brackets and put them before it.

        Those inside its blocks stay for the blocks. One that would turn into documentation loses a
        `#`.
        """
        if not self.has_comment(node.span.start, node.span.end):
            return
        blocks = list(block_spans(node))
        kept = []
        for comment in self.comments[self.next :]:
            inside = node.span.start < comment.start < node.span.end
            if inside and not any(start < comment.start < end for start, end in blocks):
                text = comment.text
                row.leading.append(text[1:] if text.startswith("##") else text)
            else:
                kept.append(comment)
        self.comments[self.next :] = kept


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
