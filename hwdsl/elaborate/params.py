"""Params and choices: as inputs of the graph, fixed, or at their defaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import frozen

from hwdsl.base.source import Span
from hwdsl.base.units import Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.elaborate.elaboration_info import ParamInfo
from hwdsl.elaborate.messages import literal_unit
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.quantities import PURE, coherent_unit, dim_of, in_unit, quantity_text
from hwdsl.elaborate.select_lowering import equal, items_of, pick_value
from hwdsl.elaborate.values import (
    ElaborationError,
    EnumValue,
    Env,
    Record,
    SelectRecord,
    Value,
    as_ref,
)
from hwdsl.semantics.symbols import BoolType, EnumType, Int, Real, Type, ValueInfo
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import CLOSED, ends, no_value


@frozen(eq=False)
class InputSpec:
    """A param or choice as declared: what it may be, in order, if that is a list.

    `between` is the operator of its range.
    """

    info: ParamInfo
    alternatives: tuple[Value, ...]
    between: str


def declare(m: PartialEvaluator, node: ast.Param | ast.Choice, type_: Type, env: Env) -> InputSpec:
    """Evaluate the default and range of a param, or the alternatives of a choice."""
    written = node.range if isinstance(node, ast.Param) else node.alternatives
    low, high, alternatives = _allowed(m, node, type_, written, env)
    default = None if node.default is None else m.evaluate(node.default, env)
    if default is None and isinstance(node, ast.Choice):
        default = alternatives[0]
    values = tuple(
        m.require_constant(v, "what a choice is made from", node.span)
        for v in alternatives
        if isinstance(v, Ref)
    )
    if values:
        low, high = min(values), max(values)
    between = CLOSED
    if low is not None and high is not None and isinstance(written, ast.Binary) and not values:
        between = written.op
        wrong = no_value(written, low, high)
        if wrong is not None:
            what = f"the range of `{node.name.name}` {wrong[0]}"
            raise ElaborationError("empty-choice", what, written.span, wrong[1])
    declared = _declared_unit(m, node, type_, written)
    dim = dim_of(type_)
    unit = declared or coherent_unit(dim, env.scope)
    labels = () if type_ == BoolType() else _labels(m, node, alternatives, unit)
    _check_repeated(node, written, alternatives)
    start = None if default is None else position(m, node, default, alternatives)
    _check_default(node, start, low, high, between, unit)
    info = ParamInfo(
        node.name.name,
        node.doc,
        dim,
        type_name(type_),
        unit,
        start,
        low,
        high,
        labels,
        values,
        node.name.span,
        plain=declared is not None,
    )
    return InputSpec(info, alternatives, between)


def _allowed(
    m: PartialEvaluator,
    node: ast.Param | ast.Choice,
    type_: Type,
    written: ast.Expr | None,
    env: Env,
) -> tuple[float | None, float | None, tuple[Value, ...]]:
    """The ends of the range as written, or the alternatives."""
    bounds = ends(written) if isinstance(node, ast.Param) else None
    if bounds is not None:
        low, high = (_known(m, e, env, "an end of a range") for e in bounds)
        return low, high, ()
    if written is not None:
        alternatives = items_of(m, m.evaluate(written, env), written.span)
        if not alternatives:
            raise ElaborationError(
                "empty-choice", f"`{node.name.name}` has nothing to choose from", node.span
            )
        return None, None, alternatives
    if not isinstance(type_, EnumType):
        return None, None, ()
    cases = range(len(type_.enum.cases))
    return None, None, tuple(EnumValue(type_.enum, m.const(i, INT)) for i in cases)


def _known(m: PartialEvaluator, expr: ast.Expr, env: Env, what: str) -> float:
    return m.require_constant(m.number(expr, env), what, expr.span)


def _check_repeated(
    node: ast.Param | ast.Choice, written: ast.Expr | None, alternatives: Sequence[Value]
) -> None:
    nodes = written.items if isinstance(written, ast.ListLit) else ()
    seen: set[object] = set()
    for i, value in enumerate(alternatives):
        ref = value.ref if isinstance(value, EnumValue) else value
        key = ref.known if isinstance(ref, Ref) else id(value)
        if key in seen:
            span = nodes[i].span if nodes else node.span
            raise ElaborationError(
                "repeated-alternative",
                f"`{node.name.name}` has an alternative twice: "
                + (f"`{span.text}`" if nodes else f"number {i + 1}"),
                span,
                "leave one of them out",
            )
        seen.add(key)


def _check_default(
    node: ast.Param | ast.Choice,
    value: float | None,
    low: float | None,
    high: float | None,
    between: str,
    unit: Unit,
) -> None:
    if value is None or low is None or high is None or low <= value <= high:
        return
    assert node.default is not None
    shown, least, most = (in_unit(v, unit) for v in (value, low, high))
    raise ElaborationError(
        "outside-range",
        f"the default of `{node.name.name}`, {shown}, lies outside its range "
        f"{least} {between} {most}",
        node.default.span,
        "widen the range, or choose a default inside it",
    )


def type_name(type_: Type) -> str:
    """`real`, `int`, `bool`, `enum` or `component`."""
    if isinstance(type_, Int):
        return INT
    if isinstance(type_, BoolType):
        return BOOL
    if isinstance(type_, EnumType):
        return "enum"
    return REAL if isinstance(type_, Real) else "component"


def _declared_unit(
    m: PartialEvaluator, node: ast.Param | ast.Choice, type_: Type, written: ast.Expr | None
) -> Unit | None:
    """The unit that plain numbers are in: the default's, else the range's, else none."""
    dim = dim_of(type_)
    for source in (node.default, written):
        unit = None if source is None else literal_unit(m, source)
        if unit is not None and unit.dim == dim:
            return unit
    return PURE if dim.is_dimensionless else None


def _labels(
    m: PartialEvaluator, node: ast.Param | ast.Choice, alternatives: Sequence[Value], unit: Unit
) -> tuple[str, ...]:
    written = node.range if isinstance(node, ast.Param) else node.alternatives
    labels: list[str] = []
    nodes = written.items if isinstance(written, ast.ListLit) else ()
    for i, value in enumerate(alternatives):
        if isinstance(value, EnumValue):
            span = nodes[i].span if nodes else node.span
            label = value.enum.cases[int(m.require_constant(value.ref, "a choice", span))]
        elif isinstance(value, Ref):
            label = f"{unit.from_base(value.known or 0.0):.12g}"
        elif nodes and isinstance(nodes[i], ast.Name | ast.Attr):
            label = nodes[i].span.text.rsplit(".", 1)[-1]
        else:
            label = value.name if isinstance(value, Record | SelectRecord) else str(i)
        labels.append(label)
    times = Counter(labels)
    return tuple(label if times[label] == 1 else f"{label}#{i}" for i, label in enumerate(labels))


def position(
    m: PartialEvaluator, node: ast.Param | ast.Choice, default: Value, alternatives: Sequence[Value]
) -> float:
    """A default as a number in base units, or as an index among the alternatives."""
    help = None
    if isinstance(default, Ref):
        number = m.require_constant(default, "a default", node.span)
        if not alternatives or any(as_ref(a).known == number for a in alternatives):
            return number
        help = _range_help(node, number, alternatives)
    for i, value in enumerate(alternatives):
        if value is default or (
            isinstance(value, EnumValue)
            and isinstance(default, EnumValue)
            and value.ref.known == default.ref.known
        ):
            return float(i)
    raise ElaborationError(
        "outside-range",
        f"the default of `{node.name.name}` is none of its alternatives",
        node.default.span if node.default is not None else node.span,
        help,
    )


def _range_help(
    node: ast.Param | ast.Choice, number: float, alternatives: Sequence[Value]
) -> str | None:
    """What to write where two alternatives are meant as the ends of a range."""
    written = node.range if isinstance(node, ast.Param) else None
    if not isinstance(written, ast.ListLit) or len(written.items) != 2:
        return None
    low, high = (as_ref(a).known for a in alternatives)
    if low is None or high is None or not low < number < high:
        return None
    first, last = (item.span.text for item in written.items)
    return f"a list gives alternatives; a range is written `in {first} .. {last}`"


def check_given(m: PartialEvaluator, free: InputSpec, value: Value, env: Env, span: Span) -> None:
    """Hold an argument of a call to the param's range or alternatives.

    What is known not to fit is a failure; what depends on a param becomes a rule.
    """
    info = free.info
    fits = _among(m, free.alternatives, value, span)
    if not free.alternatives:
        fits = _between(m, info, value, span)
    if fits.known == 1.0:
        return
    allowed = ", ".join(info.labels)
    if not free.alternatives:
        low, high = (_shown(info, end, env) for end in (info.low, info.high))
        allowed = f"{low} {free.between} {high}"
    if fits.known is None:
        m.assert_rule("outside-range", fits, span, f"`{info.name}` is outside {allowed}", env)
        return
    number = as_ref(value).known if isinstance(value, Ref) else None
    have = f"`{span.text}`" if number is None else _shown(info, number, env)
    raise ElaborationError(
        "outside-range",
        f"`{info.name}` cannot be {have}: it is one of {allowed}"
        if free.alternatives
        else f"`{info.name}` cannot be {have}: its range is {allowed}",
        span,
        others=[(info.span, "declared here")],
    )


def _shown(info: ParamInfo, value: float | None, env: Env) -> str:
    return "…" if value is None else quantity_text(value, info.dim, env.scope, info.unit)


def _between(m: PartialEvaluator, info: ParamInfo, value: Value, span: Span) -> Ref:
    if info.low is None or info.high is None or not isinstance(value, Ref):
        return m.truth(True)
    if m.is_within(value, info.low, info.high):
        return m.truth(True)
    above = m.op(span, "le", m.const(info.low), value)
    return m.op(span, "and", above, m.op(span, "le", value, m.const(info.high)))


def _among(m: PartialEvaluator, alternatives: Sequence[Value], value: Value, span: Span) -> Ref:
    """Whether a value is one of the alternatives; components are compared by identity."""
    if isinstance(value, SelectRecord):
        return m.select_number(
            value.selector, [_among(m, alternatives, a, span) for a in value.alternatives]
        )
    if isinstance(value, EnumValue) and len(alternatives) == len(value.enum.cases):
        return m.truth(True)
    result = m.truth(False)
    for alternative in alternatives:
        result = m.op(span, "or", result, equal(m, span, value, alternative))
    return result


def as_input(m: PartialEvaluator, free: InputSpec) -> Value:
    """The param as an input of the graph."""
    info = free.info
    if info.type in (REAL, INT):
        low = -float("inf") if info.low is None else info.low
        high = float("inf") if info.high is None else info.high
        return m.builder.param(info.name, info.type, low=low, high=high)
    if info.type == BOOL:
        return m.builder.param(info.name, BOOL, uniform=True, low=0.0, high=1.0)
    last = len(free.alternatives) - 1.0
    ref = m.builder.param(info.name, INT, uniform=True, low=0.0, high=last)
    first = free.alternatives[0]
    if isinstance(first, EnumValue) and _all_cases(free.alternatives):
        return EnumValue(first.enum, ref)
    return pick_value(m, ref, free.alternatives, info.span)


def argument(m: PartialEvaluator, free: InputSpec, value: Value, span: Span) -> Ref:
    """The number that `as_input` reads for a param that a call gives a value."""
    if isinstance(value, Ref):
        return m.widen(value) if free.info.type == REAL else value
    if isinstance(value, EnumValue) and _all_cases(free.alternatives):
        return value.ref
    if isinstance(value, SelectRecord) and not any(value is a for a in free.alternatives):
        return m.select_number(
            value.selector, [argument(m, free, a, span) for a in value.alternatives]
        )
    # `check_given` has stated that the value is one of them: the 0 at the end stands for no other.
    found = m.const(0, INT)
    for i, alternative in reversed(list(enumerate(free.alternatives))):
        same = equal(m, span, value, alternative)
        found = m.op(span, "select", same, m.const(i, INT), found)
    return found


def default(m: PartialEvaluator, info: ParamInfo) -> Ref | None:
    """The number that `as_input` reads for a param at its default."""
    kind = INT if info.type in ("enum", "component") else info.type
    return None if info.default is None else m.const(info.default, kind)


def _all_cases(alternatives: Sequence[Value]) -> bool:
    return all(isinstance(v, EnumValue) and v.ref.known == i for i, v in enumerate(alternatives))


def fixed(m: PartialEvaluator, free: InputSpec, value: float) -> Value:
    """The param at a value in base units, or at an index among its alternatives."""
    if free.info.type in ("enum", "component"):
        return free.alternatives[int(value)]
    return m.const(value, free.info.type)


def calibrated_info(m: PartialEvaluator, name: str, symbol: ValueInfo) -> ParamInfo:
    """A fitted coefficient as a param."""
    node, env = symbol.decl, Env(symbol.scope)
    assert isinstance(node, ast.Calibrated)
    value = _known(m, node.value, env, "a coefficient")
    low = high = None
    if isinstance(node.range, ast.Binary):
        low, high = (_known(m, e, env, "a bound") for e in (node.range.left, node.range.right))
    type_ = m.checked.types.get(node.value)
    dim = dim_of(type_)
    units = (literal_unit(m, e) for e in (node.value, node.range) if e is not None)
    unit = next((u for u in units if u is not None and u.dim == dim), None)
    unit = unit or coherent_unit(dim, env.scope)
    return ParamInfo(name, node.doc, unit.dim, REAL, unit, value, low, high, (), (), node.span)
