"""Line plots: a quantity over the number of records, objects or trials, one panel per operation."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit, Lines
from benchbook.plots.points import iterate_rows
from benchbook.plots.sheet import (
    draw_marks,
    estimate_width,
    find_mark_limits,
    list_legend_handles,
    set_log_scale,
    start_sheet,
    write_panel_title,
)
from benchbook.plots.style import Layout
from benchbook.text.number_format import format_bounds, format_tick

_MOST_COLUMNS = 2
_LEAST_INCHES = 1.3  # height of a panel, also in a narrow figure
_LOW_SHARE = 0.5  # of a panel's height: the label of a bound that ends below is above it
_TICKS_INCHES = 0.6  # width of the ticks beside a panel


def draw_lines(exhibit: Exhibit, lines: Lines, layout: Layout) -> Figure:
    """Draw an exhibit's points as lines: published hollow and thin, this machine's with intervals.

    Call it inside `style.use_style`.
    """
    points, panels = exhibit.frame, lines.panels
    series = style.sort_series(points.loc[points["series"] != "", "series"]) or [""]
    levels = sorted({*lines.levels, *points["level"].dropna()})
    moved = _move_series_apart(points, series, lines.log[0], max(levels) - min(levels))

    # The grid of panels.
    columns = min(_MOST_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = lines.height
    if columns > 1:
        height *= min(1.0, layout.width / style.REPORT_WIDTH)
    height = max(height, _LEAST_INCHES) * rows + 0.15
    inches = layout.width / columns - _TICKS_INCHES
    figure = start_sheet(exhibit, layout, list_legend_handles(points, series, layout), height)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)

    for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        in_panel = moved[moved["panel"] == panel]
        first = rank // columns * columns
        in_row = moved[moved["panel"].isin(panels[first : first + columns])]
        ran = bool((in_panel["source"] == "here").any())
        axes.set_title(write_panel_title(lines.titles.get(panel, panel), inches, layout, ran=ran))
        for name in series:
            of_series = in_panel[in_panel["series"] == name].sort_values("level")
            _draw_series(axes, of_series, style.get_series_style(name), layout.marks)
        _scale_x(axes, levels, lines.log[0])
        _label_levels(axes, levels, inches, layout)
        _scale_y(axes, in_row if lines.shared_scale else in_panel, lines.log[1], lines.limits)
        _draw_bounds(axes, in_panel[in_panel["value"].isna()], layout.small)
    # Labels are at the outer panels only.
    for axes in grid[-1]:
        axes.set_xlabel(lines.axes_names[0])
    for axes in grid[:, 0]:
        axes.set_ylabel(lines.axes_names[1])
    return figure


def _move_series_apart(
    points: pd.DataFrame, series: Sequence[str], log: bool, span: float
) -> pd.DataFrame:
    """Move each series a little along x, so that equal values do not hide one another."""
    middle = (len(series) - 1) / 2
    rank = points["series"].map({name: at - middle for at, name in enumerate(series)})
    level = points["level"].astype(float)
    moved = level * np.exp(0.045 * rank) if log else level + 0.012 * span * rank
    return points.assign(level=moved)


def _draw_bounds(axes: Axes, bounds: pd.DataFrame, size: float) -> None:
    """Hatch the range between a paper's bounds."""
    across = axes.get_yaxis_transform()
    box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}
    about: dict[str, Any] = {"transform": across, "zorder": 4.5, "fontsize": size, "bbox": box}
    for bound in iterate_rows(bounds):
        bottom = bound.low if bound.low > 0 else axes.get_ylim()[0]
        axes.axhspan(bottom, bound.high, zorder=0.5, **style.BOUND_STYLE)
        label = f"published: {format_bounds(bound.low, bound.high, format_tick)}"
        scaled = axes.transScale.transform((axes.get_xlim()[0], bound.high))
        if axes.transLimits.transform(scaled)[1] < _LOW_SHARE:
            axes.text(0.98, bound.high, label, ha="right", va="bottom", **about)
        else:
            below = bound.low if bound.low > 0 else bound.high
            axes.text(0.02, below, label, ha="left", va="top", **about)


def _draw_series(axes: Axes, points: pd.DataFrame, look: style.SeriesStyle, size: float) -> None:
    """Draw one series: its printed values, over them this machine's with their intervals."""
    printed = points[(points["source"] == "published") & points["value"].notna()]
    x, y = printed["level"], printed["value"]
    axes.plot(x, y, look.dash, color=look.colour, linewidth=0.7, alpha=0.7, zorder=2)
    draw_marks(axes, x, y, look, size, hollow=True)
    here = points[points["source"] == "here"]
    x, low, high = here["level"], here["low"], here["high"]
    axes.plot(x, here["value"], look.dash, color=look.colour, zorder=2.5)
    draw_marks(axes, x, here["value"], look, size)
    axes.vlines(x, low, high, color=look.colour, linewidth=1.6 * size, zorder=3)
    axes.plot(x, low, "_", x, high, "_", color=look.colour, zorder=3)


def _scale_x(axes: Axes, levels: Sequence[float], log: bool) -> None:
    """Scale x to hold all levels."""
    step = (max(levels) - min(levels)) * 0.08
    if log:
        axes.set_xscale("log")
        axes.set_xlim(min(levels) / 1.5, max(levels) * 1.5)
    else:
        axes.set_xlim(min(levels) - step, max(levels) + step)


def _label_levels(axes: Axes, levels: Sequence[float], inches: float, layout: Layout) -> None:
    """Give each level a tick on x, and a label where it fits; the largest level always has one.

    `inches` is the length of x.
    """
    names: list[str] = []
    next_label = np.inf
    for level in reversed(levels):
        scaled = axes.transScale.transform((level, 1.0))
        place = axes.transLimits.transform(scaled)[0] * inches
        half = estimate_width([format_tick(level)], layout.rc["xtick.labelsize"]) / 2
        if place + half < next_label:
            names.append(format_tick(level))
            next_label = place - half - 0.03
        else:
            names.append("")
    axes.set_xticks(levels, names[::-1])
    axes.xaxis.set_minor_locator(NullLocator())


def _scale_y(
    axes: Axes, points: pd.DataFrame, log: bool, limits: tuple[float, float] | None
) -> None:
    """Scale y to hold every mark and bound, and intervals up to `sheet.REACH` on a log scale."""
    is_bound = points["value"].isna()
    marks = np.append(points["value"].to_numpy(dtype=float), points.loc[is_bound, ["low", "high"]])
    ends = points[["low", "high"]].to_numpy(dtype=float).ravel()
    marks = marks[np.isfinite(marks) & ((marks > 0) | (not log))]
    ends = ends[np.isfinite(ends) & ((ends > 0) | (not log))]
    values = np.append(marks, ends)
    low, high = (values.min(), values.max()) if len(values) else (1.0, 10.0)
    if log:
        if len(marks):
            low, high = find_mark_limits(marks, ends)
        margin = (high / low) ** 0.06 * 1.3
        set_log_scale(axes, "y", low / margin, high * margin)
    else:
        low = min(low, 0.0)
        axes.set_ylim(limits or (low - 0.03 * (high - low), high + 0.1 * (high - low)))
        axes.yaxis.set_major_formatter(format_tick)
