"""A figure's sheet: title and legend on top, panels in the middle, what must be said below; and its scales' ticks."""

import math
import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from benchbook.plots import style

_TITLE_INCHES = 0.32
_LEGEND_INCHES = 0.19
_LEGEND_CHARACTERS = 96
_NOTE_INCHES = 0.15
_NOTE_CHARACTERS = 128


def sheet(title: str, notes: Sequence[str], handles: Sequence[Artist], height: float) -> Figure:
    """Return a figure whose middle, so many inches high, is free for panels; the handles are its legend's entries."""
    lines = textwrap.wrap(". ".join(note[0].upper() + note[1:] for note in notes if note) + ".", _NOTE_CHARACTERS)
    columns = _columns([len(str(handle.get_label())) for handle in handles])
    head = _TITLE_INCHES + _LEGEND_INCHES * -(-len(handles) // columns) + 0.06
    foot = 0.06 + _NOTE_INCHES * len(lines)
    total = head + height + foot
    figure = Figure(figsize=(style.WIDTH, total))
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", rect=(0, foot / total, 1, height / total))
    figure.text(0.01, 1 - 0.06 / total, title, ha="left", va="top", fontsize=11, fontweight="bold")
    figure.legend(handles=list(handles), loc="upper left", bbox_to_anchor=(0, 1 - _TITLE_INCHES / total), ncols=columns,
                  handletextpad=0.5, columnspacing=1.6, borderpad=0.1, borderaxespad=0.3)  # fmt: skip
    figure.text(
        0.01, foot / total, "\n".join(lines), ha="left", va="top", fontsize=7.5, color=style.FAINT, linespacing=1.25
    )
    return figure


def settle(figure: Figure) -> None:
    """Lay the figure out once and round where its panels are, so that drawing it again gives the same bytes."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(Bbox.from_bounds(*(round(part, 5) for part in axes.get_position().bounds)))


def _columns(widths: Sequence[int]) -> int:
    """Return how many columns of entries fit side by side, split as matplotlib does: the first ones are the longer."""
    for columns in range(len(widths), 1, -1):
        if sum(part.max() + 7 for part in np.array_split(widths, columns)) <= _LEGEND_CHARACTERS:
            return columns
    return 1


def legend(points: pd.DataFrame, series: Sequence[str], *, line: bool = True) -> list[Artist]:
    """Return the legend's entries: hollow, filled, and a shape for each series when there are several."""
    published = points[points["source"] == "published"]
    mine = set(points.loc[points["source"] == "here", "series"])
    handles: list[Artist] = []
    if published["value"].notna().any():
        handles.append(mark("published", style.Look(style.INK, "o"), filled=False))
    if published["value"].isna().any():
        handles.append(Patch(label="published, as a bound", **style.BOUND))
    several = len(series) > 1
    handles.append(mark("here, mean and 95 % interval", style.Look(style.INK if several else style.BLUE, "o")))
    if (points["stand_in"].astype(bool) & (points["source"] == "here")).any():
        handles.append(Patch(label="a stand-in ran, not the product", **style.STAND_IN))
    if several:
        handles += [mark(name, style.look(name), line=line, filled=name in mine or not mine) for name in series]
    return handles


def mark(label: str, look: style.Look, *, filled: bool = True, line: bool = False) -> Line2D:
    """Return one legend entry, drawn as the marks are."""
    return Line2D(
        [], [], color=look.colour, marker=look.marker, ls=look.dash if line else "none", label=label,
        markerfacecolor=look.colour if filled else "none", markersize=6 if filled else 8, markeredgewidth=1.3,
    )  # fmt: skip


def not_run(axes: Axes) -> None:
    """Say in a panel's title that nothing of this machine is in it."""
    axes.set_title("not run here", loc="right", fontsize=7.5, style="italic", color=style.FAINT, fontweight="normal")


def name_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Set the ticks of an axis, named as people write numbers, and none between them."""
    axis.set_ticks(list(ticks))
    axis.set_major_formatter(plain)
    axis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float, most: int = 10) -> list[float]:
    """Return ticks of a logarithmic axis, all of which can be named: at most `most`, and as many as that allows."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [[float(tick) for tick in MaxNLocator(5).tick_values(low, high)]] if high / low <= 6 else []
    choices += [[digit * 10.0**power for power in decades for digit in (1, 2, 5)]] if high / low <= 300 else []
    choices += [[10.0**power for power in decades if power % step == 0] for step in range(1, len(decades) + 1)]
    inside = [[tick for tick in ticks if low <= tick <= high] for ticks in choices]
    return next((ticks for ticks in inside if 2 <= len(ticks) <= most), inside[0])


def plain(value: float, _position: object = None) -> str:
    """Return a tick's number as people write it, short: 0.01, 10, 2k, 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
