"""Dot plots: a row a thing compared, a panel a level, a printed number hollow over the filled one of this machine."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.points import FrameRow, each
from benchbook.plots.sheet import (
    draw_marks,
    legend,
    log_scale,
    panel_title,
    start_sheet,
    text_height,
    text_width,
    tick_gap,
    within_reach,
    wrap,
)
from benchbook.plots.style import Layout

_ROW_INCHES = 0.23
_LEAST_ROOM = 0.68  # of a narrow screen's width: names that leave less stand above their rows
_PANEL_INCHES = 0.7
"""Panels that would be narrower stand below one another."""


def draw_dots(exhibit: Exhibit, dots: Dots, layout: Layout) -> Figure:
    """Draw an exhibit's points as dots in panels; to be called inside `style.applied`."""
    points, panels, rc = exhibit.frame, dots.panels, layout.rc
    series = style.ordered(points["series"]) or [""]
    # the names of rows, and how much room they leave for panels
    share = 0.44 if layout.narrow else 0.62
    labels = [wrap(row, layout.width * share, rc["ytick.labelsize"]) for row in dots.rows]
    room = layout.width - text_width(labels, rc["ytick.labelsize"]) - 0.2
    above = layout.labels_above and room < _LEAST_ROOM * layout.width
    if above:
        room = layout.width - 0.3
        labels = [wrap(row, room, rc["ytick.labelsize"]) for row in dots.rows]
    lines, columns = _arrange(panels, dots.columns or len(panels), room, layout)
    inches = room / columns
    # titles of panels, and how high all is
    ran = {*points.loc[points["source"] == "here", "panel"]}
    titles = [panel_title(panel, inches, layout, ran=panel in ran) for panel in panels]
    row = _row_inches(points, layout)
    heights = _row_heights(labels, row, layout, above=above)
    title_inches = max(text_height(title, rc["axes.titlesize"]) for title in titles)
    under, between = (0.3, 0.1) if layout.narrow else (0.45, 0.17)
    height = under + lines * (between + title_inches + heights.sum())
    figure = start_sheet(exhibit, layout, legend(points, series, layout, line=False), height)
    # the panels
    middles = heights.cumsum() - (row / 2 if above else heights / 2)
    places = dict(zip(dots.rows, middles, strict=False))
    grid = figure.subplots(lines, columns, sharey=True, sharex=True, squeeze=False)
    gap = tick_gap(inches, layout)
    for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        axes.set_title(titles[rank])
        axes.set_yticks([*places.values()], [] if above else labels)
        axes.set_ylim(heights.sum() + 0.02, -0.02)
        axes.tick_params(axis="y", length=0)
        if above and rank % columns == 0:
            _write_above(axes, labels, heights, layout)
        _draw_panel(axes, points[points["panel"] == panel], places, series, row, layout.marks)
        _scale(axes, points, dots, gap)
        lowest = rank + columns >= len(panels)
        axes.set_xlabel(wrap(dots.axis, inches, rc["axes.labelsize"]) if lowest else "")
        axes.tick_params(labelbottom=lowest)
    for spare in grid.flat[len(panels) :]:
        spare.set_visible(False)
    return figure


def _write_above(axes: Axes, labels: Sequence[str], heights: NDArray[np.float64], layout: Layout) -> None:
    """Write each row's name above its marks, over all panels that stand side by side."""
    size = layout.rc["ytick.labelsize"]
    axes.set_zorder(1)
    axes.patch.set_visible(False)
    across = axes.get_yaxis_transform()
    for top, label in zip(heights.cumsum() - heights, labels, strict=False):
        text = axes.text(0.0, top + 0.7 * size / 72, label, va="top", fontsize=size, transform=across)
        text.set_in_layout(False)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})


def _arrange(panels: Sequence[str], abreast: int, room: float, layout: Layout) -> tuple[int, int]:
    """Return in how many lines and columns panels stand: at most so many abreast, as their titles fit."""
    title = text_width(panels, layout.rc["axes.titlesize"], "bold")
    widest = min(title + 0.04, 1.0 if layout.narrow else 1.6)
    columns = min(abreast, max(1, int(room / max(_PANEL_INCHES, widest))))
    lines = math.ceil(len(panels) / columns)
    return lines, math.ceil(len(panels) / lines)


def _row_inches(points: pd.DataFrame, layout: Layout) -> float:
    """Return how high a row is whose name takes one line: the higher, the more series stand in one."""
    crowd = int(points.groupby(["panel", "level"])["series"].nunique().max()) if len(points) else 1
    return _ROW_INCHES * layout.marks * max(1.0, 0.55 * crowd)


def _row_heights(labels: Sequence[str], least: float, layout: Layout, *, above: bool) -> NDArray[np.float64]:
    """Return how many inches high each row is, so that its name has room; without rows, of one."""
    size = layout.rc["ytick.labelsize"]
    names = [text_height(label, size) + 0.5 * size / 72 for label in labels]
    # Above, a name is nearer to its own marks than to those of the row before.
    heights = [least + name + 0.5 * size / 72 if above else max(least, name) for name in names]
    return np.array(heights or [least])


def _draw_panel(
    axes: Axes, points: pd.DataFrame, places: Mapping[str, float], series: Sequence[str], row: float, size: float
) -> None:
    """Draw the points of one panel, the series of a level around the middle of its row."""
    for level, y in places.items():
        at_level = points[points["level"] == level]
        present = [name for name in series if name in set(at_level["series"])]
        for point in each(at_level):
            _draw_point(axes, point, y + row * _shift(present.index(point.series), len(present)), size)


def _shift(rank: int, count: int) -> float:
    """Return where one of a row's series lies around the row's line: nearer to its fellows than to the next row."""
    if count == 1:
        return 0.0
    reach = 1 / (2 + 3 / (count - 1))
    return 2 * reach * (rank / (count - 1) - 0.5)


def _draw_point(axes: Axes, point: FrameRow, y: float, size: float) -> None:
    look = style.look(point.series)
    if point.source == "published":
        draw_marks(
            axes, point.value, y, look if point.series else style.Look(style.INK, look.marker), size, hollow=True
        )
        return
    if pd.notna(point.low):
        ends = [point.low, point.high]
        axes.plot(ends, [y, y], color=look.colour, linewidth=1.6 * size, solid_capstyle="butt", zorder=3)
        axes.plot(ends, [y, y], "|", color=look.colour, markersize=6 * size, zorder=3)
    shape = ">" if point.timed_out else look.marker
    draw_marks(axes, point.value, y, style.Look(look.colour, shape), size)


def _scale(axes: Axes, points: pd.DataFrame, dots: Dots, gap: float) -> None:
    """Scale x to hold every point of all panels."""
    if dots.log and (points["value"] > 0).any():
        log_scale(axes, "x", *_find_limits(points, dots.reference), gap)
        axes.grid(visible=True, which="major", axis="x")
    elif not dots.log:
        axes.set_xlim(left=min(0.0, float(points["low"].min()) if points["low"].notna().any() else 0.0))
    if dots.reference is not None:
        axes.axvline(dots.reference, color=style.INK, linewidth=0.9, zorder=1)


def _find_limits(points: pd.DataFrame, reference: float | None) -> tuple[float, float]:
    """Return limits between which every mark has room, and the reference line; and intervals, up to their reach.

    Two blocks can give intervals over many powers of ten: in full they would press all marks into one.
    """
    marks = np.append(_above_zero(points[["value"]]), reference or [])
    low, high = within_reach(marks, _above_zero(points[["low", "high"]]))
    margin = max((high / low) ** 0.06, 1.08)
    return low / margin, high * margin


def _above_zero(columns: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = columns.to_numpy(dtype=float).ravel()
    return np.extract(np.isfinite(values) & (values > 0), values)
