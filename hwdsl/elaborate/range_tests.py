"""Rules that only say what may be written: of one field, its sign or its range.

Such a rule is no reader of the field: nothing that is computed depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.values import Env
from hwdsl.semantics.symbols import Builtin, Local, MemberOf, RecordType
from hwdsl.syntax import ast
from hwdsl.syntax.tree import children


def is_range_test(m: PartialEvaluator, rule: ast.Rule, env: Env) -> bool:
    """Whether a rule of a component compares one field with constants: its sign, its range.

    Such a rule says what may be written, and is no use of what is written.
    """
    if m.reads is None or not env.records:
        return False
    first: str | None = None
    for read in _numbers_read(m, rule.condition, env):
        if read is None or (first is not None and read != first):
            return False
        first = read
    return True


def _numbers_read(m: PartialEvaluator, expr: ast.Node, env: Env) -> Iterator[str | None]:
    """The fields of the record that an expression reads, by their texts; None for what computes
    with others: a derived member, a variable, a function of the library or a method."""
    if isinstance(expr, ast.Name):
        noted = m.checked.resolutions.get(expr)
        if isinstance(noted, MemberOf):
            info = env.records[noted.level].kind.member(noted.name)
            yield noted.name if info is None or info.role == "field" else None
        elif isinstance(noted, Local):
            yield None
        return
    if isinstance(expr, ast.Attr):
        noted = m.checked.resolutions.get(expr)
        base = m.checked.types.get(expr.base)
        if noted is not None:
            return
        if isinstance(base, RecordType):
            info = base.kind.member(expr.name.name)
            yield expr.span.text if info is None or info.role == "field" else None
        else:
            yield None
        return
    if isinstance(expr, ast.Call):
        noted = m.checked.resolutions.get(expr.function)
        if not isinstance(noted, Builtin):
            yield None
            return
        for argument in expr.arguments:
            yield from _numbers_read(m, argument.value, env)
        return
    for child in children(expr):
        yield from _numbers_read(m, child, env)
