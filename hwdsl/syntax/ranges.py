"""Ranges of fields and params: the rules that they state.

The stages behind the parser know no ranges of fields: each is the rule of the field's name that a
text could also write by `require`. The range of a param bounds what it may be given; the ends that
it excludes are a rule.
"""

from __future__ import annotations

from hwdsl.syntax import ast

CLOSED = ".."
WORDS = {
    "..": ("at least", "at most"),
    "<..": ("above", "at most"),
    "..<": ("at least", "below"),
    "<..<": ("above", "below"),
}
"""The operators of ranges: where a value must lie of the low and of the high end."""
_SIGNS = {"at least": "<=", "at most": "<=", "above": "<", "below": "<"}


def ends(node: ast.Expr | None) -> tuple[ast.Expr, ast.Expr] | None:
    """The ends of `low .. high`, either of them excluded or not; None of anything else."""
    return (node.left, node.right) if isinstance(node, ast.Binary) and node.op in WORDS else None


def is_infinite(end: ast.Expr) -> bool:
    """Whether an end is written as `inf`, with or without a sign."""
    bare = end.operand if isinstance(end, ast.Unary) else end
    return isinstance(bare, ast.Name) and bare.name == "inf"


def no_value(node: ast.Expr, low: float, high: float) -> tuple[str, str] | None:
    """Why no value lies between the ends of a range, and the help; None if one does."""
    assert isinstance(node, ast.Binary)
    if low == high and node.op != CLOSED:
        return "contains no value", f"its ends are the same: `{CLOSED}` includes both"
    if low <= high:
        return None
    # Read from behind, an operator excludes the same ends.
    ordered = (node.right.span.text, node.op[::-1], node.left.span.text)
    shown = " ".join(" ".join(ordered).split())
    return "ends before it starts", f"the lower end comes first: `{shown}`"


def is_range_rule(rule: ast.Rule) -> bool:
    """Whether a rule is that of a range: the field in it stands where the field is declared."""
    condition = rule.condition
    operands = condition.operands if isinstance(condition, ast.Compare) else ()
    return any(operand.span == rule.name.span for operand in operands)


def range_rule(node: ast.Field | ast.Param) -> ast.Rule | None:
    """The rule that a range states; None if there is no range, or nothing that a rule must say.

    The rule is new at each call, and tables are keyed by node: the checker keeps the one it types.
    """
    given = node.range
    bounds = ends(given)
    if bounds is None or not isinstance(given, ast.Binary):
        return None
    value = ast.Name(node.name.span, node.name.name)
    operands: list[ast.Expr] = [value]
    signs: list[str] = []
    text: list[str | ast.Hole] = [f"`{node.name.name}` is ", ast.Hole(value.span, value, None)]
    for word, end in zip(WORDS[given.op], bounds, strict=True):
        excluded = _SIGNS[word] == "<"
        # An end that is no bound is left out: the comparison would be an operation of each point.
        if excluded or (isinstance(node, ast.Field) and not _is_no_bound(end, end is bounds[0])):
            text += [" and " if signs else "; it must be ", f"{word} ", *_shown(end)]
            place = 0 if end is bounds[0] else len(operands)
            operands.insert(place, end)
            signs.insert(place, _SIGNS[word])
    if not signs:
        return None
    condition = ast.Compare(given.span, tuple(operands), tuple(signs))
    message = ast.Template(given.span, tuple(text))
    return ast.Rule(node.span, node.name, False, condition, message, _help(node), None, node.doc)


def _is_no_bound(end: ast.Expr, low: bool) -> bool:
    """Whether an end is `-inf` at the low end, or `inf` at the high one."""
    negative = isinstance(end, ast.Unary) and end.op == "-"
    return is_infinite(end) and negative == low


def _shown(end: ast.Expr) -> list[str | ast.Hole]:
    """An end in a message: as written, and with its value if it follows from something."""
    text = " ".join(end.span.text.split())
    literal = end.operand if isinstance(end, ast.Unary) else end
    if isinstance(literal, ast.Number | ast.Quantity) or is_infinite(end):
        return [text]
    return [f"`{text}`, which is ", ast.Hole(end.span, end, None)]


def _help(node: ast.Field | ast.Param) -> ast.Template | None:
    """What the field is, which its documentation says."""
    text = " ".join(node.doc.split("\n\n")[0].split()).removesuffix(".")
    return ast.Template(node.span, (f"`{node.name.name}`: {text}",)) if text else None
