"""What the `figure` and `table` declarations of a file show, and the sweeps that answer.

Input: a loaded module. Output: `FigureData`s, each with its evaluator's sweep. A setting that is
the name of a param says which values it takes: `batch = [1, 8, 64]`, `bandwidth = 1 TB/s .. 10
TB/s`, any expression of the language. The others are:

======== =========================================================================================
of       the evaluator
x        of a figure, the param along the horizontal axis
y        of a figure, the output or outputs drawn, all of one unit
by       of a figure, a param with a line for each of its values
y_label  of a figure, a text along the vertical axis instead of the names of the outputs
labels   of a figure, a text for each output of `y`, for the legend
rows     of a table, the param or params whose values the rows are
outputs  of a table, its outputs; all if left out
maximize of a table, the output or outputs in which the rows shown are the best (minimize too)
top      of a table, so many of the best; of several outputs it is their Pareto front
by       of a table, a param or params for each of whose values the best are shown
points   how many values a range has (50 of a figure, 5 of a table, all whole numbers of an int)
======== =========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from hwdsl.api.evaluator import DescriptionError, Evaluator, Module
from hwdsl.api.violated_rules import ViolatedRule, violated_rules
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.runtime import InUnit, OutputSpec, ParamSpec, Pareto, Sweep, Top
from hwdsl.elaborate import Picture, pictures
from hwdsl.elaborate.displays import Picked
from hwdsl.semantics.displays import WORDS, settings_of, texts_in
from hwdsl.show.int_axis import LeftOut, buildable


@frozen(eq=False)
class FigureData:
    """A figure or table with the points it shows: the sweep's axes are `along`, the last fastest.

    A figure has one axis or two, the last of which is horizontal. `broken` says of each rule that
    some point breaks what it asks for there, at the first of those points; `tried` are these
    points: those shown, and those whose whole numbers are `left_out` since they cannot be built.
    """

    form: str
    name: str
    doc: str
    evaluator: Evaluator
    along: tuple[ParamSpec, ...]
    outputs: tuple[OutputSpec, ...]
    sweep: Sweep
    tried: Sweep
    broken: tuple[ViolatedPoints, ...]
    left_out: tuple[LeftOut, ...] = ()
    y_label: str = ""
    labels: Mapping[str, str] = field(factory=dict)

    def said_of(self, output: OutputSpec) -> str:
        """What the figure calls an output: the file's words for it, or its name in words."""
        name, dot, place = output.name.partition(".")
        return f"{self.labels.get(name, spoken(name))}{dot}{place}"


@frozen
class ViolatedPoints:
    """A rule that some points of a display break: how many, and what to say of it at the first."""

    rule: str
    points: int
    first: ViolatedRule


def displays(module: Module, *, raw: bool = False) -> list[FigureData]:
    """The figures and tables of a file that need no measured data, evaluated, in its order.

    The outputs of infeasible points are NaN unless they are to be `raw`. Raises
    DescriptionError for a declaration that cannot be shown.
    """
    diagnostics = Diagnostics()
    elaborations = {name: e.elaboration for name, e in module.evaluators.items()}
    found = pictures(module.checked, elaborations, diagnostics)
    if diagnostics.failed:
        raise DescriptionError(diagnostics)
    return [_display(module.evaluators[picture.evaluator], picture, raw) for picture in found]


def _display(evaluator: Evaluator, picture: Picture, raw: bool) -> FigureData:
    node = picture.node
    values = {n: _in_unit(evaluator.param(n), v) for n, v in picture.values.items()}
    held = {n: v[0] for n, v in values.items() if n not in picture.along}
    axes = {n: values[n] for n in picture.along}
    tried, left = None, tuple[LeftOut, ...]()
    if picture.ranges and not raw and picture.picked is None:
        found, tried, left = buildable(evaluator, {**held, **axes}, picture.ranges)
        axes.update({n: v.view(InUnit) for n, v in found.items()})
    points = {**held, **axes}
    picked = picture.picked
    sweep = evaluator.sweep(points) if picked is None else _best(evaluator, picked, points)
    tried = sweep if tried is None or not left else tried
    along = tuple(evaluator.param(n) for n in picture.along)
    outputs = _outputs(evaluator, picture.outputs)
    name, doc, broken = node.name.name, node.doc, _broken(evaluator, tried)
    sweep = sweep.raw if raw else sweep
    said = {n: texts_in(v) for n, v in settings_of(node).items() if n in WORDS[node.form]}
    labels = dict(zip(picture.outputs, said.get("labels") or (), strict=False))
    return FigureData(
        node.form, name, doc, evaluator, along, outputs, sweep, tried, broken, left,
        y_label="".join(said.get("y_label") or ()), labels=labels,
    )  # fmt: skip


def _best(evaluator: Evaluator, picked: Picked, points: dict[str, Any]) -> Sweep:
    """The points that are the best in what is asked for."""
    up, down = picked.maximize, picked.minimize
    if len(up) + len(down) > 1:
        front: Sweep = evaluator.reduce(Pareto(maximize=up, minimize=down), points)
        return front
    best: Sweep = evaluator.reduce(Top(picked.top, "".join(up), "".join(down), picked.by), points)
    return best


def _in_unit(param: ParamSpec, values: Sequence[float]) -> Any:
    """Values in base units as they are given to a sweep."""
    if param.kind in ("choice", "bool"):
        return [param.show(value) for value in values]
    return np.asarray(param.scale.from_base(np.array(values))).view(InUnit)


def _outputs(evaluator: Evaluator, names: Sequence[str]) -> tuple[OutputSpec, ...]:
    """The outputs of those names, a vector's elements for its name; all if none is named."""
    known = evaluator.spec.outputs
    wanted = names or dict.fromkeys(o.name.partition(".")[0] for o in known)
    return tuple(o for name in wanted for o in known if o.name.partition(".")[0] == name)


def _broken(evaluator: Evaluator, sweep: Sweep) -> tuple[ViolatedPoints, ...]:
    """The requirements that points break, the most frequent first."""
    required = {r.name for r in evaluator.spec.rules if r.severity == "require"} | {"undefined"}
    found = []
    for rule, count in sorted(sweep.violations.items(), key=lambda item: -item[1]):
        if rule in required:
            at = sweep.grid.point(int(np.flatnonzero(sweep.broken(rule))[0]))
            (first,) = violated_rules(evaluator.elaboration, [rule], at)
            found.append(ViolatedPoints(rule, count, first))
    return tuple(found)


# --- texts -------------------------------------------------------------------------------------


def spoken(name: str) -> str:
    """A name in words: `price_by_seats` is `price by seats`."""
    return name.replace("_", " ").strip()


def words(name: str) -> str:
    """A name as the title of something: `price_by_seats` is `Price by seats`."""
    text = spoken(name)
    return text[:1].upper() + text[1:]


def titled(name: str, unit: str) -> str:
    """What is shown, with its unit behind it."""
    return f"{name} [{unit}]" if unit else name


def plain(value: float, digits: int = 6) -> str:
    """A number with so many digits, its thousands separated; very large and small ones with a
    power of ten."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{round(value, digits - 1 - math.floor(math.log10(abs(value)))):,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
