"""Dot plots: a row a thing compared, a panel a level, a printed number hollow over the filled one of this machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import each
from benchbook.plots.sheet import legend, log_ticks, name_ticks, not_run, settle, sheet

_ROW_INCHES = 0.23
_SPREAD = 0.26
_REACH = 10.0  # times a mark: an interval that goes further leaves the panel, and so shows no end
_TICKS = 16  # that have room on a sheet
_ROOMY = 3  # panels side by side that have room for a remark in their title


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
) -> Exhibit:
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
    """
    series = style.ordered(points["series"]) or [""]
    crowd = int(points.groupby(["panel", "level"])["series"].nunique().max()) if len(points) else 1
    columns = columns or len(panels)
    lines = -(-len(panels) // columns)
    height = lines * (0.75 + _ROW_INCHES * len(rows) * max(1.0, 0.7 * crowd))
    with style.applied():
        figure = sheet(title, notes, legend(points, series, line=False), height)
        grid = figure.subplots(lines, columns, sharey=True, sharex=True, squeeze=False)
        for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            mine = points[points["panel"] == panel]
            _draw(axes, mine, panel, rows, series)
            if columns <= _ROOMY and not (mine["source"] == "here").any():
                not_run(axes)
            lowest = rank + columns >= len(panels)
            _scale(axes, points, log, reference, _TICKS // columns)
            axes.set_xlabel(axis if lowest else "")
            axes.tick_params(labelbottom=lowest)
        for spare in list(grid.flat)[len(panels) :]:
            spare.set_visible(False)
        settle(figure)
    return Exhibit(title, points, tuple(notes), figure)


def _draw(axes: Axes, points: pd.DataFrame, panel: str, rows: Sequence[str], series: Sequence[str]) -> None:
    """Draw the points of one panel, a row a level; a row in which a stand-in ran is hatched."""
    axes.set_title(panel)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for y, row in enumerate(rows):
        mine = points[points["level"] == row]
        present = [name for name in series if name in set(mine["series"])]
        if (mine["stand_in"].astype(bool) & (mine["source"] == "here")).any():
            axes.axhspan(y - 0.46, y + 0.46, zorder=0.5, **style.STAND_IN)
        for point in each(mine):
            _dot(axes, point, y + _shift(present.index(point.series), len(present)))


def _shift(rank: int, count: int) -> float:
    """Return where one of a row's series lies around the row's line."""
    return 2 * _SPREAD * (rank - (count - 1) / 2) / max(count - 1, 1)


def _dot(axes: Axes, point: Any, y: float) -> None:
    look = style.look(point.series)
    if point.source == "published":
        axes.plot(point.value, y, look.marker, color=look.colour if point.series else style.INK, markersize=8.5,
                  markerfacecolor="none", markeredgewidth=1.2, zorder=4)  # fmt: skip
        return
    if point.low == point.low:
        axes.plot([point.low, point.high], [y, y], color=look.colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
        axes.plot([point.low, point.high], [y, y], "|", color=look.colour, markersize=6, zorder=3)
    axes.plot(point.value, y, ">" if point.censored else look.marker, color=look.colour, markersize=5, zorder=3.5)


def _scale(axes: Axes, points: pd.DataFrame, log: bool, reference: float | None, most: int) -> None:
    """Scale x to hold every point of all panels."""
    if log and (points["value"] > 0).any():
        axes.set_xscale("log")
        axes.set_xlim(_room(points, reference))
        name_ticks(axes.xaxis, log_ticks(*axes.get_xlim(), most=most))
        axes.grid(visible=True, which="major", axis="x")
    elif not log:
        axes.set_xlim(left=min(0.0, float(points["low"].min()) if points["low"].notna().any() else 0.0))
    if reference is not None:
        axes.axvline(reference, color=style.INK, linewidth=0.9, zorder=1)


def _room(points: pd.DataFrame, reference: float | None) -> tuple[float, float]:
    """Return limits between which every mark has room, and the reference line; and intervals, up to their reach.

    Two blocks can give intervals over many powers of ten: in full they would press all marks into one.
    """
    marks = np.append(_above_zero(points[["value"]]), reference or [])
    every = np.append(_above_zero(points[["low", "high"]]), marks)
    low = max(every.min(), marks.min() / _REACH)
    high = min(every.max(), marks.max() * _REACH)
    margin = max((high / low) ** 0.06, 1.08)
    return low / margin, high * margin


def _above_zero(columns: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = columns.to_numpy(dtype=float).ravel()
    return np.extract(np.isfinite(values) & (values > 0), values)
