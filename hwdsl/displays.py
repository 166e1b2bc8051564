"""What the `figure` and `table` declarations of a file ask for, and the sweeps that answer.

Input: a loaded module. Output: `Display`s, each with its evaluator's sweep. A setting that is the
name of a param says which values it takes: `batch = [1, 8, 64]`, `bandwidth = 1 TB/s .. 10 TB/s`.
The others are:

======== =========================================================================================
of       the evaluator
x        of a figure, the param along the horizontal axis
y        of a figure, the output or outputs drawn, all of one unit
by       of a figure, a param with a line for each of its values
rows     of a table, the param or params whose values the rows are
outputs  of a table, its outputs; all if left out
points   how many values a range without steps has (50 of a figure, 5 of a table)
======== =========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from hwdsl.codegen.runtime import CallError, InUnit, Output, Param, Sweep
from hwdsl.evaluator import Evaluator, Module
from hwdsl.syntax import ast

WIDE = 50.0
"""From this ratio of its ends on, a positive range is taken in equal ratios."""
_OWN = ("of", "x", "y", "by", "rows", "outputs", "points")
"""Settings of a figure or table; a param of such a name can be an axis, and takes no values."""


@frozen(eq=False)
class Display:
    """A figure or table with the points it shows: the sweep's axes are `along`, the last fastest.

    A figure has one axis or two, the last of which is horizontal.
    """

    form: str
    name: str
    doc: str
    evaluator: Evaluator
    along: tuple[Param, ...]
    outputs: tuple[Output, ...]
    sweep: Sweep


def displays(module: Module) -> list[Display]:
    """The figures and tables of a file that need no measured data, evaluated, in its order.

    Raises CallError for a declaration whose settings do not fit its evaluator.
    """
    found = []
    for item in module.checked.main.tree.items:
        if isinstance(item, ast.Display):
            settings = {a.path[-1].name: a.value for a in item.settings}
            if "data" not in settings:
                try:
                    found.append(_display(module, item, settings))
                except CallError as error:
                    raise CallError(f"{item.form} {item.name.name}: {error}") from None
    return found


def _display(module: Module, item: ast.Display, settings: Mapping[str, ast.Node]) -> Display:
    evaluator = module.evaluators[_names(settings, "of")[0]]
    params = {p.name: p for p in evaluator.spec.params}
    for name, value in settings.items():
        if name not in _OWN and name not in params:
            known = ", ".join([*_OWN, *params])
            raise CallError(f"`{name}` is no setting ({value.span}); there are {known}")
    figure = item.form == "figure"
    axes = _names(settings, "by") + _names(settings, "x") if figure else _names(settings, "rows")
    wanted = _names(settings, "y" if figure else "outputs")
    if not axes or (figure and ("x" not in settings or not wanted)):
        raise CallError("a figure says `x` and `y`, a table `rows`")
    outputs = _outputs(evaluator, wanted)
    if figure and len({o.scale.unit for o in outputs}) > 1:
        raise CallError(f"{', '.join(o.name for o in outputs)} are in different units")
    points = _points(settings.get("points"), 50 if figure else 5)
    given = {n: _texts(settings[n]) for n in settings if n in params and n not in _OWN}
    along = tuple(evaluator.param(n) for n in axes)
    values = {p.name: _values(p, given.pop(p.name, None), points) for p in along}
    sweep = evaluator.sweep({**given, **values})
    return Display(item.form, item.name.name, item.doc, evaluator, along, outputs, sweep)


def _names(settings: Mapping[str, ast.Node], setting: str) -> list[str]:
    """The names that a setting gives: one, or a list of them."""
    value = settings.get(setting)
    if value is None:
        return []
    found: tuple[ast.Node, ...] = value.items if isinstance(value, ast.ListLit) else (value,)
    for item in found:
        if not isinstance(item, ast.Name):
            raise CallError(f"{setting} is a name, or a list of names ({item.span})")
    return [item.name for item in found if isinstance(item, ast.Name)]


def _outputs(evaluator: Evaluator, names: Sequence[str]) -> tuple[Output, ...]:
    """The outputs of those names, a vector's elements for its name; all if none is named."""
    found = []
    for name in names or dict.fromkeys(o.name.partition(".")[0] for o in evaluator.spec.outputs):
        matching = [o for o in evaluator.spec.outputs if o.name.partition(".")[0] == name]
        if not matching:
            known = ", ".join(o.name for o in evaluator.spec.outputs)
            raise CallError(f"{evaluator.name} has no output {name}; it has {known}")
        found.extend(matching)
    return tuple(found)


def _points(value: ast.Node | None, otherwise: int) -> int:
    if value is None:
        return otherwise
    if not (isinstance(value, ast.Number) and value.is_int and 2 <= int(value.text) <= 10_000):
        raise CallError(f"points is a whole number from 2 to 10,000 ({value.span})")
    return int(value.text)


def _texts(value: ast.Node) -> Any:
    """The text of a value as on the command line, or those of a list."""
    if isinstance(value, ast.ListLit):
        return [_texts(item) for item in value.items]
    return value.value if isinstance(value, ast.Text) else value.span.text


def _values(param: Param, given: Any, points: int) -> Any:
    """The values of a param along an axis: as given, or over its range."""
    if isinstance(given, str) and ".." in given and param.kind == "real" and ":" not in given:
        return given if " step " in given else f"{given}:{points}"
    if given is not None:
        return given
    if param.labels or param.kind == "bool":
        return "all"
    if not (math.isfinite(param.low) and math.isfinite(param.high)):
        raise CallError(f"say which values {param.name} takes: `{param.name} = …`")
    low, high = param.scale.from_base(param.low), param.scale.from_base(param.high)
    ends = np.geomspace if low > 0 and high >= WIDE * low else np.linspace
    values = np.clip(ends(low, high, points), low, high)
    if param.kind == "int":
        return np.unique(np.round(values)).astype(int).tolist()
    return values.view(InUnit)
