"""`match` and `is`: patterns, what they cover, what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

from hwdsl.base.source import Span
from hwdsl.semantics.expressions import branches, infer
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import CaseArms, EnumType, Int, Type
from hwdsl.semantics.type_errors import unfit
from hwdsl.semantics.type_relations import BOOL, is_poison
from hwdsl.syntax import ast


def match_type(state: CheckerState, env: TypeEnv, node: ast.Match, expected: Type | None) -> Type:
    """The type of a `match`, whose arms must cover every case once."""
    subject = _subject(state, env, node.subject, "`match`")
    _exhaustive(state, node, subject)
    return branches(state, env, [a.value for a in node.arms], expected, "the arms of `match`")


def is_type(state: CheckerState, env: TypeEnv, node: ast.Is, expected: Type | None) -> Type:
    """The type of `is`, which must leave a case out."""
    subject = _subject(state, env, node.subject, "`is`")
    seen = _covered(state, [node.patterns], subject)
    if isinstance(subject, EnumType):
        cases = subject.enum.cases
        # As of `match x { patterns => true, else => false }`.
        state.resolve(node, CaseArms(tuple(0 if c in seen else 1 for c in range(len(cases)))))
        if len(seen) == len(cases):
            state.error(
                "always-true",
                f"this is always true: `{subject}` has no other case",
                node.span,
                help="leave out the test, or a case",
            )
    return BOOL


def _subject(state: CheckerState, env: TypeEnv, subject: ast.Expr, what: str) -> Type:
    """The type of what is matched."""
    type_ = infer(state, env, subject)
    if isinstance(type_, EnumType | Int):
        return type_
    return unfit(state, env, subject, type_, f"{what} tells enum cases or ints apart")


_Covered = dict[object, tuple[int, Span]]


def _covered(state: CheckerState, arms: Sequence[Sequence[ast.Pattern]], subject: Type) -> _Covered:
    """What the patterns of the arms match, with the first arm and pattern that does."""
    seen: _Covered = {}
    for i, arm in enumerate(arms):
        for pattern in arm:
            key = _pattern(state, pattern, subject)
            if key is None:
                continue
            if key in seen or "else" in seen:
                _, before = seen.get(key) or seen["else"]
                state.error(
                    "unreachable-arm",
                    "this pattern is never reached",
                    pattern.span,
                    others=[(before, "this one comes first")],
                )
            seen.setdefault(key, (i, pattern.span))
    return seen


def _exhaustive(state: CheckerState, node: ast.Match, subject: Type) -> None:
    """Check that every case has an arm, and note which."""
    seen = _covered(state, [arm.patterns for arm in node.arms], subject)
    if isinstance(subject, EnumType):
        cases = subject.enum.cases
        found = [seen.get(c) or seen.get("else") for c in range(len(cases))]
        state.resolve(node, CaseArms(tuple(taken[0] for taken in found if taken is not None)))
        what = ", ".join(f"`{c}`" for i, c in enumerate(cases) if i not in seen)
    else:
        what = "all other ints"
    if what and "else" not in seen and not is_poison(subject):
        state.error(
            "not-exhaustive",
            f"`match` says nothing of {what}",
            node.span,
            help="add an arm for each, or `else => …`",
        )


def _pattern(state: CheckerState, pattern: ast.Pattern, subject: Type) -> object:
    """What a pattern matches: the index of a case, a number, `"else"`; None if it is in error."""
    if pattern.path is None and pattern.number is None:
        return "else"
    if is_poison(subject):
        return None
    if pattern.number is not None:
        if isinstance(subject, Int):
            value = exact(pattern.number)
            if value is not None and value.denominator == 1:
                return ("int", value)
            state.error("int-from-real", "an int never is this number", pattern.span)
            return None
        state.error(
            "type-mismatch",
            f"a number is no case of `{subject}`",
            pattern.span,
            help="name the case",
        )
        return None
    assert pattern.path is not None
    last = pattern.path[-1]
    if isinstance(subject, EnumType):
        if last.name in subject.enum.cases:
            return subject.enum.cases.index(last.name)
        known = subject.enum.cases
        state.unknown("unknown-name", f"case of `{subject}`:", last.name, last.span, known)
        return None
    state.error("type-mismatch", "an int is matched by literal numbers", pattern.span)
    return None
