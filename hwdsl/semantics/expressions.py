"""Types of expressions: literals, arithmetic, comparisons, conditions, lists."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hwdsl.base.source import Span
from hwdsl.base.units import ONE, Dim, Unit
from hwdsl.semantics.generic_numbers import settle
from hwdsl.semantics.literal_values import exact, reading
from hwdsl.semantics.scopes import may_be_case
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    BoolType,
    ComponentInfo,
    EnumType,
    Global,
    Int,
    KindInfo,
    ListType,
    Real,
    RefType,
    TextType,
    Type,
)
from hwdsl.semantics.type_errors import (
    bare_number_help,
    cannot,
    labels,
    mismatch,
    quoted_help,
    short,
    shown_help,
    unfit,
)
from hwdsl.semantics.type_relations import (
    BOOL,
    INT,
    POISON,
    REAL,
    TEXT,
    describe,
    dimension,
    element_of,
    is_assignable,
    is_generic,
    is_poison,
    join,
    kind_of,
    over,
    plain,
    times,
)
from hwdsl.semantics.typeexprs import literal_fits, literal_unit, resolve_unit
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import CLOSED, WORDS

MOST_INT = 2**53
"""Ints are kept in float64, which holds all of them below."""

Handler = Callable[[CheckerState, TypeEnv, Any, Type | None], Type]
# Deep enough for every program seen, and below what `checker._FRAMES` lets Python's stack hold.
MAX_DEPTH = 2_500
"""How many expressions within expressions are followed, through the definitions they need."""
HANDLERS: dict[type, Handler] = {}
"""How each kind of expression is typed; the other files of the checker add theirs."""


def infer(state: CheckerState, env: TypeEnv, expr: ast.Expr, expected: Type | None = None) -> Type:
    """The type of an expression, noted in `types`; `expected` only helps to read enum cases."""
    state.depth += 1
    if state.depth > MAX_DEPTH:
        type_ = state.error(
            "too-deep",
            "these definitions need each other in too long a chain",
            expr.span,
            help="state the type of a `let` on the way: `let x : real = …`",
        )
    else:
        type_ = HANDLERS[type(expr)](state, env, expr, expected)
    state.depth -= 1
    state.checked.types[expr] = type_
    return type_


def require(
    state: CheckerState,
    env: TypeEnv,
    expr: ast.Expr,
    expected: Type,
    what: str,
    declared: Span | None = None,
) -> Type:
    """Check that an expression has the type that its place asks for."""
    actual = infer(state, env, expr, expected)
    if not is_assignable(actual, expected):
        mismatch(state, env, expr, actual, expected, what, declared)
        return actual
    settle(state, env, expr, expected)
    if isinstance(expected, RefType) and _is_no_part(state, expr):
        state.error(
            "type-mismatch",
            f"{what} refers to a part, and {short(expr)} is none",
            expr.span,
            help="name a part of a record around this, or declare a field that holds a component: "
            f"`: {expected.kind.name}` instead of `: ref {expected.kind.name}`",
        )
    return actual


def _is_no_part(state: CheckerState, expr: ast.Expr) -> bool:
    """Whether an expression makes a component, or names one that stands by itself."""
    if isinstance(expr, ast.With):
        return True
    of = expr.function if isinstance(expr, ast.Call) else expr
    meaning = state.checked.resolutions.get(of)
    return isinstance(meaning, Global) and isinstance(meaning.symbol, ComponentInfo | KindInfo)


def check_default(
    state: CheckerState,
    env: TypeEnv,
    node: ast.Field | ast.Parameter | ast.Param | ast.Choice,
    type_: Type,
) -> None:
    """Check the default of a declaration, if it has one that is known."""
    if node.default is not None and not isinstance(node.default, ast.Unknown):
        what = f"the default of `{node.name.name}`"
        require(state, env, node.default, type_, what, node.type.span)


def condition(state: CheckerState, env: TypeEnv, expr: ast.Expr, what: str) -> None:
    """Check that an expression is a bool."""
    require(state, env, expr, BOOL, what)


# --- literals ----------------------------------------------------------------------------------


def _number(state: CheckerState, env: TypeEnv, node: ast.Number, expected: Type | None) -> Type:
    if (node.span.source.name, node.span.start) in state.misread:
        return POISON  # the parser has reported it; the text is no number
    literal_fits(state, node.text, None, node.span)
    value = exact(node.text)
    if node.is_int and value is not None and value >= MOST_INT:
        return state.error(
            "int-too-large",
            f"`{node.text}` is not below 2^53 (about 9e15), where ints are exact",
            node.span,
            help=f"write it as a real: `{node.text}.0`",
        )
    generic = value == 0
    return Int(generic) if node.is_int else Real(ONE, generic)


def _quantity(state: CheckerState, env: TypeEnv, node: ast.Quantity, expected: Type | None) -> Type:
    unit = literal_unit(state, env, node.unit)
    if unit is None or (node.span.source.name, node.span.start) in state.misread:
        return POISON
    literal_fits(state, node.text, unit, node.span)
    return Real(unit.dim)


# --- arithmetic --------------------------------------------------------------------------------


def _unary(state: CheckerState, env: TypeEnv, node: ast.Unary, expected: Type | None) -> Type:
    if node.op == "not":
        condition(state, env, node.operand, "the operand of `not`")
        return BOOL
    type_ = infer(state, env, node.operand)
    if isinstance(node.operand, ast.Unary) and is_reading(state, node.operand, "signed twice"):
        return POISON
    return type_ if is_poison(type_) else number(state, env, node.operand, type_, f"`{node.op}`")


def is_reading(state: CheckerState, expr: ast.Expr, done: str) -> bool:
    """Report a literal such as `5 degC` in a place where it does not stand for itself."""
    if reading(expr, state.checked.units) is None:
        return False
    state.error(
        "affine-unit",
        f"{short(expr)} is read from a scale with a zero of its own and cannot be {done}",
        expr.span,
        help="for a difference use the unit it counts in, such as K; to calculate with the "
        f"reading, give it a name first: `let x = {expr.span.text}`",
    )
    return True


def number(state: CheckerState, env: TypeEnv, expr: ast.Expr, type_: Type, what: str) -> Type:
    """The type itself if it is a number (or in error), else a finding."""
    if is_poison(type_) or dimension(type_) is not None:
        return type_
    help = quoted_help(expr)
    if kind_of(type_) is not None:
        help = "name the field you mean: `x.field`"
    elif isinstance(type_, ListType):
        help = "reduce the list with `sum`, `max`, …, or take one element: `xs[0]`"
    return unfit(state, env, expr, type_, f"{what} needs a number", name="not-a-number", help=help)


def _binary(state: CheckerState, env: TypeEnv, node: ast.Binary, expected: Type | None) -> Type:
    if node.op in ("and", "or"):
        condition(state, env, node.left, f"the left side of `{node.op}`")
        condition(state, env, node.right, f"the right side of `{node.op}`")
        return BOOL
    if node.op in WORDS and node.op != CLOSED:
        return state.error(
            "excluded-end",
            f"`{node.op}` excludes an end, which only the range of a field or a param can",
            node.op_span,
            help="write `..`, which includes both ends",
        )
    left = number(state, env, node.left, infer(state, env, node.left), f"`{node.op}`")
    right = number(state, env, node.right, infer(state, env, node.right), f"`{node.op}`")
    a, b = dimension(left), dimension(right)
    if a is None or b is None:  # one is in error
        return POISON
    if node.op != CLOSED:
        # Both are looked at, so that both are reported.
        found = [is_reading(state, e, "calculated with") for e in (node.left, node.right)]
        if any(found):
            return POISON
    if node.op == "^":
        return _power(state, env, node, left, a, b)
    if node.op == CLOSED:
        return _range(state, env, node, left, right)
    both_int = isinstance(left, Int) and isinstance(right, Int)
    if node.op == "*":
        return INT if both_int else Real(times(a, b))
    if node.op == "/":
        return Real(over(a, b))
    both = join(left, right)
    if both is None:
        return cannot(state, env, node, left, right)
    settle(state, env, node.left, both)
    settle(state, env, node.right, both)
    return both


def _power(
    state: CheckerState, env: TypeEnv, node: ast.Binary, base: Type, of: Dim, exponent: Dim
) -> Type:
    if not exponent.is_dimensionless:
        have = describe(Real(exponent), env.scope, node.right)
        return state.error(
            "bad-exponent", "an exponent is a pure number", node.right.span, f"this is {have}"
        )
    value = literal_exponent(node.right)
    # Powers of exact factors double in length with the exponent: a bound keeps the check quick.
    if value is not None and (abs(value) > 1000 or value.denominator > 1000):
        value = None
    if of.is_dimensionless:
        whole = value is not None and value.denominator == 1 and value >= 0
        return INT if whole and isinstance(base, Int) else REAL
    if value is None:
        have = describe(base, env.scope, node.left)
        return state.error(
            "bad-exponent",
            "a quantity takes a literal exponent, so that the dimension of the result is known",
            node.right.span,
            "this is no literal number within bounds",
            others=[(node.left.span, f"this is {have}")],
            help="divide the base by a quantity of its dimension first",
        )
    return Real(of**value)


def literal_exponent(node: ast.Expr) -> Fraction | None:
    """The rational an exponent denotes: `2`, `-1`, `0.5`, `(1 / 3)`; None if it is no literal."""
    if isinstance(node, ast.Number):
        return exact(node.text)
    if isinstance(node, ast.Unary) and node.op in "+-":
        inner = literal_exponent(node.operand)
        return inner if inner is None or node.op == "+" else -inner
    if isinstance(node, ast.Binary) and node.op == "/":
        top, bottom = literal_exponent(node.left), literal_exponent(node.right)
        return top / bottom if top is not None and bottom else None
    return None


def _range(state: CheckerState, env: TypeEnv, node: ast.Binary, left: Type, right: Type) -> Type:
    if isinstance(left, Int) and isinstance(right, Int):
        return ListType(INT)
    wrong, type_ = (node.right, right) if isinstance(left, Int) else (node.left, left)
    have = describe(type_, env.scope, wrong)
    return state.error(
        "type-mismatch",
        "a range of numbers to go through has int ends",
        wrong.span,
        f"this is {have}",
        help="use `whole(x)`, `floor(x)` or `ceil(x)`, or list the values: `[a, b, c]`",
    )


# --- comparison and choice ---------------------------------------------------------------------


def _compare(state: CheckerState, env: TypeEnv, node: ast.Compare, expected: Type | None) -> Type:
    types = _operand_types(state, env, node)
    for i, op in enumerate(node.ops):
        _compare_two(state, env, node, i, op, types[i], types[i + 1])
    return BOOL


def _operand_types(state: CheckerState, env: TypeEnv, node: ast.Compare) -> list[Type]:
    """Bare names are read last, those that mean nothing else after all: they may be enum cases."""
    types: dict[int, Type] = {}
    enum: Type | None = None
    order = {i: may_be_case(env, e) for i, e in enumerate(node.operands)}
    for i in sorted(order, key=lambda i: order[i]):
        types[i] = infer(state, env, node.operands[i], enum if order[i] else None)
        enum = types[i] if isinstance(types[i], EnumType) else enum
    return [types[i] for i in range(len(node.operands))]


def _compare_two(
    state: CheckerState, env: TypeEnv, node: ast.Compare, i: int, op: str, left: Type, right: Type
) -> None:
    if is_poison(left) or is_poison(right):
        return
    a, b = node.operands[i], node.operands[i + 1]
    left_dim, right_dim = dimension(left), dimension(right)
    numbers = left_dim is not None and right_dim is not None
    if numbers and join(left, right) is not None:
        settle(state, env, a, right)
        settle(state, env, b, left)
        return
    if not numbers and op not in ("==", "!="):
        wrong = a if left_dim is None else b
        number(state, env, wrong, left if left_dim is None else right, f"`{op}`")
    elif numbers or not _comparable(left, right):
        state.error(
            "unit-mismatch" if numbers else "type-mismatch",
            f"cannot compare {short(a)} with {short(b)}",
            a.span.join(b.span),
            others=labels(env, (a, left), (b, right)),
            help=bare_number_help(env, (a, left), (b, right)) if numbers else None,
        )


def _comparable(left: Type, right: Type) -> bool:
    a, b = kind_of(left), kind_of(right)
    if a is not None and b is not None:
        return a.is_a(b) or b.is_a(a)
    simple = (EnumType, BoolType, TextType)
    return isinstance(left, simple) and isinstance(right, simple) and is_assignable(left, right)


def _cond(state: CheckerState, env: TypeEnv, node: ast.Cond, expected: Type | None) -> Type:
    condition(state, env, node.condition, "the condition of `if`")
    return branches(state, env, [node.yes, node.no], expected, "the branches of `if`")


def branches(
    state: CheckerState, env: TypeEnv, exprs: list[ast.Expr], expected: Type | None, what: str
) -> Type:
    """The common type of alternatives; enum cases are read as the first enum found."""
    result: Type = POISON
    first: ast.Expr | None = None
    for expr in exprs:
        hint = expected or (result if isinstance(result, EnumType) else None)
        type_ = infer(state, env, expr, hint)
        # In error (poison) joins with all: the type comes from the branches that are right.
        both = join(result, type_)
        if both is None and first is not None:
            before, here = labels(env, (first, result), (expr, type_))
            numbers = dimension(result) is not None and dimension(type_) is not None
            state.error(
                "unit-mismatch" if numbers else "type-mismatch",
                f"{what} must have one type",
                expr.span,
                here[1],
                others=[before],
                help=bare_number_help(env, (first, result), (expr, type_)),
            )
            return POISON
        if both is not None:
            result = both
        if first is None and not is_poison(type_):
            first = expr
    for expr in exprs:
        settle(state, env, expr, result)
    return result


# --- lists -------------------------------------------------------------------------------------


def _list(state: CheckerState, env: TypeEnv, node: ast.ListLit, expected: Type | None) -> Type:
    hint = expected.element if isinstance(expected, ListType) else None
    return ListType(branches(state, env, list(node.items), hint, "the elements of a list"))


def iterated(state: CheckerState, env: TypeEnv, expr: ast.Expr, what: str) -> Type:
    """The element type of a list to go through."""
    type_ = infer(state, env, expr)
    if isinstance(type_, ListType):
        return plain(type_.element)
    help = None
    if kind_of(type_) is not None:
        help = "a counted part is one record; the list of parts is `x.parts.kind`"
    return unfit(state, env, expr, type_, f"{what} needs a list", help=help)


def _comprehension(
    state: CheckerState, env: TypeEnv, node: ast.Comprehension, expected: Type | None
) -> Type:
    return ListType(comprehension(state, env, node, expected)[0])


def comprehension(
    state: CheckerState, env: TypeEnv, node: ast.Comprehension, expected: Type | None
) -> tuple[Type, tuple[tuple[str, Type], ...]]:
    """The type of a comprehension's elements, and its variables with theirs."""
    variables: list[tuple[str, Type]] = []
    for generator in node.generators:
        elements = [iterated(state, env, each, "`for`") for each in generator.iterables]
        if len(generator.names) > 1:
            _check_zip(state, generator)
        # A variable without a list is in error (poison), and no second error follows from it.
        elements += [POISON] * (len(generator.names) - len(elements))
        for name, element in zip(generator.names, elements, strict=False):
            env = env.bind(name, element)
            variables.append((name.name, element))
    if node.condition is not None:
        condition(state, env, node.condition, "the condition of a `for`")
    hint = expected.element if isinstance(expected, ListType) else None
    return infer(state, env, node.element, hint), tuple(variables)


def _check_zip(state: CheckerState, generator: ast.Generator) -> None:
    """Check that a `zip` has as many lists as variables, of different names."""
    names, lists = generator.names, len(generator.iterables)
    if len(names) != lists:
        state.error(
            "missing-argument",
            f"`zip` has {lists} list{'s' if lists > 1 else ''} for {len(names)} variables",
            generator.span,
            help="each variable goes through one list: `for x, y in zip(xs, ys)`",
        )
    seen: dict[str, Span] = {}
    for name in names:
        if name.name in seen:
            state.error(
                "duplicate-name",
                f"two variables are called `{name.name}`",
                name.span,
                "again here",
                others=[(seen[name.name], "first here")],
                help="give them different names",
            )
        seen.setdefault(name.name, name.span)


def output_unit(
    state: CheckerState, env: TypeEnv, unit: ast.UnitExpr, expr: ast.Expr, type_: Type
) -> Unit | None:
    """Check that a value can be shown in a unit; the unit, or None if it is in error."""
    found = resolve_unit(state, env, unit)
    if found is None or is_poison(type_):
        return found
    inner = element_of(type_)
    dim = dimension(inner)
    if dim is None:
        number(state, env, expr, inner, "a unit")
    elif is_generic(inner):
        settle(state, env, expr, Real(found.dim))
    elif dim != found.dim:
        want = describe(Real(found.dim), env.scope)
        state.error(
            "unit-mismatch",
            f"{short(expr)} cannot be shown in {found.name}",
            expr.span,
            f"this is {describe(inner, env.scope, expr)}",
            others=[(unit.span, f"this is {want}")],
            help=shown_help(dim, env.scope),
        )
    return found


HANDLERS.update(
    {
        ast.Number: _number,
        ast.Quantity: _quantity,
        ast.Text: lambda *_: TEXT,
        ast.Bool: lambda *_: BOOL,
        ast.Unary: _unary,
        ast.Binary: _binary,
        ast.Compare: _compare,
        ast.Cond: _cond,
        ast.ListLit: _list,
        ast.Comprehension: _comprehension,
    }
)
