"""Marks of what cannot be built in a figure: where it is, and which rules say so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.show.figure_data import FigureData

MOST_NAMED = 6
"""Stretches that are named by their rule in the picture; the text below names all."""
MOST_ROWS = 6
"""Lines with a row of marks of their own; the others share the last."""
ROW = 0.035
"""Height of a row, of that of the axes."""
FEW = 24
"""Marks of a row up to which each is a cross; more are a dotted line."""


def mark_infeasible(display: FigureData, axes: Any, places: NDArray[Any]) -> None:
    """Mark below the lines or bars where their points are infeasible, and name the rules."""
    sweep = display.sweep
    if sweep.feasible.all():
        return
    if not sweep.feasible.any():
        _say_none(display, axes)
        return
    feasible = sweep.feasible.reshape(-1, len(places))
    by = display.along[:-1]
    names = np.atleast_1d(sweep[by[0].name][:, 0]) if by else np.array([""])
    transform = axes.get_xaxis_transform()
    drawn = axes.get_lines()[: len(feasible)]
    bars = [box for box in axes.containers[: len(feasible)] if len(box)]
    count = min(len(feasible), MOST_ROWS)
    _make_room(axes, (count + 1.5) * ROW)
    for i, (good, name) in enumerate(zip(feasible, names, strict=True)):
        if good.all():
            continue
        height = (min(i, count - 1) + 0.7) * ROW
        few = np.count_nonzero(~good) <= FEW
        colour = bars[i][0].get_facecolor() if bars else drawn[i].get_color()
        middles = [b.get_x() + b.get_width() / 2 for b in bars[i]] if bars else places
        label = "" if good.any() or not by else f"{_called(display, name)}, infeasible"
        axes.plot(
            middles, np.where(good, np.nan, height), transform=transform, color=colour,
            linestyle="" if few else ":", marker="x" if few else "", markersize=4, linewidth=1.8,
            label=label, gid=f"infeasible-{i}", clip_on=False,
        )  # fmt: skip
    _name_rows(display, axes, places, (count + 0.4) * ROW)


def _called(display: FigureData, value: object) -> str:
    from hwdsl.show.figure_data import plain, spoken

    by = display.along[0]
    shown = plain(float(value)) if isinstance(value, int | float) else str(value)
    return f"{spoken(by.name)} = {shown} {by.scale.unit}".rstrip()


def _make_room(axes: Any, share: float) -> None:
    """Move the lower end of the axis of values down, so that nothing lies upon the marks."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        axes.set_ylim(low * (low / high) ** (share / (1 - share)), high)
        return
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= high])
    axes.set_ylim(low - (high - low) * share / (1 - share), high)


def _name_rows(display: FigureData, axes: Any, places: NDArray[Any], height: float) -> None:
    """Name the rules above the marks, each where it is broken most."""
    taken = list[float]()
    for broken in display.broken[:MOST_NAMED]:
        at = np.flatnonzero(display.sweep.broken(broken.rule).reshape(-1, len(places)).any(axis=0))
        if not len(at):
            continue
        middle = int(at[len(at) // 2])
        if any(abs(middle - other) < len(places) / 6 for other in taken):
            continue
        taken.append(middle)
        side = "left" if middle <= len(places) // 4 else "center"
        side = "right" if middle >= len(places) - 1 - len(places) // 4 and middle else side
        axes.annotate(
            _short(broken.rule), (places[middle], height), xycoords=axes.get_xaxis_transform(),
            ha=side, va="bottom", fontsize=8, color="0.35", style="italic",
            gid=f"broken-{broken.rule}-{display.along[-1].name}",
        )  # fmt: skip


def _say_none(display: FigureData, axes: Any) -> None:
    """Say that nothing can be built, and why."""
    points = f"{len(display.tried):,}"
    rules = [f"{_short(b.rule)} at {b.points:,} of {points}" for b in display.broken[:MOST_NAMED]]
    axes.text(
        0.5, 0.55, "\n".join(["No point can be built:", *rules]), transform=axes.transAxes,
        ha="center", va="center", color="0.35", gid="none-feasible",
    )  # fmt: skip
    axes.set_yticks([])


def _short(rule: str) -> str:
    """A rule's own name, without that of the part."""
    return rule.rpartition(".")[2]


def name_stretches(display: FigureData, axes: Any, places: NDArray[Any]) -> None:
    """Name the rule that each dotted stretch breaks, once for a stretch and a rule."""
    sweep, x = display.sweep, display.along[-1]
    told: set[tuple[str, int]] = set()
    broken = {b.rule: sweep.broken(b.rule).reshape(-1, len(places)) for b in display.broken}
    values = np.asarray(sweep[display.outputs[0].name], float).reshape(-1, len(places))
    for rule, where in broken.items():
        for row, heights in zip(where, values, strict=True):
            at = np.flatnonzero(row & np.isfinite(heights))
            if not len(at) or (rule, int(at[0])) in told or len(told) >= MOST_NAMED:
                continue
            told.add((rule, int(at[0])))
            middle = int(at[len(at) // 2])
            side = {0: "left", len(places) - 1: "right"}.get(middle, "center")
            axes.annotate(
                _short(rule), (places[middle], heights[middle]),
                xytext=(0, 5), textcoords="offset points", ha=side, fontsize=8, color="0.35",
                style="italic", gid=f"broken-{rule}-{x.name}",
            )  # fmt: skip
