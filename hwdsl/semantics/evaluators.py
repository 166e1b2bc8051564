"""Evaluators and claims: params, choices, outputs, expectations."""

from __future__ import annotations

from hwdsl.base.source import Span
from hwdsl.base.units import Dim
from hwdsl.semantics.blocks import bind_lazy, bind_lets, check_rule, force_local, let_type
from hwdsl.semantics.expressions import (
    check_default,
    condition,
    infer,
    is_reading,
    output_unit,
    require,
)
from hwdsl.semantics.generic_numbers import settle
from hwdsl.semantics.ranges import check_ends, check_order, type_range_rule
from hwdsl.semantics.scopes import duplicate_rule
from hwdsl.semantics.state import CheckerState, TypeEnv
from hwdsl.semantics.symbols import (
    BoolType,
    ClaimInfo,
    EnumType,
    EvaluatorInfo,
    Int,
    ListType,
    Real,
    Type,
)
from hwdsl.semantics.type_errors import mismatch
from hwdsl.semantics.type_relations import (
    POISON,
    REAL,
    describe,
    dimension,
    element_of,
    is_assignable,
    is_poison,
    kind_of,
    plain,
)
from hwdsl.semantics.typeexprs import resolve_type
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import range_rule

_Member = ast.Let | ast.Param | ast.Choice | ast.Output
RESULT_ATTRIBUTES = ("is_raw", "params", "raw", "unit")
"""What Python's results offer besides outputs, `feasible` and `violations`, which are reserved."""


def check_evaluator(state: CheckerState, info: EvaluatorInfo) -> None:
    """Check an evaluator and note its params, choices and outputs."""
    named = [m for m in info.decl.members if isinstance(m, _Member)]
    for each in named:
        _check_reserved(state, each.name)
    outer = TypeEnv(info.scope, info)
    env = bind_lazy(state, outer, named, {}, lambda env, node: _member(state, env, info, node))
    for member in info.decl.members:
        if isinstance(member, ast.Rule):
            _check_reserved(state, member.name)
            _enter_rule(state, info, member)
            check_rule(state, env, member)
        elif isinstance(member, ast.Allow):
            state.waivers.append(member)
        elif isinstance(member, _Member):
            force_local(state, env, member.name.name)
            rule = range_rule(member) if isinstance(member, ast.Param) else None
            if rule is not None:
                _enter_rule(state, info, rule)
                type_range_rule(state, env, rule)
    # In the order of the text, whichever was read first.
    info.free = {m.name.name: info.free[m.name.name] for m in named if m.name.name in info.free}
    # Where the parser skipped a line, that may have been the output.
    read = info.decl.span.source.name not in state.incomplete
    if read and not any(isinstance(m, ast.Output) for m in named):
        state.diagnostics.warning(
            "no-output",
            f"`{info.name}` has no output",
            info.decl.name.span,
            help="add `output name in unit = value`",
        )


def _enter_rule(state: CheckerState, info: EvaluatorInfo, rule: ast.Rule) -> None:
    before = info.rules.get(rule.name.name)
    if before is not None:
        duplicate_rule(state, rule, before)
    info.rules[rule.name.name] = rule


def _check_reserved(state: CheckerState, ident: ast.Ident) -> None:
    if ident.name in ("self", "outer", "feasible", "violations", "pi", "inf"):
        state.error(
            "reserved-name",
            f"`{ident.name}` has a meaning of its own",
            ident.span,
            help="choose another name",
        )


def _member(state: CheckerState, env: TypeEnv, info: EvaluatorInfo, node: _Member) -> Type:
    name = node.name.name
    if isinstance(node, ast.Let):
        return let_type(state, env, node)
    if isinstance(node, ast.Param):
        type_ = info.free[name] = _param(state, env, node)
    elif isinstance(node, ast.Choice):
        type_ = info.free[name] = _choice(state, env, node)
    else:
        type_ = info.outputs[name] = _output(state, env, node)
    return type_


def _param(state: CheckerState, env: TypeEnv, node: ast.Param) -> Type:
    type_ = resolve_type(state, env, node.type)
    name = f"`{node.name.name}`"
    if not isinstance(type_, Real | Int | BoolType | EnumType) and not is_poison(type_):
        state.error(
            "type-mismatch",
            f"a param is a number, a bool or an enum case, not {type_}",
            node.type.span,
            help="use `choice` to pick one of several components",
        )
        type_ = POISON
    check_default(state, env, node, type_)
    if node.range is not None:
        what = f"the range of {name}"
        if not check_ends(state, env, node.range, type_, what):
            check_bounds(state, env, node.range, type_, what)
    if node.distribution is not None:
        _distribution(state, env, node, node.distribution, type_)
    return type_


def _distribution(
    state: CheckerState, env: TypeEnv, node: ast.Param, drawn: ast.Expr, type_: Type
) -> None:
    """Check `~ f(a, b)`: a call of `f(u, a, b)`, with `u` even between 0 and 1."""
    if not isinstance(drawn, ast.Call):
        state.error(
            "type-mismatch",
            f"the distribution of `{node.name.name}` is a call",
            drawn.span,
            help="write `~ normal(5 USD, 1 USD)`, from std.distributions",
        )
    elif isinstance(type_, Real) or is_poison(type_):
        outside = env._replace(locals={})  # draws are independent of other params
        even = outside.bind(ast.Ident(drawn.function.span, ast.CHANCE), REAL)
        what = f"a draw of `{node.name.name}`"
        require(state, even, drawn, type_, what, node.type.span)
    else:
        state.error(
            "type-mismatch",
            f"`{node.name.name}` is drawn at random, so it is a real quantity, not {type_}",
            node.type.span,
        )


def check_bounds(state: CheckerState, env: TypeEnv, node: ast.Expr, type_: Type, what: str) -> None:
    """Check `low .. high`, or a list of the values allowed."""
    # The items of a list need one type between them, so a list is typed as a whole.
    if isinstance(node, ast.ListLit) or not check_each(state, env, node, type_, what):
        _check_list(state, env, node, type_, what, what)
    check_order(state, node, what)


def check_each(
    state: CheckerState,
    env: TypeEnv,
    node: ast.Expr,
    type_: Type,
    what: str,
    declared: Span | None = None,
) -> bool:
    """Check the ends of `low .. high`, or the items of `[a, b]`; False if it is neither.

    The ends need not be ints, as those of a range to go through.
    """
    if isinstance(node, ast.Binary) and node.op == "..":
        values: tuple[ast.Expr, ...] = (node.left, node.right)
    elif isinstance(node, ast.ListLit):
        values = node.items
    else:
        return False
    for value in values:
        require(state, env, value, type_, what, declared)
    state.checked.types[node] = ListType(type_)
    return True


def _check_list(
    state: CheckerState, env: TypeEnv, node: ast.Expr, type_: Type, whole: str, each: str
) -> None:
    """Check a list (`whole`) whose elements (`each`) are to be of a type."""
    found = infer(state, env, node, ListType(type_))
    if isinstance(found, ListType) and not is_assignable(found.element, type_):
        mismatch(state, env, node, found.element, type_, each)
    elif isinstance(found, ListType):
        settle(state, env, node, type_)
    elif not is_poison(found):
        have = describe(found, env.scope, node)
        message = f"{whole} is a list or `low .. high`"
        state.error("type-mismatch", message, node.span, f"this is {have}")


def _choice(state: CheckerState, env: TypeEnv, node: ast.Choice) -> Type:
    type_ = resolve_type(state, env, node.type)
    name = f"`{node.name.name}`"
    of, each = node.alternatives, f"an alternative of {name}"
    if isinstance(of, ast.ListLit):
        if not of.items:
            state.error("empty-choice", f"{name} has nothing to choose from", node.span)
        check_each(state, env, of, type_, each, node.type.span)
    else:
        _check_list(state, env, of, type_, f"what {name} is chosen from", each)
    check_default(state, env, node, type_)
    return type_


def _output(state: CheckerState, env: TypeEnv, node: ast.Output) -> Type:
    name = f"`{node.name.name}`"
    if node.name.name in RESULT_ATTRIBUTES:
        state.diagnostics.warning(
            "hidden-output",
            f"a result in Python has an attribute {name} of its own, which hides this output",
            node.name.span,
            help=f'rename the output, or read it as `result["{node.name.name}"]`',
        )
    if node.type is not None:
        declared = resolve_type(state, env, node.type)
        require(state, env, node.value, declared, name, node.type.span)
        return declared
    type_ = infer(state, env, node.value)
    inner = element_of(type_)
    if node.unit is not None:
        unit = output_unit(state, env, node.unit, node.value, type_)
        if unit is None:
            return POISON
        if dimension(inner) is None:
            return Real(unit.dim)
        type_ = state.checked.types[node.value]  # a literal 0 is now one of the unit's dimension
    if kind_of(inner) is not None or isinstance(inner, ListType):
        state.error(
            "type-mismatch",
            f"{name} is a component; an output is a value or a list of values",
            node.value.span,
            help="name the field that you ask for",
        )
        return POISON
    return plain(type_)


# --- claims ------------------------------------------------------------------------------------


def check_claim(state: CheckerState, info: ClaimInfo) -> None:
    """Check a claim's lets and expectations."""
    lets = [m for m in info.decl.members if isinstance(m, ast.Let)]
    for let in lets:
        _check_reserved(state, let.name)
    env = bind_lets(state, TypeEnv(info.scope, info), lets, {})
    for member in info.decl.members:
        if isinstance(member, ast.Let):
            force_local(state, env, member.name.name)
        elif isinstance(member, ast.Expect):
            _expect(state, env, member)


def _expect(state: CheckerState, env: TypeEnv, node: ast.Expect) -> None:
    condition(state, env, node.condition, "`expect`")
    if node.baseline is not None:
        _baseline(state, env, node, node.baseline)
    if node.tolerance is None:
        return
    tolerance = infer(state, env, node.tolerance)
    if is_reading(state, node.tolerance, "a tolerance"):
        return
    compared = node.condition
    if not isinstance(compared, ast.Compare) or compared.ops != ("==",):
        state.error(
            "bad-tolerance",
            "`within` needs exactly one `==` to be within of",
            node.condition.span,
            help="write `expect a == b within …`, or leave out `within`",
        )
        return
    types = [state.checked.types[e] for e in compared.operands]
    value = next((t for t in types if not is_poison(t)), POISON)
    if is_poison(value) or is_poison(tolerance):
        return
    dim = dimension(value)
    if dim is None:
        state.error(
            "not-a-number",
            "`within` is for numbers",
            compared.span,
            f"these are {describe(value, env.scope)}",
        )
        return
    _tolerance(state, env, node.tolerance, node.mode, dim, tolerance)


def _baseline(state: CheckerState, env: TypeEnv, node: ast.Expect, baseline: ast.Expr) -> None:
    """Check a null model's answer: a number like the one compared, or a bool like the condition."""
    compared = node.condition
    if node.tolerance is None or not isinstance(compared, ast.Compare):
        condition(state, env, baseline, "a baseline of what has no tolerance")
        return
    dim = dimension(state.checked.types[compared.operands[0]])
    if dim is None:
        infer(state, env, baseline)
    else:
        require(state, env, baseline, Real(dim), "a baseline")


def _tolerance(
    state: CheckerState, env: TypeEnv, node: ast.Expr, mode: str, dim: Dim, tolerance: Type
) -> None:
    """Check a tolerance for a number of a dimension."""
    if mode in ("relative", "factor"):
        if not is_assignable(tolerance, REAL):
            mismatch(state, env, node, tolerance, REAL, f"a {mode} tolerance")
    elif mode == "" and dimension(tolerance) == dim and dim.is_dimensionless:
        state.error(
            "bad-tolerance",
            "is this tolerance relative or absolute?",
            node.span,
            help="write `within x relative` or `within x absolute`",
        )
    elif mode == "" and is_assignable(tolerance, REAL):
        return  # of a quantity, a pure number can only be relative
    elif not is_assignable(tolerance, Real(dim)):
        mismatch(state, env, node, tolerance, Real(dim), "an absolute tolerance")
    else:
        settle(state, env, node, Real(dim))
