"""Dot plots: a row a thing compared, a panel a level, a printed number hollow over the filled one of this machine."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from benchbook.figures import style
from benchbook.figures.points import each
from benchbook.figures.sheet import legend, settle, sheet

_ROW_INCHES = 0.23
_SPREAD = 0.26


def dots(
    points: pd.DataFrame,
    *,
    title: str,
    axis: str,
    rows: Sequence[str],
    panels: Sequence[str] = ("",),
    notes: Sequence[str] = (),
    log: bool = True,
    reference: float | None = None,
    columns: int | None = None,
    share: bool = True,
) -> Figure:
    """Draw points as dots in panels.

    Parameters
    ----------
    points
        Columns as in `points.COLUMNS`; ``level`` is the row.
    axis
        The quantity and its unit.
    rows, panels
        Their order; a panel without a point of this machine says so.
    reference
        A value to draw a line at (1 for ratios).
    columns
        Panels side by side; all of them when None.
    share
        Whether the panels share one scale.
    """
    series = style.ordered(points["series"]) or [""]
    crowd = int(points.groupby(["panel", "level"])["series"].nunique().max()) if len(points) else 1
    columns = columns or len(panels)
    lines = -(-len(panels) // columns)
    height = lines * (0.75 + _ROW_INCHES * len(rows) * max(1.0, 0.7 * crowd))
    with style.applied():
        figure = sheet(title, notes, legend(points, series, line=False), height)
        grid = figure.subplots(lines, columns, sharey=True, sharex=share, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _panel(axes, points[points["panel"] == panel], panel, rows, series)
            _scale(axes, points, log, axis, reference)
        for spare in list(grid.flat)[len(panels) :]:
            spare.set_visible(False)
        settle(figure)
    return figure


def _panel(axes: Axes, points: pd.DataFrame, panel: str, rows: Sequence[str], series: Sequence[str]) -> None:
    axes.set_title(panel)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for y, row in enumerate(rows):
        mine = points[points["level"] == row]
        shifts = _shifts([name for name in series if name in set(mine["series"])])
        for point in each(mine):
            _dot(axes, point, y + shifts[str(point.series)])
    if not (points["source"] == "here").any():
        axes.set_title(
            "not run here", loc="right", fontsize=7.5, style="italic", color=style.FAINT, fontweight="normal"
        )


def _shifts(series: Sequence[str]) -> dict[str, float]:
    """Return where each series of a row lies around the row's line."""
    middle = (len(series) - 1) / 2
    return {name: 2 * _SPREAD * (rank - middle) / max(len(series) - 1, 1) for rank, name in enumerate(series)}


def _dot(axes: Axes, point: Any, y: float) -> None:
    look = style.look(str(point.series))
    if point.source == "published":
        axes.plot(
            point.value,
            y,
            look.marker,
            color=look.colour if point.series else style.INK,
            markersize=8.5,
            markerfacecolor="none",
            markeredgewidth=1.2,
            zorder=4,
        )
        return
    if point.stand_in:
        axes.axhspan(y - 0.45, y + 0.45, facecolor="none", edgecolor=style.HATCH, hatch="////", linewidth=0, zorder=0.5)
    if point.low == point.low:
        axes.plot([point.low, point.high], [y, y], color=look.colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
        axes.plot([point.low, point.high], [y, y], "|", color=look.colour, markersize=6, zorder=3)
    axes.plot(point.value, y, ">" if point.censored else look.marker, color=look.colour, markersize=5, zorder=3.5)


def _scale(axes: Axes, points: pd.DataFrame, log: bool, axis: str, reference: float | None) -> None:
    if log and (points["value"] > 0).any():
        axes.set_xscale("log")
        axes.set_xticks(log_ticks(*axes.get_xlim()))
        axes.xaxis.set_major_formatter(FuncFormatter(plain))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(visible=True, which="major", axis="x")
    elif not log:
        axes.set_xlim(left=min(0.0, float(points["low"].min()) if points["low"].notna().any() else 0.0))
    if reference is not None:
        axes.axvline(reference, color=style.INK, linewidth=0.9, zorder=1)
    axes.set_xlabel(axis)


def log_ticks(low: float, high: float) -> list[float]:
    """Return at most seven ticks of a logarithmic axis, all of which can be named."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if high / low > 300:
        step = -(-len(decades) // 8)
        ticks = [10.0**power for power in decades if power % step == 0]
    elif high / low > 6:
        ticks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
    else:
        ticks = [float(tick) for tick in MaxNLocator(5).tick_values(low, high)]
    return [tick for tick in ticks if low <= tick <= high]


def plain(value: float, _position: object = None) -> str:
    """Return a tick's number as people write it, short: 0.01, 10, 2k, 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
