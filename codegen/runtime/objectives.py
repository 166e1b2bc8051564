"""What is to be as small or as large as it can be, and which points can still be better.

Points are compared by what users see: outputs and params in their declared units. A kernel gives
base units, and to convert all values would take longer than to compare them; so a bound is
converted back instead, to the side on which no point that counts is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .block import Marks, Places, PointBlock
from .errors import CallError
from .kernel import Floats
from .spec import ParamSpec, Scale, Spec, did_you_mean

_AS_IS = Scale()


@dataclass(frozen=True)
class Objective:
    """An output or param that is to be as small as it can be, or with `most` as large.

    Costs are values in the declared unit, with the sign that makes the least the best.
    """

    name: str
    most: bool
    scale: Scale

    def costs(self, block: PointBlock, places: Places | None = None) -> Floats:
        """The costs of all points, or of some."""
        values = block.shown(self.name, places)
        return -values if self.most else values

    def bound(self, cost: float, *, equal: bool) -> float:
        """The base value from which on a cost is greater than this one, or `equal` to it.

        Whatever lies on the far side of it cannot be less. Conversion is monotone, so a value that
        converts to a greater cost bounds all that do.
        """
        if math.isinf(cost):
            return -cost if self.most else cost
        value = -cost if self.most else cost
        base = float(self.scale.to_base(value))
        away = -math.inf if self.most else math.inf
        step = math.ulp(max(abs(base), abs(self.scale.parts()[2])))
        while math.isfinite(base):
            there = float(self.scale.from_base(base))
            there = -there if self.most else there
            if there > cost or (equal and there >= cost):
                return base
            base += math.copysign(step, away)
            step *= 2.0
        return away

    def under(self, base: Floats, bounds: Floats | float, out: Marks | None = None) -> Marks:
        """Where base values are better than bounds; NaN is nowhere better."""
        found: Marks = (np.greater if self.most else np.less)(base, bounds, out=out)
        return found


def objective(spec: Spec, name: str, *, most: bool) -> Objective:
    """The goal of that name; CallError if it is no output or param that is a number."""
    for output in spec.outputs:
        if output.name == name and not output.labels:
            return Objective(name, most, output.scale)
    numbers = [p for p in spec.params if p.kind in ("real", "int")]
    for param in numbers:
        if param.name == name:
            return Objective(name, most, _shown_in(param))
    outputs = [o.name for o in spec.outputs if not o.labels]
    known = did_you_mean(name, [*outputs, *(p.name for p in numbers)])
    raise CallError(f"{spec.name} has no output or numeric param {name}{known}")


def objectives(
    spec: Spec, maximize: str | Sequence[str], minimize: str | Sequence[str]
) -> list[Objective]:
    """Several goals, those to maximize first; CallError if there are none."""
    up, down = ([n] if isinstance(n, str) and n else list(n) for n in (maximize, minimize))
    found = [objective(spec, n, most=True) for n in up] + [
        objective(spec, n, most=False) for n in down
    ]
    if not found:
        raise CallError("name outputs or params to maximize or to minimize")
    return found


def one_objective(spec: Spec, maximize: str, minimize: str) -> Objective:
    """The one goal there is; CallError if there are two or none."""
    if bool(maximize) == bool(minimize):
        raise CallError("name one output or param, to maximize or to minimize")
    return objective(spec, maximize or minimize, most=bool(maximize))


def _shown_in(param: ParamSpec) -> Scale:
    return param.scale if param.kind == "real" else _AS_IS
