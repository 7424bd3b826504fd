"""Dot plots: one row per thing compared, one panel per level.

A printed number is hollow, over the filled one of this machine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import Dots, Exhibit
from benchbook.plots.points import FrameRow, iterate_rows
from benchbook.plots.sheet import (
    compute_tick_gap,
    draw_marks,
    estimate_height,
    estimate_width,
    find_mark_limits,
    list_legend_handles,
    set_log_scale,
    start_sheet,
    wrap_text,
    write_panel_title,
)
from benchbook.plots.style import Layout

_ROW_INCHES = 0.23
_LEAST_SHARE = 0.68  # of a narrow screen's width: names that leave less are above their rows
_PANEL_INCHES = 0.7
"""Panels that would be narrower are below one another."""


@dataclass(frozen=True)
class _PanelPlan:
    """Where the rows and panels of a dot plot are, in inches."""

    labels: list[str]  # of rows, in lines
    above: bool  # whether they are above their rows
    row: float  # height of a row with one line of text
    heights: NDArray[np.float64]  # of the rows
    lines: int  # of panels
    columns: int
    panel: float  # width of a panel


def draw_dots(exhibit: Exhibit, dots: Dots, layout: Layout) -> Figure:
    """Draw an exhibit's points as dots in panels; call it inside `style.use_style`."""
    points, panels, rc = exhibit.frame, dots.panels, layout.rc
    series = style.sort_series(points["series"]) or [""]
    grid = _arrange(points, dots, layout)

    # The sheet, as high as its rows and the panels' titles.
    ran = {*points.loc[points["source"] == "here", "panel"]}
    titles = [write_panel_title(panel, grid.panel, layout, ran=panel in ran) for panel in panels]
    title_inches = max(estimate_height(title, rc["axes.titlesize"]) for title in titles)
    under, between = (0.3, 0.1) if layout.narrow else (0.45, 0.17)
    height = under + grid.lines * (between + title_inches + grid.heights.sum())
    handles = list_legend_handles(points, series, layout, line=False)
    figure = start_sheet(exhibit, layout, handles, height)

    middles = grid.heights.cumsum() - (grid.row / 2 if grid.above else grid.heights / 2)
    places = dict(zip(dots.rows, middles, strict=False))
    all_axes = figure.subplots(grid.lines, grid.columns, sharey=True, sharex=True, squeeze=False)
    gap = compute_tick_gap(grid.panel, layout)
    for rank, (axes, panel) in enumerate(zip(all_axes.flat, panels, strict=False)):
        axes.set_title(titles[rank])
        axes.set_yticks([*places.values()], [] if grid.above else grid.labels)
        axes.set_ylim(grid.heights.sum() + 0.02, -0.02)
        axes.tick_params(axis="y", length=0)
        if grid.above and rank % grid.columns == 0:
            _write_labels(axes, grid, layout)
        _draw_panel(axes, points[points["panel"] == panel], places, series, grid.row, layout.marks)
        _scale(axes, points, dots, gap)
        lowest = rank + grid.columns >= len(panels)
        axes.set_xlabel(wrap_text(dots.axis, grid.panel, rc["axes.labelsize"]) if lowest else "")
        axes.tick_params(labelbottom=lowest)
    for spare in all_axes.flat[len(panels) :]:
        spare.set_visible(False)
    return figure


def _arrange(points: pd.DataFrame, dots: Dots, layout: Layout) -> _PanelPlan:
    """Return where rows and panels are: as many panels side by side as their titles fit."""
    size = layout.rc["ytick.labelsize"]
    share = 0.44 if layout.narrow else 0.62
    labels = [wrap_text(row, layout.width * share, size) for row in dots.rows]
    width = layout.width - estimate_width(labels, size) - 0.2
    above = layout.labels_above and width < _LEAST_SHARE * layout.width
    if above:
        width = layout.width - 0.3
        labels = [wrap_text(row, width, size) for row in dots.rows]

    # A row is higher, the more series it has.
    crowd = int(points.groupby(["panel", "level"])["series"].nunique().max()) if len(points) else 1
    row = _ROW_INCHES * layout.marks * max(1.0, 0.55 * crowd)
    names = [estimate_height(label, size) + 0.5 * size / 72 for label in labels]
    # A name above its row is nearer to its own marks than to those of the row before.
    heights = [row + name + 0.5 * size / 72 if above else max(row, name) for name in names]

    title = estimate_width(dots.panels, layout.rc["axes.titlesize"], "bold")
    widest = min(title + 0.04, 1.0 if layout.narrow else 1.6)
    fitting = max(1, int(width / max(_PANEL_INCHES, widest)))
    count = len(dots.panels)
    lines = math.ceil(count / min(dots.columns or count, fitting))
    columns = math.ceil(count / lines)
    return _PanelPlan(
        labels, above, row, np.array(heights or [row]), lines, columns, width / columns
    )


def _write_labels(axes: Axes, grid: _PanelPlan, layout: Layout) -> None:
    """Write each row's name above its marks, over all panels that are side by side."""
    size = layout.rc["ytick.labelsize"]
    axes.set_zorder(1)
    axes.patch.set_visible(False)
    about: dict[str, Any] = {"va": "top", "fontsize": size, "transform": axes.get_yaxis_transform()}
    tops = grid.heights.cumsum() - grid.heights
    for top, label in zip(tops, grid.labels, strict=False):
        text = axes.text(0.0, top + 0.7 * size / 72, label, **about)
        text.set_in_layout(False)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})


def _draw_panel(
    axes: Axes,
    points: pd.DataFrame,
    places: Mapping[str, float],
    series: Sequence[str],
    row: float,
    size: float,
) -> None:
    """Draw the points of one panel, the series of a level around the middle of its row."""
    for level, y in places.items():
        at_level = points[points["level"] == level]
        present = [name for name in series if name in set(at_level["series"])]
        for point in iterate_rows(at_level):
            shift = _shift(present.index(point.series), len(present))
            _draw_point(axes, point, y + row * shift, size)


def _shift(rank: int, count: int) -> float:
    """Return how far a series is from the middle of its row, as a share of the row's height.

    The series of a row are nearer to each other than to those of the next row.
    """
    if count == 1:
        return 0.0
    reach = 1 / (2 + 3 / (count - 1))
    return 2 * reach * (rank / (count - 1) - 0.5)


def _draw_point(axes: Axes, point: FrameRow, y: float, size: float) -> None:
    look = style.get_series_style(point.series)
    if point.source == "published":
        hollow = look if point.series else style.SeriesStyle(style.INK, look.marker)
        draw_marks(axes, point.value, y, hollow, size, hollow=True)
        return
    if pd.notna(point.low):
        bar: dict[str, Any] = {"color": look.colour, "zorder": 3}
        ends = [point.low, point.high]
        axes.plot(ends, [y, y], linewidth=1.6 * size, solid_capstyle="butt", **bar)
        axes.plot(ends, [y, y], "|", markersize=6 * size, **bar)
    shape = ">" if point.timed_out else look.marker
    draw_marks(axes, point.value, y, style.SeriesStyle(look.colour, shape), size)


def _scale(axes: Axes, points: pd.DataFrame, dots: Dots, gap: float) -> None:
    """Scale x to hold every point of all panels."""
    if dots.log and (points["value"] > 0).any():
        set_log_scale(axes, "x", *_find_limits(points, dots.reference), gap)
        axes.grid(visible=True, which="major", axis="x")
    elif not dots.log:
        lowest = float(points["low"].min()) if points["low"].notna().any() else 0.0
        axes.set_xlim(left=min(0.0, lowest))
    if dots.reference is not None:
        axes.axvline(dots.reference, color=style.INK, linewidth=0.9, zorder=1)


def _find_limits(points: pd.DataFrame, reference: float | None) -> tuple[float, float]:
    """Return the limits of all marks, the reference line, and intervals up to `sheet.REACH`.

    Two blocks can give intervals over many powers of ten, which would press all marks into one.
    """
    marks = np.append(_list_positive(points[["value"]]), reference or [])
    low, high = find_mark_limits(marks, _list_positive(points[["low", "high"]]))
    margin = max((high / low) ** 0.06, 1.08)
    return low / margin, high * margin


def _list_positive(columns: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = columns.to_numpy(dtype=float).ravel()
    return np.extract(np.isfinite(values) & (values > 0), values)
