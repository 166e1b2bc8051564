"""Ranges of fields and params: the rules that they state.

A range is nothing that the stages behind the parser know: a field's is the rule of the field's name
that a text could also write by `require`. Of a param's range, whose ends `ParamInfo` has, only the
ends that it excludes are a rule.
"""

from __future__ import annotations

from hwdsl.syntax import ast

CLOSED = ".."
WORDS = {"..": ("at least", "at most"), "<..": ("above", "at most"), "..<": ("at least", "below"),
         "<..<": ("above", "below")}  # fmt: skip
"""The operators of ranges: how a value must lie to the low and to the high end."""
_SIGNS = {"at least": "<=", "at most": "<=", "above": "<", "below": "<"}


def ends(node: ast.Expr | None) -> tuple[ast.Expr, ast.Expr] | None:
    """The ends of `low .. high`, either of them excluded or not; None of anything else."""
    return (node.left, node.right) if isinstance(node, ast.Binary) and node.op in WORDS else None


def is_infinite(node: ast.Expr) -> bool:
    """Whether an end is written as `inf`, with or without a sign."""
    bare = node.operand if isinstance(node, ast.Unary) else node
    return isinstance(bare, ast.Name) and bare.name == "inf"


def range_rule(node: ast.Field | ast.Param) -> ast.Rule | None:
    """The rule that a range states; None if there is no range, or nothing that a rule must say.

    The rule is new at each call, and tables are keyed by node: ask once, or for the text alone.
    """
    given = node.range
    if not isinstance(given, ast.Binary) or given.op not in WORDS:
        return None
    below, above = WORDS[given.op]
    # To compare with an infinite end that is not excluded would cost an operation for nothing.
    asked = [
        word in ("above", "below") or isinstance(node, ast.Field) and not is_infinite(end)
        for word, end in ((below, given.left), (above, given.right))
    ]
    if not any(asked):
        return None
    value = ast.Name(node.name.span, node.name.name)
    low = [(given.left, _SIGNS[below])] * asked[0]
    high = [(_SIGNS[above], given.right)] * asked[1]
    condition = ast.Compare(
        given.span,
        (*(end for end, _ in low), value, *(end for _, end in high)),
        (*(sign for _, sign in low), *(sign for sign, _ in high)),
    )
    wanted: list[str | ast.Hole] = [f"`{node.name.name}` is ", ast.Hole(value.span, value, None)]
    joint = "; it must be "
    for word, end, one in zip((below, above), (given.left, given.right), asked, strict=True):
        if one:
            wanted += [f"{joint}{word} ", *_end(end)]
            joint = " and "
    message = ast.Template(given.span, tuple(wanted))
    return ast.Rule(node.span, node.name, False, condition, message, _help(node), None, node.doc)


def _end(end: ast.Expr) -> list[str | ast.Hole]:
    """An end in a message: as written, and if it follows from something with its value."""
    text = " ".join(end.span.text.split())
    literal = end.operand if isinstance(end, ast.Unary) else end
    if isinstance(literal, ast.Number | ast.Quantity) or is_infinite(end):
        return [text]
    return [f"`{text}`, which is ", ast.Hole(end.span, end, None)]


def _help(node: ast.Field | ast.Param) -> ast.Template | None:
    """What the field is, which its documentation says."""
    text = " ".join(node.doc.split("\n\n")[0].split()).removesuffix(".")
    return ast.Template(node.span, (f"`{node.name.name}`: {text}",)) if text else None
