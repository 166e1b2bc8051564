"""Figures as SVG: a line or bars for each output and each value of the param they are drawn by.

Input: a `FigureData` of the form `figure`, or `Validation`s against measurements. Output: SVG text,
the same for the same numbers. Needs matplotlib, which is imported when the first figure is drawn.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwdsl.base.packages import needed
from hwdsl.codegen.runtime import CallError, Floats, OutputSpec, ParamSpec
from hwdsl.elaborate.displays import WIDE
from hwdsl.measure.validate import PredictionErrors, Validation
from hwdsl.show.figure_data import FigureData, plain, spoken, titled, words
from hwdsl.show.marks import mark_infeasible, name_stretches

CREATOR = "hwdsl"
"""Who made a figure, in its metadata."""
SIZE = (7.2, 4.2)
"""Inches."""
PANEL = (7.2, 5.6)
"""Inches of a validation with its legend."""
LEGEND_WIDTH = 0.85
"""Part of a picture's width that a legend above the axes may take; the rest is their labels."""
FEW = 24
"""Whole numbers on a line up to which each has a marker."""
ACROSS = 78
"""Letters that fit side by side below the axes."""
LARGEST = 1e150
"""Beyond it, a picture's margins and squares are not finite."""
FARTHEST = 10.0
"""Ratio of predicted to measured beyond which a point is drawn at the edge."""
NARROW = 8.0
"""From this ratio of largest to smallest on, a validation's axes are logarithmic."""
DASHES = ("-", (0, (6, 2)), (0, (6, 2, 1.5, 2)), (0, (3, 1.5)))
"""Lines that lie upon each other can be told apart, and without colours too."""
COLOURED = 10
"""Groups with a colour of their own: as many as can be told apart."""


def svg(display: FigureData) -> str:
    """The figure as SVG text. Raises ModuleNotFoundError, with the remedy, without matplotlib."""
    _check_sizes(display.name, *(display.sweep[o.name] for o in display.outputs))
    return _svg(display.name, SIZE, 1, [lambda figure: draw(display, figure.add_subplot())])


def validated(*validations: Validation) -> str:
    """Predictions over measurements as SVG text, a panel for each validation, two in a row.

    Raises ModuleNotFoundError, with the remedy, without matplotlib.
    """
    name = " ".join(v.request.title for v in validations)
    for v in validations:
        _check_sizes(
            v.request.title, v.measured, v.predicted, *(() if v.baseline is None else (v.baseline,))
        )
    columns = min(2, len(validations))
    return _svg(name, PANEL, columns, [partial(draw_validated, v) for v in validations])


def _check_sizes(name: str, *columns: Any) -> None:
    """Raise CallError for values so large that no axis with room at its ends is finite."""
    for values in columns:
        sizes = np.abs(np.asarray(values, float))
        if (np.isfinite(sizes) & (sizes > LARGEST)).any():
            raise CallError(f"{name}: values beyond {LARGEST:g} cannot be drawn")


def _svg(
    name: str, size: tuple[float, float], columns: int, fill: Sequence[Callable[[Any], None]]
) -> str:
    matplotlib, figures = _matplotlib()
    # A dollar in a text of the file is a dollar, and no start of a formula.
    style = {"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 10,
             "font.family": "sans-serif", "text.parse_math": False}  # fmt: skip
    rows = -(-len(fill) // columns)
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # The text stays text: whoever shows it has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        inches = (columns * size[0], rows * size[1])
        figure = figures.Figure(figsize=inches, layout="constrained")
        panels = figure.subfigures(rows, columns, squeeze=False).ravel()
        for draw_on, panel in zip(fill, panels, strict=False):  # the last row may not be full
            draw_on(panel)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": CREATOR})
    text = out.getvalue()
    return text[text.index("<svg") :]


def draw(display: FigureData, axes: Any) -> None:
    """Draw on a matplotlib `Axes`: values where a point is feasible, a mark below where it is not.

    Along a choice stand bars, along a number lines; an axis of wide range is logarithmic. Marks
    are named by the rule that is broken there. Raw values of infeasible points are dotted.
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
                dash = DASHES[len(shown) % len(DASHES)]
                _line(axes, places, values[i], feasible[i], label, dash, joined=x.kind == "int")
            shown.append(values[i])
    first, names_of = display.outputs[0], ", ".join(map(display.said_of, display.outputs))
    doc = display.y_label or (first.doc if len(display.outputs) == 1 else "")
    axes.set_xlabel(_said(x.name, x.doc, x.scale.unit, 80))
    axes.set_ylabel(_said(names_of, doc, first.scale.unit, 38))
    if categories:
        axes.set_xticks(places, [_in_lines(str(c), ACROSS // len(across)) for c in across])
        axes.set_xlim(-0.5, len(places) - 0.5)  # where the first or the last is not drawn, too
    else:
        if _is_wide(across):
            _logarithmic(axes.set_xscale, axes.xaxis)
        else:
            axes.xaxis.set_major_formatter(_tick)
        if _is_wide(np.concatenate(shown)):
            _logarithmic(axes.set_yscale, axes.yaxis)
        else:
            axes.yaxis.set_major_formatter(_tick)
        if np.any(np.concatenate(shown) < 0) and np.any(np.concatenate(shown) > 0):
            axes.axhline(0, color="0.3", linewidth=0.8, zorder=0)
    if sweep.is_raw:
        name_stretches(display, axes, places)
    else:
        mark_infeasible(display, axes, places)
    _finish(axes, legend=count > 1)


def _in_lines(name: str, width: int) -> str:
    """A name broken behind underscores, so that no line has more letters, where that can be."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def draw_validated(validation: Validation, figure: Any) -> None:
    """Draw a validation on a matplotlib figure: above predicted over measured, below their ratio.

    On the line both are equal; the bands hold half and nine tenths of the points. What the baseline
    says is pale, behind the predictions. Axes are logarithmic unless they are short.
    """
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    request, measured = validation.request, validation.measured
    low, high, logarithmic = _ends(validation)
    _bands(validation, above, low, high)
    end = _farthest(validation)
    for style in _points(validation):
        at, predicted = style.pop("at"), style.pop("predicted")
        above.plot(measured[at], predicted[at], **style)
        below.plot(measured[at], np.clip(predicted[at] / measured[at], 1 / end, end), **style)
    _ratios(validation, below, (low, high), end)
    if logarithmic:
        _logarithmic(above.set_xscale, above.xaxis)
        _logarithmic(above.set_yscale, above.yaxis)
    above.set(xlim=(low, high), ylim=(low, high))
    above.set_ylabel(titled(spoken(request.output), validation.unit))
    above.set_title(f"{words(request.title)}: {len(measured):,} rows", loc="left", fontsize=10)
    below.set_xlabel(titled("measured", validation.unit))
    below.set_ylabel(f"{request.output} / measured")
    for axes in (above, below):
        _finish(axes, legend=False)
    above.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=8,
                 title="median error", title_fontsize=8, alignment="left")  # fmt: skip


def _points(validation: Validation) -> list[dict[str, Any]]:
    """What is drawn, as settings of `plot`: the baseline, then each group, the largest first."""
    found: list[dict[str, Any]] = []
    if validation.baseline is not None:
        label = _scored(validation.request.baseline or "", validation.baseline_errors)
        found.append({"at": slice(None), "predicted": validation.baseline, "label": label,
                      "marker": "x", "color": "0.6", "alpha": 0.5, "zorder": 1,
                      "markersize": 4})  # fmt: skip
    for i, (name, at, errors) in enumerate(_coloured(validation)):
        colour = f"C{i}" if i < COLOURED else "0.25"
        found.append({"at": at, "predicted": validation.predicted, "label": _scored(name, errors),
                      "marker": "o", "color": colour, "alpha": 0.6, "zorder": 2,
                      "markersize": 3.5, "markeredgewidth": 0})  # fmt: skip
    return [{**style, "linestyle": ""} for style in found]


def _farthest(validation: Validation) -> float:
    """The end of the axis of ratios; what the baseline says beyond it is drawn at the edge."""
    ratio = validation.predicted / validation.measured
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    farthest = float(np.exp(np.abs(np.log(ratio)).max())) if len(ratio) else 1.0
    return 1.05 * min(max(farthest, 1.25), FARTHEST)


def _ratios(validation: Validation, axes: Any, ends: tuple[float, float], end: float) -> None:
    """The axis of predicted over measured, as far up as down, and its bands."""
    for _, size, alpha in _widths(validation.errors):
        axes.fill_between(ends, max(1 - size, 1e-9), 1 + size, color="C0", alpha=alpha,
                          linewidth=0, zorder=0)  # fmt: skip
    axes.axhline(1, color="black", linewidth=0.8, zorder=1)
    axes.set_yscale("log")
    axes.set_ylim(1 / end, end)
    near = (0.8, 1, 1.25) if end < 1.5 else (0.5, 0.7, 1, 1.4, 2)
    ticks = near if end < 3 else (0.1, 0.2, 0.5, 1, 2, 5, 10)
    axes.set_yticks([t for t in ticks if 1 / end <= t <= end])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _ends(validation: Validation) -> tuple[float, float, bool]:
    """The ends of both axes, with room beyond the points, and whether they are logarithmic.

    A baseline far off is not followed.
    """
    both = np.concatenate([validation.measured, validation.predicted])
    both = both[np.isfinite(both)]
    low, high = float(both.min()), float(both.max())
    if low > 0 and high >= NARROW * low:
        return low / 1.3, high * 1.3, True
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room, False


def _bands(validation: Validation, axes: Any, low: float, high: float) -> None:
    """The line of equality, and around it what half and nine tenths of the predictions keep to."""
    line = np.geomspace(low, high, 65) if low > 0 else np.linspace(low, high, 65)
    for share, size, alpha in _widths(validation.errors):
        axes.fill_between(
            line, line * max(1 - size, 1e-9), line * (1 + size), color="C0", alpha=alpha,
            linewidth=0, zorder=0, label=f"{share} within {100 * size:.1f} %",
        )  # fmt: skip
    axes.plot(line, line, color="black", linewidth=0.8, zorder=1)


def _widths(errors: PredictionErrors) -> list[tuple[str, float, float]]:
    """The bands: what they hold, their half width, how dark they are."""
    bands = [("half", errors.median, 0.22), ("9 in 10", errors.p90, 0.1)]
    return [band for band in bands if np.isfinite(band[1])]


def _coloured(validation: Validation) -> list[tuple[str, NDArray[np.bool_], PredictionErrors]]:
    """The groups to draw, largest first; those beyond the colours there are as one."""
    cells = np.array(validation.groups or [validation.request.output] * len(validation.measured))
    names, counts = np.unique(cells, return_counts=True)
    names = names[np.argsort(-counts, kind="stable")]
    groups = [(str(name), cells == name) for name in names[:COLOURED]]
    if len(names) > COLOURED:
        rest = np.isin(cells, names[COLOURED:])
        groups.append((f"{len(names) - COLOURED} others", rest))
    return [(name, at, validation.errors.of(at)) for name, at in groups]


def _scored(name: str, errors: PredictionErrors | None) -> str:
    return name if errors is None else f"{name}: {100 * errors.median:.1f} %"


def _finish(axes: Any, *, legend: bool) -> None:
    axes.grid(visible=True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend:  # above the axes: inside, bars leave it no room
        for columns in (3, 2, 1):  # as many as are not wider than the picture
            made = axes.legend(
                frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns
            )
            if made.get_window_extent().width <= LEGEND_WIDTH * axes.figure.bbox.width:
                break


def _logarithmic(set_scale: Any, axis: Any) -> None:
    """A logarithmic axis with plain numbers at the powers of ten."""
    set_scale("log")
    axis.set_major_formatter(_tick)
    axis.set_minor_formatter("")


def _tick(value: float, place: object) -> str:
    """A number at an axis."""
    return plain(value)


def _line(
    axes: Any, x: NDArray[Any], y: Floats, feasible: NDArray[np.bool_], label: str, dash: Any,
    *, joined: bool,
) -> None:  # fmt: skip
    """One line, dashed in its own way; raw values of infeasible points are dotted and pale.

    A line without a feasible point is not in the legend: its dots or marks are. One of whole
    numbers is joined over those that cannot be built, each of the others with a marker.
    """
    finite = np.where(np.isfinite(y), y, np.nan)
    good = np.where(feasible, finite, np.nan)
    drawn = bool(np.isfinite(good).any())
    bad = ~feasible
    raw = bool((bad & np.isfinite(finite)).any())
    few = len(x) < 8 or (joined and np.count_nonzero(feasible) <= FEW)
    at = feasible if joined and not raw else np.ones(len(x), np.bool_)
    (line,) = axes.plot(
        x[at], good[at], label=label if drawn else "", marker="o" if few else "", linewidth=1.8,
        markersize=4 if len(x) >= 8 else 6, linestyle=dash,
    )  # fmt: skip
    if raw:
        beside = bad.copy()
        beside[1:] |= bad[:-1]
        beside[:-1] |= bad[1:]
        axes.plot(
            x, np.where(beside, finite, np.nan), linestyle=":", linewidth=1.2, alpha=0.6,
            color=line.get_color(), label="" if drawn else f"{label}, infeasible",
        )  # fmt: skip


def _bars(
    axes: Any,
    x: NDArray[Any],
    y: Floats,
    feasible: NDArray[np.bool_],
    label: str,
    width: float,
) -> None:
    """Bars beside those of other series; raw values of infeasible points are pale and dotted."""
    bars = axes.bar(x, np.where(np.isfinite(y), y, np.nan), width * 0.92, label=label)
    for bar, good in zip(bars, feasible, strict=True):
        if not good:
            bar.set(alpha=0.35, linestyle=":", edgecolor="black")


def _label(display: FigureData, output: OutputSpec, by: ParamSpec | None, value: object) -> str:
    said = [] if len(display.outputs) == 1 and by is not None else [display.said_of(output)]
    if by is not None:
        shown = plain(float(value)) if isinstance(value, int | float) else str(value)
        said.append(f"{spoken(by.name)} = {shown} {by.scale.unit}".rstrip())
    return ", ".join(said)


def _said(name: str, doc: str, unit: str, width: int) -> str:
    """The title of an axis: the first sentence that its file says of it, or else its name."""
    sentence = " ".join(doc.split()).partition(". ")[0].rstrip(".")
    return "\n".join(textwrap.wrap(titled(sentence or words(name), unit), width))


def _is_wide(values: Any) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0 and finite.max() >= WIDE * finite.min())


def _matplotlib() -> tuple[Any, Any]:
    matplotlib, figure = (
        needed(module, "figures need matplotlib", "report")
        for module in ("matplotlib", "matplotlib.figure")
    )
    return matplotlib, figure
