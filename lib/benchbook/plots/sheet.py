"""Sheets: the title and legend above a figure's panels, the notes below, and the panels' ticks.

Matplotlib's constrained layout places the panels. How many letters fit a line is counted, not
measured.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.offsetbox import TextArea
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from benchbook.plots import style
from benchbook.plots.exhibit import NOISY, Exhibit
from benchbook.plots.style import Layout
from benchbook.text.number_format import format_tick

Numbers: TypeAlias = "float | pd.Series[Any]"
Weight: TypeAlias = Literal["normal", "bold"]

REACH = 10.0
"""How far intervals are drawn, as a multiple of the marks: longer ones show no end."""

KEY = "key"
"""The number of a legend's entry in `write_gid`, where a point has its own."""

# Sizes of text, as multiples of its points.
_LETTER_WIDTH: Final[dict[Weight, float]] = {"normal": 0.55, "bold": 0.61}
"""Mean width of a letter of DejaVu Sans, a little more than in English sentences."""
_LINE_HEIGHT: Final = 1.25
_COLUMN_GAP: Final = 1.2
"""Space between a legend's columns."""

_MARGIN_INCHES: Final = 0.07


def start_sheet(
    exhibit: Exhibit, layout: Layout, handles: Sequence[Artist], height: float
) -> Figure:
    """Return a figure with title, legend and notes, whose panels have so many inches of height.

    The handles are the legend's entries. Call it inside `style.use_style`.
    """
    size, title_size = layout.rc["legend.fontsize"], layout.rc["figure.titlesize"]
    width = layout.width - 2 * _MARGIN_INCHES
    title = subtitle = notes = ""
    if layout.titled:
        title = wrap_text(exhibit.result or exhibit.name, width, title_size, "bold")
        if exhibit.result:
            subtitle = wrap_text(exhibit.name, width, size)
        parts = [*exhibit.notes, exhibit.after]
        sentences = ". ".join(part[0].upper() + part[1:].rstrip(".") for part in parts if part)
        notes = wrap_text(f"{sentences}.", width, layout.small) if sentences else ""
    columns = _count_columns([str(handle.get_label()) for handle in handles], width, size)

    # The figure is as high as its panels and the texts above and below them.
    rows = math.ceil(len(handles) / columns)
    legend_inches = rows * 1.3 * _LINE_HEIGHT * size / 72
    title_inches = estimate_height(title, title_size) + estimate_height(subtitle, size)
    texts = title_inches + legend_inches + estimate_height(notes, layout.small)
    figure = Figure(figsize=(layout.width, height + texts + 0.2), layout="constrained")
    legend = figure.legend(
        handles=list(handles),
        loc="outside upper left",
        ncols=columns,
        alignment="left",
        title=title or None,
        title_fontproperties={"size": title_size, "weight": "bold"},
        handletextpad=0.5,
        columnspacing=_COLUMN_GAP,
        borderpad=0.1,
        borderaxespad=0.3,
    )
    legend.get_title().set_linespacing(_LINE_HEIGHT)
    if subtitle:
        # Between the legend's title and its entries.
        line = TextArea(subtitle, textprops={"fontsize": size, "linespacing": _LINE_HEIGHT})
        line.set_figure(figure)
        packed = legend.get_children()[0]
        packed.get_children().insert(1, line)
    for handle, mark, text in zip(handles, legend.legend_handles, legend.get_texts(), strict=True):
        text.set_gid(handle.get_gid())
        if mark:
            mark.set_gid(handle.get_gid())
    if notes:
        figure.supxlabel(
            notes,
            x=_MARGIN_INCHES / layout.width,
            ha="left",
            color=style.FAINT,
            fontsize=layout.small,
            linespacing=_LINE_HEIGHT,
        )
    return figure


def wrap_text(text: str, inches: float, points: float, weight: Weight = "normal") -> str:
    """Return a text in lines of so many inches, its own lines kept; longer words are not split."""
    letters = max(1, int(inches * 72 / points / _LETTER_WIDTH[weight]))
    lines = [textwrap.fill(line, letters, break_long_words=False) for line in text.split("\n")]
    return "\n".join(lines)


def estimate_width(texts: Iterable[str], points: float, weight: Weight = "normal") -> float:
    """Return the estimated width in inches of the longest line of some texts."""
    lines = "\n".join(texts).split("\n")
    return max(map(len, lines)) * _LETTER_WIDTH[weight] * points / 72


def estimate_height(text: str, points: float) -> float:
    """Return the height of a text's lines in inches."""
    return (text.count("\n") + 1) * _LINE_HEIGHT * points / 72 if text else 0.0


def _count_columns(entries: Sequence[str], inches: float, points: float) -> int:
    """Return how many columns of legend entries fit side by side.

    Entries are split as matplotlib does: the first columns have more.
    """
    for columns in range(len(entries), 1, -1):
        letters = [max(map(len, part)) for part in np.array_split(entries, columns)]
        # A legend's mark, with what capitals add to its entry, is four letters wide.
        widths = 0.5 * sum(letters) + columns * 4.0 + (columns - 1) * _COLUMN_GAP
        if widths * points / 72 <= inches:
            return columns
    return 1


def fix_layout(figure: Figure) -> None:
    """Place the panels once, so that they are at the same place in every format."""
    engine = figure.get_layout_engine()
    assert engine
    engine.execute(figure)
    # A figure that still has a layout, even one that does nothing, is drawn twice to be saved.
    figure.set_layout_engine(None)
    for axes in figure.axes:
        bounds = [round(bound, 5) for bound in axes.get_position().bounds]
        axes.set_position(Bbox.from_bounds(*bounds))


def list_legend_handles(
    points: pd.DataFrame, series: Sequence[str], layout: Layout, *, line: bool = True
) -> list[Artist]:
    """Return the legend's entries: published, here, and each of several series."""
    size = layout.marks
    published = points[points["source"] == "published"]
    measured = set(points.loc[points["source"] == "here", "series"])
    several = len(series) > 1
    here = style.SeriesStyle(style.INK, "o") if several else style.get_series_style(series[0])

    # The sources first: hollow marks, tinted bounds, this machine's filled marks.
    handles: list[Artist] = []
    if published["value"].notna().any():
        ink = style.SeriesStyle(style.INK, here.marker)
        handles.append(make_legend_mark("published", ink, size, filled=False))
    if published["value"].isna().any():
        gid = write_gid("published", points=[KEY])
        handles.append(Patch(label="published, as a bound", gid=gid, **style.BOUND_STYLE))
    handles.append(make_legend_mark("here, mean and 99 % interval", here, size, name="here"))
    if (points["source"] == NOISY).any():
        noisy = make_legend_mark("noisy: busy machine", here, size, name=NOISY, filled=False)
        handles.append(noisy)

    # A series that did not run here is hollow and black, as a paper's numbers are.
    if several:
        for name in series:
            look = style.get_series_style(name)
            filled = name in measured or not measured
            if not filled:
                look = replace(look, colour=style.INK)
            handles.append(make_legend_mark(name, look, size, line=line, filled=filled))
    return handles


def write_gid(series: str, source: str = "", points: Iterable[object] = ()) -> str:
    """Return the identifier of something drawn, from which the report's script knows what it is.

    Parameters
    ----------
    series, source
        Of the points; of a legend's entry only its series, or its source as the series.
    points
        The rows of the points in the exhibit's frame, in the order of their marks; `KEY` of a
        legend's entry; none of a line or an interval.
    """
    return "|".join([series, source, " ".join(map(str, points))])


def make_legend_mark(
    label: str,
    look: style.SeriesStyle,
    size: float,
    *,
    name: str = "",
    filled: bool = True,
    line: bool = False,
) -> Line2D:
    """Return one legend entry, drawn as the marks are.

    Parameters
    ----------
    size
        Of a layout's marks.
    name
        The series or source of the entry; the label when empty.
    """
    return Line2D(
        [],
        [],
        label=label,
        gid=write_gid(name or label, points=[KEY]),
        color=look.colour,
        marker=look.marker,
        ls=look.dash if line else "none",
        markerfacecolor=look.colour if filled else "none",
        markeredgewidth=1.3 * size,
        markersize=(6 if filled else 8) * size,
    )


def draw_marks(
    axes: Axes,
    x: Numbers,
    y: Numbers,
    look: style.SeriesStyle,
    size: float,
    *,
    hollow: bool = False,
    gid: str | None = None,
) -> None:
    """Draw marks of one series: this machine's filled, a paper's hollow and on top of them.

    Noisy ones are hollow, too.
    """
    if not hollow:
        axes.plot(x, y, look.marker, color=look.colour, markersize=5 * size, zorder=3.5, gid=gid)
        return
    axes.plot(
        x,
        y,
        look.marker,
        color=look.colour,
        markerfacecolor="none",
        markeredgewidth=1.2 * size,
        markersize=8.5 * size,
        zorder=4,
        gid=gid,
    )


def set_log_scale(
    axes: Axes, along: Literal["x", "y"], low: float, high: float, gap: float = 0.1
) -> None:
    """Scale x or y logarithmically from low to high, with labelled ticks of `list_log_ticks`."""
    axes.set(**{f"{along}scale": "log", f"{along}lim": (low, high)})
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_ticks(list_log_ticks(low, high, gap))
    axis.set_major_formatter(format_tick)
    axis.set_minor_locator(NullLocator())


def compute_tick_gap(inches: float, layout: Layout) -> float:
    """Return the least distance of two ticks, as a share of an axis of so many inches."""
    return (estimate_width(["1000"], layout.rc["xtick.labelsize"]) + 0.04) / inches


def find_mark_limits(marks: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of all marks, and of intervals' ends as far as their `REACH`."""
    numbers = np.append(ends, marks)
    return max(numbers.min(), marks.min() / REACH), min(numbers.max(), marks.max() * REACH)


def write_panel_title(title: str, inches: float, layout: Layout, *, ran: bool) -> str:
    """Return a panel's title in lines of so many inches.

    It says so where the panel has no point of this machine.
    """
    if not ran:
        title = f"{title}\nnot run here" if title else "not run here"
    # Short titles have more capitals than sentences.
    return wrap_text(title, inches / 1.1, layout.rc["axes.titlesize"], "bold")


def list_log_ticks(low: float, high: float, gap: float = 0.1) -> list[float]:
    """Return round ticks of a logarithmic axis: as many as are `gap` apart, 1 among them.

    Parameters
    ----------
    low, high
        The ends of the axis.
    gap
        The least distance of two ticks, as a share of the axis.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # Choices from many ticks to few.
    choices: list[list[float]] = []
    if high / low <= 2.5:
        for count in (5, 3):
            locator = MaxNLocator(count, steps=[1, 2, 5, 10])
            choices.append([*locator.tick_values(low, high)])
    if high / low <= 300:
        choices += [
            [digit * 10.0**power for power, digit in product(powers, digits)]
            for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3))
        ]
    choices += [
        [10.0**power for power in powers if power % step == 0] for step in range(1, len(powers) + 1)
    ]
    fewest: list[float] = []
    for choice in choices:
        ticks = [float(tick) for tick in choice if low <= tick <= high]
        if len(ticks) > 1 and np.diff(np.log(ticks)).min() >= gap * math.log(high / low):
            return ticks
        fewest = ticks[:1] or fewest
    return fewest
