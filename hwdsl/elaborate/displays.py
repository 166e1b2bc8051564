"""The points that a figure or table shows: which params take which values, in base units.

Values that a file gives are expressions like any other, known when the file is compiled; a param
along an axis for which none are given goes over its declared range or its alternatives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attrs import frozen

from hwdsl.base.source import Span
from hwdsl.elaborate import params
from hwdsl.elaborate.elaboration_info import Elaboration, ParamInfo
from hwdsl.elaborate.evaluator import open_evaluator
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.select_lowering import items_of
from hwdsl.elaborate.values import ElaborationError, Env, ListValue, RangeValue, Value
from hwdsl.semantics.displays import (
    GOALS,
    OUTPUTS,
    PARAMS,
    names_in,
    own_settings,
    settings_of,
)
from hwdsl.semantics.symbols import EvaluatorInfo
from hwdsl.syntax import ast

STEPS = {"figure": 50, "table": 5}
"""Values of a range of reals, unless `points` says how many."""
WIDE = 50.0
"""From this ratio of its ends on, a positive range is taken in equal ratios."""
MOST_POINTS = 100_000
"""Points of one figure or table."""
MOST_LOOKED_AT = 100_000_000
"""Points of which a table shows the best."""
MOST_LINES = 100
"""Lines of one figure."""


@frozen
class Picture:
    """What a figure or table shows: the axes, the last of them fastest, and the outputs.

    `values` has, for each axis and for each param that is held, the values in base units (an index
    for a case or component). `ranges` has the axes of whole numbers of which the file says at most
    from where to where they go: which of those are shown is left to whoever shows them.
    """

    node: ast.Display
    evaluator: str
    along: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]
    ranges: Mapping[str, IntRange]
    picked: Picked | None = None


@frozen
class Picked:
    """Which points a table shows: the best `top` in one output, for each value of the params `by`,
    or the Pareto front of several."""

    maximize: tuple[str, ...]
    minimize: tuple[str, ...]
    top: int = 1
    by: tuple[str, ...] = ()


@frozen
class IntRange:
    """Whole numbers from `low` to `high`, of which some are shown.

    `count` says how many; None for all. With `powers` they are powers of two where those do, as
    degrees and batches are; with `ratios` they stand in equal ratios and not in equal steps.
    """

    low: float
    high: float
    count: int | None
    ratios: bool = False
    powers: bool = False


def picture_of(
    m: PartialEvaluator, info: EvaluatorInfo, elaboration: Elaboration, node: ast.Display
) -> Picture:
    """The points of a display. Raises ElaborationError for what cannot be shown."""
    settings = settings_of(node)
    along = _named(settings, PARAMS[node.form][::-1])
    outputs = _named(settings, OUTPUTS[node.form])
    if len(set(along)) < len(along):
        raise ElaborationError(
            "bad-display", "`x` and `by` are the same param", settings["by"].span
        )
    if node.form == "figure":
        _one_unit(elaboration, outputs, settings["y"].span)
    steps = _steps(m, node, settings)
    known = {p.name: p for p in elaboration.params}
    values: dict[str, tuple[float, ...]] = {}
    for name, param in known.items():
        given = settings.get(name) if name not in own_settings(node.form) else None
        if given is not None:
            values[name] = _given(m, info, param, given, node.form, steps)
            if name not in along and len(values[name]) > 1:
                raise _several(node, param, given)
        elif name in along:
            values[name] = _over_range(param, node, steps)
        elif param.default is None:
            what = f"the {node.form} `{node.name.name}`"
            text = f"{what} gives no value to `{name}`, which has no default"
            raise ElaborationError("missing-argument", text, node.name.span, f"add `{name} = …`")
    picked = _picked(m, node, settings, elaboration)
    _check_size(
        node, [len(values[name]) for name in along], MOST_LOOKED_AT if picked else MOST_POINTS
    )
    ranges = {
        name: _int_range(known[name], values[name], settings.get(name), node, steps)
        for name in along
        if known[name].type == "int" and not known[name].values and _leaves_open(settings.get(name))
    }
    return Picture(node, info.name, along, outputs, values, ranges, picked)


def _picked(
    m: PartialEvaluator,
    node: ast.Display,
    settings: Mapping[str, ast.Expr],
    elaboration: Elaboration,
) -> Picked | None:
    """Which of its points a table shows; None for all."""
    numbers = {o.name for o in elaboration.outputs if o.type in ("real", "int") and not o.labels}
    goals = {setting: _named(settings, (setting,)) for setting in GOALS[node.form]}
    for setting, names in goals.items():
        for name in names:
            if name not in numbers:
                text = f"`{name}` is no number: it has no most and no least"
                raise ElaborationError("bad-display", text, settings[setting].span)
    if not any(goals.values()):
        return None
    top = 1
    if "top" in settings:
        value = settings["top"]
        number = m.number(value, Env(m.checked.main))
        top = int(m.require_constant(number, "`top`", value.span))
        if not 1 <= top <= MOST_POINTS:
            text = f"`top` is a whole number from 1 to {MOST_POINTS:,}"
            raise ElaborationError("bad-display", text, value.span)
    return Picked(goals["maximize"], goals["minimize"], top, _named(settings, ("by",)))


def _leaves_open(given: ast.Expr | None) -> bool:
    """Whether a file does not list the values of an axis."""
    return given is None or (isinstance(given, ast.Binary) and given.op == "..")


def _int_range(
    param: ParamInfo,
    values: Sequence[float],
    given: ast.Expr | None,
    node: ast.Display,
    steps: int | None,
) -> IntRange:
    """The whole numbers that an axis goes over; its first and last value are the ends."""
    low, high = values[0], values[-1]
    if given is not None:
        return IntRange(low, high, steps)
    wide = low > 0 and high >= WIDE * low
    return IntRange(low, high, steps or STEPS[node.form], wide, wide and steps is None)


def _named(settings: Mapping[str, ast.Expr], wanted: Sequence[str]) -> tuple[str, ...]:
    found = [names_in(settings[s]) or [] for s in wanted if s in settings]
    return tuple(name.name for names in found for name in names)


def _one_unit(elaboration: Elaboration, outputs: Sequence[str], span: Span) -> None:
    """Outputs that share an axis are in one unit."""
    units = {o.name: o.unit.name for o in elaboration.outputs if o.name in outputs}
    if len(set(units.values())) > 1:
        said = ", ".join(f"`{name}` in {unit}" for name, unit in units.items())
        text = f"the outputs of a figure are in one unit; these are in different units: {said}"
        raise ElaborationError("bad-display", text, span, "draw them in figures of their own")


def _steps(m: PartialEvaluator, node: ast.Display, settings: Mapping[str, ast.Expr]) -> int | None:
    """How many values a range has; None if the file does not say."""
    value = settings.get("points")
    if value is None:
        return None
    number = m.require_constant(m.number(value, Env(m.checked.main)), "`points`", value.span)
    if not 2 <= number <= MOST_POINTS:
        text = f"`points` is a whole number from 2 to {MOST_POINTS:,}"
        raise ElaborationError("bad-display", text, value.span)
    return int(number)


def _several(node: ast.Display, param: ParamInfo, given: ast.Expr) -> ElaborationError:
    where = "neither `x` nor `by`" if node.form == "figure" else "not in `rows`"
    return ElaborationError(
        "bad-display",
        f"`{param.name}` takes several values, and is {where}",
        given.span,
        "give it one value, or make it an axis",
    )


def _check_size(node: ast.Display, counts: Sequence[int], most: int) -> None:
    points = math.prod(counts)
    if points > most:
        shape = " x ".join(f"{n:,}" for n in counts)
        text = f"`{node.name.name}` has {shape} points; a {node.form} has at most {most:,}"
        help = "give fewer values; `hwdsl sweep` writes any number of points"
        raise ElaborationError("too-large", text, node.name.span, help)
    if node.form == "figure" and len(counts) > 1 and counts[0] > MOST_LINES:
        text = f"`{node.name.name}` has {counts[0]:,} lines; a figure has at most {MOST_LINES}"
        raise ElaborationError("too-large", text, node.name.span, "give `by` fewer values")


# --- values ------------------------------------------------------------------------------------


def _given(
    m: PartialEvaluator,
    info: EvaluatorInfo,
    param: ParamInfo,
    value: ast.Expr,
    form: str,
    steps: int | None,
) -> tuple[float, ...]:
    """The values that a file gives to a param, each held to its range or alternatives."""
    env = Env(m.checked.main)
    # Declared again: an elaboration keeps the labels of alternatives, and not the values.
    instance = open_evaluator(m, info, {})
    node = next(
        x
        for x in info.decl.members
        if isinstance(x, ast.Param | ast.Choice) and x.name.name == param.name
    )
    free = params.declare(m, node, info.free[param.name], instance.env)

    def number(item: Value, span: Span) -> float:
        params.check_given(m, free, item, env, span)
        return params.position(m, node, item, free.alternatives)

    if isinstance(value, ast.Binary) and value.op == "..":
        low, high = (number(m.evaluate(e, env), e.span) for e in (value.left, value.right))
        return _between(param, low, high, form, steps, value.span)
    if isinstance(value, ast.ListLit):
        found = tuple(number(m.evaluate(item, env), item.span) for item in value.items)
    else:
        whole = m.evaluate(value, env)
        many = isinstance(whole, ListValue | RangeValue)
        items = items_of(m, whole, value.span) if many else (whole,)
        found = tuple(number(item, value.span) for item in items)
    if not found:
        raise ElaborationError("empty-list", f"`{param.name}` is given no values", value.span)
    return found


def _between(
    param: ParamInfo, low: float, high: float, form: str, steps: int | None, span: Span
) -> tuple[float, ...]:
    """Values from `low` to `high` as the file writes them: equal steps, or all whole numbers."""
    if param.type not in ("real", "int") or param.values:
        raise ElaborationError(
            "bad-display",
            f"`{param.name}` has no values between others",
            span,
            f"write a list of some of {', '.join(f'`{label}`' for label in param.labels)}",
        )
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        text = "a range goes from its lower end to its upper one, and both are finite"
        raise ElaborationError("bad-display", text, span)
    if param.type == "int" and (steps is None or steps > high - low):
        return tuple(low + i for i in range(min(int(high - low), MOST_POINTS) + 1))
    return _spaced(param, low, high, steps or STEPS[form], ratios=False)


def _over_range(param: ParamInfo, node: ast.Display, steps: int | None) -> tuple[float, ...]:
    """The values of an axis for which the file gives none."""
    if param.values:
        return param.values
    if param.labels or param.type == "bool":
        return tuple(float(i) for i in range(len(param.labels) or 2))
    low, high = param.low, param.high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        text = f"`{param.name}` has no range: say which values it takes"
        raise ElaborationError(
            "bad-display", text, node.name.span, f"add `{param.name} = low .. high`"
        )
    # Ratios are those of the numbers shown: of degrees Celsius, not of the kelvins behind them.
    first, last = param.unit.from_base(low), param.unit.from_base(high)
    wide = first > 0 and last >= WIDE * first
    if param.type == "int" and wide and steps is None:
        return _powers(low, high)
    return _spaced(param, low, high, steps or STEPS[node.form], ratios=wide)


def _powers(low: float, high: float) -> tuple[float, ...]:
    """The powers of two from `low` to `high`, and the ends: degrees and batches are such numbers,
    and rules of divisibility hold for them."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    return tuple(sorted({low, high, *(2.0**k for k in range(first, last + 1))}))


def _spaced(
    param: ParamInfo, low: float, high: float, steps: int, *, ratios: bool
) -> tuple[float, ...]:
    """So many values in equal steps of the param's unit, or in equal ratios; both ends are in."""
    unit = param.unit
    first, last = unit.from_base(low), unit.from_base(high)
    shares = [i / (steps - 1) for i in range(steps)]
    if ratios:
        inner = [first * (last / first) ** share for share in shares[1:-1]]
    else:
        inner = [first + (last - first) * share for share in shares[1:-1]]
    between = [min(max(unit.to_base(x), low), high) for x in inner]
    values = [low, *between, high]
    return tuple(dict.fromkeys(map(round, values) if param.type == "int" else values))
