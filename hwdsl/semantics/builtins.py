"""The functions of the language itself: for each its name, its rule of types and what it is.

A rule gets the call and gives the type of its value; `BuiltinCall`'s methods check and report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attrs import frozen

from hwdsl.semantics.expressions import comprehension, infer, number
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import ExactQuotient, Int, ListType, Real, ResultType, Type
from hwdsl.semantics.type_errors import short
from hwdsl.semantics.type_relations import (
    BOOL,
    INT,
    POISON,
    REAL,
    describe,
    dimension,
    is_poison,
    join,
)
from hwdsl.syntax import ast


@frozen(eq=False)
class BuiltinCall:
    """A call of a builtin function under check."""

    state: CheckerState
    env: TypeEnv
    node: ast.Call
    name: str

    @property
    def arguments(self) -> list[ast.Expr]:
        """The argument expressions, all positional."""
        return [a.value for a in self.node.arguments]

    def number(self, expr: ast.Expr) -> Type:
        """The type of an argument that must be a number."""
        type_ = infer(self.state, self.env, expr)
        return number(self.state, self.env, expr, type_, f"`{self.name}`")

    def pure(self, expr: ast.Expr) -> None:
        """Check that an argument is a number without dimension."""
        self.pure_type(expr, self.number(expr))

    def pure_type(self, expr: ast.Expr, type_: Type) -> None:
        """Check that the type of an argument is a number without dimension."""
        dim = dimension(type_)
        if dim is None or dim.is_dimensionless:
            return
        have = describe(type_, self.env.scope, expr)
        self.state.error(
            "unit-mismatch",
            f"`{self.name}` takes a pure number, not {have}",
            expr.span,
            f"this is {have}",
            help="divide by a quantity of the same dimension first",
        )

    def elements(self, expr: ast.Expr, expected: Type | None = None) -> Type:
        """The element type of an argument that must be a list or a `for`."""
        hint = None if expected is None else ListType(expected)
        type_ = infer(self.state, self.env, expr, hint)
        if isinstance(type_, ListType):
            return type_.element
        if not is_poison(type_):
            have = describe(type_, self.env.scope, expr)
            self.state.error(
                "type-mismatch",
                f"`{self.name}` goes through a list, not {have}",
                expr.span,
                f"this is {have}",
            )
        return POISON

    def numbers(self, expr: ast.Expr) -> Type:
        """The element type of an argument that must be a list of numbers."""
        return number(self.state, self.env, expr, self.elements(expr), f"`{self.name}`")

    def same(self, first: ast.Expr, a: Type, second: ast.Expr, b: Type) -> Type:
        """The common type of two arguments, which must have one dimension."""
        both = join(a, b)
        if both is not None:
            return both
        sides = [
            (e.span, f"this is {describe(t, self.env.scope, e)}")
            for e, t in ((first, a), (second, b))
        ]
        return self.state.error(
            "unit-mismatch",
            f"`{self.name}` needs one dimension, and {short(first)} and {short(second)} differ",
            second.span,
            sides[1][1],
            others=sides[:1],
        )


Rule = Callable[[BuiltinCall], Type]


@frozen
class BuiltinInfo:
    """A builtin: how it is called, its rule, how many arguments it takes, what it is."""

    signature: str
    doc: str
    rule: Rule
    least: int = 1
    most: int = 1


def _pure(call: BuiltinCall) -> Type:
    call.pure(call.arguments[0])
    return REAL


def _to_int(call: BuiltinCall) -> Type:
    call.pure(call.arguments[0])
    return INT


def _rounded(call: BuiltinCall) -> Type:
    of = call.arguments[0]
    call.pure(of)
    if isinstance(of, ast.Binary) and of.op == "/":
        types = call.state.checked.types  # lacks both where the chain of definitions is too long
        if isinstance(types.get(of.left), Int) and isinstance(types.get(of.right), Int):
            call.state.resolve(of, ExactQuotient(f"{call.name}div"))
    return INT


def _abs(call: BuiltinCall) -> Type:
    return call.number(call.arguments[0])


def _sqrt(call: BuiltinCall) -> Type:
    dim = dimension(call.number(call.arguments[0]))
    return POISON if dim is None else Real(dim ** Fraction(1, 2))


def _extreme(call: BuiltinCall) -> Type:
    first, *rest = call.arguments
    if not rest:
        return call.numbers(first)
    result = call.number(first)
    for expr in rest:
        result = call.same(first, result, expr, call.number(expr))
    return result


def _sum(call: BuiltinCall) -> Type:
    return call.numbers(call.arguments[0])


def _prod(call: BuiltinCall) -> Type:
    type_ = call.numbers(call.arguments[0])
    call.pure_type(call.arguments[0], type_)
    return INT if isinstance(type_, Int) else REAL


def _mean(call: BuiltinCall) -> Type:
    dim = dimension(call.numbers(call.arguments[0]))
    return POISON if dim is None else Real(dim)


def _count(call: BuiltinCall) -> Type:
    expr = call.arguments[0]
    type_ = call.elements(expr, BOOL)
    if not is_poison(type_) and type_ != BOOL:
        call.state.error(
            "type-mismatch",
            "`count` counts the elements that are true",
            expr.span,
            f"these are {describe(type_, call.env.scope)}",
            help="for the length of a list, use `len(xs)`",
        )
    return INT


def _quantified(call: BuiltinCall) -> Type:
    expr = call.arguments[0]
    type_ = call.elements(expr, BOOL)
    if not is_poison(type_) and type_ != BOOL:
        have = describe(type_, call.env.scope)
        call.state.error(
            "type-mismatch", f"`{call.name}` goes through bools", expr.span, f"these are {have}"
        )
    return BOOL


def _best(call: BuiltinCall) -> Type:
    expr = call.arguments[0]
    if not isinstance(expr, ast.Comprehension):
        infer(call.state, call.env, expr)
        return call.state.error(
            "type-mismatch",
            f"`{call.name}` needs a `for`, whose variables its result names",
            expr.span,
            help=f"write `{call.name}(f(x) for x in xs)`; for the value alone, `min` or `max`",
        )
    element, variables = comprehension(call.state, call.env, expr, None)
    call.state.checked.types[expr] = ListType(element)
    value = number(call.state, call.env, expr.element, element, f"`{call.name}`")
    fields = (*variables, ("value", value), ("found", BOOL))
    return ResultType(fields, f"result of `{call.name}`")


def _interp(call: BuiltinCall) -> Type:
    x, xs, ys = call.arguments
    call.same(x, call.number(x), xs, call.numbers(xs))
    type_ = call.elements(ys) if call.name == "step" else call.numbers(ys)
    dim = dimension(type_)
    return type_ if call.name == "step" or dim is None else Real(dim)


def _sort_by(call: BuiltinCall) -> Type:
    values, keys = call.arguments
    type_ = call.elements(values)
    call.numbers(keys)
    return ListType(type_)


def _rank(call: BuiltinCall) -> Type:
    call.numbers(call.arguments[0])
    return ListType(INT)


def _quantile(call: BuiltinCall) -> Type:
    values, at = call.arguments
    dim = dimension(call.numbers(values))
    call.pure(at)
    return POISON if dim is None else Real(dim)


def _known(call: BuiltinCall) -> Type:
    infer(call.state, call.env, call.arguments[0])
    return BOOL


def _len(call: BuiltinCall) -> Type:
    call.elements(call.arguments[0])
    return INT


def _f(name: str, doc: str) -> tuple[str, BuiltinInfo]:
    return name, BuiltinInfo(f"{name}(x: real) -> real", doc, _pure)


def _i(name: str, doc: str, rule: Rule = _to_int) -> tuple[str, BuiltinInfo]:
    return name, BuiltinInfo(f"{name}(x: real) -> int", doc, rule)


_MANY = 1000
BUILTINS: Mapping[str, BuiltinInfo] = dict(
    [
        (
            "min",
            BuiltinInfo("min(a: D, b: D, …) or min([D]) -> D", "The least.", _extreme, 1, _MANY),
        ),
        (
            "max",
            BuiltinInfo("max(a: D, b: D, …) or max([D]) -> D", "The greatest.", _extreme, 1, _MANY),
        ),
        ("sum", BuiltinInfo("sum([D]) -> D", "The sum.", _sum)),
        ("prod", BuiltinInfo("prod([real]) -> real", "The product.", _prod)),
        ("mean", BuiltinInfo("mean([D]) -> D", "The arithmetic mean.", _mean)),
        ("geomean", BuiltinInfo("geomean([D]) -> D", "The geometric mean.", _mean)),
        ("count", BuiltinInfo("count([bool]) -> int", "How many are true.", _count)),
        ("any", BuiltinInfo("any([bool]) -> bool", "Whether one is true.", _quantified)),
        ("all", BuiltinInfo("all([bool]) -> bool", "Whether all are true.", _quantified)),
        ("lowest", BuiltinInfo("lowest(D for x in xs)", "Where the value is least.", _best)),
        ("highest", BuiltinInfo("highest(D for x in xs)", "Where it is greatest.", _best)),
        ("abs", BuiltinInfo("abs(x: D) -> D", "The magnitude.", _abs)),
        ("sqrt", BuiltinInfo("sqrt(x: D) -> D^(1/2)", "The square root.", _sqrt)),
        _f("exp", "The exponential."),
        _f("log", "The natural logarithm."),
        _f("log2", "The logarithm to base 2."),
        _f("log10", "The logarithm to base 10."),
        _f("expm1", "exp(x) - 1, exact for small x."),
        _f("log1p", "log(1 + x), exact for small x."),
        _f("sin", "The sine of an angle in radians."),
        _f("cos", "The cosine of an angle in radians."),
        _f("tanh", "The hyperbolic tangent."),
        _i("floor", "The greatest int not above x.", _rounded),
        _i("ceil", "The least int not below x.", _rounded),
        _i("round", "The nearest int, halves to even."),
        _i("whole", "x as an int, with the rule that it is one."),
        (
            "interp",
            BuiltinInfo(
                "interp(x: X, xs: [X], ys: [Y]) -> Y", "Linear between points.", _interp, 3, 3
            ),
        ),
        (
            "interp_log",
            BuiltinInfo(
                "interp_log(x: X, xs: [X], ys: [Y]) -> Y",
                "Linear between points in log-log scale.",
                _interp,
                3,
                3,
            ),
        ),
        (
            "step",
            BuiltinInfo(
                "step(x: X, xs: [X], ys: [Y]) -> Y", "The last point not above x.", _interp, 3, 3
            ),
        ),
        (
            "sort_by",
            BuiltinInfo("sort_by(xs: [T], keys: [D]) -> [T]", "xs by rising key.", _sort_by, 2, 2),
        ),
        ("rank", BuiltinInfo("rank(keys: [D]) -> [int]", "Each key's place, from 0.", _rank)),
        (
            "quantile",
            BuiltinInfo("quantile(xs: [D], q: real) -> D", "The q-quantile.", _quantile, 2, 2),
        ),
        ("len", BuiltinInfo("len(xs: [T]) -> int", "How many elements.", _len)),
        (
            "known",
            BuiltinInfo("known(x: T) -> bool", "Whether x reads no `unknown` field.", _known),
        ),
    ]
)
"""All builtin functions by name."""


def call_builtin(state: CheckerState, env: TypeEnv, node: ast.Call, name: str) -> Type:
    """Check a call of a builtin function and give its type."""
    info = BUILTINS[name]
    for argument in node.arguments:
        if argument.name is not None:
            return _give_up(
                state,
                env,
                node,
                state.error(
                    "unknown-argument",
                    f"`{name}` takes its arguments by position",
                    argument.name.span,
                    help=f"it is `{info.signature}`",
                ),
            )
    given = len(node.arguments)
    if not info.least <= given <= info.most:
        missing = given < info.least
        span = node.span if missing else node.arguments[info.most].value.span
        return _give_up(
            state,
            env,
            node,
            state.error(
                "missing-argument" if missing else "unknown-argument",
                f"`{name}` takes {info.least} argument{'s' if info.least > 1 else ''}, "
                f"{given} given",
                span,
                help=f"it is `{info.signature}`",
            ),
        )
    return info.rule(BuiltinCall(state, env, node, name))


def _give_up(state: CheckerState, env: TypeEnv, node: ast.Call, type_: Type) -> Type:
    for argument in node.arguments:
        infer(state, env, argument.value)
    return type_
