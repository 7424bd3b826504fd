"""Plots of points: `draw_dots` draws a row per thing compared, `draw_lines` a quantity over n.

A printed number is hollow, over the filled one of this machine. Each has a panel per level or per
operation.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import NOISY, Dots, Exhibit, Lines
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
    write_gid,
    write_panel_title,
)
from benchbook.plots.style import Layout
from benchbook.text.number_format import format_tick

_ROW_INCHES = 0.23


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
    beyond = _write_beyond(points, dots)
    grid = _arrange(points, dots, layout, [*beyond.values()])

    # The sheet, as high as its rows and the panels' titles.
    ran = {*points.loc[points["source"] != "published", "panel"]}
    on_scale = points[~points["level"].isin(dots.beyond)]
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
        in_panel = points[points["panel"] == panel]
        _draw_panel(axes, in_panel, places, series, grid.row, layout.marks, dots.beyond)
        for (of_panel, level), values in beyond.items():
            if of_panel == panel:
                across = axes.get_yaxis_transform()
                text = axes.text(
                    0.08,
                    places[level],
                    values,
                    transform=across,
                    va="center",
                    fontsize=layout.small,
                )
                text.set_in_layout(False)
        _scale(axes, on_scale, dots, gap)
        lowest = rank + grid.columns >= len(panels)
        axes.set_xlabel(wrap_text(dots.axis, grid.panel, rc["axes.labelsize"]) if lowest else "")
        axes.tick_params(labelbottom=lowest)
    for spare in all_axes.flat[len(panels) :]:
        spare.set_visible(False)
    return figure


def _arrange(points: pd.DataFrame, dots: Dots, layout: Layout, texts: Sequence[str]) -> _PanelPlan:
    """Return where rows and panels are: as many panels side by side as titles and texts fit."""
    size = layout.rc["ytick.labelsize"]
    share = 0.44 if layout.narrow else 0.5
    labels = [wrap_text(row, layout.width * share, size) for row in dots.rows]
    width = layout.width - estimate_width(labels, size) - 0.2
    # Names that leave less of a narrow screen's width are above their rows.
    above = layout.labels_above and width < 0.68 * layout.width
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
    if texts:
        widest = max(widest, estimate_width(texts, layout.small) + 0.15)
    # Panels that would be narrower than 0.7 inches are below one another.
    fitting = max(1, int(width / max(0.7, widest)))
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
    across = axes.get_yaxis_transform()
    tops = grid.heights.cumsum() - grid.heights
    for top, label in zip(tops, grid.labels, strict=False):
        text = axes.text(
            0.0, top + 0.7 * size / 72, label, transform=across, va="top", fontsize=size
        )
        text.set_in_layout(False)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})


def _draw_panel(
    axes: Axes,
    points: pd.DataFrame,
    places: Mapping[str, float],
    series: Sequence[str],
    row: float,
    size: float,
    beyond: Collection[str],
) -> None:
    """Draw the points of one panel, the series of a level around the middle of its row.

    Those of levels that are beyond the scale are arrows at its lower end.
    """
    by_level: dict[str, list[FrameRow]] = {level: [] for level in places}
    for point in iterate_rows(points):
        by_level[point.level].append(point)
    for level, y in places.items():
        names = {point.series for point in by_level[level]}
        present = [name for name in series if name in names]
        # Series of a row are nearer to each other than to those of the next row.
        gaps = max(len(present) - 1, 1)
        reach = row / (2 + 3 / gaps)
        middle = (len(present) - 1) / 2
        for point in by_level[level]:
            rank = present.index(point.series)
            place = y + 2 * reach * (rank - middle) / gaps
            if level in beyond:
                look = style.get_series_style(point.series)
                across = axes.get_yaxis_transform()
                (arrow,) = axes.plot(0.03, place, "<", color=look.colour, transform=across)
                arrow.set(
                    markersize=4 * size, gid=write_gid(point.series, point.source, [point.Index])
                )
            else:
                _draw_point(axes, point, place, size)


def _write_beyond(points: pd.DataFrame, dots: Dots) -> dict[tuple[str, str], str]:
    """Return the values of each panel's rows that are not on the scale, as text."""
    texts: dict[tuple[str, str], str] = {}
    off_scale = points[points["level"].isin(dots.beyond)]
    for (panel, level), values in off_scale.groupby(["panel", "level"])["value"]:
        ends = [format_tick(float(f"{end:.2g}")) for end in (values.min(), values.max())]
        texts[str(panel), str(level)] = " to ".join(dict.fromkeys(ends))
    return texts


def _draw_point(axes: Axes, point: FrameRow, y: float, size: float) -> None:
    look = style.get_series_style(point.series)
    gid = write_gid(point.series, point.source, [point.Index])
    if point.source == "published":
        printed = replace(look, colour=style.INK)
        draw_marks(axes, point.value, y, printed, size, hollow=True, gid=gid)
        return
    if pd.notna(point.low):
        line_gid = write_gid(point.series, point.source)
        bar: dict[str, Any] = {"color": look.colour, "zorder": 3, "gid": line_gid}
        ends = [point.low, point.high]
        axes.plot(ends, [y, y], linewidth=1.6 * size, solid_capstyle="butt", **bar)
        axes.plot(ends, [y, y], "|", markersize=6 * size, **bar)
    shape = ">" if point.timed_out else look.marker
    is_noisy = point.source == NOISY
    drawn = style.SeriesStyle(look.colour, shape)
    draw_marks(axes, point.value, y, drawn, size, hollow=is_noisy, gid=gid)


def _scale(axes: Axes, points: pd.DataFrame, dots: Dots, gap: float) -> None:
    """Scale x to hold every point of all panels, and intervals up to `sheet.REACH`.

    Two blocks can give intervals over many powers of ten, which would press all marks into one.
    """
    if dots.log and (points["value"] > 0).any():
        # Panels share their scale, so the first sets that of all.
        if axes.get_xscale() != "log":
            marks = np.append(_list_positive(points[["value"]]), dots.reference or [])
            low, high = find_mark_limits(marks, _list_positive(points[["low", "high"]]))
            # Space for a mark at either end.
            margin = max((high / low) ** max(0.06, 0.3 * gap), 1.08)
            set_log_scale(axes, "x", low / margin, high * margin, gap)
        axes.grid(visible=True, which="major", axis="x")
    elif not dots.log:
        lowest = float(points["low"].min()) if points["low"].notna().any() else 0.0
        axes.set_xlim(left=min(0.0, lowest))
    if dots.reference is not None:
        axes.axvline(dots.reference, color=style.INK, linewidth=0.9, zorder=1)


def _list_positive(columns: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = columns.to_numpy(dtype=float).ravel()
    return np.extract(np.isfinite(values) & (values > 0), values)


def draw_lines(exhibit: Exhibit, lines: Lines, layout: Layout) -> Figure:
    """Draw an exhibit's points as lines: published hollow and thin, this machine's with intervals.

    Call it inside `style.use_style`.
    """
    points, panels = exhibit.frame, lines.panels
    series = style.sort_series(points.loc[points["series"] != "", "series"]) or [""]
    levels = sorted({*lines.levels, *points["level"].dropna()})
    span = levels[-1] - levels[0]
    moved = _move_series_apart(points, series, lines.log[0], span)

    # The grid of panels.
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = lines.height
    if columns > 1:
        height *= min(1.0, layout.width / style.REPORT_WIDTH)
    # A panel is 1.1 inches high also in a narrow figure; its ticks take 0.6 inches beside it.
    height = max(height, 1.1)
    gap = 1.5 * estimate_height("0", layout.rc["ytick.labelsize"]) / height
    inches = layout.width / columns - 0.6
    ran = {*points.loc[points["source"] == "here", "panel"]}
    titles = []
    for panel in panels:
        title = lines.titles.get(panel, panel)
        titles.append(write_panel_title(title, inches, layout, ran=panel in ran))
    height = height * rows + 0.15
    for first in range(0, len(panels), columns):
        of_row = titles[first : first + columns]
        height += max(estimate_height(title, layout.rc["axes.titlesize"]) for title in of_row)
    figure = start_sheet(exhibit, layout, list_legend_handles(points, series, layout), height)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)

    for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        in_panel = moved[moved["panel"] == panel]
        first = rank // columns * columns
        in_row = moved[moved["panel"].isin(panels[first : first + columns])]
        axes.set_title(titles[rank])
        for name in series:
            of_series = in_panel[in_panel["series"] == name].sort_values("level")
            _draw_series(axes, of_series, name, layout.marks)
        _scale_x(axes, levels, lines.log[0], inches, layout)
        _scale_y(axes, in_row if lines.shared_scale else in_panel, lines, gap)
        # The range between a paper's bounds; without a lower one it begins at 0.
        for bound in iterate_rows(in_panel[in_panel["value"].isna()]):
            bottom = axes.get_ylim()[0] if axes.get_yscale() == "log" else 0.0
            axes.axhspan(max(bound.low, bottom), bound.high, zorder=0.5, **style.BOUND_STYLE)
    # Labels are at the outer panels only.
    for axes in grid[-1]:
        axes.set_xlabel(lines.axes_names[0])
    if lines.axes_names[1]:
        figure.supylabel(lines.axes_names[1], fontsize=layout.rc["axes.labelsize"])
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


def _draw_series(axes: Axes, points: pd.DataFrame, name: str, size: float) -> None:
    """Draw one series: its printed values in black, over them this machine's with intervals."""
    look = style.get_series_style(name)
    printed = points[(points["source"] == "published") & points["value"].notna()]
    x, y = printed["level"], printed["value"]
    line: dict[str, Any] = {"color": style.INK, "gid": write_gid(name, "published")}
    axes.plot(x, y, look.dash, linewidth=0.7, alpha=0.7, zorder=2, **line)
    gid, ink = write_gid(name, "published", printed.index), replace(look, colour=style.INK)
    draw_marks(axes, x, y, ink, size, hollow=True, gid=gid)
    here = points[(points["source"] == "here") & points["value"].notna()]
    x, low, high = here["level"], here["low"], here["high"]
    line = {"color": look.colour, "gid": write_gid(name, "here")}
    axes.plot(x, here["value"], look.dash, zorder=2.5, **line)
    draw_marks(axes, x, here["value"], look, size, gid=write_gid(name, "here", here.index))
    axes.vlines(x, low, high, linewidth=1.6 * size, zorder=3, **line)
    axes.plot(x, low, "_", x, high, "_", zorder=3, **line)


def _scale_x(axes: Axes, levels: Sequence[float], log: bool, inches: float, layout: Layout) -> None:
    """Scale x to hold all levels, each with a tick where its label fits.

    The largest level always has one. `inches` is the length of x.
    """
    if log:
        axes.set_xscale("log")
        axes.set_xlim(levels[0] / 1.5, levels[-1] * 1.5)
    else:
        space = 0.08 * (levels[-1] - levels[0])
        axes.set_xlim(levels[0] - space, levels[-1] + space)

    # From the largest level down, as far as there is space before the last label.
    ticks: list[float] = []
    next_label = np.inf
    for level in reversed(levels):
        scaled = axes.transScale.transform((level, 1.0))
        place = axes.transLimits.transform(scaled)[0] * inches
        half = estimate_width([format_tick(level)], layout.rc["xtick.labelsize"]) / 2
        if place + half < next_label:
            ticks.append(level)
            next_label = place - half - 0.03
    axes.set_xticks(ticks, [format_tick(level) for level in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def _scale_y(axes: Axes, points: pd.DataFrame, lines: Lines, gap: float) -> None:
    """Scale y to hold every mark and bound, and intervals up to `sheet.REACH` on a log scale.

    `gap` is the least distance of two ticks, as a share of the axis.
    """
    log = lines.log[1]
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
        set_log_scale(axes, "y", low / margin, high * margin, gap)
    else:
        low = min(low, 0.0)
        space = 0.08 * (high - low)
        axes.set_ylim(lines.limits or (low - space, high + space))
        axes.yaxis.set_major_locator(MaxNLocator(min(5, int(1 / gap)), steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_formatter(format_tick)
        axes.axhline(0.0, color=style.FAINT, linewidth=0.8, zorder=1)
