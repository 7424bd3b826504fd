"""Dot plots: a row a thing compared, a panel a level, a printed number hollow over the filled one of this machine."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import FrameRow, each
from benchbook.plots.sheet import legend, log_scale, marks, not_run, settle, sheet, width, within_reach, wrapped

_ROW_INCHES = 0.23
_TICK_INCHES = 0.37  # that a tick's name needs
_PANEL_INCHES = 0.7  # below which a panel is set under the others, as it is when its title does not fit


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
    layout = style.layout()
    if not layout.drawn:
        return Exhibit(title, points, tuple(notes))
    series = style.ordered(points["series"]) or [""]
    with style.applied():
        points_of_labels = layout.rc["ytick.labelsize"]
        labels = [_lines(row, layout.width * (0.44 if layout.narrow else 0.62), points_of_labels) for row in rows]
        room = layout.width - _widest(labels, points_of_labels) - 0.2
        lines, columns = _grid(panels, columns or len(panels), room)
        heights = _heights(points, labels)
        places = dict(zip(rows, heights.cumsum() - heights / 2, strict=False))
        heads = {panel: _lines(panel, room / columns - 0.05, layout.rc["axes.titlesize"], "bold") for panel in panels}
        above = max(head.count("\n") for head in heads.values()) * 1.2 * layout.rc["axes.titlesize"] / 72
        under, between = (0.3, 0.2) if layout.narrow else (0.45, 0.3)
        height = under + lines * (between + above + _row_inches(points) * heights.sum())
        figure = sheet(title, notes, legend(points, series, line=False), height)
        grid = figure.subplots(lines, columns, sharey=True, sharex=True, squeeze=False)
        for rank, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            in_panel = points[points["panel"] == panel]
            axes.set_title(heads[panel])
            axes.set_yticks([*places.values()], labels)
            axes.set_ylim(heights.sum() + 0.1, -0.1)
            _draw(axes, in_panel, places, series)
            if not (in_panel["source"] == "here").any():
                not_run(axes, room / columns - 0.1)
            lowest = rank + columns >= len(panels)
            _scale(axes, points, log, reference, max(2, int(room / columns / _TICK_INCHES)))
            axes.set_xlabel(_lines(axis, room / columns, layout.rc["axes.labelsize"]) if lowest else "")
            axes.tick_params(labelbottom=lowest)
        for spare in list(grid.flat)[len(panels) :]:
            spare.set_visible(False)
        settle(figure)
    return Exhibit(title, points, tuple(notes), figure)


def _grid(panels: Sequence[str], abreast: int, room: float) -> tuple[int, int]:
    """Return in how many lines and columns panels stand on so many inches: at most so many abreast, as titles fit."""
    layout = style.layout()
    titles = min(_widest(panels, layout.rc["axes.titlesize"], "bold") + 0.02, 1.0 if layout.narrow else 1.6)
    columns = min(abreast, max(1, int(room / max(_PANEL_INCHES, titles))))
    lines = -(-len(panels) // columns)
    return lines, -(-len(panels) // lines)


def _row_inches(points: pd.DataFrame) -> float:
    """Return how high a row is whose name takes one line: the higher, the more series stand in one."""
    crowd = int(points.groupby(["panel", "level"])["series"].nunique().max()) if len(points) else 1
    return _ROW_INCHES * style.layout().marks * max(1.0, 0.55 * crowd)


def _heights(points: pd.DataFrame, labels: Sequence[str]) -> NDArray[np.float64]:
    """Return how high each row is, in rows whose name takes one line; without rows, of one."""
    lines = np.array([label.count("\n") + 1 for label in labels])
    inches = (lines * 1.2 + 0.5) * style.layout().rc["ytick.labelsize"] / 72
    return np.maximum(1.0, inches / _row_inches(points)) if len(labels) else np.ones(1)


def _lines(text: str, room: float, points: float, weight: str = "normal") -> str:
    """Return a text in lines of at most so many inches, its own lines kept."""
    return "\n".join(line for part in text.split("\n") for line in wrapped(part, room, points, weight))


def _widest(texts: Sequence[str], points: float, weight: str = "normal") -> float:
    """Return how many inches wide the widest of some texts is."""
    return max((width(text, points, weight) for text in texts), default=0.0)


def _draw(axes: Axes, points: pd.DataFrame, places: Mapping[str, float], series: Sequence[str]) -> None:
    """Draw the points of one panel, a row a level."""
    axes.tick_params(axis="y", length=0)
    for row, y in places.items():
        in_row = points[points["level"] == row]
        present = [name for name in series if name in set(in_row["series"])]
        for point in each(in_row):
            _dot(axes, point, y + _shift(present.index(point.series), len(present)))


def _shift(rank: int, count: int) -> float:
    """Return where one of a row's series lies around the row's line: nearer to its fellows than to the next row."""
    if count == 1:
        return 0.0
    reach = 1 / (2 + 3 / (count - 1))
    return 2 * reach * (rank / (count - 1) - 0.5)


def _dot(axes: Axes, point: FrameRow, y: float) -> None:
    look, size = style.look(point.series), style.layout().marks
    if point.source == "published":
        marks(axes, point.value, y, look.marker, look.colour if point.series else style.INK, hollow=True)
        return
    if pd.notna(point.low):
        ends, colour = [point.low, point.high], look.colour
        axes.plot(ends, [y, y], color=colour, linewidth=1.6 * size, solid_capstyle="butt", zorder=3)
        axes.plot(ends, [y, y], "|", color=colour, markersize=6 * size, zorder=3)
    marks(axes, point.value, y, ">" if point.censored else look.marker, look.colour)


def _scale(axes: Axes, points: pd.DataFrame, log: bool, reference: float | None, most: int) -> None:
    """Scale x to hold every point of all panels."""
    if log and (points["value"] > 0).any():
        log_scale(axes, "x", *_room(points, reference), most)
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
    low, high = within_reach(marks, _above_zero(points[["low", "high"]]))
    margin = max((high / low) ** 0.06, 1.08)
    return low / margin, high * margin


def _above_zero(columns: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = columns.to_numpy(dtype=float).ravel()
    return np.extract(np.isfinite(values) & (values > 0), values)
