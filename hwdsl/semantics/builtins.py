"""Calls of functions of the language, which `library/std/builtins.hw` declares.

The type of a call follows from the declaration (`_declared`). Where a signature cannot say it, a
rule in `SPECIAL` does: it gets the call and gives the type of its value. `BuiltinCall`'s methods
check and report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Span
from hwdsl.semantics.expressions import branches, comprehension, infer, number
from hwdsl.semantics.generic_numbers import settle
from hwdsl.semantics.modules import BUILTINS, library_root, library_tree
from hwdsl.semantics.signatures import read_signature
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    Builtin,
    BuiltinInfo,
    ExactQuotient,
    Int,
    ListType,
    ResultType,
    ShortFor,
    Type,
)
from hwdsl.semantics.type_errors import labels, mismatch, short, unfit
from hwdsl.semantics.type_relations import (
    BOOL,
    INT,
    POISON,
    REAL,
    describe,
    dim_variable,
    dimension,
    element_of,
    is_assignable,
    join,
    plain,
    substitute,
)
from hwdsl.syntax import ast


@frozen(eq=False)
class BuiltinCall:
    """A call of a builtin function under check."""

    state: CheckerState
    env: TypeEnv
    node: ast.Call
    info: BuiltinInfo

    @property
    def name(self) -> str:
        """The function's name."""
        return self.info.name

    @property
    def arguments(self) -> list[ast.Expr]:
        """The argument expressions, all positional."""
        return [a.value for a in self.node.arguments]

    def number(self, expr: ast.Expr) -> Type:
        """The type of an argument that must be a number."""
        type_ = infer(self.state, self.env, expr)
        return number(self.state, self.env, expr, type_, f"`{self.name}`")

    def pure(self, expr: ast.Expr, type_: Type) -> None:
        """Check that an argument of that type is a number without dimension."""
        dim = dimension(type_)
        if dim is not None and not dim.is_dimensionless:
            help = "divide by a quantity of the same dimension first"
            needs = f"`{self.name}` takes a pure number"
            unfit(self.state, self.env, expr, type_, needs, name="unit-mismatch", help=help)

    def elements(self, expr: ast.Expr, expected: Type | None = None) -> Type:
        """The element type of an argument that must be a list or a `for`."""
        hint = None if expected is None else ListType(expected)
        type_ = infer(self.state, self.env, expr, hint)
        if isinstance(type_, ListType):
            return type_.element
        return unfit(self.state, self.env, expr, type_, f"`{self.name}` goes through a list")

    def numbers(self, expr: ast.Expr) -> Type:
        """The element type of an argument that must be a list of numbers."""
        return number(self.state, self.env, expr, self.elements(expr), f"`{self.name}`")

    def truths(self, expr: ast.Expr, needs: str = "goes through bools", help: str = "") -> None:
        """Check that an argument is a list of bools."""
        type_ = self.elements(expr, BOOL)
        if not is_assignable(type_, BOOL):
            have = describe(type_, self.env.scope)
            message = f"`{self.name}` {needs}"
            label = f"these are {have}"
            self.state.error("type-mismatch", message, expr.span, label, help=help or None)

    def same(self, first: ast.Expr, a: Type, second: ast.Expr, b: Type) -> Type:
        """The common type of two arguments, which must have one dimension."""
        both = join(a, b)
        if both is not None:
            settle(self.state, self.env, first, both)
            settle(self.state, self.env, second, both)
            return both
        before, here = labels(self.env, (first, a), (second, b))
        return self.state.error(
            "unit-mismatch",
            f"`{self.name}` needs one dimension, and {short(first)} and {short(second)} differ",
            second.span,
            here[1],
            others=[before],
        )


Rule = Callable[[BuiltinCall], Type]


def _declared(call: BuiltinCall) -> Type:
    """The type by the signature. Of `f(x: D) -> D` it is that of the argument: an int stays one."""
    parameters, result = signature(call.state, call.info)
    bound: dict[str, tuple[ast.Expr, Type]] = {}
    plain: set[str] = set()
    for (name, declared), expr in zip(parameters, call.arguments, strict=True):
        element = element_of(declared)
        if element == BOOL:
            call.truths(expr)
            continue
        type_ = call.number(expr) if element is declared else call.numbers(expr)
        variable = dim_variable(element)
        if variable is None:
            _fixed(call, name, expr, element, type_)
        elif variable in bound:
            bound[variable] = bound[variable][0], call.same(*bound[variable], expr, type_)
        else:
            bound[variable] = expr, type_
            if element is declared:
                plain.add(variable)
    variable = dim_variable(result)
    if variable in plain:
        return bound[variable][1]
    return substitute(result, {v: dimension(type_) for v, (_, type_) in bound.items()})


def _fixed(call: BuiltinCall, name: str, expr: ast.Expr, wanted: Type, type_: Type) -> None:
    dim = dimension(wanted)
    if dim is not None and dim.is_dimensionless:
        call.pure(expr, type_)
    elif not is_assignable(type_, wanted):
        what = f"`{name}` of `{call.name}`"
        mismatch(call.state, call.env, expr, type_, wanted, what, call.info.decl.span)


# --- what no signature says ---------------------------------------------------------------------


def _rounded(call: BuiltinCall) -> Type:
    type_, of = _declared(call), call.arguments[0]
    if isinstance(of, ast.Binary) and of.op == "/":
        types = call.state.checked.types  # lacks both where the chain of definitions is too long
        if isinstance(types.get(of.left), Int) and isinstance(types.get(of.right), Int):
            call.state.resolve(of, ExactQuotient(f"{call.name}div"))
    return type_


def _extreme(call: BuiltinCall) -> Type:
    first, *rest = call.arguments
    if not rest:
        return call.numbers(first)
    result = call.number(first)
    for expr in rest:
        result = call.same(first, result, expr, call.number(expr))
    for expr in call.arguments:
        settle(call.state, call.env, expr, result)
    return result


def _prod(call: BuiltinCall) -> Type:
    type_ = call.numbers(call.arguments[0])
    call.pure(call.arguments[0], type_)
    return INT if isinstance(type_, Int) else REAL


def _count(call: BuiltinCall) -> Type:
    needs = "counts the elements that are true"
    call.truths(call.arguments[0], needs, help="for the length of a list, use `len(xs)`")
    return INT


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
    fields = (*variables, ("value", plain(value)), ("found", BOOL))
    return ResultType(fields, f"result of `{call.name}`")


def _sort_by(call: BuiltinCall) -> Type:
    values, keys = call.arguments
    type_ = call.elements(values)
    call.numbers(keys)
    return ListType(type_)


def _step(call: BuiltinCall) -> Type:
    x, xs, ys = call.arguments
    call.same(x, call.number(x), xs, call.numbers(xs))
    return call.elements(ys)


def _known(call: BuiltinCall) -> Type:
    infer(call.state, call.env, call.arguments[0])
    return BOOL


def _first_known(call: BuiltinCall) -> Type:
    """Of `first_known(a, b)`: the type of `if known(a) then a else b`, which it stands for."""
    state, span = call.state, call.node.span
    arguments = call.arguments
    type_ = branches(state, call.env, arguments, None, f"the arguments of `{call.name}`")
    meant = arguments[-1]
    for expr in reversed(arguments[:-1]):
        function = ast.Name(expr.span, "known")
        condition = ast.Call(expr.span, function, (ast.Argument(expr.span, None, expr),))
        meant = ast.Cond(span, condition, expr, meant)
        state.resolve(function, Builtin("known"))
        state.checked.types |= {condition: BOOL, meant: type_}
    state.resolve(call.node, ShortFor(meant))
    return type_


def _len(call: BuiltinCall) -> Type:
    call.elements(call.arguments[0])
    return INT


SPECIAL: Mapping[str, Rule] = {
    "floor": _rounded,
    "ceil": _rounded,
    "min": _extreme,
    "max": _extreme,
    "sum": lambda call: call.numbers(call.arguments[0]),
    "prod": _prod,
    "count": _count,
    "lowest": _best,
    "highest": _best,
    "step": _step,
    "sort_by": _sort_by,
    "len": _len,
    "known": _known,
    "first_known": _first_known,
}
"""The rules of those functions whose types no signature says."""
VARIADIC = ("min", "max", "first_known")
"""Functions that take as many arguments as are given, or a list."""


def signature(state: CheckerState, info: BuiltinInfo) -> tuple[tuple[tuple[str, Type], ...], Type]:
    """The types of parameters and result, resolved once."""
    if info.signature is None:
        info.signature = read_signature(state, info.scope, info.decl)
    return info.signature


def check_declarations(state: CheckerState) -> None:
    """Resolve the signatures that say the types of calls."""
    for name, info in state.builtins.items():
        if name not in SPECIAL:
            signature(state, info)


@cache
def declarations() -> Mapping[str, ast.ExternFn]:
    """The functions of the language by name, as their file declares them."""
    path = library_root().joinpath(*BUILTINS.split(".")).with_suffix(".hw")
    tree = library_tree(path, Diagnostics())
    items = tree.items if tree is not None else ()
    return {i.name.name: i for i in items if isinstance(i, ast.ExternFn)}


def call_builtin(state: CheckerState, env: TypeEnv, node: ast.Call, info: BuiltinInfo) -> Type:
    """Check a call of a builtin function and give its type."""
    name, least = info.name, len(info.decl.parameters)
    given = len(node.arguments)
    named = next((a.name for a in node.arguments if a.name is not None), None)
    if named is not None:
        message = f"`{name}` takes its arguments by position"
        return _refuse(state, env, node, info, "unknown-argument", message, named.span)
    if given < least or (given > least and name not in VARIADIC):
        finding = "missing-argument" if given < least else "unknown-argument"
        span = node.span if given < least else node.arguments[least].value.span
        message = f"`{name}` takes {least} argument{'s' if least > 1 else ''}, {given} given"
        return _refuse(state, env, node, info, finding, message, span)
    type_ = SPECIAL.get(name, _declared)(BuiltinCall(state, env, node, info))
    return type_ if name in VARIADIC else plain(type_)


def _refuse(
    state: CheckerState,
    env: TypeEnv,
    node: ast.Call,
    info: BuiltinInfo,
    finding: str,
    message: str,
    span: Span,
) -> Type:
    """Report a call; the help says how the function is declared, as some are called otherwise."""
    said = " ".join(info.decl.doc.split()).rstrip(".")
    help = f"it is `{info.decl.signature}`: {said[:1].lower()}{said[1:]}"
    state.error(finding, message, span, help=help)
    for argument in node.arguments:
        infer(state, env, argument.value)
    return POISON
