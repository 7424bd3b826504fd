"""Line plots: a quantity over the number of records, objects or trials, a panel an operation."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchbook.digits import between, short
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import each
from benchbook.plots.sheet import legend, log_scale, marks, name_ticks, not_run, settle, sheet, within_reach

_PANEL_INCHES = 2.25
_COLUMNS = 2
_LOWEST_INCHES = 1.3  # that a panel is given, in however narrow a figure
_LOW = 0.5  # of a panel: a band that ends below is named above it, at the right
_BESIDE_INCHES = 0.6  # what stands beside a panel


def lines(
    points: pd.DataFrame,
    *,
    title: str,
    axes_names: tuple[str, str],
    levels: Sequence[float],
    panels: Sequence[str] = ("",),
    notes: Sequence[str] = (),
    log: tuple[bool, bool] = (True, True),
    limits: tuple[float, float] | None = None,
    height: float = _PANEL_INCHES,
    alike: bool = False,
    heads: Mapping[str, str] | None = None,
) -> Exhibit:
    """Draw points as lines with markers, published hollow and thin, this machine's filled with intervals.

    Parameters
    ----------
    points
        Columns as in `points.COLUMNS`; ``level`` is the x.
    axes_names
        What x and y show, with units.
    levels
        The paper's levels of x, which have a tick beside those of the points.
    log
        Whether x and y are logarithmic.
    limits
        Of y.
    alike
        Whether the panels of one row share their scale of y.
    heads
        What stands above panels, where that is not their name.
    """
    if not style.layout().drawn:
        return Exhibit(title, points, tuple(notes))
    series = style.ordered(points.loc[points["series"] != "", "series"]) or [""]
    ticks = sorted({*levels, *points["level"].dropna()})
    apart = _apart(points, series, log[0], max(ticks) - min(ticks))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    layout = style.layout()
    high = height * (min(1.0, layout.width / style.WIDTH) if columns > 1 else 1.0)
    with style.applied():
        figure = sheet(title, notes, legend(points, series), max(high, _LOWEST_INCHES) * rows + 0.25)
        grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for place, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            in_panel = apart[apart["panel"] == panel]
            row = panels[place // columns * columns :][:columns]
            axes.set_title((heads or {}).get(panel, panel))
            for name in series:
                _draw(axes, in_panel[in_panel["series"] == name].sort_values("level"), style.look(name))
            if not (in_panel["source"] == "here").any():
                not_run(axes, layout.width / columns - _BESIDE_INCHES)
            _along(axes, axes_names, ticks, log[0])
            _upwards(axes, apart[apart["panel"].isin(row)] if alike else in_panel, log[1], limits)
            _bounds(axes, in_panel[in_panel["value"].isna()])
        for axes in grid[:-1].flat:
            axes.set_xlabel("")
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        settle(figure)
    return Exhibit(title, points, tuple(notes), figure)


def _apart(points: pd.DataFrame, series: Sequence[str], log: bool, span: float) -> pd.DataFrame:
    """Move each series a little along x, so that equal values do not hide one another."""
    rank = points["series"].map({name: at - (len(series) - 1) / 2 for at, name in enumerate(series)})
    level = points["level"].astype(float)
    return points.assign(level=level * np.exp(0.045 * rank) if log else level + 0.012 * span * rank)


def _bounds(axes: Axes, bounds: pd.DataFrame) -> None:
    """Hatch where the paper says that its values lie."""
    for bound in each(bounds):
        bottom = bound.low if bound.low > 0 else axes.get_ylim()[0]
        axes.axhspan(bottom, bound.high, zorder=0.5, **style.BOUND)
        edge = axes.transLimits.transform(axes.transScale.transform((axes.get_xlim()[0], bound.high)))[1]
        beneath = bound.low if bound.low > 0 else bound.high
        x, y, across, up = (0.98, bound.high, "right", "bottom") if edge < _LOW else (0.02, beneath, "left", "top")
        label = f"published: {between(bound.low, bound.high, short)}"
        axes.text(x, y, label, transform=axes.get_yaxis_transform(), ha=across, va=up, zorder=4.5,
                  fontsize=style.layout().small,
                  bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6})  # fmt: skip


def _draw(axes: Axes, points: pd.DataFrame, look: style.Look) -> None:
    """Draw one series: its printed values, and over them those of this machine with their intervals."""
    printed = points[(points["source"] == "published") & points["value"].notna()]
    axes.plot(printed["level"], printed["value"], look.dash, color=look.colour, linewidth=0.7, alpha=0.7, zorder=2)
    marks(axes, printed["level"], printed["value"], look.marker, look.colour, hollow=True)
    here = points[points["source"] == "here"]
    x, low, high = here["level"], here["low"], here["high"]
    axes.plot(x, here["value"], look.dash, color=look.colour, zorder=2.5)
    marks(axes, x, here["value"], look.marker, look.colour)
    axes.vlines(x, low, high, color=look.colour, linewidth=1.6 * style.layout().marks, zorder=3)
    axes.plot(x, low, "_", x, high, "_", color=look.colour, zorder=3)


def _along(axes: Axes, names: tuple[str, str], ticks: Sequence[float], log: bool) -> None:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    step = (max(ticks) - min(ticks)) * 0.08
    if log:
        axes.set_xscale("log")
    axes.set_xlim((min(ticks) / 1.5, max(ticks) * 1.5) if log else (min(ticks) - step, max(ticks) + step))
    name_ticks(axes.xaxis, ticks)


def _upwards(axes: Axes, points: pd.DataFrame, log: bool, limits: tuple[float, float] | None) -> None:
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
