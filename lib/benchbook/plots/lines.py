"""Line plots: a quantity over the number of records, objects or trials, a panel an operation."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from benchbook.digits import between, short
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit, Lines
from benchbook.plots.points import each
from benchbook.plots.sheet import draw_marks, legend, log_scale, panel_title, start_sheet, text_width, within_reach
from benchbook.plots.style import Layout

_COLUMNS = 2
_LOWEST_INCHES = 1.3  # that a panel is given, in however narrow a figure
_LOW = 0.5  # of a panel: a band that ends below is named above it, at the right
_BESIDE_INCHES = 0.6  # what stands beside a panel


def draw_lines(exhibit: Exhibit, lines: Lines, layout: Layout) -> Figure:
    """Draw an exhibit's points as lines, published hollow and thin, this machine's filled with intervals.

    To be called inside `style.applied`.
    """
    points, panels = exhibit.frame, lines.panels
    series = style.ordered(points.loc[points["series"] != "", "series"]) or [""]
    levels = sorted({*lines.levels, *points["level"].dropna()})
    moved = _move_series_apart(points, series, lines.log[0], max(levels) - min(levels))
    # how the panels stand, and how high they are
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = lines.height * (min(1.0, layout.width / style.WIDTH) if columns > 1 else 1.0)
    inches = layout.width / columns - _BESIDE_INCHES
    figure = start_sheet(exhibit, layout, legend(points, series, layout), max(height, _LOWEST_INCHES) * rows + 0.15)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        in_panel = moved[moved["panel"] == panel]
        in_row = moved[moved["panel"].isin(panels[rank // columns * columns :][:columns])]
        ran = bool((in_panel["source"] == "here").any())
        axes.set_title(panel_title(lines.heads.get(panel, panel), inches, layout, ran=ran))
        for name in series:
            of_series = in_panel[in_panel["series"] == name].sort_values("level")
            _draw_series(axes, of_series, style.look(name), layout.marks)
        _scale_x(axes, levels, lines.log[0])
        _name_levels(axes, levels, inches, layout)
        _scale_y(axes, in_row if lines.alike else in_panel, lines.log[1], lines.limits)
        _draw_bounds(axes, in_panel[in_panel["value"].isna()], layout.small)
    # what the axes show is said once
    for axes in grid[-1]:
        axes.set_xlabel(lines.axes_names[0])
    for axes in grid[:, 0]:
        axes.set_ylabel(lines.axes_names[1])
    return figure


def _move_series_apart(points: pd.DataFrame, series: Sequence[str], log: bool, span: float) -> pd.DataFrame:
    """Move each series a little along x, so that equal values do not hide one another."""
    rank = points["series"].map({name: at - (len(series) - 1) / 2 for at, name in enumerate(series)})
    level = points["level"].astype(float)
    return points.assign(level=level * np.exp(0.045 * rank) if log else level + 0.012 * span * rank)


def _draw_bounds(axes: Axes, bounds: pd.DataFrame, size: float) -> None:
    """Hatch where the paper says that its values lie."""
    for bound in each(bounds):
        bottom = bound.low if bound.low > 0 else axes.get_ylim()[0]
        axes.axhspan(bottom, bound.high, zorder=0.5, **style.BOUND)
        edge = axes.transLimits.transform(axes.transScale.transform((axes.get_xlim()[0], bound.high)))[1]
        beneath = bound.low if bound.low > 0 else bound.high
        x, y, across, up = (0.98, bound.high, "right", "bottom") if edge < _LOW else (0.02, beneath, "left", "top")
        label = f"published: {between(bound.low, bound.high, short)}"
        axes.text(x, y, label, transform=axes.get_yaxis_transform(), ha=across, va=up, zorder=4.5,
                  fontsize=size,
                  bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6})  # fmt: skip


def _draw_series(axes: Axes, points: pd.DataFrame, look: style.Look, size: float) -> None:
    """Draw one series: its printed values, and over them those of this machine with their intervals."""
    printed = points[(points["source"] == "published") & points["value"].notna()]
    axes.plot(printed["level"], printed["value"], look.dash, color=look.colour, linewidth=0.7, alpha=0.7, zorder=2)
    draw_marks(axes, printed["level"], printed["value"], look, size, hollow=True)
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


def _name_levels(axes: Axes, levels: Sequence[float], inches: float, layout: Layout) -> None:
    """Give each level a tick on x, which is so many inches long, and a name where it has room; the largest has one."""
    names: list[str] = []
    begins = np.inf
    for level in reversed(levels):
        scaled = axes.transScale.transform((level, 1.0))
        place = axes.transLimits.transform(scaled)[0] * inches
        half = text_width([short(level)], layout.rc["xtick.labelsize"]) / 2
        if place + half < begins:
            names.append(short(level))
            begins = place - half - 0.03
        else:
            names.append("")
    axes.set_xticks(levels, names[::-1])
    axes.xaxis.set_minor_locator(NullLocator())


def _scale_y(axes: Axes, points: pd.DataFrame, log: bool, limits: tuple[float, float] | None) -> None:
    """Scale y to hold every mark and bound; and intervals, on a logarithmic scale up to their reach."""
    ends = points[["low", "high"]].to_numpy(dtype=float).ravel()
    marks = np.append(points["value"].to_numpy(dtype=float), points.loc[points["value"].isna(), ["low", "high"]])
    marks, ends = (numbers[np.isfinite(numbers) & ((numbers > 0) | (not log))] for numbers in (marks, ends))
    values = np.append(marks, ends)
    low, high = (values.min(), values.max()) if len(values) else (1.0, 10.0)
    if log:
        if len(marks):
            low, high = within_reach(marks, ends)
        room = (high / low) ** 0.06 * 1.3
        log_scale(axes, "y", low / room, high * room)
    else:
        low = min(low, 0.0)
        axes.set_ylim(limits or (low - 0.03 * (high - low), high + 0.1 * (high - low)))
        axes.yaxis.set_major_formatter(short)
