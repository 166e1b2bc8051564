"""Figures as SVG: a line or bars for each output and each value of the param they are drawn by.

Input: a `Display` of the form `figure`, or a `Comparison` with measurements. Output: SVG text, the
same for the same numbers. Needs matplotlib, which is imported when the first figure is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.codegen.runtime import Floats, Output, Param
from hwdsl.compare import Comparison
from hwdsl.displays import WIDE, Display

SIZE = (7.2, 4.2)
"""Inches."""


def svg(display: Display) -> str:
    """The figure as SVG text. Raises ModuleNotFoundError, with the remedy, without matplotlib."""
    return _svg(display.name, partial(draw, display))


def compared(comparison: Comparison) -> str:
    """Predictions over measurements as SVG text, a colour for each group; on the line they agree.

    Raises ModuleNotFoundError, with the remedy, without matplotlib.
    """
    return _svg(comparison.request.title, partial(draw_compared, comparison))


def _svg(name: str, fill: Callable[[Any], None]) -> str:
    matplotlib, figures = _matplotlib()
    style = {"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 10,
             "font.family": "sans-serif"}  # fmt: skip
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=SIZE, layout="constrained")
        fill(figure.add_subplot())
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def draw(display: Display, axes: Any) -> None:
    """Draw on a matplotlib `Axes`: solid where a point is feasible, dotted where it is not.

    Along a choice stand bars, along a number lines; an axis of wide range is logarithmic.
    """
    x, by = display.along[-1], display.along[:-1]
    sweep = display.sweep
    across = np.atleast_1d(sweep[x.name])[(0,) * len(by)]
    categories = across.dtype.kind not in "fi"
    places = np.arange(len(across)) if categories else across
    names = sweep[by[0].name][:, 0] if by else np.array([""])
    shown: list[Floats] = []
    count = len(names) * len(display.outputs)
    for output in display.outputs:
        values = np.asarray(sweep[output.name], float).reshape(len(names), -1)
        feasible = sweep.feasible.reshape(len(names), -1)
        for i, name in enumerate(names):
            label = _label(display, output, by[0] if by else None, name)
            if categories:
                width = 0.8 / count
                offset = (len(shown) - (count - 1) / 2) * width
                _bars(axes, places + offset, values[i], feasible[i], label, width)
            else:
                _line(axes, places, values[i], feasible[i], label)
            shown.append(values[i])
    axes.set_xlabel(_title(x.name, x.scale.unit))
    units = _title(", ".join(o.name for o in display.outputs), display.outputs[0].scale.unit)
    axes.set_ylabel(units)
    if categories:
        axes.set_xticks(places, [str(c) for c in across])
    else:
        if _is_wide(across):
            _logarithmic(axes.set_xscale, axes.xaxis)
        if _is_wide(np.concatenate(shown)):
            _logarithmic(axes.set_yscale, axes.yaxis)
    _finish(axes, legend=count > 1)


def draw_compared(comparison: Comparison, axes: Any) -> None:
    """Draw a comparison on a matplotlib `Axes`; axes of a wide range are logarithmic."""
    measured, predicted = comparison.measured, comparison.predicted
    cells = np.array(comparison.groups or [""] * len(measured))
    for name in dict.fromkeys(cells.tolist()):
        at = cells == name
        axes.plot(measured[at], predicted[at], "o", markersize=4, alpha=0.8, label=name)
    both = np.concatenate([measured, predicted])
    both = both[np.isfinite(both)]
    if _is_wide(both):
        _logarithmic(axes.set_xscale, axes.xaxis)
        _logarithmic(axes.set_yscale, axes.yaxis)
    ends = [both.min(), both.max()]
    axes.plot(ends, ends, color="gray", linewidth=0.8, zorder=0)
    axes.set_xlabel(_title("measured", comparison.unit))
    axes.set_ylabel(_title(comparison.request.output, comparison.unit))
    _finish(axes, legend=bool(comparison.groups))


def _finish(axes: Any, *, legend: bool) -> None:
    axes.grid(visible=True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend:  # above the axes: inside, bars leave it no room
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)


def _logarithmic(set_scale: Any, axis: Any) -> None:
    """A logarithmic axis with plain numbers at the powers of ten."""
    set_scale("log")
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def _line(axes: Any, x: NDArray[Any], y: Floats, feasible: NDArray[np.bool_], label: str) -> None:
    """One line; what cannot be built is dotted and pale, and joined to what can."""
    finite = np.where(np.isfinite(y), y, np.nan)
    good = np.where(feasible, finite, np.nan)
    (line,) = axes.plot(x, good, label=label, marker="o" if len(x) < 8 else "", linewidth=1.8)
    bad = ~feasible
    if bad.any():
        beside = bad.copy()
        beside[1:] |= bad[:-1]
        beside[:-1] |= bad[1:]
        axes.plot(
            x, np.where(beside, finite, np.nan), linestyle=":", linewidth=1.2, alpha=0.6,
            color=line.get_color(),
        )  # fmt: skip


def _bars(
    axes: Any,
    x: NDArray[Any],
    y: Floats,
    feasible: NDArray[np.bool_],
    label: str,
    width: float,
) -> None:
    """Bars beside those of other series; what cannot be built is pale and dotted at its edge."""
    bars = axes.bar(x, np.where(np.isfinite(y), y, np.nan), width * 0.92, label=label)
    for bar, good in zip(bars, feasible, strict=True):
        if not good:
            bar.set(alpha=0.35, linestyle=":", edgecolor="black")


def _label(display: Display, output: Output, by: Param | None, value: object) -> str:
    words = [] if len(display.outputs) == 1 and by is not None else [output.name]
    if by is not None:
        shown = f"{value:g}" if isinstance(value, int | float) else str(value)
        words.append(f"{by.name} = {shown} {by.scale.unit}".rstrip())
    return ", ".join(words)


def _title(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _is_wide(values: Any) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0 and finite.max() >= WIDE * finite.min())


def _matplotlib() -> tuple[Any, Any]:
    try:
        import matplotlib
        import matplotlib.figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "figures need matplotlib: pip install 'hwdsl[report]'", name="matplotlib"
        ) from None
    return matplotlib, matplotlib.figure
